// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "model/control.pb.h"

// What the switch answers to whoever asks over HTTP whether a virtual server serves (/cfg/sys/state). Pure.
namespace headgate::control {

/// The state of a virtual server; nothing when there is none of that number.
using VirtStateOf = std::function<std::optional<State>(std::uint32_t virt)>;

struct Availability {
  unsigned status = 404;  ///< of HTTP
  std::string body;       ///< one line, with its end
  bool operator==(const Availability&) const = default;
};

/// The answer to `method` (GET or HEAD, else 405) for `target`: /virt/N/available is 200 while servers that
/// are up take new sessions, /virt/N/available-or-degraded also while only degraded ones do; else 503. What
/// is behind a "?" makes no difference, nor does http://HOST before it. Other targets, and numbers of no
/// virtual server, are 404.
[[nodiscard]] Availability availability(std::string_view method, std::string_view target,
                                        const VirtStateOf& state_of);

}  // namespace headgate::control
