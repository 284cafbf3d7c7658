// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "dataplane/shell/xdp_sockets.h"
#include "model/ip.h"
#include "model/result.h"

struct rte_mempool;

namespace headgate::shell {

/// What the driver counted.
struct DeviceCounts {
  std::uint64_t rx_packets = 0;
  std::uint64_t tx_packets = 0;
  std::uint64_t rx_bytes = 0;
  std::uint64_t tx_bytes = 0;
  std::uint64_t rx_missed = 0;
};

/// One port of DPDK with one receive and one transmit queue, started. Closing it leaves nothing behind.
class Device {
 public:
  /// Plugs in `name` with `arguments` (DPDK's device syntax), sets it up on `buffers` and starts it.
  [[nodiscard]] static Result<Device> open(const std::string& name, const std::string& arguments,
                                           rte_mempool* buffers);
  Device(Device&& other) noexcept;
  Device& operator=(Device&& other) noexcept;
  ~Device();

  [[nodiscard]] std::uint16_t id() const noexcept { return id_; }
  [[nodiscard]] Mac mac() const;
  [[nodiscard]] std::uint16_t mtu() const;
  void set_mtu(std::uint16_t mtu);
  /// Has the NIC deliver all multicast frames, as the kernel behind a twin may want any (IPv6's discovery).
  void hear_all_multicast();
  [[nodiscard]] bool link_up() const;
  [[nodiscard]] DeviceCounts counts() const;
  void clear_counts();

 private:
  explicit Device(std::uint16_t id) : id_(id) {}
  static constexpr std::uint16_t kNone = 0xffff;
  std::uint16_t id_;
  XdpSockets sockets_;  ///< that its driver opened
};

}  // namespace headgate::shell
