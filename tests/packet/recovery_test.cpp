// SPDX-License-Identifier: Apache-2.0
// Sessions outlast a process that is killed at any instruction: each is then as it was before or after the
// packet under way, or gone if that packet opened or ended it; and counts are those of the sessions there
// are.
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tests/packet/bench.h"
#include "tests/packet/survival_bed.h"
#include "tests/packet/wire.h"

namespace headgate::testing {
namespace {

Site site() {
  return Site().service(1, 80, 8080, {1}).service(2, 80, 8081, {2});
}

/// One packet of random connections; the same for the same number.
Wire packet(std::uint64_t number) {
  std::mt19937 random(static_cast<std::uint32_t>(number * 7919));
  const unsigned virt = 1 + random() % 2;
  const auto port = static_cast<std::uint16_t>(1024 + random() % 40);
  const auto client = ip("10.10.1.50", virt == 1 ? "10.10.1.100" : "10.10.1.101");
  const auto server = ip(virt == 1 ? "10.10.2.11" : "10.10.2.12", "10.10.1.50");
  const auto vport = std::uint16_t{80};
  const auto rport = static_cast<std::uint16_t>(virt == 1 ? 8080 : 8081);
  const auto sent = [&](std::uint8_t flags, std::uint32_t seq, std::uint32_t ack) {
    return client.tcp(port, vport, flags).seq(seq).ack(ack).padded(60).in(kClientPort);
  };
  const auto replied = [&](std::uint8_t flags, std::uint32_t seq, std::uint32_t ack) {
    return server.tcp(rport, port, flags).seq(seq).ack(ack).padded(60).in(kServerPort);
  };
  switch (random() % 10) {
    case 0:
    case 1:
    case 2:
      return sent(kSyn, 1000, 0);
    case 3:
    case 4:
      return replied(kSyn | kAck, 5000, 1001);
    case 5:
    case 6:
      return sent(kAck, 1001, 5001);
    case 7:
      return sent(kFin | kAck, 1001, 5001);
    case 8:
      return replied(kFin | kAck, 5001, 1002);
    default:
      return random() % 4 == 0 ? sent(kRst, 1001, 0) : sent(kAck, 1002, 5002);
  }
}

using Key = std::tuple<std::string, std::uint16_t, std::string>;
using Lives = std::map<Key, core::Life>;

Lives lives(const core::Switch& worker) {
  std::vector<core::SessionView> views;
  std::size_t cursor = 0;
  while (worker.dump(cursor, kSessions, {}, kNow, views)) {
  }
  Lives out;
  for (const auto& view : views) {
    const bool fresh =
        out.emplace(Key{view.client.text(), view.client_port, view.vip.text() + " " + view.rip.text()},
                    view.life)
            .second;
    EXPECT_TRUE(fresh) << "twice: " << view.client_port;
  }
  return out;
}

bool has(const Lives& lives, const Lives::value_type& session) {
  const auto found = lives.find(session.first);
  return found != lives.end() && found->second == session.second;
}

/// `seen` after a cut between the states `before` and `after` one packet.
void expect_between(const Lives& seen, const Lives& before, const Lives& after) {
  for (const auto& session : seen) {
    EXPECT_TRUE(has(before, session) || has(after, session))
        << "port " << std::get<1>(session.first) << " life " << static_cast<int>(session.second);
  }
  for (const auto& session : before) {
    const bool stays = has(after, session);
    EXPECT_TRUE(!stays || has(seen, session)) << "lost: port " << std::get<1>(session.first);
  }
}

/// Current sessions in the counters, over both servers, and how many there must be.
void expect_exact_counts(const Core& core) {
  std::uint64_t current = 0;
  const forwarding::Stats stats = core.director.stats();
  for (const auto& real : stats.real()) current += real.counts().current();
  const Lives all = lives(core.worker);
  const auto counted = std::ranges::count_if(all, [](const auto& session) {
    return session.second != core::Life::closed && session.second != core::Life::terminated;
  });
  EXPECT_EQ(current, static_cast<std::uint64_t>(counted));
  EXPECT_EQ(core.worker.sessions(), all.size());
}

/// Sessions that were opened, by the counters.
std::uint64_t totals(const Core& core) {
  const forwarding::Stats stats = core.director.stats();
  std::uint64_t total = 0;
  for (const auto& real : stats.real()) total += real.counts().total();
  return total;
}

/// A core that handled packets 0 to n - 1 without any cut.
class Twin {
 public:
  Lives at(std::uint64_t packets) {
    for (; done_ < packets; ++done_) core_.pass(packet(done_));
    return lives(core_.worker);
  }
  [[nodiscard]] std::uint64_t total() const { return totals(core_); }

