// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/core/director.h"
#include "dataplane/core/persistence.h"
#include "dataplane/core/switch.h"
#include "model/forwarding.pb.h"
#include "tests/packet/wire.h"

namespace headgate::testing {

/// The bed of all packet tests: a client network on port 1, a server network on port 2.
constexpr unsigned kClientPort = 1, kServerPort = 2;
constexpr std::string_view kClient = "10.10.1.10", kVip = "10.10.1.100";
constexpr std::string_view kServer1 = "10.10.2.11", kServer2 = "10.10.2.12", kServer3 = "10.10.2.13";

/// A configuration for the dataplane, built fluently. Real server n has the address 10.10.2.(10 + n).
class Site {
 public:
  Site();
  /// Adds a service of virtual server `virt` at 10.10.1.(99 + virt), balanced over the given real servers.
  Site& service(std::uint32_t virt, std::uint16_t vport, std::uint16_t rport,
                std::vector<std::uint32_t> reals, forwarding::Metric metric = forwarding::ROUNDROBIN);
  /// Makes the service added last one of UDP; its targets' check is "udp".
  Site& udp();
  /// Moves the service added last to IPv6: the VIP to 2001:db8:1::(99 + virt), real server n to
  /// 2001:db8:2::(10 + n).
  Site& ipv6();
  Site& weight(std::uint32_t real, std::uint32_t weight);
  Site& idle(std::uint32_t seconds);
  Site& ports(bool client_side_serves_clients, bool server_side_serves_servers);
  [[nodiscard]] const forwarding::Generation& generation() const { return generation_; }
  /// For what has no verb here.
  [[nodiscard]] forwarding::Generation& edit() { return generation_; }

