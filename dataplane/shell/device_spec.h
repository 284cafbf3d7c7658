// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "model/forwarding.pb.h"

namespace headgate::shell {

/// What DPDK calls a configured port, and the arguments its driver takes.
struct DeviceSpec {
  std::string name;
  std::string arguments;
  bool operator==(const DeviceSpec&) const = default;
};

/// AF_XDP and TAP: the device is a kernel interface. PCAP: a kernel interface, or the driver's own arguments
/// ("rx_pcap=in.pcap,tx_pcap=out.pcap"). RING: what is sent comes back in; the device is just a name. PCI: an
/// address.
[[nodiscard]] DeviceSpec device_spec(const forwarding::Port& port, const std::string& steering_file);

}  // namespace headgate::shell
