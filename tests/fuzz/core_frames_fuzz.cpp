// SPDX-License-Identifier: Apache-2.0
// Raw frames, and sequences of TCP segments, through a live switch: every frame gets one fate, nothing
// outside of a frame is touched, and counts never go negative.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "dataplane/core/director.h"
#include "dataplane/core/packet.h"
#include "dataplane/core/switch.h"

namespace headgate::core {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

forwarding::Generation site() {
  forwarding::Generation out;
  auto& service = *out.add_service();
  service.set_virt(1), service.set_vip(Ip(Ipv4{0x0a0a0164}).wire()), service.set_vport(80),
      service.set_protocol(6);
  for (std::uint32_t real = 1; real <= 2; ++real) {
    auto& member = *service.add_member();
    member.set_real(real), member.set_rip(Ip(Ipv4{0x0a0a020a + real}).wire()), member.set_rport(8080);
    member.set_weight(real), member.set_idle_seconds(60);
    member.mutable_target()->set_real(real);
  }
  for (const std::uint32_t number : {1u, 2u}) {
    auto& port = *out.add_port();
    port.set_number(number), port.set_client(true), port.set_server(true);
  }
  return out;
}

struct Bed {
  static constexpr std::size_t kSessions = 64;
  Shared shared;
  Director director{shared};
  std::size_t size = SessionTable::bytes_needed(kSessions);
  std::byte* memory = static_cast<std::byte*>(::operator new (size, std::align_val_t{64}));
  std::unique_ptr<Switch> worker;
  std::unique_ptr<const Generation> generation;
  Tick now{1};

  Bed() {
    director.set_ports({PortNumber{1}, PortNumber{2}});
    director.set_routes({{.prefix = core::kAnyIpv4, .length = 0, .port = 1, .gateway = {}}});
    require(director.publish(site()).ok());
    start_empty();
  }
  /// A fresh table on the same memory; the shared words go on.
  void start_empty() {
    if (worker) {
      std::size_t cursor = 0, cleared = 0;
      while (worker->clear(cursor, kSessions, {}, cleared)) {
      }
      require(worker->sessions() == 0);
      require(current() == 0);
    }
    if (!worker) {
      std::memset(memory, 0, size);
      worker = std::make_unique<Switch>(
          Switch::Config{.memory = {memory, size}, .sessions = kSessions, .seed = 1}, shared);
      director.set_workers({worker.get()});
    }
    admit(1, forwarding::OPEN), admit(2, forwarding::OPEN);
  }
  void admit(std::uint32_t real, forwarding::Admission admission) {
    forwarding::States states;
    states.add_target()->mutable_target()->set_real(real);
    states.mutable_target(0)->set_admission(admission);
    director.set_states(states);
    generation = director.build();
  }
  [[nodiscard]] std::uint64_t current() const {
    std::uint64_t sum = 0;
    const forwarding::Stats stats = director.stats();
    for (const auto& row : stats.real()) sum += row.counts().current();
    return sum;
  }
  void process(std::span<const std::uint8_t> bytes, PortIndex port) {
    // Exactly as much as may be written: the sanitizer sees the rest.
    const std::size_t capacity = std::max(bytes.size() + bytes.size() % 64, kResetFrame);
    std::vector<std::uint8_t> buffer(capacity);
    std::vector<std::uint8_t> room(64);
    if (!bytes.empty()) std::memcpy(buffer.data(), bytes.data(), bytes.size());
    std::array<Frame, 1> frames = {Frame{.data = buffer.data(),
                                         .length = static_cast<std::uint16_t>(bytes.size()),
                                         .capacity = static_cast<std::uint16_t>(capacity),
                                         .port = port}};
    std::array<Frame, 1> spare = {Frame{.data = room.data(), .capacity = 64}};
    Spares spares{spare};
    worker->process(frames, spares, *generation, now);
    require(frames[0].length <= capacity);
    const bool changed =
        frames[0].length != bytes.size() || !std::equal(bytes.begin(), bytes.end(), buffer.begin());
    require(frames[0].action == Action::transmit || frames[0].action == Action::hold || !changed);
    std::uint64_t sum = 0;
    for (std::size_t fate = 0; fate < kFates; ++fate) sum += worker->fate(static_cast<Fate>(fate));
    require(sum == worker->packets_in());
    require(worker->sessions() <= kSessions);
  }

 private:
  static constexpr std::size_t kResetFrame = 60;
};

void seal(std::vector<std::uint8_t>& frame) {
  std::uint32_t sum = 0;
  frame[24] = frame[25] = 0;
  for (std::size_t i = 14; i < 34; i += 2) sum += static_cast<std::uint32_t>(frame[i] << 8 | frame[i + 1]);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  store16(&frame[24], static_cast<std::uint16_t>(~sum));
}

// Four bytes make a step: what, whose, flags, numbers.
void step(Bed& bed, const std::uint8_t* input) {
  if (input[0] % 8 == 0) return bed.admit(1 + input[1] % 2, static_cast<forwarding::Admission>(input[2] % 3));
  if (input[0] % 8 == 1) {
    bed.now = bed.now.plus(input[1] * 4u);
    bed.worker->sweep(bed.now, input[2]);
    return;
  }
  std::vector<std::uint8_t> frame(14 + 20 + 20 + input[3] % 3);
  frame[12] = 0x08, frame[14] = 0x45, frame[22] = 64, frame[23] = 6, frame[46] = 0x50, frame[47] = input[2];
  store16(&frame[16], static_cast<std::uint16_t>(frame.size() - 14));
  const bool to_vip = input[0] % 2 == 0;
  const std::uint32_t client = 0x0a0a010a, server = to_vip ? 0x0a0a0164 : 0x0a0a020b + input[1] % 2;
  store32(&frame[26], to_vip ? client : server), store32(&frame[30], to_vip ? server : client);
  const std::uint16_t port = 40000 + input[1] / 2 % 4, service = to_vip ? 80 : 8080;
  store16(&frame[34], to_vip ? port : service), store16(&frame[36], to_vip ? service : port);
  store32(&frame[38], input[3]), store32(&frame[42], input[3] / 2);
  seal(frame);
  bed.process(frame, to_vip ? 0 : 1);
}

}  // namespace
}  // namespace headgate::core

// The first byte tells whether raw frames follow, each behind its length, or steps.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static headgate::core::Bed bed;
  if (size == 0) return 0;
  bed.start_empty();
  const bool raw = data[0] % 2 == 0;
  for (std::size_t at = 1; at < size;) {
    if (!raw) {
      if (size - at < 4) break;
      headgate::core::step(bed, data + at);
      at += 4;
      continue;
    }
    const std::size_t length = std::min<std::size_t>(data[at] * 4u, size - at - 1);
    std::vector<std::uint8_t> frame(data + at + 1, data + at + 1 + length);
    if (length >= 34 && data[at] % 2 == 0) headgate::core::seal(frame);
    bed.process(frame, data[at] % 2);
    at += 1 + length;
  }
  return 0;
}
