// SPDX-License-Identifier: Apache-2.0
// AF_XDP is a name in the messages, and a macro after the socket headers: messages come first.
#include "controlplane/telemetry/event_log.h"
#include "controlplane/telemetry/syslog.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace headgate::telemetry {
namespace {

TEST(EventLog, KeepsTheNewestInOrder) {
  EventLog log;
  for (std::uint64_t i = 0; i < 300; ++i) log.add(i, Severity::notice, std::to_string(i));
  EXPECT_EQ(log.last(2), (std::vector<Line>{{298, Severity::notice, "298"}, {299, Severity::notice, "299"}}));
  EXPECT_EQ(log.last(1000).size(), EventLog::kLines);
}

TEST(EventLog, CountsRepetitionsAndPassesOnOnlyTheFirst) {
  int heard = 0;
  EventLog log([&](const Line&) { ++heard; });
  for (int i = 0; i < 1000; ++i) {
    log.add(1000, Severity::error, "ip: no route");
    log.add(1001, Severity::error, "mgmt: disk is full");
  }
  EXPECT_EQ(heard, 2);
  EXPECT_EQ(log.last(10), (std::vector<Line>{{1000, Severity::error, "ip: no route", 1000, 1000, ""},
                                             {1001, Severity::error, "mgmt: disk is full", 1000, 1001, ""}}));
}

TEST(EventLog, ChangesOfASubjectAreALineEach) {
  int heard = 0;
  EventLog log([&](const Line&) { ++heard; });
  for (std::uint64_t i = 0; i < 3; ++i) {
    log.add(10 * i, Severity::alert, "slb: down", "real 1");
    log.add(10 * i + 1, Severity::alert, "slb: down", "real 2");
    log.add(10 * i + 2, Severity::notice, "slb: up", "real 1");
  }
  std::vector<std::string> lines;
  for (const Line& line : log.last(10)) lines.push_back(line.subject + " " + line.text);
  EXPECT_EQ(lines, (std::vector<std::string>{"real 1 slb: down", "real 1 slb: up", "real 1 slb: down",
                                             "real 1 slb: up", "real 1 slb: down", "real 2 slb: down",
                                             "real 1 slb: up"}));
  EXPECT_EQ(heard, 7) << "what real 2 is was told once";
}

TEST(EventLog, AFlappingSubjectPushesOutItselfOnly) {
  EventLog log;
  log.add(0, Severity::notice, "system: started");
  for (std::uint64_t i = 1; i < 1000; ++i)
    log.add(i, Severity::alert, i % 2 == 0 ? "slb: down" : "slb: up", "real 1");
  const auto lines = log.last(1000);
  ASSERT_EQ(lines.size(), 1 + EventLog::kLinesOfSubject);
  EXPECT_EQ(lines.front().text, "system: started");
  EXPECT_EQ(lines.back().unix_ms, 999u);
}

TEST(EventLog, TheSameChangeAMinuteLaterIsALineOfItsOwn) {
  EventLog log;
  log.add(0, Severity::alert, "slb: down");
  log.add(60'000, Severity::alert, "slb: down");
  EXPECT_EQ(log.last(10).size(), 2u);
}

TEST(Syslog, MessageIsRfc5424) {
  EXPECT_EQ(
      syslog_message({1448884799'006, Severity::alert, "slb: cannot contact real server 10.10.2.11"}, 16,
                     "lb 1", 42),
      "<129>1 2015-11-30T11:59:59.006Z lb_1 headgate 42 - - slb: cannot contact real server 10.10.2.11");
}

TEST(Syslog, HostsComeFromTheConfiguration) {
  config::Syslog syslog;
  syslog.mutable_hst2()->set_address("10.0.0.9");
  syslog.mutable_hst2()->set_severity(5);
  syslog.mutable_hst2()->set_facility(3);
  EXPECT_EQ(syslog_targets(syslog),
            (std::vector<SyslogTarget>{{Ipv4{0x0a000009}, 514, Severity::notice, 19}}));
}

class Receiver {
 public:
  Receiver() {
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof here;
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&here), length), 0);
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&here), &length), 0);
    port_ = ntohs(here.sin_port);
  }
  ~Receiver() { close(socket_); }
  [[nodiscard]] L4Port port() const { return port_; }
  [[nodiscard]] std::string next() const {
    char bytes[2048];
    const auto length = recv(socket_, bytes, sizeof bytes, 0);
    return {bytes, static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
  }

 private:
  int socket_ = socket(AF_INET, SOCK_DGRAM, 0);
  L4Port port_ = 0;
};

TEST(Syslog, SendsWhatIsSevereEnough) {
  const Receiver receiver;
  SyslogSender sender;
  sender.configure({{Ipv4{INADDR_LOOPBACK}, receiver.port(), Severity::notice, 16}}, "lb");
  sender.send({0, Severity::info, "too quiet"});
  sender.send({0, Severity::notice, "loud enough"});
  EXPECT_TRUE(receiver.next().ends_with("loud enough"));
}

}  // namespace
}  // namespace headgate::telemetry
