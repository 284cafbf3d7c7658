// SPDX-License-Identifier: Apache-2.0
#include "tests/packet/beds.h"

namespace headgate::testing {

const Bed kBed4{.client = kClient,
                .vip = kVip,
                .server = kServer1,
                .server2 = kServer2,
                .gateway = "10.10.1.1",
                .router = "10.10.2.1",
                .client_side = "10.10.1.5",
                .server_side = "10.10.2.5",
                .unreachable = 3,
                .port_unreachable = 3,
                .too_big = 3,
                .too_big_code = 4,
                .time_exceeded = 11,
                .echo = 8,
                .v6 = false};
const Bed kBed6{.client = "2001:db8:1::a",
                .vip = "2001:db8:1::64",
                .server = "2001:db8:2::b",
                .server2 = "2001:db8:2::c",
                .gateway = "2001:db8:1::1",
                .router = "2001:db8:2::1",
                .client_side = "2001:db8:1::5",
                .server_side = "2001:db8:2::5",
                .unreachable = 1,
                .port_unreachable = 4,
                .too_big = 2,
                .too_big_code = 0,
                .time_exceeded = 3,
                .echo = 128,
                .v6 = true};

forwarding::Target Bed::udp_target(std::uint32_t real) const {
  forwarding::Target target;
  target.set_real(real);
  target.set_port(5353);
  target.set_protocol(kUdp);
  target.set_check("udp");
  return target;
}

Packet Bed::own(const Packet& error) const {
  return v6 ? error : error.classed(0xc0).fragmented(kDontFragment);
}

std::string family_name(const ::testing::TestParamInfo<const Bed*>& info) {
  return info.param->v6 ? "ipv6" : "ipv4";
}

Site dns(const Bed& bed, unsigned servers) {
  std::vector<std::uint32_t> reals;
  for (std::uint32_t real = 1; real <= servers; ++real) reals.push_back(real);
  Site site;
  site.service(1, 53, 5353, reals).udp();
  if (bed.v6) site.ipv6();
  site.service(1, 80, 8080, reals);
  if (bed.v6) site.ipv6();
  return site;
}

std::string text(std::size_t size) {
  std::string out(size, '\0');
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>('a' + i % 23);
  return out;
}

}  // namespace headgate::testing
