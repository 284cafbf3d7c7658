// SPDX-License-Identifier: Apache-2.0
#include "controlplane/daemon/announcements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headgate::daemon {
namespace {

using health::Health;
using health::ServerHealth;
using telemetry::Severity;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const TargetKey kHttp{.real = 1, .port = 8080, .protocol = Protocol::tcp, .check = "http /"};
const TargetKey kPlain{.real = 1, .port = 8080, .protocol = Protocol::tcp, .check = "tcp"};

/// A line about whatever subject.
auto line(Severity severity, const char* text) {
  return ::testing::FieldsAre(severity, text, ::testing::_);
}

const Names kNames{.rips = {{1, Ipv4{0x0a0a020b}}}, .vips = {{1, Ipv4{0x0a0a0164}}}};

Picture picture(ServerHealth server, Health http) {
  Picture picture;
  picture.servers[1] = server;
  picture.services[kHttp] = http;
  return picture;
}

TEST(Announcements, ANewCheckOfAKnownServiceIsNoNews) {
  const Picture before = picture(ServerHealth::failed, Health::down);
  Picture now = before;
  now.servers[1] = ServerHealth::unknown;  // one of its targets is not proven yet
  now.services[kPlain] = Health::unknown;
  now = carried_over(kNames, before, now);
  EXPECT_THAT(announcements(kNames, before, now), IsEmpty());
  EXPECT_EQ(now.servers[1], ServerHealth::failed);

  Picture proven = now;
  proven.services[kPlain] = Health::down;
  EXPECT_THAT(announcements(kNames, now, carried_over(kNames, now, proven)), IsEmpty());
}

TEST(Announcements, AVerdictOfTheNewCheckThatDiffersIsNews) {
  const Picture before = picture(ServerHealth::up, Health::up);
  Picture now = before;
  now.services[kPlain] = Health::down;
  now.reasons[kPlain] = "refused";
  EXPECT_THAT(announcements(kNames, before, now),
              ElementsAre(line(Severity::alert,
                               "slb: cannot contact real service 10.10.2.11:8080 (real server 1): refused")));
}

TEST(Announcements, AServiceWithoutServersIsNamedWhileOthersGoOn) {
  Picture before = picture(ServerHealth::up, Health::up);
  before.virts[1] = true;
  before.virt_services = {{{1, 80, Protocol::tcp}, true}, {{1, 21, Protocol::tcp}, true}};
  Picture now = before;
  now.virt_services[{1, 80, Protocol::tcp}] = false;
  EXPECT_THAT(announcements(kNames, before, now),
              ElementsAre(line(Severity::alert,
                               "slb: No real servers are available for service http of Virtual "
                               "Server1:10.10.1.100")));
  EXPECT_THAT(announcements(kNames, now, before),
              ElementsAre(line(Severity::notice,
                               "slb: Real servers are available for service http of Virtual "
                               "Server1:10.10.1.100")));
}

TEST(Announcements, AVirtualServerWithoutAnyServiceIsOneLine) {
  Picture before = picture(ServerHealth::up, Health::up);
  before.virts[1] = true;
  before.virt_services = {{{1, 80, Protocol::tcp}, true}, {{1, 21, Protocol::tcp}, true}};
  Picture now = before;
  now.virts[1] = false;
  now.virt_services = {{{1, 80, Protocol::tcp}, false}, {{1, 21, Protocol::tcp}, false}};
  EXPECT_THAT(
      announcements(kNames, before, now),
      ElementsAre(line(Severity::alert, "slb: No services are available for Virtual Server1:10.10.1.100")));
}

}  // namespace
}  // namespace headgate::daemon
