// SPDX-License-Identifier: Apache-2.0
#include "controlplane/config/checks.h"

#include <algorithm>
#include <charconv>

#include "controlplane/config/bounds.h"
#include "controlplane/probe/expression.h"

namespace headgate::config {
namespace {

std::optional<std::uint32_t> number_behind(std::string_view start, const std::string& word) {
  if (!word.starts_with(start) || word.size() == start.size()) return std::nullopt;
  std::uint32_t number = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data() + start.size(), end, number);
  return error == std::errc{} && stop == end ? std::optional(number) : std::nullopt;
}

const std::string& keyword(Health health) {
  return Health_descriptor()->FindValueByNumber(health)->options().GetExtension(config::keyword);
}

template <class Objects>
auto* find_number(const Objects& objects, std::uint32_t number) {
  const auto found = std::ranges::find_if(objects, [&](const auto& one) { return one.number() == number; });
  return found == objects.end() ? nullptr : &*found;
}

void fill_snmp(const Config& config, std::uint32_t number, probe::Wish& wish) {
  const SnmpCheck* snmp = find_number(config.slb().advhc().snmphc(), number);
  wish.health = probe::Kind::snmp;
  if (snmp == nullptr) return;
  wish.content = snmp->oid();
  wish.settings.secret = snmp->comm();
  wish.settings.expect = snmp->rcvcnt();
  wish.settings.unlike = snmp->invert();
  wish.settings.weight = snmp->weight();
}

void fill_script(const Config& config, std::uint32_t number, probe::Wish& wish) {
  wish.health = probe::Kind::script;
  wish.content.clear();
  wish.settings.script = statements_of(config, number);
}

bool is_expression(const Config& config, const std::string& name) {
  const HealthCheck* check = find_check(config, name);
  return probe::kind_named(name) == probe::Kind::logexp ||
         (check != nullptr && check->type() == HEALTH_LOGEXP);
}

/// The checks that an expression names, each as it would be done for the same service; the types among them
/// without a content, since that of the group is the expression. What is itself an expression is none of
/// them.
void fill_parts(const Config& config, const Virt& virt, const Service& service, const Group& group,
                Protocol protocol, probe::Wish& wish) {
  const auto expression = probe::Expression::parse(wish.content);
  if (!expression) return;
  Group bare = group;
  bare.clear_content();
  for (const std::string& name : expression->names())
    if (!is_expression(config, name))
      wish.settings.parts.push_back(probe::resolve(wish_of(config, virt, service, bare, name, protocol)));
}

void fill_named(const Config& config, const HealthCheck& check, probe::Wish& wish) {
  wish.named = true;
  wish.settings.name = check.name();
  wish.health = probe::kind_named(keyword(check.type())).value_or(probe::Kind::tcp);
  wish.content = check.content();
  wish.settings.port = static_cast<L4Port>(check.dport());
  wish.settings.status = check.status();
  wish.settings.expect = check.expect();
  wish.settings.verify = check.verify();
  wish.settings.ca = check.ca();
  wish.settings.reply = check.reply();
  wish.settings.user = check.user();
  wish.settings.password = check.pass();
  wish.settings.attribute = check.attr();
  wish.settings.alerts = check.alerts();
  for (const Bound& bound : check.bound()) wish.settings.measured.push_back(bound.attribute());
  wish.settings.ports = check.ports();
  wish.settings.failnow = check.failnow();
  if (check.type() == HEALTH_SCRIPT)
    fill_script(config, number_behind("", check.content()).value_or(0), wish);
  if (check.type() == HEALTH_SNMP) fill_snmp(config, number_behind("", check.content()).value_or(0), wish);
  wish.settings.invert = check.invert();
}

/// How long failures count that are not told otherwise.
std::chrono::seconds ten_checks(const health::Policy& policy) {
  constexpr int kChecks = 10;
  return kChecks * std::max(policy.inter, std::chrono::seconds(1));
}

/// How long restarts count that are not told otherwise: until one too many has failed, however long each
/// takes (reference 10).
std::chrono::seconds all_restarts(const health::Policy& policy, unsigned rcount) {
  constexpr std::chrono::seconds kLongestRestart{60};
  const auto failing = policy.retry * std::max(policy.inter, std::chrono::seconds(1));
  return std::max(ten_checks(policy), (rcount + 1) * (failing + kLongestRestart));
}

}  // namespace

