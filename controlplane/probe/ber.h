// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// The basic encoding rules of ASN.1 (X.690), as far as SNMP has them: definite lengths, tags of one octet.
// Pure.
namespace headgate::probe {

enum BerTag : std::uint8_t {
  kBerInteger = 0x02,
  kBerOctets = 0x04,
  kBerNull = 0x05,
  kBerOid = 0x06,
  kBerSequence = 0x30,
};

/// One element; `value` lies within the message that was read.
struct BerElement {
  std::uint8_t tag = 0;
  std::string_view value;
};

/// Takes the next element from the front of `rest`. Nothing where it is cut short or is longer than what is
/// left, where its length is indefinite or written in more than four octets, or its tag in more than one.
[[nodiscard]] std::optional<BerElement> take_ber(std::string_view& rest);
/// The same, of one tag only.
[[nodiscard]] std::optional<std::string_view> take_ber(std::string_view& rest, std::uint8_t tag);
/// A number with its sign, of at most eight octets.
[[nodiscard]] std::optional<std::int64_t> ber_integer(std::string_view value);
/// A number of the kinds that have no sign, of at most eight octets; a zero before them, which keeps the sign
/// out, may be missing: agents are known to leave it out.
[[nodiscard]] std::optional<std::uint64_t> ber_unsigned(std::string_view value);

[[nodiscard]] std::string ber(std::uint8_t tag, std::string_view value);
[[nodiscard]] std::string ber_integer(std::int64_t number);
/// The value of an object identifier, "1.3.6.1.2.1.1.3.0" with or without a dot before it; nothing where the
/// text is none.
[[nodiscard]] std::optional<std::string> ber_oid(std::string_view text);

}  // namespace headgate::probe
