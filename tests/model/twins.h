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
  void wait(std::uint32_t ticks);
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
  /// A frame that is given to a worker, and what is known of it from before.
  struct Given {
    Wire wire;
    std::uint32_t ports = 0;       ///< of a fragment that another worker handed on: those of its flow
    std::uint32_t parked_for = 0;  ///< of one that waited: the datagram, as the real switch numbers them
    std::uint64_t waited_for = 0;  ///< and the plain one
    unsigned worker = 0;           ///< where it waited, and since when
    Tick since;
  };
  /// A burst that a worker has seen.
  struct Passed {
    unsigned worker = 0;
    bool alone = false;  ///< one frame
    std::size_t room = 0;
    std::vector<plain::Sent> own = {};         ///< as the plain switch has it
    std::vector<Given> handed = {};            ///< fragments for other workers
    std::vector<std::uint32_t> released = {};  ///< datagrams
  };
  [[nodiscard]] static std::vector<core::Frame> frames_of(const std::vector<Buffer>& buffers);
  [[nodiscard]] unsigned owner(const Given& given) const;
  void pass(unsigned worker, const std::vector<Given>& burst);
  void follow_up(const Passed& passed);
  void give_again(const std::vector<Given>& fragments);
  void give_up_waiting();
  void compare(const Given& in, const core::Frame& out, Passed& passed);
  void compare_rows(const forwarding::Stats& stats);
  void compare_failures();
  void compare_clients();
  void compare_sessions();
  void differ(std::string what);
  void expect(std::string_view what, std::uint64_t real, std::uint64_t plain);
  [[nodiscard]] bool remembers(const plain::Session& session) const;

  [[nodiscard]] std::map<plain::ClientKey, core::Persistence::View> clients() const;
  [[nodiscard]] std::uint64_t fragmented() const;
  [[nodiscard]] std::uint64_t waiting_in_core() const;

  core::Shared shared_;
  core::Persistence persistence_{1000, 5};
  core::Director director_{shared_};
  std::vector<TableMemory> memories_;
  std::vector<std::unique_ptr<core::Switch>> workers_;
  std::unique_ptr<const core::Generation> generation_;
  plain::PlainSwitch plain_;
  std::vector<Given> parked_;
  Tick now_{1000};
  std::string difference_;
};

}  // namespace headgate::testing
