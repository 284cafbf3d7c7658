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

memory::Base Director::totals() const {
  const auto sum = [&](auto count) { return over(workers_, count); };
  memory::Base now;
  now.set_packets_in(sum([](const Switch& w) { return w.packets_in(); }));
  now.set_terminated(sum([](const Switch& w) { return w.terminated(); }));
  now.set_resets(sum([](const Switch& w) { return w.resets(); }));
  now.set_errors_built(sum([](const Switch& w) { return w.errors_built(); }));
  now.set_errors_withheld(sum([](const Switch& w) { return w.errors_withheld(); }));
  now.set_fragmented(sum([](const Switch& w) { return w.fragments().totals().datagrams.get(); }));
  now.set_pushed_out(sum([](const Switch& w) { return w.fragments().totals().pushed_out.get(); }));
  now.set_backup_activations(shared_.totals.backup_activations.load(std::memory_order_relaxed));
  now.set_overflow_activations(shared_.totals.overflow_activations.load(std::memory_order_relaxed));
  now.set_bound_refused(shared_.totals.bound_refused.load(std::memory_order_relaxed));
  for (std::size_t f = 0; f < kFates; ++f)
    now.add_fate(sum([&](const Switch& w) { return w.fate(static_cast<Fate>(f)); }));
  return now;
}

// What totals() has grown by since the last clear.
void Director::add_totals(forwarding::Stats& stats) const {
  const memory::Base now = totals();
  stats.set_packets_in(now.packets_in() - base_.packets_in());
  stats.set_terminated_sessions(now.terminated() - base_.terminated());
  stats.set_resets_built(now.resets() - base_.resets());
  stats.set_errors_built(now.errors_built() - base_.errors_built());
  stats.set_errors_withheld(now.errors_withheld() - base_.errors_withheld());
  stats.set_fragmented_total(now.fragmented() - base_.fragmented());
  stats.set_fragmented_pushed_out(now.pushed_out() - base_.pushed_out());
  stats.set_backup_activations(now.backup_activations() - base_.backup_activations());
  stats.set_overflow_activations(now.overflow_activations() - base_.overflow_activations());
  stats.set_bound_clients_refused(now.bound_refused() - base_.bound_refused());
  for (std::size_t f = 0; f < kFates; ++f) {
    const auto fate = static_cast<Fate>(f);
    const std::uint64_t packets = now.fate(static_cast<int>(f)) - base_.fate(static_cast<int>(f));
    auto* row = stats.add_fate();
    row->set_fate(std::string(name(fate)));
    row->set_packets(packets);
    if (fate == Fate::reset_no_real || fate == Fate::drop_no_real)
      stats.set_no_available_real(stats.no_available_real() + packets);
  }
}

forwarding::Stats Director::stats() const {
  const auto sum = [&](auto count) { return over(workers_, count); };
  forwarding::Stats stats;
  stats.set_generation(published_.number());
  stats.set_maximum_sessions(sum([](const Switch& w) { return w.capacity(); }));
  stats.set_current_sessions(sum([](const Switch& w) { return w.sessions(); }));
  stats.set_half_open_sessions(sum([](const Switch& w) { return w.half_open(); }));
  stats.set_opened_sessions(sum([](const Switch& w) { return w.opened(); }));
  stats.set_opened_tcp_sessions(sum([](const Switch& w) { return w.opened_tcp(); }));
  stats.set_answered_tcp_sessions(sum([](const Switch& w) { return w.answered_tcp(); }));
  stats.set_fragmented_current(sum([](const Switch& w) { return w.fragments().current(); }));
  if (shared_.persistence != nullptr) stats.set_bound_clients(shared_.persistence->size());
  add_totals(stats);
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
  base_ = totals();
  for (auto& [key, info] : tallies_) {
    Tally& tally = shared_.tallies[info.slot];
    info.retired = {};
    tally.highest.store(tally.current.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  for (const auto& [key, slot] : slots_) bound_[slot].base = sums(slot);
  for (const BindingSlot slot : lingering_) bound_[slot].base = sums(slot);
}

}  // namespace headgate::core
