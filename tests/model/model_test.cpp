// SPDX-License-Identifier: Apache-2.0
// The real core beside the plain switch, on seeded random traffic, configurations and states. Without options
// a bounded run; `model_test --seed=N --steps=N` goes on for longer. A difference prints the seed and the
// step.
#include <array>
#include <cstdint>
#include <iostream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/model/random_site.h"
#include "tests/model/random_traffic.h"
#include "tests/model/twins.h"

namespace headgate::testing {

struct Run {
  std::uint64_t seed = 1;
  std::uint32_t steps = 2000;
  Twins::Options options = {};
  /// Routes go missing, ports take smaller packets, the table fills: then one frame at a time, since what the
  /// core chose for a frame that it dropped can be asked for only right after it.
  bool narrow = false;
  /// Servers have limits and stand-ins; one frame at a time, too.
  RandomSite::Limits limits = RandomSite::Limits::none;
};

/// Overrides of the command line; 0: as each test has them.
std::uint64_t seed_asked_for = 0;
std::uint32_t steps_asked_for = 0;

namespace {

class Story {
 public:
  explicit Story(const Run& run) : run_(run), dice_(run.seed), site_(dice_, run.limits), twins_(run.options) {
    twins_.set_routes(site_.routes(dice_));
    twins_.set_addresses(RandomSite::addresses(dice_));
    twins_.publish(site_.generation());
    for (int round = 0; round < 8; ++round) twins_.set_states(site_.states(dice_));
    for (std::uint32_t octet = 1; octet < 255; ++octet) {
      for (const unsigned port : {1u, 2u, 3u}) {
        twins_.resolve(port, RandomSite::address(port, octet, false));
        twins_.resolve(port, RandomSite::address(port, octet, true));
      }
    }
  }

  /// Empty when nothing differed, else the difference and where.
  std::string tell() {
    for (std::uint32_t step = 0; step < run_.steps; ++step) {
      this->step();
      if (step % 50 == 0) twins_.compare_counts();
      if (!twins_.difference().empty())
        return "seed " + std::to_string(run_.seed) + " step " + std::to_string(step) + ": " +
               twins_.difference();
    }
    return ends_empty();
  }
  [[nodiscard]] const plain::PlainSwitch& plain() const { return twins_.plain(); }

 private:
  void step() {
    const std::uint32_t kind = dice_.below(100);
    if (kind < 75) return burst();
    if (kind < 85) return twins_.wait(dice_.percent(70) ? dice_.below(16) : dice_.below(400));
    if (kind < 89) return twins_.sweep();
    if (kind < 92) return twins_.set_states(site_.states(dice_));
    if (kind < 94) return change_neighbour();
    if (kind < 96) return change_network();
    if (kind < 97 && dice_.percent(20)) return twins_.clear_stats();
    if (kind < 99) {
      site_.change(dice_);
      return twins_.publish(site_.generation());
    }
  }

  void burst() {
    const std::uint32_t size = dice_.between(1, core::kBurst);
    std::vector<Wire> frames;
    for (std::uint32_t i = 0; i < size; ++i) frames.push_back(traffic_.frame());
    if (!run_.narrow && run_.limits == RandomSite::Limits::none) return twins_.pass(frames);
    for (const Wire& frame : frames) twins_.pass({frame});
  }

  void change_neighbour() {
    const unsigned port = dice_.between(1, 3);
    static constexpr std::array kHosts = {10u, 11u, 12u, 13u, 14u, 15u, 16u, 253u, 254u};
    const Ip who = RandomSite::address(port, dice_.one_of(kHosts), dice_.percent(25));
    dice_.percent(60) ? twins_.resolve(port, who) : twins_.forget(port, who);
  }

