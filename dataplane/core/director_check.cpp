// SPDX-License-Identifier: Apache-2.0
// What the director refuses, and why.
#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "dataplane/core/director.h"
#include "dataplane/core/director_parts.h"

namespace headgate::core {
namespace {

std::string text(const forwarding::Service& service) {
  return fmt::format("service {} of virtual server {}", service.vport(), service.virt());
}

bool is_balanced(std::uint32_t protocol) {
  return protocol == static_cast<std::uint32_t>(Protocol::tcp) ||
         protocol == static_cast<std::uint32_t>(Protocol::udp);
}

bool is_port(std::uint32_t number) {
  return number >= 1 && number <= 65535;
}

/// Half the round of the clock: longer spans can't be told from negative ones.
constexpr std::uint32_t kLongestSeconds = std::numeric_limits<std::int32_t>::max() / Tick::kPerSecond;

Status check_address(const std::string& whose, const std::string& bytes) {
  if (Ip::from_wire(bytes)) return Done{};
  return Error{fmt::format("{}: an address has 4 or 16 octets, not {}", whose, bytes.size())};
}

/// A VIP or the address of a real server: one that packets can be sent to.
Status check_endpoint(const std::string& whose, const std::string& bytes) {
  if (ip_of(bytes).none() && Ip::from_wire(bytes))
    return Error{fmt::format("{}: the address is missing", whose)};
  return check_address(whose, bytes);
}

Status check(const forwarding::Service& service, const forwarding::Member& member) {
  const std::string whose = fmt::format("{}: real server {}", text(service), member.real());
  if (auto checked = check_endpoint(whose, member.rip()); !checked) return checked;
  if (ip_of(member.rip()).is_v4() != ip_of(service.vip()).is_v4()) {
    return Error{fmt::format("{} has the address {}, of another family than {}", whose,
                             ip_of(member.rip()).text(), ip_of(service.vip()).text())};
  }
  if (!is_port(member.rport()) || member.weight() < 1 || member.weight() > 65535) {
    return Error{fmt::format("{}: real server {} needs a port 1-65535 and a weight 1-65535, not {} and {}",
                             text(service), member.real(), member.rport(), member.weight())};
  }
  if (member.idle_seconds() < 1 || member.idle_seconds() > kLongestSeconds) {
    return Error{fmt::format("{}: sessions of real server {} must live 1-{} seconds without packets, not {}",
                             text(service), member.real(), kLongestSeconds, member.idle_seconds())};
  }
  return Done{};
}

/// Calls `each(group, member)` for every server of a list and those that stand in for them.
template <class Members, class Each>
Status for_each_member(std::uint32_t group, const Members& members, Each each) {
  for (const auto& member : members) {
    if (auto done = each(group, member); !done) return done;
    for (const auto& backup : member.backup())
      if (auto done = each(group, backup); !done) return done;
  }
  return Done{};
}

template <class Each>
Status for_each_server(const forwarding::Service& service, Each each) {
  if (auto done = for_each_member(service.group(), service.member(), each); !done) return done;
  for (const auto& fallback : service.fallback())
    if (auto done = for_each_member(group_of(service, fallback), fallback.member(), each); !done) return done;
  return Done{};
}

Status check_seconds(const forwarding::Service& service, const char* what, std::uint32_t seconds) {
  if (seconds <= kLongestSeconds) return Done{};
  return Error{fmt::format("{}: {} may last {} seconds at most, not {}", text(service), what, kLongestSeconds,
                           seconds)};
}

/// A server once in a group; and what the dataplane's arithmetic can hold.
template <class Members>
Status check_group(const forwarding::Service& service, const Members& members) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  for (const auto& member : members) {
    if (!seen.emplace(member.real(), member.rport()).second) {
      return Error{fmt::format("{}: real server {} is listed twice", text(service), member.real())};
    }
    for (const auto& backup : member.backup()) {
      if (backup.backup_size() == 0) continue;
      return Error{fmt::format("{}: real server {} is a backup and can't have one itself", text(service),
                               backup.real())};
    }
  }
  return Done{};
}

/// Whether a formula has a value: each join two terms before it, and all of it one.
Status check_formula(const forwarding::Service& service) {
  std::size_t values = 0;
  for (const forwarding::Term& term : service.formula()) {
    const bool member = term.join() == forwarding::Term::MEMBER;
    if (!forwarding::Term::Join_IsValid(term.join()) || (!member && values < 2))
      return Error{fmt::format("{}: the formula joins what is not there", text(service))};
    const auto is_meant = [&](const auto& one) { return one.real() == term.real(); };
    if (member && std::ranges::none_of(service.member(), is_meant))
      return Error{fmt::format("{}: the formula names real server {}, which is no member", text(service),
                               term.real())};
    values = member ? values + 1 : values - 1;
  }
  if (values <= 1) return Done{};
  return Error{fmt::format("{}: the formula leaves {} values unjoined", text(service), values)};
}

Status check_choice(const forwarding::Service& service) {
  if (auto done = check_formula(service); !done) return done;
  if (auto done = check_group(service, service.member()); !done) return done;
  for (const auto& fallback : service.fallback())
    if (auto done = check_group(service, fallback.member()); !done) return done;
  if (!forwarding::Metric_IsValid(service.metric()))
    return Error{
        fmt::format("{}: metric {} is not known", text(service), static_cast<int>(service.metric()))};
  if (service.hash_bits() > 128)
    return Error{
        fmt::format("{}: {} bits of an address, 0-128 are possible", text(service), service.hash_bits())};
  if (auto done = check_seconds(service, "persistence", service.persist_seconds()); !done) return done;
  return check_seconds(service, "slow start", service.slow_start_seconds());
}

}  // namespace

