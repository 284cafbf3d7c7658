// SPDX-License-Identifier: Apache-2.0
// Fragments in any order, number and shape, beside a plain map of datagrams: the table stays within its
// bounds and remembers what it should, a datagram's fragments all get the ports of its first one, no two that
// are taken overlap, and whoever is parked is set free or told in time.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "dataplane/core/fragments.h"

namespace headgate::core {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

// Whether both may be of one datagram: they share no octet, and nothing is behind the last one.
bool apart(const Fragment& a, const Fragment& b) {
  const bool a_first = a.offset + a.length <= b.offset && a.more;
  const bool b_first = b.offset + b.length <= a.offset && b.more;
  return a_first || b_first;
}

/// What is known of a datagram for as long as the table remembers it.
struct Datagram {
  std::uint64_t number = 0;  ///< in the order of their first fragments
  Tick since;
  std::vector<Fragment> taken;  ///< passed, or remembered as waiting
  std::size_t waiting = 0;
  std::optional<std::uint32_t> ports;  ///< of all that passed
  bool refused = false;

  void take(const Fragment& fragment) {
    for (const Fragment& other : taken) require(apart(fragment, other));
    taken.push_back(fragment);
  }
  void pass(const Fragment& fragment, std::uint32_t of) {
    require(!refused);
    if (fragment.offset == 0) ports = fragment.ports;
    require(ports == of);
  }
  [[nodiscard]] bool has(const Fragment& fragment) const {
    return std::any_of(taken.begin(), taken.end(), [&](const Fragment& other) {
      return other.offset == fragment.offset && other.length == fragment.length;
    });
  }
  [[nodiscard]] bool complete() const {
    std::size_t octets = 0, end = 0;
    for (const Fragment& fragment : taken) {
      octets += fragment.length;
      if (!fragment.more) end = std::size_t{fragment.offset} + fragment.length;
    }
    return ports && end != 0 && octets == end && waiting == 0 && !refused;
  }
};

struct Parked {
  Fragment fragment;
  std::uint32_t given = 0;   ///< the table's word for its datagram
  std::uint64_t number = 0;  ///< ours
};

/// The table, the caller's part of the bargain, and what must hold.
class Bed {
 public:
  void take(const Fragment& fragment) {
    const auto answer = table_.take(fragment, 0, now_);
    using enum Fragments::Verdict;
    if (answer.verdict == bad || answer.verdict == tiny) return check();
    Datagram& datagram = remembered(fragment);
    const std::uint64_t number = datagram.number;
    require(datagram.refused == (answer.verdict == refuse));
    note(datagram, fragment, answer);
    if (answer.release) release([&](const Parked& one) { return one.given == answer.datagram; });
    // Whose flow is known, or refused, does not wait.
    const bool settled = answer.verdict == pass || answer.verdict == overlap;
    require(!settled || std::none_of(parked_.begin(), parked_.end(),
                                     [&](const Parked& one) { return one.number == number; }));
    forget_if_complete(fragment);
    check();
  }
  void wait(std::uint32_t ticks) {
    now_ = now_.plus(ticks);
    if (ticks >= Fragments::kPatience) release([](const Parked&) { return true; });
    table_.expire(now_, Fragments::kDatagrams);
    while (!by_age_.empty() && over(by_age_.begin()->second)) forget(by_age_.begin()->second);
    check();
  }
  void finish() {
    wait(Fragments::kLife + 1);
    require(table_.current() == 0);
    require(table_.parked() == 0);
  }

 private:
  using Key = std::pair<std::uint32_t, std::uint8_t>;
  [[nodiscard]] static Key key_of(const Fragment& fragment) { return {fragment.id, fragment.protocol}; }

