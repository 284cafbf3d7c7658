// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/tls.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "controlplane/probe/tls_bed.h"

namespace headgate::probe {
namespace {

using namespace std::chrono_literals;

constexpr Day kToday = std::chrono::year(2026) / 6 / 1;

/// A file that holds a text, for as long as the test lasts.
class TextFile {
 public:
  explicit TextFile(const std::string& text) { write(text); }
  ~TextFile() { std::filesystem::remove(path_); }
  void write(const std::string& text) const { std::ofstream(path_) << text; }
  [[nodiscard]] std::string path() const { return path_; }

 private:
  static inline int count_ = 0;
  const std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / fmt::format("tls_test.{}.{}.pem", getpid(), ++count_);
};

/// Asks "ping" and wants "pong".
class Ping final : public Conversation {
 public:
  Turn begin() override { return {"ping", {}}; }
  Turn hear(std::string_view bytes) override {
    heard_ += bytes;
    return heard_ == "pong" ? Turn{"bye", Outcome{true, "pong"}} : Turn{};
  }
  Outcome end() override { return {false, "ended after \"" + heard_ + "\""}; }

 private:
  std::string heard_;
};

const Identity& authority() {
  static const Identity identity = make_identity({.name = "Test CA", .issues = true});
  return identity;
}

const TextFile& authority_file() {
  static const TextFile file(pem(authority()));
  return file;
}

TlsWish verified(std::string name = "www.example.com") {
  return {.name = std::move(name), .verify = true, .ca = authority_file().path(), .now = kToday};
}

/// Lets a client and a server talk, in pieces of what the server says, until the client has a verdict or
/// there is nothing more to say, which is the end.
Outcome talk(Conversation& client, TlsServer& server, std::size_t piece = 1 << 20) {
  Conversation::Turn turn = client.begin();
  while (!turn.outcome) {
    const std::string said = server.answer(turn.say);
    if (said.empty()) return client.end();
    turn.say.clear();
    for (std::size_t at = 0; at < said.size() && !turn.outcome; at += piece) {
      auto next = client.hear(std::string_view(said).substr(at, piece));
      turn = {turn.say + next.say, std::move(next.outcome)};
    }
  }
  static_cast<void>(server.answer(turn.say));
  return *turn.outcome;
}

class Tls : public ::testing::Test {
 protected:
  /// A ping over TLS to a server that answers it.
  Outcome ping(const TlsWish& wish, const Identity& identity, TlsServer::Ways ways = {}) {
    TlsServer server(identity, ways);
    server.expect("ping", "pong");
    const auto client = over_tls(std::make_unique<Ping>(), contexts_, wish);
    return talk(*client, server);
  }

  TlsContexts contexts_;
  const Identity signed_ = make_identity({}, &authority());
};

TEST_F(Tls, CarriesAConversationOverEitherVersion) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsServer server(signed_, {.lowest = version, .highest = version});
    server.expect("ping", "pong");
    const auto client = over_tls(std::make_unique<Ping>(), contexts_, verified());
    EXPECT_EQ(talk(*client, server), (Outcome{true, "pong"})) << version;
    EXPECT_EQ(server.heard(), "pingbye");
    EXPECT_EQ(server.asked_for(), "www.example.com");
    EXPECT_TRUE(server.dismissed());
  }
}

TEST_F(Tls, PiecesMakeNoDifference) {
  for (std::size_t piece = 1; piece < 40; ++piece) {
    TlsServer server(signed_, {});
    server.expect("ping", "pong");
    const auto client = over_tls(std::make_unique<Ping>(), contexts_, verified());
    EXPECT_EQ(talk(*client, server, piece), (Outcome{true, "pong"})) << piece;
  }
}

// Reports 30: each octet of the server's flight may be its last.
TEST_F(Tls, AHandshakeThatIsCutShortFailsAtTheEnd) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsServer server(signed_, {.lowest = version, .highest = version});
    const auto client = over_tls(std::make_unique<Ping>(), contexts_, verified());
    const std::string flight = server.answer(client->begin().say);
    for (std::size_t size = 0; size + 1 < flight.size(); ++size) {
      if (size > 0) {
        EXPECT_EQ(client->hear(std::string_view(flight).substr(size - 1, 1)).outcome, std::nullopt);
      }
      ASSERT_EQ(client->end(), (Outcome{false, "closed in the tls handshake"})) << size;
    }
  }
}

