// SPDX-License-Identifier: Apache-2.0
#include "controlplane/daemon/alert_watches.h"

#include "controlplane/daemon/engine_fixture.h"

// Watches of directories for alerts: whom they are of, and what becomes of one that is lost. Mission B.4.
namespace headgate::daemon {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using Targets = std::map<TargetKey, config::Target>;

constexpr milliseconds kInter{4000};

TargetKey key_of(const char* check) {
  return {1, 389, Protocol::tcp, check};
}

config::Target target_of(const std::string& user = "") {
  return {.address = Ipv4{kServer1},
          .check = {.kind = probe::Kind::ldap, .user = user, .alerts = true},
          .policy = {.inter = seconds(4)}};
}

class AlertWatchesTest : public testing::Test {
 protected:
  AlertWatchesTest() { watches_.begin(); }
  void watch_one() { watches_.configure({{key_of("ldap"), target_of()}}); }

  FakeTime time_;
  FakeWatcher watcher_;
  std::vector<TargetKey> alerts_;
  std::vector<std::string> lost_;
  AlertWatches watches_{watcher_,
                        time_,
                        {.on_alert = [this](const TargetKey& key) { alerts_.push_back(key); },
                         .on_lost = [this](std::string text) { lost_.push_back(std::move(text)); }}};
};

TEST_F(AlertWatchesTest, BeginWithProbing) {
  AlertWatches later(watcher_, time_, {});
  later.configure({{key_of("ldap"), target_of("cn=x")}});
  EXPECT_TRUE(watcher_.held.empty());
  later.begin();
  EXPECT_EQ(watcher_.only().watch.ask.user, "cn=x");
  EXPECT_EQ(watcher_.only().watch.port, 389);
  EXPECT_EQ(watcher_.only().watch.patience, kInter);
}

TEST_F(AlertWatchesTest, AreOnlyOfTargetsThatHaveAlertsAndAreChecked) {
  config::Target plain = target_of();
  plain.check.alerts = false;
  config::Target unchecked = target_of();
  unchecked.policy.inter = seconds(0);
  watches_.configure({{key_of("plain"), plain}, {key_of("unchecked"), unchecked}});
  EXPECT_TRUE(watcher_.held.empty());
}

TEST_F(AlertWatchesTest, OneServerHasOneAndAllItsTargetsHearOfIt) {
  watches_.configure({{key_of("a"), target_of()}, {key_of("b"), target_of()}});
  watcher_.alert();
  EXPECT_THAT(alerts_, ElementsAre(key_of("a"), key_of("b")));
}

TEST_F(AlertWatchesTest, AnotherLoginOrPortIsAnotherWatch) {
  config::Target elsewhere = target_of();
  elsewhere.check.port = 1389;
  watches_.configure(
      {{key_of("a"), target_of()}, {key_of("b"), target_of("cn=x")}, {key_of("c"), elsewhere}});
  EXPECT_EQ(watcher_.held.size(), 3u);
}

TEST_F(AlertWatchesTest, StayThroughAnApplyAndEndWithTheirTarget) {
  watch_one();
  watches_.configure({{key_of("a"), target_of()}, {key_of("b"), target_of()}});
  EXPECT_EQ(watcher_.started, 1);
  watcher_.alert();
  EXPECT_THAT(alerts_, ElementsAre(key_of("a"), key_of("b"))) << "the targets are those of now";
  watches_.configure({});
  EXPECT_TRUE(watcher_.held.empty());
}

TEST_F(AlertWatchesTest, ThatAreLostBeginAgainAfterTheInterval) {
  watch_one();
  watcher_.lose("refused");
  time_.pass(kInter - milliseconds(1));
  EXPECT_EQ(watcher_.started, 1);
  time_.pass(milliseconds(1));
  EXPECT_EQ(watcher_.started, 2);
}

TEST_F(AlertWatchesTest, ThatAreLostAreToldOnce) {
  watch_one();
  for (int i = 0; i < 10; ++i) {
    watcher_.lose("cn=alerts: noSuchObject");
    time_.pass(kInter);
  }
  EXPECT_THAT(
      lost_,
      ElementsAre(
          "alerts of 10.10.2.11:389 are not watched: cn=alerts: noSuchObject; trying again every 4 s"));
}

TEST_F(AlertWatchesTest, ThatStoodForAWhileAreToldAgain) {
  watch_one();
  watcher_.lose("refused");
  time_.pass(kInter);
  time_.pass(seconds(60));
  watcher_.lose("connection reset");
  EXPECT_EQ(lost_.size(), 2u);
}

TEST_F(AlertWatchesTest, ThatAreGoneDoNotBeginAgain) {
  watch_one();
  watcher_.lose("refused");
  watches_.configure({});
  time_.pass(seconds(60));
  EXPECT_EQ(watcher_.started, 1);
}

TEST_F(AlertWatchesTest, ThatAreLostBeginAgainWhateverIsAppliedMeanwhile) {
  watch_one();
  watcher_.lose("refused");
  watch_one();
  EXPECT_EQ(watcher_.started, 1);
  time_.pass(kInter);
  EXPECT_EQ(watcher_.started, 2);
}

// ---- With the engine

class AlertProbes : public EngineTest {
 protected:
  void start_directory() {
    start();
    config::Config config = config::lab();
    config::HealthCheck& check = *config.mutable_slb()->mutable_advhc()->add_health();
    check.set_name("directory");
    check.set_type(config::HEALTH_LDAP);
    check.set_alerts(true);
    for (config::Group& group : *config.mutable_slb()->mutable_group()) group.set_health("directory");
    EXPECT_THAT(apply(config).errors, IsEmpty());
    time_->pass(milliseconds(3000));
  }
};

TEST_F(AlertProbes, AnAlertIsFollowedByOneProbeOfItsServerAtOnce) {
  start_directory();
  ASSERT_FALSE(watcher_.held.empty());
  const auto& [watch, events] = watcher_.held.begin()->second;
  const std::pair service{watch.address.v4().value, watch.port};
  const auto before = prober_->sent.at(service).size();
  events.on_alert();
  events.on_alert();
  EXPECT_EQ(prober_->sent.at(service).size(), before + 1);
  EXPECT_EQ(prober_->sent.at(service).back(), time_->now());
  EXPECT_EQ(prober_->given_up, 0);
}

TEST_F(AlertProbes, AWatchThatIsLostDecidesNothing) {
  start_directory();
  lines_.clear();
  const auto events = watcher_.held.begin()->second.events;
  const int before = prober_->probes;
  events.on_over("refused");
  EXPECT_EQ(prober_->probes, before);
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_THAT(lines_[0], testing::HasSubstr("are not watched: refused"));
}

}  // namespace
}  // namespace headgate::daemon
