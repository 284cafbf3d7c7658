// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/owner.h"

#include "dataplane/core/glance.h"
#include "dataplane/core/icmp_error.h"
#include "dataplane/core/packet.h"

namespace headgate::core {
namespace {

// Of a flow as one of its packets has it.
std::uint64_t hash_of(const FlowKey& key, const Generation& generation) noexcept {
  return generation.layout->is_or_was_vip(key.destination)
             ? stable_hash(key.source, key.source_port)
             : stable_hash(key.destination, key.destination_port);
}

std::uint64_t hash_of_fragment(const Frame& frame, Parsed& parsed, const Generation& generation) noexcept {
  if (frame.ports != 0) {
    parsed.key.source_port = static_cast<L4Port>(frame.ports >> 16);
    parsed.key.destination_port = static_cast<L4Port>(frame.ports);
    return hash_of(parsed.key, generation);
  }
  const std::uint64_t addresses =
      mix(stable_hash(parsed.key.source, 0), stable_hash(parsed.key.destination, 1));
  return mix(addresses ^ header_of(frame).id, hashing::kA);
}

std::uint64_t hash_of_error(const Frame& frame, const Generation& generation) noexcept {
  IcmpError error;
  if (read_icmp(frame, header_of(frame), error) != IcmpKind::error) return 0;
  return hash_of(error.about.reversed(), generation);
}

std::uint64_t hash_of_unusual(const Frame& frame, const Generation& generation) noexcept {
  Parsed parsed = parse(frame);
  if (parsed.shape == Shape::whole) return hash_of(parsed.key, generation);
  if (parsed.shape == Shape::fragment) return hash_of_fragment(frame, parsed, generation);
  const bool whole_icmp = parsed.shape == Shape::other && is_icmp(parsed) && parsed.part == Part::whole;
  return whole_icmp ? hash_of_error(frame, generation) : 0;
}

}  // namespace

unsigned owner(const Frame& frame, const Generation& generation, unsigned workers) noexcept {
  if (workers < 2) return 0;
  Glance glance;
  look(frame, HashSeed(0), glance);
  const bool usual = glance.hash != 0;
  const std::uint64_t hash =
      usual ? hash_of(parsed_of(frame).key, generation) : hash_of_unusual(frame, generation);
  return static_cast<unsigned>((hash >> 32) * workers >> 32);
}

}  // namespace headgate::core
