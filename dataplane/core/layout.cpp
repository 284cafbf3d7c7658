// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/layout.h"

#include <cstddef>
#include <string_view>

#include "dataplane/core/session_table.h"
#include "dataplane/core/switch.h"

namespace headgate::core {
namespace {

/// To be counted up by whoever changes what a field means without moving it.
constexpr std::uint64_t kMeaning = 3;

class Hash {
 public:
  void add(std::uint64_t value) noexcept {
    for (int i = 0; i < 64; i += 8) add_octet(static_cast<unsigned char>(value >> i));
  }
  void add(std::string_view text) noexcept {
    for (const char letter : text) add_octet(static_cast<unsigned char>(letter));
  }
  [[nodiscard]] std::uint64_t get() const noexcept { return value_; }

 private:
  void add_octet(unsigned char octet) noexcept { value_ = (value_ ^ octet) * 0x100000001b3; }  // FNV-1a
  std::uint64_t value_ = 0xcbf29ce484222325;
};

void add_session(Hash& hash) noexcept {
  for (const std::size_t offset : {sizeof(Session),
                                   offsetof(Session, client),
                                   offsetof(Session, client_port),
                                   offsetof(Session, binding),
                                   offsetof(Session, transport),
                                   offsetof(Session, port),
                                   offsetof(Session, marks),
                                   offsetof(Session, told),
                                   offsetof(Session, seen),
                                   offsetof(Session, epoch),
                                   offsetof(Session, routes_version),
                                   offsetof(Session, from),
                                   sizeof(Session::Flow),
                                   offsetof(Session::Flow, next),
                                   offsetof(Session::Flow, acked),
                                   offsetof(Session::Flow, passed),
                                   sizeof(SessionRest),
                                   offsetof(SessionRest, started),
                                   offsetof(SessionRest, packets),
                                   offsetof(SessionRest, octets)}) {
    hash.add(offset);
  }
}

void add_shared(Hash& hash) noexcept {
  using Binding = Shared::Binding;
  for (const std::size_t offset : {sizeof(Binding),
                                   sizeof(Binding::End),
                                   offsetof(Binding::End, address),
                                   offsetof(Binding::End, port),
                                   offsetof(Binding::End, ip_delta),
                                   offsetof(Binding::End, l4_delta),
                                   offsetof(Binding::End, tally),
                                   offsetof(Binding::End, word),
                                   sizeof(Tally),
                                   offsetof(Tally, current),
                                   offsetof(Tally, highest),
                                   sizeof(Totals),
                                   offsetof(Totals, backup_activations),
                                   offsetof(Totals, overflow_activations),
                                   offsetof(Totals, bound_refused),
                                   offsetof(Totals, ports),
                                   kMaxBindings,
                                   kMaxTallies,
                                   kMaxPorts,
                                   Shared::kTalliesAt,
                                   Shared::kGroupsAt,
                                   Shared::kTotalsAt,
                                   Shared::kBytes}) {
    hash.add(offset);
  }
}

void add_ports(Hash& hash) noexcept {
  using Port = Totals::Port;
  for (const std::size_t offset :
       {sizeof(Port), offsetof(Port, number), offsetof(Port, rx_packets), offsetof(Port, tx_packets),
        offsetof(Port, rx_bytes), offsetof(Port, tx_bytes), offsetof(Port, rx_missed),
        offsetof(Port, tx_dropped)}) {
    hash.add(offset);
  }
}

void add_worker(Hash& hash) noexcept {
  using Counters = Switch::Counters;
  constexpr std::size_t kAny = 1000;  // sessions
  for (const std::size_t offset : {sizeof(Counters),
                                   offsetof(Counters, fates),
                                   offsetof(Counters, packets_in),
                                   offsetof(Counters, terminated),
                                   offsetof(Counters, resets),
                                   offsetof(Counters, opened),
                                   offsetof(Counters, opened_tcp),
                                   offsetof(Counters, answered_tcp),
                                   offsetof(Counters, errors_built),
                                   offsetof(Counters, errors_withheld),
                                   offsetof(Counters, fragments),
                                   offsetof(Counters, traffic),
                                   offsetof(Fragments::Totals, datagrams),
                                   offsetof(Fragments::Totals, pushed_out),
                                   sizeof(Switch::Traffic),
                                   offsetof(Switch::Traffic, packets),
                                   offsetof(Switch::Traffic, octets),
                                   offsetof(Switch::Traffic, opened),
                                   offsetof(Switch::Traffic, refused),
                                   offsetof(Switch::Traffic, unanswered),
                                   worker_table_at(),
                                   SessionTable::rests_at(kAny),
                                   SessionTable::buckets_at(kAny),
                                   SessionTable::bytes_needed(kAny)}) {
    hash.add(offset);
  }
}

}  // namespace

std::size_t worker_table_at() noexcept {
  return (Switch::kCounterBytes + 63) / 64 * 64;
}

std::uint64_t memory_layout() noexcept {
  Hash hash;
  hash.add(kMeaning);
  add_session(hash);
  add_shared(hash);
  add_ports(hash);
  add_worker(hash);
  for (std::size_t fate = 0; fate < kFates; ++fate) hash.add(name(static_cast<Fate>(fate)));
  return hash.get();
}

}  // namespace headgate::core
