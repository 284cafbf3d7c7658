// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controlplane/telemetry/event_log.h"
#include "model/config.pb.h"
#include "model/ip.h"

namespace headgate::telemetry {

/// One configured syslog host.
struct SyslogTarget {
  Ip address;
  L4Port port = 514;
  Severity least = Severity::debug;  ///< the least severe that is sent
  unsigned facility = 16;            ///< RFC 5424, table 1: 16 is local0

  bool operator==(const SyslogTarget&) const = default;
};

[[nodiscard]] std::vector<SyslogTarget> syslog_targets(const config::Syslog& syslog);

/// The datagram of RFC 5424 for one line. Pure. `host` is the name of this switch; "-" when empty.
[[nodiscard]] std::string syslog_message(const Line& line, unsigned facility, std::string_view host,
                                         int process);

/// Sends lines to the configured hosts over UDP; what can't be sent is lost, as syslog is.
class SyslogSender {
 public:
  SyslogSender();
  ~SyslogSender();
  SyslogSender(const SyslogSender&) = delete;
  SyslogSender& operator=(const SyslogSender&) = delete;

  void configure(std::vector<SyslogTarget> targets, std::string host);
  void send(const Line& line) const;

 private:
  int ipv4_, ipv6_;  ///< sockets
  std::vector<SyslogTarget> targets_;
  std::string host_;
};

}  // namespace headgate::telemetry
