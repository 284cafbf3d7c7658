// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/script.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "controlplane/probe/bytes.h"
#include "model/line.h"
#include "model/ports.h"

namespace headgate::probe {
namespace {

using Verb = Statement::Verb;

// ---- Reading

std::optional<std::uint32_t> decimal(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// The octets of a text: \r, \n, \t, \" and \\ stand for themselves, another \x for both.
std::string unescaped(std::string_view text) {
  constexpr std::string_view kWritten = "rnt\"\\", kMeant = "\r\n\t\"\\";
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto known =
        text[i] == '\\' && i + 1 < text.size() ? kWritten.find(text[i + 1]) : std::string::npos;
    if (known == std::string::npos)
      out += text[i];
    else
      out += kMeant[known], ++i;
  }
  return out;
}

/// Puts the legs together, statement by statement.
class ScriptReader {
 public:
  headgate::Result<std::vector<ScriptLeg>> read(const std::vector<Statement>& statements) {
    std::size_t cost = 0;
    for (std::size_t i = 0; i < statements.size(); ++i) {
      cost += statements[i].text.size() + 1;
      auto done = take(statements[i]);
      if (done && cost > kScriptRoom)
        done = Error{fmt::format("the script takes {} octets, allowed are {}", cost, kScriptRoom)};
      if (!done) return Error{fmt::format("statement {}: {}", i + 1, done.error().message)};
    }
    for (std::size_t i = 0; i < legs_.size(); ++i)
      if (!proves_something(legs_[i]))
        return Error{fmt::format("connection {} is over udp, and expects nothing: it can't fail", i + 1)};
    return std::move(legs_);
  }

 private:
  Status take(const Statement& statement) {
    const Verb before = std::exchange(last_, statement.verb);
    if (statement.verb == Verb::open) return open(statement.text);
    if (!open_) return Error{"it needs an open before it"};
    if (statement.text.empty() && says_octets(statement.verb))
      return Error{"it says no octets; what takes any answer is expect *"};
    switch (statement.verb) {
      case Verb::send:
        moves().push_back({.send = unescaped(statement.text)});
        return Done{};
      case Verb::expect:
        moves().push_back({.expect = statement.text == "*" ? "" : unescaped(statement.text),
                           .shown = fmt::format("expect {}", line::quote(statement.text))});
        return Done{};
      case Verb::close:
        open_ = false;
        return legs_.back().carrier == Carrier::datagrams ? Status(Error{"close is for tcp"})
                                                          : Status(Done{});
      case Verb::bsend:
      case Verb::nsend:
      case Verb::bexpect:
      case Verb::nexpect:
        return binary(statement, before);
      default:
        return bound(statement);
    }
  }

  [[nodiscard]] static bool says_octets(Verb verb) {
    return verb != Verb::close && verb != Verb::offset && verb != Verb::depth && verb != Verb::wait;
  }

  /// Nobody answers for a datagram that was only sent.
  [[nodiscard]] static bool proves_something(const ScriptLeg& leg) {
    return leg.carrier != Carrier::datagrams ||
           std::ranges::any_of(leg.moves, [](const ScriptMove& move) { return move.send.empty(); });
  }

  Status open(std::string_view text) {
    const auto comma = text.find(',');
    const std::string_view port = text.substr(0, comma);
    const std::string_view over = comma == std::string_view::npos ? "" : text.substr(comma + 1);
    ScriptLeg leg;
    if (over == "udp") leg.carrier = Carrier::datagrams;
    if (over == "tcp") leg.carrier = Carrier::stream;
    if (!leg.carrier && comma != std::string_view::npos)
      return Error{
          fmt::format("{} is not allowed behind the port, allowed is tcp or udp", line::shown(over))};
    const auto named = port_of(port);
    const auto number = named ? std::optional<std::uint32_t>(*named) : decimal(port);
    if (port != "inherit" && (!number || *number == 0 || *number > 65535))
      return Error{fmt::format("port {} is not allowed, allowed is 1-65535, a name such as http, or inherit",
                               line::shown(port))};
    leg.port = static_cast<L4Port>(number.value_or(0));
    if (leg.port != 0 && !leg.carrier) leg.carrier = Carrier::stream;
    legs_.push_back(std::move(leg));
    open_ = true;
    return Done{};
  }

  Status binary(const Statement& statement, Verb before) {
    auto read = from_hex(statement.text);
    if (!read) return Error{fmt::format("{} is not hexadecimal", line::shown(statement.text))};
    const bool sends = statement.verb == Verb::bsend || statement.verb == Verb::nsend;
    if (statement.verb == Verb::bsend) {
      moves().push_back({.send = std::move(*read)});
    } else if (statement.verb == Verb::bexpect) {
      moves().push_back({.expect = std::move(*read), .shown = "bexpect " + statement.text});
    } else {
      const Verb first = sends ? Verb::bsend : Verb::bexpect;
      if (before != first && before != statement.verb)
        return Error{sends ? "nsend goes on with a bsend right before it"
                           : "nexpect goes on with a bexpect right before it"};
      ScriptMove& move = moves().back();
      (sends ? move.send : move.expect) += *read;
      if (!sends) move.shown += statement.text;
    }
    return Done{};
  }

