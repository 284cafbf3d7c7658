// SPDX-License-Identifier: Apache-2.0
#include "controlplane/control/service.h"

#include "controlplane/daemon/engine_fixture.h"

namespace headgate::daemon {
namespace {

class ServiceTest : public EngineTest {
 protected:
  ServiceTest() {
    start_lab();
    service_ = std::make_unique<control::Service>(*engine_);
  }

  control::Reply ask(control::Conversation& talk, const std::function<void(control::Request&)>& fill) {
    control::Request request;
    request.set_id(7);
    fill(request);
    control::Reply reply;
    service_->handle(talk, request, [&](control::Reply given, bool) { reply = std::move(given); });
    EXPECT_EQ(reply.id(), 7u);
    return reply;
  }
  control::Reply open(control::Conversation& talk, const std::string& resume = {}) {
    return ask(talk, [&](control::Request& request) { request.mutable_open()->set_resume(resume); });
  }
  control::Reply edit(control::Conversation& talk, const std::string& lines) {
    return ask(talk, [&](control::Request& request) { request.mutable_edit()->set_lines(lines); });
  }
  control::Reply apply_now(control::Conversation& talk) {
    return ask(talk, [](control::Request& request) { request.mutable_apply(); });
  }

  control::Conversation admin_{{0, config::ADMIN}, {}};
  std::unique_ptr<control::Service> service_;
};

TEST_F(ServiceTest, EditIsPendingUntilApplied) {
  open(admin_);
  const auto edited = edit(admin_, "/c/slb/real 1/weight 5");
  EXPECT_EQ(edited.error_size(), 0);
  EXPECT_TRUE(edited.edited().pending());
  const auto diff = ask(admin_, [](control::Request& request) { request.mutable_diff(); });
  EXPECT_THAT(diff.text().text(), testing::HasSubstr("weight 5"));
  EXPECT_EQ(engine_->running().slb().real(0).weight(), 1u);
  EXPECT_EQ(apply_now(admin_).error_size(), 0);
  EXPECT_EQ(engine_->running().slb().real(0).weight(), 5u);
  EXPECT_FALSE(edit(admin_, "/c/slb/real 1/weight 5").edited().pending()) << "as it is already";
}

TEST_F(ServiceTest, ASessionIsResumedByItsUserOnly) {
  const std::string session = open(admin_).opened().session();
  edit(admin_, "/c/slb/real 1/weight 5");
  control::Conversation again{{0, config::ADMIN}, {}};
  const auto resumed = open(again, session);
  EXPECT_TRUE(resumed.opened().resumed());
  EXPECT_TRUE(resumed.opened().pending());
  control::Conversation other{{1000, config::ADMIN}, {}};
  EXPECT_FALSE(open(other, session).opened().resumed());
}

TEST_F(ServiceTest, TheFirstBadLineStopsAnEditAndIsNamed) {
  open(admin_);
  const auto reply = edit(admin_, "/c/slb/real 1/weight 5\n/c/slb/real 1/weight 99\n/c/slb/real 1/weight 7");
  ASSERT_EQ(reply.error_size(), 1);
  EXPECT_THAT(reply.error(0), testing::HasSubstr("99 is not allowed"));
  EXPECT_EQ(reply.edited().lines(), 1u);
  apply_now(admin_);
  EXPECT_EQ(engine_->running().slb().real(0).weight(), 5u);
}

TEST_F(ServiceTest, LevelsBoundWhatAUserMayDo) {
  control::Conversation user{{1000, config::USER}, {}};
  open(user);
  EXPECT_EQ(edit(user, "/c/slb/real 1/weight 5").error_size(), 1);
  EXPECT_EQ(apply_now(user).error_size(), 1);
  const auto set = [](control::Request& request) {
    request.mutable_operation()->set_real(1);
    request.mutable_operation()->set_operation(forwarding::DRAIN);
  };
  EXPECT_EQ(ask(user, set).error_size(), 1);
  control::Conversation oper{{1001, config::SLBOPER}, {}};
  EXPECT_EQ(ask(oper, set).error_size(), 0);
  EXPECT_EQ(ask(user, [](control::Request& request) { request.mutable_status(); }).error_size(), 0);
}

TEST_F(ServiceTest, AnSlbAdministratorChangesLoadBalancingOnly) {
  control::Conversation slb{{1002, config::SLBADMIN}, {}};
  open(slb);
  const auto reply = edit(slb, "/c/slb/real 1/weight 5\n/c/l3/if 1/addr 10.10.1.6\n/c/slb/real 2/weight 6");
  ASSERT_EQ(reply.error_size(), 1);
  EXPECT_EQ(reply.error(0), "this user may change /cfg/slb only");
  EXPECT_EQ(reply.edited().lines(), 1u);
  EXPECT_EQ(apply_now(slb).error_size(), 0);
  EXPECT_EQ(engine_->running().slb().real(0).weight(), 5u);
  EXPECT_EQ(engine_->running().slb().real(1).weight(), 1u);
  EXPECT_EQ(engine_->running().l3().interface(0).addr(), "10.10.1.5");
}

TEST_F(ServiceTest, AnApplyAsksForTheLevelOfToday) {
  const std::string session = open(admin_).opened().session();
  edit(admin_, "/c/l3/if 1/addr 10.10.1.6");
  control::Conversation lowered{{0, config::SLBADMIN}, {}};
  open(lowered, session);
  EXPECT_EQ(apply_now(lowered).error_size(), 1);
  EXPECT_EQ(engine_->running().l3().interface(0).addr(), "10.10.1.5");
}

TEST_F(ServiceTest, StatusTellsStateReasonAndTheCheckThatIsUsed) {
  EXPECT_EQ(edit(admin_, "x").error_size(), 1) << "needs a session";
  prober_->down = {{kServer1, 8080}};
  time_->pass(milliseconds(10'000));
  const auto status = ask(admin_, [](control::Request& request) { request.mutable_status(); }).status();
  EXPECT_TRUE(status.slb_on());
  EXPECT_EQ(status.real(0).state(), control::UP);
  const auto& member = status.virt(0).service(1).vport() == 80 ? status.virt(0).service(1).member(0)
                                                               : status.virt(0).service(0).member(0);
  EXPECT_EQ(member.state(), control::FAILED);
  EXPECT_EQ(member.reason(), "refused");
  EXPECT_EQ(status.virt(0).state(), control::UP);
  EXPECT_EQ(status.real(0).target(0).check(), "tcp");
}

TEST_F(ServiceTest, RevertApplyGoesBackToWhatWasSaved) {
  open(admin_);
  ASSERT_TRUE(engine_->save(config::Store::Rotation::into_backup).ok());
  edit(admin_, "/c/slb/real 1/weight 5");
  apply_now(admin_);
  EXPECT_EQ(engine_->running().slb().real(0).weight(), 5u);
  const auto reply =
      ask(admin_, [](control::Request& request) { request.mutable_revert()->set_applied_too(true); });
  EXPECT_EQ(reply.error_size(), 0);
  EXPECT_EQ(engine_->running().slb().real(0).weight(), 1u);
}

TEST_F(ServiceTest, StatusTellsWhoStandsByAndWhoIsFull) {
  EXPECT_THAT(apply(config::with(config::lab(),
                                 "/c/slb/real 3/ena/rip 10.10.2.13\n/c/slb/real 1/backup 3/maxcon 5\n"
                                 "/c/slb/group 1/slowstr 3600/backup g2/secbkp g2\n"
                                 "/c/slb/virt 1/service http/pbind clientip"))
                  .errors,
              IsEmpty());
  time_->pass(milliseconds(3000));
  const auto http = [&] {
    const auto status = ask(admin_, [](control::Request& request) { request.mutable_status(); }).status();
    for (const auto& service : status.virt(0).service())
      if (service.vport() == 80) return service;
    return control::ServiceStatus();
  };
  const auto idle = http();
  ASSERT_EQ(idle.member_size(), 3);
  EXPECT_EQ(idle.backup(), "g2 then g2");
  EXPECT_EQ(idle.pbind(), "clientip");
  EXPECT_EQ(idle.member(0).state(), control::SLOWSTART);
  EXPECT_EQ(idle.member(0).backup(), "3");
  EXPECT_EQ(idle.member(2).state(), control::BLOCKED);
  EXPECT_TRUE(idle.member(2).standby());

  forwarding::RealStats& row = *dataplane_.stats.add_real();
  row.set_real(1);
  row.mutable_counts()->set_current(5);
  time_->pass(milliseconds(1000));
  EXPECT_EQ(http().member(0).state(), control::OVERFLOW);
  EXPECT_EQ(http().member(2).state(), control::SLOWSTART);
}

}  // namespace
}  // namespace headgate::daemon