TEST_F(Tls, CloseNotifyEndsTheStream) {
  TlsServer server(signed_, {.highest = TLS1_2_VERSION});
  server.expect("ping", "po");  // and close_notify
  const auto client = over_tls(std::make_unique<Ping>(), contexts_, verified());
  const std::string flight = server.answer(client->begin().say);
  const std::string finished = server.answer(client->hear(flight).say);
  const std::string page = server.answer(client->hear(finished).say);
  EXPECT_EQ(client->hear(page).outcome, (Outcome{false, "ended after \"po\""}));
}

TEST_F(Tls, TheInnerConversationJudgesAStreamThatEnds) {
  TlsServer silent(signed_, {});
  const auto other = over_tls(std::make_unique<Ping>(), contexts_, verified());
  EXPECT_EQ(talk(*other, silent), (Outcome{false, "ended after \"\""}));
}

// Reports 32.
TEST_F(Tls, AnAddressIsNoServerName) {
  for (const char* name : {"10.10.2.11", "2001:db8::11", "[2001:db8::11]", ""}) {
    TlsServer server(signed_, {});
    server.expect("ping", "pong");
    const auto client = over_tls(std::make_unique<Ping>(), contexts_, {.name = name});
    EXPECT_TRUE(talk(*client, server).passed);
    EXPECT_EQ(server.asked_for(), "") << name;
  }
}

TEST_F(Tls, ACertificateOfAnAddressIsForThatAddress) {
  const Identity identity = make_identity({.also = "IP:10.10.2.11,IP:2001:db8::11"}, &authority());
  EXPECT_TRUE(ping(verified("10.10.2.11"), identity).passed);
  EXPECT_TRUE(ping(verified("2001:db8::11"), identity).passed);
  EXPECT_TRUE(ping(verified("[2001:db8::11]"), identity).passed);
  EXPECT_EQ(ping(verified("10.10.2.12"), identity),
            (Outcome{false, "certificate is for 10.10.2.11, 2001:db8::11, wanted 10.10.2.12"}));
}

TEST_F(Tls, WhatIsNotVerifiedDoesNotFail) {
  const Identity worst = make_identity({.name = "other.example",
                                        .from = kToday - std::chrono::days(800),
                                        .to = kToday - std::chrono::days(400)});
  EXPECT_TRUE(ping({.name = "www.example.com", .now = kToday}, worst).passed);
  EXPECT_FALSE(ping(verified(), worst).passed);
}

// The key exchange is as weak as the key: of 1024 bits.
TEST_F(Tls, WhatIsWeakFailsOnlyWhereItIsJudged) {
  const Identity weak = make_identity({.weak = true}, &authority());
  const TlsServer::Ways ways{.ciphers = "ALL:@SECLEVEL=0"};
  const TlsServer::Ways older{.highest = TLS1_2_VERSION, .ciphers = "DHE-RSA-AES128-GCM-SHA256:@SECLEVEL=0"};
  EXPECT_EQ(ping({}, weak, ways), (Outcome{true, "pong"}));
  EXPECT_EQ(ping({}, weak, older), (Outcome{true, "pong"}));
  EXPECT_EQ(ping(verified(), weak, ways), (Outcome{false, "certificate: EE certificate key too weak"}));
}

TEST_F(Tls, ACertificateCountsAtTheTimeThatIsGiven) {
  TlsWish wish = verified();
  wish.now = Day(std::chrono::year(2026) / 12 / 31);
  EXPECT_TRUE(ping(wish, signed_).passed);
  const Identity brief = make_identity({.to = std::chrono::year(2026) / 1 / 2}, &authority());
  EXPECT_EQ(ping(wish, brief), (Outcome{false, "certificate expired 2026-01-02"}));
  const Identity early = make_identity({.from = std::chrono::year(2026) / 7 / 1}, &authority());
  EXPECT_EQ(ping(verified(), early), (Outcome{false, "certificate not yet valid until 2026-07-01"}));
}

