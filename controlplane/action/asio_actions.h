// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>

#include "controlplane/action/actions.h"

namespace boost::asio {
class io_context;
}

namespace headgate::action {

/// How long an action may take.
struct Limits {
  std::chrono::milliseconds command{60'000};  ///< then it is killed, and all of its process group
  std::chrono::milliseconds call{10'000};
  std::chrono::milliseconds dying{
      5'000};  ///< that a command has after it was killed; then nobody waits for it
};

/// Performs actions with programs and sockets of this machine, within `context`. Programs that run when it is
/// destroyed run on.
[[nodiscard]] std::unique_ptr<Actions> make_actions(boost::asio::io_context& context, Limits limits = {});

}  // namespace headgate::action
