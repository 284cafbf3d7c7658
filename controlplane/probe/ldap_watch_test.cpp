// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/ldap_watch.h"

#include <gtest/gtest.h>

#include "controlplane/probe/ber.h"

namespace headgate::probe {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

constexpr LdapWatch::Clock::time_point kNow{1h};

std::string message(std::int64_t id, std::uint8_t operation, const std::string& content) {
  return ber(kBerSequence, ber_integer(id) + ber(operation, content));
}

std::string result(std::uint8_t code, const std::string& diagnosis = "") {
  return ber(0x0a, std::string(1, static_cast<char>(code))) + ber(kBerOctets, "") +
         ber(kBerOctets, diagnosis);
}

const std::string kBound = message(1, 0x61, result(0));
const std::string kAlert = message(2, 0x64, ber(kBerOctets, "cn=1,cn=alerts") + ber(kBerSequence, ""));

/// All of a watch whose server says this in pieces.
struct Heard {
  LdapWatch::Turn turn;
  bool stands = false;
  bool operator==(const Heard&) const = default;
};

Heard hear(std::string_view server, std::size_t piece = 4096, const WatchAsk& ask = {}) {
  LdapWatch watch(ask);
  Heard out{watch.begin()};
  for (; !out.turn.over && !server.empty(); server.remove_prefix(std::min(piece, server.size()))) {
    auto turn = watch.hear(server.substr(0, piece), kNow);
    out.turn = {out.turn.say + turn.say, out.turn.alerts + turn.alerts, std::move(turn.over)};
  }
  out.stands = watch.stands();
  return out;
}

std::optional<std::string> over(const std::string& server, const WatchAsk& ask = {}) {
  return hear(server, 4096, ask).turn.over;
}

TEST(LdapWatch, BindsAndSearchesForChangesFromNowOn) {
  const Heard heard = hear(kBound, 4096, {"cn=x", "pw"});
  EXPECT_TRUE(heard.stands);
  EXPECT_EQ(heard.turn.over, std::nullopt);
  const std::string search = "\x30\x60\x02\x01\x02\x63\x2e\x04\x09"s + "cn=alerts" +
                             "\x0a\x01\x02\x0a\x01\x00\x02\x01\x00\x02\x01\x00\x01\x01\x00\x87\x0b"s +
                             "objectClass\x30\x05\x04\x03"s + "1.1" + "\xa0\x2b\x30\x29\x04\x17"s +
                             "2.16.840.1.113730.3.4.3" +
                             "\x01\x01\xff\x04\x0b\x30\x09\x02\x01\x05\x01\x01\xff\x01\x01\x00"s;
  EXPECT_EQ(heard.turn.say, ldap_bind(1, 3, "cn=x", "pw") + search);
}

TEST(LdapWatch, EachEntryIsAnAlert) {
  const Heard heard = hear(kBound + kAlert + message(2, 0x73, "") + kAlert);
  EXPECT_EQ(heard.turn.alerts, 2u);
  EXPECT_EQ(heard.turn.over, std::nullopt);
}

TEST(LdapWatch, PiecesMakeNoDifference) {
  for (const std::string& server :
       {kBound + kAlert + kAlert, kBound + kAlert + message(2, 0x65, result(32)), kBound + "rubbish"}) {
    const Heard whole = hear(server);
    for (std::size_t piece = 1; piece < server.size(); ++piece)
      EXPECT_EQ(hear(server, piece), whole) << piece;
  }
}

TEST(LdapWatch, ARefusalEndsItWithTheServersWords) {
  EXPECT_EQ(over(message(1, 0x61, result(49))), "bind: invalidCredentials");
  EXPECT_EQ(over(kBound + message(2, 0x65, result(32, "no\nalerts"))),
            "cn=alerts: noSuchObject \"no.alerts\"");
  EXPECT_EQ(over(kBound + message(2, 0x65, result(12))), "cn=alerts: unavailableCriticalExtension");
  EXPECT_EQ(over(kBound + message(0, 0x78, result(52))), "server ends: unavailable");
  EXPECT_EQ(over(message(1, 0x61, result(49, "pw is wrong")), {"cn=x", "pw"}), "bind: invalidCredentials");
}

TEST(LdapWatch, EndsWithAFarewell) {
  const Heard heard = hear(message(1, 0x61, result(49)));
  EXPECT_TRUE(heard.turn.say.ends_with(watch_farewell()));
  EXPECT_FALSE(heard.stands);
}

TEST(LdapWatch, WhatIsNoAnswerEndsIt) {
  for (const std::string& server :
       {"HTTP/1.1 400 "s, "\x30\x84\x7f\xff\xff\xff"s, message(1, 0x65, result(0)),
        kBound + message(2, 0x61, result(0)), message(0, 0x61, result(0))})
    EXPECT_EQ(over(server), "answer is not LDAP");
  EXPECT_EQ(over(kAlert), "answer is to another request");
  EXPECT_EQ(over(kBound + message(7, 0x64, "")), "answer is to another request");
}

TEST(LdapWatch, AMessageTooLongIsNotRead) {
  LdapWatch watch({});
  static_cast<void>(watch.begin());
  EXPECT_EQ(watch.hear("\x30\x83\x01\x00\x01"s, kNow).over, "answer is not LDAP");
}

std::string times(std::size_t count, const std::string& text) {
  std::string out;
  while (count-- > 0) out += text;
  return out;
}

/// A watch that stands.
LdapWatch standing() {
  LdapWatch watch({});
  static_cast<void>(watch.hear(kBound, kNow));
  return watch;
}

TEST(LdapWatch, ManyMessagesInASecondEndIt) {
  LdapWatch watch = standing();
  EXPECT_EQ(watch.hear(times(999, kAlert), kNow), (LdapWatch::Turn{"", 999, std::nullopt}));
  LdapWatch later = watch;
  EXPECT_EQ(watch.hear(kAlert, kNow + 999ms),
            (LdapWatch::Turn{watch_farewell(), 0, "server says more than 1000 messages in a second"}));
  EXPECT_EQ(later.hear(times(1000, kAlert), kNow + 1s), (LdapWatch::Turn{"", 1000, std::nullopt}));
}

TEST(LdapWatch, ManyOctetsInASecondEndIt) {
  constexpr const char* kWhy = "server says more than 1 MiB in a second";
  const std::string large =
      message(2, 0x64, ber(kBerOctets, std::string(60'000, 'x')) + ber(kBerSequence, ""));
  const std::string much = times(LdapWatch::kMostOctets / large.size(), large);
  const std::string rest = large.substr(0, LdapWatch::kMostOctets - kBound.size() - much.size());
  for (const std::size_t piece : {std::size_t{1000}, much.size()})
    EXPECT_EQ(hear(kBound + much + rest, piece).turn.over, std::nullopt);
  EXPECT_EQ(over(kBound + much + rest + "x"), kWhy);

  LdapWatch watch = standing();
  EXPECT_EQ(watch.hear(much, kNow).over, std::nullopt);
  EXPECT_EQ(watch.hear(much, kNow + 1s).over, std::nullopt);
  EXPECT_EQ(watch.hear(much, kNow + 1500ms), (LdapWatch::Turn{watch_farewell(), 0, kWhy}));
}

}  // namespace
}  // namespace headgate::probe