TEST_F(Tls, AnExpiredIssuerIsNamed) {
  const Identity old =
      make_identity({.name = "Old CA", .to = std::chrono::year(2026) / 2 / 3, .issues = true});
  const TextFile file(pem(old));
  TlsWish wish = verified();
  wish.ca = file.path();
  EXPECT_EQ(ping(wish, make_identity({}, &old)),
            (Outcome{false, "certificate of \"Old CA\" expired 2026-02-03"}));
}

TEST_F(Tls, ACertificateForOthersSaysForWhom) {
  const Identity other = make_identity({.name = "other.example"}, &authority());
  EXPECT_EQ(ping(verified(), other),
            (Outcome{false, "certificate is for other.example, wanted www.example.com"}));
  const Identity many = make_identity({.also = "DNS:a,DNS:b,DNS:c,DNS:d,DNS:e"}, &authority());
  EXPECT_EQ(ping(verified(), many),
            (Outcome{false, "certificate is for a, b, c and 2 more, wanted www.example.com"}));
  EXPECT_TRUE(ping(verified("a"), many).passed);
}

TEST_F(Tls, WildcardsAndFinalDotsAreUnderstood) {
  const Identity wild = make_identity({.also = "DNS:*.example.com"}, &authority());
  EXPECT_TRUE(ping(verified("www.example.com."), wild).passed);
  EXPECT_FALSE(ping(verified("a.www.example.com"), wild).passed);
}

TEST_F(Tls, WhoSignedItselfOrWasSignedByStrangersIsNotTrusted) {
  EXPECT_EQ(ping(verified(), make_identity({})), (Outcome{false, "certificate is self-signed"}));
  const Identity stranger = make_identity({.name = "Strange CA", .issues = true});
  EXPECT_EQ(ping(verified(), make_identity({}, &stranger)), (Outcome{false, "certificate is not trusted"}));
  TlsWish machine = verified();
  machine.ca.clear();
  EXPECT_EQ(ping(machine, signed_), (Outcome{false, "certificate is not trusted"}));
}

TEST_F(Tls, ACertificateInTheFileIsTrustedWhoeverSignedIt) {
  for (const Identity& own : {make_identity({}), make_identity({}, &authority())}) {
    const TextFile file(pem(own));
    TlsWish wish = verified();
    wish.ca = file.path();
    EXPECT_EQ(ping(wish, own), (Outcome{true, "pong"}));
  }
}

TEST_F(Tls, AFileIsReadAgainWhenItHasChanged) {
  const Identity first = make_identity({});
  const TextFile file(pem(first));
  TlsWish wish = verified();
  wish.ca = file.path();
  EXPECT_TRUE(ping(wish, first).passed);
  const auto context = contexts_.of(true, file.path()).value();
  EXPECT_EQ(contexts_.of(true, file.path()).value(), context);
  const Identity second = make_identity({});
  file.write(pem(second));
  std::filesystem::last_write_time(file.path(), std::filesystem::file_time_type::clock::now() + 1s);
  EXPECT_TRUE(ping(wish, second).passed);
}

TEST_F(Tls, AFileThatCannotBeReadIsNoFaultOfTheServer) {
  TlsWish wish = verified();
  wish.ca = "/nowhere/ca.pem";
  EXPECT_EQ(
      over_tls(std::make_unique<Ping>(), contexts_, wish)->begin(),
      (Conversation::Turn{
          "", Outcome{.reason = "cannot read /nowhere/ca.pem: No such file or directory", .unasked = true}}));
  const TextFile rubbish("rubbish");
  wish.ca = rubbish.path();
  EXPECT_EQ(over_tls(std::make_unique<Ping>(), contexts_, wish)->begin().outcome,
            (Outcome{.reason = rubbish.path() + " holds no certificates", .unasked = true}));
}

