// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/core/director.h"
#include "dataplane/core/shared.h"
#include "model/forwarding.pb.h"
#include "model/ip.h"

// What the benchmarks switch: services, servers that are all up, clients, and their frames.
namespace headgate::bench {

constexpr std::size_t kFrame = 60;    ///< bytes of a 64-byte frame, FCS not among them
constexpr std::size_t kHeaders = 54;  ///< what a rewrite may change of it
constexpr std::size_t kFrame6 = 74;   ///< of IPv6 the shortest segment is longer
constexpr Ipv4 kVip{0x0a640001};
constexpr Ipv4 kServers{0x0a020000};
constexpr std::uint32_t kClients = 0x0b000000;
constexpr std::uint32_t kPortsEach = 32768;  ///< sessions of each client address

/// An address in IPv6 that stands for one of the IPv4 addresses here: 2001:db8::a.b.c.d.
[[nodiscard]] Ip ip6_of(Ipv4 address);

/// `services` of them, at kVip and the addresses that follow, each with the same `servers`; ports 1 and 2 for
/// both sides. Clients come in by port 1 (index 0), servers are behind port 2 (index 1). With `v6` all of it
/// is IPv6.
[[nodiscard]] forwarding::Generation site(forwarding::Metric metric, unsigned servers, unsigned services = 1,
                                          bool v6 = false);

/// Publishes a site: routes and neighbours known, all servers open.
void bring_up(core::Director& director, core::Shared& shared, const forwarding::Generation& site);

/// The frame of a client's segment, of the session of that number; sessions take turns at the services.
[[nodiscard]] std::vector<std::uint8_t> client_frame(std::uint32_t session, std::uint8_t flags,
                                                     unsigned services = 1);
[[nodiscard]] std::vector<std::uint8_t> client_frame6(std::uint32_t session, std::uint8_t flags);

/// Prebuilt headers of packets, and the ports they come in by.
struct Pool {
  std::size_t headers = kHeaders;
  std::vector<std::uint8_t> bytes;
  std::vector<core::PortIndex> ports;

  void add(const std::uint8_t* frame, core::PortIndex port) {
    bytes.insert(bytes.end(), frame, frame + headers);
    ports.push_back(port);
  }
  [[nodiscard]] const std::uint8_t* at(std::size_t i) const { return &bytes[i * headers]; }
  [[nodiscard]] std::size_t size() const { return ports.size(); }
};

/// 0 to size - 1 in random order, the same in each run.
[[nodiscard]] std::vector<std::uint32_t> shuffled(std::size_t size);

}  // namespace headgate::bench
