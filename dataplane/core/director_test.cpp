// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/director.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dataplane/core/switch.h"

namespace headgate::core {
namespace {

forwarding::Service service(std::uint32_t virt, const std::vector<std::uint32_t>& reals,
                            std::uint32_t vport = 80) {
  forwarding::Service out;
  out.set_virt(virt);
  out.set_vip(Ip(Ipv4{0x0a0a0163 + virt}).wire());
  out.set_vport(vport);
  out.set_protocol(6);
  out.set_group(1);
  for (const std::uint32_t real : reals) {
    auto& member = *out.add_member();
    member.set_real(real);
    member.set_rip(Ip(Ipv4{0x0a0a020a + real}).wire());
    member.set_rport(8080);
    member.set_weight(1);
    member.set_idle_seconds(600);
    member.mutable_target()->set_real(real);
    member.mutable_target()->set_port(8080);
    member.mutable_target()->set_protocol(6);
    member.mutable_target()->set_check("tcp");
  }
  return out;
}

forwarding::Generation generation(const std::vector<forwarding::Service>& services) {
  forwarding::Generation out;
  out.set_number(1);
  for (const auto& one : services) *out.add_service() = one;
  return out;
}

forwarding::States state(std::uint32_t real, forwarding::Admission admission,
                         const std::string& check = "tcp") {
  forwarding::States out;
  auto& target = *out.add_target();
  target.mutable_target()->set_real(real);
  target.mutable_target()->set_port(8080);
  target.mutable_target()->set_protocol(6);
  target.mutable_target()->set_check(check);
  target.set_admission(admission);
  target.set_reason("because");
  return out;
}

struct Fixture : ::testing::Test {
  Shared shared;
  Director director{shared};

  void publish(const std::vector<forwarding::Service>& services) {
    ASSERT_TRUE(director.publish(generation(services)).ok());
  }
  /// The real servers that take new sessions of a service.
  std::vector<std::size_t> open(std::size_t index = 0) {
    const auto built = director.build();
    const auto& positions = built->selections[index]->tiers[0].open;
    return {positions.begin(), positions.end()};
  }
  BindingSlot slot(std::size_t index, std::size_t member) {
    return director.build()->layout->services[index].members[member].binding;
  }
};

using Positions = std::vector<std::size_t>;

struct Publish : Fixture {
  void expect_refused(const forwarding::Service& wrong, const std::string& word) {
    publish({service(1, {1})});
    const BindingSlot before = slot(0, 0);
    const Status refused = director.publish(generation({service(2, {2}), wrong}));
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find(word), std::string::npos) << refused.error().message;
    EXPECT_EQ(director.build()->layout->services.size(), 1u) << "nothing has changed";
    EXPECT_EQ(director.published().service(0).virt(), 1u);
    EXPECT_EQ(slot(0, 0), before);
  }
};

TEST_F(Publish, RefusesWhatCannotBeSwitchedAndChangesNothing) {
  expect_refused(service(3, {1}, 0), "port must be 1-65535");
  expect_refused(service(3, {1}, 65536), "port must be 1-65535");
  expect_refused(service(2, {1}), "another service has the same address and port");
  expect_refused(service(3, {1, 1}), "real server 1 is listed twice");
  forwarding::Service sctp = service(3, {1});
  sctp.set_protocol(132);
  expect_refused(sctp, "protocol 132 is not balanced");
  forwarding::Service short_vip = service(3, {1});
  short_vip.set_vip("abc");
  expect_refused(short_vip, "service 80 of virtual server 3: an address has 4 or 16 octets, not 3");
  short_vip.clear_vip();
  expect_refused(short_vip, "service 80 of virtual server 3: the address is missing");
  forwarding::Service long_rip = service(3, {1});
  long_rip.mutable_member(0)->set_rip(std::string(17, 'a'));
  expect_refused(long_rip, "real server 1: an address has 4 or 16 octets, not 17");
  long_rip.mutable_member(0)->clear_rip();
  expect_refused(long_rip, "real server 1: the address is missing");
  forwarding::Service mixed = service(3, {1});
  mixed.mutable_member(0)->set_rip(Ip::parse("2001:db8::1")->wire());
  expect_refused(mixed, "real server 1 has the address 2001:db8::1, of another family than 10.10.1.102");
  forwarding::Service weightless = service(3, {1});
  weightless.mutable_member(0)->set_weight(0);
  expect_refused(weightless, "weight 1-65535");
  forwarding::Service portless = service(3, {1});
  portless.mutable_member(0)->set_rport(70000);
  expect_refused(portless, "needs a port 1-65535");
  forwarding::Service ageless = service(3, {1});
  ageless.mutable_member(0)->set_idle_seconds(0);
  expect_refused(ageless, "must live 1-134217727 seconds without packets, not 0");
  ageless.mutable_member(0)->set_idle_seconds(134217728);
  expect_refused(ageless, "not 134217728");
}

TEST_F(Publish, WhatCheckRefusesPublishRefusesToo) {
  forwarding::Generation lasting = generation({service(1, {1})});
  lasting.mutable_ageing()->set_closed_seconds(67108864);
  ASSERT_FALSE(director.check(lasting).ok());
  EXPECT_EQ(director.publish(lasting).error().message, director.check(lasting).error().message);
  lasting.mutable_ageing()->set_closed_seconds(2);
  EXPECT_TRUE(director.check(lasting).ok());
  EXPECT_EQ(director.published().number(), 0u) << "a check changes nothing";
}

TEST_F(Publish, TooManyBindingsAreRefused) {
  std::vector<std::uint32_t> reals;
  for (std::uint32_t real = 1; real <= 1000; ++real) reals.push_back(real);
  std::vector<forwarding::Service> services;
  for (std::uint32_t virt = 1; virt <= 66; ++virt) services.push_back(service(virt, reals));
  const Status refused = director.publish(generation(services));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("66000"), std::string::npos) << refused.error().message;
  services.resize(65);
  EXPECT_TRUE(director.publish(generation(services)).ok());
}

