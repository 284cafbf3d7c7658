// SPDX-License-Identifier: Apache-2.0
// Fragments: which flow they belong to.
#include <utility>

#include "dataplane/core/ip_header.h"
#include "dataplane/core/owner.h"
#include "dataplane/core/switch.h"

namespace headgate::core {
namespace {

Fate fate_of(Fragments::Verdict verdict) noexcept {
  switch (verdict) {
    case Fragments::Verdict::bad:
      return Fate::drop_fragment_bad;
    case Fragments::Verdict::tiny:
      return Fate::drop_fragment_tiny;
    case Fragments::Verdict::overlap:
      return Fate::drop_fragment_overlap;
    case Fragments::Verdict::early:
      return Fate::drop_fragment_early;
    default:
      return Fate::drop_fragment;
  }
}

Fragment fragment_in(const Frame& frame) noexcept {
  return fragment_of(frame.data + offset::ip, header_of(frame));
}

}  // namespace

// Makes of a fragment of the switch's a packet of its flow, or says what else becomes of it. Any other stays
// what it is: the kernel's.
void Switch::gather(Frame& frame, Parsed& parsed, const Generation& generation, Tick now) noexcept {
  const std::uint32_t parked_as = std::exchange(frame.datagram, 0);
  if (!generation.layout->concerns(parsed.key)) {
    // Its VIP or server went while it waited; the table must not go on counting it.
    if (parked_as != 0) static_cast<void>(fragments_.take(fragment_in(frame), parked_as, now));
    return;
  }
  if (frame.ports == 0) {
    frame.ports = flow_of(frame, parsed, parked_as, now);
    if (frame.ports == 0) return;
    // This worker knows the datagram, perhaps another one the session.
    if (workers_ > 1 && owner(frame, generation, workers_) != worker_) {
      frame.action = Action::hand;
      parsed.shape = Shape::waiting;
      return;
    }
  }
  parsed.key.source_port = static_cast<L4Port>(frame.ports >> 16);
  parsed.key.destination_port = static_cast<L4Port>(frame.ports);
  parsed.shape = Shape::whole;
}

// The ports of a fragment's flow; 0 when it has to wait or is refused.
std::uint32_t Switch::flow_of(Frame& frame, Parsed& parsed, std::uint32_t parked_as, Tick now) noexcept {
  const Fragments::Answer answer = fragments_.take(fragment_in(frame), parked_as, now);
  if (answer.verdict == Fragments::Verdict::park || answer.release) frame.datagram = answer.datagram;
  if (answer.verdict == Fragments::Verdict::pass && answer.ports != 0) return answer.ports;
  if (answer.verdict == Fragments::Verdict::park) {
    frame.action = Action::park;
    parsed.shape = Shape::waiting;
  } else {
    frame.fate = fate_of(answer.verdict);
    parsed.shape = Shape::refused;
  }
  return 0;
}

}  // namespace headgate::core
