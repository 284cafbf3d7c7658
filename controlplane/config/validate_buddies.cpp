// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "controlplane/config/topology.h"
#include "controlplane/config/validate.h"
#include "model/ports.h"

namespace headgate::config {
namespace {

bool offered(const Config& config, const Buddy& buddy) {
  return std::ranges::any_of(config.slb().virt(), [&](const Virt& virt) {
    return std::ranges::any_of(virt.service(), [&](const Service& service) {
      return service.group() == buddy.group() && service.vport() == buddy.service();
    });
  });
}

/// Why a server can't have this buddy; nothing when it can.
std::optional<std::string> problem(const Config& config, const Real& real, const Buddy& buddy) {
  if (buddy.real() == real.number()) return "a server can't be its own buddy";
  if (find_real(config, buddy.real()) == nullptr)
    return fmt::format("real server {} does not exist", buddy.real());
  const Group* group = find_group(config, buddy.group());
  if (group == nullptr) return fmt::format("group {} does not exist", buddy.group());
  if (std::ranges::count(group->member(), buddy.real()) == 0)
    return fmt::format("real server {} is no member of group {}", buddy.real(), buddy.group());
  if (!offered(config, buddy))
    return fmt::format("no virtual server has a service {} with group {}",
                       port_text(static_cast<std::uint16_t>(buddy.service())), buddy.group());
  return std::nullopt;
}

}  // namespace

void validate_buddies(const Config& config, std::vector<Problem>& problems) {
  for (const Real& real : config.slb().real())
    for (const Buddy& buddy : real.buddyhc().buddy())
      if (const auto wrong = problem(config, real, buddy))
        problems.push_back({fmt::format("/cfg/slb/real {}/buddyhc", real.number()),
                            fmt::format("buddy {} {} {}: {}", buddy.real(), buddy.group(),
                                        port_text(static_cast<std::uint16_t>(buddy.service())), *wrong)});
}

}  // namespace headgate::config
