// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/http_body.h"

#include <gtest/gtest.h>

#include "controlplane/probe/http_reply.h"

namespace headgate::probe {
namespace {

HttpWish wanting(std::string contains, std::string_view statuses = "200") {
  return {.statuses = StatusSet::parse(statuses).value(), .contains = std::move(contains)};
}

/// The verdict, which is the same in whatever pieces the reply comes.
Outcome verdict(const HttpWish& wish, std::string_view bytes) {
  HttpReply whole(wish);
  whole.append(bytes);
  const Outcome outcome = whole.end();
  for (std::size_t piece = 1; piece < bytes.size(); ++piece) {
    HttpReply split(wish);
    for (std::size_t at = 0; at < bytes.size(); at += piece) split.append(bytes.substr(at, piece));
    EXPECT_EQ(split.end(), outcome) << "in pieces of " << piece;
  }
  return outcome;
}

struct Case {
  std::string_view bytes;
  bool passed;
  std::string_view reason;
};

class Bodies : public testing::TestWithParam<Case> {};

TEST_P(Bodies, AreSearchedTheSameHoweverTheyAreSplit) {
  EXPECT_EQ(verdict(wanting("well"), GetParam().bytes),
            (Outcome{GetParam().passed, std::string(GetParam().reason)}));
}

// Reports 22, 24, 25 and 26.
INSTANTIATE_TEST_SUITE_P(
    Lengths, Bodies,
    testing::Values(
        Case{"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nall well", true, "status 200"},
        Case{"HTTP/1.1 200 OK\nContent-Length:8\n\nall well", true, "status 200"},
        Case{"HTTP/1.1 200 OK\r\ncontent-length:  8  \r\nX: y\r\n\r\nall well", true, "status 200"},
        Case{"HTTP/1.1 200 OK\r\nContent-Length: 8\r\nContent-Length: 8\r\n\r\nall well", true, "status 200"},
        Case{"HTTP/1.1 200 OK\r\nContent-Length: 8\r\nContent-Length: 9\r\n\r\nall well", false,
             "answer has two lengths"},
        Case{"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nall well", true, "status 200"},
        Case{"HTTP/1.1 200 OK\r\nContent-Length: 8x\r\n\r\nall well", false,
             "Content-Length is not a number"},
        Case{"HTTP/1.1 200 OK\r\nContent-Length: -8\r\n\r\nall well", false,
             "Content-Length is not a number"},
        Case{"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nall well", false, "Content-Length is not a number"},
        Case{"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nall well", false,
             "body lacks \"well\" (read 7 octets)"},
        Case{"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false, "body lacks \"well\" (read 0 octets)"},
        Case{"HTTP/1.1 200 OK\r\nContent-Length: 80\r\n\r\nill", false,
             "body lacks \"well\" (read 3 octets)"},
        Case{"HTTP/1.0 200 OK\r\n\r\nit wewell is", true, "status 200"},
        Case{"HTTP/1.0 200 OK\r\n\r\nit is wel", false, "body lacks \"well\" (read 9 octets)"},
        Case{"HTTP/1.1 204 No Content\r\n\r\nwell", false, "status 204, wanted 200"},
        Case{"HTTP/1.1 200 OK\r\nX-State: well\r\n\r\nill", false, "body lacks \"well\" (read 3 octets)"},
        Case{"HTTP/1.1 404 Not Found\r\n\r\nwell", false, "status 404, wanted 200"},
        Case{"HTTP/1.1 200 OK\r\nX: well", false, "answer is cut short"}));

INSTANTIATE_TEST_SUITE_P(
    Chunks, Bodies,
    testing::Values(
        Case{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nall we\r\n2\r\nll\r\n0\r\n\r\n", true,
             "status 200"},
        Case{"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, Chunked\r\n\r\n4;x=1\r\nwell\r\n", true,
             "status 200"},
        Case{"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n00a \nall is wel\n1\nl\n", true, "status 200"},
        Case{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nA\r\nall "
             "well..\r\n",
             true, "status 200"},
        Case{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nill\r\n0\r\n\r\n", false,
             "body lacks \"well\" (read 3 octets)"},
        Case{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;well\r\nill\r\n0\r\nX: well\r\n\r\n",
             false, "body lacks \"well\" (read 3 octets)"},
        Case{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nwell\r\n", false,
             "chunk is longer than it says"},
        Case{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nwell", false, "chunk has no size"},
        Case{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n;well\r\n", false, "chunk has no size"},
        Case{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nwell", false,
             "chunk has no size"},
        Case{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\nwell", true,
             "status 200"},
        Case{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\nwell", true, "status 200"}));

TEST(HttpBody, IsFoundBeforeItEnds) {
  HttpReply reply(wanting("well"));
  EXPECT_FALSE(reply.append("HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\nwel"));
  EXPECT_EQ(reply.append("l"), (Outcome{true, "status 200"}));
}

TEST(HttpBody, IsSearchedUpToABound) {
  HttpReply reply(wanting("well"));
  reply.append("HTTP/1.1 200 OK\r\n\r\n");
  EXPECT_FALSE(reply.append(std::string(HttpBody::kMost - 4, 'x')));
  HttpReply other = reply;
  EXPECT_EQ(reply.append("well"), (Outcome{true, "status 200"}));
  EXPECT_EQ(other.append("xwell"), (Outcome{false, "body lacks \"well\" (read 65536 octets)"}));
}

TEST(HttpBody, AStatusWithoutABodyLacksIt) {
  HttpReply reply(wanting("well", "200-299"));
  EXPECT_EQ(reply.append("HTTP/1.1 204 No Content\r\n\r\n"),
            (Outcome{false, "body lacks \"well\" (read 0 octets)"}));
}

TEST(HttpReply, AnyWantedStatusPasses) {
  const HttpWish wish = wanting("", "200-299,301");
  EXPECT_EQ(verdict(wish, "HTTP/1.1 301 Moved\r\n\r\n"), (Outcome{true, "status 301"}));
  EXPECT_EQ(verdict(wish, "HTTP/1.1 206 Part\r\n\r\n"), (Outcome{true, "status 206"}));
  EXPECT_EQ(verdict(wish, "HTTP/1.1 302 Found\r\n\r\n"), (Outcome{false, "status 302, wanted 200-299,301"}));
}

TEST(HttpReply, InterimRepliesArePassedOver) {
  const std::string_view early =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\nContent-Length: 1\n\n";
  EXPECT_EQ(verdict(wanting("well"), std::string(early) + "HTTP/1.1 200 OK\r\n\r\nall well"),
            (Outcome{true, "status 200"}));
  EXPECT_EQ(verdict({}, std::string(early) + "HTTP/1.1 503 Busy\r\n\r\n"),
            (Outcome{false, "status 503, wanted 200"}));
  EXPECT_EQ(verdict({}, early), (Outcome{false, "answer is cut short"}));
  EXPECT_EQ(verdict({}, "HTTP/1.1 101 Switching\r\n\r\n"), (Outcome{false, "status 101, wanted 200"}));
  EXPECT_EQ(verdict(wanting("", "100"), early), (Outcome{true, "status 100"}));
}

/// Feeds pieces until there is an outcome, or so many octets have gone.
Outcome fed(HttpReply& reply, const std::string& piece, std::size_t octets) {
  for (std::size_t sent = 0; sent < octets; sent += piece.size())
    if (const auto& outcome = reply.append(piece)) return *outcome;
  return {false, "no outcome"};
}

// 16 MiB of headers, as lines and as one line: given up at the bound.
TEST(HttpReply, HeadersWithoutEndAreGivenUp) {
  constexpr std::size_t kMuch = 16 << 20;
  for (const char* line : {"X-Padding: 0123456789\r\n", "xxxxxxxxxxxxxxxx", "a\n"}) {
    HttpReply reply(wanting("well"));
    reply.append("HTTP/1.1 200 OK\r\n");
    EXPECT_EQ(fed(reply, line, kMuch), (Outcome{false, "headers have no end"}));
    HttpReply interim;
    EXPECT_EQ(fed(interim, "HTTP/1.1 100 C\r\n\r\n", kMuch), (Outcome{false, "headers have no end"}));
  }
}

const std::string kChunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

TEST(HttpBody, AChunksLineIsReadUpToABound) {
  const std::string size = "4;x=";
  const std::string fits = kChunks + size + std::string(HttpBody::kLongestChunkLine - size.size() - 1, 'y');
  HttpReply reply(wanting("well"));
  EXPECT_EQ(reply.append(fits + "\nwell"), (Outcome{true, "status 200"}));
  for (const HttpWish& wish : {wanting("well"), HttpWish{.whole = true}}) {
    HttpReply longer(wish);
    EXPECT_EQ(longer.append(fits + "y\n"), (Outcome{false, "a chunk's line is longer than 4 KiB"}));
    HttpReply ended(wish);
    EXPECT_EQ(ended.append(kChunks + "1\r\na" + std::string(8192, '\r')),
              (Outcome{false, "a chunk's line is longer than 4 KiB"}));
  }
}

TEST(HttpBody, TrailersAreReadUpToABound) {
  const HttpWish whole{.whole = true};
  for (const char* line : {"X-Padding: 0123456789\r\n", "xxxxxxxxxxxxxxxx", "a\n"}) {
    HttpReply reply(whole);
    reply.append(kChunks + "0\r\n");
    EXPECT_EQ(fed(reply, line, HttpBody::kMostTrailers - 64), (Outcome{false, "no outcome"}));
    EXPECT_EQ(fed(reply, line, 128), (Outcome{false, "trailers are longer than 256 KiB"}));
  }
  HttpReply lacking(wanting("well"));
  EXPECT_EQ(lacking.append(kChunks + "0\r\n"), (Outcome{false, "body lacks \"well\" (read 0 octets)"}));
}

// What frames an answer counts: chunks of one octet with as much as possible between them, and without any.
TEST(HttpReply, AnAnswerIsReadUpToABound) {
  for (const HttpWish& wish : {wanting("well"), HttpWish{.whole = true}}) {
    HttpReply reply(wish);
    reply.append(kChunks);
    const std::string chunk = "1;" + std::string(4000, 'x') + "\r\na\r\n";
    EXPECT_EQ(fed(reply, chunk, HttpReply::kMost - 8192), (Outcome{false, "no outcome"}));
    EXPECT_EQ(fed(reply, chunk, 16384), (Outcome{false, "answer is longer than 16 MiB"}));
  }
  const std::string head = "HTTP/1.1 200 OK\r\n\r\n";
  HttpReply largest({.whole = true});
  EXPECT_FALSE(largest.append(head + std::string(HttpReply::kMost - head.size(), 'x')));
  HttpReply larger = largest;
  EXPECT_EQ(largest.end(), (Outcome{true, "status 200"}));
  EXPECT_EQ(larger.append("x"), (Outcome{false, "answer is longer than 16 MiB"}));
}

// Reports 33: what is below the bound is read.
TEST(HttpReply, LargeHeadersAreReadThrough) {
  HttpReply reply(wanting("well"));
  reply.append("HTTP/1.1 200 OK\r\nX-Large: " + std::string(32 * 1024, 'x') + "\r\n");
  for (int i = 0; i < 300; ++i) reply.append("X-Header: " + std::string(200, 'y') + "\r\n");
  EXPECT_EQ(reply.append("Content-Length: 4\r\n\r\nwell"), (Outcome{true, "status 200"}));
}

TEST(HttpReply, SpeaksOfTheProtocolThatWasWanted) {
  const HttpWish wish{.version = "RTSP/1."};
  EXPECT_EQ(verdict(wish, "RTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\n"), (Outcome{true, "status 200"}));
  EXPECT_EQ(verdict(wish, "RTSP/1.0 404 Not Found\r\n\r\n"), (Outcome{false, "status 404, wanted 200"}));
  EXPECT_EQ(verdict(wish, "HTTP/1.1 200 OK\r\n\r\n"), (Outcome{false, "answer is not RTSP"}));
}

}  // namespace
}  // namespace headgate::probe