Status Director::check(const forwarding::Generation& generation) const {
  std::set<std::tuple<Ip, std::uint32_t, std::uint32_t>> endpoints;
  std::set<BindingKey> bindings;
  for (const auto& service : generation.service()) {
    if (!is_port(service.vport())) return Error{fmt::format("{}: port must be 1-65535", text(service))};
    if (!is_balanced(service.protocol())) {
      return Error{fmt::format("{}: protocol {} is not balanced, only TCP (6) and UDP (17) are",
                               text(service), service.protocol())};
    }
    if (auto checked = check_endpoint(text(service), service.vip()); !checked) return checked;
    if (!endpoints.emplace(ip_of(service.vip()), service.vport(), service.protocol()).second) {
      return Error{fmt::format("{}: another service has the same address and port", text(service))};
    }
    if (auto checked = check_choice(service); !checked) return checked;
    const auto checked = for_each_server(service, [&](std::uint32_t group, const forwarding::Member& member) {
      bindings.insert(binding_key<BindingKey>(service, group, member));
      return core::check(service, member);
    });
    if (!checked) return checked;
  }
  if (generation.settings().persist_bits4() > 32 || generation.settings().persist_bits6() > 128) {
    return Error{fmt::format("{} and {} bits of an address make one client, 0-32 and 0-128 are possible",
                             generation.settings().persist_bits4(), generation.settings().persist_bits6())};
  }
  if (generation.ageing().closed_seconds() > kLongestSeconds / 2) {
    return Error{fmt::format("closed sessions stay {} seconds, at most {} are possible",
                             generation.ageing().closed_seconds(), kLongestSeconds / 2)};
  }
  const auto kept =
      std::ranges::count_if(slots_, [&](const auto& slot) { return bindings.contains(slot.first); });
  const auto room = std::ranges::count_if(free_, [&](BindingSlot slot) { return !held(slot); });
  if (bindings.size() - static_cast<std::size_t>(kept) > static_cast<std::size_t>(room)) {
    return Error{
        fmt::format("{} pairs of a service and a real server, at most {} are possible, {} of them now: "
                    "sessions of removed ones are still remembered",
                    bindings.size(), kMaxBindings, kept + room)};
  }
  return Done{};
}

Status Director::check(const forwarding::SessionFilter& filter) {
  if (auto checked = check_address("filter by client", filter.client()); !checked) return checked;
  return check_address("filter by VIP", filter.vip());
}

}  // namespace headgate::core
