// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <sys/signalfd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "dataplane/shell/control.h"
#include "dataplane/shell/log.h"

namespace headgate::shell {
namespace {

/// Readable when the process is asked to end. Blocks the signals in all threads to come.
Fd stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return Fd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

int serve(const Options& options) {
  const Fd stop = stop_signals();
  auto eal = Eal::start(options);
  if (!eal) {
    log("{}", eal.error().message);
    return EXIT_FAILURE;
  }
  auto sessions = take_session_file(options);
  if (!sessions) {
    log("no memory for sessions: {}", sessions.error().message);
    return EXIT_FAILURE;
  }
  Control control(options, *eal, *sessions);
  if (auto started = control.start(); !started) {
    log("{}", started.error().message);
    return EXIT_FAILURE;
  }
  log("ready, {} worker(s)", options.workers);
  if (auto ended = control.run(stop.get()); !ended) {
    log("{}", ended.error().message);
    return EXIT_FAILURE;
  }
  log("stopping");
  return EXIT_SUCCESS;
}

int main(int argc, char** argv) {
  const auto options = parse_options({argv + 1, static_cast<std::size_t>(argc - 1)});
  if (!options) {
    std::fprintf(stderr, "headgate-dataplane: %s\n%s", options.error().message.c_str(), usage().c_str());
    return 2;
  }
  if (options->help) {
    std::fputs(usage().c_str(), stdout);
    return EXIT_SUCCESS;
  }
  return serve(*options);
}

}  // namespace
}  // namespace headgate::shell

int main(int argc, char** argv) {
  try {
    return headgate::shell::main(argc, argv);
  } catch (const std::exception& error) {
    headgate::shell::log("fatal: {}", error.what());
    return EXIT_FAILURE;
  }
}
