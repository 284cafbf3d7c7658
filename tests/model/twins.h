// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/core/director.h"
#include "dataplane/core/switch.h"
#include "tests/model/plain_switch.h"
#include "tests/packet/bench.h"

namespace headgate::testing {

/// The real switch and the plain one, told and given the same. What they do is compared at every step.
class Twins {
 public:
  struct Options {
    unsigned workers = 1;
    std::size_t sessions = 4096;  ///< of each worker
  };
  explicit Twins(const Options& options);

  void publish(const forwarding::Generation& generation);
  void set_states(const forwarding::States& states);
  void set_routes(const std::vector<core::Route>& routes);
  void set_mtu(unsigned port, std::uint16_t mtu);
  /// The switch's own addresses, by port and whether they are of IPv6.
  void set_addresses(const std::map<std::pair<unsigned, bool>, Ip>& addresses);
  void resolve(unsigned port, const Ip& neighbour);
  void forget(unsigned port, const Ip& neighbour);

  /// At most kBurst frames at once.
  void pass(const std::vector<Wire>& frames);
  void wait(std::uint32_t ticks) { now_ = now_.plus(ticks); }
  void sweep();
  void clear_stats();
  /// Every counter that there is.
  void compare_counts();

  /// The first difference, told in words; empty while there is none.
  [[nodiscard]] const std::string& difference() const { return difference_; }
  [[nodiscard]] const plain::PlainSwitch& plain() const { return plain_; }
  [[nodiscard]] std::uint64_t sessions() const;

 private:
  struct Buffer;
  void settle();
  void pass_worker(unsigned worker, const std::vector<Wire>& frames);
  void compare(unsigned worker, const Wire& in, const core::Frame& out, std::vector<plain::Sent>& own);
  void compare_rows(const forwarding::Stats& stats);
  void compare_failures();
  void differ(std::string what);
  void expect(std::string_view what, std::uint64_t real, std::uint64_t plain);
  [[nodiscard]] bool remembers(const plain::Session& session) const;

  core::Shared shared_;
  core::Director director_{shared_};
  std::vector<TableMemory> memories_;
  std::vector<std::unique_ptr<core::Switch>> workers_;
  std::unique_ptr<const core::Generation> generation_;
  plain::PlainSwitch plain_;
  Tick now_{1000};
  std::string difference_;
};

}  // namespace headgate::testing
