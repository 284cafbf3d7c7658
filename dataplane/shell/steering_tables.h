// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <unordered_set>

#include "dataplane/shell/steering_maps.h"
#include "model/forwarding.pb.h"
#include "model/ip.h"

namespace headgate::shell {

/// A real service as the steering decision knows it; port 0 stands for any.
struct ServiceKey {
  Ip address;
  L4Port port = 0;
  std::uint8_t protocol = 0;
  auto operator<=>(const ServiceKey&) const = default;
};

/// For the sets of Steering; spread well enough over addresses that an administrator chose.
struct SteeringHash {
  [[nodiscard]] std::size_t operator()(const Ip& address) const noexcept {
    std::array<std::uint64_t, 2> halves{};
    std::memcpy(halves.data(), address.octets.data(), sizeof halves);
    return mixed(halves[0] ^ mixed(halves[1]));
  }
  [[nodiscard]] std::size_t operator()(const ServiceKey& key) const noexcept {
    return mixed((*this)(key.address) ^ (std::uint64_t{key.port} << 8 | key.protocol));
  }

 private:
  static std::uint64_t mixed(std::uint64_t value) noexcept {
    value *= 0x9e3779b97f4a7c15u;
    return value ^ value >> 32;
  }
};

/// What the steering decision looks at. `locals` holds no VIP: what is for a VIP is never the kernel's.
struct SteeringTables {
  std::set<Ip> vips;
  std::set<ServiceKey> services;
  std::set<Ip> locals;
  bool operator==(const SteeringTables&) const = default;
};

/// The tables of a configuration on a box with these addresses (VIPs among them or not).
[[nodiscard]] SteeringTables steering_tables(const forwarding::Generation& generation,
                                             const std::set<Ip>& kernel_addresses);

/// Steering for ports that no XDP program serves: the same decision, in the worker. Immutable.
class Steering {
 public:
  Steering() = default;
  explicit Steering(const SteeringTables& tables);
  /// Whether a frame is the switch's; else it is the kernel's.
  [[nodiscard]] bool takes(std::span<const std::uint8_t> frame) const noexcept;

  [[nodiscard]] bool is_vip(const Ip& address) const noexcept { return vips_.contains(address); }
  [[nodiscard]] bool is_service(const ServiceKey& key) const noexcept { return services_.contains(key); }
  [[nodiscard]] bool is_local(const Ip& address) const noexcept { return locals_.contains(address); }

 private:
  std::unordered_set<Ip, SteeringHash> vips_;
  std::unordered_set<ServiceKey, SteeringHash> services_;
  std::unordered_set<Ip, SteeringHash> locals_;
};

}  // namespace headgate::shell
