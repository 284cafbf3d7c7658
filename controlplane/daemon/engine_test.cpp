// SPDX-License-Identifier: Apache-2.0
#include "controlplane/daemon/engine.h"

#include <cstdlib>
#include <filesystem>
#include <queue>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controlplane/config/sample.h"
#include "controlplane/control/service.h"

namespace headgate::daemon {
namespace {

using std::chrono::milliseconds;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

/// Time that moves only when told to.
class FakeTime final : public Clock, public Timers {
 public:
  [[nodiscard]] std::uint64_t unix_ms() const override { return 1'000'000 + now_; }
  [[nodiscard]] milliseconds now() const override { return milliseconds(now_); }
  TimerId after(milliseconds delay, std::function<void()> action) override {
    actions_[{now_ + static_cast<std::uint64_t>(delay.count()), ++last_}] = std::move(action);
    return last_;
  }
  void cancel(TimerId timer) override {
    std::erase_if(actions_, [timer](const auto& entry) { return entry.first.second == timer; });
  }
  /// The process does not run for so long: what falls due meanwhile runs late, all together.
  void stall(milliseconds span) {
    now_ += static_cast<std::uint64_t>(span.count());
    pass(milliseconds(0));
  }
  void pass(milliseconds span) {
    const std::uint64_t end = now_ + static_cast<std::uint64_t>(span.count());
    while (!actions_.empty() && actions_.begin()->first.first <= end) {
      auto next = actions_.extract(actions_.begin());
      now_ = std::max(now_, next.key().first);
      next.mapped()();
    }
    now_ = end;
  }

 private:
  std::uint64_t now_ = 0;
  TimerId last_ = 0;
  std::map<std::pair<std::uint64_t, TimerId>, std::function<void()>> actions_;
};

/// Servers that answer at once, or never.
class FakeProber final : public probe::Prober {
 public:
  explicit FakeProber(FakeTime& time) : time_(time) {}

  void start(probe::TargetId target, const probe::Probe& probe, OnResult on_result) override {
    cancel(target);
    ++probes;
    const bool up = !down.contains({probe.address.value, probe.port});
    if (silent.contains({probe.address.value, probe.port})) return;
    timers_[target] = time_.after(milliseconds(1), [on_result, up] {
      on_result({up, true, up ? "answered in 1 ms" : "refused", milliseconds(1)});
    });
  }
  void cancel(probe::TargetId target) override {
    time_.cancel(timers_[target]);
    timers_.erase(target);
  }

  std::set<std::pair<std::uint32_t, L4Port>> down;
  std::set<std::pair<std::uint32_t, L4Port>> silent;
  int probes = 0;

 private:
  FakeTime& time_;
  std::map<probe::TargetId, TimerId> timers_;
};

/// Remembers what it was told, as the real one does, and outlives engines.
class FakeDataplane final : public link::Dataplane {
 public:
  [[nodiscard]] bool connected() const override { return there; }
  void send(forwarding::Order order, OnReport on_report) override {
    forwarding::Report report;
    if (!there)
      report.set_error("the dataplane is not there");
    else
      obey(order, report);
    on_report(report);
  }
  [[nodiscard]] forwarding::HandBack hand_back() const {
    forwarding::HandBack result;
    result.set_generation(generation.number());
    for (const auto& [key, state] : states) *result.mutable_states()->add_target() = state;
    for (const auto& [real, operation] : operations) *result.mutable_states()->add_operation() = operation;
    return result;
  }
  [[nodiscard]] forwarding::Admission admission(std::uint32_t real, L4Port port) const {
    return states.at({real, port, Protocol::tcp, "tcp"}).admission();
  }

  bool there = true;
  std::string refusal;
  forwarding::Generation generation;
  std::map<TargetKey, forwarding::TargetState> states;
  std::map<std::uint32_t, forwarding::RealOperation> operations;
  std::vector<std::string> changes;  ///< of admission, as they arrive: "1:8080 CLOSED"
  forwarding::Stats stats;

