// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controlplane/health/measures.h"
#include "controlplane/health/reading.h"
#include "controlplane/health/share.h"
#include "model/ip.h"

// What a check says to a server and makes of its answers. Pure: a stream of bytes in, bytes and a verdict
// out.
namespace headgate::probe {

/// How a probe ended.
struct Outcome {
  bool passed = false;
  std::string reason;      ///< "status 200", "status 503, wanted 200", "closed without an answer"
  std::string value = {};  ///< what was read, by a check that reads something
  std::optional<health::Bearing> bears = {};    ///< passed, and this is what the server says it can bear
  health::Reading reading = {};                 ///< passed: as how well the server does
  std::vector<health::Measured> measured = {};  ///< passed: numbers to be graded by bounds
  std::string note = {};  ///< passed: what lowers the reading, as it follows a reason: ", alert low-disk"
  bool unasked = false;   ///< not passed: this machine could not ask, and the server has no part in it
  bool operator==(const Outcome&) const = default;
};

/// One check over one stream, from its beginning to its verdict. Bounded in memory, whatever the server says;
/// bounded in time by its caller. Which pieces the stream comes in makes no difference. It may ask for a
/// second stream, on which a server sends a file (FTP).
class Conversation {
 public:
  /// What to do now.
  struct Turn {
    std::string say;                 ///< to the server; with an outcome, the farewell
    std::optional<Outcome> outcome;  ///< once: nothing that comes after it changes anything
    std::optional<std::chrono::milliseconds> patience =
        {};  ///< late() is due after so long; replaces an earlier one
    /// Open a second stream to this port of the same server; connected() follows.
    std::optional<L4Port> connect = {};
    bool fetch = false;  ///< wait for what the second stream brings; fetched() follows
    bool operator==(const Turn&) const = default;
  };

  virtual ~Conversation() = default;
  /// The connection stands.
  [[nodiscard]] virtual Turn begin() = 0;
  /// The server has said more. Not called after an outcome.
  [[nodiscard]] virtual Turn hear(std::string_view bytes) = 0;
  /// The patience of the last turn that had some has run out. Not called after an outcome.
  [[nodiscard]] virtual Turn late() { return {{}, Outcome{false, "no answer in time"}}; }
  /// The server has nothing more to say, and there is no outcome yet.
  [[nodiscard]] virtual Outcome end() = 0;

  /// The second stream stands, or why it does not, in words. Nothing is heard between asking for it and this.
  [[nodiscard]] virtual Turn connected(std::string_view /*failure*/) { return {}; }
  /// Its first octets have come, or, with none, its end. Nothing is heard between asking for them and this.
  [[nodiscard]] virtual Turn fetched(std::size_t /*octets*/) { return {}; }
};

}  // namespace headgate::probe
