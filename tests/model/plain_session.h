// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "model/forwarding.pb.h"
#include "model/ip.h"
#include "model/tick.h"
#include "tests/model/plain_packet.h"

// What the plain switch remembers: bindings, connections, sessions.
namespace headgate::testing::plain {

/// (real, port, protocol, check)
using TargetKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::string>;

/// What makes a real server of a service another one than before.
struct BindingKey {
  std::uint32_t virt = 0, vport = 0, protocol = 0, group = 0, real = 0, rport = 0;
  Ip vip;
  Ip rip;
  auto operator<=>(const BindingKey&) const = default;
};

/// A real server of a service.
struct Binding {
  BindingKey key;
  TargetKey target;
  forwarding::Admission admission = forwarding::CLOSED;
  std::uint32_t weight = 1;
  std::uint32_t maxcon = 0;  ///< 0: any number
  bool resting = false;      ///< in its group it takes no new session
  std::uint32_t idle_ticks = 0;
  std::uint32_t persist_seconds = 0;
  bool persistent = false;       ///< while it drains, clients that are bound to it may open sessions
  bool fast_udp = false;         ///< udpage
  bool reset_on_expiry = false;  ///< clsrst
  bool drop_fragments = false;   ///< frag dis
  bool placed = false;           ///< in the service that is being taken
  bool live = true;              ///< in the present configuration
  std::uint64_t packets = 0, octets = 0;
  std::uint32_t refused = 0, unanswered = 0;  ///< not told yet

  [[nodiscard]] bool degraded() const { return admission == forwarding::LAST; }
  /// Takes new sessions, be it when nobody else does.
  [[nodiscard]] bool opens() const { return admission == forwarding::OPEN || degraded(); }
  [[nodiscard]] std::uint16_t vport() const { return static_cast<std::uint16_t>(key.vport); }
  [[nodiscard]] std::uint16_t rport() const { return static_cast<std::uint16_t>(key.rport); }
};

/// Which clients persistence takes for one.
struct ClientKey {
  Ip client;  ///< its first bits
  Ip vip;
  std::uint32_t group = 0;  ///< of a service that has not the server that 0 stands for
  auto operator<=>(const ClientKey&) const = default;
};
/// The server of a client, while it has sessions and for a time after.
struct BoundClient {
  std::uint32_t real = 0;
  std::uint32_t users = 0;
  Tick last;
  std::uint32_t seconds = 0;
  std::set<std::uint32_t> possible =
      {};  ///< `seconds` if others of the sessions that one sweep ended were the last

  [[nodiscard]] bool over(Tick now) const {
    return users == 0 && now.since(last) > static_cast<std::int32_t>(seconds * Tick::kPerSecond);
  }
};

enum class Life : std::uint8_t { syn, open, half_closed, closing, closed };

/// One TCP connection, by what passed in both directions (RFC 9293, 3.3 and 3.6).
class Connection {
 public:
  /// Takes note of a segment that was forwarded.
  void pass(bool from_client, const View& segment);
  /// Whether a reset may be its sender's: in the window, or the answer to a SYN that it acknowledges.
  [[nodiscard]] bool may_reset(bool from_client, const View& segment) const;
  [[nodiscard]] Life life() const;
  [[nodiscard]] bool answered() const { return answered_; }
  void answer() { answered_ = open_ = true; }  ///< of UDP: the server has sent something

  struct End {
    std::uint32_t next = 0;   ///< sequence number after the highest that was seen
    std::uint32_t acked = 0;  ///< how much the other end has acknowledged
    bool fin = false;
    bool fin_acked = false;
  };
  [[nodiscard]] const End& client() const { return client_; }
  [[nodiscard]] const End& real() const { return real_; }
  /// The client's last SYN for another connection in this one's place. The server decides about it.
  [[nodiscard]] const std::optional<View>& asked() const { return asked_; }

 private:
  [[nodiscard]] bool stands() const;
  [[nodiscard]] bool takes_the_new_one(const View& segment) const;
  void see(bool from_client, const View& segment);
  End client_;
  End real_;
  bool answered_ = false;
  bool open_ = false;
  bool reset_ = false;
  std::optional<View> asked_;
};

/// Where packets leave, and to whom.
struct Way {
  unsigned port = 0;  ///< 1, 2, ...
  Ip neighbour;
};

struct Session {
  Ip client;
  std::uint16_t client_port = 0;
  std::shared_ptr<Binding> binding;
  Tick seen;
  Tick began;
  std::uint64_t packets_client = 0, packets_real = 0, octets_client = 0, octets_real = 0;
  Connection connection;
  bool terminated = false;
  bool counted = true;    ///< among the current sessions of its server
  bool half_open = true;  ///< among the half-open ones: of TCP
  bool told_client = false;
  bool told_real = false;
  std::optional<ClientKey> bound;  ///< the entry of persistence that it holds
  Way to_client;
  Way to_real;

  [[nodiscard]] std::uint8_t protocol() const { return static_cast<std::uint8_t>(binding->key.protocol); }
  [[nodiscard]] bool tcp() const { return protocol() == kTcp; }
  [[nodiscard]] bool closed() const { return connection.life() == Life::closed; }
  /// Nothing of it is left to protect: another session may have its ports.
  [[nodiscard]] bool over() const { return terminated || closed() || connection.life() == Life::closing; }
};

}  // namespace headgate::testing::plain
