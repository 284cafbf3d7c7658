// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/sip.h"

#include <gtest/gtest.h>

#include "controlplane/probe/told.h"

namespace headgate::probe {
namespace {

std::unique_ptr<Conversation> ask() {
  return sip_options(Ipv4{0x7f000001}, 5060, kSalt);
}

/// What Kamailio 5.6 sent, of whatever status.
std::string answer(std::string status) {
  return "SIP/2.0 " + status +
         "\r\n"
         "Via: SIP/2.0/UDP headgate.invalid;branch=z9hG4bK1122334455667788;rport=47832;received=127.0.0.1\r\n"
         "From: <sip:headgate@headgate.invalid>;tag=1122334455667788\r\n"
         "To: <sip:127.0.0.1:5060>;tag=9dd61ff61e802d8e2bef5f14621ef3c2.a15f0000\r\n"
         "Call-ID: 1122334455667788\r\n"
         "CSeq: 1 OPTIONS\r\n"
         "Server: kamailio (5.6.3 (x86_64/linux))\r\n"
         "Content-Length: 0\r\n\r\n";
}

TEST(Sip, TheRequestAsksForOptionsAtTheServersAddress) {
  EXPECT_EQ(request_of(*ask()),
            "OPTIONS sip:127.0.0.1:5060 SIP/2.0\r\n"
            "Via: SIP/2.0/UDP headgate.invalid;branch=z9hG4bK1122334455667788;rport\r\n"
            "Max-Forwards: 70\r\n"
            "From: <sip:headgate@headgate.invalid>;tag=1122334455667788\r\n"
            "To: <sip:127.0.0.1:5060>\r\n"
            "Call-ID: 1122334455667788\r\n"
            "CSeq: 1 OPTIONS\r\n"
            "Accept: application/sdp\r\n"
            "User-Agent: headgate\r\n"
            "Content-Length: 0\r\n\r\n");
}

TEST(Sip, AnAddressOfIpv6StandsInBrackets) {
  const std::string request = request_of(*sip_options(*Ip::parse("2001:db8::5"), 5061, kSalt));
  EXPECT_TRUE(request.starts_with("OPTIONS sip:[2001:db8::5]:5061 SIP/2.0\r\n")) << request;
  EXPECT_NE(request.find("\r\nTo: <sip:[2001:db8::5]:5061>\r\n"), std::string::npos) << request;
}

TEST(Sip, TwoHundredsPass) {
  EXPECT_EQ(tell(ask(), {answer("200 OK")}), kPassed);
  EXPECT_EQ(tell(ask(), {answer("202 Accepted")}), kPassed);
  EXPECT_EQ(tell(ask(), {answer("200")}), kPassed) << "without a phrase";
}

TEST(Sip, TryingIsWaitedPast) {
  EXPECT_EQ(tell(ask(), {answer("100 Trying")}), kNothing);
  EXPECT_EQ(tell(ask(), {answer("100 Trying"), answer("180 Ringing"), answer("200 OK")}), kPassed);
}

TEST(Sip, AnotherStatusIsTold) {
  EXPECT_EQ(tell(ask(), {answer("404 Not here")}), failed("answered \"404 Not here\", wanted 2xx"));
  EXPECT_EQ(tell(ask(), {answer("302 Moved")}), failed("answered \"302 Moved\", wanted 2xx"));
  EXPECT_EQ(tell(ask(), {answer("503 a\x1b[1m" + std::string(80, 'x'))}),
            failed("answered \"503 a.[1m" + std::string(51, 'x') + "...\", wanted 2xx"));
}

TEST(Sip, AnotherCallIsNotHeard) {
  std::string other = answer("200 OK");
  other.replace(other.find("Call-ID: 1"), 10, "Call-ID: 2");
  EXPECT_EQ(tell(ask(), {other}), kNothing);
  EXPECT_EQ(tell(ask(), {other, answer("200 OK")}), kPassed);
}

TEST(Sip, ACallIsNotNamedInABody) {
  EXPECT_EQ(tell(ask(), {"SIP/2.0 200 OK\r\n\r\nCall-ID: 1122334455667788\r\n"}), kNothing);
}

TEST(Sip, HeadersMayBeShortSpacedAndInAnyCase) {
  for (const char* header : {"i:1122334455667788", "I : \t1122334455667788 ", "CALL-id:1122334455667788"})
    for (const char* end : {"\r\n", "\n", ""})
      EXPECT_EQ(tell(ask(), {std::string("SIP/2.0 200 OK\nno header\r\n") + header + end}), kPassed)
          << header;
}

TEST(Sip, AnAnswerCutBeforeItsCallIsNamedDoesNotPass) {
  const std::string whole = answer("200 OK");
  const std::size_t named = whole.find("Call-ID: ") + std::string("Call-ID: ").size() + 16;
  tell_cut(ask, whole, [&](std::size_t size, const auto& turn) {
    EXPECT_EQ(turn.outcome == kPassed.outcome, size >= named) << size;
  });
}

TEST(Sip, WhatIsNotSipIsTold) {
  for (const char* other :
       {"", "HTTP/1.1 200 OK\r\n\r\n", "SIP/2.0 20 OK\r\n\r\n", "SIP/2.0 2000\r\n", "SIP/2.0 "})
    EXPECT_EQ(tell(ask(), {other}), failed("answer is not SIP")) << other;
  EXPECT_EQ(tell(ask(), {request_of(*ask())}), failed("answer is not SIP"));
}

}  // namespace
}  // namespace headgate::probe
