// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/options.h"

#include <charconv>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace headgate::shell {
namespace {

struct Option {
  std::string_view name;
  std::string_view value;  ///< what follows it; empty: nothing
  std::string_view help;
  std::function<bool(Options&, std::string_view)> set;  ///< false: the value is not allowed
};

template <class Number>
std::function<bool(Options&, std::string_view)> number(Number Options::*member, Number low, Number high) {
  return [=](Options& options, std::string_view text) {
    Number value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < low || value > high) return false;
    options.*member = value;
    return true;
  };
}

std::function<bool(Options&, std::string_view)> text(std::string Options::*member) {
  return [=](Options& options, std::string_view value) {
    options.*member = value;
    return !value.empty();
  };
}

std::function<bool(Options&, std::string_view)> flag(bool Options::*member, bool value) {
  return [=](Options& options, std::string_view) {
    options.*member = value;
    return true;
  };
}

const std::vector<Option>& all() {
  static const std::vector<Option> options{
      {"--run-dir", "DIR", "where dataplane.sock is made", text(&Options::run_dir)},
      {"--state-dir", "DIR", "where the last generation is kept", text(&Options::state_dir)},
      {"--session-dir", "DIR", "where sessions outlive the process (default: on huge pages, else in memory)",
       text(&Options::session_dir)},
      {"--workers", "N", "threads that switch packets, 1-16", number(&Options::workers, 1U, 16U)},
      {"--sessions", "N", "sessions at a time, 1024-67108864", number(&Options::sessions, 1024U, 67108864U)},
      {"--memory", "MB", "for packet buffers, 64-65536", number(&Options::memory_mb, 64U, 65536U)},
      {"--steering", "FILE", "the XDP program", text(&Options::steering)},
      {"--file-prefix", "NAME", "tells several dataplanes on one machine apart", text(&Options::file_prefix)},
      {"--no-huge", "", "use normal pages", flag(&Options::huge, false)},
      {"--poll", "", "never sleep, for the lowest latency", flag(&Options::poll, true)},
      {"--help", "", "print this", flag(&Options::help, true)},
  };
  return options;
}

const Option* find(std::string_view name) {
  for (const Option& option : all()) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

}  // namespace

Result<Options> parse_options(std::span<char* const> arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    const std::size_t equals = argument.find('=');
    const Option* option = find(argument.substr(0, equals));
    if (option == nullptr) return Error{fmt::format("there is no option {}", argument)};
    std::optional<std::string_view> value;
    if (equals != std::string_view::npos) value = argument.substr(equals + 1);
    if (option->value.empty() && value) return Error{fmt::format("{} takes no value", option->name)};
    if (!option->value.empty() && !value) {
      if (++i == arguments.size()) return Error{fmt::format("{} needs {}", option->name, option->value)};
      value = arguments[i];
    }
    if (!option->set(options, value.value_or(""))) {
      return Error{fmt::format("{} can't be '{}': {}", option->name, *value, option->help)};
    }
  }
  return options;
}

std::string usage() {
  std::string out = "usage: headgate-dataplane [options]\n";
  for (const Option& option : all()) {
    out += fmt::format("  {:<24}{}\n", fmt::format("{} {}", option.name, option.value), option.help);
  }
  return out;
}

}  // namespace headgate::shell
