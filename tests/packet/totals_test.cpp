// SPDX-License-Identifier: Apache-2.0
// What is counted goes on over the end of a process: the next one tells the numbers that the one before told.
#include <string>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include "tests/packet/beds.h"
#include "tests/packet/choice_sites.h"
#include "tests/packet/survival_bed.h"

namespace headgate::testing {
namespace {

/// A shop whose first server has a limit and a stand-in, and names at two virtual servers; `with_names` of
/// the second one.
Site site(bool with_names = true) {
  Site site;
  site.service(1, 80, 8080, {1, 2});
  auto& shop = *site.edit().mutable_service(0);
  shop.set_persist_seconds(60);
  *shop.mutable_member(0)->add_backup() = backup_of(site, 3);
  shop.mutable_member(0)->set_maxcon(2);
  shop.mutable_member(0)->set_overflow(true);
  site.service(2, 53, 5353, {4}).udp();
  if (with_names) site.service(3, 53, 5353, {5}).udp();
  return site;
}

std::string client(unsigned number) {
  return "10.10.1." + std::to_string(10 + number);
}

/// Something of everything that is counted.
void live(Core& core) {
  const auto from_client = [&](const Packet& packet) { core.pass(packet.in(kClientPort)); };
  // More clients than persistence remembers and the first server takes; the first one's session goes on.
  for (unsigned n = 0; n < 8; ++n) from_client(ip(client(n), kVip).tcp(40000, 80, kSyn).seq(1000));
  core.pass(ip(kServer1, client(0)).tcp(8080, 40000, kSyn | kAck).seq(5000).ack(1001).in(kServerPort));
  from_client(ip(client(0), kVip).tcp(40000, 80, kAck).seq(1001).ack(5001));
  // More datagrams in fragments than the table of them has room for.
  const Packet question = ip(client(0), "10.10.1.101").udp(40000, 53, text(64));
  for (std::uint32_t n = 0; n < core::Fragments::kDatagrams + 10; ++n)
    from_client(question.fragments(32, n).front());
  from_client(ip(client(1), "10.10.1.102").udp(40000, 53, "q"));
  // Servers that fail: a session ends, a stand-in steps in, new sessions find nobody.
  const auto& services = core.director.published().service();
  const auto shop = services[0].member(0).target();
  core.admit(shop, forwarding::CLOSED);
  from_client(ip(client(0), kVip).tcp(40000, 80, kAck).seq(1001).ack(5001));
  core.admit(services[1].member(0).target(), forwarding::CLOSED);
  for (unsigned n = 0; n < 2 * core::AnswerLimits::kBurst; ++n)
    from_client(ip(client(2), "10.10.1.101").udp(static_cast<std::uint16_t>(41000 + n), 53, "q"));
  core.admit(shop, forwarding::OPEN);
}

/// All that a switch tells, without what a start begins anew: clients' entries and fragments are not kept.
std::string told(const Core& core) {
  forwarding::Stats stats = core.director.stats();
  stats.clear_bound_clients();
  stats.clear_fragmented_current();
  return stats.DebugString();
}

TEST(Totals, ThisHistoryHasSomethingOfEverything) {
  const Memory memory;
  Core core(memory, all_open(site()));
  live(core);
  const forwarding::Stats stats = core.director.stats();
  for (int i = 0; i < stats.GetDescriptor()->field_count(); ++i) {
    const auto* field = stats.GetDescriptor()->field(i);
    if (field->is_repeated()) continue;
    EXPECT_GT(stats.GetReflection()->GetUInt64(stats, field), 0u) << field->name();
  }
}

/// What a process tells at its end, after `then`, has to be what the next one tells; that one's numbers.
template <class Then>
forwarding::Stats told_by_the_next(Then&& then) {
  const Memory memory;
  std::string before;
  Stored stored;
  {
    Core core(memory, all_open(site()));
    live(core);
    stored = then(core);
    before = told(core);
  }
  const Core next(memory, stored);
  EXPECT_EQ(told(next), before);
  return next.director.stats();
}

TEST(Totals, TheNextProcessTellsWhatTheOneBeforeTold) {
  const forwarding::Stats stats = told_by_the_next([](Core& core) { return core.store(); });
  EXPECT_GT(stats.packets_in(), 0u);
}

TEST(Totals, WhatWasClearedStaysSo) {
  const forwarding::Stats stats = told_by_the_next([](Core& core) {
    core.director.clear_stats();
    Stored stored = core.store();
    core.pass(ip(client(20), kVip).tcp(40000, 80, kSyn).in(kClientPort));
    return stored;
  });
  EXPECT_EQ(stats.packets_in(), 1u);
}

TEST(Totals, TrafficOfAServiceThatIsGoneStaysWithItsServer) {
  const forwarding::Stats stats = told_by_the_next([](Core& core) {
    core.publish(site(false));
    core.worker.sweep(core.now, kSessions);  // its session is given up
    return core.store();
  });
  for (const auto& row : stats.real())
    EXPECT_TRUE(row.real() != 5 || row.counts().packets() == 1) << row.counts().packets();
}

}  // namespace
}  // namespace headgate::testing
