// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/snmp.h"

#include <gtest/gtest.h>

#include "controlplane/probe/ber.h"
#include "controlplane/probe/told.h"

namespace headgate::probe {
namespace {

constexpr const char* kName = "1.3.6.1.2.1.1.5.0";
constexpr const char* kServices = "1.3.6.1.2.1.1.7.0";

std::unique_ptr<Conversation> get(const char* oid, std::string wanted) {
  return snmp_get({.community = "public", .oid = oid, .wanted = ExpectedValue::parse(wanted).value()}, kSalt);
}
std::unique_ptr<Conversation> get_other_than(const char* oid, std::string_view unwanted) {
  return snmp_get(
      {.community = "public", .oid = oid, .wanted = ExpectedValue::parse(unwanted).value(), .invert = true},
      kSalt);
}
std::unique_ptr<Conversation> get_weight(const char* oid, std::string_view wanted = {}) {
  return snmp_get(
      {.community = "public", .oid = oid, .wanted = ExpectedValue::parse(wanted).value(), .weight = true},
      kSalt);
}

// What net-snmp 5.9.3 sent.
const std::string kServer1 = hex(
    "303102010104067075626c6963a2240204556677880201000201003016301406082b0601020101050004087365727665722d31");
const std::string kSeventyTwo =
    hex("302a02010104067075626c6963a21d020455667788020100020100300f300d06082b06010201010700020148");
const std::string kTicks =
    hex("302b02010104067075626c6963a21e0204556677880201000201003010300e06082b0601020101030043020099");
const std::string kSpeed =
    hex("302f02010104067075626c6963a22202045566778802010002010030143012060a2b0601020102020105014204"
        "00989680");
const std::string kOctetsIn =
    hex("302e02010104067075626c6963a22102045566778802010002010030133011060b2b060102011f01010106014602"
        "1117");
const std::string kNoSuchObject =
    hex("302902010104067075626c6963a21c020455667788020100020100300e300c06082b060102010163008000");
const std::string kNoSuchInstance =
    hex("302902010104067075626c6963a21c020455667788020100020100300e300c06082b060102010105018100");
const std::string kAnObjectsName =
    hex("303302010104067075626c6963a2260204556677880201000201003018301606082b06010201010200060a2b060104"
        "01bf0803020a");

/// A response to the request for kServices with this value.
std::string response(std::string_view value, std::int64_t error = 0, std::int64_t id = 0x55667788) {
  const std::string binding = ber(kBerSequence, ber(kBerOid, *ber_oid(kServices)) + std::string(value));
  return ber(kBerSequence, ber_integer(1) + ber(kBerOctets, "public") +
                               ber(0xa2, ber_integer(id) + ber_integer(error) + ber_integer(0) +
                                             ber(kBerSequence, binding)));
}

TEST(Snmp, TheRequestAsksForOneObject) {
  EXPECT_EQ(request_of(*get(kName, "x")),
            hex("302902010104067075626c6963a01c020455667788020100020100300e300c06082b060102010105000500"));
  EXPECT_EQ(request_of(*get(".1.3.6.1.2.1.1.5.0", "x")), request_of(*get(kName, "x")));
  EXPECT_EQ(request_of(*get("2.999.4294967295", "x")),
            hex("302802010104067075626c6963a01b020455667788020100020100300d300b060788378fffffff7f0500"));
}

TEST(Snmp, ARequestHasNoNegativeNumber) {
  EXPECT_EQ(request_of(*snmp_get({.community = "public", .oid = "1.3"}, ~std::uint64_t{0})).substr(15, 6),
            hex("02047fffffff"));
}

TEST(Snmp, WhatIsNoObjectIsNotAskedFor) {
  for (const char* none :
       {"", ".", "1", "1.", "1..3", "3.1", "1.40", "1.3.4294967296", "1.3.x", "1.3.-1", "1.3 "})
    EXPECT_EQ(tell(get(none, ""), {}), unaskable("no such object can be asked for")) << none;
  std::string longest = "1.3";
  for (int arc = 2; arc < 128; ++arc) longest += ".1";
  EXPECT_TRUE(ber_oid(longest));
  EXPECT_FALSE(ber_oid(longest + ".1"));
}

TEST(Snmp, TextIsCompared) {
  EXPECT_EQ(tell(get(kName, "server-1"), {kServer1}), kPassed);
  EXPECT_EQ(tell(get(kName, ""), {kServer1}), kPassed) << "any value";
  EXPECT_EQ(tell(get(kName, "server"), {kServer1}), failed("value server-1, wanted server"));
}

TEST(Snmp, NumbersOfEveryKindAreCompared) {
  EXPECT_EQ(tell(get(kServices, "72"), {kSeventyTwo}), kPassed);
  EXPECT_EQ(tell(get(kServices, "17"), {kSeventyTwo}), failed("value 72, wanted 17"));
  EXPECT_EQ(tell(get("1.3.6.1.2.1.1.3.0", "153"), {kTicks}), kPassed);
  EXPECT_EQ(tell(get("1.3.6.1.2.1.2.2.1.5.1", "10000000"), {kSpeed}), kPassed);
  EXPECT_EQ(tell(get("1.3.6.1.2.1.31.1.1.1.6.1", "4375"), {kOctetsIn}), kPassed);
  EXPECT_EQ(tell(get(kServices, "-129"), {response(hex("0202ff7f"))}), kPassed);
  EXPECT_EQ(tell(get(kServices, "4294967295"), {response(hex("410500ffffffff"))}), kPassed);
  EXPECT_EQ(tell(get(kServices, "4294967295"), {response(hex("4204ffffffff"))}), kPassed)
      << "no zero before it";
  EXPECT_EQ(tell(get(kServices, "18446744073709551615"), {response(hex("460900ffffffffffffffff"))}), kPassed);
  EXPECT_EQ(tell(get(kServices, "18446744073709551615"), {response(hex("4608ffffffffffffffff"))}), kPassed);
}

TEST(Snmp, InvertedEveryOtherValuePasses) {
  EXPECT_EQ(tell(get_other_than(kServices, "17"), {kSeventyTwo}), kPassed);
  EXPECT_EQ(tell(get_other_than(kServices, "72"), {kSeventyTwo}), failed("value 72, not wanted"));
  EXPECT_EQ(tell(get_other_than(kServices, "17"), {kNoSuchInstance}),
            failed("answer is about another object"));
}

TEST(Snmp, ANumberMayHaveABound) {
  EXPECT_EQ(tell(get(kServices, "<=72"), {kSeventyTwo}), kPassed);
  EXPECT_EQ(tell(get(kServices, ">=73"), {kSeventyTwo}), failed("value 72, wanted at least 73"));
  EXPECT_EQ(tell(get_other_than(kServices, "<=72"), {kSeventyTwo}), failed("value 72, not wanted"));
}

TEST(Snmp, AWeightIsHandedOut) {
  const auto weight = [](std::uint32_t number) {
    return Outcome{
        .passed = true, .reason = "answered", .bears = health::Bearing{health::Bearing::Of::itself, number}};
  };
  const auto number = [](const char* octets) { return response(hex(octets)); };
  EXPECT_EQ(tell(get_weight(kServices), {number("020101")}).outcome, weight(1));
  EXPECT_EQ(tell(get_weight(kServices), {number("420130")}).outcome, weight(48));
  EXPECT_EQ(tell(get_weight(kServices, "48"), {number("420130")}).outcome, weight(48));
  EXPECT_EQ(tell(get_weight(kServices), {response(ber(kBerOctets, "5"))}).outcome, weight(5)) << "as text";
  EXPECT_EQ(tell(get_weight(kServices, "17"), {kSeventyTwo}), failed("value 72, wanted 17"));
}

TEST(Snmp, WhatCouldNotBeConfiguredIsNoWeight) {
  EXPECT_EQ(tell(get_weight(kServices), {kSeventyTwo}), failed("value 72 is no weight from 1 to 48"));
  EXPECT_EQ(tell(get_weight(kServices), {response(hex("020100"))}),
            failed("value 0 is no weight from 1 to 48"));
  EXPECT_EQ(tell(get_weight(kServices), {response(hex("420131"))}),
            failed("value 49 is no weight from 1 to 48"));
  EXPECT_EQ(tell(get_weight(kName), {kServer1}), failed("value server-1 is no weight from 1 to 48"));
  for (const std::string& text : {std::string("49"), std::string("5x"), std::string(" 5"), std::string()})
    EXPECT_EQ(tell(get_weight(kServices), {response(ber(kBerOctets, text))}),
              failed("value " + text + " is no weight from 1 to 48"));
  EXPECT_EQ(tell(get_weight(kServices), {response(hex("0201ff"))}),
            failed("value -1 is no weight from 1 to 48"));
  EXPECT_EQ(tell(get_weight(kServices), {response(hex("46050100000001"))}),
            failed("value 4294967297 is no weight from 1 to 48"));
}

TEST(Snmp, WhatIsNotThereIsNamed) {
  EXPECT_EQ(tell(get("1.3.6.1.2.1.1.99.0", ""), {kNoSuchObject}), failed("noSuchObject"));
  EXPECT_EQ(tell(get("1.3.6.1.2.1.1.5.1", ""), {kNoSuchInstance}), failed("noSuchInstance"));
  EXPECT_EQ(tell(get(kServices, ""), {response(hex("8200"))}), failed("endOfMibView"));
  EXPECT_EQ(tell(get("1.3.6.1.2.1.1.2.0", ""), {kAnObjectsName}), kPassed);
  EXPECT_EQ(tell(get("1.3.6.1.2.1.1.2.0", "x"), {kAnObjectsName}),
            failed("value of type 0x06 is neither a number nor text"));
}

TEST(Snmp, AMalformedNumberIsCalledSo) {
  for (const char* octets : {"0200", "0209010101010101010101"})
    EXPECT_EQ(tell(get(kServices, "1"), {response(hex(octets))}), failed("value of type 0x02 is malformed"));
  for (const char* tag : {"41", "42", "43", "46"})
    EXPECT_EQ(tell(get(kServices, "1"), {response(hex(tag + std::string("00")))}),
              failed(std::string("value of type 0x") + tag + " is malformed"));
}

TEST(Snmp, AnErrorIsNamed) {
  EXPECT_EQ(tell(get(kServices, ""), {response(hex("0500"), 1)}), failed("error tooBig"));
  EXPECT_EQ(tell(get(kServices, ""), {response(hex("0500"), 5)}), failed("error genErr"));
  EXPECT_EQ(tell(get(kServices, ""), {response(hex("0500"), 16)}), failed("error 16"));
  EXPECT_EQ(tell(get(kServices, ""), {response(hex("0500"), -1)}), failed("error -1"));
}

TEST(Snmp, AnotherRequestsAnswerIsNotHeard) {
  EXPECT_EQ(tell(get(kServices, "1"), {response(hex("020102"), 0, 1)}), kNothing);
  EXPECT_EQ(tell(get(kServices, "1"), {response(hex("020102"), 0, 1), response(hex("020101"))}), kPassed);
  EXPECT_EQ(tell(get(kName, "1"), {response(hex("020101"))}), failed("answer is about another object"));
}

TEST(Snmp, AServersWordsAreMadePrintable) {
  EXPECT_EQ(tell(get(kServices, "x"), {response(ber(kBerOctets, "a\r\n\x1b"))}),
            failed("value a..., wanted x"));
}

TEST(Snmp, LengthsInManyOctetsAreRead) {  // reports 28
  EXPECT_EQ(tell(get(kServices, "7"), {response(hex("028400000001") + "\x07")}), kPassed);
  EXPECT_EQ(tell(get(kServices, "7"), {response(hex("02850000000001") + "\x07")}),
            failed("answer is about another object"))
      << "five octets are too many";
  const std::string text(300, 'x');
  EXPECT_EQ(tell(get(kServices, text), {response(ber(kBerOctets, text))}), kPassed);
}

TEST(Snmp, AnAnswerCutAnywhereIsNone) {
  for (const std::string& answer : {kServer1, kNoSuchObject, response(hex("020101"), 1)})
    tell_cut(
        [] { return get(kName, ""); }, answer,
        [](std::size_t size, const auto& turn) { EXPECT_EQ(turn, failed("answer is not SNMP")) << size; });
}

TEST(Snmp, LengthsThatLieReadNothingBeyondTheMessage) {
  for (std::size_t at = 0; at < kSeventyTwo.size(); ++at)
    for (int octet = 0; octet < 256; ++octet) {
      std::string message = kSeventyTwo;
      message[at] = static_cast<char>(octet);
      const auto turn = tell(get(kServices, "no such value"), {message});
      EXPECT_FALSE(turn.outcome && turn.outcome->passed) << at << " " << octet;
    }
}

TEST(Snmp, IndefiniteLengthsAndLongTagsAreRefused) {
  const std::string indefinite = hex("3080") + std::string(200, '\0');
  std::string_view rest = indefinite;
  EXPECT_FALSE(take_ber(rest));
  std::string_view tag = "\x1f\x01\x01\x07";
  EXPECT_FALSE(take_ber(tag));
  std::string_view none = "";
  EXPECT_FALSE(take_ber(none));
}

TEST(Snmp, NumbersAreWrittenInAsFewOctetsAsTheirSignAllows) {
  EXPECT_EQ(ber_integer(std::int64_t{0}), hex("020100"));
  EXPECT_EQ(ber_integer(std::int64_t{127}), hex("02017f"));
  EXPECT_EQ(ber_integer(std::int64_t{128}), hex("02020080"));
  EXPECT_EQ(ber_integer(std::int64_t{-128}), hex("020180"));
  EXPECT_EQ(ber_integer(std::int64_t{-129}), hex("0202ff7f"));
  EXPECT_EQ(ber_integer(INT64_MIN), hex("02088000000000000000"));
  for (const std::int64_t number : {INT64_MIN, std::int64_t{-1}, std::int64_t{0x7fffffff}, INT64_MAX})
    EXPECT_EQ(ber_integer(std::string_view(ber_integer(number)).substr(2)), number);
}

}  // namespace
}  // namespace headgate::probe
