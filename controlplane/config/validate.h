// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "model/config.pb.h"

// The rules between objects. What one setting alone may be is checked when it is typed (model/schema.h).
namespace headgate::config {

/// One thing that is wrong, with where and a sentence that says what would be right.
struct Problem {
  std::string path;      ///< "/cfg/slb/virt 1/service http"
  std::string sentence;  ///< "group 5 does not exist"

  bool operator==(const Problem&) const = default;
  /// "/cfg/slb/virt 1/service http: group 5 does not exist"
  [[nodiscard]] std::string line() const { return path + ": " + sentence; }
};

/// All problems of a configuration, in the order of the menus; empty when it may be applied. Pure.
[[nodiscard]] std::vector<Problem> validate(const Config& config);

/// The parts of it.
void validate_network(const Config& config, std::vector<Problem>& problems);
void validate_health(const Config& config, std::vector<Problem>& problems);
void validate_buddies(const Config& config, std::vector<Problem>& problems);
void validate_links(const Config& config, std::vector<Problem>& problems);
void validate_groups(const Config& config, std::vector<Problem>& problems);
void validate_slb(const Config& config, std::vector<Problem>& problems);

}  // namespace headgate::config
