// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/ntp.h"

#include <fmt/format.h>

#include "controlplane/probe/bytes.h"
#include "controlplane/probe/question.h"
#include "controlplane/probe/quoted.h"

namespace headgate::probe {
namespace {

constexpr std::uint64_t kClientOfVersion4 = 4 << 3 | 3;
constexpr unsigned kServer = 4;
constexpr unsigned kNotSynchronised = 16;  // the first stratum that is no distance from a clock
constexpr unsigned kAlarm = 3;             // of the leap indicator

Conversation::Turn judge(std::string_view message, std::uint64_t origin) {
  Reader reader(message);
  const auto first = reader.number<std::uint8_t>();
  const auto stratum = reader.number<std::uint8_t>();
  static_cast<void>(reader.take(10));  // poll, precision, root delay and dispersion
  const std::string_view reference = reader.take(4);
  static_cast<void>(reader.take(8));  // when the clock was set
  const auto returned = reader.number<std::uint64_t>();
  static_cast<void>(reader.take(8));  // when the request came
  const auto transmitted = reader.number<std::uint64_t>();
  if (reader.failed() || (first & 7u) != kServer) return fails("answer is not NTP");
  if (returned != origin) return {};
  if (stratum == 0 && reference.front() != '\0')
    return fails(fmt::format("kiss code {}", quoted(reference.substr(0, reference.find('\0')))));
  if (stratum == 0 || stratum >= kNotSynchronised || first >> 6 == kAlarm) return fails("not synchronised");
  if (transmitted == 0) return fails("answer has no transmit time");  // RFC 5905, 8
  return passes();
}

}  // namespace

std::unique_ptr<Conversation> ntp_request(std::uint64_t salt) {
  std::string request;
  put(request, kClientOfVersion4, 1);
  request.append(39, '\0');  // nothing is known of our own clock
  put(request, salt, 8);
  return std::make_unique<Question>(std::move(request),
                                    [salt](std::string_view message) { return judge(message, salt); });
}

}  // namespace headgate::probe
