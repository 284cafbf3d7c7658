// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tests/model/random_traffic.h"

namespace headgate::testing {
namespace {

std::uint16_t moved(const Packet& piece, std::uint32_t units) {
  const auto flags = static_cast<std::uint16_t>(piece.fragment & ~0x1fff);
  return static_cast<std::uint16_t>(flags | ((piece.fragment + units) & 0x1fff));
}

// What an attacker, or a host in confusion, makes of a fragment.
void spoil(Dice& dice, Packet& piece) {
  switch (dice.below(6)) {
    case 0:
      piece.fragment = moved(piece, dice.between(1, 4));
      return;
    case 1:
      piece.fragment = moved(piece, 0x1fff);
      return;
    case 2:
      piece.fragment ^= kMoreFragments;
      return;
    case 3:
      piece.payload.resize(piece.payload.size() - std::min<std::size_t>(piece.payload.size(), 8));
      return;
    case 4:
      piece.payload.resize(dice.below(40), 'z');
      return;
    default:
      piece.payload[0] ^= 1;  // a port, of a first one
  }
}

}  // namespace

std::vector<Packet> random_fragments(Dice& dice, const Packet& packet) {
  const std::uint32_t octets = dice.percent(10) ? 8 : 8 * dice.between(3, 8);
  const std::uint32_t number = dice.percent(50) ? dice.below(8) : dice.below(65536);
  std::vector<Packet> out;
  for (Packet& piece : packet.fragments(octets, number)) {
    if (dice.percent(6)) spoil(dice, piece);
    if (dice.percent(8)) out.push_back(piece);
    if (!dice.percent(8)) out.push_back(piece);
  }
  for (std::size_t i = out.size(); i > 1; --i) {
    if (dice.percent(40)) std::swap(out[i - 1], out[dice.below(i)]);
  }
  if (out.empty()) out.push_back(packet);
  return out;
}

}  // namespace headgate::testing
