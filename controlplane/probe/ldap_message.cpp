// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/ldap_message.h"

#include <algorithm>
#include <utility>

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
constexpr std::uint8_t kControls = 0xa0;

constexpr std::string_view kFalse("\0", 1);
constexpr std::string_view kTrue("\xff", 1);

std::string message(std::int64_t id, std::string_view operation) {
  return ber(kBerSequence, ber_integer(id).append(operation));
}

/// What searches look at, dereferencing nothing.
constexpr std::string_view kOfTheObject("\0", 1);
constexpr std::string_view kOfTheSubtree("\2", 1);

std::string search_request(std::string_view base, std::string_view scope, std::int64_t most,
                           const std::vector<std::string>& attributes) {
  constexpr std::string_view kNoAttribute = "1.1";  // RFC 4511, 4.5.1.8
  constexpr std::string_view kNever("\0", 1);
  std::string wanted;
  for (const std::string& attribute : attributes) wanted += ber(kBerOctets, attribute);
  if (attributes.empty()) wanted = ber(kBerOctets, kNoAttribute);
  const std::string limits = ber_integer(most) + ber_integer(0);
  return ber(kSearchRequest, ber(kBerOctets, base) + ber(kEnumerated, scope) + ber(kEnumerated, kNever) +
                                 limits + ber(kBoolean, kFalse) + ber(kPresent, "objectClass") +
                                 ber(kBerSequence, wanted));
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

LdapStream::Piece LdapStream::take(std::string_view& bytes) {
  if (std::exchange(whole_, false)) message_.clear();
  while (true) {
    const LdapSize size = ldap_size(message_);
    if (!size.ldap) return Piece::not_ldap;
    whole_ = size.missing == 0;
    if (whole_) return Piece::whole;
    if (bytes.empty()) return Piece::missing;
    const std::size_t taken = std::min(size.missing, bytes.size());
    message_ += bytes.substr(0, taken);
    bytes.remove_prefix(taken);
  }
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
                             {12, "unavailableCriticalExtension"},
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

std::string ldap_search(std::int64_t id, std::string_view base, const std::vector<std::string>& attributes) {
  constexpr std::int64_t kOne = 1;
  return message(id, search_request(base, kOfTheObject, kOne, attributes));
}

std::string ldap_persistent_search(std::int64_t id, std::string_view base) {
  constexpr std::string_view kPersistentSearch = "2.16.840.1.113730.3.4.3";
  constexpr std::int64_t kAdd = 1;
  constexpr std::int64_t kModify = 4;
  const std::string changes_only = ber(kBoolean, kTrue);
  const std::string returns_change = ber(kBoolean, kFalse);
  const std::string what = ber(kBerSequence, ber_integer(kAdd | kModify) + changes_only + returns_change);
  const std::string critical = ber(kBoolean, kTrue);
  const std::string control =
      ber(kBerSequence, ber(kBerOctets, kPersistentSearch) + critical + ber(kBerOctets, what));
  return message(id, search_request(base, kOfTheSubtree, 0, {}) + ber(kControls, control));
}

std::string ldap_unbind(std::int64_t id) {
  return message(id, ber(kUnbindRequest, ""));
}

}  // namespace headgate::probe
