// SPDX-License-Identifier: Apache-2.0
#include "controlplane/config/link_checks.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "controlplane/config/checks.h"
#include "controlplane/config/roles.h"
#include "controlplane/config/topology.h"
#include "controlplane/config/validate.h"
#include "controlplane/probe/expression.h"

namespace headgate::config {
namespace {

bool is_by_link(const Config& config, const std::string& word) {
  const HealthCheck* check = find_check(config, word);
  return probe::kind_named(word) == probe::Kind::link || (check != nullptr && check->type() == HEALTH_LINK);
}

/// Whether a health word, or a part of the expression that it means, is a check by link.
bool needs_port(const Config& config, const std::string& word, const Group& group) {
  if (is_by_link(config, word)) return true;
  const HealthCheck* check = find_check(config, word);
  const bool compound =
      check != nullptr ? check->type() == HEALTH_LOGEXP : probe::kind_named(word) == probe::Kind::logexp;
  if (!compound) return false;
  const auto expression = probe::Expression::parse(check != nullptr ? check->content() : group.content());
  return expression && std::ranges::any_of(expression->names(),
                                           [&](const std::string& name) { return is_by_link(config, name); });
}

}  // namespace

void name_port(const Config& config, const Real& real, probe::Check& check) {
  for (probe::Check& part : check.parts) name_port(config, real, part);
  if (check.kind != probe::Kind::link) return;
  const Port* port = find_port(config, real.number());
  check.port = static_cast<L4Port>(real.number());
  check.path = port != nullptr && port->driver() == XDP_SOCKET ? port->device() : std::string();
}

void validate_links(const Config& config, std::vector<Problem>& problems) {
  std::set<std::uint32_t> told;
  for (const Group& group : config.slb().group())
    for_each_player(cast_of(config, group), [&](const Player& player) {
      const std::uint32_t number = player.real->number();
      const std::string& word = health_word(player.real, *player.checked_by);
      const Port* port = find_port(config, number);
      if (!needs_port(config, word, *player.checked_by) || (port != nullptr && !port->device().empty()))
        return;
      if (told.insert(number).second)
        problems.push_back(
            {fmt::format("/cfg/slb/real {}", number),
             fmt::format("health {} looks at the link of port {}, and there is no /cfg/port {} "
                         "with a device",
                         word, number, number)});
    });
}

}  // namespace headgate::config
