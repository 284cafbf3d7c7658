// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "controlplane/probe/watcher.h"

namespace boost::asio {
class io_context;
}

namespace headgate::probe {

/// Watches with the sockets of this machine, within `context`, by the routes of the kernel.
[[nodiscard]] std::unique_ptr<Watcher> make_watcher(boost::asio::io_context& context);

}  // namespace headgate::probe
