// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/status_set.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace headgate::probe {
namespace {

/// Of exactly three digits.
std::optional<std::uint16_t> number(std::string_view text) {
  std::uint16_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.size() != 3 || error != std::errc() || end != text.data() + text.size()) return {};
  return value >= StatusSet::kLeast ? std::optional(value) : std::nullopt;
}

}  // namespace

headgate::Result<StatusSet::Range> StatusSet::parse_range(std::string_view text) {
  const auto hyphen = text.find('-');
  const auto first = number(text.substr(0, hyphen));
  const auto last = hyphen == std::string_view::npos ? first : number(text.substr(hyphen + 1));
  if (!first || !last)
    return Error{
        fmt::format("status \"{}\": wanted {} to {}, or a range such as 200-299", text, kLeast, kMost)};
  if (*first > *last) return Error{fmt::format("status \"{}\": the range ends before it begins", text)};
  return Range{*first, *last};
}

headgate::Result<StatusSet> StatusSet::parse(std::string_view text) {
  StatusSet out;
  out.ranges_.clear();
  while (true) {
    const auto comma = text.find(',');
    const auto range = parse_range(text.substr(0, comma));
    if (!range) return range.error();
    out.ranges_.push_back(*range);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  out.merge();
  return out;
}

void StatusSet::merge() {
  std::sort(ranges_.begin(), ranges_.end());
  std::vector<Range> merged;
  for (const Range& range : ranges_) {
    if (merged.empty() || range.first > merged.back().last + 1)
      merged.push_back(range);
    else
      merged.back().last = std::max(merged.back().last, range.last);
  }
  ranges_ = std::move(merged);
}

bool StatusSet::has(unsigned status) const {
  return std::any_of(ranges_.begin(), ranges_.end(),
                     [status](const Range& range) { return range.first <= status && status <= range.last; });
}

std::string StatusSet::text() const {
  std::string out;
  for (const auto& [first, last] : ranges_) {
    if (!out.empty()) out += ',';
    out += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
  }
  return out;
}

}  // namespace headgate::probe
