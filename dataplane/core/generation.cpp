// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/generation.h"

#include <bit>

namespace headgate::core {

EndpointTable::EndpointTable(std::span<const Entry> entries)
    : slots_(entries.empty() ? 0 : std::bit_ceil(2 * entries.size())) {
  for (const Entry& entry : entries) {
    std::size_t at = start_of(entry.address, entry.port, entry.protocol);
    const auto other = [&](const Slot& slot) {
      return slot.protocol != 0 && !(slot.protocol == static_cast<std::uint8_t>(entry.protocol) &&
                                     slot.port == entry.port && slot.address == entry.address);
    };
    while (other(slots_[at])) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {entry.address, entry.port, static_cast<std::uint8_t>(entry.protocol), entry.value};
  }
}

std::size_t EndpointTable::start_of(const Ip& address, L4Port port, Protocol protocol) const noexcept {
  const IpWords at = words(address);
  const std::uint64_t rest = std::uint64_t{port} << 8 | static_cast<std::uint64_t>(protocol);
  return static_cast<std::size_t>(mix(at.last ^ rest << 8, at.first ^ hashing::kA)) & (slots_.size() - 1);
}

const std::uint32_t* EndpointTable::find(const Ip& address, L4Port port, Protocol protocol) const noexcept {
  if (slots_.empty()) return nullptr;
  for (std::size_t at = start_of(address, port, protocol); slots_[at].protocol != 0;
       at = (at + 1) & (slots_.size() - 1)) {
    const Slot& slot = slots_[at];
    if (slot.port == port && slot.protocol == static_cast<std::uint8_t>(protocol) && slot.address == address)
      return &slot.value;
  }
  return nullptr;
}

}  // namespace headgate::core
