// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/resolve.h"

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

}  // namespace
}  // namespace headgate::probe
