// SPDX-License-Identifier: Apache-2.0
// Raw frames, and sequences of segments, datagrams, fragments and ICMP errors in both families, through a
// live switch: every frame gets one fate, nothing outside of a frame is touched, nothing that is not sent is
// changed, and when the table is empty nothing is counted any more.
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
#include "dataplane/core/persistence.h"
#include "dataplane/core/switch.h"

namespace headgate::core {
namespace {

using Bytes = std::vector<std::uint8_t>;

void require(bool holds) {
  if (!holds) std::abort();
}

Ip address(bool v6, std::uint8_t network, std::uint8_t host) {
  if (!v6) return Ipv4{0x0a0a0000u | std::uint32_t{network} << 8 | host};
  Ip ip;
  ip.octets = {0x20, 0x01, 0x0d, 0xb8, 0, network};
  ip.octets[15] = host;
  return ip;
}
Ip client_of(bool v6, unsigned n) {
  return address(v6, 1, static_cast<std::uint8_t>(10 + n));
}
Ip vip_of(bool v6) {
  return address(v6, 1, 100);
}
Ip real_of(bool v6, unsigned n) {
  return address(v6, 2, static_cast<std::uint8_t>(10 + n));
}

constexpr L4Port kVport = 80, kRport = 8080;
constexpr unsigned kReals = 2;

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

/// What an input says, byte by byte; zeros when it is at its end.
class Tape {
 public:
  Tape(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  [[nodiscard]] bool ended() const { return at_ >= size_; }
  std::uint8_t byte() { return at_ < size_ ? data_[at_++] : std::uint8_t{0}; }
  Bytes take(std::size_t count) {
    count = std::min(count, size_ - std::min(at_, size_));
    Bytes out(data_ + at_, data_ + at_ + count);
    at_ += count;
    return out;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
  std::size_t at_ = 0;
};

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
  }

  void start_empty() {
    std::size_t cursor = 0, cleared = 0;
    while (worker_->clear(cursor, kSessions, {}, cleared)) {
    }
    require(worker_->sessions() == 0);
    require(worker_->half_open() == 0);
    for (const Service& service : generation().layout->services) {
      for (const Member& member : service.members) {
        require(worker_->held(member.binding) == 0);
        require(shared_.current[member.binding] == 0);
        for (const Tally* tally : shared_.tallies_of(member.binding)) require(tally->current == 0);
      }
    }
    while (worker_->fragments().current() != 0) {
      now_ = now_.plus(Fragments::kLife + 1);
      worker_->sweep(now_, 1);
    }
    if (states_ != kBothOpen) set_states(kBothOpen);
  }

  void admit(unsigned real, unsigned admission) {
    set_states(real == 0 ? admission * 3 + states_ % 3 : states_ / 3 * 3 + admission);
  }

  void wait(unsigned ticks, std::size_t budget) {
    now_ = now_.plus(ticks);
    std::array<Bytes, kBurst> rooms;
    std::array<Frame, kBurst> frames;
    for (std::size_t i = 0; i < kBurst; ++i) {
      rooms[i].resize(128);
      frames[i] = {.data = rooms[i].data(), .capacity = 128};
    }
    Spares spares{frames};
    worker_->sweep(now_, budget, spares, generation());
    require(spares.used <= kBurst);
  }

