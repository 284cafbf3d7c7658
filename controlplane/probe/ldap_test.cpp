// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/ldap.h"

#include <gtest/gtest.h>

#include "controlplane/probe/ber.h"
#include "controlplane/probe/heard.h"

namespace headgate::probe {
namespace {

using namespace std::string_literals;

Heard talk(const LdapAsk& ask, std::string_view server, std::size_t piece = 1 << 20) {
  return hear(*ldap(ask), server, piece);
}

/// What a server says, as ber() writes it.
std::string message(std::int64_t id, std::uint8_t operation, const std::string& content) {
  return ber(kBerSequence, ber_integer(id) + ber(operation, content));
}

std::string result(std::uint8_t code, const std::string& diagnosis = "") {
  return ber(0x0a, std::string(1, static_cast<char>(code))) + ber(kBerOctets, "") +
         ber(kBerOctets, diagnosis);
}

std::string entry(const std::string& attribute, const std::vector<std::string>& values) {
  std::string set;
  for (const auto& value : values) set += ber(kBerOctets, value);
  const std::string one = ber(kBerSequence, ber(kBerOctets, attribute) + ber(0x31, set));
  return message(2, 0x64, ber(kBerOctets, "cn=monitor") + ber(kBerSequence, one));
}

const std::string kBound = "\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x00\x04\x00\x04\x00"s;
const std::string kDone = "\x30\x0c\x02\x01\x02\x65\x07\x0a\x01\x00\x04\x00\x04\x00"s;
const std::string kUnbind = "\x30\x05\x02\x01\x03\x42\x00"s;

TEST(LdapBind, AsksAnonymouslyAndUnbinds) {
  EXPECT_EQ(talk({}, kBound), (Heard{"\x30\x0c\x02\x01\x01\x60\x07\x02\x01\x03\x04\x00\x80\x00"s + kUnbind,
                                     {true, "answered"}}));
  EXPECT_EQ(
      talk({.version = 2}, kBound),
      (Heard{"\x30\x0c\x02\x01\x01\x60\x07\x02\x01\x02\x04\x00\x80\x00"s + kUnbind, {true, "answered"}}));
}

TEST(LdapBind, SendsNameAndPassword) {
  EXPECT_EQ(talk({.user = "cn=x", .password = "pw"}, kBound).said,
            "\x30\x12\x02\x01\x01\x60\x0d\x02\x01\x03\x04\x04"s + "cn=x\x80\x02pw" + kUnbind);
}

// Reports 28: Active Directory writes lengths in four octets.
TEST(LdapBind, LengthsMayBeWrittenInUpToFourOctets) {
  const std::string body = kBound.substr(2);
  for (const std::string& server :
       {"\x30\x81\x0c"s + body, "\x30\x82\x00\x0c"s + body, "\x30\x83\x00\x00\x0c"s + body,
        "\x30\x84\x00\x00\x00\x10\x02\x01\x01\x61\x84\x00\x00\x00\x07\x0a\x01\x00\x04\x00\x04\x00"s}) {
    for (std::size_t piece = 1; piece <= server.size(); ++piece)
      EXPECT_TRUE(talk({}, server, piece).outcome.passed) << piece;
    for (std::size_t size = 1; size < server.size(); ++size)
      EXPECT_EQ(talk({}, server.substr(0, size)).outcome, (Outcome{false, "answer is cut short"})) << size;
  }
}

TEST(LdapBind, ARefusalIsNamed) {
  EXPECT_EQ(talk({}, message(1, 0x61, result(49))).outcome, (Outcome{false, "bind: invalidCredentials"}));
  EXPECT_EQ(talk({}, message(1, 0x61, result(53, "not \x01today"))).outcome,
            (Outcome{false, "bind: unwillingToPerform \"not .today\""}));
  EXPECT_EQ(talk({}, message(1, 0x61, result(99))).outcome, (Outcome{false, "bind: result 99"}));
  EXPECT_EQ(talk({}, message(1, 0x61, result(49))).said, talk({}, kBound).said);
}

TEST(LdapBind, ARefusalShowsNoPassword) {
  EXPECT_EQ(
      talk({.user = "cn=x", .password = "secret"}, message(1, 0x61, result(49, "secret is wrong"))).outcome,
      (Outcome{false, "bind: invalidCredentials"}));
}

TEST(LdapBind, SilenceFailsAtTheEnd) {
  EXPECT_EQ(talk({}, "").outcome, (Outcome{false, "closed without an answer"}));
}

TEST(LdapBind, LengthsThatLieAreRefused) {
  for (const std::string& server :
       {"\x30\x80"s, "\x30\x85"s, "\x30\xff"s, "\x30\x84\x7f\xff\xff\xff"s, "\x30\x84\xff\xff\xff\xff"s,
        "\x30\x83\x01\x00\x01"s, "\x31"s, "HTTP/1.1 400"s, "220 ready\r\n"s,
        "\x30\x0c\x02\x01\x01\x61\x08\x0a\x01\x00\x04\x00\x04\x00"s,  // longer than the message
        "\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x00\x04\x00\x04\x01"s,  // longer than the operation
        "\x30\x03\x02\x01\x01"s, "\x30\x00"s, "\x30\x05\x02\x01\x01\x61\x00"s,
        "\x30\x05\x02\x00\x61\x01\x00"s})
    EXPECT_EQ(talk({}, server).outcome, (Outcome{false, "answer is not LDAP"}));
}

TEST(LdapBind, TheFirstOctetThatIsNoLdapDecides) {
  const auto client = ldap({});
  static_cast<void>(client->begin());
  EXPECT_EQ(client->hear("H").outcome, (Outcome{false, "answer is not LDAP"}));
}

TEST(LdapBind, OtherMessagesAreNotTakenForTheAnswer) {
  EXPECT_EQ(talk({}, message(7, 0x61, result(0))).outcome, (Outcome{false, "answer is to another request"}));
  EXPECT_EQ(talk({}, message(1, 0x65, result(0))).outcome, (Outcome{false, "answer is not LDAP"}));
  EXPECT_EQ(talk({}, message(0, 0x78, result(52, "shutting down"))).outcome,
            (Outcome{false, "server ends: unavailable \"shutting down\""}));
}

// ---- Search

TEST(LdapSearch, AsksForTheEntryAlone) {
  const Heard heard = talk({.base = "dc=x"}, kBound + entry("cn", {}) + kDone);
  EXPECT_EQ(heard.outcome, (Outcome{true, "answered"}));
  EXPECT_EQ(heard.said, talk({}, kBound).said.substr(0, 14) + "\x30\x2e\x02\x01\x02\x63\x29\x04\x04"s +
                            "dc=x" + "\x0a\x01\x00\x0a\x01\x00\x02\x01\x01\x02\x01\x00\x01\x01\x00\x87\x0b"s +
                            "objectClass\x30\x05\x04\x03"s + "1.1" + kUnbind);
}

TEST(LdapSearch, PiecesMakeNoDifference) {
  const std::string server = kBound + entry("missing", {"17"}) + kDone;
  const LdapAsk ask{.base = "cn=monitor", .attribute = "missing"};
  const Heard whole = talk(ask, server);
  EXPECT_EQ(whole.outcome, (Outcome{true, "answered", "17"}));
  for (std::size_t piece = 1; piece < server.size(); ++piece)
    EXPECT_EQ(talk(ask, server, piece), whole) << piece;
  for (std::size_t size = 1; size < server.size(); ++size)
    EXPECT_FALSE(talk(ask, server.substr(0, size)).outcome.passed) << size;
}

TEST(LdapSearch, WhatWasToBeSaidIsSaidBeforeAFailure) {
  const std::string server = kBound + "rubbish";
  EXPECT_EQ(talk({.base = "dc=x"}, server), talk({.base = "dc=x"}, server, 1));
}

TEST(LdapSearch, AnEntryThatIsNotThereFails) {
  EXPECT_EQ(talk({.base = "dc=x"}, kBound + message(2, 0x65, result(32))).outcome,
            (Outcome{false, "dc=x: noSuchObject"}));
  EXPECT_EQ(talk({.base = "dc=x"}, kBound + kDone).outcome, (Outcome{false, "dc=x: no entry"}));
  EXPECT_EQ(talk({.base = ""}, kBound + kDone).outcome, (Outcome{false, "root entry: no entry"}));
}

TEST(LdapSearch, AnAttributeIsReadInAnyCase) {
  const LdapAsk ask{.base = "cn=monitor", .attribute = "monitorCounter"};
  EXPECT_EQ(talk(ask, kBound + entry("MONITORcounter", {"17", "18"}) + kDone).outcome,
            (Outcome{true, "answered", "17"}));
  EXPECT_EQ(talk(ask, kBound + entry("cn", {"17"}) + kDone).outcome,
            (Outcome{false, "cn=monitor: no monitorCounter"}));
}

TEST(LdapSearch, OneValueThatPassesIsEnough) {
  const LdapAsk ask{.base = "cn=monitor",
                    .attribute = "missing",
                    .value = {.how = ExpectedValue::How::at_most, .number = 10}};
  EXPECT_EQ(talk(ask, kBound + entry("missing", {"17", "9", "8"}) + kDone).outcome,
            (Outcome{true, "answered", "9"}));
  EXPECT_EQ(talk(ask, kBound + entry("missing", {"17", "18"}) + kDone).outcome,
            (Outcome{false, "cn=monitor: missing is \"17\", wanted at most 10", "17"}));
}

TEST(LdapSearch, ReferencesArePassedOver) {
  EXPECT_TRUE(talk({.base = "dc=x"}, kBound + message(2, 0x73, "") + entry("cn", {}) + kDone).outcome.passed);
}

TEST(LdapSearch, AMalformedEntryIsRefused) {
  const LdapAsk ask{.base = "cn=monitor", .attribute = "missing"};
  for (const std::string& content :
       {"\x04\x05xx"s, "\x04\x00\x30\x02\x30\x05"s, "\x04\x00\x30\x04\x30\x02\x04\x05"s,
        "\x04\x00\x30\x06\x30\x04\x04\x00\x31\x05"s, "\x04\x00\x30\x08\x30\x06\x04\x00\x31\x02\x04\x05"s})
    EXPECT_EQ(talk(ask, kBound + message(2, 0x64, content)).outcome, (Outcome{false, "answer is not LDAP"}));
}

// ---- Numbers that have bounds

/// An entry with attributes of one value each; an empty one has none.
std::string numbers(std::int64_t id, const std::vector<std::pair<std::string, std::string>>& attributes) {
  std::string all;
  for (const auto& [name, value] : attributes)
    all += ber(kBerSequence, ber(kBerOctets, name) + ber(0x31, ber(kBerOctets, value)));
  return message(id, 0x64, ber(kBerOctets, "cn=monitor") + ber(kBerSequence, all));
}

LdapAsk measured() {
  return {.base = "cn=replica", .measured = {"missing", "age"}};
}

TEST(LdapMeasures, AllAreReadInOneSearch) {
  const Heard heard =
      talk(measured(), kBound + numbers(2, {{"AGE", "7"}, {"missing", "18446744073709551615"}}) + kDone);
  EXPECT_EQ(heard.outcome, (Outcome{.passed = true,
                                    .reason = "answered",
                                    .measured = {{"missing", ~std::uint64_t{0}}, {"age", 7}}}));
  EXPECT_NE(heard.said.find("\x30\x0e\x04\x07missing\x04\x03"
                            "age"),
            std::string::npos);
}

TEST(LdapMeasures, OfSeveralValuesTheHighestCounts) {
  LdapAsk ask = measured();
  ask.measured = {"missing"};
  EXPECT_EQ(talk(ask, kBound + entry("missing", {"3", "100", "20"}) + kDone).outcome.measured,
            (std::vector<health::Measured>{{"missing", 100}}));
}

TEST(LdapMeasures, OneThatIsMissingOrNoNumberFails) {
  EXPECT_EQ(talk(measured(), kBound + numbers(2, {{"age", "7"}}) + kDone).outcome,
            (Outcome{false, "cn=replica: no missing"}));
  for (const char* value : {"", "-1", "many", "1.5", "5 ", "18446744073709551616"})
    EXPECT_EQ(
        talk(measured(), kBound + numbers(2, {{"age", value}, {"missing", "1"}}) + kDone).outcome.reason,
        "cn=replica: age is \"" + std::string(value) + "\", no number");
  EXPECT_EQ(talk(measured(), kBound + kDone).outcome, (Outcome{false, "cn=replica: no entry"}));
}

// ---- Alerts

LdapAsk alerts() {
  return {.alerts = true};
}

std::string done(std::int64_t id, std::uint8_t code = 0) {
  return message(id, 0x65, result(code));
}

TEST(LdapAlerts, AreReadFromTheMonitorEntry) {
  const Heard heard = talk(alerts(), kBound + numbers(4, {}) + done(4));
  EXPECT_EQ(heard.outcome, (Outcome{true, "answered"}));
  EXPECT_NE(heard.said.find("cn=monitor"), std::string::npos);
  EXPECT_NE(heard.said.find("unavailable-alert-type\x04\x13"
                            "degraded-alert-type"),
            std::string::npos);
}

TEST(LdapAlerts, ThatMakeUnavailableFailAndAreNamed) {
  EXPECT_EQ(talk(alerts(), kBound +
                               numbers(4, {{"unavailable-alert-type", "replication"},
                                           {"degraded-alert-type", "low-disk"}}) +
                               done(4))
                .outcome,
            (Outcome{false, "cn=monitor: unavailable-alert-type replication"}));
}

TEST(LdapAlerts, ThatDegradeAreADegradedReadingAndAreNamed) {
  EXPECT_EQ(talk(alerts(), kBound +
                               numbers(4, {{"degraded-alert-type", "low-disk"},
                                           {"degraded-alert-type", "queue"},
                                           {"Degraded-Alert-Type", "x"}}) +
                               done(4))
                .outcome,
            (Outcome{.passed = true,
                     .reason = "answered",
                     .reading = {.grade = health::Grade::degraded},
                     .note = ", degraded-alert-type low-disk and 2 more"}));
}

TEST(LdapAlerts, ComeAfterTheEntry) {
  LdapAsk ask = alerts();
  ask.base = "dc=x";
  ask.attribute = "up";
  ask.value = ExpectedValue::parse("yes").value();
  const std::string told = numbers(4, {}) + done(4);
  EXPECT_EQ(talk(ask, kBound + entry("up", {"no"}) + kDone + told).outcome.reason,
            "dc=x: up is \"no\", wanted \"yes\"");
  EXPECT_EQ(talk(ask, kBound + entry("up", {"yes"}) + kDone + told).outcome,
            (Outcome{true, "answered", "yes"}));
  EXPECT_EQ(talk(ask, kBound + entry("up", {"yes"}) + kDone + done(2)).outcome.reason,
            "answer is to another request");
}

TEST(LdapAlerts, ThatCanNotBeReadFail) {
  EXPECT_EQ(talk(alerts(), kBound + done(4, 32)).outcome, (Outcome{false, "cn=monitor: noSuchObject"}));
  EXPECT_EQ(talk(alerts(), kBound + message(4, 0x64, "")).outcome, (Outcome{false, "answer is not LDAP"}));
}

TEST(LdapSearch, WhatAServerSaysIsReadUpToABound) {
  const LdapAsk ask{.base = "cn=monitor"};
  const std::string large = entry("x", {std::string(60'000, 'y')});
  std::string much = kBound;
  while (much.size() + large.size() + kDone.size() <= 1 << 20) much += large;
  EXPECT_EQ(talk(ask, much + kDone).outcome, (Outcome{true, "answered"}));
  for (const std::size_t piece : {std::size_t{4096}, std::size_t{1} << 22})
    EXPECT_EQ(talk(ask, much + large + large + kDone, piece).outcome,
              (Outcome{false, "server says more than 1 MiB"}));
}

TEST(ExpectedValue, ComparesTextsAndNumbers) {
  using How = ExpectedValue::How;
  EXPECT_TRUE((ExpectedValue{}).passes(""));
  EXPECT_TRUE((ExpectedValue{.how = How::equal, .text = "up"}).passes("up"));
  EXPECT_FALSE((ExpectedValue{.how = How::equal, .text = "up"}).passes("UP"));
  const ExpectedValue at_most{.how = How::at_most, .number = -3};
  for (const char* value : {"-3", "-4", "-99999999999999999999"}) EXPECT_TRUE(at_most.passes(value)) << value;
  for (const char* value : {"-2", "", "-4x", "x", " -4", "99999999999999999999"})
    EXPECT_FALSE(at_most.passes(value)) << value;
  const ExpectedValue at_least{.how = How::at_least, .number = 5};
  EXPECT_TRUE(at_least.passes("5"));
  EXPECT_FALSE(at_least.passes("4"));
  EXPECT_EQ(at_least.words(), "at least 5");
  EXPECT_EQ((ExpectedValue{.how = How::equal, .text = "up"}).words(), "\"up\"");
}

TEST(ExpectedValue, IsReadAsItIsConfigured) {
  using How = ExpectedValue::How;
  const auto read = [](const char* text) { return ExpectedValue::parse(text).value(); };
  EXPECT_EQ(read("").how, How::any);
  EXPECT_EQ(read(">=10").words(), "at least 10");
  EXPECT_EQ(read("<=-3").words(), "at most -3");
  EXPECT_EQ(read("=10").words(), "\"=10\"");
  for (const char* text : {">=", "<=x", ">= 10", "<=1.5", ">=10 "})
    EXPECT_FALSE(ExpectedValue::parse(text).ok()) << text;
  EXPECT_EQ(ExpectedValue::parse(">=ten").error().message, "\">=ten\": >= must be followed by a number");
}

}  // namespace
}  // namespace headgate::probe
