// SPDX-License-Identifier: Apache-2.0
#include "controlplane/config/formula.h"

#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace headgate::config {
namespace {

using Terms = std::vector<forwarding::Term>;

/// By recursive descent, a method for each level of binding. The text is short, and so is its nesting.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  Result<Terms> read() {
    either();
    if (!rest_.empty()) fail(fmt::format("\"{}\" is not expected there", rest_.front()));
    if (!error_.empty()) return Error{error_};
    return std::move(terms_);
  }

 private:
  void fail(std::string sentence) {
    if (error_.empty()) error_ = std::move(sentence);
    rest_ = {};
  }

  bool take(char sign) {
    if (!rest_.starts_with(sign)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void either() {
    both();
    while (take('|')) {
      both();
      join(forwarding::Term::OR);
    }
  }

  void both() {
    operand();
    while (take('&')) {
      operand();
      join(forwarding::Term::AND);
    }
  }

  void operand() {
    if (!take('(')) return number();
    either();
    if (error_.empty() && !take(')')) fail("a ) is missing");
  }

  void number() {
    if (rest_.empty()) return fail("the number of a real server is missing at the end");
    std::uint32_t real = 0;
    const char* end = rest_.data() + rest_.size();
    const auto [stop, wrong] = std::from_chars(rest_.data(), end, real);
    if (stop == rest_.data()) return fail(fmt::format("\"{}\" is not expected there", rest_.front()));
    if (wrong != std::errc{} || real == 0) return fail("it names a real server that there can't be");
    rest_.remove_prefix(static_cast<std::size_t>(stop - rest_.data()));
    terms_.emplace_back().set_real(real);
  }

  void join(forwarding::Term::Join how) { terms_.emplace_back().set_join(how); }

  std::string_view rest_;
  std::string error_;
  Terms terms_;
};

}  // namespace

bool has_formula(const Group& group) {
  return !group.advhlth().empty() && group.advhlth() != "128";
}

Result<Terms> parse_formula(std::string_view text) {
  return Reader(text).read();
}

}  // namespace headgate::config
