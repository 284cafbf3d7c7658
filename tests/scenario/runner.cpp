// SPDX-License-Identifier: Apache-2.0
// Runs one scenario, a text file. A line is one of
//   # ...                     a remark
//   /c/...                    configuration, as an administrator types it; `apply` publishes it
//   state real 1:8080 closed  what health says of a service of a real server: open, last, draining,
//                              closed
//   > 1 10.10.1.10:40000 10.10.1.100:80 S seq 1 ack 0 data x     a segment that comes in at port 1
//   < 2 ...                   the next segment that the switch sent, in the same words
//   = counter value           a counter of the switch: a fate, sessions, terminated, current N, total N
//   wait 30s                  time passes and the table is swept
// Every segment that the switch sent has to be told before the next one comes in.
#include <deque>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "controlplane/config/compile.h"
#include "model/config_text.h"
#include "tests/packet/bench.h"

namespace headgate::testing {
namespace {

std::uint8_t flags_of(const std::string& letters) {
  std::uint8_t flags = 0;
  static constexpr std::string_view kLetters = "FSRPAU";
  for (const char letter : letters) {
    const std::size_t bit = kLetters.find(letter);
    if (bit == std::string_view::npos) {
      ADD_FAILURE() << "unknown flag " << letter;
    } else {
      flags = static_cast<std::uint8_t>(flags | 1u << bit);
    }
  }
  return flags;
}

struct Endpoint {
  Ip host;
  std::uint16_t port = 0;
};

Endpoint endpoint(const std::string& text) {
  const auto colon = text.rfind(':');
  const bool bracketed = text.front() == '[';  // an IPv6 address
  const std::string name = bracketed ? text.substr(1, colon - 2) : text.substr(0, colon);
  return {host(name), static_cast<std::uint16_t>(std::stoul(text.substr(colon + 1)))};
}

/// A segment as a line tells it: source, destination, flags, then words with values.
Packet segment(std::istream& in) {
  std::string source, destination, flags, word, value;
  in >> source >> destination >> flags;
  const Endpoint from = endpoint(source), to = endpoint(destination);
  Packet packet = ip(from.host, to.host).tcp(from.port, to.port, flags_of(flags));
  while (in >> word >> value) {
    if (word == "seq")
      packet.sequence = static_cast<std::uint32_t>(std::stoul(value));
    else if (word == "ack")
      packet.acknowledgement = static_cast<std::uint32_t>(std::stoul(value));
    else if (word == "data")
      packet.payload = value;
    else
      ADD_FAILURE() << "unknown word: " << word;
  }
  return packet;
}

std::string told(const Packet& packet) {
  std::string out = describe(packet);
  return packet.payload.empty() ? out : out + " \"" + packet.payload + "\"";
}

class Scenario {
 public:
  void line(const std::string& text) {
    std::istringstream in(text);
    std::string verb;
    if (!(in >> verb) || verb == "#") return;
    if (verb[0] == '/') return configure(text);
    if (verb == "apply") return apply();
    if (verb == "state") return state(in);
    if (verb == ">") return arrive(in);
    if (verb == "<") return expect(in);
    if (verb == "=") return counter(in);
    if (verb == "wait") return wait(in);
    ADD_FAILURE() << "unknown line: " << text;
  }
  void finish() { nothing_left(); }

 private:
  void configure(const std::string& text) {
    const Status loaded = text::load(text, config_);
    EXPECT_TRUE(loaded.ok()) << loaded.error().message;
  }

  void apply() {
    forwarding::Generation generation = config::compile(config_).generation;
    generation.set_number(++number_);
    const Status published = bench_.director.publish(generation);
    EXPECT_TRUE(published.ok()) << published.error().message;
    bench_.generation = bench_.director.build();
  }

