// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "controlplane/control/availability.h"
#include "controlplane/daemon/seams.h"

namespace boost::asio {
class io_context;
}

namespace headgate::control {

/// Answers HTTP as availability() says. Bounded: so many clients at a time, so long a request, so much time
/// for it, whatever they send.
[[nodiscard]] std::unique_ptr<daemon::StateServer> make_state_server(boost::asio::io_context& context,
                                                                     VirtStateOf state_of);

}  // namespace headgate::control
