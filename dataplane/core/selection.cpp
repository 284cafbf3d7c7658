// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/selection.h"

#include <algorithm>
#include <numeric>

namespace headgate::core {
namespace {

// Spreads turns evenly: each turn goes to the member that is furthest behind its share (smooth weighted round
// robin). Equal weights give the plain order.
std::vector<std::uint16_t> schedule_of(const Service& service, const std::vector<std::uint16_t>& open) {
  std::uint32_t divisor = 0;
  std::uint32_t turns = 0;
  for (const std::uint16_t m : open) divisor = std::gcd(divisor, std::uint32_t{service.members[m].weight});
  for (const std::uint16_t m : open) turns += service.members[m].weight / divisor;
  if (turns == open.size()) return open;
  std::vector<std::uint16_t> schedule;
  std::vector<std::int64_t> behind(open.size(), 0);
  while (schedule.size() < turns) {
    for (std::size_t i = 0; i < open.size(); ++i) behind[i] += service.members[open[i]].weight / divisor;
    const auto next = static_cast<std::size_t>(std::ranges::max_element(behind) - behind.begin());
    behind[next] -= turns;
    schedule.push_back(open[next]);
  }
  return schedule;
}

const Member* next_in_turn(const Service& service, const Selection& selection, const Shared& shared,
                           Cursor& cursor) noexcept {
  for (std::size_t tries = 0; tries < selection.schedule.size(); ++tries) {
    const Member& member = service.members[selection.schedule[cursor++ % selection.schedule.size()]];
    if (shared.state(member.binding).opens()) return &member;
  }
  return nullptr;
}

std::uint64_t open_sessions(const Member& member, const Shared& shared) noexcept {
  return shared.tallies[member.real].current.load(std::memory_order_relaxed);
}

const Member* least_loaded(const Service& service, const Selection& selection, const Shared& shared,
                           Cursor& cursor) noexcept {
  const Member* best = next_in_turn(service, selection, shared, cursor);
  if (best == nullptr) return nullptr;
  std::uint64_t fewest = open_sessions(*best, shared);
  for (const std::uint16_t m : selection.open) {
    const Member& member = service.members[m];
    const std::uint64_t sessions = open_sessions(member, shared);
    if (sessions * best->weight >= fewest * member.weight || !shared.state(member.binding).opens()) continue;
    best = &member;
    fewest = sessions;
  }
  return best;
}

const Member* hashed(const Service& service, const Selection& selection, const Shared& shared,
                     const Ip& client) noexcept {
  const std::size_t count = selection.open.size();
  const std::uint64_t start = stable_hash(client, 0);
  for (std::size_t tries = 0; tries < count; ++tries) {
    const Member& member = service.members[selection.open[(start + tries) % count]];
    if (shared.state(member.binding).opens()) return &member;
  }
  return nullptr;
}

}  // namespace

std::shared_ptr<const Selection> select(const Service& service, const Shared& shared) {
  auto selection = std::make_shared<Selection>();
  for (std::size_t m = 0; m < service.members.size(); ++m) {
    if (shared.state(service.members[m].binding).opens())
      selection->open.push_back(static_cast<std::uint16_t>(m));
  }
  selection->schedule = schedule_of(service, selection->open);
  return selection;
}

const Member* pick(const Service& service, const Selection& selection, const Shared& shared, const Ip& client,
                   Cursor& cursor) noexcept {
  switch (service.metric) {
    case forwarding::ROUNDROBIN:
      return next_in_turn(service, selection, shared, cursor);
    case forwarding::HASH:
      return hashed(service, selection, shared, client);
    default:
      return least_loaded(service, selection, shared, cursor);
  }
}

}  // namespace headgate::core
