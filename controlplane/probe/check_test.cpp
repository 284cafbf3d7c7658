// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/check.h"

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
  EXPECT_EQ(resolve(wish), (Check{Kind::http, "other.test", "/a/b"}));
  wish.content = "//other.test";
  EXPECT_EQ(resolve(wish), (Check{Kind::http, "other.test", "/"}));
}

TEST(Check, APathWithoutSlashGetsOne) {
  EXPECT_EQ(resolve(http_on(80, "index.html")).path, "/index.html");
}

TEST(Check, NothingTypedCanSplitTheRequest) {
  EXPECT_EQ(resolve(http_on(80, "/a b\r\nX: y")).path, "/a%20b%0D%0AX:%20y");
}

TEST(Request, Is11WithTheConfiguredHost) {
  EXPECT_EQ(http_request({Kind::http, "www.example.com", "/health"}, Ipv4{0x0a0a020b}, 80),
            "GET /health HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: headgate\r\nAccept: "
            "*/*\r\nConnection: close\r\n\r\n");
}

// Reports 31: the port is part of Host when it is not 80.
TEST(Request, Is10WithAddressAndPortWhenNoHostIsKnown) {
  EXPECT_TRUE(http_request({Kind::http, "", "/"}, Ipv4{0x0a0a020b}, 8080)
                  .starts_with("GET / HTTP/1.0\r\nHost: 10.10.2.11:8080\r\n"));
}

TEST(Request, NamesAnAddressOfIpv6InBrackets) {
  const Ip server = *Ip::parse("2001:db8:2::11");
  EXPECT_TRUE(http_request({Kind::http, "", "/"}, server, 8080)
                  .starts_with("GET / HTTP/1.0\r\nHost: [2001:db8:2::11]:8080\r\n"));
  EXPECT_TRUE(http_request({Kind::http, "", "/"}, server, 80)
                  .starts_with("GET / HTTP/1.0\r\nHost: [2001:db8:2::11]\r\n"));
}

}  // namespace
}  // namespace headgate::probe
