// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "controlplane/probe/conversation.h"

// Asks a name server (RFC 1035).
namespace headgate::probe {

enum class DnsType : std::uint16_t { a = 1, ns = 2, soa = 6, aaaa = 28, any = 255 };

/// A name as messages carry it: labels of 1 to 63 octets, 255 octets in all. The dot at its end may be left
/// out; "." alone is the root. Nothing where the text is no such name.
[[nodiscard]] std::optional<std::string> dns_name(std::string_view text);

/// Asks for `name` in one datagram. An answer to this question without an error passes, truncated or not, and
/// however many records it has; an error is named. What carries another id, or another question, is not
/// heard.
[[nodiscard]] std::unique_ptr<Conversation> dns_query(std::string_view name, DnsType type,
                                                      std::uint64_t salt);
/// The same over a stream.
[[nodiscard]] std::unique_ptr<Conversation> dns_query_over_tcp(std::string_view name, DnsType type,
                                                               std::uint64_t salt);

}  // namespace headgate::probe
