// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "controlplane/probe/prober.h"

namespace boost::asio {
class io_context;
}

namespace headgate::probe {

/// Performs probes with the sockets of this machine, within `context`, by the routes of the kernel.
[[nodiscard]] std::unique_ptr<Prober> make_prober(boost::asio::io_context& context);

}  // namespace headgate::probe
