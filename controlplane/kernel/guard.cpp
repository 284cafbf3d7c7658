// SPDX-License-Identifier: Apache-2.0
#include "controlplane/kernel/guard.h"

#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace headgate::kernel {
namespace {

constexpr const char* kChains = R"(  chain input {
    type filter hook input priority filter - 10; policy accept;
    ip protocol { tcp, udp } ip daddr @vips drop
    meta l4proto { tcp, udp } ip6 daddr @vips6 drop
  }
  chain forward {
    type filter hook forward priority filter - 10; policy accept;
    ip protocol { tcp, udp } ip saddr . th sport @services drop
    meta l4proto { tcp, udp } ip6 saddr . th sport @services6 drop
  }
)";

std::string elements(const std::vector<std::string>& items) {
  std::string list;
  for (const std::string& item : items) list += (list.empty() ? "" : ", ") + item;
  return list.empty() ? list : " elements = { " + list + " };";
}

enum class Family : std::uint8_t { ipv4, ipv6 };

std::string_view suffix(Family family) {
  return family == Family::ipv4 ? "" : "6";
}
std::string_view type(Family family) {
  return family == Family::ipv4 ? "ipv4_addr" : "ipv6_addr";
}
bool is_of(Family family, const Ip& address) {
  return address.is_v4() == (family == Family::ipv4);
}

std::string vip_set(const Guard& guard, Family family) {
  std::vector<std::string> items;
  for (const Ip& vip : guard.vips)
    if (is_of(family, vip)) items.push_back(vip.text());
  return fmt::format("  set vips{} {{ type {};{} }}\n", suffix(family), type(family), elements(items));
}

std::string service_set(const Guard& guard, Family family) {
  std::vector<std::string> items;
  for (const RealService& service : guard.services)
    if (is_of(family, service.address))
      items.push_back(fmt::format("{} . {}", service.address.text(), service.port));
  return fmt::format("  set services{} {{ type {} . inet_service;{} }}\n", suffix(family), type(family),
                     elements(items));
}

}  // namespace

std::string guard_commands(const Guard& guard) {
  // A table must exist to be deleted; adding one that exists changes nothing.
  const std::string fresh = fmt::format("add table {0}\ndelete table {0}\n", kGuardTable);
  if (guard.empty()) return fresh;
  std::string table = fmt::format("table {} {{\n", kGuardTable);
  for (const Family family : {Family::ipv4, Family::ipv6}) {
    table += vip_set(guard, family);
    table += service_set(guard, family);
  }
  return fresh + table + kChains + "}\n";
}

}  // namespace headgate::kernel
