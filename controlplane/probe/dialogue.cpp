// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/dialogue.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "controlplane/probe/quoted.h"
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

int code_of(std::string_view line) {
  return (line[0] - '0') * 100 + (line[1] - '0') * 10 + (line[2] - '0');
}

/// The last line of an answer has a blank behind its number, the ones before have a hyphen (RFC 5321, 4.2.1).
template <int... kWanted>
Sense by_code(std::string_view line) {
  if (!is_code(line)) return Sense::refuses;
  const int code = code_of(line);
  if (((code != kWanted) && ...)) return Sense::refuses;
  return line.size() > 3 && line[3] == '-' ? Sense::more : Sense::agrees;
}

/// An answer, whatever it says.
Sense by_any_code(std::string_view line) {
  if (!is_code(line)) return Sense::refuses;
  return line.size() > 3 && line[3] == '-' ? Sense::more : Sense::agrees;
}

// ---- FTP: where the file comes

/// The decimal number at the front, which is taken away; nothing where it is none or above `most`.
std::optional<unsigned> take_number(std::string_view& text, unsigned most) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number > most) return {};
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// "229 Entering Extended Passive Mode (|||6446|)": RFC 2428, 3.
std::optional<L4Port> extended_port(std::string_view line) {
  const auto opening = line.find('(');
  if (!line.starts_with("229") || opening == std::string_view::npos) return {};
  std::string_view rest = line.substr(opening + 1);
  const std::string bars(3, rest.substr(0, 1).empty() ? ' ' : rest.front());
  if (!rest.starts_with(bars)) return {};
  rest.remove_prefix(bars.size());
  const auto port = take_number(rest, 0xffff);
  if (!port || *port == 0 || !rest.starts_with(bars.substr(0, 1))) return {};
  return static_cast<L4Port>(*port);
}

/// "227 Entering Passive Mode (10,10,2,11,25,46)": RFC 959, 4.1.2; not every server has the brackets.
std::optional<L4Port> passive_port(std::string_view line) {
  if (!line.starts_with("227 ")) return {};
  std::string_view rest = line.substr(4);
  rest.remove_prefix(std::min(rest.find_first_of("0123456789"), rest.size()));
  unsigned port = 0;
  for (int at = 0; at < 6; ++at) {
    if (at > 0 && !rest.starts_with(',')) return {};
    if (at > 0) rest.remove_prefix(1);
    const auto number = take_number(rest, 0xff);
    if (!number) return {};
    port = (port << 8 | *number) & 0xffff;
  }
  return port == 0 ? std::nullopt : std::optional(static_cast<L4Port>(port));
}

Sense by_extended_port(std::string_view line) {
  if (extended_port(line)) return Sense::skips;
  const bool unknown = is_code(line) && line[0] == '5' && code_of(line) != 530;  // not logged in
  return unknown ? Sense::agrees : Sense::refuses;
}

Sense by_passive_port(std::string_view line) {
  return passive_port(line) ? Sense::agrees : Sense::refuses;
}

Sense by_user(std::string_view line) {
  return by_code<230>(line) == Sense::agrees ? Sense::skips : by_code<331>(line);
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
  return say_next();
}

// A server that says more than it was asked is taken at its word: whether that comes before or after the next
// command has left is a matter of chance.
Conversation::Turn Dialogue::hear(std::string_view bytes) {
  Turn turn;
  while (!bytes.empty() && !turn.outcome) {
    if (turn.connect || turn.fetch) {
      rest_ = bytes;
      break;
    }
    Turn next = read(bytes);
    next.say.insert(0, turn.say);
    turn = std::move(next);
  }
  return turn;
}

/// Takes what belongs to one line from the front.
Conversation::Turn Dialogue::read(std::string_view& bytes) {
  const auto end = bytes.find('\n');
  const std::string_view piece = bytes.substr(0, end);
  if (line_.size() + piece.size() > kLongestLine) return fail("answer has no end of line");
  line_ += piece;
  bytes.remove_prefix(std::min(piece.size() + 1, bytes.size()));
  if (end == std::string_view::npos) return {};
  if (line_.ends_with('\r')) line_.pop_back();
  return take(std::exchange(line_, {}));
}

