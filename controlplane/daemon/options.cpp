// SPDX-License-Identifier: Apache-2.0
#include "controlplane/daemon/options.h"

#include <string_view>

#include <fmt/format.h>

namespace headgate::daemon {
namespace {

Status set(Options& options, std::string_view name, std::string_view value) {
  if (name == "--run-dir")
    options.run_dir = value;
  else if (name == "--state-dir")
    options.state_dir = value;
  else if (name == "--log" && value == "stderr")
    options.log = Options::Log::standard_error;
  else if (name == "--log" && value == "syslog")
    options.log = Options::Log::syslog;
  else if (name == "--log")
    return Error{fmt::format("--log {}: stderr or syslog is allowed", value)};
  else
    return Error{fmt::format("unknown option {}", name)};
  return Done{};
}

}  // namespace

Result<Options> parse_options(std::span<const char* const> arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view name = arguments[i];
    const auto equals = name.find('=');
    if (name == "--help" || name == "-h")
      options.help = true;
    else if (name == "--withdraw")
      options.withdraw = true;
    else if (equals != std::string_view::npos) {
      if (Status done = set(options, name.substr(0, equals), name.substr(equals + 1)); !done.ok())
        return done.error();
    } else if (i + 1 == arguments.size()) {
      return Error{fmt::format("option {} is unknown or lacks its value", name)};
    } else if (Status done = set(options, name, arguments[++i]); !done.ok()) {
      return done.error();
    }
  }
  return options;
}

std::string usage() {
  return "usage: headgated [--run-dir DIR] [--state-dir DIR] [--log stderr|syslog] [--withdraw]\n"
         "  --run-dir DIR    sockets: control.sock, dataplane.sock (default /run/headgate)\n"
         "  --state-dir DIR  configurations (default /var/lib/headgate)\n"
         "  --log WHERE      where events go: stderr, or the local syslog (default stderr)\n"
         "  --withdraw       take guard, addresses and routes out of the kernel, and end\n";
}

}  // namespace headgate::daemon
