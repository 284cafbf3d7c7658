// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "controlplane/config/formula.h"
#include "controlplane/config/roles.h"
#include "controlplane/config/topology.h"
#include "controlplane/config/validate.h"

namespace headgate::config {
namespace {

using Problems = std::vector<Problem>;

/// Collects the problems of one object.
class Report {
 public:
  Report(std::string path, Problems& problems) : path_(std::move(path)), problems_(problems) {}
  void wrong(std::string sentence) { problems_.push_back({path_, std::move(sentence)}); }

 private:
  std::string path_;
  Problems& problems_;
};

std::string text(const BackupName& name) {
  return fmt::format("{} {}", name.group ? "group" : "real server", name.number);
}

bool exists(const Config& config, const BackupName& name) {
  return name.group ? find_group(config, name.number) != nullptr : find_real(config, name.number) != nullptr;
}

/// Two servers may be each other's backup, and a member may be another's: what stands in is asked for its own
/// state only, never for its backup, so that there is no loop (reports 50).
void check_real(const Config& config, const Real& real, Problems& problems) {
  Report report(fmt::format("/cfg/slb/real {}", real.number()), problems);
  const BackupName backup = backup_name(real.backup());
  if (backup.number == 0) return;
  if (backup == BackupName{real.number(), false}) return report.wrong("is its own backup");
  if (!exists(config, backup)) return report.wrong(fmt::format("backup: {} does not exist", text(backup)));
  if (!backup.group) return;
  const auto& members = find_group(config, backup.number)->member();
  const auto other = [&](std::uint32_t member) { return member != real.number(); };
  if (std::ranges::none_of(members, other))
    report.wrong(fmt::format("backup: {} has no other real server", text(backup)));
}

void check_backups(const Config& config, const Group& group, Report& report) {
  const auto check = [&](std::string_view word, const std::string& setting) {
    const BackupName backup = backup_name(setting);
    if (backup.number == 0) return;
    if (backup == BackupName{group.number(), true})
      report.wrong(fmt::format("{}: a group can't be its own backup", word));
    else if (!exists(config, backup))
      report.wrong(fmt::format("{}: {} does not exist", word, text(backup)));
  };
  check("backup", group.backup());
  check("secbkp", group.secbkp());
}

void check_metric(const GroupMetric& metric, Report& report) {
  if (metric.rule() != PHASH && metric.has_mask() && metric.mask() != "255.255.255.255")
    report.wrong(fmt::format("metric: only phash has a mask; remove {}", metric.mask()));
  if (metric.rule() == PHASH && address_of(metric.mask()).none())
    report.wrong("metric: with mask 0.0.0.0 phash gives all clients to one server");
}

void check_thresholds(const Group& group, Report& report) {
  const auto members = static_cast<std::uint32_t>(group.member_size());
  if (group.maxthrsh() != 0 && group.maxthrsh() < group.minthrsh())
    report.wrong(fmt::format("maxthrsh {} is less than minthrsh {}, allowed is 0 or {} and more",
                             group.maxthrsh(), group.minthrsh(), group.minthrsh()));
  if (group.maxthrsh() != 0 && group.minthrsh() == 0) report.wrong("maxthrsh has no effect without minthrsh");
  if (std::max(group.minthrsh(), group.maxthrsh()) > members)
    report.wrong(fmt::format("minthrsh {} and maxthrsh {} can't be reached with {} real servers",
                             group.minthrsh(), group.maxthrsh(), members));
}

void check_members(const Config& config, const Group& group, Report& report) {
  for (const std::uint32_t member : group.member())
    if (find_real(config, member) == nullptr)
      report.wrong(fmt::format("real server {} does not exist", member));
}

void check_formula(const Config& config, const Group& group, Report& report) {
  if (!has_formula(group)) return;
  const auto terms = parse_formula(group.advhlth());
  if (!terms) return report.wrong(fmt::format("advhlth {}: {}", group.advhlth(), terms.error().message));
  std::set<std::uint32_t> named;
  for (const forwarding::Term& term : *terms)
    if (term.join() == forwarding::Term::MEMBER) named.insert(term.real());
  for (const std::uint32_t number : named) {
    const Real* real = find_real(config, number);
    const char* lack = nullptr;
    if (real != nullptr && address_of(real->rip()).none()) lack = "has no address";
    if (std::ranges::count(group.member(), number) == 0) lack = "is no member of this group";
    if (lack != nullptr)
      report.wrong(fmt::format("advhlth {}: real server {} {}", group.advhlth(), number, lack));
  }
}

}  // namespace

void validate_groups(const Config& config, Problems& problems) {
  if (address_of(config.slb().adv().pmask()).none())
    problems.push_back({"/cfg/slb/adv", "pmask 0.0.0.0 makes one client of all"});
  for (const Real& real : config.slb().real()) check_real(config, real, problems);
  for (const Group& group : config.slb().group()) {
    Report report(fmt::format("/cfg/slb/group {}", group.number()), problems);
    check_members(config, group, report);
    check_metric(group.metric(), report);
    check_backups(config, group, report);
    check_thresholds(group, report);
    check_formula(config, group, report);
  }
}

}  // namespace headgate::config
