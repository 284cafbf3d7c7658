// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/snmp.h"

#include <charconv>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "controlplane/probe/ber.h"
#include "controlplane/probe/bytes.h"
#include "controlplane/probe/question.h"
#include "controlplane/probe/quoted.h"

namespace headgate::probe {
namespace {

constexpr std::int64_t kVersion2c = 1;
constexpr std::uint8_t kGetRequest = 0xa0;
constexpr std::uint8_t kResponse = 0xa2;
constexpr std::uint8_t kCounter32 = 0x41;
constexpr std::uint8_t kGauge32 = 0x42;
constexpr std::uint8_t kTimeTicks = 0x43;
constexpr std::uint8_t kCounter64 = 0x46;
constexpr std::uint8_t kNoSuchObject = 0x80;
constexpr std::uint8_t kNoSuchInstance = 0x81;
constexpr std::uint8_t kEndOfMibView = 0x82;

std::string request(const SnmpGet& get, std::string_view oid, std::int64_t id) {
  const std::string binding = ber(kBerSequence, ber(kBerOid, oid) + ber(kBerNull, {}));
  const std::string pdu =
      ber(kGetRequest, ber_integer(id) + ber_integer(0) + ber_integer(0) + ber(kBerSequence, binding));
  return ber(kBerSequence, ber_integer(kVersion2c) + ber(kBerOctets, get.community) + pdu);
}

/// What an agent answered.
struct Response {
  std::int64_t id = 0;
  std::int64_t error = 0;
  std::string_view bindings;
};

std::optional<std::int64_t> take_integer(std::string_view& rest) {
  const auto value = take_ber(rest, kBerInteger);
  return value ? ber_integer(*value) : std::nullopt;
}

std::optional<Response> read_response(std::string_view message) {
  auto body = take_ber(message, kBerSequence);
  if (!body || take_integer(*body) != kVersion2c || !take_ber(*body, kBerOctets)) return std::nullopt;
  auto pdu = take_ber(*body, kResponse);
  if (!pdu) return std::nullopt;
  const auto id = take_integer(*pdu);
  const auto error = take_integer(*pdu);
  const auto index = take_integer(*pdu);
  const auto bindings = take_ber(*pdu, kBerSequence);
  if (!id || !error || !index || !bindings) return std::nullopt;
  return Response{*id, *error, *bindings};
}

/// The value of the one object that was asked for.
std::optional<BerElement> value_of(std::string_view bindings, std::string_view oid) {
  auto binding = take_ber(bindings, kBerSequence);
  if (!binding || take_ber(*binding, kBerOid) != oid) return std::nullopt;
  return take_ber(*binding);
}

std::string error_word(std::int64_t error) {
  constexpr const char* kWords[] = {"noError",  "tooBig", "noSuchName", "badValue",
                                    "readOnly", "genErr", "noAccess"};
  const auto at = static_cast<std::size_t>(error);
  return at < std::size(kWords) ? fmt::format("error {}", kWords[at]) : fmt::format("error {}", error);
}

bool is_number(std::uint8_t tag) {
  return tag == kBerInteger || tag == kCounter32 || tag == kGauge32 || tag == kTimeTicks || tag == kCounter64;
}

/// A number in decimal, whatever its kind.
std::optional<std::string> number_text(const BerElement& value) {
  const auto text = [](const auto& number) {
    return number ? std::optional(fmt::format("{}", *number)) : std::nullopt;
  };
  if (!is_number(value.tag)) return std::nullopt;
  return value.tag == kBerInteger ? text(ber_integer(value.value)) : text(ber_unsigned(value.value));
}

/// Why there is no value, where there is none.
std::string_view absence(std::uint8_t tag) {
  switch (tag) {
    case kNoSuchObject:
      return "noSuchObject";
    case kNoSuchInstance:
      return "noSuchInstance";
    case kEndOfMibView:
      return "endOfMibView";
    default:
      return {};
  }
}

/// Of a number, or of a text that is one: what agents tell of a command's output is always text.
std::optional<health::Bearing> weight_of(const std::string& text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (!whole || value < health::kLeastWeight || value > health::kMostWeight) return std::nullopt;
  return health::Bearing{health::Bearing::Of::itself, value};
}

std::string wanted_words(const ExpectedValue& wanted) {
  return wanted.how == ExpectedValue::How::equal ? quoted(wanted.text) : wanted.words();
}

Outcome compare(const SnmpGet& get, const BerElement& value) {
  const auto number = number_text(value);
  const bool any = get.wanted.how == ExpectedValue::How::any;
  if (any && !get.weight) return {true, "answered"};
  if (!number && value.tag != kBerOctets)
    return {false, fmt::format("value of type {:#04x} is {}", value.tag,
                               is_number(value.tag) ? "malformed" : "neither a number nor text")};
  const std::string text = number ? *number : std::string(value.value);
  const bool agrees = any || get.wanted.passes(text) != get.invert;
  if (!agrees)
    return {false, get.invert ? fmt::format("value {}, not wanted", quoted(text))
                              : fmt::format("value {}, wanted {}", quoted(text), wanted_words(get.wanted))};
  if (!get.weight) return {true, "answered"};
  const auto weight = weight_of(text);
  if (!weight)
    return {false, fmt::format("value {} is no weight from {} to {}", quoted(text), health::kLeastWeight,
                               health::kMostWeight)};
  return {.passed = true, .reason = "answered", .bears = weight};
}

Conversation::Turn judge(std::string_view message, const SnmpGet& get, std::string_view oid,
                         std::int64_t id) {
  const auto response = read_response(message);
  if (!response) return fails("answer is not SNMP");
  if (response->id != id) return {};
  if (response->error != 0) return fails(error_word(response->error));
  const auto value = value_of(response->bindings, oid);
  if (!value) return fails("answer is about another object");
  if (const auto why = absence(value->tag); !why.empty()) return fails(std::string(why));
  return {{}, compare(get, *value)};
}

}  // namespace

std::unique_ptr<Conversation> snmp_get(const SnmpGet& get, std::uint64_t salt) {
  const auto oid = ber_oid(get.oid);
  if (!oid) return std::make_unique<Unaskable>("no such object can be asked for");
  const auto id = static_cast<std::int64_t>(salt & 0x7fffffff);  // RFC 3416, 3: a signed number
  return std::make_unique<Question>(request(get, *oid, id), [get, oid = *oid, id](std::string_view message) {
    return judge(message, get, oid, id);
  });
}

}  // namespace headgate::probe
