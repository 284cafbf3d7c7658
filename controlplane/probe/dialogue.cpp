// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/dialogue.h"

#include <algorithm>

#include <fmt/format.h>

#include "controlplane/probe/words.h"

namespace headgate::probe {
namespace {

using Sense = Dialogue::Sense;

constexpr std::string_view kLineEnd = "\r\n";

// ---- Answers that begin with a number: SMTP, NNTP

bool is_code(std::string_view line) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return line.size() >= 3 && std::all_of(line.begin(), line.begin() + 3, digit) &&
         (line.size() == 3 || line[3] == ' ' || line[3] == '-');
}

/// The last line of an answer has a blank behind its number, the ones before have a hyphen (RFC 5321, 4.2.1).
template <int... kWanted>
Sense by_code(std::string_view line) {
  if (!is_code(line)) return Sense::refuses;
  const int code = (line[0] - '0') * 100 + (line[1] - '0') * 10 + (line[2] - '0');
  if (((code != kWanted) && ...)) return Sense::refuses;
  return line.size() > 3 && line[3] == '-' ? Sense::more : Sense::agrees;
}

// ---- POP3

Sense by_sign(std::string_view line) {
  const bool ok = line.starts_with("+OK") && (line.size() == 3 || line[3] == ' ');
  return ok ? Sense::agrees : Sense::refuses;
}

// ---- IMAP: keywords in any case (RFC 3501, 9)

constexpr std::string_view kTag = "hg1";

bool begins(std::string_view line, std::string_view word) {
  return same_word(line.substr(0, word.size()), word) &&
         (line.size() == word.size() || line[word.size()] == ' ');
}

Sense by_greeting(std::string_view line) {
  if (begins(line, "* preauth")) return Sense::settles;
  return begins(line, "* ok") ? Sense::agrees : Sense::refuses;
}

Sense by_tag(std::string_view line) {
  if (begins(line, "* bye")) return Sense::refuses;
  if (line.starts_with("* ")) return Sense::more;
  return begins(line, fmt::format("{} ok", kTag)) ? Sense::agrees : Sense::refuses;
}

/// A string of IMAP: a backslash before what would end it.
std::string imap_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace

// ---- The dialogue

Conversation::Turn Dialogue::begin() {
  return {script_.steps.front().say.empty() ? "" : script_.steps.front().say + std::string(kLineEnd), {}};
}

// A server that says more than it was asked is taken at its word: whether that comes before or after the next
// command has left is a matter of chance.
Conversation::Turn Dialogue::hear(std::string_view bytes) {
  Turn turn;
  while (!bytes.empty() && !turn.outcome) {
    const auto end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (line_.size() + piece.size() > kLongestLine) return fail("answer has no end of line");
    line_ += piece;
    if (end == std::string_view::npos) break;
    bytes.remove_prefix(end + 1);
    if (line_.ends_with('\r')) line_.pop_back();
    Turn next = take(std::exchange(line_, {}));
    turn = {turn.say + next.say, std::move(next.outcome)};
  }
  return turn;
}

Conversation::Turn Dialogue::take(std::string_view line) {
  const Step& step = script_.steps[at_];
  const Sense sense = step.judge(line);
  if (sense == Sense::more && ++lines_ <= kMostLines) return {};
  if (sense == Sense::agrees || sense == Sense::settles) return advance(sense == Sense::settles);
  if (sense == Sense::more) return fail("answer has no end");
  if (!step.secret.empty() && line.find(step.secret) != std::string_view::npos) return fail("login refused");
  const std::string_view about = step.secret.empty() ? std::string_view(step.say) : "login";
  return fail(about.empty() ? fmt::format("greeting \"{}\", wanted {}", quoted(line), step.wanted)
                            : fmt::format("{}: \"{}\", wanted {}", about, quoted(line), step.wanted));
}

Conversation::Turn Dialogue::advance(bool settled) {
  lines_ = 0;
  if (settled || ++at_ == script_.steps.size())
    return {std::string(script_.farewell) + std::string(kLineEnd), Outcome{true, "answered"}};
  return {script_.steps[at_].say + std::string(kLineEnd), {}};
}

Conversation::Turn Dialogue::fail(std::string reason) const {
  return {std::string(script_.farewell) + std::string(kLineEnd), Outcome{false, std::move(reason)}};
}

Outcome Dialogue::end() {
  const bool silent = at_ == 0 && lines_ == 0 && line_.empty();
  return {false, silent ? "closed without an answer" : "answer is cut short"};
}

// ---- The protocols

Dialogue::Script smtp_script(const std::string& user) {
  return {{{"", by_code<220>, "220"},
           {"HELO headgate", by_code<250>, "250"},
           {"VRFY " + user, by_code<250, 251, 252>, "250 to 252"}},
          "QUIT"};
}

Dialogue::Script nntp_script(const std::string& group) {
  return {{{"", by_code<200, 201>, "200 or 201"}, {"GROUP " + group, by_code<211>, "211"}}, "QUIT"};
}

Dialogue::Script pop3_script(const std::string& user, const std::string& password) {
  return {{{"", by_sign, "+OK"},
           {"USER " + user, by_sign, "+OK"},
           {"PASS " + password, by_sign, "+OK", password}},
          "QUIT"};
}

Dialogue::Script imap_script(const std::string& user, const std::string& password) {
  return {{{"", by_greeting, "OK"},
           {fmt::format("{} LOGIN {} {}", kTag, imap_string(user), imap_string(password)), by_tag, "OK",
            password}},
          "hg2 LOGOUT"};
}

}  // namespace headgate::probe
