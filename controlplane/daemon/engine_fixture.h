// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "controlplane/config/sample.h"
#include "controlplane/daemon/engine.h"
#include "model/members.h"

// Test support: an engine whose time, servers, dataplane and kernel are a test's own.
namespace headgate::daemon {

using std::chrono::milliseconds;
using testing::IsEmpty;

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

/// Remembers where it was told to listen.
class FakeStateServer final : public StateServer {
 public:
  Status listen(const std::optional<Endpoint>& at) override {
    ++asked;
    if (at && !fault.empty()) {
      listens.reset();
      return Error{fault};
    }
    listens = at;
    return Done{};
  }

  std::optional<Endpoint> listens;
  std::string fault;  ///< not empty: it can't listen
  unsigned asked = 0;
};

/// Servers that answer at once, or never.
class FakeProber final : public probe::Prober {
 public:
  explicit FakeProber(FakeTime& time) : time_(time) {}

  void start(probe::TargetId target, const probe::Probe& probe, OnResult on_result) override {
    given_up += flying_.contains(target) ? 1 : 0;
    cancel(target);
    ++probes;
    flying_.insert(target);
    const std::pair service{probe.address.v4().value, probe.port};
    sent[service].push_back(time_.now());
    if (silent.contains(service)) return;
    const auto slow = took.find(service);
    const milliseconds time = slow == took.end() ? milliseconds(1) : slow->second;
    timers_[target] = time_.after(
        time, [this, target, on_result, begun = time_.now(), result = result_of(service, time)]() mutable {
          flying_.erase(target);
          result.took = time_.now() - begun;  // longer when nobody ran to read it
          on_result(result);
        });
  }
  void cancel(probe::TargetId target) override {
    time_.cancel(timers_[target]);
    timers_.erase(target);
    flying_.erase(target);
  }

  void learn_links(const std::map<std::uint32_t, bool>& up) override { links = up; }

  std::map<std::uint32_t, bool> links;  ///< as the dataplane has told them
  std::set<std::pair<std::uint32_t, L4Port>> down;
  std::set<std::pair<std::uint32_t, L4Port>> silent;
  bool exhausted = false;                                         ///< this machine can't ask anybody
  std::map<std::pair<std::uint32_t, L4Port>, milliseconds> took;  ///< 1 ms of those not in it
  std::map<std::pair<std::uint32_t, L4Port>, health::Reading> readings;
  std::map<std::pair<std::uint32_t, L4Port>, std::vector<health::Measured>> measured;
  std::map<std::pair<std::uint32_t, L4Port>, health::Bearing> bears;  ///< what they say of their weight
  health::Part failure = health::kComplete;  ///< what it is worth when one of `down` answers
  bool failover = false;                     ///< and whether it demands that
  int probes = 0;
  int given_up = 0;  ///< of these, those that took the place of one without an answer
  std::map<std::pair<std::uint32_t, L4Port>, std::vector<milliseconds>> sent;  ///< when

 private:
  [[nodiscard]] probe::Result result_of(const std::pair<std::uint32_t, L4Port>& service,
                                        milliseconds time) const {
    const bool up = !down.contains(service) && !exhausted;
    const auto reading = readings.find(service);
    const auto bearing = bears.find(service);
    const auto numbers = measured.find(service);
    return {.passed = up,
            .heard = !exhausted,
            .unasked = exhausted,
            .reason = up ? probe::answered_in(time) : "refused",
            .took = time,
            .reading = reading == readings.end() ? health::Reading{} : reading->second,
            .failure = failure,
            .bears = bearing == bears.end() || !up ? std::nullopt : std::optional(bearing->second),
            .measured = numbers == measured.end() ? std::vector<health::Measured>{} : numbers->second,
            .failover = failover && !up};
  }

  FakeTime& time_;
  std::map<probe::TargetId, TimerId> timers_;
  std::set<probe::TargetId> flying_;
};

/// Watches that a test ends and lets alerts come to.
class FakeWatcher final : public probe::Watcher {
 public:
  struct Held {
    probe::Watch watch;
    Events events;
  };

  void start(probe::WatchId id, const probe::Watch& watch, Events events) override {
    held[id] = {watch, std::move(events)};
    ++started;
  }
  void cancel(probe::WatchId id) override { held.erase(id); }
  /// The only watch there is.
  [[nodiscard]] Held& only() {
    EXPECT_EQ(held.size(), 1u);
    return held.begin()->second;
  }
  void alert() { only().events.on_alert(); }
  void lose(const std::string& why) {
    const auto events = only().events;
    events.on_over(why);
  }

