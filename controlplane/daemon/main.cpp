// SPDX-License-Identifier: Apache-2.0
//
// headgated: probes servers, owns the configuration, and tells the dataplane what to do.
#include "controlplane/action/asio_actions.h"
#include "controlplane/control/server.h"
#include "controlplane/control/state_server.h"
#include "controlplane/daemon/asio_timers.h"
#include "controlplane/daemon/options.h"
#include "controlplane/dataplane_link/socket_link.h"
#include "controlplane/probe/asio_prober.h"
#include "controlplane/probe/asio_watcher.h"

#include <syslog.h>

#include <csignal>
#include <cstdio>
#include <optional>

#include <fmt/format.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "controlplane/config/files.h"

namespace headgate::daemon {
namespace {

namespace asio = boost::asio;

class SystemClock final : public Clock {
 public:
  [[nodiscard]] std::uint64_t unix_ms() const override {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  }
};

void print(const telemetry::Line& line) {
  std::fprintf(stderr, "%s\n", line.text.c_str());
}
void to_syslog(const telemetry::Line& line) {
  syslog(static_cast<int>(line.severity), "%s", line.text.c_str());
}

std::string boot_id() {
  const std::string line = files::read("/proc/sys/kernel/random/boot_id").value_or("unknown");
  return line.substr(0, line.find('\n'));
}

int fail(const std::string& sentence) {
  std::fprintf(stderr, "headgated: %s\n", sentence.c_str());
  return 1;
}

int withdraw(const Options& options) {
  const std::vector<std::string> sentences = kernel::withdraw(options.state_dir + "/kernel.owned");
  for (const std::string& sentence : sentences) std::fprintf(stderr, "headgated: %s\n", sentence.c_str());
  return sentences.empty() ? 0 : 1;
}

/// The parts of a running headgated, in the order of their needs.
class Program {
 public:
  Program(const Options& options, std::unique_ptr<kernel::Kernel> kernel)
      : timers_(context_),
        kernel_(std::move(kernel)),
        prober_(probe::make_prober(context_)),
        watcher_(probe::make_watcher(context_)),
        actions_(action::make_actions(context_)),
        link_(link::make_link(context_, options.run_dir + "/dataplane.sock", events())),
        state_server_(control::make_state_server(
            context_, [this](std::uint32_t virt) { return service_.virt_state(virt); })),
        engine_({*kernel_, *link_, *prober_, timers_, clock_, *state_server_, *watcher_, *actions_},
                options.state_dir, boot_id(), options.log == Options::Log::syslog ? to_syslog : print),
        service_(engine_) {}

  int run(const Options& options) {
    asio::signal_set signals(context_, SIGTERM, SIGINT);
    signals.async_wait([this](const boost::system::error_code&, int) { context_.stop(); });
    engine_.start();
    auto server = control::serve(context_, options.run_dir + "/control.sock", service_);
    if (!server) return fail(server.error().message);
    link_->start();
    context_.run();
    // Guard, VIPs and addresses stay: the dataplane goes on without us. `--withdraw` takes them out.
    return 0;
  }

 private:
  link::Events events() {
    return {.on_connected =
                [this](const forwarding::HandBack& hand_back) { engine_.dataplane_connected(hand_back); },
            .on_lost = [this] { engine_.dataplane_lost(); },
            .on_absent = [this] { engine_.dataplane_absent(); },
            .on_report = [this](const forwarding::Report& report) { engine_.dataplane_report(report); }};
  }

  asio::io_context context_{1};
  AsioTimers timers_;
  SystemClock clock_;
  std::unique_ptr<kernel::Kernel> kernel_;
  std::unique_ptr<probe::Prober> prober_;
  std::unique_ptr<probe::Watcher> watcher_;
  std::unique_ptr<action::Actions> actions_;
  std::unique_ptr<link::SocketLink> link_;
  std::unique_ptr<StateServer> state_server_;
  Engine engine_;
  control::Service service_;
};

int run(const Options& options) {
  for (const std::string& directory : {options.run_dir, options.state_dir, options.state_dir + "/candidates"})
    if (const Status made = files::make_directory(directory); !made.ok()) return fail(made.error().message);
  for (const std::string& directory : {options.run_dir, options.state_dir})
    if (const Status claimed = files::claim(directory); !claimed.ok()) return fail(claimed.error().message);
  if (options.withdraw) return withdraw(options);
  auto kernel = kernel::make_kernel(options.state_dir + "/kernel.owned");
  if (!kernel) return fail(kernel.error().message);
  std::signal(SIGPIPE, SIG_IGN);
  if (options.log == Options::Log::syslog) openlog("headgated", LOG_PID, LOG_DAEMON);
  Program program(options, std::move(*kernel));
  return program.run(options);
}

}  // namespace
}  // namespace headgate::daemon

int main(int argc, char** argv) {
  using namespace headgate::daemon;
  const auto options = parse_options({argv + 1, static_cast<std::size_t>(argc - 1)});
  if (!options) return fail(options.error().message + "\n" + usage());
  if (options->help) return std::fputs(usage().c_str(), stdout) < 0;
  try {
    return run(*options);
  } catch (const std::exception& error) {  // out of memory, or a fault of ours: systemd starts us again
    return fail(error.what());
  }
}