TEST_F(Fixture, ANewTargetStaysClosedUntilItsStateComes) {
  publish({service(1, {1, 2})});
  EXPECT_EQ(open(), Positions{});
  director.set_states(state(2, forwarding::OPEN));
  EXPECT_EQ(open(), Positions{1});
}

TEST_F(Fixture, AStateThatCameFirstHoldsForTheGenerationToCome) {
  director.set_states(state(1, forwarding::OPEN));
  director.set_states(state(9, forwarding::OPEN));
  publish({service(1, {1})});
  EXPECT_EQ(open(), Positions{0});
  EXPECT_EQ(director.states().target_size(), 2) << "the unknown one is remembered";
}

TEST_F(Fixture, AStateHoldsForEveryServiceOfItsTarget) {
  publish({service(1, {1}), service(2, {1})});
  director.set_states(state(1, forwarding::OPEN));
  EXPECT_EQ(open(0), Positions{0});
  EXPECT_EQ(open(1), Positions{0});
}

TEST_F(Fixture, ChecksOfTheSameServerHaveStatesOfTheirOwn) {
  forwarding::Service http = service(2, {1});
  http.mutable_member(0)->mutable_target()->set_check("http /");
  publish({service(1, {1}), http});
  director.set_states(state(1, forwarding::OPEN, "tcp"));
  EXPECT_EQ(open(0), Positions{0});
  EXPECT_EQ(open(1), Positions{});
}

TEST_F(Fixture, AnApplyKeepsStatesSlotsAndEpochs) {
  publish({service(1, {1, 2})});
  director.set_states(state(1, forwarding::OPEN));
  const BindingSlot before = slot(0, 0);
  const std::uint16_t epoch = shared.state(before).epoch;
  publish({service(3, {2}), service(1, {2, 1})});
  EXPECT_EQ(slot(1, 1), before);
  EXPECT_EQ(shared.state(before).epoch, epoch);
  EXPECT_EQ(open(1), Positions{1});
}

