// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/packet/bench.h"

namespace headgate::testing {

/// One bed in one family, for rules that hold in both.
struct Bed {
  std::string_view client, vip, server, server2;
  std::string_view gateway;      ///< the way to clients elsewhere
  std::string_view router;       ///< between the switch and the servers
  std::string_view client_side;  ///< the switch's own addresses
  std::string_view server_side;
  std::uint8_t unreachable, port_unreachable;  ///< ICMP type and code
  std::uint8_t too_big, too_big_code;
  std::uint8_t time_exceeded;
  std::uint8_t echo;
  bool v6;

  /// What is probed for the UDP service of a real server.
  [[nodiscard]] forwarding::Target udp_target(std::uint32_t real) const;
  /// An ICMP error of the switch itself has these header fields.
  [[nodiscard]] Packet own(const Packet& error) const;
};
extern const Bed kBed4;
extern const Bed kBed6;

/// Names test cases by family.
[[nodiscard]] std::string family_name(const ::testing::TestParamInfo<const Bed*>& info);

/// UDP port 53 to 5353 and TCP port 80 to 8080, over so many servers of a bed.
[[nodiscard]] Site dns(const Bed& bed, unsigned servers = 1);

/// So many octets, no two neighbours the same.
[[nodiscard]] std::string text(std::size_t size);

}  // namespace headgate::testing
