// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/generation.h"

#include <bit>

namespace headgate::core {
namespace {

constexpr std::uint64_t kUsed = std::uint64_t{1} << 63;

constexpr std::uint64_t key_of(Ipv4 address, L4Port port, Protocol protocol) {
  return kUsed | std::uint64_t{address.value} << 24 | std::uint64_t{port} << 8 |
         static_cast<std::uint64_t>(protocol);
}

constexpr std::size_t start_of(std::uint64_t key, std::size_t mask) {
  return static_cast<std::size_t>(mix(key, 0x9e3779b97f4a7c15u)) & mask;
}

}  // namespace

EndpointTable::EndpointTable(std::span<const Entry> entries)
    : slots_(entries.empty() ? 0 : std::bit_ceil(2 * entries.size())) {
  for (const Entry& entry : entries) {
    const std::uint64_t key = key_of(entry.address, entry.port, entry.protocol);
    std::size_t at = start_of(key, slots_.size() - 1);
    while (slots_[at].key != 0 && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {key, entry.value};
  }
}

const std::uint32_t* EndpointTable::find(Ipv4 address, L4Port port, Protocol protocol) const noexcept {
  if (slots_.empty()) return nullptr;
  const std::uint64_t key = key_of(address, port, protocol);
  for (std::size_t at = start_of(key, slots_.size() - 1); slots_[at].key != 0;
       at = (at + 1) & (slots_.size() - 1)) {
    if (slots_[at].key == key) return &slots_[at].value;
  }
  return nullptr;
}

}  // namespace headgate::core