 private:
  void obey(const forwarding::Order& order, forwarding::Report& report) {
    if (order.has_stats()) *report.mutable_stats() = stats;
    if (order.has_states()) learn(order.states());
    if (!order.has_publish()) return;
    report.set_error(refusal);
    if (!refusal.empty()) return;
    for (const forwarding::Service& service : order.publish().service())
      for (const forwarding::Member& member : service.member())
        EXPECT_TRUE(states.contains(config::from_message(member.target())))
            << "published before its state was told";
    generation = order.publish();
  }
  void learn(const forwarding::States& news) {
    auto old = states;
    if (news.whole()) states.clear();
    for (const forwarding::TargetState& state : news.target()) {
      const TargetKey key = config::from_message(state.target());
      if (!old.contains(key) || old.at(key).admission() != state.admission())
        changes.push_back(fmt(key) + " " + forwarding::Admission_Name(state.admission()));
      states[key] = state;
    }
    for (const forwarding::RealOperation& operation : news.operation())
      operations[operation.real()] = operation;
  }
  static std::string fmt(const TargetKey& key) {
    return std::to_string(key.real) + ":" + std::to_string(key.port);
  }
};

class FakeKernel final : public kernel::Kernel {
 public:
  std::vector<std::string> prepare(const kernel::Plan&, const kernel::DeviceNames&) override { return {}; }
  std::vector<std::string> apply(const kernel::Plan& next, const kernel::DeviceNames&) override {
    plan = next;
    return {};
  }
  void announce(const kernel::Plan&, const kernel::DeviceNames&, std::uint32_t port) override {
    announced.push_back(port);
  }
  [[nodiscard]] std::map<Ipv4, Mac> neighbours() override { return {}; }
  [[nodiscard]] Mac mac_of(const std::string&) override { return {}; }

  kernel::Plan plan;
  std::vector<std::uint32_t> announced;
};

constexpr std::uint32_t kServer1 = 0x0a0a020b;
constexpr std::uint32_t kServer2 = 0x0a0a020c;

class EngineTest : public testing::Test {
 protected:
  EngineTest() { std::filesystem::create_directories(directory_ + "/candidates"); }
  ~EngineTest() override {
    engine_.reset();
    std::filesystem::remove_all(directory_);
  }

  static std::string fresh_directory() {
    char name[] = "/tmp/headgate-engine-XXXXXX";
    return mkdtemp(name);
  }

  /// Starts headgated, or starts it again after a kill: nothing of the old one is told to anybody.
  void start() {
    engine_.reset();
    time_ = std::make_unique<FakeTime>();
    auto prober = std::make_unique<FakeProber>(*time_);
    if (prober_) {
      prober->down = prober_->down;
      prober->silent = prober_->silent;
    }
    prober_ = std::move(prober);
    lines_.clear();
    dataplane_.changes.clear();
    engine_ =
        std::make_unique<Engine>(Seams{kernel_, dataplane_, *prober_, *time_, *time_}, directory_, boot_,
                                 [this](const telemetry::Line& line) { lines_.push_back(line.text); });
    engine_->start();
    if (dataplane_.there)
      engine_->dataplane_connected(dataplane_.hand_back());
    else
      engine_->dataplane_absent();
  }

  Engine::Outcome apply(const config::Config& config, bool confirmed = true) {
    Engine::Outcome outcome;
    engine_->apply(config, confirmed, [&](const Engine::Outcome& result) { outcome = result; });
    return outcome;
  }

  void start_lab() {
    start();
    EXPECT_THAT(apply(config::lab()).errors, IsEmpty());
    time_->pass(milliseconds(3000));
    dataplane_.changes.clear();
    lines_.clear();
  }

  std::string directory_ = fresh_directory();
  std::string boot_ = "boot";
  std::unique_ptr<FakeTime> time_;
  std::unique_ptr<FakeProber> prober_;
  FakeDataplane dataplane_;
  FakeKernel kernel_;
  std::vector<std::string> lines_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(EngineTest, AppliedServicesOpenWithTheirFirstSuccess) {
  start();
  EXPECT_THAT(apply(config::lab()).errors, IsEmpty());
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::DRAINING);
  time_->pass(milliseconds(500));
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::OPEN);
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::OPEN);
  EXPECT_THAT(lines_, Contains("slb: real server 10.10.2.11 operational"));
  EXPECT_THAT(lines_, Contains("slb: real service 10.10.2.11:8080 operational"));
  EXPECT_EQ(kernel_.plan.addresses.size(), 3u);
}

