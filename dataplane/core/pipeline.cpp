// SPDX-License-Identifier: Apache-2.0
// A burst's way through the switch, and the short way of nearly all packets.
#include <algorithm>
#include <cassert>

#include "dataplane/core/rewrite.h"
#include "dataplane/core/switch.h"
#include "dataplane/core/switch_parts.h"

namespace headgate::core {
namespace {

// Frames that are a step of the pipeline apart: what one step fetches into the cache is there at the next,
// while the work on others goes on.
constexpr std::size_t kStep = 16;

// The same address, which the compiler keeps from here on instead of working it out again wherever it is
// used.
template <class T>
[[gnu::always_inline]] inline T& kept(T& object) noexcept {
  T* at = &object;
  asm("" : "+r"(at));
  return *at;
}

// Where the last four octets of an address and the port behind it, in host order, are in the addresses and
// ports of an IPv4 packet: as source and source port, and as destination and destination port.
struct alignas(16) Shuffle {
  std::array<std::int8_t, 16> octets;
};
constexpr BySide<Shuffle> kShuffle{{{
    {{8, 9, 10, 11, -1, -1, -1, -1, 13, 12, -1, -1, -1, -1, -1, -1}},
    {{-1, -1, -1, -1, 8, 9, 10, 11, -1, -1, 13, 12, -1, -1, -1, -1}},
}}};
constexpr Shuffle kTuple{{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0}};

[[gnu::always_inline]] inline __m128i vector(const void* at) noexcept {
  return _mm_loadu_si128(static_cast<const __m128i*>(at));
}

[[gnu::always_inline]] inline __m128i shuffled(const Ip& address_and_port, Side side) noexcept {
  return _mm_shuffle_epi8(vector(address_and_port.octets.data() + 4), vector(&kShuffle[side]));
}

// Whether a packet of the session's family comes from that side of the session.
template <bool v6>
[[gnu::always_inline]] inline bool belongs(const std::uint8_t* ip, const Session& session,
                                           const Shared::Binding::End& near, Side from) noexcept {
  static_assert(offsetof(Session, client_port) == offsetof(Session, client) + sizeof(Ip));
  static_assert(offsetof(Shared::Binding::End, port) == offsetof(Shared::Binding::End, address) + sizeof(Ip));
  const Side to = other(from);
  if constexpr (v6) {
    const std::uint8_t* addresses = ip + offset::ip6_source;
    const std::uint8_t* ports = ip + kIp6Header;
    const auto place = static_cast<std::size_t>(from);
    const auto opposite = static_cast<std::size_t>(to);
    const __m128i unlike =
        _mm_or_si128(_mm_xor_si128(vector(addresses + 16 * place), vector(&session.client)),
                     _mm_xor_si128(vector(addresses + 16 * opposite), vector(&near.address)));
    const int unlike_ports =
        (load16(ports + 2 * place) ^ session.client_port) | (load16(ports + 2 * opposite) ^ near.port);
    return _mm_testz_si128(unlike, unlike) != 0 && unlike_ports == 0;
  } else {
    static_assert(offset::ip_source + 8 == kIpHeader, "addresses and ports are side by side");
    const __m128i tuple = _mm_or_si128(shuffled(session.client, from), shuffled(near.address, to));
    return _mm_testz_si128(_mm_xor_si128(vector(ip + offset::ip_source), tuple), vector(&kTuple)) != 0;
  }
}

}  // namespace

// The short way: a plain packet of an open session, whose server may serve it and whose next hop is known.
// It does what decide() would; whatever is not so plain is left to that.
template <Transport transport>
[[gnu::always_inline]] inline bool Switch::pass_steady(Frame& frame, const Arrival& arrival,
                                                       const Burst& burst) noexcept {
  constexpr bool v6 = transport.v6();
  const Side from = SessionTable::side(arrival.likely);
  const Side to = other(from);
  Session& session = *arrival.session;
  const BindingSlot slot = session.binding;
  const Shared::Binding& binding = shared_.bindings[slot];
  const Shared::Binding::End& near = kept(binding.end[from]);
  const Shared::Binding::End& far = kept(binding.end[to]);
  std::uint8_t* const ip = frame.data + offset::ip;
  std::uint8_t* const l4 = ip + (v6 ? kIp6Header : kIpHeader);
  if (!belongs<v6>(ip, session, near, from)) [[unlikely]]
    return false;
  // Closing a binding ends its epoch: no session is of the epoch of a closed one (still_serves()).
  constexpr auto kPlace = static_cast<std::size_t>(std::ranges::find(kUsual, transport) - kUsual.begin());
  const std::uint16_t epoch = shared_.state(slot).epoch;
  if (session.standing() != Session::in_epoch(burst.standing[kPlace], epoch)) [[unlikely]]
    return false;
  if (!allowed(burst.ports[from], frame.port)) [[unlikely]]
    return false;
  Session::Flow& flow = kept(session.from[from]);
  const HopIndex index = flow.hop();
  const Hops::Hop hop = shared_.hops.use(index, burst.now);
  const Shared::Port& out = shared_.ports[hop.port];
  const std::uint16_t length = frame.length;
  if (!hop.resolved || !out.fits(length)) [[unlikely]]
    return false;
  add_packet(session, flow, slot, from, length);
  session.seen = burst.now;
  rewrite_ip(ip, v6, near, far, from);
  rewrite_port(l4, far, from);
  if constexpr (transport.is_tcp()) {
    rewrite_tcp(l4, near);
    Session::Flow& reverse = session.from[to];
    const std::uint32_t end = load32(l4 + offset::tcp_sequence) + arrival.glance.payload;
    TcpLife::pass_steady(flow.next, reverse.acked, reverse.next, end,
                         load32(l4 + offset::tcp_acknowledgement));
  } else {
    rewrite_udp(l4, near);
  }
  write_ethernet(frame.data, hop.mac, MacWord(out.mac.load(std::memory_order_relaxed)),
                 v6 ? kEtherTypeIpv6 : kEtherTypeIpv4);
  frame.port = hop.port;
  frame.hop = index;
  frame.action = Action::transmit;
  static_assert(static_cast<std::size_t>(Fate::to_real) == static_cast<std::size_t>(Side::client) &&
                static_cast<std::size_t>(Fate::to_client) == static_cast<std::size_t>(Side::real));
  frame.fate = static_cast<Fate>(from);
  return true;
}

[[gnu::always_inline]] inline bool Switch::pass_steady(Frame& frame, const Arrival& arrival,
                                                       const Burst& burst) noexcept {
  const Transport plain = arrival.glance.plain;
  if (plain == kTcp4) [[likely]]
    return pass_steady<kTcp4>(frame, arrival, burst);
  if (plain == kTcp6) return pass_steady<kTcp6>(frame, arrival, burst);
  if (plain == kUdp4) return pass_steady<kUdp4>(frame, arrival, burst);
  return plain == kUdp6 && pass_steady<kUdp6>(frame, arrival, burst);
}

void Switch::process(std::span<Frame> frames, Spares& spares, const Generation& generation,
                     Tick now) noexcept {
  assert(frames.size() <= kBurst);
  now_ = now;
  settle();
  Burst burst{.spares = spares,
              .generation = generation,
              .now = now,
              .ports = generation.layout->ports,
              .standing = {}};
  std::ranges::transform(kUsual, burst.standing.begin(), [&](Transport transport) {
    return Session::steady_standing(generation.routes_version, transport);
  });
  std::array<Arrival, kBurst> arrivals;
  const std::size_t count = frames.size();
  const auto length = [count](std::size_t first) { return std::min(kStep, count - first); };
  for (std::size_t at = 0; at < count + 2 * kStep; at += kStep) {
    if (at < count) look(frames.subspan(at, length(at)), &arrivals[at]);
    if (const std::size_t before = at - kStep; at >= kStep && before < count)
      locate(std::span(arrivals).subspan(before, length(before)));
    if (const std::size_t before = at - 2 * kStep; at >= 2 * kStep)
      pass(frames.subspan(before, length(before)), &arrivals[before], burst);
  }
  const std::uint64_t steady = count - burst.decided;
  fates_[static_cast<std::size_t>(Fate::to_real)].add(steady - burst.to_client);
  fates_[static_cast<std::size_t>(Fate::to_client)].add(burst.to_client);
  packets_in_.add(count - burst.waiting);
}

void Switch::look(std::span<const Frame> frames, Arrival* arrival) const noexcept {
  const HashSeed seed = table_.seed();
  for (const Frame& frame : frames) {
    core::look(frame, seed, arrival->glance);
    arrival->bucket = table_.prefetch_bucket(arrival->glance.hash);
    ++arrival;
  }
}

void Switch::locate(std::span<Arrival> arrivals) const noexcept {
  for (Arrival& arrival : arrivals) {
    arrival.likely = table_.prefetch_session(arrival.bucket, arrival.glance.hash);
    arrival.session = &table_.entry(arrival.likely);
  }
}

void Switch::pass(std::span<Frame> frames, Arrival* arrival, Burst& burst) noexcept {
  std::uint32_t to_client = 0;
  for (Frame& frame : frames) {
    if (pass_steady(frame, *arrival, burst) || pass_elsewhere(frame, *arrival, burst)) [[likely]]
      to_client += static_cast<std::uint32_t>(SessionTable::side(arrival->likely));
    else
      decide(frame, arrival->glance, burst);
    ++arrival;
  }
  burst.to_client += to_client;
}

// One packet in thirty has a likely place that is another's, with the same tag.
[[gnu::noinline]] bool Switch::pass_elsewhere(Frame& frame, Arrival& arrival, const Burst& burst) noexcept {
  if (arrival.glance.plain.none()) return false;
  return table_.any_place(arrival.glance.hash, [&, wrong = arrival.likely](SessionTable::Place place) {
    arrival.likely = place;
    arrival.session = &table_.entry(place);
    return place != wrong && pass_steady(frame, arrival, burst);
  });
}

}  // namespace headgate::core
