// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/radius.h"

#include <gtest/gtest.h>

#include "controlplane/probe/md5.h"
#include "controlplane/probe/told.h"

namespace headgate::probe {
namespace {

constexpr const char* kLongPassword = "a password that is longer than sixteen octets";

std::unique_ptr<Conversation> login(std::string user = "joe", std::string password = "let-me-in",
                                    std::string secret = "s3cret") {
  return radius_login({std::move(user), std::move(password), std::move(secret)}, kSalt);
}
std::unique_ptr<Conversation> account() {
  return radius_accounting("joe", "s3cret", kSalt);
}

// What FreeRADIUS 3.2 sent.
const std::string kAccept = hex("02880014501416f4f8eb2f4a33eb8ad02716c4b5");
const std::string kReject = hex("03880014e7d553e7900a5fbefba3a2158dc92402");
const std::string kChallenge = hex("0b8800172784663cd0bf8227269381eba28115c1180301");
const std::string kAcceptWithSignature =
    hex("0288002d435e380ff04e3793ff9e588c634044115012ae893cdc7ee814d09b68746b1e94c703120768656c6c6f");
const std::string kAccounted = hex("05880014a85f07a82a9baec4b3a5fd4a9d9edf35");

/// An answer to login() whose response authenticator is right, whatever its attributes are.
std::string signed_answer(char code, const std::string& attributes) {
  std::string head{code, '\x88'};
  put(head, 20 + attributes.size(), 2);
  const std::string asked = request_of(*login()).substr(4, 16);
  return head + *md5(head + asked + attributes + "s3cret") + attributes;
}

TEST(Md5, IsThatOfTheStandard) {  // RFC 1321, A.5; RFC 2202, 2
  EXPECT_EQ(md5(""), hex("d41d8cd98f00b204e9800998ecf8427e"));
  EXPECT_EQ(md5("message digest"), hex("f96b697d7cb7938d525a2f31aaf161d0"));
  EXPECT_EQ(hmac_md5("Jefe", "what do ya want for nothing?"), hex("750c783e6ab0b503eaa86e310a5db738"));
}

// What FreeRADIUS took for requests that are signed, with these passwords.
TEST(Radius, ALoginIsSignedAndHidesThePassword) {
  EXPECT_EQ(request_of(*login()),
            hex("01880047d9e3cb9686de08065e7abee5851a051550121b2c8b9ccfff49f509a424914504854f01056a6f6502"
                "1248b0d81e383d448c3e01099edf302b1d200a6865616467617465"));
  EXPECT_EQ(request_of(*login("long", kLongPassword)),
            hex("01880068d9e3cb9686de08065e7abee5851a05155012a23d3f71a41716e26505e85987d2dc0701066c6f6e67"
                "023245f5dc52262b1e8a226529eab7515f3de7b64ad3f562931a32773ff1838ccbb9509f7b2032c5957e389bd9"
                "761c4e32a5200a6865616467617465"));
}

TEST(Radius, PasswordsFillWholeBlocks) {
  const auto size = [](std::size_t password) {
    return request_of(*login("joe", std::string(password, 'x'))).size() -
           request_of(*login("joe", "")).size();
  };
  EXPECT_EQ(size(1), 0u);
  EXPECT_EQ(size(16), 0u);
  EXPECT_EQ(size(17), 16u);
  EXPECT_EQ(size(128), 112u);
}

TEST(Radius, AccountingEndsASessionThatTookNoTime) {
  EXPECT_EQ(request_of(*account()),
            hex("04880039cf6d9ad7cda3e157313bc4869353c43201056a6f652806000000022c0a68656164676174652e0600"
                "000000200a6865616467617465"));
}

TEST(Radius, AnotherSaltIsAnotherRequest) {
  const auto authenticator = [](std::uint64_t salt) {
    return request_of(*radius_login({"joe", "let-me-in", "s3cret"}, salt)).substr(4, 16);
  };
  EXPECT_NE(authenticator(1), authenticator(2));
}

TEST(Radius, WhatCanNotBeAskedIsNot) {
  const std::string longest(253, 'u');
  EXPECT_EQ(tell(login(longest, std::string(128, 'p')), {}), kNothing);
  EXPECT_EQ(tell(login(longest + "u"), {}), unaskable("user or password is too long for RADIUS"));
  EXPECT_EQ(tell(login("joe", std::string(129, 'p')), {}),
            unaskable("user or password is too long for RADIUS"));
  EXPECT_EQ(tell(login("joe", "x", ""), {}), unaskable("no secret is set"));
  EXPECT_EQ(tell(radius_accounting(longest, "s", 1), {}), kNothing);
  EXPECT_EQ(tell(radius_accounting(longest + "u", "s", 1), {}), unaskable("user is too long for RADIUS"));
  EXPECT_EQ(tell(radius_accounting("joe", "", 1), {}), unaskable("no secret is set"));
}

TEST(Radius, AnAcceptPasses) {
  EXPECT_EQ(tell(login(), {kAccept}), kPassed);
  EXPECT_EQ(tell(login("long", kLongPassword), {kAcceptWithSignature}), kPassed);
  EXPECT_EQ(tell(account(), {kAccounted}), kPassed);
}

TEST(Radius, AnotherAnswerIsNamed) {
  EXPECT_EQ(tell(login(), {kReject}), failed("answered Access-Reject, wanted Access-Accept"));
  EXPECT_EQ(tell(login("asked", "x"), {kChallenge}),
            failed("answered Access-Challenge, wanted Access-Accept"));
  EXPECT_EQ(tell(login(), {signed_answer(5, "")}),
            failed("answered Accounting-Response, wanted Access-Accept"));
  EXPECT_EQ(tell(login(), {signed_answer(42, "")}), failed("answered code 42, wanted Access-Accept"));
}

TEST(Radius, AnAnswerMustBeSignedWithTheSecret) {
  EXPECT_EQ(tell(login("joe", "let-me-in", "other"), {kAccept}),
            failed("answer is not signed with this secret"));
  EXPECT_EQ(tell(account(), {kAccept}), failed("answer is not signed with this secret"));
  for (std::size_t at = 0; at < kAccept.size(); ++at) {
    if (at >= 1 && at <= 3) continue;  // the identifier, and the length
    std::string forged = kAccept;
    forged[at] ^= '\1';
    EXPECT_EQ(tell(login(), {forged}), failed("answer is not signed with this secret")) << at;
  }
}

TEST(Radius, AMessageAuthenticatorMustBeRightToo) {
  std::string signature("\x50\x12");
  signature.append(16, 'x');
  EXPECT_EQ(tell(login(), {signed_answer(2, signature)}), failed("answer is not signed with this secret"));
  EXPECT_EQ(tell(login(), {signed_answer(2, signature + signature)}), failed("answer is not RADIUS"));
  EXPECT_EQ(tell(login(), {signed_answer(2, "\x50\x04xx")}), failed("answer is not RADIUS"));
}

TEST(Radius, AnotherIdentifierIsNotHeard) {
  std::string other = kAccept;
  other[1] = '\x89';
  EXPECT_EQ(tell(login(), {other}), kNothing);
  EXPECT_EQ(tell(login(), {other, kAccept}), kPassed);
}

TEST(Radius, WhatFollowsTheLengthIsPadding) {
  EXPECT_EQ(tell(login(), {kAccept + "padding"}), kPassed);
}

TEST(Radius, AnAnswerCutAnywhereIsNone) {
  for (const std::string& answer : {kAccept, kChallenge, kAcceptWithSignature})
    tell_cut(
        [] { return login(); }, answer,
        [](std::size_t size, const auto& turn) { EXPECT_EQ(turn, failed("answer is not RADIUS")) << size; });
}

TEST(Radius, LengthsThatLieAreNoAnswer) {
  for (const char* length : {"0000", "0013", "0015", "ffff"}) {
    std::string message = kAccept;
    EXPECT_EQ(tell(login(), {message.replace(2, 2, hex(length))}), failed("answer is not RADIUS")) << length;
  }
  for (const char* attributes : {"00", "12", "1200", "1201", "120478", "120378ff"})
    EXPECT_EQ(tell(login(), {signed_answer(2, hex(attributes))}), failed("answer is not RADIUS"))
        << attributes;
}

}  // namespace
}  // namespace headgate::probe
