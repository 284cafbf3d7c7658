// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headgate::probe {

constexpr std::size_t kMd5Size = 16;

/// The digest of `bytes` (RFC 1321). Nothing where this machine's cryptography refuses MD5.
[[nodiscard]] std::optional<std::string> md5(std::string_view bytes);
/// Keyed (RFC 2104).
[[nodiscard]] std::optional<std::string> hmac_md5(std::string_view key, std::string_view bytes);

}  // namespace headgate::probe
