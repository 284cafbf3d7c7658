// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <vector>

#include "dataplane/core/fate.h"
#include "model/tick.h"
#include "tests/model/plain_packet.h"

namespace headgate::testing::plain {

/// The datagrams that come in fragments (docs/adr/0020). Without the bounds of memory, which the traffic must
/// not reach.
class Fragments {
 public:
  /// One of three: it is refused, it waits for the datagram's first fragment, or its flow is known.
  struct Answer {
    std::optional<core::Fate> refusal;
    std::uint64_t waits_for = 0;  ///< a number that its datagram alone has
    std::uint32_t ports = 0;      ///< source << 16 | destination
  };
  [[nodiscard]] Answer take(const View& view, Tick now);
  /// A fragment that waited for so numbered a datagram.
  [[nodiscard]] Answer take_again(const View& view, std::uint64_t waited_for);
  /// Forgets every datagram whose time is over.
  void expire(Tick now);

  [[nodiscard]] std::uint64_t current() const { return datagrams_.size(); }
  /// Ever remembered.
  [[nodiscard]] std::uint64_t total() const { return total_; }
  /// Fragments that wait although what they waited for has come.
  [[nodiscard]] bool keeps_any_waiting() const;

 private:
  struct Piece {
    std::uint32_t begin = 0, end = 0;
    bool more = false;
    std::uint32_t ports = 0;  ///< of the first one
    bool operator==(const Piece&) const = default;
  };
  struct Datagram {
    std::uint64_t number = 0;
    View key;
    Tick since;
    std::vector<Piece> pieces;
    std::optional<std::uint32_t> ports;
    bool refused = false;
    std::size_t waiting = 0;
  };
  using Found = std::list<Datagram>::iterator;
  [[nodiscard]] Found find(const View& view);
  [[nodiscard]] static bool contradicts(const Datagram& datagram, const Piece& piece);
  void forget_if_complete(Found datagram);

  std::list<Datagram> datagrams_;
  std::uint64_t total_ = 0;
};

}  // namespace headgate::testing::plain
