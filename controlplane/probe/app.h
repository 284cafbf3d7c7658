// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controlplane/health/reading.h"
#include "controlplane/probe/check.h"
#include "controlplane/probe/http_reply.h"
#include "model/result.h"

// The application check: it connects to ports and disconnects, then fetches pages; what fails of it may count
// in part. Pure. Mission C.
namespace headgate::probe {

/// What a failure counts that may be one of the way there, or of a moment.
constexpr health::Part kHalf = 50;

/// One step of the check, over a connection of its own.
struct AppStep {
  Ip address;
  L4Port port = 0;
  std::string page = {};  ///< as it is configured: "/ping", "//host/path"; empty: a port, connected to only
  std::string request = {};  ///< for the page

  bool operator==(const AppStep&) const = default;
};

/// One entry of a list of ports: "80", "10.10.2.11:9000", "[fd00::1]:80".
struct AppPort {
  Ip address = {};  ///< none: that of the real server
  L4Port port = 0;
  bool operator==(const AppPort&) const = default;
};

/// The entries of a blank-separated list; an error names the one that is none, and what is allowed.
[[nodiscard]] headgate::Result<std::vector<AppPort>> read_app_ports(std::string_view list);
/// The pages of a blank-separated list.
[[nodiscard]] headgate::Result<std::vector<std::string>> read_app_pages(std::string_view list);

/// What a check does in its order: its ports, then its pages, on `port` or its own. Lists that were refused
/// when they were configured have no steps.
[[nodiscard]] std::vector<AppStep> app_steps(const Check& check, const Ip& address, L4Port port);

/// How a step failed.
struct AppFailure {
  std::string cause;  ///< "refused", "status 500", "not done in 1.0 s"
  health::Part part = health::kComplete;
  bool failover = false;  ///< it demands that at once
  bool operator==(const AppFailure&) const = default;
};

/// What a step is doing.
enum class AppAct : std::uint8_t { connect, disconnect, fetch };

/// "10.10.2.11:8080 GET /ping: status 500", "10.10.2.11:9000 disconnect: not done in 1.0 s"
[[nodiscard]] std::string app_words(const AppStep& step, AppAct act, std::string_view cause);
/// The step is not done in the time of the whole check.
[[nodiscard]] AppFailure not_done_in(std::chrono::milliseconds time);

/// Reads the answer to a page. Any status is one, but 500, and those that demand failover; it must be whole.
/// Bounded in memory, and in what it reads.
class AppAnswer {
 public:
  /// Set when it is known how the step ended; nothing within it: the answer is good.
  using End = std::optional<std::optional<AppFailure>>;

  explicit AppAnswer(std::string_view failnow);

  /// The next octets that the server says. Not called after an end.
  [[nodiscard]] End hear(std::string_view bytes);
  /// The server has closed.
  [[nodiscard]] std::optional<AppFailure> end();

 private:
  [[nodiscard]] std::optional<AppFailure> judge(const Outcome& outcome) const;
  [[nodiscard]] std::optional<AppFailure> judge_status() const;

  std::optional<StatusSet> failnow_;
  HttpReply reply_{HttpWish{.whole = true}};
};

}  // namespace headgate::probe
