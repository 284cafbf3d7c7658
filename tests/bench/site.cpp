// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/site.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>

#include "tests/packet/wire.h"

namespace headgate::bench {
namespace {

constexpr Ipv4 kGateway{0x0a010001};  ///< towards the clients

Ip address(Ipv4 v4, bool v6) {
  return v6 ? ip6_of(v4) : Ip(v4);
}

void add_service(forwarding::Generation& out, unsigned number, forwarding::Metric metric, unsigned servers,
                 bool v6) {
  auto& service = *out.add_service();
  service.set_virt(number + 1), service.set_vip(address(Ipv4{kVip.value + number}, v6).wire()),
      service.set_vport(80);
  service.set_protocol(6), service.set_group(1), service.set_metric(metric);
  for (unsigned real = 1; real <= servers; ++real) {
    auto& member = *service.add_member();
    member.set_real(real), member.set_rip(address(Ipv4{kServers.value + real}, v6).wire()),
        member.set_rport(8080);
    member.set_weight(1), member.set_idle_seconds(600);
    member.mutable_target()->set_real(real);
  }
}

}  // namespace

Ip ip6_of(Ipv4 v4) {
  Ip ip;
  ip.octets = {0x20, 0x01, 0x0d, 0xb8};
  for (unsigned i = 0; i < 4; ++i) ip.octets[12 + i] = Ip(v4).octets[12 + i];
  return ip;
}

forwarding::Generation site(forwarding::Metric metric, unsigned servers, unsigned services, bool v6) {
  forwarding::Generation out;
  for (unsigned number = 0; number < services; ++number) add_service(out, number, metric, servers, v6);
  for (const unsigned number : {1u, 2u}) {
    auto& port = *out.add_port();
    port.set_number(number), port.set_client(true), port.set_server(true);
  }
  return out;
}

void bring_up(core::Director& director, core::Shared& shared, const forwarding::Generation& site) {
  director.set_ports({PortNumber{1}, PortNumber{2}});
  director.set_routes({{.prefix = Ipv4{0x0a000000}, .length = 8, .port = 1, .gateway = {}},
                       {.prefix = core::kAnyIpv4, .length = 0, .port = 0, .gateway = kGateway},
                       {.prefix = ip6_of(Ipv4{0x0a000000}), .length = 104, .port = 1, .gateway = {}},
                       {.prefix = Ip{}, .length = 0, .port = 0, .gateway = ip6_of(kGateway)}});
  if (!director.publish(site)) std::abort();
  forwarding::States states;
  for (const auto& member : site.service(0).member()) {
    auto& state = *states.add_target();
    *state.mutable_target() = member.target();
    state.set_admission(forwarding::OPEN);
    shared.hops.resolve(1, ip_of(member.rip()), {{2, 0, 0, 0, 1, static_cast<std::uint8_t>(member.real())}});
  }
  director.set_states(states);
  shared.hops.resolve(0, kGateway, {{2, 0, 0, 0, 0, 9}});
  shared.hops.resolve(0, ip6_of(kGateway), {{2, 0, 0, 0, 0, 9}});
  shared.set_port(0, {{2, 0, 0, 0, 0, 1}}, 1500);
  shared.set_port(1, {{2, 0, 0, 0, 0, 2}}, 1500);
}

std::vector<std::uint8_t> client_frame(std::uint32_t session, std::uint8_t flags, unsigned services) {
  const Ipv4 client{kClients + session / kPortsEach};
  const Ipv4 vip{kVip.value + session % services};
  const auto port = static_cast<std::uint16_t>(1024 + session % kPortsEach);
  return testing::ip(client, vip).tcp(port, 80, flags).padded(kFrame).in(1).bytes;
}

std::vector<std::uint8_t> client_frame6(std::uint32_t session, std::uint8_t flags) {
  const Ip client = ip6_of(Ipv4{kClients + session / kPortsEach});
  const auto port = static_cast<std::uint16_t>(1024 + session % kPortsEach);
  return testing::ip(client, ip6_of(kVip)).tcp(port, 80, flags).padded(kFrame6).in(1).bytes;
}

std::vector<std::uint32_t> shuffled(std::size_t size) {
  std::vector<std::uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), std::mt19937(7));
  return order;
}

}  // namespace headgate::bench
