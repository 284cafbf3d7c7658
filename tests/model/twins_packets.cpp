// SPDX-License-Identifier: Apache-2.0
// Frames through both.
#include <algorithm>
#include <limits>
#include <sstream>

#include <fmt/format.h>

#include "dataplane/core/owner.h"
#include "tests/model/twins.h"

namespace headgate::testing {
namespace {

// Packets that the core may make for one frame, and their size.
constexpr std::size_t kSpares = 3, kSpare = 1600;

std::string text(const plain::Sent& sent) {
  std::ostringstream out;
  out << (sent.held ? "held " : "") << sent.wire;
  return out.str();
}

std::string text(const std::optional<plain::Sent>& sent) {
  return sent ? text(*sent) : "nothing";
}

std::optional<plain::Sent> sent(const core::Frame& frame) {
  const bool held = frame.action == core::Action::hold;
  if (!held && frame.action != core::Action::transmit) return {};
  return plain::Sent{{frame.port + 1u, Bytes(frame.data, frame.data + frame.length)}, held};
}

std::string text(const std::vector<plain::Sent>& all) {
  std::string out;
  for (const plain::Sent& packet : all) out += "\n  " + text(packet);
  return out;
}

bool before(const plain::Sent& a, const plain::Sent& b) {
  return std::tie(a.wire.port, a.wire.bytes) < std::tie(b.wire.port, b.wire.bytes);
}

std::vector<plain::Sent> sorted(std::vector<plain::Sent> all) {
  std::ranges::sort(all, before);
  return all;
}

}  // namespace

/// Memory of exactly the size that the core may write, so that a sanitizer sees an octet touched outside.
struct Twins::Buffer {
  explicit Buffer(std::size_t size, const Bytes& from = {})
      : size(size), octets(std::make_unique<std::uint8_t[]>(size)) {
    std::ranges::copy(from, octets.get());
  }
  [[nodiscard]] core::Frame frame(std::size_t length = 0, unsigned port = 1) const {
    return {.data = octets.get(),
            .length = static_cast<std::uint16_t>(length),
            .capacity = static_cast<std::uint16_t>(size),
            .port = static_cast<core::PortIndex>(port - 1)};
  }
  std::size_t size;
  std::unique_ptr<std::uint8_t[]> octets;
};

std::vector<core::Frame> Twins::frames_of(const std::vector<Buffer>& buffers) {
  std::vector<core::Frame> frames;
  for (const Buffer& buffer : buffers) frames.push_back(buffer.frame());
  return frames;
}

void Twins::pass(const std::vector<Wire>& frames) {
  std::map<unsigned, std::vector<Given>> parts;
  for (const Wire& wire : frames) parts[owner({.wire = wire})].push_back({.wire = wire});
  for (const auto& [worker, part] : parts) pass(worker, part);
  if (plain_.fragments().keeps_any_waiting()) differ("a fragment waits for what has come");
}

unsigned Twins::owner(const Given& given) const {
  const Buffer buffer(given.wire.bytes.size(), given.wire.bytes);
  core::Frame frame = buffer.frame(given.wire.bytes.size(), given.wire.port);
  frame.ports = given.ports;
  return core::owner(frame, *generation_, static_cast<unsigned>(workers_.size()));
}

void Twins::pass(unsigned worker, const std::vector<Given>& burst) {
  if (burst.empty()) return;
  std::vector<Buffer> buffers, room;
  std::vector<core::Frame> frames;
  for (const Given& given : burst) {
    const Bytes& bytes = given.wire.bytes;
    // As much as a reset or an ICMP error in the frame's place may need.
    buffers.emplace_back(std::max<std::size_t>(bytes.size() + core::kAnswerRoom, 64), bytes);
    frames.push_back(buffers.back().frame(bytes.size(), given.wire.port));
    frames.back().datagram = given.parked_for;
    frames.back().ports = given.ports;
    for (std::size_t i = 0; i < kSpares; ++i) room.emplace_back(kSpare);
  }
  std::vector<core::Frame> spare = frames_of(room);
  core::Spares spares{spare};
  workers_[worker]->process(frames, spares, *generation_, now_);
  Passed passed{.worker = worker, .alone = burst.size() == 1, .room = spare.size()};
  for (std::size_t i = 0; i < burst.size() && difference_.empty(); ++i) compare(burst[i], frames[i], passed);
  std::vector<plain::Sent> made;
  for (std::size_t i = 0; i < spares.used; ++i) {
    if (const auto packet = sent(spare[i])) made.push_back(*packet);
  }
  if (made != passed.own)
    differ("packets of its own differ; the real switch made" + text(made) + "\nthe plain one" +
           text(passed.own));
  if (difference_.empty()) follow_up(passed);
}

// Does with fragments what the core asks for, as the shell does.
void Twins::follow_up(const Passed& passed) {
  for (const Given& given : passed.handed) pass(owner(given), {given});
  for (const std::uint32_t datagram : passed.released) {
    std::vector<Given> again;
    std::erase_if(parked_, [&](const Given& given) {
      const bool released = given.worker == passed.worker && given.parked_for == datagram;
      if (released) again.push_back(given);
      return released;
    });
    give_again(again);
  }
}

void Twins::give_again(const std::vector<Given>& fragments) {
  for (const Given& given : fragments) {
    if (difference_.empty()) pass(given.worker, {given});
  }
}

void Twins::give_up_waiting() {
  std::vector<Given> again;
  std::erase_if(parked_, [&](const Given& given) {
    const bool over = now_.since(given.since) >= static_cast<std::int32_t>(core::Fragments::kPatience);
    if (over) again.push_back(given);
    return over;
  });
  give_again(again);
}

void Twins::compare(const Given& in, const core::Frame& out, Passed& passed) {
  const auto real = sent(out);
  const bool parked = out.action == core::Action::park, handed = out.action == core::Action::hand;
  plain::Choice choice{.fate = out.fate,
                       .worker = passed.worker,
                       .handed = handed,
                       .room = passed.room - passed.own.size(),
                       .waited_for = in.waited_for,
                       .handed_as = in.ports};
  if (passed.alone) {
    choice.remembers = [&](const plain::Session& session) { return remembers(session); };
    choice.bound_to = [&](const plain::ClientKey& key) { return clients()[key].real; };
  }
  if (out.fate == core::Fate::to_real && real && !parked && !handed) {
    const plain::View view = plain::look(real->wire.bytes);
    choice.server = view.destination;
    choice.port = view.destination_port;
  }
  if (out.fate == core::Fate::drop_too_big && real) choice.mtu = plain::mtu_of(real->wire.bytes);
  const plain::Outcome expected = plain_.pass(in.wire, choice, now_);
  passed.own.insert(passed.own.end(), expected.own.begin(), expected.own.end());
  if (out.datagram != 0 && !parked) passed.released.push_back(out.datagram);
  if (parked && expected.waits_for != 0) {
    parked_.push_back({in.wire, 0, out.datagram, expected.waits_for, passed.worker, now_});
    return;
  }
  if (handed && out.ports == expected.handed_as && out.ports != 0) {
    passed.handed.push_back({.wire = in.wire, .ports = out.ports});
    return;
  }
  const bool waits = parked || handed || expected.waits_for != 0 || expected.handed_as != 0;
  if (!waits && expected.fate == out.fate && expected.sent == real && plain_.complaint().empty()) return;
  std::ostringstream what;
  what << "for " << in.wire << "\nthe real switch: " << (waits ? "a fragment differs; " : "")
       << core::name(out.fate) << ", " << text(real) << "\nthe plain switch: " << core::name(expected.fate)
       << ", " << text(expected.sent) << "\n";
  if (real && expected.sent) what << differences(expected.sent->wire, real->wire);
  differ(what.str() + plain_.complaint());
}

bool Twins::remembers(const plain::Session& session) const {
  const auto& key = session.binding->key;
  const core::SessionFilter filter{.client = session.client,
                                   .client_port = session.client_port,
                                   .vip = key.vip,
                                   .vport = session.binding->vport()};
  return std::ranges::any_of(workers_, [&](const auto& worker) {
    std::vector<core::SessionView> views;
    std::size_t cursor = 0;
    while (worker->dump(cursor, 4096, filter, now_, views)) {
    }
    return std::ranges::any_of(views, [&](const core::SessionView& view) {
      return static_cast<std::uint8_t>(view.protocol) == session.protocol();
    });
  });
}

void Twins::sweep() {
  std::vector<plain::Sent> made;
  for (const auto& worker : workers_) {
    std::size_t work = 1;
    while (work > 0) {
      std::vector<Buffer> room;
      for (std::size_t i = 0; i < core::kBurst; ++i) room.emplace_back(kSpare);
      std::vector<core::Frame> spare = frames_of(room);
      core::Spares spares{spare};
      work = worker->sweep(now_, std::numeric_limits<std::size_t>::max(), spares, *generation_) + spares.used;
      for (std::size_t i = 0; i < spares.used; ++i) {
        if (const auto packet = sent(spare[i])) made.push_back(*packet);
      }
    }
  }
  const auto expected = plain_.sweep(now_);
  for (const auto& [key, view] : clients()) {
    if (plain_.clients().contains(key)) plain_.agree(key, view.left_seconds);
  }
  if (sorted(made) != sorted(expected))
    differ(fmt::format("resets on expiry differ: {} made, {} expected", made.size(), expected.size()));
  expect("sessions", sessions(), plain_.sessions().size());
}

}  // namespace headgate::testing
