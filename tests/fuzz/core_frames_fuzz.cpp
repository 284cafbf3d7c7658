// SPDX-License-Identifier: Apache-2.0
// Raw frames, and sequences of segments, datagrams, fragments and ICMP errors in both families, through a
// live switch: every frame gets one fate, nothing outside of a frame is touched, nothing that is not sent is
// changed, and when the table is empty nothing is counted any more.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "dataplane/core/director.h"
#include "dataplane/core/packet.h"
#include "dataplane/core/persistence.h"
#include "dataplane/core/switch.h"
#include "frames.h"
#include "room.h"

namespace headgate::core {
namespace {

using namespace fuzz;

// A service of each transport, over the same two servers, and with the rules that change what the core does.
forwarding::Generation site() {
  forwarding::Generation out;
  std::uint32_t virt = 0;
  for (const Transport transport : {Transport(Protocol::tcp, false), Transport(Protocol::udp, false),
                                    Transport(Protocol::tcp, true), Transport(Protocol::udp, true)}) {
    auto& service = *out.add_service();
    service.set_virt(++virt), service.set_vip(vip_of(transport.v6()).wire()), service.set_vport(kVport);
    service.set_protocol(static_cast<std::uint32_t>(transport.protocol())), service.set_group(1);
    service.set_reset_on_expiry(transport.is_tcp()), service.set_fast_udp(true);
    if (transport.v6()) service.set_persist_seconds(60);
    for (std::uint32_t real = 1; real <= kReals; ++real) {
      auto& member = *service.add_member();
      member.set_real(real), member.set_rip(real_of(transport.v6(), real).wire()), member.set_rport(kRport);
      member.set_weight(real), member.set_idle_seconds(60), member.set_maxcon(24);
      member.mutable_target()->set_real(real);
    }
  }
  out.mutable_settings()->set_check_resets(true);
  out.mutable_settings()->set_answer_closed_ports(true);
  for (const std::uint32_t number : {1u, 2u}) {
    auto& port = *out.add_port();
    port.set_number(number), port.set_client(number == 1), port.set_server(number == 2);
  }
  return out;
}

class Bed {
 public:
  Bed() {
    shared_.persistence = &persistence_;
    worker_ = std::make_unique<Switch>(
        Switch::Config{.memory = {memory_, size_}, .sessions = kSessions, .seed = 1}, shared_);
    director_.set_workers({worker_.get()});
    director_.set_ports({PortNumber{1}, PortNumber{2}});
    director_.set_routes({{.prefix = address(false, 1, 0), .length = 24, .port = 0, .gateway = {}},
                          {.prefix = address(false, 2, 0), .length = 24, .port = 1, .gateway = {}},
                          {.prefix = address(true, 1, 0), .length = 48, .port = 0, .gateway = {}},
                          {.prefix = address(true, 2, 0), .length = 48, .port = 1, .gateway = {}}});
    require(director_.publish(site()).ok());
    shared_.set_port(0, {{2, 0, 0, 0, 0, 1}}, 1500);
    shared_.set_port(1, {{2, 0, 0, 0, 0, 2}}, 600);
    for (const bool v6 : {false, true}) {
      for (unsigned n = 0; n < 3; ++n)
        shared_.hops.resolve(0, client_of(v6, n), {{2, 1}});  // not of the fourth
      for (unsigned n = 1; n <= kReals; ++n) shared_.hops.resolve(1, real_of(v6, n), {{2, 2}});
    }
    for (unsigned states = 0; states < generations_.size(); ++states) {
      tell_director(1, states / 3), tell_director(2, states % 3);
      generations_[states] = director_.build();
    }
    set_states(kBothOpen);
    for (std::size_t i = 0; i < kBurst; ++i)
      unused_[i] = {.data = rooms_[i].lend(kLeastCapacity), .capacity = kLeastCapacity};
  }

  void admit(unsigned real, unsigned admission) {
    set_states(real == 0 ? admission * 3 + states_ % 3 : states_ / 3 * 3 + admission);
  }

  void wait(unsigned ticks, std::size_t budget) {
    now_ = now_.plus(ticks);
    persistence_.expire(now_, 1);
    std::array<Frame, kBurst> frames = unused_;
    Spares spares{frames};
    worker_->sweep(now_, budget, spares, generation());
    require(spares.used <= kBurst);
    if (ticks >= Fragments::kPatience) give_again(0);
  }

  void process(const Bytes& bytes, PortIndex port) {
    process({bytes, port, 0});
    require(worker_->fragments().parked() == parked_.size());
  }

  /// What must hold after an input, and leaves the switch as a new one.
  void finish() {
    give_again(0);
    require(worker_->fragments().parked() == 0);
    forget_all();
    require(worker_->sessions() == 0);
    require(worker_->half_open() == 0);
    require(persistence_.size() == 0);
    for (const Service& service : generation().layout->services) {
      for (const Member& member : service.members) {
        require(worker_->held(member.binding) == 0);
        require(shared_.current[member.binding] == 0);
        for (const Tally* tally : shared_.tallies_of(member.binding)) require(tally->current == 0);
      }
    }
    std::uint64_t sum = 0;
    for (std::size_t fate = 0; fate < kFates; ++fate) sum += worker_->fate(static_cast<Fate>(fate));
    require(sum == worker_->packets_in());
    if (states_ != kBothOpen) set_states(kBothOpen);
  }

 private:
  /// A frame, and what it was parked for.
  struct Arrival {
    Bytes bytes;
    PortIndex port = 0;
    std::uint32_t datagram = 0;
  };
  static constexpr std::size_t kSessions = 64;
  static constexpr std::size_t kLeastCapacity = 128;
  static constexpr std::size_t kMostBytes = 2048;
  static constexpr unsigned kBothOpen = 2 * 3 + 2;

