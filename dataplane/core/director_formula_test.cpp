// SPDX-License-Identifier: Apache-2.0
// Health formulas of groups: when they close a group, and which of them are refused.
#include "dataplane/core/director.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dataplane/core/selection_bed.h"

namespace headgate::core {
namespace {

using forwarding::CLOSED, forwarding::DRAINING, forwarding::LAST, forwarding::OPEN, forwarding::Term;

struct Formula : ::testing::Test {
  Shared shared;
  Director director{shared};
  forwarding::Service service;

  Formula() {
    service.set_virt(1);
    service.set_vip(Ip(Ipv4{0x0a0a0164}).wire());
    service.set_vport(80);
    service.set_protocol(6);
    for (const std::uint32_t real : {1u, 2u, 3u}) *service.add_member() = member(real);
    *service.add_fallback()->add_member() = member(4);
  }
  static forwarding::Member member(std::uint32_t real) {
    forwarding::Member out;
    out.set_real(real);
    out.set_rip(Ip(Ipv4{0x0a0a020a + real}).wire());
    out.set_rport(80);
    out.set_weight(1);
    out.set_idle_seconds(600);
    out.mutable_target()->set_real(real);
    return out;
  }
  /// In postfix order: '&', '|', else a number.
  void set(std::string_view postfix) {
    service.clear_formula();
    for (const char c : postfix) {
      Term& term = *service.add_formula();
      term.set_join(c == '&' ? Term::AND : c == '|' ? Term::OR : Term::MEMBER);
      if (term.join() == Term::MEMBER) term.set_real(static_cast<std::uint32_t>(c - '0'));
    }
  }
  [[nodiscard]] Status publish() {
    forwarding::Generation generation;
    generation.set_number(1);
    *generation.add_service() = service;
    return director.publish(generation);
  }
  void tell(std::uint32_t real, forwarding::Admission admission) {
    forwarding::States states;
    auto& target = *states.add_target();
    target.mutable_target()->set_real(real);
    target.set_admission(admission);
    director.set_states(states);
  }
  void tell_all(forwarding::Admission admission) {
    for (const std::uint32_t real : {1u, 2u, 3u, 4u}) tell(real, admission);
  }
  bool closed() { return director.build()->selections[0]->group_closed; }
  /// Who takes a session.
  std::uint32_t taker() {
    const auto built = director.build();
    const Member* member =
        pick(built->layout->services[0], *built->selections[0], shared, {client(1), L4Port{1}, 0});
    return member == nullptr ? 0 : member->number;
  }
  void expect_refused(std::string_view postfix, const std::string& sentence) {
    set(postfix);
    EXPECT_EQ(publish().error().message, "service 80 of virtual server 1: the formula " + sentence)
        << postfix;
    EXPECT_EQ(director.published().number(), 0u) << "nothing has changed";
  }
};

TEST_F(Formula, ClosesTheGroupWhileItIsFalse) {
  set("12|3&");
  ASSERT_TRUE(publish().ok());
  EXPECT_TRUE(closed()) << "nobody is open yet";
  tell_all(OPEN);
  EXPECT_FALSE(closed());
  tell(1, CLOSED);
  EXPECT_FALSE(closed());
  tell(2, CLOSED);
  EXPECT_TRUE(closed());
  EXPECT_EQ(taker(), 4u) << "the group that steps in";
  tell(1, OPEN);
  EXPECT_FALSE(closed());
  EXPECT_NE(taker(), 4u);
  tell(3, CLOSED);
  EXPECT_TRUE(closed());
}

TEST_F(Formula, AServerThatIsLastIsTrueAndOneThatDrainsIsNot) {
  set("1");
  ASSERT_TRUE(publish().ok());
  tell_all(OPEN);
  tell(1, LAST);
  EXPECT_FALSE(closed());
  tell(1, DRAINING);
  EXPECT_TRUE(closed());
}

TEST_F(Formula, ABackupIsNotTheServerItStandsInFor) {
  *service.mutable_member(0)->add_backup() = member(4);
  set("1");
  ASSERT_TRUE(publish().ok());
  tell_all(OPEN);
  tell(1, CLOSED);
  EXPECT_TRUE(closed());
}

TEST_F(Formula, AMemberThatRestsIsFalse) {
  service.mutable_member(0)->set_resting(true);
  set("1");
  ASSERT_TRUE(publish().ok());
  tell_all(OPEN);
  EXPECT_TRUE(closed());
}

TEST_F(Formula, AServerWithSeveralPortsIsTrueByAnyOfThem) {
  auto& other = *service.add_member() = member(1);
  other.set_rport(81);
  other.mutable_target()->set_port(81);
  set("1");
  ASSERT_TRUE(publish().ok());
  tell(1, OPEN);
  EXPECT_FALSE(closed());
}

TEST_F(Formula, IsAskedBesideTheThresholds) {
  service.set_min_available(2);
  service.set_max_available(3);
  set("1");
  ASSERT_TRUE(publish().ok());
  tell_all(OPEN);
  EXPECT_FALSE(closed());
  tell(1, CLOSED);
  EXPECT_TRUE(closed()) << "two are left, but not the first";
  tell(2, CLOSED);
  tell(1, OPEN);
  EXPECT_TRUE(closed()) << "while it was false there were too few, so that all three are needed";
  tell(2, OPEN);
  EXPECT_FALSE(closed());
}

TEST_F(Formula, OfAnApplyHoldsAtOnce) {
  ASSERT_TRUE(publish().ok());
  tell_all(OPEN);
  tell(1, CLOSED);
  EXPECT_FALSE(closed());
  set("1");
  ASSERT_TRUE(publish().ok());
  EXPECT_TRUE(closed());
  set("");
  ASSERT_TRUE(publish().ok());
  EXPECT_FALSE(closed());
}

TEST_F(Formula, ThatHasNoValueIsRefused) {
  expect_refused("&", "joins what is not there");
  expect_refused("1|", "joins what is not there");
  expect_refused("12&|", "joins what is not there");
  expect_refused("12", "leaves 2 values unjoined");
  expect_refused("123&", "leaves 2 values unjoined");
  expect_refused("14&", "names real server 4, which is no member");
  set("12&");
  service.mutable_formula(2)->set_join(static_cast<Term::Join>(7));
  EXPECT_EQ(publish().error().message, "service 80 of virtual server 1: the formula joins what is not there");
}

}  // namespace
}  // namespace headgate::core