  /// offset, depth and wait: about the expectation before them.
  Status bound(const Statement& statement) {
    if (moves().empty() || !moves().back().send.empty())
      return Error{"it is about an expect or bexpect, and there is none before it"};
    const auto value = decimal(statement.text);
    if (!value || *value == 0) return Error{fmt::format("{} is no number", line::shown(statement.text))};
    ScriptMove& move = moves().back();
    if (statement.verb == Verb::offset) move.offset = *value - 1;
    if (statement.verb == Verb::depth) move.depth = *value;
    if (statement.verb == Verb::wait) move.wait = std::chrono::milliseconds(*value);
    return Done{};
  }

  std::vector<ScriptMove>& moves() { return legs_.back().moves; }

  std::vector<ScriptLeg> legs_;
  bool open_ = false;
  Verb last_ = Verb::close;
};

// ---- Performing

class ScriptConversation final : public Conversation {
 public:
  ScriptConversation(ScriptLeg leg, Carrier carrier)
      : moves_(std::move(leg.moves)), packets_(carrier == Carrier::datagrams) {}

  Turn begin() override { return go_on(); }

  Turn hear(std::string_view bytes) override {
    if (packets_) heard_.clear();
    heard_ += bytes;
    total_ += bytes.size();
    if (total_ > kMostInAll)
      return {{},
              Outcome{false, fmt::format("{}: not in {} octets, and no end", moves_[at_].shown, kMostInAll)}};
    if (heard_.size() > 2 * kMost) {
      const std::size_t gone = heard_.size() - kMost;
      heard_.erase(0, gone);
      dropped_ += gone;
      used_ -= std::min(used_, gone);
    }
    return go_on();
  }

  Turn late() override {
    const ScriptMove& move = moves_[at_];
    if (!move.wait) return {};  // that of an earlier one, which was met just in time
    return {{}, Outcome{false, fmt::format("{}: no match in {} ms", move.shown, move.wait->count())}};
  }

  Outcome end() override {
    return {false, total_ == 0
                       ? fmt::format("{}: closed without an answer", moves_[at_].shown)
                       : fmt::format("{}: not in the {} octets that came", moves_[at_].shown, total_)};
  }

 private:
  /// Moves on until something is waited for.
  Turn go_on() {
    Turn turn;
    while (at_ < moves_.size() && step(turn)) ++at_;
    if (at_ == moves_.size())
      turn.outcome = Outcome{true, "answered"};
    else if (std::exchange(waits_for_, at_) != at_)
      turn.patience = moves_[at_].wait;
    return turn;
  }

  bool step(Turn& turn) {
    const ScriptMove& move = moves_[at_];
    if (move.send.empty()) return met(move);
    turn.say += move.send;
    heard_.erase(0, packets_ ? heard_.size() : used_);
    used_ = dropped_ = 0;
    return true;
  }

  /// Whether an expectation is met by what has come since the last send, be it in whatever order. What a
  /// server says beyond what meets them all answers the next send: whether it came before or after that is
  /// chance.
  bool met(const ScriptMove& move) {
    const std::size_t from = move.offset > dropped_ ? move.offset - dropped_ : 0;
    if (from >= heard_.size()) return false;
    const std::size_t limit = move.depth == 0 ? heard_.size() : from + move.depth;
    const std::size_t found = std::string_view(heard_).substr(0, limit).find(move.expect, from);
    if (found == std::string::npos) return false;
    used_ = std::max(used_, found + std::max<std::size_t>(move.expect.size(), 1));
    return true;
  }

  /// Answers longer than that are looked at from their end.
  static constexpr std::size_t kMost = 64 * 1024;
  /// A server that says more only talks.
  static constexpr std::size_t kMostInAll = 1024 * 1024;

  std::vector<ScriptMove> moves_;
  bool packets_;
  std::size_t at_ = 0;
  std::size_t waits_for_ = std::string::npos;
  std::string heard_;        ///< since the last send, without what was dropped
  std::size_t dropped_ = 0;  ///< of the answer, from its beginning
  std::size_t used_ = 0;     ///< so much of it has met expectations
  std::size_t total_ = 0;
};

}  // namespace

Result<std::vector<ScriptLeg>> read_script(const std::vector<Statement>& statements) {
  return ScriptReader().read(statements);
}

std::unique_ptr<Conversation> script_conversation(ScriptLeg leg, Carrier carrier) {
  return std::make_unique<ScriptConversation>(std::move(leg), carrier);
}

}  // namespace headgate::probe
