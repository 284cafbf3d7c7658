// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headgate {

/// The name of a well-known service port (reference section 1.4), or nothing: 80 -> "http".
[[nodiscard]] std::optional<std::string_view> port_name(std::uint16_t port);
/// The port of a well-known name: "http" -> 80. Exact names only.
[[nodiscard]] std::optional<std::uint16_t> port_of(std::string_view name);
/// Whether the service of a port is spoken over UDP by custom: dns, tftp, ntp, snmp, snmptrap, radius.
[[nodiscard]] bool is_udp_port(std::uint16_t port);
/// The name where there is one, else the decimal number.
[[nodiscard]] std::string port_text(std::uint16_t port);

}  // namespace headgate
