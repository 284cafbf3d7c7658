// SPDX-License-Identifier: Apache-2.0
// Dumping and clearing sessions.
#include <algorithm>

#include "dataplane/core/switch.h"

namespace headgate::core {

bool Switch::matches(const Session& session, const SessionFilter& filter) const noexcept {
  if (!session.used()) return false;
  const Shared::Binding& binding = shared_.bindings[session.binding];
  return (filter.client.none() || filter.client == session.client) &&
         (filter.client_port == 0 || filter.client_port == session.client_port) &&
         (filter.vip.none() || filter.vip == binding.vip) &&
         (filter.vport == 0 || filter.vport == binding.vport) &&
         (filter.port < 0 || filter.port == session.port) &&
         (filter.bindings.empty() || filter.bindings[session.binding]);
}

SessionView Switch::view(const Session& session, Tick now) const noexcept {
  const Shared::Binding& binding = shared_.bindings[session.binding];
  const SessionRest& rest = table_.rest(session);
  const auto idle = static_cast<std::uint32_t>(std::max(now.since(session.seen), 0));
  const std::uint32_t life = lifetime(session);
  return {.client = session.client,
          .client_port = session.client_port,
          .vip = binding.vip,
          .vport = binding.vport,
          .rip = binding.rip,
          .rport = binding.rport,
          .protocol = static_cast<Protocol>(session.protocol),
          .port = session.port,
          .life = terminated(session) ? Life::terminated : session.life().life(),
          .binding = session.binding,
          .idle_seconds = idle / Tick::kPerSecond,
          .left_seconds = (life > idle ? life - idle : 0) / Tick::kPerSecond,
          .age_seconds = static_cast<std::uint32_t>(std::max(now.since(rest.started), 0)) / Tick::kPerSecond,
          .packets_client = std::uint64_t{rest.packets_client} << 16 | session.packets_client,
          .packets_real = std::uint64_t{rest.packets_real} << 16 | session.packets_real,
          .octets_client = std::uint64_t{rest.octets_client} << 32 | session.octets_client,
          .octets_real = std::uint64_t{rest.octets_real} << 32 | session.octets_real};
}

bool Switch::dump(std::size_t& cursor, std::size_t budget, const SessionFilter& filter, Tick now,
                  std::vector<SessionView>& out) const {
  for (; budget > 0 && cursor < table_.high_water(); --budget, ++cursor) {
    const Session& session = table_.at(cursor);
    if (matches(session, filter)) out.push_back(view(session, now));
  }
  return cursor < table_.high_water();
}

bool Switch::clear(std::size_t& cursor, std::size_t budget, const SessionFilter& filter,
                   std::size_t& cleared) noexcept {
  for (; budget > 0 && cursor < table_.high_water(); --budget, ++cursor) {
    Session& session = table_.at(cursor);
    if (!matches(session, filter)) continue;
    forget(session);
    ++cleared;
  }
  return cursor < table_.high_water();
}

}  // namespace headgate::core
