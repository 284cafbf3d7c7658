// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "controlplane/health/remedy.h"
#include "controlplane/health/service_state.h"
#include "controlplane/probe/check.h"
#include "controlplane/probe/resolve.h"
#include "model/config.pb.h"
#include "model/ip.h"

// Which health checks a configuration means. Pure, over a configuration that need not be valid.
namespace headgate::config {

/// The check with settings of its own of this name; null when there is none.
[[nodiscard]] const HealthCheck* find_check(const Config& config, const std::string& name);
/// The number in "script3"; nothing for other words.
[[nodiscard]] std::optional<std::uint32_t> script_number(const std::string& word);
/// The number in "snmp1"; nothing for other words.
[[nodiscard]] std::optional<std::uint32_t> snmp_number(const std::string& word);
/// The statements of a script; none when there is none of this number.
[[nodiscard]] std::vector<probe::Statement> statements_of(const Config& config, std::uint32_t number);

/// The word that says how a real server is checked: its own, or that of the group.
[[nodiscard]] const std::string& health_word(const Real* real, const Group& group);

/// What is wished for a service by a health word: a type, "script3", "snmp1", or the name of a check.
[[nodiscard]] probe::Wish wish_of(const Config& config, const Virt& virt, const Service& service,
                                  const Group& group, const std::string& health, Protocol protocol);

/// The bounds of the time to answer, in a unit of which a millisecond has so many.
[[nodiscard]] health::Bands response_bands(const HealthCheck& check, health::Measure millisecond);

/// How often a real server is checked by that word, and what takes it down.
[[nodiscard]] health::Policy policy_of(const Config& config, const Real& real, const std::string& health);
/// What is done about a service of a real server that fails by that word.
[[nodiscard]] health::Remedies remedies_of(const Config& config, const Real& real, const std::string& health);

}  // namespace headgate::config