  void process(const Bytes& bytes, PortIndex port) {
    // Exactly as much as may be written: the sanitizer sees the rest.
    const std::size_t capacity = std::max(bytes.size() + bytes.size() % 64, kLeastCapacity);
    Bytes buffer(capacity);
    Bytes room(bytes.size() + 128);
    std::copy(bytes.begin(), bytes.end(), buffer.begin());
    std::array<Frame, 1> frames = {Frame{.data = buffer.data(),
                                         .length = static_cast<std::uint16_t>(bytes.size()),
                                         .capacity = static_cast<std::uint16_t>(capacity),
                                         .port = port}};
    std::array<Frame, 1> spare = {
        Frame{.data = room.data(), .capacity = static_cast<std::uint16_t>(room.size())}};
    Spares spares{spare};
    worker_->process(frames, spares, generation(), now_);
    const Frame& frame = frames[0];
    require(frame.length <= capacity);
    require(spares.used <= 1 && spare[0].length <= room.size());
    const bool sent = frame.action == Action::transmit || frame.action == Action::hold;
    const bool same = frame.length == bytes.size() && std::equal(bytes.begin(), bytes.end(), buffer.begin());
    require(sent || same);
    std::uint64_t sum = 0;
    for (std::size_t fate = 0; fate < kFates; ++fate) sum += worker_->fate(static_cast<Fate>(fate));
    require(sum == worker_->packets_in());
    require(worker_->sessions() <= kSessions);
  }

 private:
  static constexpr std::size_t kSessions = 64;
  static constexpr std::size_t kLeastCapacity = 128;
  static constexpr unsigned kBothOpen = 2 * 3 + 2;

  [[nodiscard]] const Generation& generation() const { return *generations_[states_]; }

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