  void state(std::istream& in) {
    std::string word, which, admission;
    in >> word >> which >> admission;
    forwarding::States states;
    const auto colon = which.find(':');
    for (const auto& [key, target] : config::compile(config_).targets) {
      if (key.real != std::stoul(which) || key.port != std::stoul(which.substr(colon + 1))) continue;
      auto& changed = *states.add_target();
      *changed.mutable_target() = config::to_message(key);
      changed.set_admission(admission == "open"       ? forwarding::OPEN
                            : admission == "last"     ? forwarding::LAST
                            : admission == "draining" ? forwarding::DRAINING
                                                      : forwarding::CLOSED);
    }
    EXPECT_GT(states.target_size(), 0) << "no such service of a real server: " << which;
    bench_.director.set_states(states);
    bench_.generation = bench_.director.build();
  }

  void arrive(std::istream& in) {
    nothing_left();
    unsigned port = 0;
    in >> port;
    for (const Wire& wire : bench_.pass(segment(in).in(port))) sent_.push_back(wire);
  }

  void expect(std::istream& in) {
    unsigned port = 0;
    in >> port;
    Packet expected = segment(in);
    ASSERT_FALSE(sent_.empty()) << "the switch sent nothing, not " << told(expected);
    const auto actual = decode(sent_.front().bytes);
    const unsigned actual_port = sent_.front().port;
    sent_.pop_front();
    ASSERT_TRUE(actual.has_value()) << "the switch sent no valid segment";
    expected.time_to_live =
        actual->time_to_live;  // not told in scenarios; the packet tests compare every byte
    EXPECT_EQ(told(*actual), told(expected));
    EXPECT_EQ(actual_port, port);
  }

  void counter(std::istream& in) {
    std::string name;
    std::uint32_t real = 0;
    in >> name;
    if (name == "current" || name == "total") in >> real;
    std::uint64_t value = 0;
    in >> value;
    bench_.worker().sweep(bench_.now, 0);
    EXPECT_EQ(read(name, real), value) << name;
  }

  std::uint64_t read(const std::string& name, std::uint32_t real) {
    if (name == "sessions") return bench_.sessions();
    if (name == "terminated") return bench_.worker().terminated();
    if (name == "current") return bench_.current(real);
    if (name == "total") return bench_.total(real);
    for (std::size_t fate = 0; fate < core::kFates; ++fate) {
      if (core::name(static_cast<core::Fate>(fate)) == name)
        return bench_.worker().fate(static_cast<core::Fate>(fate));
    }
    ADD_FAILURE() << "unknown counter: " << name;
    return 0;
  }

  void wait(std::istream& in) {
    std::uint32_t seconds = 0;
    in >> seconds;
    bench_.wait(seconds);
    bench_.sweep();
  }

  void nothing_left() {
    for (const Wire& wire : sent_) ADD_FAILURE() << "the switch also sent " << wire;
    sent_.clear();
  }

  config::Config config_;
  std::uint64_t number_ = 0;
  Bench bench_{Site()};
  std::deque<Wire> sent_;
};

}  // namespace
}  // namespace headgate::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (argc < 2) {
    std::cerr << "usage: scenario FILE...\n";
    return 2;
  }
  for (int i = 1; i < argc; ++i) {
    const std::string path = argv[i];
    ::testing::RegisterTest("Scenario", path.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [path]() -> ::testing::Test* {
                              struct Run : ::testing::Test {
                                std::string path;
                                void TestBody() override {
                                  std::ifstream in(path);
                                  ASSERT_TRUE(in) << "cannot be read: " << path;
                                  headgate::testing::Scenario scenario;
                                  std::string line;
                                  for (int number = 1; std::getline(in, line); ++number) {
                                    SCOPED_TRACE(path + ":" + std::to_string(number) + ": " + line);
                                    scenario.line(line);
                                  }
                                  scenario.finish();
                                }
                              };
                              auto run = std::make_unique<Run>();
                              run->path = path;
                              return run.release();
                            });
  }
  return RUN_ALL_TESTS();
}
