// SPDX-License-Identifier: Apache-2.0
#include "controlplane/kernel/guard.h"

#include <fmt/format.h>

namespace headgate::kernel {
namespace {

constexpr const char* kChains = R"(  chain input {
    type filter hook input priority filter - 10; policy accept;
    ip protocol { tcp, udp } ip daddr @vips drop
  }
  chain forward {
    type filter hook forward priority filter - 10; policy accept;
    ip protocol { tcp, udp } ip saddr . th sport @services drop
  }
)";

std::string elements(const std::vector<std::string>& items) {
  std::string list;
  for (const std::string& item : items) list += (list.empty() ? "" : ", ") + item;
  return list.empty() ? list : " elements = { " + list + " };";
}

std::string vip_elements(const Guard& guard) {
  std::vector<std::string> items;
  for (const Ipv4 vip : guard.vips) items.push_back(vip.text());
  return elements(items);
}

std::string service_elements(const Guard& guard) {
  std::vector<std::string> items;
  for (const RealService& service : guard.services)
    items.push_back(fmt::format("{} . {}", service.address.text(), service.port));
  return elements(items);
}

}  // namespace

std::string guard_commands(const Guard& guard) {
  // A table must exist to be deleted; adding one that exists changes nothing.
  const std::string fresh = fmt::format("add table {0}\ndelete table {0}\n", kGuardTable);
  if (guard.empty()) return fresh;
  return fresh + "table " + kGuardTable + " {\n  set vips { type ipv4_addr;" + vip_elements(guard) +
         " }\n  set services { type ipv4_addr . inet_service;" + service_elements(guard) + " }\n" + kChains +
         "}\n";
}

}  // namespace headgate::kernel
