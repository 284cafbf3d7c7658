// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Messages of LDAP (RFC 4511), as far as checks have them. Pure.
namespace headgate::probe {

/// How much of a message is still missing, as far as its beginning tells.
struct LdapSize {
  bool ldap = true;         ///< so far it can be a message
  std::size_t missing = 0;  ///< at least; none: the message is complete
};
[[nodiscard]] LdapSize ldap_size(std::string_view begin);

/// Cuts a stream into messages; holds one at most.
class LdapStream {
 public:
  enum class Piece : std::uint8_t { missing, whole, not_ldap };

  /// Takes from the front of `bytes` what belongs to the next message.
  [[nodiscard]] Piece take(std::string_view& bytes);
  /// The message that was whole last.
  [[nodiscard]] std::string_view message() const { return message_; }

 private:
  std::string message_;
  bool whole_ = false;
};

/// The operations that a check hears of.
enum LdapOperation : std::uint8_t {
  kLdapBindResponse = 0x61,
  kLdapEntry = 0x64,
  kLdapDone = 0x65,
  kLdapReference = 0x73,
  kLdapExtendedResponse = 0x78,
};

/// A message of a server; its parts lie within what was read.
struct LdapMessage {
  std::int64_t id = 0;
  std::uint8_t operation = 0;
  std::string_view content;
};
/// Nothing where it is malformed.
[[nodiscard]] std::optional<LdapMessage> ldap_message(std::string_view message);

/// How an operation ended.
struct LdapResult {
  std::int64_t code = 0;
  std::string_view diagnosis;
};
[[nodiscard]] std::optional<LdapResult> ldap_result(std::string_view content);
/// The name of a code in RFC 4511: "invalidCredentials".
[[nodiscard]] std::string ldap_code(std::int64_t code);

/// The values of an attribute of an entry; nothing where the entry is malformed.
[[nodiscard]] std::optional<std::vector<std::string_view>> ldap_values(std::string_view content,
                                                                       std::string_view attribute);

[[nodiscard]] std::string ldap_bind(std::int64_t id, unsigned version, std::string_view user,
                                    std::string_view password);
/// For one entry, whatever it is, and these of its attributes.
[[nodiscard]] std::string ldap_search(std::int64_t id, std::string_view base,
                                      const std::vector<std::string>& attributes);
/// For entries at or under one, without attributes, that are added or changed from now on
/// (draft-ietf-ldapext-psearch-03). A server that has no such searches refuses.
[[nodiscard]] std::string ldap_persistent_search(std::int64_t id, std::string_view base);
[[nodiscard]] std::string ldap_unbind(std::int64_t id);

}  // namespace headgate::probe
