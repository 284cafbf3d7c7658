// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/director.h"
#include "dataplane/core/persistence.h"
#include "dataplane/core/switch.h"

namespace headgate::core {
namespace {

template <class Counters>
std::uint64_t over(const std::vector<const Switch*>& workers, Counters counter) {
  std::uint64_t sum = 0;
  for (const Switch* worker : workers) sum += counter(*worker);
  return sum;
}

}  // namespace

Director::Sums Director::sums(BindingSlot slot) const {
  Sums sums;
  for (const Switch* worker : workers_) {
    const Switch::Traffic& traffic = worker->traffic(slot);
    sums.packets += traffic.packets.get();
    sums.octets += traffic.octets.get();
    sums.opened += traffic.opened.get();
    sums.refused += traffic.refused.get();
    sums.unanswered += traffic.unanswered.get();
  }
  return sums;
}

Director::Sums Director::traffic_since_base(BindingSlot slot) const {
  const Sums now = sums(slot);
  const Sums& base = bound_[slot].base;
  return {.packets = now.packets - base.packets,
          .octets = now.octets - base.octets,
          .opened = now.opened - base.opened};
}

std::array<Director::TallyKey, 3> Director::tallies_of(BindingSlot slot) const {
  const BindingKey& key = bound_[slot].key;
  return {TallyKey{'r', key.real, 0}, TallyKey{'g', key.group, key.real}, TallyKey{'v', key.virt, key.real}};
}

forwarding::SessionCounts Director::counts(const TallyInfo& info, const Sums& traffic) const {
  const Tally& tally = shared_.tallies[info.slot];
  forwarding::SessionCounts counts;
  counts.set_current(tally.current.load(std::memory_order_relaxed));
  counts.set_highest(tally.highest.load(std::memory_order_relaxed));
  counts.set_total(traffic.opened + info.retired.opened);
  counts.set_octets(traffic.octets + info.retired.octets);
  counts.set_packets(traffic.packets + info.retired.packets);
  return counts;
}

void Director::add_rows(forwarding::Stats& stats) const {
  std::map<TallyKey, Sums> traffic;
  for (const auto& [key, slot] : slots_) {
    const Sums mine = traffic_since_base(slot);
    for (const TallyKey& tally : tallies_of(slot)) {
      traffic[tally].packets += mine.packets;
      traffic[tally].octets += mine.octets;
      traffic[tally].opened += mine.opened;
    }
    auto* row = stats.add_service();
    row->set_virt(key.virt);
    row->set_vport(key.vport);
    row->set_protocol(key.protocol);
    row->set_real(key.real);
    row->set_rport(key.rport);
    row->mutable_counts()->set_current(shared_.current[slot].load(std::memory_order_relaxed));
    row->mutable_counts()->set_packets(mine.packets);
    row->mutable_counts()->set_octets(mine.octets);
  }
  for (const auto& [key, info] : tallies_) {
    const auto& [kind, first, second] = key;
    forwarding::SessionCounts row = counts(info, traffic[key]);
    if (kind == 'r') {
      auto* real = stats.add_real();
      real->set_real(first);
      *real->mutable_counts() = std::move(row);
    } else if (kind == 'g') {
      auto* group = stats.add_group();
      group->set_group(first);
      group->set_real(second);
      *group->mutable_counts() = std::move(row);
    } else {
      auto* virt = stats.add_virt();
      virt->set_virt(first);
      virt->set_real(second);
      *virt->mutable_counts() = std::move(row);
    }
  }
}

// Fragments and ICMP errors.
void Director::add_slow_path(forwarding::Stats& stats) const {
  const auto sum = [&](auto count) { return over(workers_, count); };
  stats.set_fragmented_current(sum([](const Switch& w) { return w.fragments().current(); }));
  stats.set_fragmented_total(sum([](const Switch& w) { return w.fragments().total(); }) - base_.fragmented);
  stats.set_fragmented_pushed_out(sum([](const Switch& w) { return w.fragments().pushed_out(); }) -
                                  base_.pushed_out);
  stats.set_errors_built(sum([](const Switch& w) { return w.errors_built(); }) - base_.errors_built);
  stats.set_errors_withheld(sum([](const Switch& w) { return w.errors_withheld(); }) - base_.errors_withheld);
}

forwarding::Stats Director::stats() const {
  forwarding::Stats stats;
  stats.set_generation(published_.number());
  stats.set_maximum_sessions(over(workers_, [](const Switch& w) { return w.capacity(); }));
  stats.set_current_sessions(over(workers_, [](const Switch& w) { return w.sessions(); }));
  stats.set_terminated_sessions(over(workers_, [](const Switch& w) { return w.terminated(); }) -
                                base_.terminated);
  add_slow_path(stats);
  stats.set_half_open_sessions(over(workers_, [](const Switch& w) { return w.half_open(); }));
  stats.set_opened_sessions(over(workers_, [](const Switch& w) { return w.opened(); }));
  stats.set_opened_tcp_sessions(over(workers_, [](const Switch& w) { return w.opened_tcp(); }));
  stats.set_answered_tcp_sessions(over(workers_, [](const Switch& w) { return w.answered_tcp(); }));
  stats.set_resets_built(over(workers_, [](const Switch& w) { return w.resets(); }) - base_.resets);
  stats.set_backup_activations(backup_activations_ - base_.backup_activations);
  stats.set_overflow_activations(shared_.overflow_activations.load(std::memory_order_relaxed) -
                                 base_.overflow_activations);
  stats.set_packets_in(over(workers_, [](const Switch& w) { return w.packets_in(); }) - base_.packets_in);
  for (std::size_t f = 0; f < kFates; ++f) {
    const auto fate = static_cast<Fate>(f);
    auto* row = stats.add_fate();
    row->set_fate(std::string(name(fate)));
    row->set_packets(over(workers_, [&](const Switch& w) { return w.fate(fate); }) - base_.fates[f]);
  }
  for (const Fate fate : {Fate::reset_no_real, Fate::drop_no_real}) {
    const std::uint64_t refused = over(workers_, [&](const Switch& w) { return w.fate(fate); });
    stats.set_no_available_real(stats.no_available_real() + refused -
                                base_.fates[static_cast<std::size_t>(fate)]);
  }
  if (shared_.persistence != nullptr) {
    stats.set_bound_clients(shared_.persistence->size());
    stats.set_bound_clients_refused(shared_.persistence->refused() - base_.bound_refused);
  }
  add_rows(stats);
  return stats;
}

forwarding::TrafficFailure Director::untold(const TargetKey& key, const Target& target) {
  forwarding::TrafficFailure failure;
  forwarding::Target& named = *failure.mutable_target();
  named.set_real(std::get<0>(key));
  named.set_port(std::get<1>(key));
  named.set_protocol(std::get<2>(key));
  named.set_check(std::get<3>(key));
  for (const auto& [service, slot] : target.uses) {
    const Sums now = sums(slot);
    Sums& reported = bound_[slot].reported;
    failure.set_refused(failure.refused() + static_cast<std::uint32_t>(now.refused - reported.refused));
    failure.set_unanswered(failure.unanswered() +
                           static_cast<std::uint32_t>(now.unanswered - reported.unanswered));
    reported = now;
  }
  return failure;
}

std::vector<forwarding::TrafficFailure> Director::traffic_failures(Tick now) {
  std::vector<forwarding::TrafficFailure> failures;
  for (auto& [key, target] : targets_) {
    if (target.told && now.since(*target.told) < static_cast<std::int32_t>(Tick::kPerSecond)) continue;
    forwarding::TrafficFailure failure = untold(key, target);
    if (failure.refused() == 0 && failure.unanswered() == 0) continue;
    target.told = now;
    failures.push_back(std::move(failure));
  }
  return failures;
}

void Director::clear_stats() {
  base_.backup_activations = backup_activations_;
  if (shared_.persistence != nullptr) base_.bound_refused = shared_.persistence->refused();
  base_.overflow_activations = shared_.overflow_activations.load(std::memory_order_relaxed);
  base_.terminated = over(workers_, [](const Switch& w) { return w.terminated(); });
  base_.resets = over(workers_, [](const Switch& w) { return w.resets(); });
  base_.fragmented = over(workers_, [](const Switch& w) { return w.fragments().total(); });
  base_.pushed_out = over(workers_, [](const Switch& w) { return w.fragments().pushed_out(); });
  base_.errors_built = over(workers_, [](const Switch& w) { return w.errors_built(); });
  base_.errors_withheld = over(workers_, [](const Switch& w) { return w.errors_withheld(); });
  base_.packets_in = over(workers_, [](const Switch& w) { return w.packets_in(); });
  for (std::size_t f = 0; f < kFates; ++f) {
    base_.fates[f] = over(workers_, [&](const Switch& w) { return w.fate(static_cast<Fate>(f)); });
  }
  for (auto& [key, info] : tallies_) {
    Tally& tally = shared_.tallies[info.slot];
    info.retired = {};
    tally.highest.store(tally.current.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  for (const auto& [key, slot] : slots_) bound_[slot].base = sums(slot);
}

}  // namespace headgate::core
