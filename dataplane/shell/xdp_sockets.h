// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <utility>

namespace headgate::shell {

/// AF_XDP sockets of this process: descriptor and inode, which together name one for good.
using XdpSockets = std::set<std::pair<int, unsigned long>>;

/// Those that are open now.
[[nodiscard]] XdpSockets open_xdp_sockets();

/// Closes those of `sockets` that are still open. DPDK 22.11 with libxdp 1.3 leaves the socket of a closed
/// port open, which keeps its queue busy: the port could not be opened again in the life of the process.
void close_leaked(const XdpSockets& sockets);

}  // namespace headgate::shell
