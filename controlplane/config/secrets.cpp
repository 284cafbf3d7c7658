// SPDX-License-Identifier: Apache-2.0
#include "controlplane/config/secrets.h"

#include <algorithm>

#include "controlplane/config/checks.h"

namespace headgate::config {
namespace {

bool is_login(const Config& config, const std::string& word) {
  using probe::Kind;
  const HealthCheck* check = find_check(config, word);
  if (check != nullptr)
    return check->type() == HEALTH_POP3 || check->type() == HEALTH_IMAP || check->type() == HEALTH_RADIUS ||
           check->type() == HEALTH_RADIUSACS;
  const auto kind = probe::kind_named(word);
  return kind == Kind::pop3 || kind == Kind::imap || kind == Kind::radius || kind == Kind::radiusacs;
}

std::string without_password(const std::string& content) {
  const auto colon = content.find(':');
  return colon == std::string::npos ? content : content.substr(0, colon + 1) + kHidden;
}

/// Whether any server of the group logs in with the group's content.
bool logs_in(const Config& config, const Group& group) {
  return is_login(config, group.health()) || std::ranges::any_of(config.slb().real(), [&](const Real& real) {
           return std::ranges::count(group.member(), real.number()) != 0 && is_login(config, real.health());
         });
}

}  // namespace

void hide_secrets(Config& config) {
  if (!config.has_slb()) return;
  Slb& slb = *config.mutable_slb();
  if (!slb.secret().empty()) slb.set_secret(kHidden);
  for (Group& group : *slb.mutable_group())
    if (logs_in(config, group)) group.set_content(without_password(group.content()));
  if (!slb.has_advhc()) return;
  for (HealthCheck& check : *slb.mutable_advhc()->mutable_health()) {
    if (!check.pass().empty()) check.set_pass(kHidden);
    if (is_login(config, check.name())) check.set_content(without_password(check.content()));
  }
  for (SnmpCheck& snmp : *slb.mutable_advhc()->mutable_snmphc())
    if (snmp.has_comm()) snmp.set_comm(kHidden);
}

}  // namespace headgate::config