  void change_network() {
    auto routes = site_.routes(dice_);
    if (run_.narrow && dice_.percent(40)) {
      std::erase_if(routes, [](const core::Route& route) { return route.length == 0; });
      routes.erase(routes.begin() + dice_.below(routes.size()));
    }
    twins_.set_routes(routes);
    if (dice_.percent(30)) twins_.set_addresses(RandomSite::addresses(dice_));
    static constexpr std::array<std::uint16_t, 4> kMtus = {1500, 1500, 600, 300};
    if (run_.narrow) twins_.set_mtu(dice_.between(1, 3), dice_.one_of(kMtus));
  }

  // Whatever happened, nothing is left when all time is over.
  std::string ends_empty() {
    twins_.wait(16 * 1000);
    twins_.sweep();
    twins_.compare_counts();
    if (twins_.sessions() != 0) return "sessions are left for ever";
    for (const auto& [key, tally] : twins_.plain().tallies()) {
      if (tally.current != 0) return "a count of current sessions is left without any session";
    }
    if (twins_.difference().empty()) return "";
    return "seed " + std::to_string(run_.seed) + " at the end: " + twins_.difference();
  }

  Run run_;
  Dice dice_;
  RandomSite site_;
  Twins twins_;
  RandomTraffic traffic_{dice_, site_, twins_.plain()};
};

// Several seeds, unless one is asked for.
void tell(Run run) {
  const int rounds = seed_asked_for != 0 ? 1 : 4;
  if (seed_asked_for != 0) run.seed = seed_asked_for;
  if (steps_asked_for != 0) run.steps = steps_asked_for;
  for (int round = 0; round < rounds; ++round, ++run.seed) {
    Story story(run);
    const std::string difference = story.tell();
    EXPECT_EQ(difference, "");
    if (!difference.empty()) return;
  }
}

TEST(Model, OneWorkerDoesWhatThePlainSwitchDoes) {
  tell({.seed = 100});
}

TEST(Model, ThreeWorkersTogetherDoWhatThePlainSwitchDoes) {
  tell({.seed = 200, .options = {.workers = 3}});
}

TEST(Model, NarrowRoutesPacketsAndTablesMakeNoDifference) {
  tell({.seed = 300, .options = {.sessions = 40}, .narrow = true});
}

TEST(Model, LimitsAndStandInsAreKeptByTwoWorkersTogether) {
  tell({.seed = 500, .options = {.workers = 2}, .limits = RandomSite::Limits::some});
}

// A run that never comes to a rule proves nothing about it. One is for a table that no random traffic fills;
// forward_test shows it.
TEST(Model, TheTrafficMeetsEveryFate) {
  using core::Fate;
  std::array<std::uint64_t, core::kFates> met{};
  for (std::uint64_t seed = 400; seed < 408; ++seed) {
    const bool narrow = seed % 2 == 0;
    Story story(
        {.seed = seed, .steps = 2000, .options = {.sessions = narrow ? 40u : 4096u}, .narrow = narrow});
    ASSERT_EQ(story.tell(), "");
    for (std::size_t fate = 0; fate < met.size(); ++fate)
      met[fate] += story.plain().fate(static_cast<core::Fate>(fate));
  }
  for (std::size_t index = 0; index < met.size(); ++index) {
    const auto fate = static_cast<Fate>(index);
    EXPECT_EQ(met[index] == 0, fate == Fate::drop_no_neighbour) << core::name(fate);
  }
}

}  // namespace
}  // namespace headgate::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto value = [&](std::string_view option) {
      return argument.rfind(option, 0) == 0 ? std::stoull(argument.substr(option.size())) : 0;
    };
    const auto seed = value("--seed="), steps = value("--steps=");
    if (seed == 0 && steps == 0) {
      std::cerr << "model_test takes --seed=N and --steps=N, both from 1 on, not '" << argument << "'\n";
      return 2;
    }
    if (seed != 0) headgate::testing::seed_asked_for = seed;
    if (steps != 0) headgate::testing::steps_asked_for = static_cast<std::uint32_t>(steps);
  }
  return RUN_ALL_TESTS();
}