TEST_F(Fixture, AChangedCheckKeepsTheAdmissionUntilItsStateComes) {
  publish({service(1, {1})});
  director.set_states(state(1, forwarding::OPEN));
  forwarding::Service http = service(1, {1});
  http.mutable_member(0)->mutable_target()->set_check("http /");
  publish({http});
  EXPECT_EQ(open(), Positions{0});
  director.set_states(state(1, forwarding::CLOSED, "http /"));
  EXPECT_EQ(open(), Positions{});
}

TEST_F(Fixture, AWholeListForgetsEveryOther) {
  publish({service(1, {1, 2})});
  director.set_states(state(1, forwarding::OPEN));
  forwarding::States whole = state(2, forwarding::OPEN);
  whole.set_whole(true);
  director.set_states(whole);
  ASSERT_EQ(director.states().target_size(), 1);
  EXPECT_EQ(director.states().target(0).target().real(), 2u);
  EXPECT_EQ(director.states().target(0).reason(), "because");
}

TEST_F(Fixture, OperationsAreHandedBack) {
  forwarding::States states;
  states.add_operation()->set_real(3);
  states.mutable_operation(0)->set_operation(forwarding::DRAIN);
  director.set_states(states);
  ASSERT_EQ(director.states().operation_size(), 1);
  EXPECT_EQ(director.states().operation(0).operation(), forwarding::DRAIN);
}

TEST_F(Fixture, ARemovedBindingEndsItsEpochAndItsSlotIsNotUsedSoon) {
  publish({service(1, {1})});
  director.set_states(state(1, forwarding::OPEN));
  const BindingSlot gone = slot(0, 0);
  const std::uint16_t epoch = shared.state(gone).epoch;
  publish({service(1, {2})});
  EXPECT_EQ(shared.state(gone).admission, forwarding::CLOSED);
  EXPECT_NE(shared.state(gone).epoch, epoch);
  EXPECT_NE(slot(0, 0), gone);
  publish({service(1, {1})});
  EXPECT_NE(slot(0, 0), gone);
  EXPECT_EQ(open(), Positions{0}) << "its target's state was known";
}

TEST_F(Fixture, AReusedSlotKeepsItsEpoch) {
  publish({service(1, {1})});
  director.set_states(state(1, forwarding::OPEN));
  const BindingSlot gone = slot(0, 0);
  publish({});
  const std::uint16_t ended = shared.state(gone).epoch;
  std::vector<std::uint32_t> reals(1000);
  for (std::uint32_t i = 0; i < 1000; ++i) reals[i] = i + 1;
  std::vector<forwarding::Service> all;
  for (std::uint32_t virt = 2; virt <= 66; ++virt) all.push_back(service(virt, reals));
  all.push_back(service(67, std::vector<std::uint32_t>(reals.begin(), reals.begin() + 535)));
  publish(all);  // every slot there is
  EXPECT_EQ(shared.state(gone).epoch, ended);
}

TEST_F(Fixture, PortFlagsFollowThePortsThatExist) {
  forwarding::Generation with_ports = generation({});
  for (const std::uint32_t number : {1u, 7u, 9u}) {
    auto& port = *with_ports.add_port();
    port.set_number(number);
    port.set_client(number != 9);
    port.set_server(number == 9);
  }
  director.set_ports({PortNumber{9}, PortNumber{7}});
  ASSERT_TRUE(director.publish(with_ports).ok());
  EXPECT_EQ(director.build()->layout->ports[Side::client], 0b10u);
  EXPECT_EQ(director.build()->layout->ports[Side::real], 0b01u);
  director.set_ports({PortNumber{1}});
  EXPECT_EQ(director.build()->layout->ports[Side::client], 0b1u);
}

TEST_F(Fixture, RoutesGetANewVersionEachTime) {
  const auto before = director.build()->routes_version;
  director.set_routes({});
  const auto after = director.build()->routes_version;
  EXPECT_NE(before, after);
  director.renew_hops();
  EXPECT_NE(director.build()->routes_version, after);
}