TEST_F(Tls, AFileOfAnotherKindOrTooLargeIsNotRead) {
  const auto said = [this](const std::string& ca) {
    TlsWish wish = verified();
    wish.ca = ca;
    return over_tls(std::make_unique<Ping>(), contexts_, wish)->begin().outcome;
  };
  const TextFile place("");
  const std::string fifo = place.path() + ".fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const std::string folder = std::filesystem::temp_directory_path();
  for (const std::string& path : {fifo, folder, std::string("/dev/zero")})
    EXPECT_EQ(said(path),
              (Outcome{.reason = path + " is no regular file; only those are read", .unasked = true}));
  std::filesystem::remove(fifo);

  const TextFile large(pem(authority()) + std::string(1 << 20, '\n'));
  EXPECT_EQ(said(large.path()),
            (Outcome{.reason = large.path() + " is too large; at most 1 MiB is allowed", .unasked = true}));
  const TextFile largest(pem(authority()).append(std::string(1 << 20, '\n')).substr(0, 1 << 20));
  EXPECT_EQ(said(largest.path()), std::nullopt);
}

TEST_F(Tls, PlainTextIsNotTls) {
  for (const char* text : {"HTTP/1.1 400 Bad Request\r\n\r\n", "220 ready\r\n", "S"}) {
    const auto client = over_tls(std::make_unique<Ping>(), contexts_, {});
    static_cast<void>(client->begin());
    EXPECT_EQ(client->hear(std::string_view(text).substr(0, 1)).outcome, (Outcome{false, "not tls"}));
  }
}

TEST_F(Tls, AnAlertIsShownInItsWords) {
  const auto client = over_tls(std::make_unique<Ping>(), contexts_, {});
  static_cast<void>(client->begin());
  constexpr std::string_view kAlert("\x15\x03\x03\x00\x02\x02\x28", 7);
  for (std::size_t at = 0; at + 1 < kAlert.size(); ++at)
    EXPECT_EQ(client->hear(kAlert.substr(at, 1)).outcome, std::nullopt);
  EXPECT_EQ(client->hear(kAlert.substr(6)).outcome, (Outcome{false, "tls alert handshake failure"}));
}

TEST_F(Tls, AnOlderVersionIsRefused) {
  const Outcome outcome =
      ping({}, signed_, {.lowest = TLS1_VERSION, .highest = TLS1_1_VERSION, .ciphers = "ALL:@SECLEVEL=0"});
  EXPECT_EQ(outcome, (Outcome{false, "tls alert protocol version"}));
}

TEST_F(Tls, AServerThatWantsAClientsCertificateSaysSo) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const Outcome outcome =
        ping({}, signed_, {.lowest = version, .highest = version, .wants_certificate = true});
    const std::string_view alert = version == TLS1_2_VERSION ? "handshake failure" : "certificate required";
    EXPECT_EQ(outcome,
              (Outcome{false, fmt::format("tls alert {}, after it asked for a certificate", alert)}));
  }
}

/// Is patient twice, and then content.
class Patient final : public Conversation {
 public:
  Turn begin() override { return {.say = "ping", .patience = 10ms}; }
  Turn hear(std::string_view) override { return {}; }
  Turn late() override {
    return ++lates_ < 2 ? Turn{.say = "ping", .patience = 20ms} : Turn{{}, Outcome{true, "late"}};
  }
  Outcome end() override { return {}; }

 private:
  int lates_ = 0;
};

TEST_F(Tls, TheInnerConversationsPatienceIsPassedOn) {
  TlsServer server(signed_, {});
  const auto client = over_tls(std::make_unique<Patient>(), contexts_, {});
  const auto hello = client->begin();
  EXPECT_EQ(hello.patience, std::nullopt);
  EXPECT_FALSE(client->late().outcome->passed);  // in the handshake
  const auto opened = client->hear(server.answer(hello.say));
  EXPECT_EQ(opened.patience, 10ms);
  static_cast<void>(server.answer(opened.say));
  const auto again = client->late();
  EXPECT_EQ(again.patience, 20ms);
  static_cast<void>(server.answer(again.say));
  EXPECT_EQ(server.heard(), "pingping");
  EXPECT_EQ(client->late().outcome, (Outcome{true, "late"}));
}

