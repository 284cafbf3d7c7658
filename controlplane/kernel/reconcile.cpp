// SPDX-License-Identifier: Apache-2.0
#include "controlplane/kernel/reconcile.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <sstream>

#include <fmt/format.h>

namespace headgate::kernel {
namespace {

template <class Item>
std::set<Item> without(const std::set<Item>& from, const std::set<Item>& other) {
  std::set<Item> result;
  std::ranges::set_difference(from, other, std::inserter(result, result.end()));
  return result;
}

template <class Item>
void reconcile_one(const std::set<Item>& wanted, const std::set<Item>& owned, const std::set<Item>& actual,
                   std::set<Item> Placed::*part, Changes& changes) {
  changes.add.*part = without(wanted, actual);
  changes.remove.*part = without(owned, wanted);
  std::ranges::set_intersection(wanted, owned,
                                std::inserter(changes.owned.*part, (changes.owned.*part).end()));
  (changes.owned.*part).insert((changes.add.*part).begin(), (changes.add.*part).end());
}

bool is_link_local(const PlacedAddress& placed) {
  const auto& octets = placed.address.octets;
  return !placed.address.is_v4() && octets[0] == 0xfe && (octets[1] & 0xc0) == 0x80;
}

std::set<std::string> speakers_of_ipv6(const Placed& placed) {
  std::set<std::string> result;
  for (const PlacedAddress& address : placed.addresses)
    if (!address.address.is_v4()) result.insert(address.device);
  return result;
}

std::set<PlacedAddress> cut_off(const Placed& wanted, const Placed& actual) {
  const std::set<std::string> ipv6 = speakers_of_ipv6(wanted);
  std::set<PlacedAddress> result;
  for (const PlacedAddress& address : actual.addresses) {
    const bool used =
        wanted.addresses.contains(address) || (is_link_local(address) && ipv6.contains(address.device));
    const bool host = address.prefix == address.address.bits();
    const PlacedAddress subnet{address.device, prefix_of(address.address, address.prefix), address.prefix};
    if (used && !host && !actual.subnets.contains(subnet)) result.insert(address);
  }
  return result;
}

struct Network {
  Ip address;
  unsigned prefix = 0;
};

std::optional<Network> read_network(const std::string& text) {
  const auto slash = text.find('/');
  if (slash == std::string::npos) return std::nullopt;
  const auto address = Ip::parse(std::string_view(text).substr(0, slash));
  const int prefix = std::atoi(text.c_str() + slash + 1);
  if (!address || prefix < 0 || static_cast<unsigned>(prefix) > address->bits()) return std::nullopt;
  return Network{*address, static_cast<unsigned>(prefix)};
}

void read_line(const std::string& line, Owned& owned) {
  std::istringstream words(line);
  std::string kind, first, second;
  words >> kind >> first >> second;
  if (const auto network = read_network(second); kind == "address" && network)
    owned.placed.addresses.insert({first, network->address, network->prefix});
  const auto gateway = Ip::parse(second);
  if (const auto network = read_network(first); kind == "route" && network && gateway)
    owned.placed.routes.insert({network->address, network->prefix, *gateway});
  if (kind == "sysctl" && !second.empty()) owned.sysctls[first] = second;
}

}  // namespace

Changes reconcile(const Placed& wanted, const Placed& owned, const Placed& actual) {
  Changes changes;
  reconcile_one(wanted.addresses, owned.addresses, actual.addresses, &Placed::addresses, changes);
  reconcile_one(wanted.routes, owned.routes, actual.routes, &Placed::routes, changes);
  changes.cut_off = cut_off(wanted, actual);
  return changes;
}

PlacedAddress link_local(const std::string& device, const Mac& mac) {
  constexpr unsigned kPrefix = 64;
  PlacedAddress made{.device = device, .prefix = kPrefix};
  auto& octets = made.address.octets;
  octets = {0xfe, 0x80};
  std::copy_n(mac.octets.begin(), 3, octets.begin() + 8);
  std::copy_n(mac.octets.begin() + 3, 3, octets.begin() + 13);
  octets[8] ^= 2;
  octets[11] = 0xff;
  octets[12] = 0xfe;
  return made;
}

std::set<std::string> without_link_local(const Placed& wanted, const Placed& owned, const Placed& actual) {
  std::set<std::string> result = speakers_of_ipv6(wanted);
  for (const PlacedAddress& address : actual.addresses)
    if (is_link_local(address) && !owned.addresses.contains(address)) result.erase(address.device);
  return result;
}

std::string write_owned(const Owned& owned) {
  std::string text;
  for (const PlacedAddress& a : owned.placed.addresses)
    text += fmt::format("address {} {}/{}\n", a.device, a.address.text(), a.prefix);
  for (const Route& r : owned.placed.routes)
    text += fmt::format("route {} {}\n", r.network(), r.gateway.text());
  for (const auto& [path, value] : owned.sysctls) text += fmt::format("sysctl {} {}\n", path, value);
  return text;
}

Owned read_owned(std::string_view text) {
  Owned owned;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) read_line(line, owned);
  return owned;
}

}  // namespace headgate::kernel
