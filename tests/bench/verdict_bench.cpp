// SPDX-License-Identifier: Apache-2.0
//
// How long the dataplane takes to know of a verdict: Verdict/TARGETS.
#include "tests/bench/verdict_bench.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "controlplane/daemon/asio_timers.h"
#include "controlplane/daemon/engine.h"
#include "controlplane/dataplane_link/socket_link.h"
#include "dataplane/core/director.h"
#include "dataplane/core/shared.h"
#include "model/config_text.h"
#include "model/frame.h"

namespace headgate::bench {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

constexpr unsigned kReals = 100;
constexpr std::chrono::seconds kRound{10};

/// The dataplane's side of its socket: what it is told it takes over, as headgate-dataplane does.
class Told {
 public:
  explicit Told(const std::string& path) : listener_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        listen(listener_, 1) != 0)
      std::abort();
    director_.set_ports({PortNumber{1}});
    thread_ = std::thread([this] { serve(); });
  }
  ~Told() {
    stop_ = true;
    thread_.join();
    close(listener_);
  }
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;

  /// How many messages of states are taken over, and when the last one was.
  [[nodiscard]] std::uint64_t known() const { return known_.load(std::memory_order_acquire); }
  [[nodiscard]] Clock::time_point known_at() const { return known_at_.load(); }

 private:
  void serve() {
    const int peer = accept(listener_, nullptr, nullptr);
    FrameReader reader;
    std::array<char, 65536> bytes;
    while (!stop_) {
      pollfd ready{peer, POLLIN, 0};
      if (poll(&ready, 1, 10) <= 0) continue;
      const ssize_t length = read(peer, bytes.data(), bytes.size());
      if (length <= 0) break;
      reader.append({bytes.data(), static_cast<std::size_t>(length)});
      for (auto body = reader.next(); body && *body; body = reader.next()) obey(peer, **body);
    }
    close(peer);
  }

  void obey(int peer, const std::string& body) {
    forwarding::Order order;
    if (!order.ParseFromString(body)) std::abort();
    forwarding::Report report;
    report.set_id(order.id());
    if (order.has_hello()) report.mutable_hand_back();
    if (order.has_publish() && !director_.publish(order.publish())) std::abort();
    if (order.has_stats()) report.mutable_stats();
    if (order.has_states()) {
      director_.set_states(order.states());
      known_at_ = Clock::now();
      known_.fetch_add(1, std::memory_order_release);
    }
    const std::string answer = frame(report);
    if (write(peer, answer.data(), answer.size()) != static_cast<ssize_t>(answer.size())) std::abort();
  }

  core::Shared shared_;
  core::Director director_{shared_};
  int listener_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> known_{0};
  std::atomic<Clock::time_point> known_at_{};
  std::thread thread_;
};

/// Servers that all answer at once, until `patient`: then they answer when they are told to.
class Answering final : public probe::Prober {
 public:
  explicit Answering(asio::io_context& context) : context_(context) {}

  void start(probe::TargetId target, const probe::Probe& /*probe*/, OnResult on_result) override {
    waiting[target] = std::move(on_result);
    if (patient) return;
    asio::post(context_, [this, target] { answer(target, true); });
  }
  void cancel(probe::TargetId target) override { waiting.erase(target); }

  void answer(probe::TargetId target, bool passed) {
    const auto found = waiting.find(target);
    if (found == waiting.end()) return;
    const OnResult on_result = std::move(found->second);
    waiting.erase(found);
    on_result({.passed = passed, .heard = true, .reason = passed ? "answered in 0 ms" : "refused"});
  }

  std::map<probe::TargetId, OnResult> waiting;
  bool patient = false;

 private:
  asio::io_context& context_;
};

class NoKernel final : public kernel::Kernel {
 public:
  std::vector<std::string> prepare(const kernel::Plan&, const kernel::DeviceNames&) override { return {}; }
  std::vector<std::string> apply(const kernel::Plan&, const kernel::DeviceNames&) override { return {}; }
  void announce(const kernel::Plan&, const kernel::DeviceNames&, std::uint32_t) override {}
  std::map<Ip, Mac> neighbours() override { return {}; }
  Mac mac_of(const std::string&) override { return {}; }
};

class NoWatcher final : public probe::Watcher {
 public:
  void start(probe::WatchId, const probe::Watch&, Events) override {}
  void cancel(probe::WatchId) override {}
};

class NoStateServer final : public daemon::StateServer {
 public:
  Status listen(const std::optional<daemon::Endpoint>&) override { return Done{}; }
};

class NoActions final : public action::Actions {
 public:
  Status begin(const action::Act&, OnEnd) override { return Done{}; }
};

class SystemClock final : public daemon::Clock {
 public:
  [[nodiscard]] std::uint64_t unix_ms() const override {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  }
};

