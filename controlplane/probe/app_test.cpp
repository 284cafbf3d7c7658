// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/app.h"

#include <gtest/gtest.h>

#include "controlplane/probe/resolve.h"

namespace headgate::probe {
namespace {

using std::chrono::milliseconds;

const Ip kServer = Ipv4{0x0a0a020b};

Check app(const std::string& ports, const std::string& content, const Wish& more = {}) {
  Wish wish = more;
  wish.health = Kind::app;
  wish.content = content;
  wish.named = true;
  wish.settings.ports = ports;
  return resolve(wish);
}

// ---- What it does

TEST(App, ConnectsToItsPortsThenFetchesItsPages) {
  const auto steps =
      app_steps(app("80 10.10.2.12:9000  [fd00::1]:81", "/ping //shop.example/a"), kServer, 8080);
  ASSERT_EQ(steps.size(), 5u);
  EXPECT_EQ(steps[0], (AppStep{kServer, 80}));
  EXPECT_EQ(steps[1], (AppStep{Ipv4{0x0a0a020c}, 9000}));
  EXPECT_EQ(steps[2], (AppStep{Ip::parse("fd00::1").value(), 81}));
  EXPECT_EQ(steps[3].port, 8080);
  EXPECT_EQ(steps[3].page, "/ping");
  EXPECT_EQ(steps[3].request,
            "GET /ping HTTP/1.1\r\nHost: 10.10.2.11:8080\r\nUser-Agent: headgate\r\nAccept: */*\r\n"
            "Connection: close\r\n\r\n");
  EXPECT_EQ(steps[4].page, "//shop.example/a");
  EXPECT_TRUE(steps[4].request.starts_with("GET /a HTTP/1.1\r\nHost: shop.example:8080\r\n"));
}

TEST(App, AsksForTheHostOfTheServiceOnItsOwnPort) {
  Wish wish{.hname = "www", .dname = "shop.example"};
  wish.settings.port = 80;
  const auto steps =
      app_steps(app("", "/a/\xc3\xa9 //other.example", wish), Ip::parse("fd00::7").value(), 8080);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].port, 80);
  EXPECT_TRUE(steps[0].request.starts_with("GET /a/%C3%A9 HTTP/1.1\r\nHost: www.shop.example\r\n"));
  EXPECT_TRUE(steps[1].request.starts_with("GET / HTTP/1.1\r\nHost: other.example\r\n"));
}

TEST(App, IsAnotherTargetWithOtherPortsPagesOrStatuses) {
  Check check = app("80 81", "/a /b");
  EXPECT_EQ(check.identity(), "app /a /b ports 80 81");
  check.failnow = "503";
  EXPECT_EQ(check.identity(), "app /a /b ports 80 81 failnow 503");
}

TEST(App, ThatWouldDoNothingOrIsForUdpIsAnotherCheck) {
  EXPECT_EQ(app("", "").kind, Kind::tcp);
  EXPECT_EQ(app("80", "", {.udp = true}).kind, Kind::icmp);
}

TEST(App, SaysWhichPortIsNone) {
  EXPECT_EQ(read_app_ports("80 http").error().message,
            "\"http\" is no port; 1 to 65535 is allowed, alone or behind an address, as in 10.0.0.1:80 and "
            "[fd00::1]:80");
  for (const char* entry : {"0", "65536", "80x", "-1", "10.0.0.1:", ":80", "10.0.0.1:0", "10.0.0:80",
                            "fd00::1:80", "[fd00::1]", "[10.0.0.1]:80", "[]:80", "0.0.0.0:80", "80,81"})
    EXPECT_FALSE(read_app_ports(entry).ok()) << entry;
  EXPECT_EQ(read_app_ports("  ").value(), std::vector<AppPort>{});
}

TEST(App, SaysWhichPageIsNone) {
  EXPECT_EQ(read_app_pages("/a b").error().message, "\"b\" is no page; /path and //host/path are allowed");
  EXPECT_EQ(read_app_pages("//shop:81/a").error().message,
            "\"//shop:81/a\" has a port behind its host; that is for dport");
  EXPECT_TRUE(read_app_pages("//[fd00::1]/a").ok());
  for (const char* page : {"//", "///a", "http://a/b"}) EXPECT_FALSE(read_app_pages(page).ok()) << page;
}

