// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/model/dice.h"
#include "tests/model/plain_switch.h"
#include "tests/model/random_site.h"

namespace headgate::testing {

/// A frame that a client, a server or nobody in his senses might send: most belong to sessions that the plain
/// switch knows, at every stage of their life.
[[nodiscard]] Wire random_frame(Dice& dice, const RandomSite& site, const plain::PlainSwitch& known);

/// An ICMP error as somebody may send who received a packet of the switch.
[[nodiscard]] Packet random_error(Dice& dice, const RandomSite& site, const plain::PlainSwitch& known);

}  // namespace headgate::testing
