// SPDX-License-Identifier: Apache-2.0
#include "model/line.h"

#include <algorithm>

namespace headgate::line {
namespace {

bool blank(char c) {
  return c == ' ' || c == '\t' || c == '\f' || c == '\r';
}
bool control(char c) {
  return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
}

/// Reads the text from left to right, one token after the other.
class Splitter {
 public:
  explicit Splitter(std::string_view text) : text_(text) {}

  Result<Line> run() {
    Line line;
    skip_blanks();
    if (text_.starts_with('/')) {
      line.absolute = true;
      text_.remove_prefix(1);
    }
    while (skip_blanks(), !text_.empty()) {
      auto step = read_step();
      if (!step) return step.error();
      line.steps.push_back(std::move(*step));
    }
    return line;
  }

 private:
  void skip_blanks() {
    while (!text_.empty() && blank(text_.front())) text_.remove_prefix(1);
  }

  Result<Step> read_step() {
    Step step;
    while (skip_blanks(), !text_.empty()) {
      if (text_.front() == '/') {
        text_.remove_prefix(1);
        break;
      }
      auto token = read_token();
      if (!token) return token.error();
      step.push_back(std::move(*token));
    }
    return step;
  }

  Result<Token> read_token() {
    Token token;
    while (!text_.empty() && !blank(text_.front()) && text_.front() != '/') {
      const char c = text_.front();
      if (control(c)) return Error{"control characters are not allowed"};
      text_.remove_prefix(1);
      if (c != '"') {
        token.text += c;
        continue;
      }
      token.quoted = true;
      if (auto read = read_quoted(token.text); !read) return read.error();
    }
    return token;
  }

  Status read_quoted(std::string& into) {
    while (!text_.empty()) {
      char c = text_.front();
      text_.remove_prefix(1);
      if (c == '"') return Done{};
      if (c == '\\' && (text_.starts_with('"') || text_.starts_with('\\'))) {
        c = text_.front();
        text_.remove_prefix(1);
      }
      if (control(c)) return Error{"control characters are not allowed"};
      into += c;
    }
    return Error{"a closing double quote is missing"};
  }

  std::string_view text_;
};

}  // namespace

Result<Line> split(std::string_view text) {
  return Splitter(text).run();
}

bool skipped(std::string_view text) {
  const auto start = std::ranges::find_if_not(text, blank);
  const std::string_view rest(start, text.end());
  if (rest.empty() || rest.starts_with("/*")) return true;
  return rest.starts_with("script start") || rest.starts_with("script end");
}

std::string_view take_line(std::string_view& text) {
  const auto end = std::min(text.find('\n'), text.size());
  std::string_view first = text.substr(0, end);
  if (first.ends_with('\r')) first.remove_suffix(1);
  text.remove_prefix(std::min(end + 1, text.size()));
  return first;
}

std::string quote(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string quote_if_needed(std::string_view text) {
  const bool plain = std::ranges::none_of(text, [](char c) { return blank(c) || c == '/' || c == '"'; });
  return plain && !text.empty() ? std::string(text) : quote(text);
}

std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string cut(text.substr(0, kLongest));
  std::ranges::replace_if(
      cut, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text.size() > kLongest ? cut + "..." : cut;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string joined;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) joined += separator;
    joined += part;
  }
  return joined;
}

}  // namespace headgate::line
