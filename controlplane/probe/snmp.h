// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "controlplane/probe/conversation.h"
#include "controlplane/probe/expected_value.h"

// Reads one object of an SNMP agent (v2c: RFC 1901, RFC 3416).
namespace headgate::probe {

struct SnmpGet {
  std::string community;
  std::string oid;            ///< "1.3.6.1.2.1.1.3.0"
  ExpectedValue wanted = {};  ///< the value: text, or a number in decimal
  bool invert = false;        ///< every value but `wanted` passes
  bool weight = false;        ///< the value is a weight, and the outcome carries it
};

/// The value of the object must be the wanted one; what it is instead is told. Numbers of every kind compare
/// as their decimal text, octets as they are. As a weight pass only numbers that could be configured as one.
/// An answer to another request is not heard.
[[nodiscard]] std::unique_ptr<Conversation> snmp_get(const SnmpGet& get, std::uint64_t salt);

}  // namespace headgate::probe