// ---- Sessions

TEST_F(Tls, ASessionMakesTheNextHandshakeShort) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const auto context = TlsServer::context(signed_, {.lowest = version, .highest = version});
    const auto memory = std::make_shared<TlsMemory>();
    for (const bool resumed : {false, true, true}) {
      TlsServer server(context);
      server.expect("ping", "pong");
      const auto client = over_tls(std::make_unique<Ping>(), contexts_, {.memory = memory});
      EXPECT_EQ(talk(*client, server), (Outcome{true, "pong"}));
      EXPECT_EQ(server.resumed(), resumed) << version;
    }
  }
}

TEST_F(Tls, WhereCertificatesAreJudgedEveryHandshakeIsAWholeOne) {
  const auto context =
      TlsServer::context(make_identity({.to = std::chrono::year(2026) / 6 / 2}, &authority()), {});
  TlsWish wish = verified();
  wish.memory = std::make_shared<TlsMemory>();
  for (int round = 0; round < 3; ++round) {
    TlsServer server(context);
    server.expect("ping", "pong");
    const auto client = over_tls(std::make_unique<Ping>(), contexts_, wish);
    EXPECT_TRUE(talk(*client, server).passed);
    EXPECT_FALSE(server.resumed());
  }
  wish.now = Day(std::chrono::year(2026) / 7 / 1);
  TlsServer server(context);
  const auto client = over_tls(std::make_unique<Ping>(), contexts_, wish);
  EXPECT_EQ(talk(*client, server), (Outcome{false, "certificate expired 2026-06-02"}));
}

TEST_F(Tls, EachServerIsRememberedByItself) {
  const auto one = contexts_.memory_of("10.10.2.11:443");
  EXPECT_EQ(contexts_.memory_of("10.10.2.11:443"), one);
  EXPECT_NE(contexts_.memory_of("10.10.2.12:443"), one);
  for (std::size_t i = 0; i < TlsContexts::kMostMemories; ++i)
    static_cast<void>(contexts_.memory_of(std::to_string(i)));
  EXPECT_NE(contexts_.memory_of("10.10.2.11:443"), one);
}

TEST_F(Tls, ASessionThatTheServerDoesNotKnowIsNoFailure) {
  const auto memory = std::make_shared<TlsMemory>();
  for (int round = 0; round < 2; ++round) {
    TlsServer server(signed_, {});  // with keys of its own
    server.expect("ping", "pong");
    const auto client = over_tls(std::make_unique<Ping>(), contexts_, {.memory = memory});
    EXPECT_TRUE(talk(*client, server).passed);
    EXPECT_FALSE(server.resumed());
    EXPECT_NE(memory->session, nullptr);
  }
}

// ---- sslh

TEST_F(Tls, TheHelloPassesOverEitherVersionWhateverTheCertificate) {
  const Identity expired = make_identity({.to = std::chrono::year(2026) / 1 / 2});
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsServer server(expired, {.lowest = version, .highest = version});
    const auto client = tls_hello(contexts_, "www.example.com");
    EXPECT_EQ(talk(*client, server), (Outcome{true, "answered"})) << version;
    EXPECT_TRUE(server.open());
    EXPECT_TRUE(server.dismissed());
  }
}

TEST_F(Tls, TheHelloPassesWhereACertificateOfTheClientIsWanted) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsServer server(signed_, {.lowest = version, .highest = version, .wants_certificate = true});
    const auto client = tls_hello(contexts_, "");
    EXPECT_EQ(talk(*client, server), (Outcome{true, "answered"})) << version;
  }
}

TEST_F(Tls, TheHelloFailsWithoutAServersHello) {
  const auto client = tls_hello(contexts_, "");
  static_cast<void>(client->begin());
  EXPECT_EQ(client->end(), (Outcome{false, "closed in the tls handshake"}));
  EXPECT_EQ(client->hear("HTTP/1.1 400\r\n").outcome, (Outcome{false, "not tls"}));
}

}  // namespace
}  // namespace headgate::probe