const HealthCheck* find_check(const Config& config, const std::string& name) {
  const auto& checks = config.slb().advhc().health();
  const auto found = std::ranges::find_if(checks, [&](const auto& check) { return check.name() == name; });
  return found == checks.end() ? nullptr : &*found;
}

std::optional<std::uint32_t> script_number(const std::string& word) {
  return number_behind("script", word);
}

std::optional<std::uint32_t> snmp_number(const std::string& word) {
  return number_behind("snmp", word);
}

std::vector<probe::Statement> statements_of(const Config& config, std::uint32_t number) {
  std::vector<probe::Statement> statements;
  if (const Script* script = find_number(config.slb().advhc().script(), number))
    for (const ScriptStep& step : script->step())
      statements.push_back({static_cast<probe::Statement::Verb>(step.verb()), step.text()});
  return statements;
}

const std::string& health_word(const Real* real, const Group& group) {
  return real != nullptr && real->has_health() ? real->health() : group.health();
}

probe::Wish wish_of(const Config& config, const Virt& virt, const Service& service, const Group& group,
                    const std::string& health, Protocol protocol) {
  probe::Wish wish{.hname = service.hname(),
                   .dname = virt.dname(),
                   .vport = static_cast<L4Port>(service.vport()),
                   .udp = protocol == Protocol::udp,
                   .allow_http_anywhere = config.slb().adv().allowhc()};
  if (const auto kind = probe::kind_named(health)) {
    wish.health = *kind;
    wish.content = group.content();
  } else if (const auto script = script_number(health)) {
    fill_script(config, *script, wish);
  } else if (const auto snmp = snmp_number(health)) {
    fill_snmp(config, *snmp, wish);
  } else if (const HealthCheck* check = find_check(config, health)) {
    fill_named(config, *check, wish);
  }
  if (wish.health == probe::Kind::radius || wish.health == probe::Kind::radiusacs)
    wish.settings.secret = config.slb().secret();
  if (wish.health == probe::Kind::ldap) wish.settings.version = config.slb().adv().ldapver();
  if (wish.health == probe::Kind::logexp) fill_parts(config, virt, service, group, protocol, wish);
  return wish;
}

health::Bands response_bands(const HealthCheck& check, health::Measure millisecond) {
  const auto bound = [&](std::uint32_t milliseconds) {
    return milliseconds == 0 ? std::nullopt : std::optional(milliseconds * millisecond);
  };
  return {bound(check.degrade()), bound(check.restore()), bound(check.fail()), bound(check.recover())};
}

health::Policy policy_of(const Config& config, const Real& real, const std::string& health) {
  health::Policy policy{
      .inter = std::chrono::seconds(real.inter()), .retry = real.retry(), .restr = real.restr()};
  const HealthCheck* check = find_check(config, health);
  if (check == nullptr) return policy;
  if (check->has_inter()) policy.inter = std::chrono::seconds(check->inter());
  if (check->has_retry()) policy.retry = check->retry();
  if (check->has_restr()) policy.restr = check->restr();
  policy.timeout = std::chrono::seconds(check->timeout());
  policy.window = std::chrono::seconds(check->window());
  if (check->window() == 0 && check->type() == HEALTH_APP) policy.window = ten_checks(policy);
  constexpr health::Measure kMicroseconds = 1000;
  policy.response = response_bands(*check, kMicroseconds);
  policy.measures = bounds_of(*check);
  return policy;
}

health::Remedies remedies_of(const Config& config, const Real& real, const std::string& health) {
  const HealthCheck* check = find_check(config, health);
  if (check == nullptr) return {};
  const health::Policy policy = policy_of(config, real, health);
  return {.restart = check->restart(),
          .failover = check->failover(),
          .rcount = check->rcount(),
          .window = check->window() == 0 ? all_restarts(policy, check->rcount())
                                         : std::chrono::seconds(check->window())};
}

}  // namespace headgate::config
