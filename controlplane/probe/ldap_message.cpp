// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/ldap_message.h"

#include <algorithm>

#include <fmt/format.h>

#include "controlplane/probe/ber.h"
#include "controlplane/probe/bytes.h"
#include "controlplane/probe/words.h"

namespace headgate::probe {
namespace {

constexpr std::size_t kLongest = 64 * 1024;
constexpr unsigned kLongestLength = 4;  // octets

constexpr std::uint8_t kBoolean = 0x01;
constexpr std::uint8_t kEnumerated = 0x0a;
constexpr std::uint8_t kSet = 0x31;
constexpr std::uint8_t kBindRequest = 0x60;
constexpr std::uint8_t kUnbindRequest = 0x42;
constexpr std::uint8_t kSearchRequest = 0x63;
constexpr std::uint8_t kSimple = 0x80;
constexpr std::uint8_t kPresent = 0x87;

std::string message(std::int64_t id, std::string_view operation) {
  return ber(kBerSequence, ber_integer(id).append(operation));
}

/// The length that the octets behind the tag tell; nothing while some of them are missing.
std::optional<std::size_t> announced(std::string_view octets, unsigned size) {
  if (octets.size() < size) return {};
  std::size_t length = 0;
  for (const char c : octets.substr(0, size)) length = length << 8 | octet(c);
  return length;
}

}  // namespace

LdapSize ldap_size(std::string_view begin) {
  if (!begin.empty() && octet(begin[0]) != kBerSequence) return {false};
  if (begin.size() < 2) return {true, 2 - begin.size()};
  const unsigned first = octet(begin[1]);
  const unsigned more = first < 0x80 ? 0 : first - 0x80;
  if (first == 0x80 || more > kLongestLength) return {false};
  const std::size_t header = 2 + more;
  const auto length = more == 0 ? std::optional<std::size_t>(first) : announced(begin.substr(2), more);
  if (!length) return {true, header - begin.size()};
  if (*length > kLongest) return {false};
  return {true, header + *length - begin.size()};
}

std::optional<LdapMessage> ldap_message(std::string_view bytes) {
  const auto whole = take_ber(bytes, kBerSequence);
  if (!whole) return {};
  std::string_view rest = *whole;
  const auto id = take_ber(rest, kBerInteger);
  const auto operation = take_ber(rest);
  const auto number = id ? ber_integer(*id) : std::nullopt;
  if (!number || !operation) return {};
  return LdapMessage{*number, operation->tag, operation->value};
}

std::optional<LdapResult> ldap_result(std::string_view content) {
  const auto code = take_ber(content, kEnumerated);
  const auto matched = take_ber(content, kBerOctets);
  const auto diagnosis = take_ber(content, kBerOctets);
  const auto number = code ? ber_integer(*code) : std::nullopt;
  if (!number || !matched || !diagnosis) return {};
  return LdapResult{*number, *diagnosis};
}

std::string ldap_code(std::int64_t code) {
  struct Name {
    int code;
    const char* name;
  };
  constexpr Name kNames[] = {{0, "success"},
                             {1, "operationsError"},
                             {2, "protocolError"},
                             {3, "timeLimitExceeded"},
                             {4, "sizeLimitExceeded"},
                             {7, "authMethodNotSupported"},
                             {8, "strongerAuthRequired"},
                             {10, "referral"},
                             {11, "adminLimitExceeded"},
                             {13, "confidentialityRequired"},
                             {16, "noSuchAttribute"},
                             {32, "noSuchObject"},
                             {33, "aliasProblem"},
                             {34, "invalidDNSyntax"},
                             {36, "aliasDereferencingProblem"},
                             {48, "inappropriateAuthentication"},
                             {49, "invalidCredentials"},
                             {50, "insufficientAccessRights"},
                             {51, "busy"},
                             {52, "unavailable"},
                             {53, "unwillingToPerform"},
                             {54, "loopDetect"},
                             {80, "other"}};
  const auto* found = std::find_if(std::begin(kNames), std::end(kNames),
                                   [code](const Name& name) { return name.code == code; });
  return found == std::end(kNames) ? fmt::format("result {}", code) : found->name;
}

std::optional<std::vector<std::string_view>> ldap_values(std::string_view content,
                                                         std::string_view attribute) {
  std::vector<std::string_view> values;
  if (!take_ber(content, kBerOctets)) return {};
  auto attributes = take_ber(content, kBerSequence);
  if (!attributes) return {};
  while (!attributes->empty()) {
    auto one = take_ber(*attributes, kBerSequence);
    const auto type = one ? take_ber(*one, kBerOctets) : std::nullopt;
    auto set = type ? take_ber(*one, kSet) : std::nullopt;
    if (!set) return {};
    while (!set->empty()) {
      const auto value = take_ber(*set, kBerOctets);
      if (!value) return {};
      if (same_word(*type, attribute)) values.push_back(*value);
    }
  }
  return values;
}

std::string ldap_bind(std::int64_t id, unsigned version, std::string_view user, std::string_view password) {
  return message(id,
                 ber(kBindRequest, ber_integer(version) + ber(kBerOctets, user) + ber(kSimple, password)));
}

std::string ldap_search(std::int64_t id, std::string_view base, std::string_view attribute) {
  constexpr std::string_view kNoAttribute = "1.1";  // RFC 4511, 4.5.1.8
  constexpr std::string_view kZero("\0", 1);  // of the object alone, dereferencing nothing, no types only
  const std::string scope = ber(kEnumerated, kZero);
  const std::string limits = ber_integer(1) + ber_integer(0);
  const std::string wanted = ber(kBerOctets, attribute.empty() ? kNoAttribute : attribute);
  return message(id,
                 ber(kSearchRequest, ber(kBerOctets, base) + scope + scope + limits + ber(kBoolean, kZero) +
                                         ber(kPresent, "objectClass") + ber(kBerSequence, wanted)));
}

std::string ldap_unbind(std::int64_t id) {
  return message(id, ber(kUnbindRequest, ""));
}

}  // namespace headgate::probe
