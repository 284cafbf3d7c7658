// SPDX-License-Identifier: Apache-2.0
//
// Health scripts of any statements, and what servers say to them: a script is read or refused with a
// sentence; each of its connections comes to one verdict, however a stream is cut. Expressions too: read or
// refused.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "controlplane/probe/expression.h"
#include "controlplane/probe/heard.h"
#include "controlplane/probe/script.h"

namespace {

using namespace headgate::probe;

/// A line each: the first octet says which verb.
std::vector<Statement> statements_in(std::string_view text) {
  constexpr std::size_t kVerbs = static_cast<std::size_t>(Statement::Verb::close) + 1;
  std::vector<Statement> statements{{Statement::Verb::open, "80"}};
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.empty()) continue;
    const auto verb = static_cast<unsigned char>(line.front()) % kVerbs;
    statements.push_back({static_cast<Statement::Verb>(verb), std::string(line.substr(1))});
  }
  return statements;
}

Heard play(const ScriptLeg& leg, std::string_view server, std::size_t piece) {
  return hear(*script_conversation(leg, Carrier::stream), server, piece);
}

void try_expression(std::string_view text) {
  const auto expression = Expression::parse(text);
  if (!expression) {
    if (expression.error().message.empty()) std::abort();
    return;
  }
  const std::vector<std::optional<bool>> all(expression->names().size(), true), none(all.size());
  if (!expression->value(all)) std::abort();
  (void)expression->value(none);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t piece = data[0] % 16 + 1u;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  try_expression(rest);
  const std::string_view script = rest.substr(0, rest.find('\0'));
  const std::string_view server = rest.substr(std::min(script.size() + 1, rest.size()));
  const auto legs = read_script(statements_in(script));
  if (!legs) {
    if (!legs.error().message.starts_with("statement ")) std::abort();
    return 0;
  }
  for (const ScriptLeg& leg : *legs) {
    const Heard whole = play(leg, server, std::max<std::size_t>(server.size(), 1));
    if (whole != play(leg, server, 1) || whole != play(leg, server, piece)) std::abort();
    if (whole.outcome.reason.empty()) std::abort();
  }
  return 0;
}