/// kReals servers of one group, behind as many ports as make `targets` of them. They are checked once a
/// minute: the benchmark answers when it wants to.
config::Config site(unsigned targets) {
  std::string text = "/c/port 1/device p1\n/c/l3/if 1/ena/addr 10.0.0.1/mask 255.255.0.0\n/c/slb/on\n";
  for (unsigned real = 1; real <= kReals; ++real)
    text += fmt::format("/c/slb/real {}/ena/rip 10.0.1.{}/inter 10/retry 1/restr 1\n/c/slb/group 1/add {}\n",
                        real, real, real);
  const unsigned services = targets / kReals;
  for (unsigned service = 0; service < services; ++service)
    text += fmt::format("/c/slb/virt {}/ena/vip 10.0.2.{}\n/c/slb/virt {}/service {}/group 1\n",
                        service / 8 + 1, service / 8 + 1, service / 8 + 1, 1000 + service);
  config::Config config;
  if (!text::load(text, config)) std::abort();
  return config;
}

/// A headgated, a dataplane's core, and the socket between them.
class Bed {
 public:
  explicit Bed(unsigned targets) {
    std::filesystem::create_directories(directory_ + "/candidates");
    told_ = std::make_unique<Told>(directory_ + "/dataplane.sock");
    link_ = link::make_link(
        context_, directory_ + "/dataplane.sock",
        {.on_connected = [this](const forwarding::HandBack& known) { engine_->dataplane_connected(known); },
         .on_lost = [] {},
         .on_absent = [] {},
         .on_report = [](const forwarding::Report&) {}});
    engine_ = std::make_unique<daemon::Engine>(
        daemon::Seams{kernel_, *link_, prober_, timers_, clock_, state_server_, watcher_, actions_},
        directory_, "boot", [](const telemetry::Line&) {});
    engine_->start();
    link_->start();
    context_.run_for(std::chrono::milliseconds(500));
    engine_->apply(site(targets), true,
                   [this](const daemon::Engine::Outcome& outcome) { applied_ = outcome.errors.empty(); });
    context_.run_for(kRound + std::chrono::seconds(1));
  }
  ~Bed() {
    link_.reset();
    told_.reset();
    std::filesystem::remove_all(directory_);
  }
  Bed(const Bed&) = delete;
  Bed& operator=(const Bed&) = delete;

  /// Lets each target fail, as its probe is due; the microseconds until the dataplane knew, in order.
  [[nodiscard]] std::vector<double> fail_all(unsigned targets) {
    std::vector<double> times;
    std::set<probe::TargetId> failed;
    prober_.patient = true;
    for (const auto end = Clock::now() + 2 * kRound; times.size() < targets && Clock::now() < end;) {
      run_for_a_millisecond();
      while (!prober_.waiting.empty()) {
        const probe::TargetId target = prober_.waiting.begin()->first;
        if (failed.insert(target).second)
          times.push_back(verdict_us(target));
        else
          prober_.answer(target, false);  // it is down already: no verdict
      }
    }
    std::sort(times.begin(), times.end());
    return times;
  }
  [[nodiscard]] bool applied() const { return applied_; }
  /// The longest that a result had to wait until the process was done with something else.
  [[nodiscard]] double held_us() const { return held_.count(); }

 private:
  using Microseconds = std::chrono::duration<double, std::micro>;

  void run_for_a_millisecond() {
    constexpr std::chrono::milliseconds kSpan{1};
    const auto begun = Clock::now();
    context_.run_for(kSpan);
    held_ = std::max<Microseconds>(held_, Clock::now() - begun - kSpan);
  }

  /// From the moment when a probe's result is there to when the dataplane's core has the verdict.
  [[nodiscard]] double verdict_us(probe::TargetId target) {
    const std::uint64_t before = told_->known();
    const auto begun = Clock::now();
    prober_.answer(target, false);
    while (told_->known() == before) {
      if (Clock::now() - begun > std::chrono::seconds(5)) std::abort();
      context_.poll();  // what waits for room in the socket goes on
    }
    const std::chrono::duration<double, std::micro> time = told_->known_at() - begun;
    context_.poll();  // reads the answers, lest the dataplane wait for room to write them
    return time.count();
  }

  std::string directory_ = [] {
    char name[] = "/tmp/headgate-verdict-XXXXXX";
    return std::string(mkdtemp(name));
  }();
  asio::io_context context_{1};
  daemon::AsioTimers timers_{context_};
  SystemClock clock_;
  NoKernel kernel_;
  NoStateServer state_server_;
  NoWatcher watcher_;
  NoActions actions_;
  Answering prober_{context_};
  std::unique_ptr<Told> told_;
  std::unique_ptr<link::SocketLink> link_;
  std::unique_ptr<daemon::Engine> engine_;
  bool applied_ = false;
  Microseconds held_{0};
};

}  // namespace

void verdicts(benchmark::State& state, unsigned targets) {
  for (auto unused : state) {
    Bed bed(targets);
    const std::vector<double> times = bed.fail_all(targets);
    if (!bed.applied() || times.size() < targets) return state.SkipWithError("not every target has failed");
    state.counters["verdict_us"] = times[times.size() / 2];
    state.counters["verdict_p99_us"] = times[times.size() * 99 / 100];
    state.counters["verdict_worst_us"] = times.back();
    state.counters["held_worst_us"] = bed.held_us();
  }
}

}  // namespace headgate::bench
