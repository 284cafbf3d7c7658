// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/resolve.h"

#include <set>

#include <gtest/gtest.h>

namespace headgate::probe {
namespace {

Wish http_on(L4Port vport, std::string content) {
  return {.health = Kind::http, .content = std::move(content), .vport = vport};
}

TEST(Check, HttpWithoutContentIsATcpCheck) {
  EXPECT_EQ(resolve(http_on(80, "")).identity(), "tcp");
}

TEST(Check, HttpOnAnotherPortIsATcpCheckUnlessAllowed) {
  Wish wish = http_on(8080, "/");
  EXPECT_EQ(resolve(wish).word(), "tcp");
  wish.allow_http_anywhere = true;
  EXPECT_EQ(resolve(wish).word(), "http");
}

TEST(Check, TheHostIsHostNameAndDomainName) {
  Wish wish = http_on(80, "/health");
  wish.dname = "example.com";
  EXPECT_EQ(resolve(wish).identity(), "http example.com/health");
  wish.hname = "www";
  EXPECT_EQ(resolve(wish).identity(), "http www.example.com/health");
}

TEST(Check, ContentWithTwoSlashesOverridesTheHost) {
  Wish wish = http_on(80, "//other.test/a/b");
  wish.dname = "example.com";
  EXPECT_EQ(resolve(wish), (Check{.kind = Kind::http, .host = "other.test", .path = "/a/b"}));
  wish.content = "//other.test";
  EXPECT_EQ(resolve(wish), (Check{.kind = Kind::http, .host = "other.test", .path = "/"}));
}

TEST(Check, APathWithoutSlashGetsOne) {
  EXPECT_EQ(resolve(http_on(80, "index.html")).path, "/index.html");
}

TEST(Check, NothingTypedCanSplitTheRequest) {
  EXPECT_EQ(resolve(http_on(80, "/a b\r\nX: y")).path, "/a%20b%0D%0AX:%20y");
}

TEST(Request, Is11WithTheConfiguredHost) {
  EXPECT_EQ(
      http_request({.kind = Kind::http, .host = "www.example.com", .path = "/health"}, Ipv4{0x0a0a020b}, 80),
      "GET /health HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: headgate\r\nAccept: "
      "*/*\r\nConnection: close\r\n\r\n");
}

// Reports 31: the port is part of Host when it is not 80.
TEST(Request, Is10WithAddressAndPortWhenNoHostIsKnown) {
  EXPECT_TRUE(http_request({.kind = Kind::http, .path = "/"}, Ipv4{0x0a0a020b}, 8080)
                  .starts_with("GET / HTTP/1.0\r\nHost: 10.10.2.11:8080\r\n"));
}

TEST(Request, NamesAnAddressOfIpv6InBrackets) {
  const Ip server = *Ip::parse("2001:db8:2::11");
  EXPECT_TRUE(http_request({.kind = Kind::http, .path = "/"}, server, 8080)
                  .starts_with("GET / HTTP/1.0\r\nHost: [2001:db8:2::11]:8080\r\n"));
  EXPECT_TRUE(http_request({.kind = Kind::http, .path = "/"}, server, 80)
                  .starts_with("GET / HTTP/1.0\r\nHost: [2001:db8:2::11]\r\n"));
}

TEST(Request, OfHttpheadIsHead) {
  EXPECT_TRUE(
      http_request({.kind = Kind::httphead, .path = "/"}, Ipv4{0x0a0a020b}, 80).starts_with("HEAD / "));
}

Check of(Kind kind, std::string content) {
  return resolve({.health = kind, .content = std::move(content)});
}

TEST(Check, WithoutContentThereIsNothingToAskFor) {
  for (const Kind kind : {Kind::httphead, Kind::smtp, Kind::pop3, Kind::imap, Kind::nntp})
    EXPECT_EQ(of(kind, ""), (Check{.kind = Kind::tcp}));
}

constexpr Kind kOverTcp[] = {Kind::tcp,  Kind::http, Kind::httphead, Kind::https, Kind::sslh, Kind::smtp,
                             Kind::pop3, Kind::imap, Kind::nntp,     Kind::ftp,   Kind::ldap, Kind::rtsp};
constexpr Kind kOverUdp[] = {Kind::udp,        Kind::udpdns, Kind::radius, Kind::radiusacs, Kind::tftp,
                             Kind::sipoptions, Kind::ntp,    Kind::wsp,    Kind::wtls,      Kind::wtp};

Wish full(Kind kind, bool udp) {
  return {.health = kind, .content = "a:b", .vport = 80, .udp = udp, .allow_http_anywhere = true};
}

TEST(Check, OverTcpSaysNothingOfAServiceOverUdp) {
  for (const Kind kind : kOverTcp) {
    EXPECT_EQ(resolve(full(kind, true)), (Check{.kind = Kind::icmp, .carrier = Carrier::none}))
        << word_of(kind);
    EXPECT_EQ(resolve(full(kind, false)).kind, kind) << word_of(kind);
    EXPECT_EQ(resolve(full(kind, false)).carrier, Carrier::stream) << word_of(kind);
  }
}

TEST(Check, OverUdpSaysNothingOfAServiceOverTcp) {
  for (const Kind kind : kOverUdp) {
    EXPECT_EQ(resolve(full(kind, false)), (Check{.kind = Kind::tcp})) << word_of(kind);
    EXPECT_EQ(resolve(full(kind, true)).kind, kind) << word_of(kind);
    EXPECT_EQ(resolve(full(kind, true)).carrier, Carrier::datagrams) << word_of(kind);
  }
}

// Reports 14: a service over UDP may be checked by a port over TCP.
TEST(Check, WithAPortOfItsOwnIsMadeForAnyService) {
  Wish wish = full(Kind::tcp, true);
  wish.settings.port = 8080;
  EXPECT_EQ(resolve(wish), (Check{.kind = Kind::tcp, .port = 8080}));
  wish = full(Kind::ntp, false);
  wish.settings.port = 123;
  EXPECT_EQ(resolve(wish), (Check{.kind = Kind::ntp, .carrier = Carrier::datagrams, .port = 123}));
}

TEST(Check, WithANameNeedsNeitherItsUsualPortNorAContent) {
  for (const Kind kind : {Kind::http, Kind::https, Kind::httphead}) {
    EXPECT_EQ(resolve({.health = kind, .vport = 8080, .named = true}).path, "/") << word_of(kind);
    EXPECT_EQ(resolve({.health = kind, .vport = 8080}).kind, Kind::tcp) << word_of(kind);
  }
  EXPECT_EQ(resolve({.health = Kind::https, .vport = 443}).path, "/");
}

TEST(Check, DnsGoesByTheProtocolOfItsService) {
  EXPECT_EQ(resolve(full(Kind::dns, true)).carrier, Carrier::datagrams);
  EXPECT_EQ(resolve(full(Kind::dns, false)).carrier, Carrier::stream);
  EXPECT_NE(resolve(full(Kind::dns, true)).identity(), resolve(full(Kind::dns, false)).identity());
}

TEST(Check, EveryTypeHasAWordOfItsOwn) {
  for (int kind = 0; kind <= static_cast<int>(Kind::app); ++kind)
    EXPECT_EQ(kind_named(word_of(static_cast<Kind>(kind))), static_cast<Kind>(kind));
  EXPECT_EQ(kind_named("htttp"), std::nullopt);
}

TEST(Check, EverySettingTellsItFromOthers) {
  const Check plain{.kind = Kind::http, .path = "/"};
  std::set<std::string> identities{plain.identity()};
  const auto add = [&](const auto& change) {
    Check other = plain;
    change(other);
    EXPECT_TRUE(identities.insert(other.identity()).second) << other.identity();
  };
  add([](Check& c) { c.kind = Kind::https; });
  add([](Check& c) { c.port = 81; });
  add([](Check& c) { c.host = "a"; });
  add([](Check& c) { c.user = "a"; });
  add([](Check& c) { c.password = "a"; });
  add([](Check& c) { c.secret = "a"; });
  add([](Check& c) { c.status = "201"; });
  add([](Check& c) { c.attribute = "a"; });
  add([](Check& c) { c.expect = "a"; });
  add([](Check& c) { c.expect = "a", c.unlike = true; });
  add([](Check& c) { c.version = 2; });
  add([](Check& c) { c.verify = true; });
  add([](Check& c) { c.verify = true, c.ca = "/a"; });
  add([](Check& c) { c.reply = false; });
  add([](Check& c) { c.invert = true; });
  add([](Check& c) { c.script = {{Statement::Verb::open, "80"}}; });
  add([](Check& c) { c.parts = {Check{}}; });
}

TEST(Check, ALoginIsUserAndPasswordWhichMayHaveColons) {
  EXPECT_EQ(of(Kind::pop3, "joe:a:b"), (Check{.kind = Kind::pop3, .user = "joe", .password = "a:b"}));
  EXPECT_EQ(of(Kind::imap, "joe:"), (Check{.kind = Kind::imap, .user = "joe"}));
}

TEST(Check, AnIdentityTellsPasswordsApartAndTellsNone) {
  const std::string one = of(Kind::pop3, "joe:secret").identity(),
                    other = of(Kind::pop3, "joe:sacred").identity();
  EXPECT_NE(one, other);
  EXPECT_EQ(one.find("secret"), std::string::npos);
  EXPECT_EQ(of(Kind::smtp, "postmaster").identity(), "smtp postmaster");
  EXPECT_EQ(of(Kind::nntp, "local.test").identity(), "nntp local.test");
}

TEST(Resolve, AHelloAndAStreamAreAskedForByHost) {
  Wish wish{.health = Kind::sslh, .hname = "www", .dname = "example.com", .vport = 443};
  EXPECT_EQ(resolve(wish).host, "www.example.com");
  wish.health = Kind::rtsp;
  wish.content = "a b";
  EXPECT_EQ(resolve(wish).host, "www.example.com");
  EXPECT_EQ(resolve(wish).path, "/a%20b");
  wish.content.clear();
  EXPECT_EQ(resolve(wish).path, "");
}

}  // namespace
}  // namespace headgate::probe