TEST_F(Fixture, AnApplyKeepsTheSelectionsOfServicesItDoesNotTouch) {
  publish({service(1, {1, 2}), service(2, {1})});
  director.set_states(state(1, forwarding::OPEN));
  const auto before = director.build()->selections;
  publish({service(2, {1}), service(1, {1, 2, 3})});
  const auto after = director.build()->selections;
  EXPECT_EQ(after[0], before[1]);
  EXPECT_NE(after[1], before[0]);
  director.set_states(state(3, forwarding::OPEN));
  EXPECT_EQ(director.build()->selections[0], before[1]) << "nor does a state of another service";
  EXPECT_NE(director.build()->selections[1], after[1]);
}

TEST_F(Publish, RefusesWhatCannotBeChosenFrom) {
  forwarding::Service nested = service(3, {1});
  *nested.mutable_member(0)->add_backup() = nested.member(0);
  *nested.mutable_member(0)->mutable_backup(0)->add_backup() = service(3, {2}).member(0);
  expect_refused(nested, "real server 1 is a backup and can't have one itself");
  forwarding::Service portless = service(3, {1});
  *portless.add_fallback()->add_member() = service(3, {2}).member(0);
  portless.mutable_fallback(0)->mutable_member(0)->set_rport(0);
  expect_refused(portless, "real server 2 needs a port");
  forwarding::Service twice = service(3, {1});
  for (int i = 0; i < 2; ++i) {
    if (i == 0) twice.add_fallback();
    *twice.mutable_fallback(0)->add_member() = service(3, {2}).member(0);
  }
  expect_refused(twice, "real server 2 is listed twice");
  forwarding::Service unknown = service(3, {1});
  unknown.set_metric(static_cast<forwarding::Metric>(77));
  expect_refused(unknown, "metric 77 is not known");
  forwarding::Service lasting = service(3, {1});
  lasting.set_persist_seconds(134217728);
  expect_refused(lasting, "persistence may last 134217727 seconds at most, not 134217728");
  lasting.set_persist_seconds(0);
  lasting.set_slow_start_seconds(134217728);
  expect_refused(lasting, "slow start may last 134217727 seconds at most");
  lasting.set_slow_start_seconds(0);
  lasting.set_hash_bits(129);
  expect_refused(lasting, "129 bits of an address, 0-128 are possible");
}

TEST_F(Fixture, ABackupThatIsAMemberTooIsOneBinding) {
  forwarding::Service both = service(1, {1, 2});
  *both.mutable_member(0)->add_backup() = both.member(1);
  publish({both});
  const auto& placed = director.build()->layout->services[0];
  EXPECT_EQ(placed.members.size(), 2u);
  EXPECT_EQ(placed.tiers[0][0].backups, (std::vector<std::uint16_t>{1}));
}

TEST_F(Fixture, TicksChangeNothingWhereNothingFollowsFromTime) {
  publish({service(1, {1, 2})});
  director.set_states(state(1, forwarding::OPEN));
  EXPECT_FALSE(director.tick({100}));
  const auto before = director.build()->selections;
  for (std::uint32_t tick = 100; tick < 10'000; tick += 7) ASSERT_FALSE(director.tick({tick}));
  EXPECT_EQ(director.build()->selections, before);
}

TEST_F(Fixture, AFilterNamesBindingsOfARealAndAVirt) {
  publish({service(1, {1, 2}), service(2, {1})});
  forwarding::SessionFilter asked;
  asked.set_real(1);
  const SessionFilter of_real = director.filter(asked);
  EXPECT_TRUE(of_real.bindings[slot(0, 0)]);
  EXPECT_FALSE(of_real.bindings[slot(0, 1)]);
  EXPECT_TRUE(of_real.bindings[slot(1, 0)]);
  asked.set_virt(2);
  EXPECT_FALSE(director.filter(asked).bindings[slot(0, 0)]);
  EXPECT_TRUE(director.filter({}).bindings.empty());
  asked.set_port(5);
  EXPECT_EQ(director.filter(asked).port, static_cast<int>(kMaxPorts))
      << "a port that does not exist matches nothing";
}

}  // namespace
}  // namespace headgate::core