 private:
  forwarding::Generation generation_;
};

/// One HTTP service, port 80 to 8080, over so many servers.
[[nodiscard]] Site web(unsigned servers, forwarding::Metric metric = forwarding::ROUNDROBIN);

using Fates = std::map<core::Fate, std::uint64_t>;

/// Zeroed memory at a cache line, as a session table wants it.
class TableMemory {
 public:
  explicit TableMemory(std::size_t sessions);
  [[nodiscard]] std::span<std::byte> bytes() const { return {memory_.get(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::size_t size_;
  std::unique_ptr<std::byte, Free> memory_;
};

/// The core with nothing but memory around it. Every neighbour is known unless a test forgets it; every frame
/// lies in a buffer of exactly its size, so that the address sanitizer sees any byte touched outside.
class Bench {
 public:
  struct Options {
    std::size_t sessions = 4096;
    unsigned workers = 1;
    bool open = true;  ///< all targets, from the start
  };
  explicit Bench(const Site& site) : Bench(site, Options{}) {}
  Bench(const Site& site, Options options);
  ~Bench();

  /// What the switch sends for these frames, in the order of the frames and then of its own packets.
  std::vector<Wire> pass(const std::vector<Wire>& frames);
  std::vector<Wire> pass(const Wire& frame) { return pass(std::vector<Wire>{frame}); }
  /// From the client's side, and from the servers' side.
  std::vector<Wire> from_client(const Packet& packet) { return pass(packet.in(kClientPort)); }
  std::vector<Wire> from_server(const Packet& packet) { return pass(packet.in(kServerPort)); }
  std::vector<Wire> from_client(const std::vector<Packet>& packets) { return pass(packets, kClientPort); }
  std::vector<Wire> from_server(const std::vector<Packet>& packets) { return pass(packets, kServerPort); }

  void publish(const Site& site);
  /// A TCP target on a port of a real server, as Site makes them.
  void admit(std::uint32_t real, forwarding::Admission admission, std::uint32_t port = 8080);
  void admit(const forwarding::Target& target, forwarding::Admission admission);
  /// Drains a server that still admits the clients that are bound to it.
  void admit_bound(std::uint32_t real);
  /// An open server whose check is answered after so long.
  void responds(std::uint32_t real, std::uint32_t microseconds);
  /// Lets the director know the time.
  void tick();
  /// The routes to both networks and beyond.
  [[nodiscard]] static std::vector<core::Route> connected();
  void routes(std::vector<core::Route> routes);
  void addresses(const core::PortAddresses& addresses);
  void wait(std::uint32_t seconds) { now = now.plus_seconds(seconds); }
  /// Looks at every session once; how many were forgotten.
  std::size_t sweep();

  /// Gives the fragments again that have waited as long as they may.
  void release_impatient();
  /// Fragments that wait for their first one.
  [[nodiscard]] std::size_t parked() const;

  /// Fates since the last call, those that did not happen left out.
  Fates fates();
  [[nodiscard]] forwarding::Stats stats() const { return director.stats(); }
  [[nodiscard]] std::uint64_t current(std::uint32_t real) const;
  [[nodiscard]] std::uint64_t total(std::uint32_t real) const;
  [[nodiscard]] std::uint64_t sessions() const;
  [[nodiscard]] std::vector<std::string> states();
  core::Switch& worker(unsigned index = 0) { return *workers[index]; }

  core::Shared shared;
  core::Persistence persistence{4096, 5};
  core::Director director{shared};
  std::vector<TableMemory> memories;
  std::vector<std::unique_ptr<core::Switch>> workers;
  std::unique_ptr<const core::Generation> generation;
  Tick now{1000};
  bool know_neighbours = true;
  std::vector<Wire> held;         ///< frames that wait for their next hop, of the last pass
  std::vector<Wire> told;         ///< resets that the last sweep made
  std::vector<Wire> punted;       ///< frames for the kernel, of the last pass
  std::vector<core::Fate> fated;  ///< of the last pass, a frame each
  std::vector<unsigned> owners;   ///< likewise: which worker

 private:
  struct Loaded;
  void take(const forwarding::TargetState& state);
  std::vector<Wire> pass(const std::vector<Packet>& packets, unsigned port);
  void learn(const Packet& packet);
  void collect(const core::Frame& frame, std::vector<Wire>& sent);
  void pass_burst(std::span<const Wire> frames, std::vector<Wire>& sent);
  void process(std::size_t worker, std::vector<Loaded> loaded, std::vector<Wire>& sent);
  void settle(std::size_t worker, std::vector<Loaded> loaded, std::span<const core::Frame> burst,
              std::vector<Wire>& sent);
  [[nodiscard]] std::size_t owner(const core::Frame& frame) const;
  [[nodiscard]] std::uint64_t fate_sum() const;
  struct Parked;
  std::vector<Parked> take_parked(std::size_t worker, std::uint32_t datagram);
  std::vector<Parked> parked_;
  std::vector<core::Route> routes_;
  Fates seen_;
};

/// One client's connection through a bench, up to the end of its handshake. Sequence numbers: the client
/// starts at 1000, the server at 5000.
struct Connection {
  Packet client;  ///< client to VIP
  Packet server;  ///< the chosen server to client

  /// Opens a connection; the test fails when no server takes it.
  static Connection open(Bench& bench, std::uint16_t client_port, std::string_view client = kClient,
                         std::string_view vip = kVip, std::uint16_t vport = 80);
  /// Only the SYN.
  static Connection begin(Bench& bench, std::uint16_t client_port, std::string_view client = kClient,
                          std::string_view vip = kVip, std::uint16_t vport = 80);
  [[nodiscard]] Packet says(std::uint8_t flags, std::string_view payload = "") const;
  [[nodiscard]] Packet answers(std::uint8_t flags, std::string_view payload = "") const;
  /// The same segment as the other end receives it.
  [[nodiscard]] Packet at_server(const Packet& sent) const;
  [[nodiscard]] Packet at_client(const Packet& sent) const;
  [[nodiscard]] std::string server_address() const { return server.source.text(); }
};

}  // namespace headgate::testing