  Shared shared_;
  Persistence persistence_{256, 5};
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

// ---- Frames

void put16(Bytes& out, unsigned value) {
  out.push_back(static_cast<std::uint8_t>(value >> 8)), out.push_back(static_cast<std::uint8_t>(value));
}
void put32(Bytes& out, std::uint32_t value) {
  put16(out, value >> 16), put16(out, value & 0xffff);
}
void put(Bytes& out, const Ip& ip) {
  out.insert(out.end(), ip.octets.begin() + (ip.is_v4() ? 12 : 0), ip.octets.end());
}

/// Who sends what to whom.
struct Flow {
  bool v6 = false;
  Protocol protocol = Protocol::tcp;
  Ip source, destination;
  L4Port source_port = 0, destination_port = 0;
};

/// One of eight flows of each direction: four clients' ports, by two servers.
Flow flow(Tape& tape, Protocol protocol) {
  const std::uint8_t who = tape.byte();
  const bool v6 = (who & 1) != 0, to_vip = (who & 2) != 0;
  const Ip client = client_of(v6, who >> 2 & 3);
  const auto port = static_cast<L4Port>(40000 + (who >> 4 & 3));
  const Ip real = real_of(v6, 1 + (who >> 6 & 1));
  if (to_vip) return {v6, protocol, client, vip_of(v6), port, kVport};
  return {v6, protocol, real, client, kRport, port};
}

Bytes transport(const Flow& flow, Tape& tape) {
  Bytes out;
  put16(out, flow.source_port), put16(out, flow.destination_port);
  if (flow.protocol == Protocol::tcp) {
    const std::uint8_t flags = tape.byte(), numbers = tape.byte();
    put32(out, 0xfffffff0u + numbers % 16 * 2), put32(out, 0xfffffff0u + numbers / 16 * 2);
    put16(out, 0x5000u | (flags & 0x3f)), put16(out, 1000), put32(out, 0);
    out.resize(out.size() + std::size_t{flags} / 64 * 300);
  } else {
    const std::size_t payload = tape.byte() * 4u;
    put16(out, static_cast<unsigned>(8 + payload)), put16(out, 0x1234);
    out.resize(out.size() + payload);
  }
  return out;
}

/// `fragment`: the offset in units of eight octets, and 0x8000 when more follow.
Bytes packet(const Flow& flow, const Bytes& l4, unsigned fragment = 0, unsigned id = 1,
             std::uint8_t ttl = 64) {
  Bytes out(12, 2);
  const auto protocol = static_cast<std::uint8_t>(flow.protocol);
  const bool more = (fragment & 0x8000) != 0;
  const unsigned offset = fragment & 0x1fff;
  if (flow.v6) {
    const bool piece = fragment != 0;
    put16(out, kEtherTypeIpv6), put32(out, 0x60000000);
    put16(out, static_cast<unsigned>(l4.size() + (piece ? 8 : 0)));
    out.push_back(piece ? 44 : protocol), out.push_back(ttl);
    put(out, flow.source), put(out, flow.destination);
    if (piece)
      out.push_back(protocol), out.push_back(0), put16(out, offset << 3 | (more ? 1 : 0)), put32(out, id);
  } else {
    put16(out, kEtherTypeIpv4), put16(out, 0x4500), put16(out, static_cast<unsigned>(20 + l4.size()));
    put16(out, id), put16(out, offset | (more ? 0x2000u : 0u)), out.push_back(ttl), out.push_back(protocol);
    put16(out, 0), put(out, flow.source), put(out, flow.destination);
    store_raw16(&out[24], static_cast<std::uint16_t>(~sum_of(&out[14], 20)));
  }
  out.insert(out.end(), l4.begin(), l4.end());
  if (out.size() < 60) out.resize(60);
  return out;
}

// Something about a packet that the switch sent: from whom it went to, to whom it came from.
Bytes icmp_error(Tape& tape) {
  const Flow about = flow(tape, (tape.byte() & 1) != 0 ? Protocol::tcp : Protocol::udp);
  Bytes quoted = packet(about, transport(about, tape), 0, 1, static_cast<std::uint8_t>(tape.byte() % 4));
  quoted.erase(quoted.begin(), quoted.begin() + kEthernetHeader);
  quoted.resize(std::min<std::size_t>(quoted.size(), 28 + tape.byte() % 64));
  const std::uint8_t type = tape.byte(), code = tape.byte() % 8;
  Bytes message = {about.v6 ? static_cast<std::uint8_t>(1 + type % 4) : static_cast<std::uint8_t>(type % 13),
                   code, 0, 0};
  put32(message, 576);
  message.insert(message.end(), quoted.begin(), quoted.end());
  const Flow flow{about.v6, about.v6 ? Protocol::icmp6 : Protocol::icmp, about.destination, about.source};
  std::uint64_t pseudo = 0;
  if (about.v6) {
    Bytes header;
    put(header, flow.source), put(header, flow.destination);
    put32(header, static_cast<std::uint32_t>(message.size())), put32(header, 58);
    pseudo = sum_of(header.data(), header.size());
  }
  store_raw16(&message[2], static_cast<std::uint16_t>(~sum_of(message.data(), message.size(), pseudo)));
  return packet(flow, message);
}

Bytes fragment(Tape& tape) {
  const Flow of = flow(tape, Protocol::udp);
  const std::uint8_t where = tape.byte();
  Bytes piece = transport(of, tape);
  if (where % 8 != 0) piece.resize(piece.size() / 8 * 8);
  return packet(of, piece, where % 8 * 16u | (where & 0x80u) << 8, where >> 3 & 3);
}

Bytes raw(Tape& tape) {
  const std::uint8_t length = tape.byte();
  Bytes frame = tape.take(length);
  if (frame.size() >= 34 && length % 2 == 0) {
    store_raw16(&frame[24], 0);
    store_raw16(&frame[24], static_cast<std::uint16_t>(~sum_of(&frame[14], 20)));
  }
  return frame;
}

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
    default: {
      const Flow of = flow(tape, what % 8 == 5 ? Protocol::udp : Protocol::tcp);
      frame = packet(of, transport(of, tape), 0, 1, (what & 0x20) != 0 ? 1 : 64);
    }
  }
  if ((what & 0x40) != 0 && !frame.empty()) frame[tape.byte() % frame.size()] ^= tape.byte();
  bed.process(frame, port);
}

}  // namespace
}  // namespace headgate::core

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static headgate::core::Bed bed;
  bed.start_empty();
  headgate::core::Tape tape(data, size);
  while (!tape.ended()) headgate::core::step(bed, tape);
  return 0;
}
