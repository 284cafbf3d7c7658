// SPDX-License-Identifier: Apache-2.0
#include "cli/screen_words.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "model/ip.h"
#include "model/ports.h"

namespace headgate::cli {

std::string_view state_text(control::State state) {
  switch (state) {
    case control::UP:
      return "up";
    case control::FAILED:
      return "FAILED";
    case control::DISABLED:
      return "DISABLED";
    case control::NO_SERVICES_UP:
      return "NO SERVICES UP";
    case control::BLOCKED:
      return "BLOCKED";
    case control::OVERFLOW:
      return "OVERFLOW";
    case control::SLOWSTART:
      return "slow start";
    case control::DEGRADED:
      return "degraded";
    default:
      return "not checked";
  }
}

std::string port_name_of(std::uint32_t port) {
  return port_text(static_cast<std::uint16_t>(port));
}

bool is_udp(std::uint32_t protocol) {
  return protocol == static_cast<std::uint32_t>(Protocol::udp);
}

std::string protocol_text(std::uint32_t protocol) {
  return is_udp(protocol) ? "udp" : "tcp";
}

std::string date_text(std::uint64_t unix_ms) {
  return fmt::format("{:%b %e %H:%M:%S}", fmt::localtime(static_cast<std::time_t>(unix_ms / 1000)));
}

std::string since(std::uint64_t unix_ms) {
  return unix_ms == 0 ? "" : " since " + date_text(unix_ms);
}

}  // namespace headgate::cli