  // A new datagram pushes the oldest one out of a full table.
  Datagram& remembered(const Fragment& fragment) {
    const auto known = datagrams_.find(key_of(fragment));
    if (known != datagrams_.end()) return known->second;
    if (datagrams_.size() == Fragments::kDatagrams) forget(by_age_.begin()->second);
    Datagram& datagram = datagrams_[key_of(fragment)];
    datagram.number = ++number_;
    datagram.since = now_;
    by_age_.emplace(datagram.number, key_of(fragment));
    return datagram;
  }
  [[nodiscard]] bool over(const Key& key) const {
    return now_.since(datagrams_.at(key).since) > static_cast<std::int32_t>(Fragments::kLife);
  }
  void forget(Key key) {
    by_age_.erase(datagrams_.at(key).number);
    datagrams_.erase(key);
  }
  void note(Datagram& datagram, const Fragment& fragment, const Fragments::Answer& answer) {
    using enum Fragments::Verdict;
    if (answer.verdict == overlap) datagram.refused = true;
    if (answer.verdict == duplicate) require(datagram.has(fragment));
    if (answer.verdict == pass || answer.verdict == park || answer.verdict == early) datagram.take(fragment);
    if (answer.verdict == pass) datagram.pass(fragment, answer.ports);
    if (answer.verdict != park) return;
    require(!datagram.ports);
    ++datagram.waiting;
    parked_.push_back({fragment, answer.datagram, datagram.number});
  }
  template <class Meant>
  void release(const Meant& meant) {
    std::vector<Parked> free;
    std::copy_if(parked_.begin(), parked_.end(), std::back_inserter(free), meant);
    std::erase_if(parked_, meant);
    for (const Parked& one : free) give_again(one);
  }
  void give_again(const Parked& one) {
    const auto answer = table_.take(one.fragment, one.given, now_);
    require(!answer.release);
    const auto known = datagrams_.find(key_of(one.fragment));
    if (known == datagrams_.end() || known->second.number != one.number)
      return require(answer.verdict == Fragments::Verdict::early);
    Datagram& datagram = known->second;
    --datagram.waiting;
    const auto expected = datagram.refused ? Fragments::Verdict::refuse
                          : datagram.ports ? Fragments::Verdict::pass
                                           : Fragments::Verdict::early;
    require(answer.verdict == expected);
    if (answer.verdict == Fragments::Verdict::pass) datagram.pass(one.fragment, answer.ports);
    forget_if_complete(one.fragment);
  }
  void forget_if_complete(const Fragment& fragment) {
    const auto known = datagrams_.find(key_of(fragment));
    if (known != datagrams_.end() && known->second.complete()) forget(known->first);
  }
  void check() const {
    require(table_.current() <= Fragments::kDatagrams);
    require(table_.current() == datagrams_.size());
    require(table_.parked() <= Fragments::kMostParked);
    require(table_.parked() == parked_.size());
    require(totals_.datagrams.get() == number_);
  }

  Fragments::Totals totals_;
  Fragments table_{1, totals_};
  Tick now_{0xffffff80};
  std::map<Key, Datagram> datagrams_;
  std::map<std::uint64_t, Key> by_age_;
  std::vector<Parked> parked_;
  std::uint64_t number_ = 0;
};

Fragment fragment(const std::uint8_t* input) {
  Fragment out;
  out.source = Ipv4{0x0a0a010a};
  out.destination = Ipv4{0x0a0a0164};
  out.id = input[1] % 16u;
  out.protocol = (input[0] & 2) != 0 ? 6 : 17;
  out.more = (input[0] & 4) != 0;
  out.offset = static_cast<std::uint16_t>(input[2] % 32 * ((input[0] & 8) != 0 ? 8 : 2048));
  out.length = static_cast<std::uint16_t>(input[3] * ((input[0] & 16) != 0 ? 8 : 1));
  out.header = 20;
  if (out.offset == 0) out.ports = (out.id + 1) << 1 | (input[0] >> 5 & 1);
  return out;
}

// 256 new datagrams at once.
void flood(Bed& bed, std::uint32_t number) {
  for (std::uint32_t i = 0; i < 256; ++i) {
    Fragment one{.source = Ipv4{0x0a0a010a}, .destination = Ipv4{0x0a0a0164}, .protocol = 17, .more = true};
    one.id = 1000 + number * 256 + i;
    one.offset = 1480, one.length = 1480, one.header = 20;
    bed.take(one);
  }
}

}  // namespace
}  // namespace headgate::core

// Four bytes make a step.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headgate::core;
  static Bed bed;  // finish() leaves it empty
  std::uint32_t floods = 0;
  for (; size >= 4; data += 4, size -= 4) {
    if (data[0] == 0) {
      bed.wait(data[1]);
    } else if (data[0] == 1 && floods < 20) {
      flood(bed, floods++);
    } else {
      bed.take(fragment(data));
    }
  }
  bed.finish();
  return 0;
}