  std::map<probe::WatchId, Held> held;
  int started = 0;
};

/// What is done about services that fail: ended by the test.
class FakeActions final : public action::Actions {
 public:
  Status begin(const action::Act& act, OnEnd on_end) override {
    if (on_begin) on_begin();
    if (!refusal.empty()) return Error{refusal};
    begun.push_back(act);
    ends_.push_back(std::move(on_end));
    return Done{};
  }
  /// The oldest that is under way ends.
  void end(const action::Ended& ended = {true, "done in 1.0 s"}) {
    ASSERT_FALSE(ends_.empty());
    auto on_end = std::move(ends_.front());
    ends_.pop_front();
    on_end(ended);
  }
  /// Those that an earlier headgated began end unheard.
  void forget() { ends_.clear(); }

  std::vector<action::Act> begun;
  std::string refusal;
  std::function<void()> on_begin;

 private:
  std::deque<OnEnd> ends_;
};

/// Remembers what it was told, as the real one does, and outlives engines.
class FakeDataplane final : public link::Dataplane {
 public:
  [[nodiscard]] bool connected() const override { return there; }
  void send(forwarding::Order order, OnReport on_report) override {
    if (hangs)
      return held_.push_back(
          [this, order = std::move(order), told = std::move(on_report)] { send(order, told); });
    forwarding::Report report;
    if (!there)
      report.set_error("the dataplane is not there");
    else
      obey(order, report);
    on_report(report);
  }
  /// What was ordered meanwhile is done.
  void wake() {
    hangs = false;
    for (const auto& order : std::exchange(held_, {})) order();
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

  bool hangs = false;  ///< it takes orders and does nothing
  bool there = true;
  std::string refusal;
  forwarding::Generation generation;
  std::map<TargetKey, forwarding::TargetState> states;
  std::map<std::uint32_t, forwarding::RealOperation> operations;
  std::vector<std::string> changes;  ///< of admission, as they arrive: "1:8080 CLOSED"
  forwarding::Stats stats;
  int orders_of_states = 0;

 private:
  void obey(const forwarding::Order& order, forwarding::Report& report) {
    if (order.has_stats()) *report.mutable_stats() = stats;
    if (order.has_states()) learn(order.states());
    orders_of_states += order.has_states() ? 1 : 0;
    if (!order.has_publish()) return;
    report.set_error(refusal);
    if (!refusal.empty()) return;
    for (const forwarding::Service& service : order.publish().service())
      for_each_member(service, [&](const forwarding::Member& member) {
        EXPECT_TRUE(states.contains(config::from_message(member.target())))
            << "published before its state was told";
      });
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
  std::vector<std::function<void()>> held_;
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
  [[nodiscard]] std::map<Ip, Mac> neighbours() override { return {}; }
  [[nodiscard]] Mac mac_of(const std::string&) override { return {}; }

  kernel::Plan plan;
  std::vector<std::uint32_t> announced;
};

constexpr std::uint32_t kServer1 = 0x0a0a020b;
constexpr std::uint32_t kServer2 = 0x0a0a020c;
constexpr std::uint32_t kServer3 = 0x0a0a020d;

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
    actions_.forget();
    time_ = std::make_unique<FakeTime>();
    auto prober = std::make_unique<FakeProber>(*time_);
    if (prober_) {
      prober->down = prober_->down;
      prober->silent = prober_->silent;
      prober->readings = prober_->readings;
    }
    prober_ = std::move(prober);
    lines_.clear();
    dataplane_.changes.clear();
    engine_ = std::make_unique<Engine>(
        Seams{kernel_, dataplane_, *prober_, *time_, *time_, state_server_, watcher_, actions_}, directory_,
        boot_, [this](const telemetry::Line& line) { lines_.push_back(line.text); });
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

  /// The lab with more settings, and what it has proven forgotten.
  void start_lab(const std::string& more = "") {
    start();
    EXPECT_THAT(apply(config::with(config::lab(), more)).errors, IsEmpty());
    time_->pass(milliseconds(3000));
    dataplane_.changes.clear();
    lines_.clear();
  }

  /// Long enough for a service of the lab's settings to go down.
  void fail(std::uint32_t server, L4Port port = 8080) {
    prober_->down.insert({server, port});
    time_->pass(milliseconds(9000));
  }
  /// And to come back.
  void heal(std::uint32_t server, L4Port port = 8080) {
    prober_->down.erase({server, port});
    time_->pass(milliseconds(18'000));
  }

  std::string directory_ = fresh_directory();
  std::string boot_ = "boot";
  std::unique_ptr<FakeTime> time_;
  std::unique_ptr<FakeProber> prober_;
  FakeDataplane dataplane_;
  FakeKernel kernel_;
  FakeStateServer state_server_;
  FakeWatcher watcher_;
  FakeActions actions_;
  std::vector<std::string> lines_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace headgate::daemon
