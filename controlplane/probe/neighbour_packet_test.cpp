// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/neighbour_packet.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace headgate::probe {
namespace {

const Asker kSwitch{Ipv4{0x0a0a0205}, {{2, 0, 0, 0, 0, 5}}};
const Ip kServer = Ipv4{0x0a0a020b};
const Asker kSwitch6{*Ip::parse("2001:db8:2::5"), {{2, 0, 0, 0, 0, 5}}};
const Ip kServer6 = *Ip::parse("2001:db8:2::11:2233");

/// Of server 1, whose Ethernet address ends in 11, to the switch.
const std::vector<std::uint8_t> kReply{0,  1,  8, 0,  6, 4, 0, 2, 2, 0, 0,  0,  0, 11,
                                       10, 10, 2, 11, 2, 0, 0, 0, 0, 5, 10, 10, 2, 5};

/// A solicited one of kServer6, with its Ethernet address.
std::vector<std::uint8_t> advertisement() {
  std::vector<std::uint8_t> message(32);
  message[0] = 136;
  message[4] = 0x60;
  std::ranges::copy(kServer6.octets, message.begin() + 8);
  message[24] = 2;
  message[25] = 1;
  return message;
}

TEST(NeighbourPacket, AnArpRequestIsTheseBytes) {
  EXPECT_EQ(arp_request(kSwitch, kServer),
            (std::array<std::uint8_t, 28>{0,  1,  8, 0, 6, 4, 0, 1, 2, 0, 0,  0,  0, 5,
                                          10, 10, 2, 5, 0, 0, 0, 0, 0, 0, 10, 10, 2, 11}));
}

TEST(NeighbourPacket, ASolicitationIsTheseBytesToTheGroupOfTheAddress) {
  EXPECT_EQ(
      solicitation(kSwitch6, kServer6),
      (std::array<std::uint8_t, 32>{135, 0, 0, 0, 0, 0,    0,    0,    0x20, 1, 0x0d, 0xb8, 0, 2, 0, 0,
                                    0,   0, 0, 0, 0, 0x11, 0x22, 0x33, 1,    1, 2,    0,    0, 0, 0, 5}));
  EXPECT_EQ(solicited_node(kServer6), *Ip::parse("ff02::1:ff11:2233"));
}

TEST(NeighbourPacket, AnArpReplyIsRead) {
  EXPECT_EQ(read_arp_reply(kReply), (ArpReply{kServer, kSwitch}));
}

TEST(NeighbourPacket, WhatIsNoArpReplyIsNothing) {
  for (const std::size_t wrong : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u}) {
    auto packet = kReply;
    packet[wrong] ^= 3;
    EXPECT_EQ(read_arp_reply(packet), std::nullopt) << wrong;
  }
  for (std::size_t size = 0; size < kReply.size(); ++size)
    EXPECT_EQ(read_arp_reply({kReply.data(), size}), std::nullopt) << size;
}

TEST(NeighbourPacket, ASolicitedAdvertisementIsRead) {
  EXPECT_EQ(read_advertisement(advertisement()), kServer6);
}

TEST(NeighbourPacket, WhatIsNoAnswerToASolicitationIsNothing) {
  auto unsolicited = advertisement();
  unsolicited[4] = 0x20;
  EXPECT_EQ(read_advertisement(unsolicited), std::nullopt);
  auto other = advertisement();
  other[0] = 135;
  EXPECT_EQ(read_advertisement(other), std::nullopt);
  const auto message = advertisement();
  for (std::size_t size = 0; size < 24; ++size)
    EXPECT_EQ(read_advertisement({message.data(), size}), std::nullopt) << size;
}

}  // namespace
}  // namespace headgate::probe
