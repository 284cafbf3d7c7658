// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <google/protobuf/message.h>

#include "dataplane/core/director.h"
#include "dataplane/core/persistence.h"
#include "dataplane/core/switch.h"
#include "tests/packet/bench.h"

// A process that ends and one that goes on from what it left.
namespace headgate::testing {

constexpr std::size_t kSessions = 256;
constexpr Tick kNow{1000};

/// What outlasts a process: memory that parent and child share.
class Memory {
 public:
  Memory();
  Memory(const Memory& other);
  Memory& operator=(const Memory&) = delete;
  ~Memory();
  /// The sessions of another; all else stays.
  void take_sessions(const Memory& other) const;
  /// Those parts that a core with few services ever writes to: a whole memory is too much to compare often.
  [[nodiscard]] std::vector<std::span<std::byte>> live() const;

  [[nodiscard]] std::span<std::byte> shared() const;
  [[nodiscard]] std::span<std::byte> counters() const;
  [[nodiscard]] std::span<std::byte> table() const;
  /// Steps that were done whole.
  [[nodiscard]] std::uint64_t done() const;
  void set_done(std::uint64_t steps) const;

 private:
  std::byte* at_;
};

/// What the state folder has for the next process.
struct Stored {
  forwarding::Generation generation;
  forwarding::States states;
  std::optional<memory::Slots> slots;  ///< none: there was no process before
};
/// A first start, with all targets open.
[[nodiscard]] Stored all_open(const Site& site);

/// The core on such memory, as a dataplane has it.
struct Core {
  /// Clients that persistence remembers at most.
  static constexpr std::size_t kBound = 4;

  core::Shared shared;
  core::Persistence persistence{kBound, 5};
  core::Director director{shared};
  core::Switch worker;
  std::unique_ptr<const core::Generation> generation;
  Tick now;

  Core(const Memory& memory, const Stored& stored, Tick now = kNow);

  void pass(const Wire& wire);
  void publish(const Site& site);
  void admit(const forwarding::Target& target, forwarding::Admission admission);
  [[nodiscard]] Stored store() const;
};

/// That no number in `after`, rows included, is less than in `before`, but for those that say what is now.
void expect_no_total_falls(const google::protobuf::Message& before, const google::protobuf::Message& after,
                           const std::string& where = "stats");

}  // namespace headgate::testing
