// SPDX-License-Identifier: Apache-2.0
// What a session says of itself: when it was opened, and what it has passed in either direction.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/packet/survival_bed.h"

namespace headgate::testing {
namespace {

constexpr std::uint16_t kPort = 40000;
constexpr std::size_t kLong = 60;

forwarding::Session only_session(const Core& core) {
  std::vector<core::SessionView> views;
  std::size_t cursor = 0;
  while (core.worker.dump(cursor, kSessions, {}, core.now, views)) {
  }
  EXPECT_EQ(views.size(), 1u);
  return views.empty() ? forwarding::Session{} : core.director.describe(views[0], 0);
}

void wait(Core& core, std::uint32_t seconds) {
  core.now = core.now.plus_seconds(seconds);
}

Wire from_client(std::string_view payload) {
  return ip(kClient, kVip).udp(kPort, 53, payload).in(kClientPort);
}
Wire from_server(std::string_view payload) {
  return ip(kServer1, kClient).udp(5353, kPort, payload).in(kServerPort);
}

Site site() {
  return Site().service(1, 53, 5353, {1}).udp();
}

struct Volume {
  std::uint64_t packets = 0, octets = 0;
};
void expect(const forwarding::Session& session, std::uint32_t age, std::uint32_t idle, Volume client,
            Volume server) {
  EXPECT_EQ(session.age_seconds(), age);
  EXPECT_EQ(session.idle_seconds(), idle);
  EXPECT_EQ(session.packets_from_client(), client.packets);
  EXPECT_EQ(session.octets_from_client(), client.octets);
  EXPECT_EQ(session.packets_from_server(), server.packets);
  EXPECT_EQ(session.octets_from_server(), server.octets);
}

TEST(Volume, ASessionKnowsItsAgeAndWhatPassedEachWay) {
  const Memory memory;
  Core core(memory, all_open(site()));
  const Wire question = from_client("question"), answer = from_server(std::string(kLong, 'a'));
  core.pass(question);
  expect(only_session(core), 0, 0, {1, question.bytes.size()}, {});
  wait(core, 5);
  core.pass(answer);
  core.pass(question);
  wait(core, 2);
  expect(only_session(core), 7, 2, {2, 2 * question.bytes.size()}, {1, answer.bytes.size()});
}

TEST(Volume, OutlivesAKill) {
  const Memory memory;
  const Wire question = from_client("question"), answer = from_server(std::string(kLong, 'a'));
  Stored stored;
  {
    Core core(memory, all_open(site()));
    stored = core.store();
    core.pass(question);
    wait(core, 5);
    core.pass(answer);
  }
  Core core(memory, stored, kNow.plus_seconds(6));
  expect(only_session(core), 6, 1, {1, question.bytes.size()}, {1, answer.bytes.size()});
  wait(core, 4);
  core.pass(question);
  expect(only_session(core), 10, 0, {2, 2 * question.bytes.size()}, {1, answer.bytes.size()});
}

TEST(Volume, OfASessionThatIsOpenedAnewBeginsAnew) {
  const Memory memory;
  Core core(memory, all_open(site()));
  const auto target = core.director.published().service(0).member(0).target();
  const Wire question = from_client("question");
  core.pass(question);
  wait(core, 5);
  core.admit(target, forwarding::CLOSED);
  core.admit(target, forwarding::OPEN);
  core.pass(question);
  wait(core, 1);
  expect(only_session(core), 1, 1, {1, question.bytes.size()}, {});
}

// More than the counts in a session's own line hold.
TEST(Volume, CarriesWhatOneLineCannotHold) {
  const Memory memory;
  Stored stored;
  constexpr std::uint64_t kMany = (1 << 16) + 5;
  const Wire question = from_client("question");
  {
    Core core(memory, all_open(site()));
    stored = core.store();
    for (std::uint64_t i = 0; i < kMany; ++i) core.pass(question);
  }
  expect(only_session(Core(memory, stored)), 0, 0, {kMany, kMany * question.bytes.size()}, {});
}

}  // namespace
}  // namespace headgate::testing
