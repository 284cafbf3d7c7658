// SPDX-License-Identifier: Apache-2.0
#include "controlplane/action/way.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace headgate::action {
namespace {

constexpr std::string_view kHttp = "http://";
constexpr const char* kAllowed = "a command that begins with /, or http://ADDRESS[:PORT][/PATH]";

/// Takes the words of a command one character at a time.
class Splitter {
 public:
  void take(char c) {
    if (escaped_) return put(c);
    if (c == '\\' && quote_ != '\'') {
      escaped_ = begun_ = true;
    } else if (c == quote_) {
      quote_ = 0;
    } else if (quote_ == 0 && (c == '"' || c == '\'')) {
      quote_ = c;
      begun_ = true;
    } else if (quote_ == 0 && (c == ' ' || c == '\t')) {
      end_word();
    } else {
      put(c);
    }
  }
  /// Nothing when a quote or a backslash stands open.
  std::optional<std::vector<std::string>> end() {
    if (quote_ != 0 || escaped_) return std::nullopt;
    end_word();
    return std::move(words_);
  }

 private:
  void put(char c) {
    word_ += c;
    begun_ = true;
    escaped_ = false;
  }
  void end_word() {
    if (begun_) words_.push_back(std::exchange(word_, {}));
    begun_ = false;
  }

  std::vector<std::string> words_;
  std::string word_;
  bool begun_ = false;
  bool escaped_ = false;
  char quote_ = 0;
};

Result<Way> read_command(std::string_view text) {
  Splitter splitter;
  for (const char c : text) splitter.take(c);
  auto words = splitter.end();
  if (!words) return Error{fmt::format("\"{}\" ends within a quote or behind a backslash", text)};
  if (words->empty() || !words->front().starts_with('/'))
    return Error{fmt::format("\"{}\" is none; {} is allowed", text, kAllowed)};
  return Way(Command{std::move(*words)});
}

/// What stands in front of the path: an address and perhaps a port.
std::optional<Call> read_host(std::string_view host) {
  Call call{.host = std::string(host)};
  const bool v6 = host.starts_with('[');
  const auto end = v6 ? host.find(']') : std::min(host.find(':'), host.size());
  if (end == std::string_view::npos) return std::nullopt;
  const auto address = Ip::parse(host.substr(v6 ? 1 : 0, v6 ? end - 1 : end));
  if (!address || address->none() || address->is_v4() == v6) return std::nullopt;
  call.address = *address;
  host.remove_prefix(v6 ? end + 1 : end);
  if (host.empty()) return call;
  const char* last = host.data() + host.size();
  const auto [stop, error] = std::from_chars(host.data() + 1, last, call.port);
  if (host.front() != ':' || error != std::errc{} || stop != last || call.port == 0) return std::nullopt;
  return call;
}

Result<Way> read_call(std::string_view text) {
  const std::string_view rest = text.substr(kHttp.size());
  const auto slash = std::min(rest.find('/'), rest.size());
  auto call = read_host(rest.substr(0, slash));
  const bool plain = std::ranges::all_of(rest, [](char c) { return c > ' ' && c <= '~'; });
  if (!call || !plain) return Error{fmt::format("\"{}\" is none; {} is allowed", text, kAllowed)};
  if (slash != rest.size()) call->path = rest.substr(slash);
  return Way(std::move(*call));
}

std::string json(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < ' ')
      out += fmt::format("\\u{:04x}", c);
    else
      out += c;
  }
  return out + "\"";
}

}  // namespace

Result<Way> read_way(std::string_view text) {
  return text.starts_with(kHttp) ? read_call(text) : read_command(text);
}

std::vector<std::string> environment_of(const Act& act) {
  return {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
          fmt::format("HEADGATE_ACTION={}", health::word_of(act.remedy)),
          fmt::format("HEADGATE_REAL={}", act.real),
          fmt::format("HEADGATE_ADDRESS={}", act.address.text()),
          fmt::format("HEADGATE_PORT={}", act.port),
          fmt::format("HEADGATE_REASON={}", act.reason)};
}

std::string request_of(const Call& call, const Act& act) {
  const std::string body =
      fmt::format(R"({{"action":"{}","real":{},"address":"{}","port":{},"reason":{}}})",
                  health::word_of(act.remedy), act.real, act.address.text(), act.port, json(act.reason));
  return fmt::format(
      "POST {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: headgate\r\nContent-Type: application/json\r\n"
      "Content-Length: {}\r\nConnection: close\r\n\r\n{}",
      call.path, call.host, body.size(), body);
}

}  // namespace headgate::action
