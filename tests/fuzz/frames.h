// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "dataplane/core/flow_key.h"
#include "dataplane/core/packet.h"
#include "model/ip.h"

/// Frames as an input of a fuzzer says. Nothing here allocates, since an input has many of them.
namespace headgate::fuzz {

inline void require(bool holds) {
  if (!holds) std::abort();
}

/// Octets of a packet; those that resize() adds are zeros.
class Bytes {
 public:
  Bytes() {}  // NOLINT: the room stays as it is
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] const std::uint8_t* data() const { return room_.data(); }
  [[nodiscard]] std::span<const std::uint8_t> all() const { return {room_.data(), size_}; }
  [[nodiscard]] std::uint8_t& operator[](std::size_t at) {
    require(at < size_);
    return room_[at];
  }
  void resize(std::size_t size) {
    if (size > size_) std::memset(grow(size - size_), 0, size - size_);
    size_ = size;
  }
  void add(std::span<const std::uint8_t> octets) {
    if (!octets.empty()) std::memcpy(grow(octets.size()), octets.data(), octets.size());
    size_ += octets.size();
  }
  void add8(unsigned value) { *grow(1) = static_cast<std::uint8_t>(value), size_ += 1; }
  void add16(unsigned value) { core::store16(grow(2), static_cast<std::uint16_t>(value)), size_ += 2; }
  void add32(std::uint32_t value) { core::store32(grow(4), value), size_ += 4; }
  void add(const Ip& ip) { add(std::span(ip.octets).subspan(ip.is_v4() ? 12 : 0)); }

 private:
  std::uint8_t* grow(std::size_t count) {
    require(size_ + count <= room_.size());
    return room_.data() + size_;
  }

  std::array<std::uint8_t, 1280> room_;
  std::size_t size_ = 0;
};

/// What an input says, byte by byte; zeros when it is at its end.
class Tape {
 public:
  Tape(const std::uint8_t* data, std::size_t size) : input_(data, size) {}
  [[nodiscard]] bool ended() const { return input_.empty(); }
  std::uint8_t byte() {
    const auto next = take(1);
    return next.empty() ? std::uint8_t{0} : next[0];
  }
  std::span<const std::uint8_t> take(std::size_t count) {
    const auto out = input_.first(std::min(count, input_.size()));
    input_ = input_.subspan(out.size());
    return out;
  }

 private:
  std::span<const std::uint8_t> input_;
};

constexpr L4Port kVport = 80, kRport = 8080;
constexpr unsigned kReals = 2;

[[nodiscard]] Ip address(bool v6, std::uint8_t network, std::uint8_t host);
[[nodiscard]] Ip client_of(bool v6, unsigned n);
[[nodiscard]] Ip vip_of(bool v6);
[[nodiscard]] Ip real_of(bool v6, unsigned n);

// Each a frame: of the first octets as they are, of a whole packet, a fragment, an ICMP error.
[[nodiscard]] Bytes raw(Tape& tape);
[[nodiscard]] Bytes whole(Tape& tape, Protocol protocol, std::uint8_t ttl);
[[nodiscard]] Bytes fragment(Tape& tape);
[[nodiscard]] Bytes icmp_error(Tape& tape);

}  // namespace headgate::fuzz
