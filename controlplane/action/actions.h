// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "controlplane/health/remedy.h"
#include "model/ip.h"
#include "model/result.h"

// Performs what is done about services that fail. Whether and when is decided elsewhere (health/remedy).
namespace headgate::action {

/// One thing to be done, and the facts that it is told.
struct Act {
  std::string what;  ///< as it is configured: a command, or an http:// address
  health::Remedy remedy = health::Remedy::restart;
  std::uint32_t real = 0;
  Ip address;
  L4Port port = 0;
  std::string reason;  ///< of the failure
};

struct Ended {
  bool done = false;
  std::string
      words;  ///< "done in 1.2 s", "ended with status 3", "killed after 60 s", "status 503, wanted 200-299"
  bool operator==(const Ended&) const = default;
};

class Actions {
 public:
  using OnEnd = std::function<void(const Ended&)>;

  virtual ~Actions() = default;
  /// An error: it could not be begun, and nothing more is heard of it. Else `on_end` is called once, never
  /// from inside of this, within a bounded time.
  [[nodiscard]] virtual Status begin(const Act& act, OnEnd on_end) = 0;
};

}  // namespace headgate::action
