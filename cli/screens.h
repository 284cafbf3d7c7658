// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

#include "model/control.pb.h"
#include "model/result.h"
#include "model/schema.h"

// What the screens show, as pure functions of what headgated answers (reference 1.5, 4.8, 5.1, 6.1). Each
// text is whole lines; the rule of dashes above a report is not part of it. An error names an object that
// does not exist.
namespace headgate::cli {

// ---- Information

/// /info/slb/dump: real servers, virtual servers, ports.
[[nodiscard]] std::string slb_state(const control::StatusReply& status);
[[nodiscard]] Result<std::string> real_state(const control::StatusReply& status, std::uint32_t number);
/// /info/slb/health: the services of a real server, each with its checks and its changes.
[[nodiscard]] Result<std::string> health_state(const control::StatusReply& status, std::uint32_t number);
[[nodiscard]] Result<std::string> virt_state(const control::StatusReply& status, std::uint32_t number);
[[nodiscard]] Result<std::string> group_state(const control::StatusReply& status, std::uint32_t number);
/// /info/slb/sess/...: one line a session, and their number.
[[nodiscard]] std::string session_list(const forwarding::Sessions& sessions);
/// Oldest first.
[[nodiscard]] std::string log_lines(const control::LogReply& log);
/// When headgated started, by its own message; 0 when the log does not reach back so far.
[[nodiscard]] std::time_t started(const control::LogReply& log);
[[nodiscard]] std::string link_state(const control::StatsReply& stats);
struct General {
  std::time_t now = 0;
  std::string version;
  std::string host_name;
  bool saved = false;       ///< what runs is what a restart of the machine loads
  std::time_t started = 0;  ///< when headgated started; 0 when that is not known
};
[[nodiscard]] std::string general(const General& general, const control::StatusReply& status);

// ---- Statistics

[[nodiscard]] std::string real_stats(const control::StatsReply& stats, std::uint32_t number);
/// The table of a group: a row for each real server, and their sum.
[[nodiscard]] std::string group_stats(const control::StatsReply& stats, const control::GroupStatus& group);
/// Likewise, the sum with the address of the virtual server.
[[nodiscard]] std::string virt_stats(const control::StatsReply& stats, const control::StatusReply& status,
                                     const control::VirtStatus& virt);
[[nodiscard]] std::string maint_stats(const control::StatsReply& stats);
[[nodiscard]] Result<std::string> port_stats(const control::StatsReply& stats, std::uint32_t number);

// ---- Operation

/// Operator settings of the real servers and the sessions that are left on each; without counters when null.
[[nodiscard]] std::string operation(const control::StatusReply& status, const control::StatsReply* stats);

// ---- Configuration

/// "enabled", "ON", "10.0.0.1", "5 minutes", or the values of a list.
[[nodiscard]] std::string setting_text(const google::protobuf::Message& message, const schema::Entry& entry);
/// The digest that `cur` prints of a menu and the menus below it; `which` is "Current" or "Pending".
[[nodiscard]] std::string settings(const google::protobuf::Message& message, const schema::Menu& menu,
                                   const std::string& title, std::string_view which = "Current");
/// What `cur` adds about a group, a real server with a check of its own, or a service: what is really
/// checked. `keys` are those of the place. Empty when there is nothing to tell.
[[nodiscard]] std::string checks_in_use(const control::ConfigReply& reply,
                                        const google::protobuf::Message& object,
                                        const std::vector<std::string>& keys);
/// The dump within its wrapper; only the line that says when it was taken differs between two of one
/// configuration.
[[nodiscard]] std::string dump_script(const config::Config& config, std::time_t now,
                                      const std::string& version);

}  // namespace headgate::cli
