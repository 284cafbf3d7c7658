// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/radius.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "controlplane/probe/bytes.h"
#include "controlplane/probe/md5.h"
#include "controlplane/probe/question.h"

namespace headgate::probe {
namespace {

enum Code : std::uint8_t {
  kAccessRequest = 1,
  kAccessAccept = 2,
  kAccessReject = 3,
  kAccountingRequest = 4,
  kAccountingResponse = 5,
  kAccessChallenge = 11,
};

enum Attribute : std::uint8_t {
  kUserName = 1,
  kUserPassword = 2,
  kNasIdentifier = 32,
  kAcctStatusType = 40,
  kAcctSessionId = 44,
  kAcctSessionTime = 46,
  kMessageAuthenticator = 80,
};

constexpr std::size_t kAuthenticatorAt = 4;
constexpr std::size_t kHeader = kAuthenticatorAt + kMd5Size;
constexpr std::size_t kLongestValue = 253;
constexpr std::size_t kLongestPassword = 128;
constexpr std::uint32_t kStop = 2;
constexpr std::string_view kName = "headgate";
constexpr std::string_view kNoMd5 = "this switch may not use MD5";

std::string attribute(Attribute type, std::string_view value) {
  std::string out;
  put(out, type, 1);
  put(out, value.size() + 2, 1);
  return out.append(value);
}

std::string attribute(Attribute type, std::uint32_t value) {
  std::string octets;
  put(octets, value, 4);
  return attribute(type, octets);
}

std::string packet(Code code, std::uint8_t id, std::string_view authenticator, std::string_view attributes) {
  std::string out;
  put(out, code, 1);
  put(out, id, 1);
  put(out, kHeader + attributes.size(), 2);
  return out.append(authenticator).append(attributes);
}

/// RFC 2865, 5.2: each block is hidden behind the digest of the secret and of the block before.
std::optional<std::string> hidden(std::string password, std::string_view secret,
                                  std::string_view authenticator) {
  password.resize((std::max<std::size_t>(password.size(), 1) + kMd5Size - 1) / kMd5Size * kMd5Size);
  std::string out;
  std::string before(authenticator);
  for (std::size_t at = 0; at < password.size(); at += kMd5Size) {
    const auto mask = md5(std::string(secret) + before);
    if (!mask) return std::nullopt;
    before = password.substr(at, kMd5Size);
    for (std::size_t i = 0; i < kMd5Size; ++i) before[i] = static_cast<char>(before[i] ^ (*mask)[i]);
    out += before;
  }
  return out;
}

/// A request that has been sent, as its answer is to be checked.
struct Asked {
  std::uint8_t id = 0;
  std::string authenticator;
  std::string secret;
  Code wanted = kAccessAccept;
};

struct Answer {
  Code code = kAccessReject;
  std::uint8_t id = 0;
  std::string_view authenticator;
  std::string_view attributes;
  std::optional<std::size_t> signature;  ///< where in `attributes` the value of Message-Authenticator is
};

/// Whether these are attributes; notes where the Message-Authenticator is.
bool read_attributes(Answer& answer) {
  Reader reader(answer.attributes);
  while (!reader.rest().empty()) {
    const auto type = reader.number<std::uint8_t>();
    const auto length = reader.number<std::uint8_t>();
    if (length < 2) return false;
    const std::size_t at = answer.attributes.size() - reader.rest().size();
    const std::string_view value = reader.take(length - 2u);
    if (reader.failed()) return false;
    if (type != kMessageAuthenticator) continue;
    if (value.size() != kMd5Size || answer.signature) return false;
    answer.signature = at;
  }
  return true;
}

/// What comes after the length that an answer gives itself is padding (RFC 2865, 3).
std::optional<Answer> read_answer(std::string_view message) {
  Reader reader(message);
  Answer answer;
  answer.code = static_cast<Code>(reader.number<std::uint8_t>());
  answer.id = reader.number<std::uint8_t>();
  const std::size_t length = reader.number<std::uint16_t>();
  answer.authenticator = reader.take(kMd5Size);
  if (reader.failed() || length < kHeader) return std::nullopt;
  answer.attributes = reader.take(length - kHeader);
  if (reader.failed() || !read_attributes(answer)) return std::nullopt;
  return answer;
}

bool is_signed(const Answer& answer, const Asked& asked) {
  const std::string claimed = packet(answer.code, answer.id, asked.authenticator, answer.attributes);
  if (md5(claimed + asked.secret) != answer.authenticator) return false;
  if (!answer.signature) return true;
  std::string blank = claimed;
  blank.replace(kHeader + *answer.signature, kMd5Size, kMd5Size, '\0');
  return hmac_md5(asked.secret, blank) == answer.attributes.substr(*answer.signature, kMd5Size);
}

std::string word_of(Code code) {
  switch (code) {
    case kAccessAccept:
      return "Access-Accept";
    case kAccessReject:
      return "Access-Reject";
    case kAccessChallenge:
      return "Access-Challenge";
    case kAccountingResponse:
      return "Accounting-Response";
    default:
      return fmt::format("code {}", code);
  }
}

Conversation::Turn judge(std::string_view message, const Asked& asked) {
  const auto answer = read_answer(message);
  if (!answer) return fails("answer is not RADIUS");
  if (answer->id != asked.id) return {};
  if (!is_signed(*answer, asked)) return fails("answer is not signed with this secret");
  if (answer->code == asked.wanted) return passes();
  return fails(fmt::format("answered {}, wanted {}", word_of(answer->code), word_of(asked.wanted)));
}

std::unique_ptr<Conversation> question(std::string request, Asked asked) {
  return std::make_unique<Question>(std::move(request), [asked = std::move(asked)](std::string_view message) {
    return judge(message, asked);
  });
}

/// Sixteen octets that can't be foretold without the salt.
std::optional<std::string> fresh_authenticator(std::string_view secret, std::uint64_t salt) {
  std::string seed;
  put(seed, salt, sizeof salt);
  return md5(seed.append(secret));
}

/// The Message-Authenticator is the first attribute, so that nothing before it can be made up by others.
std::optional<std::string> access_request(const RadiusLogin& login, const Asked& asked) {
  const auto password = hidden(login.password, login.secret, asked.authenticator);
  if (!password) return std::nullopt;
  const std::string others = attribute(kUserName, login.user) + attribute(kUserPassword, *password) +
                             attribute(kNasIdentifier, kName);
  const auto with = [&](std::string_view signature) {
    return packet(kAccessRequest, asked.id, asked.authenticator,
                  attribute(kMessageAuthenticator, signature) + others);
  };
  const auto signature = hmac_md5(login.secret, with(std::string(kMd5Size, '\0')));
  return signature ? std::optional(with(*signature)) : std::nullopt;
}

}  // namespace

std::unique_ptr<Conversation> radius_login(const RadiusLogin& login, std::uint64_t salt) {
  if (login.secret.empty()) return std::make_unique<Unaskable>("no secret is set");
  if (login.user.size() > kLongestValue || login.password.size() > kLongestPassword)
    return std::make_unique<Unaskable>("user or password is too long for RADIUS");
  const auto authenticator = fresh_authenticator(login.secret, salt);
  if (!authenticator) return std::make_unique<Unaskable>(std::string(kNoMd5));
  const Asked asked{static_cast<std::uint8_t>(salt), *authenticator, login.secret, kAccessAccept};
  auto request = access_request(login, asked);
  if (!request) return std::make_unique<Unaskable>(std::string(kNoMd5));
  return question(std::move(*request), asked);
}

std::unique_ptr<Conversation> radius_accounting(const std::string& user, const std::string& secret,
                                                std::uint64_t salt) {
  if (secret.empty()) return std::make_unique<Unaskable>("no secret is set");
  if (user.size() > kLongestValue) return std::make_unique<Unaskable>("user is too long for RADIUS");
  const auto id = static_cast<std::uint8_t>(salt);
  const std::string attributes = attribute(kUserName, user) + attribute(kAcctStatusType, kStop) +
                                 attribute(kAcctSessionId, kName) + attribute(kAcctSessionTime, 0u) +
                                 attribute(kNasIdentifier, kName);
  const std::string blank = packet(kAccountingRequest, id, std::string(kMd5Size, '\0'), attributes);
  const auto authenticator = md5(blank + secret);
  if (!authenticator) return std::make_unique<Unaskable>(std::string(kNoMd5));
  return question(packet(kAccountingRequest, id, *authenticator, attributes),
                  {id, *authenticator, secret, kAccountingResponse});
}

}  // namespace headgate::probe
