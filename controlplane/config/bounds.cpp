// SPDX-License-Identifier: Apache-2.0
#include "controlplane/config/bounds.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "controlplane/probe/words.h"

namespace headgate::config {
namespace {

std::optional<health::Measure> set(std::uint32_t value) {
  return value == 0 ? std::nullopt : std::optional<health::Measure>(value);
}

health::Bands bands_of(const Bound& bound) {
  return {set(bound.degrade()), set(bound.restore()), set(bound.fail()), set(bound.recover())};
}

}  // namespace

std::vector<health::NamedBands> bounds_of(const HealthCheck& check) {
  std::vector<health::NamedBands> bounds;
  for (const Bound& bound : check.bound()) bounds.push_back({bound.attribute(), bands_of(bound)});
  return bounds;
}

void check_bounds(const HealthCheck& check, const std::function<void(std::string)>& wrong) {
  std::vector<std::string> seen;
  for (const auto& [name, bands] : bounds_of(check)) {
    if (const auto problem = health::problem(bands)) wrong(fmt::format("bound {}: {}", name, *problem));
    if (!bands.any()) wrong(fmt::format("bound {}: neither degrade nor fail is set", name));
    const auto same = [&name = name](const std::string& other) { return probe::same_word(name, other); };
    if (std::ranges::any_of(seen, same)) wrong(fmt::format("bound {}: it has bounds already", name));
    seen.push_back(name);
  }
}

}  // namespace headgate::config
