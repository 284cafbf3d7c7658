// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "model/ip.h"
#include "model/line.h"
#include "model/ports.h"
#include "model/schema.h"

namespace headgate::schema {
namespace {

/// A decimal number as people write it: digits only, no leading zero, within 32 bits.
std::optional<std::uint32_t> decimal(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool leading_zero = text.size() > 1 && text.front() == '0';
  if (error != std::errc{} || end != text.data() + text.size() || leading_zero) return std::nullopt;
  return value;
}

Error refused(const Entry& entry, std::string_view argument, std::string_view what) {
  if (std::ranges::count(entry.unbuilt, argument) != 0)
    return {fmt::format("{}: {} is not built yet, allowed is {}", what, argument, allowed(entry))};
  const std::string shown = argument.empty() ? std::string("an empty value") : line::shown(argument);
  return {fmt::format("{}: {} is not allowed, allowed is {}", what, shown, allowed(entry))};
}

std::optional<std::string> number(const Entry& entry, std::string_view argument) {
  const auto value = decimal(argument);
  if (!value || !entry.range.contains(*value)) return std::nullopt;
  return std::to_string(*value);
}

std::optional<std::string> service(const Entry& entry, std::string_view argument) {
  const auto named = port_of(argument);
  const auto value = named ? std::optional<std::uint32_t>(*named) : decimal(argument);
  if (!value || *value > 65535 || !entry.range.contains(*value)) return std::nullopt;
  return port_text(static_cast<std::uint16_t>(*value));
}

std::optional<std::string> address(std::string_view argument) {
  const auto parsed = Ip::parse(argument);
  return parsed ? std::optional(parsed->text()) : std::nullopt;
}

std::optional<std::string> mask(std::string_view argument) {
  const auto parsed = Ipv4::parse(argument);
  return parsed && prefix_length(*parsed) ? std::optional(parsed->text()) : std::nullopt;
}

std::optional<std::string> prefix(std::string_view argument) {
  constexpr std::uint32_t kLongest = 128;
  const auto length = decimal(argument);
  if (!length) return mask(argument);
  return *length >= 1 && *length <= kLongest ? std::optional(std::to_string(*length)) : std::nullopt;
}

/// The menu of the checks that have settings of their own.
const Menu& health_menu() {
  return *root().find("slb")->menu->find("advhc")->menu;
}

/// Types of checks of which there is more than one, told apart by a number.
constexpr std::string_view kNumberedTypes[] = {"script", "snmp"};

/// The one keyword that is the argument or starts with it.
std::optional<std::string> keyword(const Entry& entry, std::string_view argument) {
  std::optional<std::string> found;
  for (const auto& word : candidates(entry)) {
    if (word == argument) return word;
    if (argument.empty() || !word.starts_with(argument)) continue;
    if (found) return std::nullopt;
    found = word;
  }
  return found;
}

/// The numbers of groups, wherever one is named.
const Range& group_numbers() {
  return root().find("slb")->menu->find("group")->menu->key->range;
}

/// "g1-g1024"
std::string group_text() {
  const Range::Span span = group_numbers().spans.front();
  return fmt::format("g{}-g{}", span.low, span.high);
}

/// "none", "3" or "r3" for a real server, "g3" for a group; where only a group may be named, "3" is one, too.
std::optional<std::string> backup(const Entry& entry, std::string_view argument) {
  if (argument == "none") return "none";
  const bool marked = argument.starts_with('g') || argument.starts_with('r');
  const bool group = argument.starts_with('g') || (!marked && entry.range.spans.empty());
  const auto value = decimal(marked ? argument.substr(1) : argument);
  if (!value || !(group ? group_numbers() : entry.range).contains(*value)) return std::nullopt;
  return fmt::format("{}{}", group ? "g" : "", *value);
}

/// "e", "en", "ena", "enable" and what lies between; likewise for dis, on and off.
std::optional<std::string> flag(const Entry& entry, std::string_view argument) {
  if (argument.empty()) return std::nullopt;
  if (entry.kind == config::POWER) return keyword(entry, argument);
  if (std::string_view("enable").starts_with(argument)) return "ena";
  if (std::string_view("disable").starts_with(argument)) return "dis";
  return std::nullopt;
}

/// Of an object: letters, digits, "-", "_" and ".".
std::optional<std::string> name(const Entry& entry, std::string_view argument) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'; };
  const bool good = std::ranges::all_of(argument, fits) &&
                    entry.range.contains(static_cast<std::uint32_t>(argument.size()));
  return good ? std::optional(std::string(argument)) : std::nullopt;
}

/// Whether it is a word with a number of that menu behind it: "script3".
bool numbered(std::string_view argument, std::string_view word, std::string_view menu) {
  const auto& key = *health_menu().find(menu)->menu->key;
  return argument.starts_with(word) && number(key, argument.substr(word.size())).has_value();
}

/// A type of check without a number, "script3", "snmp1", or else the name of a check.
std::optional<std::string> check_name(const Entry& entry, std::string_view argument) {
  const bool inherits = argument == entry.field->default_value_string();
  const bool of_number = numbered(argument, "script", "script") || numbered(argument, "snmp", "snmphc");
  if (inherits || of_number) return std::string(argument);
  if (std::ranges::count(kNumberedTypes, argument) != 0) return std::nullopt;
  return name(*health_menu().find("health")->menu->key, argument);
}

Result<std::string> text(const Entry& entry, std::string_view argument, std::string_view what) {
  const bool printable = std::ranges::all_of(argument, [](char c) { return c >= ' ' && c <= '~'; });
  if (!printable) return Error{fmt::format("{}: only printable ASCII characters are allowed", what)};
  if (entry.kind == config::WORD && argument.find(' ') != std::string_view::npos)
    return Error{fmt::format("{}: blanks are not allowed", what)};
  if (!entry.range.contains(static_cast<std::uint32_t>(argument.size())))
    return Error{fmt::format("{}: {} characters are not allowed, allowed are {}", what, argument.size(),
                             entry.range.text())};
  return std::string(argument);
}

std::optional<std::string> canonical(const Entry& entry, std::string_view argument) {
  switch (entry.kind) {
    case config::NUMBER:
    case config::MEMBERS:
    case config::SUBSET:
      return number(entry, argument);
    case config::BACKUP:
      return backup(entry, argument);
    case config::SERVICE:
      return service(entry, argument);
    case config::ADDRESS:
      return address(argument);
    case config::MASK:
      return mask(argument);
    case config::PREFIX:
      return prefix(argument);
    case config::FLAG:
    case config::STATE:
    case config::POWER:
      return flag(entry, argument);
    case config::CHOICE:
      return keyword(entry, argument);
    case config::NAME:
      return name(entry, argument);
    case config::CHECK:
      return check_name(entry, argument);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::vector<std::string> keywords(const google::protobuf::EnumDescriptor& type) {
  std::vector<std::string> texts;
  for (int i = 0; i < type.value_count(); ++i)
    texts.push_back(type.value(i)->options().GetExtension(config::keyword));
  return texts;
}

bool Range::contains(std::uint32_t number) const {
  if (number % step != 0) return false;
  return std::ranges::any_of(spans, [&](Span span) { return span.low <= number && number <= span.high; });
}

std::string Range::text() const {
  std::vector<std::string> parts;
  for (const Span span : spans)
    parts.push_back(span.low == span.high ? std::to_string(span.low)
                                          : fmt::format("{}-{}", span.low, span.high));
  return (step == 2 ? "even numbers " : "") + line::join(parts, " or ");
}

std::string missing(const Entry& entry, std::string_view what) {
  const bool path = entry.kind == config::TEXT || entry.kind == config::WORD;
  return fmt::format("{} needs a value, allowed is {}{}", what, allowed(entry),
                     path ? "; one that begins with / needs quotes" : "");
}

std::string allowed(const Entry& entry) {
  switch (entry.kind) {
    case config::ADDRESS:
      return "an IPv4 or IPv6 address";
    case config::MASK:
      return "a subnet mask";
    case config::PREFIX:
      return "a subnet mask or a prefix length 1-128";
    case config::FLAG:
    case config::STATE:
      return "ena or dis";
    case config::POWER:
      return "on or off";
    case config::CHOICE:
      return line::join(candidates(entry), ", ");
    case config::BACKUP:
      return fmt::format("none, {}{}", entry.range.spans.empty() ? "" : entry.range.text() + " or ",
                         group_text());
    case config::SERVICE:
      return entry.range.text() + " or a name such as http";
    case config::TEXT:
    case config::WORD:
      return entry.range.text() + " characters";
    case config::NAME:
      return entry.range.text() + " letters, digits, -, _ and .";
    case config::CHECK:
      return line::join(candidates(entry), ", ") +
             ", script1-script64, snmp1-snmp5 or the name of a health check";
    default:
      return entry.range.text();
  }
}

Result<std::string> check(const Entry& entry, std::string_view argument, std::string_view what) {
  if (entry.kind == config::TEXT || entry.kind == config::WORD) return text(entry, argument, what);
  auto value = canonical(entry, argument);
  return value ? Result<std::string>(std::move(*value)) : refused(entry, argument, what);
}

Result<std::string> check(const Entry& entry, const line::Token& token, std::string_view what) {
  const bool text = entry.kind == config::TEXT || entry.kind == config::WORD;
  if (text && token.text == "none" && !token.quoted && entry.range.contains(0)) return std::string();
  return check(entry, std::string_view(token.text), what);
}

bool names_application(std::string_view word) {
  return port_of(word).has_value() || word == "basic-slb";
}

std::vector<std::string> candidates(const Entry& entry) {
  if (entry.kind == config::FLAG || entry.kind == config::STATE) return {"ena", "dis"};
  if (entry.kind == config::POWER) return {"on", "off"};
  std::vector<std::string> texts;
  if (entry.kind == config::CHOICE) texts = keywords(*entry.field->enum_type());
  if (entry.kind == config::CHECK) {
    texts = keywords(*config::Health_descriptor());
    std::erase_if(texts, [](const auto& text) { return std::ranges::count(kNumberedTypes, text) != 0; });
    if (const auto& preset = entry.field->default_value_string(); std::ranges::count(texts, preset) == 0)
      texts.insert(texts.begin(), preset);
  }
  if (entry.kind == config::SERVICE)
    for (std::uint32_t port = 0; port <= 65535; ++port)
      if (const auto name = port_name(static_cast<std::uint16_t>(port)); name && entry.range.contains(port))
        texts.emplace_back(*name);
  return texts;
}

}  // namespace headgate::schema
