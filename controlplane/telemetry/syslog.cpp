// SPDX-License-Identifier: Apache-2.0
#include "controlplane/telemetry/syslog.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace headgate::telemetry {
namespace {

constexpr unsigned kLocal0 = 16;

std::string timestamp(std::uint64_t unix_ms) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(static_cast<std::time_t>(unix_ms / 1000)),
                     unix_ms % 1000);
}

/// HOSTNAME is printable ASCII without blanks.
std::string host_field(std::string_view host) {
  std::string field(host.substr(0, 255));
  std::ranges::replace_if(
      field, [](char c) { return c <= ' ' || c > '~'; }, '_');
  return field.empty() ? "-" : field;
}

int datagram_socket(int family) {
  return socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

sockaddr_in ipv4_host(const SyslogTarget& target) {
  sockaddr_in host{};
  host.sin_family = AF_INET;
  host.sin_port = htons(target.port);
  host.sin_addr.s_addr = htonl(target.address.v4().value);
  return host;
}

sockaddr_in6 ipv6_host(const SyslogTarget& target) {
  sockaddr_in6 host{};
  host.sin6_family = AF_INET6;
  host.sin6_port = htons(target.port);
  std::ranges::copy(target.address.octets, host.sin6_addr.s6_addr);
  return host;
}

template <class Host>
void send_to(int socket, const std::string& message, const Host& host) {
  (void)sendto(socket, message.data(), message.size(), 0, reinterpret_cast<const sockaddr*>(&host),
               sizeof host);
}

}  // namespace

std::vector<SyslogTarget> syslog_targets(const config::Syslog& syslog) {
  std::vector<SyslogTarget> targets;
  for (const config::SyslogHost* host :
       {&syslog.hst1(), &syslog.hst2(), &syslog.hst3(), &syslog.hst4(), &syslog.hst5()}) {
    const Ip address = Ip::parse(host->address()).value_or(Ip{});
    if (!address.none())
      targets.push_back({address, static_cast<L4Port>(host->port()), static_cast<Severity>(host->severity()),
                         kLocal0 + host->facility()});
  }
  return targets;
}

std::string syslog_message(const Line& line, unsigned facility, std::string_view host, int process) {
  const unsigned priority = facility * 8 + static_cast<unsigned>(line.severity);
  return fmt::format("<{}>1 {} {} headgate {} - - {}", priority, timestamp(line.unix_ms), host_field(host),
                     process, line.text);
}

SyslogSender::SyslogSender() : ipv4_(datagram_socket(AF_INET)), ipv6_(datagram_socket(AF_INET6)) {}

SyslogSender::~SyslogSender() {
  if (ipv4_ >= 0) close(ipv4_);
  if (ipv6_ >= 0) close(ipv6_);
}

void SyslogSender::configure(std::vector<SyslogTarget> targets, std::string host) {
  targets_ = std::move(targets);
  host_ = std::move(host);
}

void SyslogSender::send(const Line& line) const {
  for (const SyslogTarget& target : targets_) {
    if (line.severity > target.least) continue;
    const std::string message = syslog_message(line, target.facility, host_, getpid());
    if (target.address.is_v4())
      send_to(ipv4_, message, ipv4_host(target));
    else
      send_to(ipv6_, message, ipv6_host(target));
  }
}

}  // namespace headgate::telemetry
