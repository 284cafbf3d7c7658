// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "cli/screens.h"
#include "model/ip.h"

namespace headgate::cli {
namespace {

std::string row(std::string_view label, std::uint64_t value) {
  return fmt::format("{:<32}{:>9}\n", label, value);
}

constexpr std::string_view kTableHead =
    "                             Current     Total  Highest\n"
    "Real IP address             Sessions  Sessions  Sessions           Octets\n";
constexpr std::string_view kTableRule =
    "---- ---------------        --------  --------  --------  ---------------\n";

std::string counts(const forwarding::SessionCounts& c) {
  return fmt::format("{:>10}{:>10}{:>10}{:>17}\n", c.current(), c.total(), c.highest(), c.octets());
}

void add(forwarding::SessionCounts& sum, const forwarding::SessionCounts& one) {
  sum.set_current(sum.current() + one.current());
  sum.set_total(sum.total() + one.total());
  sum.set_highest(sum.highest() + one.highest());
  sum.set_octets(sum.octets() + one.octets());
}

using Rows = std::map<std::uint32_t, forwarding::SessionCounts>;  // by real server

std::string table(const Rows& rows, const std::map<std::uint32_t, std::string>& rips,
                  std::string_view sum_label) {
  std::string text = std::string(kTableHead) + std::string(kTableRule);
  forwarding::SessionCounts sum;
  for (const auto& [real, one] : rows) {
    const auto rip = rips.find(real);
    text += fmt::format("{:>4} {:<21}", real, rip == rips.end() ? "" : rip->second) + counts(one);
    add(sum, one);
  }
  return text + std::string(kTableRule) + fmt::format("     {:<21}", sum_label) + counts(sum);
}

struct MaintRow {
  std::string_view fate;  ///< name in dataplane/core/fate.h
  std::string_view label;
};

// The first ones have the names that administrators know.
constexpr std::array kMaintRows = {
    MaintRow{"drop_table_full", "Allocation failures:"},
    MaintRow{"drop_no_vport", "Incorrect Vports:"},
    MaintRow{"reset_no_real", "No available real server:"},
    MaintRow{"drop_land", "LAND attacks:"},
    MaintRow{"drop_no_flags", "No TCP control bits:"},
    MaintRow{"drop_bad_reset", "Invalid reset packet drops:"},
    MaintRow{"drop_oos_fin", "Out of State FIN Pkt drops:"},
    MaintRow{"drop_fragment", "IP fragment discards:"},
    MaintRow{"drop_no_real", "Datagrams without real server:"},
    MaintRow{"drop_martian", "Sources that can't be clients:"},
    MaintRow{"drop_no_session", "Packets without session:"},
    MaintRow{"reset_terminated", "Packets of terminated sessions:"},
    MaintRow{"drop_client_port", "Client processing off:"},
    MaintRow{"drop_server_port", "Server processing off:"},
    MaintRow{"drop_truncated", "Truncated packets:"},
    MaintRow{"drop_bad_header", "Bad headers:"},
    MaintRow{"drop_bad_checksum", "Bad header checksums:"},
    MaintRow{"drop_ttl", "Time to live ran out:"},
    MaintRow{"drop_too_big", "Packets too big:"},
    MaintRow{"drop_fragment_bad", "IP fragments of bad size:"},
    MaintRow{"drop_fragment_tiny", "IP fragments too small:"},
    MaintRow{"drop_fragment_overlap", "IP fragments that overlap:"},
    MaintRow{"drop_fragment_early", "IP fragments without first:"},
    MaintRow{"drop_source_route", "Source routed packets:"},
    MaintRow{"drop_extensions", "Too many extension headers:"},
    MaintRow{"drop_udp_length", "Bad UDP lengths:"},
    MaintRow{"drop_udp_checksum", "UDP without checksum:"},
    MaintRow{"drop_error_bad", "Bad ICMP errors:"},
    MaintRow{"drop_error_no_session", "ICMP errors without session:"},
    MaintRow{"error_to_real", "ICMP errors to real servers:"},
    MaintRow{"error_to_client", "ICMP errors to clients:"},
    MaintRow{"drop_no_route", "No route:"},
    MaintRow{"drop_no_neighbour", "No room for next hop:"},
    MaintRow{"to_real", "Packets to real servers:"},
    MaintRow{"to_client", "Packets to clients:"},
    MaintRow{"punt", "Packets for the kernel:"},
};

std::string fate_rows(const forwarding::Stats& stats) {
  std::map<std::string, std::uint64_t, std::less<>> left;
  for (const auto& fate : stats.fate()) left[fate.fate()] += fate.packets();
  std::string text;
  for (const MaintRow& known : kMaintRows) {
    const auto found = left.find(known.fate);
    text += row(known.label, found == left.end() ? 0 : found->second);
    if (found != left.end()) left.erase(found);
  }
  // A fate without a label is shown all the same: no counter is hidden.
  for (const auto& [name, packets] : left) text += row(name + ":", packets);
  return text;
}

}  // namespace

std::string real_stats(const control::StatsReply& stats, std::uint32_t number) {
  const auto& reals = stats.stats().real();
  const auto found = std::ranges::find(reals, number, &forwarding::RealStats::real);
  const forwarding::SessionCounts none;
  const auto& c = found == reals.end() ? none : found->counts();
  return fmt::format("Real server {} stats:\n", number) + row("Current sessions:", c.current()) +
         row("Total sessions:", c.total()) + row("Highest sessions:", c.highest()) +
         row("Connection failures:", c.failures()) + row("Packets:", c.packets()) +
         row("Octets:", c.octets());
}

std::string group_stats(const control::StatsReply& stats, const control::GroupStatus& group) {
  Rows rows;
  std::map<std::uint32_t, std::string> rips;
  for (const auto& member : group.member()) {
    rows[member.real()];
    rips[member.real()] = member.rip();
  }
  for (const auto& one : stats.stats().group())
    if (one.group() == group.number()) add(rows[one.real()], one.counts());
  return fmt::format("Real server group {} stats:\n", group.number()) + table(rows, rips, "");
}

std::string virt_stats(const control::StatsReply& stats, const control::StatusReply& status,
                       const control::VirtStatus& virt) {
  Rows rows;
  std::map<std::uint32_t, std::string> rips;
  for (const auto& real : status.real()) rips[real.number()] = real.rip();
  for (const auto& service : virt.service())
    for (const auto& member : service.member()) rows[member.real()];
  for (const auto& one : stats.stats().virt())
    if (one.virt() == virt.number()) add(rows[one.real()], one.counts());
  return fmt::format("Virtual server {} stats:\n", virt.number()) + table(rows, rips, virt.vip());
}

namespace {

/// "SYN attack: none, 3 of 10000 half-open sessions/second in 2 seconds, 1 warning"
std::string attack_row(std::string_view what, std::string_view unit, const control::Attack& attack) {
  if (attack.seconds() == 0) return fmt::format("{}: not watched\n", what);
  return fmt::format("{}: {}, {} of {} {} in {} seconds, {} warning{}\n", what,
                     attack.active() ? "UNDER WAY" : "none", attack.rate(), attack.limit(), unit,
                     attack.seconds(), attack.warnings(), attack.warnings() == 1 ? "" : "s");
}

}  // namespace

std::string maint_stats(const control::StatsReply& reply) {
  const auto& stats = reply.stats();
  return "SLB Maintenance stats:\n" + row("Maximum sessions:", stats.maximum_sessions()) +
         row("Current sessions:", stats.current_sessions()) +
         row("  4 second average:", reply.average_4_seconds()) +
         row(" 64 second average:", reply.average_64_seconds()) +
         row("Terminated sessions:", stats.terminated_sessions()) + fate_rows(stats) +
         row("Backup server activations:", stats.backup_activations()) +
         row("Overflow server activations:", stats.overflow_activations()) +
         row("Persistent clients:", stats.bound_clients()) +
         row("Persistent clients refused:", stats.bound_clients_refused()) +
         row("Total IP fragment sessions:", stats.fragmented_total()) +
         row("Current IP fragment sessions:", stats.fragmented_current()) +
         row("IP fragment table full:", stats.fragmented_pushed_out()) +
         row("Half-open sessions:", stats.half_open_sessions()) +
         attack_row("SYN attack", "half-open sessions/second", reply.syn_attack()) +
         attack_row("Session attack", "new sessions", reply.session_attack()) +
         row("ICMP errors built:", stats.errors_built()) +
         row("ICMP errors withheld:", stats.errors_withheld()) + row("Resets built:", stats.resets_built()) +
         row("All packets:", stats.packets_in());
}

Result<std::string> port_stats(const control::StatsReply& stats, std::uint32_t number) {
  const auto& ports = stats.stats().port();
  const auto port = std::ranges::find(ports, number, &forwarding::PortStats::port);
  if (port == ports.end())
    return Error{fmt::format("port {} does not exist in the running configuration", number)};
  const auto line = [](std::string_view label, std::uint64_t in, std::uint64_t out) {
    return fmt::format("{:<14}{:>22}{:>23}\n", label, in, out);
  };
  return fmt::format("Interface statistics for port {}:\n{:<14}{:>22}{:>23}\n", number, "", "In", "Out") +
         line("Octets:", port->rx_bytes(), port->tx_bytes()) +
         line("Packets:", port->rx_packets(), port->tx_packets()) +
         line("Discards:", port->rx_missed(), port->tx_dropped());
}

std::string operation(const control::StatusReply& status, const control::StatsReply* stats) {
  std::string text = "Current operator settings:\n";
  for (const auto& real : status.real()) {
    const char* setting = real.operation() == forwarding::ENABLED ? "enabled"
                          : real.operation() == forwarding::DRAIN ? "disabled, no new sessions"
                                                                  : "disabled, persistent sessions only";
    text += fmt::format("{:>3}: {}, {}", real.number(), real.rip(), setting);
    if (stats != nullptr) {
      const auto& reals = stats->stats().real();
      const auto found = std::ranges::find(reals, real.number(), &forwarding::RealStats::real);
      const std::uint64_t current = found == reals.end() ? 0 : found->counts().current();
      text += fmt::format(", {} current session{}", current, current == 1 ? "" : "s");
    }
    text += "\n";
  }
  return text;
}

}  // namespace headgate::cli
