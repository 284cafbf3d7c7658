// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <unordered_set>

#include "dataplane/shell/steering_maps.h"
#include "model/forwarding.pb.h"
#include "model/ip.h"

namespace headgate::shell {

/// A real service as the steering decision knows it; port 0 stands for any.
struct ServiceKey {
  Ipv4 address;
  L4Port port = 0;
  std::uint8_t protocol = 0;
  auto operator<=>(const ServiceKey&) const = default;

  /// As one number, for hashing.
  [[nodiscard]] std::uint64_t packed() const noexcept {
    return std::uint64_t{address.value} << 32 | std::uint64_t{port} << 16 | protocol;
  }
};

/// What the steering decision looks at. `locals` holds no VIP: what is for a VIP is never the kernel's.
struct SteeringTables {
  std::set<Ipv4> vips;
  std::set<ServiceKey> services;
  std::set<Ipv4> locals;
  bool operator==(const SteeringTables&) const = default;
};

/// The tables of a configuration on a box with these addresses (VIPs among them or not).
[[nodiscard]] SteeringTables steering_tables(const forwarding::Generation& generation,
                                             const std::set<Ipv4>& kernel_addresses);

/// Steering for ports that no XDP program serves: the same decision, in the worker. Immutable.
class Steering {
 public:
  Steering() = default;
  explicit Steering(const SteeringTables& tables);
  /// Whether a frame is the switch's; else it is the kernel's.
  [[nodiscard]] bool takes(std::span<const std::uint8_t> frame) const noexcept;

  [[nodiscard]] bool is_vip(Ipv4 address) const noexcept { return vips_.contains(address.value); }
  [[nodiscard]] bool is_service(const ServiceKey& key) const noexcept {
    return services_.contains(key.packed());
  }
  [[nodiscard]] bool is_local(Ipv4 address) const noexcept { return locals_.contains(address.value); }

 private:
  std::unordered_set<std::uint32_t> vips_;
  std::unordered_set<std::uint64_t> services_;
  std::unordered_set<std::uint32_t> locals_;
};

}  // namespace headgate::shell
