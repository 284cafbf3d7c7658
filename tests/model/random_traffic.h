// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tests/model/dice.h"
#include "tests/model/plain_switch.h"
#include "tests/model/random_site.h"

namespace headgate::testing {

/// Frames that a client, a server or nobody in his senses might send: most belong to sessions that the plain
/// switch knows, at every stage of their life.
class RandomTraffic {
 public:
  RandomTraffic(Dice& dice, const RandomSite& site, const plain::PlainSwitch& known)
      : dice_(dice), site_(site), known_(known) {}

  [[nodiscard]] Wire frame();

 private:
  [[nodiscard]] Packet whole();
  [[nodiscard]] Packet fragment();

  Dice& dice_;
  const RandomSite& site_;
  const plain::PlainSwitch& known_;
  std::vector<Packet> pieces_;  ///< of datagrams, still to be sent
};

/// An ICMP error as somebody may send who received a packet of the switch.
[[nodiscard]] Packet random_error(Dice& dice, const RandomSite& site, const plain::PlainSwitch& known);
/// A packet in fragments; now and then one is missing, comes twice, or is not what it should be.
[[nodiscard]] std::vector<Packet> random_fragments(Dice& dice, const Packet& packet);

}  // namespace headgate::testing
