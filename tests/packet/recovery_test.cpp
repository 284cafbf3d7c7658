// SPDX-License-Identifier: Apache-2.0
// Sessions outlast a process that is killed at any instruction: each is then as it was before or after the
// step under way, or gone if that step opened or ended it; and counts are those of the sessions there are.
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tests/packet/bench.h"
#include "tests/packet/survival_steps.h"

namespace headgate::testing {
namespace {

/// A child that does steps until it is killed, after `steps` of them at the earliest; how many it did.
std::uint64_t run_and_kill(const Memory& memory, Core& core, std::uint64_t steps, unsigned more) {
  const pid_t child = fork();
  if (child == 0) {
    for (std::uint64_t number = 0;; ++number) {
      step(core, number);
      memory.set_done(number + 1);
    }
  }
  while (memory.done() < steps) sched_yield();
  for (unsigned i = 0; i < more; ++i) __builtin_ia32_pause();
  kill(child, SIGKILL);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  return memory.done();
}

/// Opens sessions of the first server till it takes none: exactly so many as it may have.
void expect_exact_limit(Core& core) {
  for (std::uint16_t port = 50000; port <= 50000 + kMaxcon; ++port)
    core.pass(ip("10.10.1.51", "10.10.1.100").tcp(port, 80, kSyn).in(kClientPort));
  const forwarding::Stats stats = core.director.stats();
  EXPECT_EQ(stats.real(0).counts().current(), kMaxcon);
}

TEST(Recovery, SessionsOfAKilledProcessAreAsBeforeOrAfterTheStepUnderWay) {
  std::mt19937 random(1);
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(round);
    const Memory memory;
    Stored stored;
    std::uint64_t done = 0;
    forwarding::Stats told;
    {
      Core core(memory, all_open(site_of_steps()));
      stored = core.store();
      done = run_and_kill(memory, core, 100 + random() % 400, random() % 2000);
      told = core.director.stats();
    }
    Core recovered(memory, stored, time_of(done));
    Twin twin;
    const Views before = twin.at(done, recovered.now);
    expect_no_total_falls(twin.stats(), recovered.director.stats());
    expect_no_total_falls(told, recovered.director.stats());
    expect_between(views(recovered.worker, recovered.now), before, twin.at(done + 1, recovered.now));
    expect_no_total_falls(recovered.director.stats(), twin.stats());
    expect_exact_counts(recovered);
    expect_exact_limit(recovered);
    if (HasFailure()) return;
  }
}

/// The child of a test that steps through it: does the steps from `first` to `last`.
[[noreturn]] void be_stepped(const Memory& memory, Core& core, std::uint64_t first, std::uint64_t last) {
  std::vector<Step> steps;  // made before, since each instruction costs two switches of the processor
  for (std::uint64_t number = first; number < last; ++number) steps.push_back(step_of(number));
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(2);
  raise(SIGSTOP);
  for (std::uint64_t number = first; number < last; ++number) {
    steps[number - first].act(core);
    memory.set_done(number + 1);
  }
  _exit(0);
}

/// What a process that is stepped through has left at an instruction.
class Cut {
 public:
  explicit Cut(const Memory& memory) : parts_(memory.live()), copy_(memory), seen_(copy_of_live()) {}
  /// Whether there was a store since the last call.
  bool is_new() {
    bool same = true;
    const std::byte* seen = seen_.data();
    for (const auto& part : parts_) {
      same = same && std::memcmp(part.data(), seen, part.size()) == 0;
      seen += part.size();
    }
    if (!same) seen_ = copy_of_live();
    return !same;
  }
  /// The memory as it is now, for a process to come.
  [[nodiscard]] const Memory& taken() const {
    const auto to = copy_.live();
    for (std::size_t part = 0; part < parts_.size(); ++part)
      std::memcpy(to[part].data(), parts_[part].data(), parts_[part].size());
    return copy_;
  }