Dialogue::Sense Dialogue::judge(std::string_view line) {
  if (!until_.empty() && !line.starts_with(until_)) return Sense::more;
  if (!script_.free_middle || !is_code(line) || line.substr(3, 1) != "-")
    return script_.steps[at_].judge(line);
  until_ = fmt::format("{} ", line.substr(0, 3));
  return Sense::more;
}

Conversation::Turn Dialogue::take(std::string_view line) {
  const Sense sense = judge(line);
  if (sense == Sense::more) return ++lines_ <= kMostLines ? Turn{} : fail("answer has no end");
  if (sense == Sense::refuses) return refuse(line);
  const Step& step = script_.steps[at_];
  return advance(sense, step.port ? step.port(line) : std::nullopt);
}

Conversation::Turn Dialogue::refuse(std::string_view line) const {
  const Step& step = script_.steps[at_];
  if (!step.secret.empty() && line.find(step.secret) != std::string_view::npos) return fail("login refused");
  const std::string_view unasked = at_ == 0 ? "greeting" : "transfer:";
  const std::string about = !step.secret.empty() ? "login:" : step.say.empty() ? "" : step.say + ":";
  return fail(
      fmt::format("{} \"{}\", wanted {}", about.empty() ? unasked : about, quoted(line), step.wanted));
}

Conversation::Turn Dialogue::advance(Sense sense, std::optional<L4Port> port) {
  const bool fetch = script_.steps[at_].fetch;
  lines_ = 0;
  until_.clear();
  at_ += sense == Sense::skips ? 2 : 1;
  if (sense == Sense::settles || at_ >= script_.steps.size()) return pass();
  if (port) return {.connect = port};
  if (fetch) return {.fetch = true};
  return say_next();
}

Conversation::Turn Dialogue::say_next() const {
  const std::string& say = script_.steps[at_].say;
  return {say.empty() ? "" : say + std::string(kLineEnd), {}};
}

Conversation::Turn Dialogue::connected(std::string_view failure) {
  if (!failure.empty()) return fail(fmt::format("data connection: {}", failure));
  return resume();
}

Conversation::Turn Dialogue::fetched(std::size_t octets) {
  return octets > 0 ? pass() : resume();
}

/// Says what comes next, and hears what has come meanwhile.
Conversation::Turn Dialogue::resume() {
  Turn turn = say_next();
  Turn heard = hear(std::exchange(rest_, {}));
  heard.say.insert(0, turn.say);
  return heard;
}

Conversation::Turn Dialogue::pass() const {
  return {std::string(script_.farewell) + std::string(kLineEnd), Outcome{true, "answered"}};
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
  return {{{"", by_code<200, 201>, "200 or 201"},
           {"MODE READER", by_any_code, "an answer"},
           {"GROUP " + group, by_code<211>, "211"}},
          "QUIT"};
}

Dialogue::Script ftp_script(const std::string& file) {
  Dialogue::Script script{{{"", by_code<220>, "220"},
                           {"USER anonymous", by_user, "230 or 331"},
                           {"PASS headgate@", by_code<230, 202>, "230"}},
                          "QUIT",
                          true};
  if (file.empty()) return script;
  const Dialogue::Step fetch[] = {
      {"TYPE I", by_code<200>, "200"},
      {"EPSV", by_extended_port, "229 and a port", "", extended_port},
      {"PASV", by_passive_port, "227 and a port", "", passive_port},
      {.say = "RETR " + file, .judge = by_code<125, 150>, .wanted = "125 or 150", .fetch = true},
      {"", by_code<226, 250>, "226"}};
  script.steps.insert(script.steps.end(), std::begin(fetch), std::end(fetch));
  return script;
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
