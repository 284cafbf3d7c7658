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
         (filter.vip.none() || filter.vip == binding.vip()) &&
         (filter.vport == 0 || filter.vport == binding.vport()) &&
         (filter.port < 0 || filter.port == session.port) &&
         (filter.bindings.empty() || filter.bindings[session.binding]);
}

SessionView Switch::view(const Session& session, Tick now) const noexcept {
  const Shared::Binding& binding = shared_.bindings[session.binding];
  const SessionRest& rest = table_.rest(session);
  const auto idle = static_cast<std::uint32_t>(std::max(now.since(session.seen), 0));
  const std::uint32_t life = lifetime(session);
  const auto packets = [&](Side from) {
    return std::uint64_t{rest.packets[from]} << 16 | session.from[from].packets();
  };
  const auto octets = [&](Side from) {
    return std::uint64_t{rest.octets[from]} << 32 | session.from[from].octets();
  };
  return {.client = session.client,
          .client_port = session.client_port,
          .vip = binding.vip(),
          .vport = binding.vport(),
          .rip = binding.rip(),
          .rport = binding.rport(),
          .protocol = session.transport.protocol(),
          .port = session.port,
          .life = terminated(session) ? Life::terminated : session.life().life(),
          .binding = session.binding,
          .idle_seconds = idle / Tick::kPerSecond,
          .left_seconds = (life > idle ? life - idle : 0) / Tick::kPerSecond,
          .age_seconds = static_cast<std::uint32_t>(std::max(now.since(rest.started), 0)) / Tick::kPerSecond,
          .packets_client = packets(Side::client),
          .packets_real = packets(Side::real),
          .octets_client = octets(Side::client),
          .octets_real = octets(Side::real)};
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