TEST(App, NamesHostPortStepAndCause) {
  const AppStep page{kServer, 8080, "/ping", ""};
  EXPECT_EQ(app_words(page, AppAct::fetch, "status 500"), "10.10.2.11:8080 GET /ping: status 500");
  EXPECT_EQ(app_words({kServer, 9000}, AppAct::connect, "refused"), "10.10.2.11:9000 connect: refused");
  EXPECT_EQ(app_words({Ip::parse("fd00::1").value(), 80}, AppAct::disconnect,
                      not_done_in(milliseconds(1000)).cause),
            "[fd00::1]:80 disconnect: not done in 1.0 s");
  EXPECT_EQ(not_done_in(milliseconds(1000)).part, 50u);
}

// ---- What it makes of answers

/// However the answer is cut.
std::optional<AppFailure> judge(std::string_view answer, std::string_view failnow = {}) {
  std::optional<AppFailure> first;
  for (std::size_t piece = answer.size() + 1; piece >= 1; --piece) {
    AppAnswer reader(failnow);
    AppAnswer::End end;
    for (std::size_t at = 0; at < answer.size() && !end; at += piece)
      end = reader.hear(answer.substr(at, piece));
    const std::optional<AppFailure> failure = end ? *end : reader.end();
    if (piece == answer.size() + 1) first = failure;
    EXPECT_EQ(failure, first) << "in pieces of " << piece;
  }
  return first;
}

constexpr auto kGood = std::nullopt;
std::optional<AppFailure> half(const char* cause) {
  return AppFailure{cause, 50};
}

TEST(AppAnswer, OfAnyStatusIsOneWhenItIsWhole) {
  for (const char* status : {"200", "204", "301", "404", "501", "503"})
    EXPECT_EQ(judge("HTTP/1.1 " + std::string(status) + " x\r\nContent-Length: 2\r\n\r\nok"), kGood)
        << status;
  EXPECT_EQ(judge("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"), kGood);
  EXPECT_EQ(judge("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0;x\r\nX: y\r\nZ:\n\r\n"), kGood);
  EXPECT_EQ(judge("HTTP/1.0 200 OK\r\n\r\nuntil the end"), kGood);
  EXPECT_EQ(judge("HTTP/1.1 103 x\r\nLink: y\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), kGood);
  EXPECT_EQ(judge("HTTP/1.1 101 x\r\n\r\n"), kGood);
}

TEST(AppAnswer, ThatIsNotWholeFailsInPart) {
  EXPECT_EQ(judge(""), half("closed without an answer"));
  EXPECT_EQ(judge("HTTP/1.1 20"), half("answer is cut short"));
  EXPECT_EQ(judge("HTTP/1.1 200 OK\r\nContent-Le"), half("answer is cut short"));
  EXPECT_EQ(judge("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok"), half("answer is cut short"));
  EXPECT_EQ(judge("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"),
            half("answer is cut short"));
  for (const char* trailers : {"", "X: y\r\n", "\r"})
    EXPECT_EQ(judge("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + std::string(trailers)),
              half("answer is cut short"))
        << trailers;
  EXPECT_EQ(judge("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nok"), half("Content-Length is not a number"));
  EXPECT_EQ(judge("SSH-2.0-x\r\n"), half("answer is not HTTP"));
}

TEST(AppAnswer, Of500FailsAndThoseOfFailnowDemandFailover) {
  EXPECT_EQ(judge("HTTP/1.1 500 x\r\n\r\n"), (AppFailure{"status 500", 100, false}));
  EXPECT_EQ(judge("HTTP/1.1 503 x\r\n\r\n", "503,550-599"), (AppFailure{"status 503", 100, true}));
  EXPECT_EQ(judge("HTTP/1.1 551 x\r\n\r\n", "503,550-599"), (AppFailure{"status 551", 100, true}));
  EXPECT_EQ(judge("HTTP/1.1 500 x\r\n\r\n", "500"), (AppFailure{"status 500", 100, true}));
  EXPECT_EQ(judge("HTTP/1.1 500 x\r\n\r\n", "503"), (AppFailure{"status 500", 100, false}));
}

TEST(AppAnswer, IsReadWithinBounds) {
  AppAnswer headers("");
  AppAnswer::End end;
  const std::string line = "X: " + std::string(4096, 'y') + "\r\n";
  end = headers.hear("HTTP/1.1 200 OK\r\n");
  for (int i = 0; i < 100 && !end; ++i) end = headers.hear(line);
  ASSERT_TRUE(end);
  EXPECT_EQ(*end, half("headers have no end"));

  AppAnswer body("");
  const std::string piece(1 << 20, 'z');
  end = body.hear("HTTP/1.1 200 OK\r\n\r\n");
  for (int i = 0; i < 20 && !end; ++i) end = body.hear(piece);
  ASSERT_TRUE(end);
  EXPECT_EQ(*end, half("answer is longer than 16 MiB"));
}

}  // namespace
}  // namespace headgate::probe