  [[nodiscard]] const Generation& generation() const { return *generations_[states_]; }

  void process(const Arrival& arrival) {
    const auto bytes = arrival.bytes.all();
    const std::size_t capacity = std::max(bytes.size() + bytes.size() % 64, kLeastCapacity);
    std::uint8_t* const buffer = room_.lend(capacity);
    if (!bytes.empty()) std::memcpy(buffer, bytes.data(), bytes.size());
    std::array<Frame, 1> frames = {Frame{.data = buffer,
                                         .length = static_cast<std::uint16_t>(bytes.size()),
                                         .capacity = static_cast<std::uint16_t>(capacity),
                                         .port = arrival.port,
                                         .datagram = arrival.datagram}};
    const std::size_t more = kLeastCapacity + bytes.size() % 512;
    std::array<Frame, 1> spare = {
        Frame{.data = spare_.lend(more), .capacity = static_cast<std::uint16_t>(more)}};
    Spares spares{spare};
    const std::uint64_t before = worker_->packets_in();
    worker_->process(frames, spares, generation(), now_);
    const Frame& frame = frames[0];
    require(frame.length <= capacity);
    require(spares.used <= 1 && spare[0].length <= more);
    const bool sent = frame.action == Action::transmit || frame.action == Action::hold;
    const bool same = frame.length == bytes.size() && std::equal(bytes.begin(), bytes.end(), buffer);
    require(sent || same);
    require(frame.action != Action::hand);
    require(worker_->packets_in() == before + (frame.action == Action::park ? 0 : 1));
    require(worker_->sessions() <= kSessions);
    settle(arrival, frame);
  }

  // The caller's part about fragments: keeps those that wait, and gives them again when they are called for.
  void settle(const Arrival& arrival, const Frame& frame) {
    require(frame.action != Action::park || (frame.datagram != 0 && arrival.datagram == 0));
    if (frame.action == Action::park)
      parked_.push_back({arrival.bytes, arrival.port, frame.datagram});
    else if (frame.datagram != 0)
      give_again(frame.datagram);
  }
  // All that wait for a datagram; 0: all.
  void give_again(std::uint32_t datagram) {
    if (parked_.empty()) return;
    std::vector<Arrival> again;
    std::erase_if(parked_, [&](const Arrival& one) {
      const bool meant = datagram == 0 || one.datagram == datagram;
      if (meant) again.push_back(one);
      return meant;
    });
    for (const Arrival& one : again) process(one);
  }

  void forget_all() {
    std::size_t cursor = 0, cleared = 0;
    while (worker_->clear(cursor, kSessions, {}, cleared)) {
    }
    cursor = 0;
    if (persistence_.size() != 0)
      persistence_.clear(cursor, persistence_.buckets(), now_, cleared, [](const auto&) { return true; });
    if (worker_->fragments().current() != 0) now_ = now_.plus(Fragments::kLife + 1);
    while (worker_->fragments().current() != 0) worker_->sweep(now_, 0);
  }

  void tell_director(std::uint32_t real, unsigned admission) {
    forwarding::States states;
    states.add_target()->mutable_target()->set_real(real);
    states.mutable_target(0)->set_admission(static_cast<forwarding::Admission>(admission));
    director_.set_states(states);
  }
  // What the director does, for less: the generations are made beforehand.
  void set_states(unsigned states) {
    states_ = states;
    for (const Service& service : generation().layout->services) {
      for (const Member& member : service.members) {
        const unsigned admission = member.number == 1 ? states / 3 : states % 3;
        shared_.admit(member.binding, static_cast<forwarding::Admission>(admission));
      }
    }
  }

  Room<kMostBytes> room_, spare_;
  std::array<Room<kLeastCapacity>, kBurst> rooms_;
  std::array<Frame, kBurst> unused_;  ///< in rooms_
  std::vector<Arrival> parked_;
  Shared shared_;
  Persistence persistence_{3, 5};  ///< a client less than there are
  Director director_{shared_};
  std::size_t size_ = SessionTable::bytes_needed(kSessions);
  std::byte* memory_ = [&] {
    void* memory = ::operator new (size_, std::align_val_t{64});
    return static_cast<std::byte*>(std::memset(memory, 0, size_));
  }();
  std::unique_ptr<Switch> worker_;
  std::array<std::unique_ptr<const Generation>, 9>
      generations_;  ///< by admission of server 1 * 3 + of server 2
  unsigned states_ = 0;
  Tick now_{1000};
};

void step(Bed& bed, Tape& tape) {
  const std::uint8_t what = tape.byte();
  const auto port = static_cast<PortIndex>(what >> 3 & 1);
  Bytes frame;
  switch (what % 8) {
    case 0:
      return bed.admit(what >> 3 & 1, (what >> 4 & 3) % 3);
    case 1:
      return bed.wait(tape.byte() * 4u, tape.byte());
    case 2:
      frame = raw(tape);
      break;
    case 3:
      frame = fragment(tape);
      break;
    case 4:
      frame = icmp_error(tape);
      break;
    default:
      frame = whole(tape, what % 8 == 5 ? Protocol::udp : Protocol::tcp, (what & 0x20) != 0 ? 1 : 64);
  }
  if ((what & 0x40) != 0 && !frame.empty()) {
    const std::size_t where = tape.byte() % frame.size();
    frame[where] ^= tape.byte();
  }
  bed.process(frame, port);
}

}  // namespace
}  // namespace headgate::core

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static headgate::core::Bed bed;
  headgate::fuzz::Tape tape(data, size);
  while (!tape.ended()) headgate::core::step(bed, tape);
  bed.finish();
  return 0;
}
