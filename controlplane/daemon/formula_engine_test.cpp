// SPDX-License-Identifier: Apache-2.0
#include "controlplane/control/service.h"
#include "controlplane/daemon/engine_fixture.h"

// Health formulas of groups (advhlth), as logs and screens tell of them. Reference 2.2.
namespace headgate::daemon {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kBoth = "/c/slb/group 1/advhlth 1&2\n";

class FormulaTest : public EngineTest {
 protected:
  void start_with(const std::string& more = "") { start_lab(std::string(kBoth) + more); }
  /// What the members of the group are.
  std::vector<control::State> states() {
    control::Service service(*engine_);
    control::Conversation user{{1000, config::USER}, {}};
    control::Request request;
    request.mutable_status();
    std::vector<control::State> out;
    service.handle(user, request, [&](control::Reply reply, bool) {
      for (const auto& member : reply.status().group(0).member()) out.push_back(member.state());
    });
    return out;
  }
};

TEST_F(FormulaTest, EachChangeIsOneLineAndTheOthersAreBlocked) {
  start_with();
  fail(kServer2);
  EXPECT_THAT(lines_,
              Contains("slb: real server group 1: health formula 1&2 is false: no new sessions").Times(1));
  EXPECT_THAT(lines_, Contains(HasSubstr("No real servers are available for service http")));
  EXPECT_THAT(states(), ElementsAre(control::BLOCKED, control::FAILED));
  lines_.clear();
  heal(kServer2);
  EXPECT_THAT(lines_, Contains("slb: real server group 1: health formula 1&2 is true again").Times(1));
  EXPECT_THAT(lines_, Contains(HasSubstr("Real servers are available for service http")));
  EXPECT_THAT(states(), ElementsAre(control::UP, control::UP));
}

TEST_F(FormulaTest, AStartSaysNothingOfIt) {
  start();
  EXPECT_THAT(apply(config::with(config::lab(), kBoth)).errors, IsEmpty());
  time_->pass(milliseconds(3000));
  EXPECT_THAT(lines_, Not(Contains(HasSubstr("formula"))));
  start();
  time_->pass(milliseconds(3000));
  EXPECT_THAT(lines_, Not(Contains(HasSubstr("formula"))));
}

TEST_F(FormulaTest, AGroupStepsInWhileItIsFalse) {
  start_with("/c/slb/real 3/ena/rip 10.10.2.13\n/c/slb/group 3/add 3\n/c/slb/group 1/backup g3\n");
  time_->pass(milliseconds(3000));
  fail(kServer2);
  EXPECT_THAT(lines_, Contains("slb: backup group 3 activated for real server group 1"));
  EXPECT_THAT(lines_, Not(Contains(HasSubstr("No real servers"))));
}

TEST_F(FormulaTest, WithoutTheFormulaTheGroupServesAgain) {
  start_with();
  fail(kServer2);
  lines_.clear();
  EXPECT_THAT(apply(config::lab()).errors, IsEmpty());
  EXPECT_THAT(states(), ElementsAre(control::UP, control::FAILED));
  EXPECT_THAT(lines_, Not(Contains(HasSubstr("formula"))));
}

}  // namespace
}  // namespace headgate::daemon
