// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/tftp.h"

#include <fmt/format.h>

#include "controlplane/probe/bytes.h"
#include "controlplane/probe/question.h"
#include "controlplane/probe/quoted.h"

namespace headgate::probe {
namespace {

enum Opcode : std::uint16_t { kRead = 1, kData = 3, kAcknowledge = 4, kError = 5 };

constexpr std::size_t kBlock = 512;
constexpr std::uint16_t kFirst = 1;

std::string message_of(Opcode opcode, std::uint16_t number, std::string_view text) {
  std::string out;
  put(out, opcode, 2);
  put(out, number, 2);
  return out.append(text);
}

/// What ends the transfer after its first block.
std::string farewell(std::size_t block) {
  if (block < kBlock) return message_of(kAcknowledge, kFirst, {});
  return message_of(kError, 0, std::string("enough") + '\0');
}

Conversation::Turn judge(std::string_view message) {
  Reader reader(message);
  const auto opcode = reader.number<std::uint16_t>();
  const auto number = reader.number<std::uint16_t>();
  const std::string_view rest = reader.rest();
  if (reader.failed() || (opcode != kData && opcode != kError)) return fails("answer is not TFTP");
  if (opcode == kError)
    return fails(fmt::format("error {} \"{}\"", number, quoted(rest.substr(0, rest.find('\0')))));
  if (number != kFirst) return {};
  return {farewell(rest.size()), Outcome{true, "answered"}};
}

}  // namespace

std::unique_ptr<Conversation> tftp_read(const std::string& file) {
  if (file.empty() || file.find('\0') != std::string::npos)
    return std::make_unique<Unaskable>("no such file can be asked for");
  std::string request;
  put(request, kRead, 2);
  request.append(file).append(1, '\0').append("octet").append(1, '\0');
  return std::make_unique<Question>(std::move(request), judge);
}

}  // namespace headgate::probe
