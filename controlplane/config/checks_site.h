// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "controlplane/config/compile.h"
#include "controlplane/config/validate.h"
#include "model/config_text.h"

// Test support: a site whose health checks a test chooses.
namespace headgate::config {

/// Two servers of one group behind one service.
inline constexpr const char* kSite = R"(
/c/port 1/device p1
/c/l3/if 1/ena/addr 10.0.0.1/mask 255.255.255.0
/c/slb/on
/c/slb/real 1/ena/rip 10.0.0.11
/c/slb/real 2/ena/rip 10.0.0.12
/c/slb/group 1/add 1/add 2
/c/slb/virt 1/ena/vip 10.0.0.100
/c/slb/virt 1/service 80/group 1
)";

/// The site with these lines more.
inline Config config_of(const std::string& more) {
  Config config;
  const auto loaded = text::load(kSite + more, config);
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
  return config;
}

/// What is refused about the site with these lines more.
inline std::vector<std::string> problems(const std::string& more) {
  std::vector<std::string> lines;
  for (const Problem& problem : validate(config_of(more))) lines.push_back(problem.line());
  return lines;
}

/// The one problem of a configuration.
inline std::string problem(const std::string& more) {
  const auto lines = problems(more);
  EXPECT_EQ(lines.size(), 1u);
  return lines.empty() ? "" : lines.front();
}

/// The one target of a real server.
inline const Target& target(const Compiled& compiled, std::uint32_t real) {
  const auto found =
      std::ranges::find_if(compiled.targets, [&](const auto& entry) { return entry.first.real == real; });
  EXPECT_NE(found, compiled.targets.end());
  return found->second;
}

}  // namespace headgate::config
