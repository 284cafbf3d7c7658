// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <random>
#include <string>

#include <fmt/format.h>

#include "model/config_text.h"
#include "model/field_access.h"
#include "model/ip.h"
#include "model/schema.h"

// Test support: configurations drawn from the schema, so that a new setting is tested without a line of test
// code.
namespace headgate::test_support {

/// Draws values that the schema accepts, among them the bounds and texts that are hard to quote.
class RandomConfig {
 public:
  explicit RandomConfig(std::uint32_t seed) : random_(seed) {}

  [[nodiscard]] config::Config draw() {
    config::Config config;
    fill(config, schema::root());
    text::normalise(config);
    return config;
  }

  [[nodiscard]] std::uint32_t below(std::uint32_t bound) {
    return bound == 0 ? 0 : static_cast<std::uint32_t>(random_() % bound);
  }

 private:
  void fill(google::protobuf::Message& message, const schema::Menu& menu) {
    for (const schema::Entry& entry : menu.entries) {
      if (below(2) == 0) continue;
      const std::uint32_t count = entry.field->is_repeated() ? below(4) : 1;
      for (std::uint32_t i = 0; i < count; ++i) fill_one(message, entry);
    }
  }

  void fill_one(google::protobuf::Message& message, const schema::Entry& entry) {
    if (entry.kind == config::MENU) {
      fill(schema::find_or_add(message, entry, entry.keyed() ? value(*entry.menu->key) : ""), *entry.menu);
    } else if (entry.kind == config::STEPS) {
      const schema::Entry& verb = entry.arguments[below(static_cast<std::uint32_t>(entry.arguments.size()))];
      schema::append(message, entry, verb, verb.kind == config::AUTOMATIC ? "" : value(verb));
    } else if (entry.field->is_repeated()) {
      schema::add(message, entry, values(entry));
    } else if (entry.kind == config::TUPLE) {
      schema::set_tuple(message, entry, values(entry));
    } else {
      schema::set(message, entry, value(entry));
    }
  }

  std::vector<std::string> values(const schema::Entry& entry) {
    if (entry.kind != config::TUPLE) return {value(entry)};
    std::vector<std::string> drawn;
    for (const auto& argument : entry.arguments) drawn.push_back(value(argument));
    return drawn;
  }

  std::string value(const schema::Entry& entry) {
    const auto texts = schema::candidates(entry);
    if (entry.kind == config::BACKUP) return backup(entry);
    if (entry.kind == config::ADDRESS) return address();
    if (entry.kind == config::PREFIX && below(2) == 0) return std::to_string(1 + below(128));
    if (entry.kind == config::MASK || entry.kind == config::PREFIX) return mask_of(below(33)).text();
    if (entry.kind == config::TEXT || entry.kind == config::WORD) return letters(entry);
    if (entry.kind == config::NAME) return fmt::format("a.{}-_Z", below(6));
    if (entry.kind == config::CHECK && below(2) == 0) return below(2) == 0 ? "script7" : "my-check";
    if (!texts.empty() && (entry.kind != config::SERVICE || below(2) == 0))
      return texts[below(static_cast<std::uint32_t>(texts.size()))];
    const auto drawn = std::to_string(number(entry.range));
    return *schema::check(entry, drawn, "drawn value");
  }

  std::string address() {
    if (below(2) == 0) return Ipv4{static_cast<std::uint32_t>(random_())}.text();
    Ip ipv6;
    for (std::uint8_t& octet : ipv6.octets)
      if (below(2) == 0) octet = static_cast<std::uint8_t>(random_());
    return ipv6.text();
  }

  std::string backup(const schema::Entry& entry) {
    if (below(8) == 0) return "none";
    const bool group = entry.range.spans.empty() || below(2) == 0;
    return fmt::format("{}{}", group ? "g" : "", 1 + below(10));
  }

  std::uint32_t number(const schema::Range& range) {
    const auto span = range.spans[below(static_cast<std::uint32_t>(range.spans.size()))];
    const std::uint32_t steps = (span.high - span.low) / range.step;
    const std::uint32_t edge = below(4);
    return span.low + range.step * (edge == 0 ? 0 : edge == 1 ? steps : below(std::min(steps, 40u) + 1));
  }

  std::string letters(const schema::Entry& entry) {
    if (below(8) == 0) return "none";
    std::string drawn(number(entry.range), ' ');
    for (char& c : drawn) {
      c = below(3) == 0 ? "\"\\/ *"[below(5)] : static_cast<char>(' ' + below(95));
      if (c == ' ' && entry.kind == config::WORD) c = '/';
    }
    return drawn;
  }

  std::mt19937 random_;
};

}  // namespace headgate::test_support
