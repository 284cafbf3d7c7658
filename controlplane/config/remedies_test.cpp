// SPDX-License-Identifier: Apache-2.0
// Application checks, windows, and what is done about services that fail.
#include <gtest/gtest.h>

#include "controlplane/config/checks.h"
#include "controlplane/config/compile.h"
#include "controlplane/config/sample.h"
#include "controlplane/config/validate.h"

namespace headgate::config {
namespace {

using std::chrono::seconds;

constexpr const char* kHealth = "/cfg/slb/advhc/health a: ";

std::vector<std::string> problems(const std::string& settings) {
  std::vector<std::string> lines;
  for (const Problem& problem : validate(with(lab(), "/c/slb/advhc/health a " + settings)))
    lines.push_back(problem.line());
  return lines;
}

/// The one problem of a check.
std::string problem(const std::string& settings) {
  const auto lines = problems(settings);
  EXPECT_EQ(lines.size(), 1u) << settings;
  return lines.empty() ? "" : lines.front();
}

const Target& web(const Compiled& compiled) {
  for (const auto& [key, target] : compiled.targets)
    if (key.real == 1 && key.port == 8080) return target;
  throw std::logic_error("no such target");
}

Target web_with(const std::string& settings) {
  return web(compile(
      with(lab(), "/c/slb/group 1/health a\n/c/slb/real 1/inter 3\n/c/slb/advhc/health a " + settings)));
}

TEST(AppCheck, IsMadeOfItsSettings) {
  const Target target = web_with(
      R"(app/ports "80 81"/content "/a /b"/failnow 503/failover "/bin/f"/restart "http://10.0.0.9/r"/rcount 3/window 60)");
  EXPECT_EQ(target.check.identity(), "app named a /a /b ports 80 81 failnow 503");
  EXPECT_EQ(target.remedies, (health::Remedies{"http://10.0.0.9/r", "/bin/f", 3, seconds(60)}));
  EXPECT_EQ(target.policy.window, seconds(60));
}

TEST(AppCheck, CountsTheFailuresOfTenChecksUnlessItIsTold) {
  EXPECT_EQ(web_with(R"(app/ports "80")").policy.window, seconds(30));
  EXPECT_EQ(web_with(R"(app/ports "80"/inter 5)").policy.window, seconds(50));
  EXPECT_EQ(web_with(R"(app/ports "80"/window 7)").policy.window, seconds(7));
}

TEST(AppCheck, IsTheOnlyOneWithAWindowThatNobodyHasSet) {
  EXPECT_EQ(web_with("tcp").policy.window, seconds(0));
  EXPECT_EQ(web_with("tcp/window 7").policy.window, seconds(7));
  EXPECT_EQ(web_with("tcp/restart \"/bin/r\"").remedies, (health::Remedies{"/bin/r", "", 2, seconds(216)}));
}

TEST(AppCheck, NeedsPortsOrContent) {
  EXPECT_EQ(problem("app"),
            std::string(kHealth) +
                "app needs ports that it connects to, or content, the pages that it fetches, or both");
  EXPECT_EQ(problems(R"(app/ports "80")"), std::vector<std::string>{});
  EXPECT_EQ(problems(R"(app/content "/a")"), std::vector<std::string>{});
  std::vector<std::string> lines;
  for (const Problem& problem : validate(with(lab(), "/c/slb/group 1/health app")))
    lines.push_back(problem.line());
  EXPECT_EQ(lines, std::vector<std::string>{
                       "/cfg/slb/group 1: health app needs content: the pages that are fetched"});
  EXPECT_TRUE(validate(with(lab(), "/c/slb/group 1/health app/content \"/a /b\"")).empty());
}

TEST(AppCheck, NamesTheSettingThatIsWrongAndWhatIsAllowed) {
  EXPECT_EQ(problem(R"(app/ports "80 http")"),
            std::string(kHealth) +
                "ports: \"http\" is no port; 1 to 65535 is allowed, alone or behind an address, as "
                "in 10.0.0.1:80 and [fd00::1]:80");
  EXPECT_EQ(problem(R"(app/content "/a ping")"),
            std::string(kHealth) + "content: \"ping\" is no page; /path and //host/path are allowed");
  EXPECT_TRUE(problem(R"(app/content "/a"/failover "/bin/f"/failnow 5x)")
                  .starts_with(std::string(kHealth) + "failnow: "));
  EXPECT_EQ(problem(R"(app/content "/a"/failnow 503)"),
            std::string(kHealth) + "failnow has no effect without failover");
  EXPECT_EQ(problem(R"(app/ports "80"/failover "/bin/f"/failnow 503)"),
            std::string(kHealth) + "app has no use for failnow");
  EXPECT_EQ(problem(R"(app/ports "80"/dport 81)"), std::string(kHealth) + "app has no use for dport");
  EXPECT_EQ(problem(R"(app/ports "80"/retry 3)"),
            std::string(kHealth) + "app has no use for retry: its failures count within window");
  EXPECT_EQ(problem(R"(app/content "/a"/status 200)"), std::string(kHealth) + "app has no use for status");
  EXPECT_EQ(problem(R"(tcp/ports "80")"), std::string(kHealth) + "tcp has no use for ports");
  EXPECT_EQ(problem(R"(http/content "/a"/failnow 503)"),
            std::string(kHealth) + "http has no use for failnow");
}

TEST(Window, ReplacesRetryAndHoldsTwoChecks) {
  EXPECT_EQ(problem("tcp/window 20/retry 3"),
            std::string(kHealth) + "retry 3 has no effect with window 20; remove one of them");
  EXPECT_EQ(problem("tcp/window 5/inter 5"),
            std::string(kHealth) + "window 5 is not longer than inter 5: no two checks would be within it");
  EXPECT_EQ(problems("tcp/window 6/inter 5"), std::vector<std::string>{});
}

TEST(Actions, AreCommandsOrCalls) {
  EXPECT_EQ(problem(R"(tcp/restart "systemctl restart shop")"),
            std::string(kHealth) +
                "restart: \"systemctl restart shop\" is none; a command that begins with /, or "
                "http://ADDRESS[:PORT][/PATH] is allowed");
  EXPECT_TRUE(problem(R"(tcp/failover "http://shop/")").starts_with(std::string(kHealth) + "failover: "));
  EXPECT_EQ(problem("tcp/rcount 3"), std::string(kHealth) + "rcount has no effect without restart");
  EXPECT_EQ(problems(R"(tcp/restart "/bin/r a 'b c'"/rcount 0/failover "http://[fd00::1]:8000/f")"),
            std::vector<std::string>{});
}

// Reference 10: restarts that take their time are followed by a failover all the same.
TEST(Remedies, WithoutAWindowRestartsCountUntilOneTooManyHasFailed) {
  EXPECT_EQ(web_with("tcp/inter 2/retry 4").remedies.window, seconds(3 * (4 * 2 + 60)));
  EXPECT_EQ(web_with("tcp/inter 2/retry 4/restart \"/bin/r\"/rcount 5").remedies.window,
            seconds(6 * (4 * 2 + 60)));
  EXPECT_EQ(web_with("tcp/window 9").remedies.window, seconds(9));
}

}  // namespace
}  // namespace headgate::config
