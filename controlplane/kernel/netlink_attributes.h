// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <libmnl/libmnl.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <string>

#include "model/ip.h"

// Attributes of netlink messages as our values. Included by what talks to the kernel only.
namespace headgate::kernel {

using Attributes = std::map<std::uint16_t, const nlattr*>;

inline int collect(const nlattr* attribute, void* to) {
  (*static_cast<Attributes*>(to))[mnl_attr_get_type(attribute)] = attribute;
  return MNL_CB_OK;
}

/// Those behind a header of that size.
[[nodiscard]] inline Attributes attributes(const nlmsghdr* message, unsigned header) {
  Attributes result;
  mnl_attr_parse(message, header, collect, &result);
  return result;
}

/// Null when there is none of that type.
[[nodiscard]] inline const nlattr* find(const Attributes& all, std::uint16_t type) {
  const auto found = all.find(type);
  return found == all.end() ? nullptr : found->second;
}

/// None when the attribute is missing, or holds no address.
[[nodiscard]] inline Ip address(const nlattr* attribute) {
  if (attribute == nullptr) return {};
  return ip_of(
      {static_cast<const char*>(mnl_attr_get_payload(attribute)), mnl_attr_get_payload_len(attribute)});
}

/// None when the attribute is missing, or holds no Ethernet address.
[[nodiscard]] inline Mac mac(const nlattr* attribute) {
  Mac result;
  if (attribute != nullptr && mnl_attr_get_payload_len(attribute) == result.octets.size())
    std::memcpy(result.octets.data(), mnl_attr_get_payload(attribute), result.octets.size());
  return result;
}

[[nodiscard]] inline unsigned char family_of(const Ip& address) {
  return address.is_v4() ? AF_INET : AF_INET6;
}

inline void put(nlmsghdr* message, std::uint16_t type, const Ip& address) {
  const std::string bytes = address.wire();
  mnl_attr_put(message, type, bytes.size(), bytes.data());
}

}  // namespace headgate::kernel
