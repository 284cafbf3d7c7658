// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/owner.h"

#include "dataplane/core/packet.h"

namespace headgate::core {

unsigned owner(const Frame& frame, const Generation& generation, unsigned workers) noexcept {
  if (workers < 2) return 0;
  Parsed parsed;
  if (!parse_usual(frame, parsed)) parsed = parse(frame);
  if (parsed.shape != Shape::whole) return 0;
  const FlowKey& key = parsed.key;
  const bool from_client = generation.layout->is_vip(key.destination);
  const std::uint64_t hash = from_client ? stable_hash(key.source, key.source_port)
                                         : stable_hash(key.destination, key.destination_port);
  return static_cast<unsigned>((hash >> 32) * workers >> 32);
}

}  // namespace headgate::core
