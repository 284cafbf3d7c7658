// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/control.pb.h"

// Words that several screens of information share.
namespace headgate::cli {

[[nodiscard]] std::string_view state_text(control::State state);
/// By its name where it has one: "http", "8080".
[[nodiscard]] std::string port_name_of(std::uint32_t port);
[[nodiscard]] bool is_udp(std::uint32_t protocol);
[[nodiscard]] std::string protocol_text(std::uint32_t protocol);
/// "Nov 29 20:24:36"
[[nodiscard]] std::string date_text(std::uint64_t unix_ms);
/// " since Nov 29 20:24:36"; empty when that is not known.
[[nodiscard]] std::string since(std::uint64_t unix_ms);

}  // namespace headgate::cli