 private:
  [[nodiscard]] std::vector<std::byte> copy_of_live() const {
    std::vector<std::byte> all;
    for (const auto& part : parts_) all.insert(all.end(), part.begin(), part.end());
    return all;
  }
  std::vector<std::span<std::byte>> parts_;
  Memory copy_;
  std::vector<std::byte> seen_;
};

/// Twins before and after the step under way.
struct Between {
  Twin earlier, later;
  std::uint64_t done;

  explicit Between(std::uint64_t steps) : done(steps) {}
  void expect(const Core& recovered, std::uint64_t steps) {
    done = steps;
    const Views before = earlier.at(done, recovered.now), after = later.at(done + 1, recovered.now);
    expect_between(views(recovered.worker, recovered.now), before, after);
    expect_no_total_falls(earlier.stats(), recovered.director.stats());
    expect_no_total_falls(recovered.director.stats(), later.stats());
    expect_exact_counts(recovered);
  }
};

TEST(Recovery, SessionsAreWholeAtEachInstructionAtWhichAProcessMayEnd) {
  constexpr std::uint64_t kFirst = 240, kLast = 266;
  const Memory memory;
  Core core(memory, all_open(site_of_steps()));
  const Stored stored = core.store();
  for (std::uint64_t number = 0; number < kFirst; ++number) step(core, number);
  memory.set_done(kFirst);
  const pid_t child = fork();
  if (child == 0) be_stepped(memory, core, kFirst, kLast);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSTOPPED(status)) << "this test needs ptrace()";

  Cut cut(memory);
  Between between(kFirst);
  std::map<Step::Kind, unsigned> cuts;
  while (!HasFailure()) {
    ASSERT_EQ(ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr), 0);
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (!WIFSTOPPED(status)) break;
    if (!cut.is_new()) continue;
    const std::uint64_t done = memory.done();
    const Core recovered(cut.taken(), stored, time_of(done));
    SCOPED_TRACE("step " + std::to_string(done) + ", cut " + std::to_string(++cuts[step_of(done).kind]));
    between.expect(recovered, done);
  }
  if (WIFSTOPPED(status)) kill(child, SIGKILL), waitpid(child, &status, 0);
  for (const auto kind : {Step::Kind::packet, Step::Kind::sweep, Step::Kind::clear, Step::Kind::fail}) {
    EXPECT_GE(cuts[kind], 2u) << static_cast<int>(kind);
    std::printf("%u cuts in steps of kind %d\n", cuts[kind], static_cast<int>(kind));
  }
}

/// What is there after 300 steps.
struct Left {
  Memory memory;
  Stored stored;
  Views sessions;
  static constexpr std::uint64_t kSteps = 300;

  Left() {
    Core core(memory, all_open(site_of_steps()));
    for (std::uint64_t number = 0; number < kSteps; ++number) step(core, number);
    stored = core.store();
    sessions = views(core.worker, core.now);
  }
};

TEST(Recovery, SessionsGoOnWithTheirServerTheirAddressesAndWhatTheyHavePassed) {
  const Left left;
  Core core(left.memory, left.stored, time_of(Left::kSteps));
  Twin twin;
  EXPECT_EQ(views(core.worker, core.now), twin.at(Left::kSteps, core.now));
  for (std::uint64_t number = Left::kSteps; number < 2 * Left::kSteps; ++number) step(core, number);
  EXPECT_EQ(views(core.worker, core.now), twin.at(2 * Left::kSteps, core.now))
      << "and from then on all is as if nothing had happened";
  EXPECT_EQ(core.director.stats().DebugString(), twin.stats().DebugString());
  expect_exact_counts(core);
}

