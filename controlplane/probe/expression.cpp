// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/expression.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace headgate::probe {
namespace {

using Known = std::optional<bool>;

Known negation(Known operand) {
  return operand ? Known(!*operand) : std::nullopt;
}

/// One operand decides alone when it has the value `deciding`.
Known joined(Known left, Known right, bool deciding) {
  if (left == deciding || right == deciding) return deciding;
  return left && right ? Known(!deciding) : std::nullopt;
}

bool in_name(unsigned char c) {
  return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
}

}  // namespace

/// Reads by recursive descent, a method for each level of binding.
class ExpressionReader {
 public:
  explicit ExpressionReader(std::string_view text) : rest_(text) {}

  headgate::Result<Expression> read() {
    next();
    disjunction(0);
    if (error_.empty() && !word_.empty()) fail(fmt::format("\"{}\" is not expected there", word_));
    if (!error_.empty()) return Error{error_};
    return std::move(made_);
  }

 private:
  using Kind = Expression::Item::Kind;

  void fail(std::string sentence) {
    if (error_.empty()) error_ = std::move(sentence);
    word_.clear();
    rest_ = {};
  }

  /// The next word into `word_`, empty at the end: a sign, or a name.
  void next() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size()));
    if (rest_.empty()) {
      word_.clear();
      return;
    }
    const auto end = std::ranges::find_if_not(rest_, in_name) - rest_.begin();
    const bool doubled = rest_.size() > 1 && rest_[0] == rest_[1] && (rest_[0] == '&' || rest_[0] == '|');
    const std::size_t length = end > 0 ? static_cast<std::size_t>(end) : doubled ? 2 : 1;
    word_ = rest_.substr(0, length);
    rest_.remove_prefix(length);
  }

  bool take(std::string_view sign, std::string_view doubled, std::string_view word) {
    if (word_ != sign && word_ != doubled && word_ != word) return false;
    next();
    return true;
  }

  void disjunction(std::size_t depth) {
    conjunction(depth);
    while (error_.empty() && take("|", "||", "or")) {
      conjunction(depth);
      made_.items_.push_back({Kind::disjunction});
    }
  }

  void conjunction(std::size_t depth) {
    operand(depth);
    while (error_.empty() && take("&", "&&", "and")) {
      operand(depth);
      made_.items_.push_back({Kind::conjunction});
    }
  }

  void operand(std::size_t depth) {
    if (depth > Expression::kDeepest) return fail("it is nested too deeply");
    if (take("!", "!", "not")) {
      operand(depth + 1);
      made_.items_.push_back({Kind::negation});
    } else if (take("(", "(", "(")) {
      disjunction(depth + 1);
      if (error_.empty() && !take(")", ")", ")")) fail("a ) is missing");
    } else {
      name();
    }
  }

  void name() {
    if (!error_.empty()) return;
    if (word_.empty()) return fail("a name is missing at the end");
    if (!in_name(static_cast<unsigned char>(word_.front())))
      return fail(fmt::format("\"{}\" is not expected there", word_));
    auto& names = made_.names_;
    const auto found = std::ranges::find(names, word_);
    made_.items_.push_back({Kind::name, static_cast<std::size_t>(found - names.begin())});
    if (found == names.end()) names.push_back(word_);
    next();
  }

  std::string_view rest_;
  std::string word_;
  std::string error_;
  Expression made_;
};

Result<Expression> Expression::parse(std::string_view text) {
  if (text.size() > kLongest) return Error{fmt::format("it is longer than {} characters", kLongest)};
  return ExpressionReader(text).read();
}

std::optional<bool> Expression::value(const std::vector<std::optional<bool>>& known) const {
  std::vector<Known> stack;
  for (const Item& item : items_) {
    if (item.kind == Item::Kind::name) {
      stack.push_back(known[item.name]);
      continue;
    }
    const Known last = stack.back();
    if (item.kind == Item::Kind::negation) {
      stack.back() = negation(last);
      continue;
    }
    stack.pop_back();
    stack.back() = joined(stack.back(), last, item.kind == Item::Kind::disjunction);
  }
  return stack.empty() ? std::nullopt : stack.back();
}

}  // namespace headgate::probe