TEST_F(EngineTest, AFailedServiceClosesAloneAndComesBackAfterRestr) {
  start_lab();
  prober_->down = {{kServer1, 8080}};
  time_->pass(milliseconds(8000));
  EXPECT_THAT(dataplane_.changes, ElementsAre("1:8080 CLOSED"));
  EXPECT_THAT(lines_, ElementsAre("slb: cannot contact real service 10.10.2.11:8080"));
  prober_->down.clear();
  time_->pass(milliseconds(13'000));
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::CLOSED) << "restr is 8, inter 2 s";
  time_->pass(milliseconds(4000));
  EXPECT_THAT(dataplane_.changes, ElementsAre("1:8080 CLOSED", "1:8080 OPEN"));
}

TEST_F(EngineTest, AServerFailsWithItsLastServiceAndAVirtualServerWithItsLastServer) {
  start_lab();
  prober_->silent = {{kServer1, 8080}, {kServer1, 21}, {kServer2, 8080}};
  time_->pass(milliseconds(12'000));
  EXPECT_THAT(lines_, Contains("slb: cannot contact real server 10.10.2.11"));
  EXPECT_THAT(lines_, Contains("slb: No services are available for Virtual Server1:10.10.1.100"));
  EXPECT_EQ(engine_->monitor().targets().at({2, 8080, Protocol::tcp, "tcp"}).reason, "no answer in 2.0 s");
  EXPECT_EQ(server_state_of(engine_->monitor().targets(), 1).layer, 3u);
}

TEST_F(EngineTest, WithGraceSessionsOfAFailedServiceGoOn) {
  start_lab();
  EXPECT_THAT(apply(config::with(config::lab(), "/c/slb/adv/grace ena")).errors, IsEmpty());
  prober_->down = {{kServer1, 8080}};
  time_->pass(milliseconds(8000));
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::DRAINING);
}

TEST_F(EngineTest, RestartWithADeadServerAndADrainedOneFlapsNothing) {
  start_lab();
  prober_->down = {{kServer1, 8080}};
  time_->pass(milliseconds(10'000));
  EXPECT_TRUE(engine_->set_operation(2, forwarding::DRAIN).ok());
  const auto before = dataplane_.states;

  start();
  EXPECT_EQ(engine_->running().slb().real_size(), 2);
  time_->pass(milliseconds(10'000));
  EXPECT_THAT(dataplane_.changes, IsEmpty());
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::CLOSED);
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::DRAINING);
  EXPECT_THAT(lines_, Not(Contains(testing::HasSubstr("slb:"))));
  EXPECT_EQ(dataplane_.states.at({1, 8080, Protocol::tcp, "tcp"}).since_unix_ms(),
            before.at({1, 8080, Protocol::tcp, "tcp"}).since_unix_ms());
  EXPECT_TRUE(engine_->set_operation(2, forwarding::ENABLED).ok());
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::OPEN);  // reports 48
}

TEST_F(EngineTest, AServerThatDiedWhileHeadgatedWasDeadIsFoundByItsProbes) {
  start_lab();
  prober_->down = {{kServer2, 8080}};
  start();
  time_->pass(milliseconds(7000));
  EXPECT_THAT(dataplane_.changes, ElementsAre("2:8080 CLOSED"));
}

TEST_F(EngineTest, ADrainAndVerdictsOutlastAKillOfBothProgramsAtOnce) {
  start_lab();
  prober_->down = {{kServer1, 8080}};
  time_->pass(milliseconds(10'000));
  EXPECT_TRUE(engine_->set_operation(2, forwarding::DRAIN).ok());
  dataplane_.states.clear();  // it comes back knowing nothing
  dataplane_.operations.clear();
  start();
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::CLOSED);
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::DRAINING);
  EXPECT_EQ(dataplane_.operations.at(2).operation(), forwarding::DRAIN);
  time_->pass(milliseconds(10'000));
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::DRAINING);
  EXPECT_THAT(lines_, Not(Contains(testing::HasSubstr("slb:"))));
}

TEST_F(EngineTest, ARebootEndsWhatAnOperatorHasSet) {
  start_lab();
  ASSERT_TRUE(engine_->save(config::Store::Rotation::into_backup).ok());
  EXPECT_TRUE(engine_->set_operation(2, forwarding::DRAIN).ok());
  boot_ = "next boot";
  start();
  time_->pass(milliseconds(3000));
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::OPEN);
}

TEST_F(EngineTest, AnOperatorsSettingEndsWithItsServer) {
  start_lab();
  EXPECT_TRUE(engine_->set_operation(2, forwarding::DRAIN).ok());
  EXPECT_THAT(
      apply(config::with(config::with(config::lab(), "/c/slb/group 1/rem 2"), "/c/slb/real 2/del")).errors,
      IsEmpty());
  EXPECT_THAT(apply(config::lab()).errors, IsEmpty());
  time_->pass(milliseconds(3000));
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::OPEN);
}

TEST_F(EngineTest, BeingStoppedForTenSecondsIsNoFailureOfAServer) {  // reports 5
  start();
  EXPECT_THAT(apply(config::with(config::lab(), "/c/slb/real 1/retry 1")).errors, IsEmpty());
  time_->pass(milliseconds(3000));
  prober_->silent = {{kServer1, 8080}};
  time_->pass(milliseconds(1500));  // a probe is on its way
  dataplane_.changes.clear();
  time_->stall(milliseconds(10'000));
  EXPECT_THAT(dataplane_.changes, IsEmpty());
  time_->pass(milliseconds(2100));
  EXPECT_THAT(dataplane_.changes, ElementsAre("1:8080 CLOSED")) << "it was silent while we listened, too";
}

TEST_F(EngineTest, AnAppliedConfigurationIsOnDiskBeforeItIsConfirmed) {
  start();
  bool stored = false;
  engine_->apply(config::lab(), true, [&](const Engine::Outcome&) {
    stored = config::Store(directory_, "boot").load().running.config.slb().real_size() == 2;
  });
  EXPECT_TRUE(stored);
}

TEST_F(EngineTest, WhatCantBeStoredIsNotApplied) {
  start();
  std::filesystem::rename(directory_, directory_ + ".gone");
  const Engine::Outcome outcome = apply(config::lab());
  std::filesystem::rename(directory_ + ".gone", directory_);
  EXPECT_THAT(outcome.errors, ElementsAre(testing::StartsWith("the configuration can't be stored: ")));
  EXPECT_EQ(dataplane_.generation.service_size(), 0);
  EXPECT_EQ(engine_->running().slb().real_size(), 0);
  EXPECT_THAT(apply(config::lab()).errors, IsEmpty());
}

TEST_F(EngineTest, WithoutADataplaneItProbesAndAppliesAndPublishesLater) {
  dataplane_.there = false;
  start();
  EXPECT_TRUE(apply(config::lab()).applied.dataplane_absent());
  time_->pass(milliseconds(2000));
  EXPECT_EQ(engine_->monitor().targets().at({1, 8080, Protocol::tcp, "tcp"}).state.health,
            health::Health::up);
  dataplane_.there = true;
  engine_->dataplane_connected(dataplane_.hand_back());
  EXPECT_EQ(dataplane_.generation.service_size(), 2);
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::OPEN);
}

TEST_F(EngineTest, ADataplaneThatRestartsGetsEverythingAgain) {
  start_lab();
  dataplane_.there = false;
  engine_->dataplane_lost();
  dataplane_.there = true;
  dataplane_.states.clear();
  dataplane_.generation.Clear();
  engine_->dataplane_connected({});
  EXPECT_EQ(dataplane_.generation.service_size(), 2);
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::OPEN);
}

TEST_F(EngineTest, WhatTheDataplaneRefusesIsNotApplied) {
  start_lab();
  const auto number = engine_->generation();
  dataplane_.refusal = "port 2: no such device";
  EXPECT_THAT(apply(config::with(config::lab(), "/c/slb/real 1/weight 3")).errors,
              ElementsAre("the dataplane refuses the configuration: port 2: no such device"));
  EXPECT_EQ(text::dump(engine_->running()), text::dump(config::lab()));
  EXPECT_EQ(engine_->generation(), number);
}

TEST_F(EngineTest, AnInvalidConfigurationIsRefusedWholeWithAllItsErrors) {
  start_lab();
  EXPECT_EQ(apply(config::with(config::lab(), "/c/slb/real 3/ena\n/c/slb/group 1/add 9")).errors.size(), 2u);
  EXPECT_EQ(text::dump(engine_->running()), text::dump(config::lab()));
}

TEST_F(EngineTest, EndingSessionsNeedsConfirmation) {
  start_lab();
  forwarding::ServiceStats& service = *dataplane_.stats.add_service();
  service.set_virt(1);
  service.set_vport(80);
  service.set_protocol(6);
  service.set_real(1);
  service.set_rport(8080);
  service.mutable_counts()->set_current(12);
  const config::Config next = config::with(config::lab(), "/c/slb/real 1/dis");
  const Engine::Outcome asked = apply(next, false);
  EXPECT_TRUE(asked.applied.needs_confirmation());
  EXPECT_EQ(asked.applied.sessions_ended(), 12u);
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::OPEN);
  EXPECT_FALSE(apply(next, true).applied.needs_confirmation());
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::CLOSED);
}