 private:
  Memory memory_;
  Core core_{memory_, all_open(site())};
  std::uint64_t done_ = 0;
};

/// A child that handles packets until it is killed, after `packets` of them at the earliest; how many it did.
std::uint64_t run_and_kill(const Memory& memory, Core& core, std::uint64_t packets, unsigned more) {
  const pid_t child = fork();
  if (child == 0) {
    for (std::uint64_t number = 0;; ++number) {
      core.pass(packet(number));
      memory.set_done(number + 1);
    }
  }
  while (memory.done() < packets) sched_yield();
  for (unsigned i = 0; i < more; ++i) __builtin_ia32_pause();
  kill(child, SIGKILL);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  return memory.done();
}

TEST(Recovery, SessionsOfAKilledProcessAreAsBeforeOrAfterThePacketUnderWay) {
  std::mt19937 random(1);
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(round);
    const Memory memory;
    Stored stored;
    std::uint64_t done = 0;
    forwarding::Stats told;
    {
      Core core(memory, all_open(site()));
      stored = core.store();
      done = run_and_kill(memory, core, 100 + random() % 400, random() % 2000);
      told = core.director.stats();
    }
    const Core recovered(memory, stored);
    Twin twin;
    const Lives before = twin.at(done);
    EXPECT_GE(totals(recovered), twin.total());
    expect_no_total_falls(told, recovered.director.stats());
    expect_between(lives(recovered.worker), before, twin.at(done + 1));
    expect_exact_counts(recovered);
    if (HasFailure()) return;
  }
}

/// The child of a test that steps through it: handles the packets from `first` to `last`.
[[noreturn]] void be_stepped(const Memory& memory, Core& core, std::uint64_t first, std::uint64_t last) {
  std::vector<Wire>
      packets;  // made before, since each instruction from here on costs two switches of the processor
  for (std::uint64_t number = first; number < last; ++number) packets.push_back(packet(number));
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(2);
  raise(SIGSTOP);
  for (std::uint64_t number = first; number < last; ++number) {
    core.pass(packets[number - first]);
    memory.set_done(number + 1);
  }
  _exit(0);
}

TEST(Recovery, SessionsAreWholeAtEachInstructionAtWhichAProcessMayEnd) {
  constexpr std::uint64_t kFirst = 120, kLast = 145;
  const Memory memory;
  Core core(memory, all_open(site()));
  const Stored stored = core.store();
  Twin twin;
  for (std::uint64_t number = 0; number < kFirst; ++number) core.pass(packet(number));
  memory.set_done(kFirst);
  const pid_t child = fork();
  if (child == 0) be_stepped(memory, core, kFirst, kLast);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSTOPPED(status)) << "this test needs ptrace()";

  const Memory copy(memory);
  std::vector<std::byte> seen(memory.table().begin(), memory.table().end());
  std::size_t cuts = 0;
  std::uint64_t done = kFirst;
  Lives before = twin.at(done), after = twin.at(done + 1);
  while (!HasFailure()) {
    ASSERT_EQ(ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr), 0);
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (!WIFSTOPPED(status)) break;
    if (memory.done() != done) {
      done = memory.done();
      before = std::move(after);
      after = twin.at(done + 1);
    }
    if (std::ranges::equal(seen, memory.table())) continue;  // no store since
    seen.assign(memory.table().begin(), memory.table().end());
    copy.take_sessions(memory);
    const Core recovered(copy, stored);
    SCOPED_TRACE("packet " + std::to_string(done) + ", cut " + std::to_string(++cuts));
    expect_between(lives(recovered.worker), before, after);
    expect_exact_counts(recovered);
  }
  if (WIFSTOPPED(status)) kill(child, SIGKILL), waitpid(child, &status, 0);
  EXPECT_GE(cuts, 50u) << "stores of the table that were seen one by one; their number is the compiler's";
}

TEST(Recovery, SessionsGoOnWithTheirServerAndTheirAddresses) {
  const Memory memory;
  Stored stored;
  Lives before;
  {
    Core core(memory, all_open(site()));
    stored = core.store();
    for (std::uint64_t number = 0; number < 300; ++number) core.pass(packet(number));
    before = lives(core.worker);
  }
  Core core(memory, stored);
  EXPECT_EQ(lives(core.worker), before);
  Twin twin;
  static_cast<void>(twin.at(300));
  for (std::uint64_t number = 300; number < 600; ++number) core.pass(packet(number));
  EXPECT_EQ(lives(core.worker), twin.at(600)) << "and from then on all is as if nothing had happened";
  EXPECT_EQ(totals(core), twin.total());
  expect_exact_counts(core);
}

TEST(Recovery, SessionsOfBindingsThatNobodyKnowsAreClosed) {
  const Memory memory;
  {
    Core core(memory, all_open(site()));
    for (std::uint64_t number = 0; number < 300; ++number) core.pass(packet(number));
  }
  Stored stored = all_open(site());
  stored.slots.emplace();
  const Core core(memory, stored);
  for (const auto& [key, life] : lives(core.worker)) {
    EXPECT_TRUE(life == core::Life::terminated || life == core::Life::closed) << std::get<1>(key);
  }
}

TEST(Recovery, EntriesThatNoSwitchWroteAreDropped) {
  const Memory memory;
  Stored stored;
  Lives sound;
  {
    Core core(memory, all_open(site()));
    stored = core.store();
    for (std::uint64_t number = 0; number < 300; ++number) core.pass(packet(number));
    sound = lives(core.worker);
  }
  std::mt19937 random(3);
  const Memory damaged(memory);
  for (int round = 0; round < 100; ++round) {
    damaged.take_sessions(memory);
    for (int i = 0; i < 40; ++i) {
      const std::size_t entries = (kSessions + 1) * sizeof(core::Session);
      damaged.table()[random() % entries] = static_cast<std::byte>(random());
    }
    Core core(damaged, stored);  // must neither crash nor hang, nor lose count
    expect_exact_counts(core);
    for (std::uint64_t number = 0; number < 50; ++number) core.pass(packet(number));
    expect_exact_counts(core);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace headgate::testing
