// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/payload.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "controlplane/probe/bytes.h"
#include "controlplane/probe/question.h"

namespace headgate::probe {
namespace {

constexpr std::size_t kLargestDatagram = 65535;

Conversation::Turn compare(std::string_view answer, const Expected& expected) {
  const std::string_view wanted = expected.bytes;
  if (answer.size() < expected.offset + wanted.size())
    return fails(fmt::format("answer of {} bytes, wanted {} at offset {}", answer.size(), wanted.size(),
                             expected.offset));
  const std::string_view given = answer.substr(expected.offset, wanted.size());
  const auto [is, should] = std::mismatch(given.begin(), given.end(), wanted.begin());
  if (is == given.end()) return passes();
  return fails(
      fmt::format("byte {} is {:02x}, wanted {:02x}", is - answer.begin(), octet(*is), octet(*should)));
}

/// Says something, and is content with any answer, or with none for long enough.
class Anything final : public Conversation {
 public:
  Anything(std::string payload, std::optional<std::chrono::milliseconds> quiet)
      : payload_(payload.empty() ? std::string(1, '\0') : std::move(payload)), quiet_(quiet) {}

  Turn begin() override { return {payload_, {}, quiet_}; }
  Turn hear(std::string_view) override { return passes(); }
  Turn late() override { return passes("not refused"); }
  Outcome end() override { return {false, "closed without an answer"}; }

 private:
  std::string payload_;
  std::optional<std::chrono::milliseconds> quiet_;
};

}  // namespace

std::optional<WapExchange> read_wap(std::string_view text) {
  const auto word = [&] {
    const std::string_view first = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(first.size() + 1, text.size()));
    return first;
  };
  auto sent = from_hex(word()), wanted = from_hex(word());
  const std::string_view offset = word();
  if (!sent || sent->empty() || !wanted || !text.empty()) return std::nullopt;
  WapExchange exchange{std::move(*sent), {std::move(*wanted)}};
  const auto [end, error] =
      std::from_chars(offset.data(), offset.data() + offset.size(), exchange.expected.offset);
  const bool good = error == std::errc() && end == offset.data() + offset.size() &&
                    exchange.expected.offset <= kLargestDatagram;
  return offset.empty() || good ? std::optional(std::move(exchange)) : std::nullopt;
}

std::unique_ptr<Conversation> compare_answer(std::string payload, Expected expected) {
  if (payload.empty()) return std::make_unique<Unaskable>("there is nothing to send");
  return std::make_unique<Question>(
      std::move(payload),
      [expected = std::move(expected)](std::string_view answer) { return compare(answer, expected); });
}

std::unique_ptr<Conversation> await_answer(std::string payload) {
  return std::make_unique<Anything>(std::move(payload), std::nullopt);
}

std::unique_ptr<Conversation> await_no_refusal(std::string payload, std::chrono::milliseconds quiet) {
  return std::make_unique<Anything>(std::move(payload), quiet);
}

}  // namespace headgate::probe
