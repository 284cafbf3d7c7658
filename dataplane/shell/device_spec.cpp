// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/device_spec.h"

#include <fmt/format.h>

namespace headgate::shell {

DeviceSpec device_spec(const forwarding::Port& port, const std::string& steering_file) {
  const std::string& device = port.device();
  const bool own_arguments = device.find('=') != std::string::npos;
  switch (port.driver()) {
    case forwarding::XDP_SOCKET:
      // busy_budget=0: sockets on veth refuse preferred busy polling.
      return {fmt::format("net_af_xdp{}", port.number()),
              fmt::format("iface={},start_queue=0,queue_count=1,busy_budget=0,xdp_prog={}", device,
                          steering_file)};
    case forwarding::TAP:
      return {fmt::format("net_tap{}", port.number()), fmt::format("iface={}", device)};
    case forwarding::PCAP:
      // Not "iface=": that would hear what it sends itself.
      return {fmt::format("net_pcap{}", port.number()),
              own_arguments ? device : fmt::format("rx_iface_in={0},tx_iface={0}", device)};
    case forwarding::RING:
      return {fmt::format("net_ring{}", port.number()), {}};
    default:
      return {device, {}};
  }
}

}  // namespace headgate::shell
