// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/core/flow_key.h"
#include "dataplane/core/ip_header.h"
#include "dataplane/core/shared.h"
#include "model/tick.h"

namespace headgate::core {

/// One fragment of a TCP or UDP datagram.
struct Fragment {
  Ip source;
  Ip destination;
  std::uint32_t id = 0;
  std::uint8_t protocol = 0;
  bool more = false;
  std::uint16_t offset = 0;  ///< bytes
  std::uint16_t length = 0;  ///< bytes of data
  std::uint16_t header = 0;  ///< bytes in front of the data that count in the datagram's length
  std::uint32_t ports = 0;   ///< of a first one: source port << 16 | destination port
};

/// The fragment in a frame, whose header at `ip` says that it is one.
[[nodiscard]] Fragment fragment_of(const std::uint8_t* ip, const IpHeader& header) noexcept;

/// Tells to which flow fragments belong: the first one of a datagram names the ports, the others only the
/// datagram (RFC 791, 3.2; RFC 8200, 4.5). Fragments that overtook the first one wait for it.
///
/// It owns no packets: "park" asks the caller to keep a fragment and to give it again, when the datagram is
/// released or after kPatience. Bounded in datagrams, in fragments of one, and in those that wait; a flood of
/// new datagrams pushes the oldest ones out, so that the fragments of one that arrive together always pass.
/// One worker owns it; after construction nothing allocates.
class Fragments {
 public:
  static constexpr std::size_t kDatagrams = 4096;
  static constexpr std::size_t kPieces = 64;       ///< of one datagram: 64 KiB at an MTU of 1,280 are 52
  static constexpr std::size_t kMostParked = 256;  ///< in all
  static constexpr std::uint32_t kLife = 5 * Tick::kPerSecond;  ///< ticks that a datagram is remembered
  static constexpr std::uint32_t kPatience = Tick::kPerSecond;  ///< ticks that a fragment waits for the first

  enum class Verdict : std::uint8_t {
    pass,       ///< of the flow with these ports
    park,       ///< keep it: its datagram's first fragment has not come yet
    refuse,     ///< its datagram is refused
    bad,        ///< impossible size or position
    tiny,       ///< the first one does not hold the transport header, or another one lies within it
    overlap,    ///< contradicts another one; its datagram is refused from now on (RFC 5722)
    duplicate,  ///< the same as another one
    early,      ///< the first one did not come in time, or there is no room to wait for it
  };
  struct Answer {
    Verdict verdict = Verdict::refuse;
    bool release = false;        ///< fragments of this datagram are parked and may be given again now
    std::uint32_t datagram = 0;  ///< of park and release: the same for all fragments of a datagram, never 0
    std::uint32_t ports = 0;     ///< of pass
  };

  /// What has happened ever; it may lie where it outlasts the process.
  struct Totals {
    Counter datagrams;
    Counter pushed_out;  ///< by newer ones
  };

  Fragments(std::uint64_t seed, Totals& totals);

  /// What becomes of a fragment. `parked_as`: the datagram it was parked for, when it is given again; 0: new.
  [[nodiscard]] Answer take(const Fragment& fragment, std::uint32_t parked_as, Tick now) noexcept;
  /// Forgets up to `budget` datagrams whose time is over.
  void expire(Tick now, std::size_t budget) noexcept;

  /// Any thread: datagrams remembered now.
  [[nodiscard]] std::uint64_t current() const noexcept { return current_.get(); }
  /// Any thread.
  [[nodiscard]] const Totals& totals() const noexcept { return totals_; }
  /// Fragments that the caller keeps.
  [[nodiscard]] std::size_t parked() const noexcept { return parked_; }

 private:
  using Position = std::uint16_t;
  static constexpr Position kNone = 0xffff;
  struct Piece {
    std::uint16_t offset = 0;
    std::uint16_t length = 0;
    bool operator==(const Piece&) const = default;
  };
  struct Datagram {
    Ip source;
    Ip destination;
    std::uint32_t id = 0;
    std::uint32_t serial = 0;
    std::uint32_t ports = 0;
    std::uint32_t end = 0;   ///< of all data; 0: the last fragment has not come yet
    std::uint32_t have = 0;  ///< bytes of data seen
    Tick since;
    Position next = kNone;  ///< of the same bucket; of a free one: the next free one
    Position older = kNone;
    Position newer = kNone;
    std::uint8_t protocol = 0;
    std::uint8_t pieces = 0;
    std::uint8_t parked = 0;
    bool first_seen = false;
    bool refused = false;
    std::array<Piece, kPieces> piece{};
  };

  [[nodiscard]] std::size_t bucket_of(const Fragment& fragment) const noexcept;
  [[nodiscard]] Position find(const Fragment& fragment) const noexcept;
  [[nodiscard]] Position remember(const Fragment& fragment, Tick now) noexcept;
  [[nodiscard]] Position take_free() noexcept;
  void forget(Position position) noexcept;
  void link_newest(Position position) noexcept;
  void unlink_age(const Datagram& datagram) noexcept;
  void unlink_bucket(Position position) noexcept;
  [[nodiscard]] Answer take_again(const Fragment& fragment, std::uint32_t serial) noexcept;
  [[nodiscard]] Answer take_fresh(Position position, const Fragment& fragment) noexcept;
  [[nodiscard]] Answer park(Datagram& datagram) noexcept;
  [[nodiscard]] static Verdict place(Datagram& datagram, const Fragment& fragment) noexcept;
  void forget_if_complete(Position position) noexcept;

  std::vector<Datagram> datagrams_;
  std::vector<Position> buckets_;
  HashSeed seed_;
  Position free_ = 0;
  Position oldest_ = kNone;
  Position newest_ = kNone;
  std::uint32_t serial_ = 0;
  std::size_t parked_ = 0;
  Counter current_;
  Totals& totals_;
};

}  // namespace headgate::core