// What a client asked for in the place of its connection is not kept; it asks again.
TEST(Recovery, AClientThatAskedForANewConnectionGetsItWhenItAsksAgain) {
  const Packet client = ip("10.10.1.50", "10.10.1.100"), server = ip("10.10.2.11", "10.10.1.50");
  const auto says = [&](std::uint8_t flags, std::uint32_t sequence, std::uint32_t acknowledged) {
    return client.tcp(1024, 80, flags).seq(sequence).ack(acknowledged).in(kClientPort);
  };
  const auto answers = [&](std::uint32_t sequence, std::uint32_t acknowledged) {
    return server.tcp(8080, 1024, kSyn | kAck).seq(sequence).ack(acknowledged).in(kServerPort);
  };
  const auto life = [](const Core& core) { return views(core.worker, core.now).begin()->second.life; };
  const Memory memory;
  Stored stored;
  {
    Core core(memory, all_open(web(1)));
    stored = core.store();
    core.pass(says(kSyn, 1000, 0)), core.pass(answers(5000, 1001)), core.pass(says(kAck, 1001, 5001));
    core.pass(says(kSyn, 0x90000000, 0));
    ASSERT_EQ(life(core), core::Life::open);
  }
  Core core(memory, stored);
  ASSERT_EQ(core.worker.sessions(), 1u);
  core.pass(answers(0xd0000000, 0x90000001));
  EXPECT_EQ(life(core), core::Life::open) << "nobody has asked this process";
  core.pass(says(kSyn, 0x90000000, 0)), core.pass(answers(0xd0000000, 0x90000001));
  EXPECT_EQ(life(core), core::Life::syn);
  expect_exact_counts(core);
}

TEST(Recovery, SessionsOfBindingsThatNobodyKnowsAreClosed) {
  Left left;
  left.stored.slots.emplace();
  const Core core(left.memory, left.stored, time_of(Left::kSteps));
  EXPECT_FALSE(left.sessions.empty());
  for (const auto& [key, view] : views(core.worker, core.now)) {
    EXPECT_TRUE(view.life == core::Life::terminated || view.life == core::Life::closed) << std::get<1>(key);
  }
}

// Whose packets another worker may have to be handed: who sends to it is a client.
TEST(Recovery, AVipThatWentIsKnownAsOneWhileItsSessionsAreRemembered) {
  const Memory memory;
  Stored stored;
  const auto is_known = [](const Core& core) {
    const core::Layout& layout = *core.generation->layout;
    EXPECT_FALSE(layout.is_vip(address(kVip)));
    return layout.is_or_was_vip(address(kVip));
  };
  {
    Core core(memory, all_open(web(1)));
    core.pass(ip(kClient, kVip).tcp(40000, 80, kSyn).in(kClientPort));
    ASSERT_EQ(core.worker.sessions(), 1u);
    core.publish(Site());
    EXPECT_TRUE(is_known(core));
    stored = core.store();
  }
  Core core(memory, stored);
  EXPECT_EQ(core.worker.sessions(), 1u);
  EXPECT_TRUE(is_known(core));
  std::size_t cursor = 0, cleared = 0;
  EXPECT_FALSE(core.worker.clear(cursor, kSessions, {}, cleared));
  core.publish(Site());
  EXPECT_FALSE(is_known(core));
}

TEST(Recovery, EntriesThatNoSwitchWroteAreDropped) {
  const Left left;
  std::mt19937 random(3);
  const Memory damaged(left.memory);
  std::size_t dropped = 0;
  for (int round = 0; round < 100; ++round) {
    damaged.take_sessions(left.memory);
    for (int i = 0; i < 40; ++i) {
      const std::size_t entries = (kSessions + 1) * sizeof(core::Session);
      damaged.table()[random() % entries] = static_cast<std::byte>(random());
    }
    Core core(damaged, left.stored, time_of(Left::kSteps));  // must neither crash nor hang, nor lose count
    expect_exact_counts(core);
    ASSERT_LE(core.worker.sessions(), left.sessions.size());
    dropped += left.sessions.size() - core.worker.sessions();
    for (std::uint64_t number = Left::kSteps; number < Left::kSteps + 50; ++number) step(core, number);
    core.worker.sweep(core.now, 0);
    expect_exact_counts(core);
    if (HasFailure()) return;
  }
  EXPECT_GT(dropped, 0u);
}

}  // namespace
}  // namespace headgate::testing
