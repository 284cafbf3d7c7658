// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "cli/screen_words.h"
#include "cli/screens.h"
#include "model/ip.h"
#include "model/ports.h"

namespace headgate::cli {
namespace {

/// "IP4", "IP6"; an address that is not set yet counts as one of IPv4.
std::string_view version_text(const std::string& address) {
  const Ip ip = Ip::parse(address).value_or(Ip{});
  return ip.none() || ip.is_v4() ? "IP4" : "IP6";
}
std::string mac_text(const std::string& mac) {
  return mac.empty() ? Mac{}.text() : mac;
}
std::string_view flag(bool on) {
  return on ? "ena" : "dis";
}

/// "0 days, 1 hour, 2 minutes and 30 seconds"
std::string duration_text(std::time_t seconds) {
  constexpr std::time_t kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour;
  const auto some = [](std::time_t count, std::string_view unit) {
    return fmt::format("{} {}{}", count, unit, count == 1 ? "" : "s");
  };
  return fmt::format("{}, {}, {} and {}", some(seconds / kDay, "day"), some(seconds % kDay / kHour, "hour"),
                     some(seconds % kHour / kMinute, "minute"), some(seconds % kMinute, "second"));
}
std::string target_line(const control::TargetStatus& target) {
  return fmt::format("        {} {}, health {}, {}{}{}{}\n", port_name_of(target.rport()),
                     protocol_text(target.protocol()), target.check(), state_text(target.state()),
                     since(target.since_unix_ms()), target.reason().empty() ? "" : ", " + target.reason(),
                     target.buddy().empty() ? "" : ", buddy " + target.buddy() + " is not up");
}

/// Who disabled a server, since when, and what that leaves it; a line below that of its state, which parsers
/// know.
std::string disabled_line(const control::RealStatus& real) {
  const std::string when = since(real.since_unix_ms());
  if (real.operation() == forwarding::DRAIN)
    return fmt::format("    disabled by the operator{}: no new sessions\n", when);
  if (real.operation() == forwarding::DRAIN_PERSISTENT)
    return fmt::format("    disabled by the operator{}: persistent sessions only\n", when);
  if (real.held()) return "    waits until its backup fails (preempt dis); \"/oper/slb/ena\" ends that\n";
  return real.state() == control::DISABLED ? fmt::format("    disabled by the configuration{}\n", when) : "";
}

/// What a server holds and may hold, and who stands in for it.
std::string limits_line(const control::RealStatus& real) {
  const std::string most = real.maxcon() == 0 ? "any number" : std::to_string(real.maxcon());
  return fmt::format("    current sessions {}, maxcon {}, backup {}\n", real.current(), most,
                     real.backup().empty() ? "none" : real.backup());
}

std::string real_lines(const control::RealStatus& real) {
  std::string text =
      fmt::format("{:>3}: {}, {}, vlan {}, port {}, health {}{}, {}\n", real.number(), real.rip(),
                  mac_text(real.mac()), real.vlan(), real.port(), real.health_layer(),
                  real.name().empty() ? "" : ", " + real.name(), state_text(real.state()));
  text += disabled_line(real);
  if (real.target().empty()) return text;
  text += "    real ports:\n";
  for (const auto& target : real.target()) text += target_line(target);
  return text;
}

std::string_view backup_text(const std::string& backup) {
  return backup.empty() ? std::string_view("none") : backup;
}

std::string member_line(const control::MemberStatus& member) {
  return fmt::format("          {}: {}, backup {}, {} ms, group {}, {}\n", member.real(), member.rip(),
                     backup_text(member.backup()), member.response_ms(), flag(member.group_enabled()),
                     state_text(member.state()));
}

/// The group's own first, then those that stand by for them.
template <class Members>
std::string member_lines(const Members& members) {
  std::string own = "        real servers:\n";
  std::string others;
  for (const auto& member : members) (member.standby() ? others : own) += member_line(member);
  return others.empty() ? own : own + "        backup servers:\n" + others;
}

/// A line of its own, since parsers know those beside it.
std::string closed_line(const std::string& why) {
  return why.empty() ? "" : fmt::format("        no new sessions: {}\n", why);
}

std::string virt_lines(const control::VirtStatus& virt) {
  std::string text = fmt::format("{:>3}: {} {}, {}", virt.number(), version_text(virt.vip()), virt.vip(),
                                 mac_text(virt.mac()));
  if (!virt.vname().empty()) text += ", vname " + virt.vname();
  if (virt.state() != control::UP) text += fmt::format(", {}", state_text(virt.state()));
  text += "\n    virtual ports:\n";
  for (const auto& service : virt.service()) {
    text += fmt::format("    {}: rport {}, group {}, health {}, backup {}{}{}\n",
                        port_name_of(service.vport()), port_name_of(service.rport()), service.group(),
                        service.check(), backup_text(service.backup()),
                        service.pbind().empty() ? "" : ", pbind " + service.pbind(),
                        is_udp(service.protocol()) ? ", protocol udp" : "");
    text += closed_line(service.closed()) + member_lines(service.member());
  }
  return text;
}

std::string group_lines(const control::GroupStatus& group) {
  return fmt::format("{:>3}: metric {}, health {}, backup {}{}\n", group.number(), group.metric(),
                     group.check(), backup_text(group.backup()),
                     group.name().empty() ? "" : ", " + group.name()) +
         closed_line(group.closed()) + member_lines(group.member());
}

template <class Objects, class Lines>
Result<std::string> one_of(const Objects& objects, std::uint32_t number, std::string_view what, Lines lines) {
  for (const auto& object : objects)
    if (object.number() == number) return lines(object);
  return Error{fmt::format("{} {} does not exist in the running configuration", what, number)};
}

std::uint32_t minutes_of(std::uint32_t seconds) {
  constexpr std::uint32_t kMinute = 60;
  return (seconds + kMinute - 1) / kMinute;
}

/// A client that is bound to a server, with the sessions that hold it; its own port and the VIP's are hidden
/// (reference 5.1, flag P).
std::string persistent_line(const forwarding::Session& session) {
  return fmt::format("{},{:02}: {}, {} -> {} age {} v:{} P c:{}\n", session.worker() + 1, session.port(),
                     ip_of(session.client()).text(), ip_of(session.vip()).text(), ip_of(session.rip()).text(),
                     minutes_of(session.left_seconds()), session.virt(), session.users());
}

std::string session_line(const forwarding::Session& session) {
  if (session.persistent()) return persistent_line(session);
  return fmt::format("{},{:02}: {} {}, {} {} -> {} {} {}age {} v:{}{}\n", session.worker() + 1,
                     session.port(), ip_of(session.client()).text(), session.client_port(),
                     ip_of(session.vip()).text(), port_name_of(session.vport()), ip_of(session.rip()).text(),
                     port_name_of(session.rport()), is_udp(session.protocol()) ? "udp " : "",
                     minutes_of(session.left_seconds()), session.virt(),
                     session.state() == "terminated" ? "" : " E");
}

std::string_view severity_text(std::uint32_t severity) {
  static constexpr std::array<std::string_view, 8> kNames = {"EMERG",   "ALERT",  "CRIT", "ERR",
                                                             "WARNING", "NOTICE", "INFO", "DEBUG"};
  return kNames[std::min<std::size_t>(severity, kNames.size() - 1)];
}

}  // namespace

std::string slb_state(const control::StatusReply& status) {
  std::string text;
  if (!status.slb_on()) text += "Server load balancing is globally turned OFF.\n";
  if (!status.dataplane_connected())
    text += "The dataplane is not connected; it forwards on its last configuration.\n";
  text += "Real server state:\n";
  for (const auto& real : status.real()) text += real_lines(real);
  text += "\nVirtual server state:\n";
  for (const auto& virt : status.virt()) text += virt_lines(virt);
  text += "\nPort state:\n";
  for (const auto& port : status.port())
    text += fmt::format("{:>3}: {}, client {}, server {}, {}\n", port.number(), port.device(),
                        flag(port.client()), flag(port.server()), port.up() ? "up" : "DOWN");
  return text;
}

Result<std::string> real_state(const control::StatusReply& status, std::uint32_t number) {
  return one_of(status.real(), number, "real server",
                [](const control::RealStatus& real) { return real_lines(real) + limits_line(real); });
}

Result<std::string> virt_state(const control::StatusReply& status, std::uint32_t number) {
  return one_of(status.virt(), number, "virtual server", virt_lines);
}

Result<std::string> group_state(const control::StatusReply& status, std::uint32_t number) {
  return one_of(status.group(), number, "real server group", group_lines);
}

std::string session_list(const forwarding::Sessions& sessions) {
  std::string text;
  for (const auto& session : sessions.session()) text += session_line(session);
  return text +
         fmt::format("{} session{}\n", sessions.session_size(), sessions.session_size() == 1 ? "" : "s");
}

std::string log_lines(const control::LogReply& log) {
  std::string text =
      log.line_size() == 1 ? "Last log message:\n" : fmt::format("Last {} log messages:\n", log.line_size());
  for (const auto& line : log.line())
    text +=
        fmt::format("{} {:<7} {}\n", date_text(line.unix_ms()), severity_text(line.severity()), line.text());
  return text;
}

std::time_t started(const control::LogReply& log) {
  std::uint64_t last = 0;
  for (const auto& line : log.line())
    if (line.text() == "system: headgated started") last = line.unix_ms();
  return static_cast<std::time_t>(last / 1000);
}

std::string link_state(const control::StatsReply& stats) {
  std::string text =
      "Port  Interface        MAC address        Link\n----  ---------------  -----------------  ----\n";
  for (const auto& port : stats.stats().port()) {
    Mac mac;
    if (port.mac().size() == mac.octets.size()) std::ranges::copy(port.mac(), mac.octets.begin());
    text += fmt::format("{:>3}   {:<15}  {}  {}\n", port.port(), port.kernel_interface(), mac.text(),
                        port.up() ? "up" : "down");
  }
  return text;
}

std::string general(const General& general, const control::StatusReply& status) {
  const std::tm local = fmt::localtime(general.now);
  std::string text = fmt::format("System Information at {:%H:%M:%S %a %b %e, %Y}\n\n", local);
  text += "Headgate session switch\n";
  if (general.started != 0)
    text +=
        "headgated is up " + duration_text(std::max<std::time_t>(general.now - general.started, 0)) + ".\n\n";
  text += fmt::format("System name:            {}\n", general.host_name.empty() ? "none" : general.host_name);
  text += fmt::format("Software version:       {}\n", general.version);
  text += fmt::format("Server load balancing:  {}\n", status.slb_on() ? "ON" : "OFF");
  text += fmt::format("Dataplane:              {}\n",
                      status.dataplane_connected() ? "connected" : "NOT CONNECTED");
  text += fmt::format("Configuration:          generation {}, {}\n", status.generation(),
                      general.saved ? "saved" : "not saved since the last changes");
  return text;
}

}  // namespace headgate::cli