// Reports 121: an apply neither loses nor invents health.
TEST_F(EngineTest, AppliesAroundADownServerKeepItsVerdictAndItComesBack) {
  start_lab();
  prober_->down = {{kServer1, 8080}};
  time_->pass(milliseconds(10'000));
  dataplane_.changes.clear();
  config::Config next = config::lab();
  for (const char* change : {"/c/slb/real 1/name x", "/c/slb/real 1/retry 3", "/c/slb/group 1/metric hash",
                             "/c/slb/real 3/rip 10.10.2.13"}) {
    next = config::with(next, change);
    EXPECT_THAT(apply(next).errors, IsEmpty());
    time_->pass(milliseconds(2000));
    EXPECT_THAT(dataplane_.changes, IsEmpty()) << change;
  }
  prober_->down.clear();
  time_->pass(milliseconds(18'000));
  EXPECT_THAT(dataplane_.changes, ElementsAre("1:8080 OPEN"));
}

TEST_F(EngineTest, AChangedCheckOfAHealthyServiceNeverStopsIt) {
  start_lab();
  EXPECT_THAT(apply(config::with(config::lab(), "/c/slb/group 1/health icmp")).errors, IsEmpty());
  EXPECT_EQ(dataplane_.states.at({1, 8080, Protocol::tcp, "icmp"}).admission(), forwarding::OPEN);
}

TEST_F(EngineTest, AChangedCheckOfADownServiceDecidesAnew) {
  prober_ = nullptr;
  start_lab();
  prober_->down = {{kServer1, 8080}};
  time_->pass(milliseconds(10'000));
  EXPECT_THAT(apply(config::with(config::lab(), "/c/slb/group 1/health icmp")).errors, IsEmpty());
  prober_->down.clear();
  time_->pass(milliseconds(500));
  EXPECT_EQ(dataplane_.states.at({1, 8080, Protocol::tcp, "icmp"}).admission(), forwarding::OPEN)
      << "its first success";
}

TEST_F(EngineTest, TrafficFailureBringsAProbeForwardAndDecidesNothing) {
  start_lab();
  forwarding::Report report;
  *report.mutable_traffic_failure()->mutable_target() = config::to_message({1, 8080, Protocol::tcp, "tcp"});
  const int before = prober_->probes;
  for (int i = 0; i < 10; ++i) engine_->dataplane_report(report);
  EXPECT_EQ(prober_->probes, before + 1);
  EXPECT_THAT(dataplane_.changes, IsEmpty());
}

TEST_F(EngineTest, APortThatComesUpAnnouncesItsVips) {
  start_lab();
  forwarding::Report report;
  report.mutable_port_change()->set_port(1);
  report.mutable_port_change()->set_up(true);
  engine_->dataplane_report(report);
  EXPECT_THAT(kernel_.announced, ElementsAre(1u));
}

// Reports 9, 18: no target is forgotten, none waits, and none fires with too many others.
TEST_F(EngineTest, ManyTargetsAreProbedEachIntervalAndSpread) {
  std::string lines(config::kLab);
  for (int real = 3; real <= 250; ++real) {
    lines += "/c/slb/real " + std::to_string(real) + "/ena/rip 10.20.0." + std::to_string(real) + "\n";
    lines += "/c/slb/group 2/add " + std::to_string(real) + "\n";
  }
  start();
  EXPECT_THAT(apply(config::with({}, lines)).errors, IsEmpty());
  time_->pass(milliseconds(2000));
  int busiest = 0;
  const int begin = prober_->probes;
  for (int slot = 0; slot < 20; ++slot) {
    const int before = prober_->probes;
    time_->pass(milliseconds(100));
    busiest = std::max(busiest, prober_->probes - before);
  }
  EXPECT_EQ(prober_->probes - begin, 251);
  EXPECT_LE(busiest, 25);
}

TEST(Averages, ConvergeFromBelow) {  // reports 74
  Averages averages;
  for (int i = 0; i < 64; ++i) averages.sample(0);
  for (int i = 0; i < 2; ++i) averages.sample(1000);
  EXPECT_EQ(averages.over(4), 500u);
  EXPECT_EQ(averages.over(64), 31u);
  for (int i = 0; i < 64; ++i) averages.sample(1000);
  EXPECT_EQ(averages.over(64), 1000u);
}

// ---- What administrators ask through the control socket

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
  EXPECT_EQ(edit(admin_, "/c/slb/real 1/weight 5").error_size(), 0);
  const auto diff = ask(admin_, [](control::Request& request) { request.mutable_diff(); });
  EXPECT_THAT(diff.text().text(), testing::HasSubstr("weight 5"));
  EXPECT_EQ(engine_->running().slb().real(0).weight(), 1u);
  EXPECT_EQ(apply_now(admin_).error_size(), 0);
  EXPECT_EQ(engine_->running().slb().real(0).weight(), 5u);
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

}  // namespace
}  // namespace headgate::daemon
