// SPDX-License-Identifier: Apache-2.0
// Fragments in any order, number and shape: the table stays within its bounds, a datagram's fragments all get
// the same ports, no two that pass overlap, and whoever is parked is set free or told in time.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <vector>

#include "dataplane/core/fragments.h"

namespace headgate::core {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

struct Parked {
  Fragment fragment;
  std::uint32_t datagram;
};

/// The table, the caller's part of the bargain, and what must hold.
class Bed {
 public:
  void take(const Fragment& fragment) {
    const auto answer = table_.take(fragment, 0, now_);
    note(fragment, answer);
    if (answer.verdict == Fragments::Verdict::park) parked_.push_back({fragment, answer.datagram});
    if (answer.release) release(answer.datagram);
    check();
  }
  void wait(std::uint32_t ticks) {
    now_ = now_.plus(ticks);
    if (ticks >= Fragments::kPatience) release(0);
    table_.expire(now_, Fragments::kDatagrams);
    check();
  }
  void finish() {
    wait(Fragments::kLife + 1);
    require(table_.current() == 0);
    require(table_.parked() == 0);
  }

 private:
  // All that wait for a datagram; 0: all.
  void release(std::uint32_t datagram) {
    std::vector<Parked> free;
    std::erase_if(parked_, [&](const Parked& one) {
      const bool meant = datagram == 0 || one.datagram == datagram;
      if (meant) free.push_back(one);
      return meant;
    });
    for (const Parked& one : free) {
      const auto answer = table_.take(one.fragment, one.datagram, now_);
      require(answer.verdict != Fragments::Verdict::park);
      require(!answer.release);
      note(one.fragment, answer);
    }
  }
  // Ports are derived from the number of the datagram, so that a mix-up shows.
  static void note(const Fragment& fragment, const Fragments::Answer& answer) {
    if (answer.verdict == Fragments::Verdict::pass) require(answer.ports >> 1 == fragment.id + 1);
  }
  void check() const {
    require(table_.current() <= Fragments::kDatagrams);
    require(table_.parked() <= Fragments::kMostParked);
    require(table_.parked() == parked_.size());
    require(totals_.datagrams.get() >= table_.current());
  }

  Fragments::Totals totals_;
  Fragments table_{1, totals_};
  Tick now_{0xffffff80};
  std::vector<Parked> parked_;
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
