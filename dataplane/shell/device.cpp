// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/device.h"

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace headgate::shell {
namespace {

/// As deep as the AF_XDP driver fills its rings: a worker that has to wait for a processor loses less.
constexpr std::uint16_t kDescriptors = 2048;

/// Sets up an idle port with one queue each way; 0 or a negative errno.
int set_up(std::uint16_t id, rte_mempool* buffers) {
  rte_eth_conf configuration{};
  if (const int error = rte_eth_dev_configure(id, 1, 1, &configuration); error != 0) return error;
  std::uint16_t rx = kDescriptors;
  std::uint16_t tx = kDescriptors;
  if (const int error = rte_eth_dev_adjust_nb_rx_tx_desc(id, &rx, &tx); error != 0) return error;
  const int socket = rte_eth_dev_socket_id(id);
  if (const int error = rte_eth_rx_queue_setup(id, 0, rx, static_cast<unsigned>(socket), nullptr, buffers)) {
    return error;
  }
  if (const int error = rte_eth_tx_queue_setup(id, 0, tx, static_cast<unsigned>(socket), nullptr))
    return error;
  return rte_eth_dev_start(id);
}

}  // namespace

Result<Device> Device::open(const std::string& name, const std::string& arguments, rte_mempool* buffers) {
  const XdpSockets before = open_xdp_sockets();
  const std::string what = arguments.empty() ? name : name + "," + arguments;
  if (const int error = rte_dev_probe(what.c_str()); error != 0) {
    return Error{fmt::format("driver of {}: {}", name, rte_strerror(-error))};
  }
  std::uint16_t id = kNone;
  if (rte_eth_dev_get_port_by_name(name.c_str(), &id) != 0) {
    return Error{fmt::format("driver of {}: no such port", name)};
  }
  Device device(id);
  const int error = set_up(id, buffers);
  for (const auto& socket : open_xdp_sockets()) {
    if (!before.contains(socket)) device.sockets_.insert(socket);
  }
  if (error != 0) {
    return Error{fmt::format("setting up {}: {}", name, rte_strerror(-error))};
  }
  return device;
}

Device::Device(Device&& other) noexcept
    : id_(std::exchange(other.id_, kNone)), sockets_(std::exchange(other.sockets_, {})) {}

Device& Device::operator=(Device&& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(sockets_, other.sockets_);
  return *this;
}

Device::~Device() {
  if (id_ == kNone) return;
  rte_eth_dev_info info{};
  const bool known = rte_eth_dev_info_get(id_, &info) == 0;
  rte_eth_dev_stop(id_);
  rte_eth_dev_close(id_);
  if (known) rte_dev_remove(info.device);
  close_leaked(sockets_);
}

Mac Device::mac() const {
  rte_ether_addr address{};
  Mac mac;
  if (rte_eth_macaddr_get(id_, &address) == 0)
    std::memcpy(mac.octets.data(), address.addr_bytes, mac.octets.size());
  return mac;
}

std::uint16_t Device::mtu() const {
  std::uint16_t mtu = 1500;
  rte_eth_dev_get_mtu(id_, &mtu);
  return mtu;
}

void Device::set_mtu(std::uint16_t mtu) {
  rte_eth_dev_set_mtu(id_, mtu);
}

void Device::hear_all_multicast() {
  rte_eth_allmulticast_enable(id_);
}

bool Device::link_up() const {
  rte_eth_link link{};
  return rte_eth_link_get_nowait(id_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

DeviceCounts Device::counts() const {
  rte_eth_stats stats{};
  if (rte_eth_stats_get(id_, &stats) != 0) return {};
  return {stats.ipackets, stats.opackets, stats.ibytes, stats.obytes, stats.imissed};
}

void Device::clear_counts() {
  rte_eth_stats_reset(id_);
}

}  // namespace headgate::shell
