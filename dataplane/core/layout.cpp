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
  for (const std::size_t offset :
       {sizeof(Session), offsetof(Session, client), offsetof(Session, client_port),
        offsetof(Session, binding), offsetof(Session, transport), offsetof(Session, port),
        offsetof(Session, marks), offsetof(Session, told), offsetof(Session, seen), offsetof(Session, epoch),
        offsetof(Session, from), sizeof(Session::Flow), offsetof(Session::Flow, next),
        offsetof(Session::Flow, acked), offsetof(Session::Flow, passed),

        sizeof(SessionRest), offsetof(SessionRest, started), offsetof(SessionRest, packets),
        offsetof(SessionRest, octets)}) {
    hash.add(offset);
  }
}

void add_shared(Hash& hash) noexcept {
  using Binding = Shared::Binding;
  for (const std::size_t offset :
       {sizeof(Binding), sizeof(Binding::End), offsetof(Binding::End, address), offsetof(Binding::End, port),
        offsetof(Binding::End, ip_delta), offsetof(Binding::End, l4_delta), offsetof(Binding::End, tally),
        offsetof(Binding::End, word), sizeof(Tally), offsetof(Tally, current), offsetof(Tally, highest),
        sizeof(Totals), offsetof(Totals, backup_activations), offsetof(Totals, overflow_activations),
        offsetof(Totals, bound_refused), offsetof(Totals, ports), kMaxBindings, kMaxTallies, kMaxPorts,
        Switch::kCounterBytes}) {
    hash.add(offset);
  }
}

}  // namespace

std::uint64_t memory_layout() noexcept {
  Hash hash;
  hash.add(kMeaning);
  add_session(hash);
  add_shared(hash);
  for (std::size_t fate = 0; fate < kFates; ++fate) hash.add(name(static_cast<Fate>(fate)));
  return hash.get();
}

}  // namespace headgate::core
