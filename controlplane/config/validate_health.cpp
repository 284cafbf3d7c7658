// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <initializer_list>

#include <fmt/format.h>

#include "controlplane/config/bounds.h"
#include "controlplane/config/checks.h"
#include "controlplane/config/validate.h"
#include "controlplane/config/validate_remedies.h"
#include "controlplane/probe/ber.h"
#include "controlplane/probe/dns.h"
#include "controlplane/probe/expected_value.h"
#include "controlplane/probe/expression.h"
#include "controlplane/probe/payload.h"
#include "controlplane/probe/script.h"
#include "controlplane/probe/status_set.h"
#include "model/schema.h"

namespace headgate::config {
namespace {

using probe::Kind;

constexpr const char* kNoSecret = "a check by RADIUS needs /cfg/slb/secret";

bool one_of(Kind kind, std::initializer_list<Kind> kinds) {
  return std::ranges::count(kinds, kind) != 0;
}

/// Whether a word means a check by itself. "none" is what screens say where nothing is checked, and a script
/// or an object of SNMP has a number.
bool is_type(const std::string& word) {
  const auto kind = probe::kind_named(word);
  return kind && !one_of(*kind, {Kind::none, Kind::script, Kind::snmp});
}

bool has_object(const Config& config, const std::string& word) {
  const auto& advhc = config.slb().advhc();
  const auto has = [](const auto& objects, std::uint32_t number) {
    return std::ranges::any_of(objects, [&](const auto& one) { return one.number() == number; });
  };
  if (const auto script = script_number(word)) return has(advhc.script(), *script);
  if (const auto snmp = snmp_number(word)) return has(advhc.snmphc(), *snmp);
  return is_type(word) || find_check(config, word) != nullptr;
}

/// Where what a word means is defined.
std::string missing(const std::string& word) {
  if (const auto script = script_number(word))
    return fmt::format("health {}: there is no /cfg/slb/advhc/script {}", word, *script);
  if (const auto snmp = snmp_number(word))
    return fmt::format("health {}: there is no /cfg/slb/advhc/snmphc {}", word, *snmp);
  if (word == "script") return "health script needs its number: script1 to script64";
  if (word == "snmp") return "health snmp needs its number: snmp1 to snmp5";
  if (word == "none") return "health none is no check; inter 0 of the real server checks nothing";
  return fmt::format("health {} is no type of check, and there is no /cfg/slb/advhc/health {}", word, word);
}

void check_expression(const Config& config, const std::string& content, const Wrong& wrong) {
  const auto expression = probe::Expression::parse(content);
  if (!expression) return wrong(fmt::format("content \"{}\": {}", content, expression.error().message));
  for (const std::string& name : expression->names()) {
    const HealthCheck* part = find_check(config, name);
    if (!has_object(config, name))
      wrong(fmt::format("content: {}", missing(name)));
    else if (name == "logexp" || (part != nullptr && part->type() == HEALTH_LOGEXP))
      wrong(fmt::format("content: {} is an expression itself", name));
    else if (part != nullptr &&
             (part->bound_size() != 0 || part->alerts() || part->degrade() != 0 || part->fail() != 0))
      wrong(fmt::format("content: {} has bounds or alerts, which an expression can't heed; use it by itself",
                        name));
    else if (one_of(probe::kind_named(name).value_or(Kind::tcp), {Kind::radius, Kind::radiusacs}) &&
             config.slb().secret().empty())
      wrong(kNoSecret);
  }
}

/// Whether the host of //host/path has a colon that is not part of an IPv6 address.
bool has_port(const std::string& content) {
  const std::string host = content.substr(2, content.find('/', 2) - 2);
  return host.find(':', host.starts_with('[') ? host.find(']') : 0) != std::string::npos;
}

/// The content of a type of check, wherever it is set.
void check_content(const Config& config, Kind kind, const std::string& content, const Wrong& wrong) {
  if (kind == Kind::logexp) return check_expression(config, content, wrong);
  if (one_of(kind, {Kind::radius, Kind::radiusacs}) && config.slb().secret().empty()) wrong(kNoSecret);
  if (kind == Kind::app) check_pages(content, wrong);
  if (content.empty()) return;
  const bool http = one_of(kind, {Kind::http, Kind::httphead, Kind::https});
  if (http && content.starts_with("//") && content.find('/', 2) == 2)
    wrong(fmt::format("content \"{}\" names no host after //", content));
  if (http && content.starts_with("//") && has_port(content))
    wrong(fmt::format("content \"{}\" has a port behind its host; that is for dport", content));
  if (one_of(kind, {Kind::dns, Kind::udpdns}) && !probe::dns_name(content))
    wrong(fmt::format("content \"{}\" is no domain name", content));
  if (one_of(kind, {Kind::wsp, Kind::wtls, Kind::wtp}) && !probe::read_wap(content))
    wrong("content is what is sent and what must come, in hexadecimal, and the octet where that begins");
  const bool login = one_of(kind, {Kind::pop3, Kind::imap, Kind::radius, Kind::radiusacs});
  if (login && content.find(':', 1) == std::string::npos) wrong("content is for a login: user:password");
}

/// Whether a health word means something without an object of that name.
bool means_itself(const std::string& word) {
  return probe::kind_named(word) || script_number(word) || snmp_number(word) || word == "inherit";
}

/// One setting of a check: whether it is set, its word, and the types that have a use for it.
struct Use {
  bool set = false;
  const char* word = "";
  bool fits = false;
};

void check_uses(const HealthCheck& check, Kind kind, const Wrong& wrong) {
  const bool http = one_of(kind, {Kind::http, Kind::httphead, Kind::https});
  const bool below = one_of(kind, {Kind::icmp, Kind::arp, Kind::link});
  const bool ldap = kind == Kind::ldap;
  const bool app = kind == Kind::app;
  const bool bare = below || one_of(kind, {Kind::tcp, Kind::sslh, Kind::ntp, Kind::sipoptions, Kind::agent});
  for (const Use& use : std::initializer_list<Use>{
           {check.dport() != 0, "dport",
            !below && !one_of(kind, {Kind::script, Kind::logexp}) && (!app || !check.content().empty())},
           {!check.content().empty(), "content", !bare},
           {!check.status().empty(), "status", http},
           {!check.expect().empty(), "expect",
            (http && kind != Kind::httphead) || (ldap && check.has_attr())},
           {!check.user().empty(), "user", ldap},
           {!check.pass().empty(), "pass", ldap && check.has_user()},
           {!check.attr().empty(), "attr", ldap},
           {check.bound_size() != 0, "bound", ldap},
           {check.alerts(), "alerts", ldap},
           {check.verify(), "verify", kind == Kind::https},
           {!check.ca().empty(), "ca", kind == Kind::https && check.verify()},
           {!check.reply(), "reply", kind == Kind::udp},
           {!check.ports().empty(), "ports", app},
           {!check.failnow().empty(), "failnow", app && !check.content().empty()}})
    if (use.set && !use.fits) wrong(fmt::format("{} has no use for {}", probe::word_of(kind), use.word));
}

void check_snmp(const SnmpCheck& snmp, const Wrong& wrong) {
  if (snmp.oid().empty()) return wrong("has no oid");
  if (!probe::ber_oid(snmp.oid()))
    wrong(fmt::format("oid {} is none; allowed are numbers with dots between, as 1.3.6.1.2.1.1.3.0",
                      snmp.oid()));
  if (snmp.invert() && snmp.rcvcnt().empty()) wrong("invert needs rcvcnt: any value passes without");
  if (const auto wanted = probe::ExpectedValue::parse(snmp.rcvcnt()); !wanted)
    wrong("rcvcnt " + wanted.error().message);
}

/// What can never happen within the time that a check has.
void check_times(const Config& config, const HealthCheck& check, const Wrong& wrong) {
  constexpr std::uint32_t kMs = 1000;
  if (check.timeout() != 0 && check.inter() != 0 && check.timeout() > check.inter())
    wrong(fmt::format("timeout {} is longer than inter {}", check.timeout(), check.inter()));
  const std::uint32_t time = check.timeout() != 0 ? check.timeout() : check.inter();
  for (const auto& [word, bound] : {std::pair{"degrade", check.degrade()}, std::pair{"fail", check.fail()}})
    if (time != 0 && bound > time * kMs)
      wrong(fmt::format("{} {} is longer than the {} seconds that an answer has", word, bound, time));
  if (check.inter() != 0 || (check.timeout() == 0 && check.window() == 0)) return;
  for (const Group& group : config.slb().group())
    for (const Real& real : config.slb().real()) {
      const bool checked =
          std::ranges::count(group.member(), real.number()) != 0 && health_word(&real, group) == check.name();
      if (checked && check.window() != 0 && check.window() <= real.inter())
        return wrong(fmt::format(
            "window {} is not longer than inter {} of real server {}; no two checks would be within it",
            check.window(), real.inter(), real.number()));
      if (checked && real.inter() != 0 && check.timeout() > real.inter())
        return wrong(
            fmt::format("timeout {} is longer than inter {} of real server {}; give the check an inter",
                        check.timeout(), real.inter(), real.number()));
    }
}

void check_named(const Config& config, const HealthCheck& check, const Wrong& wrong) {
  const std::string word = schema::keywords(*Health_descriptor())[static_cast<std::size_t>(check.type())];
  const Kind kind = probe::kind_named(word).value_or(Kind::tcp);
  if (means_itself(check.name()))
    wrong(fmt::format("health {} would mean the type of check; give this one another name", check.name()));
  check_uses(check, kind, wrong);
  if (check.has_user() && check.pass().empty())  // RFC 4513, 5.1.2
    wrong("user needs pass: a login without a password proves nothing");
  if (kind == Kind::app) check_app(check, wrong);
  check_remedies(check, wrong);
  if (!check.status().empty())
    if (const auto parsed = probe::StatusSet::parse(check.status()); !parsed)
      wrong("status: " + parsed.error().message);
  check_times(config, check, wrong);
  if (const auto problem = health::problem(response_bands(check, 1)))
    wrong("degrade, restore, fail, recover: " + *problem);
  check_bounds(check, wrong);
  if (kind == Kind::ldap)
    if (const auto expect = probe::ExpectedValue::parse(check.expect()); !expect)
      wrong("expect " + expect.error().message);
  if (one_of(kind, {Kind::script, Kind::snmp})) {
    if (!has_object(config, word + check.content()))
      wrong(fmt::format("content is the number of a {}: {}", word, missing(word + check.content())));
    return;
  }
  check_content(config, kind, check.content(), wrong);
}

/// Of a real server: a type asks for the content of each group that it is in.
void check_own_word(const Config& config, const Real& real, const Wrong& wrong) {
  if (!has_object(config, real.health())) return wrong(missing(real.health()));
  const auto kind = probe::kind_named(real.health());
  if (!kind) return;
  for (const Group& group : config.slb().group()) {
    const bool member = std::ranges::count(group.member(), real.number()) != 0;
    const auto of_group = [&](const std::string& sentence) {
      wrong(fmt::format("health {} in group {}: {}", real.health(), group.number(), sentence));
    };
    if (member) check_content(config, *kind, group.content(), of_group);
  }
}

void check_word(const Config& config, const Group& group, const std::string& word, const Wrong& wrong) {
  if (!has_object(config, word)) return wrong(missing(word));
  if (word == "app" && group.content().empty()) wrong("health app needs content: the pages that are fetched");
  if (const auto kind = probe::kind_named(word))
    check_content(config, *kind, group.content(), wrong);
  else if (!group.content().empty())
    wrong(
        fmt::format("content \"{}\" has no effect with health {}; set content none", group.content(), word));
}

}  // namespace

void validate_health(const Config& config, std::vector<Problem>& problems) {
  const auto at = [&](std::string path) -> Wrong {
    return [&problems, path = std::move(path)](std::string sentence) {
      problems.push_back({path, std::move(sentence)});
    };
  };
  const AdvancedHealth& advhc = config.slb().advhc();
  for (const Real& real : config.slb().real())
    if (real.has_health()) check_own_word(config, real, at(fmt::format("/cfg/slb/real {}", real.number())));
  for (const Group& group : config.slb().group())
    check_word(config, group, group.health(), at(fmt::format("/cfg/slb/group {}", group.number())));
  for (const HealthCheck& check : advhc.health())
    check_named(config, check, at(fmt::format("/cfg/slb/advhc/health {}", check.name())));
  for (const Script& script : advhc.script()) {
    const auto read = probe::read_script(statements_of(config, script.number()));
    const Wrong wrong = at(fmt::format("/cfg/slb/advhc/script {}", script.number()));
    if (!read) wrong(read.error().message);
    if (read && read->empty()) wrong("has no statements; it begins with open");
  }
  for (const SnmpCheck& snmp : advhc.snmphc())
    check_snmp(snmp, at(fmt::format("/cfg/slb/advhc/snmphc {}", snmp.number())));
}

}  // namespace headgate::config
