// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/http_reply.h"

#include <algorithm>

#include <fmt/format.h>

#include "controlplane/probe/quoted.h"

namespace headgate::probe {
namespace {

constexpr unsigned kSwitching = 101;  ///< after which nothing follows

bool digit(char c) {
  return c >= '0' && c <= '9';
}

// A status line is the version, its last digit, a blank, three digits, and what ends them.
std::size_t status_at(std::string_view version) {
  return version.size() + 2;
}
std::size_t decided_at(std::string_view version) {
  return status_at(version) + 4;
}

/// Whether `line`, complete or not, can be the beginning of a status line.
bool plausible(std::string_view line, std::string_view version) {
  const std::size_t status = status_at(version);
  const auto fits = [&](std::size_t at, char c) {
    if (at < version.size()) return c == version[at];
    if (at == version.size() || (at >= status && at < status + 3)) return digit(c);
    if (at == status - 1) return c == ' ';
    return c == ' ' || c == '\r' || c == '\n';
  };
  for (std::size_t at = 0; at < std::min(line.size(), decided_at(version)); ++at)
    if (!fits(at, line[at])) return false;
  return true;
}

class HttpExchange final : public Conversation {
 public:
  HttpExchange(std::string request, HttpWish wish) : request_(std::move(request)), reply_(std::move(wish)) {}

  Turn begin() override { return {std::move(request_), {}}; }
  Turn hear(std::string_view bytes) override { return {{}, reply_.append(bytes)}; }
  Outcome end() override { return reply_.end(); }

 private:
  std::string request_;
  HttpReply reply_;
};

}  // namespace

const std::optional<Outcome>& HttpReply::append(std::string_view bytes) {
  std::string_view rest = bytes.substr(0, kMost - read_);
  const bool too_long = rest.size() < bytes.size();
  read_ += rest.size();
  while (!outcome_ && !rest.empty()) {
    if (part_ == Part::body)
      judge_body(body_.append(std::exchange(rest, {})));
    else
      rest = read_line(rest);
  }
  if (!outcome_ && too_long) fail("answer is longer than 16 MiB");
  return outcome_;
}

/// Takes what belongs to one line; returns what is behind it.
std::string_view HttpReply::read_line(std::string_view bytes) {
  const auto end = bytes.find('\n');
  const std::size_t size = end == std::string_view::npos ? bytes.size() : end + 1;
  line_.append(bytes.substr(0, std::min(size, kLongest - line_.size())));
  if (part_ == Part::status && !status_) judge_status();
  if (outcome_) return {};
  head_ += size;
  if (head_ > kMostHead) fail("headers have no end");
  if (end != std::string_view::npos) end_line();
  return bytes.substr(size);
}

void HttpReply::judge_status() {
  const std::string_view name = wish_.version.substr(0, wish_.version.find('/'));
  if (!plausible(line_, wish_.version)) return fail(fmt::format("answer is not {}", name));
  if (line_.size() < decided_at(wish_.version)) return;
  const std::string_view digits = std::string_view(line_).substr(status_at(wish_.version), 3);
  const unsigned status =
      static_cast<unsigned>((digits[0] - '0') * 100 + (digits[1] - '0') * 10 + digits[2] - '0');
  status_ = status;
  const bool wanted = !wish_.whole && wish_.statuses.has(status);
  interim_ = !wanted && status / 100 == 1 && status != kSwitching;
  if (interim_ || wish_.whole) return;
  if (!wanted) return fail(fmt::format("status {}, wanted {}", digits, wish_.statuses.text()));
  if (wish_.contains.empty()) outcome_ = Outcome{true, fmt::format("status {}", digits)};
}

void HttpReply::end_line() {
  std::string_view line = line_;
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  if (part_ == Part::status)
    part_ = Part::headers;
  else if (line.empty())
    end_head();
  else if (!interim_)
    body_.header(line);
  line_.clear();
}

void HttpReply::end_head() {
  part_ = interim_ ? Part::status : Part::body;
  if (interim_) return status_.reset();
  judge_body(body_.begin(status_ == kSwitching || status_ == 204u || status_ == 304u));
}

void HttpReply::judge_body(HttpBody::Find find) {
  if (find == HttpBody::Find::found) outcome_ = Outcome{true, fmt::format("status {}", *status_)};
  if (find == HttpBody::Find::malformed) fail(std::string(body_.complaint()));
  if (find != HttpBody::Find::lacking) return;
  if (wish_.whole)
    outcome_ = Outcome{true, fmt::format("status {}", *status_)};
  else
    fail(fmt::format("body lacks \"{}\" (read {} octets)", quoted(wish_.contains), body_.octets()));
}

Outcome HttpReply::end() {
  if (outcome_) return *outcome_;
  if (part_ == Part::body && (!wish_.whole || body_.ends_with_stream()))
    judge_body(HttpBody::Find::lacking);
  else
    fail(head_ == 0 ? "closed without an answer" : "answer is cut short");
  return *outcome_;
}

std::unique_ptr<Conversation> http_exchange(std::string request, HttpWish wish) {
  return std::make_unique<HttpExchange>(std::move(request), std::move(wish));
}

}  // namespace headgate::probe
