// SPDX-License-Identifier: Apache-2.0
// Settings of health checks that can't mean what was meant, and configurations before they are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controlplane/config/candidate.h"
#include "controlplane/config/checks_site.h"
#include "controlplane/config/secrets.h"
#include "controlplane/control/checks_in_use.h"

namespace headgate::config {
namespace {

using testing::IsEmpty;

constexpr const char* kGroup = "/cfg/slb/group 1: ";

TEST(Refused, AnExpressionThatNamesAnExpressionAsksNobodyForIt) {
  for (const char* text : {"/c/slb/group 1/health logexp/content logexp\n",
                           "/c/slb/group 1/content \"logexp & tcp\"\n/c/slb/real 1/health logexp\n",
                           "/c/slb/advhc/health e logexp/content e\n/c/slb/group 1/health e\n"}) {
    const Config config = config_of(text);
    EXPECT_FALSE(problems(text).empty()) << text;
    for (const auto& [key, target] : compile(config).targets)
      EXPECT_LE(target.check.parts.size(), 1u) << text;
    control::ConfigReply reply;
    control::put_checks_in_use(config, reply);
    EXPECT_GT(reply.check_size(), 0) << text;
  }
}

TEST(Refused, TheContentOfAnExpressionIsNotThatOfItsParts) {
  const auto compiled = compile(config_of("/c/slb/group 1/health logexp/content \"http & icmp\"\n"));
  const probe::Check& check = target(compiled, 1).check;
  ASSERT_EQ(check.parts.size(), 2u);
  EXPECT_EQ(check.parts[0].identity(), "tcp") << "http without content";
}

TEST(Refused, WordsThatMeanNoCheck) {
  EXPECT_EQ(problem("/c/slb/group 1/health none\n"),
            std::string(kGroup) + "health none is no check; inter 0 of the real server checks nothing");
  EXPECT_EQ(problem("/c/slb/advhc/health e logexp/content script\n"),
            "/cfg/slb/advhc/health e: content: health script needs its number: script1 to script64");
  EXPECT_EQ(problem("/c/slb/advhc/health e logexp/content snmp\n"),
            "/cfg/slb/advhc/health e: content: health snmp needs its number: snmp1 to snmp5");
  EXPECT_EQ(problems("/c/slb/advhc/health s script\n").size(), 1u) << "without a number";
  EXPECT_EQ(problems("/c/slb/advhc/health s snmp\n").size(), 1u);
  EXPECT_EQ(problem("/c/slb/advhc/script 3/name \"later\"\n"),
            "/cfg/slb/advhc/script 3: has no statements; it begins with open");
}

TEST(Refused, TheContentOfAGroupThatItsServersOwnCheckCantAskFor) {
  EXPECT_EQ(problem("/c/slb/real 1/health pop3\n/c/slb/group 1/content \"/index.html\"\n"),
            "/cfg/slb/real 1: health pop3 in group 1: content is for a login: user:password");
  EXPECT_EQ(problem("/c/slb/real 1/health radius\n/c/slb/group 1/content \"joe:x\"\n"),
            "/cfg/slb/real 1: health radius in group 1: a check by RADIUS needs /cfg/slb/secret");
}

TEST(Refused, ALoginWithoutAPassword) {
  EXPECT_EQ(problem("/c/slb/advhc/health l ldap/user \"cn=x\"\n"),
            "/cfg/slb/advhc/health l: user needs pass: a login without a password proves nothing");
}

TEST(Refused, APortBehindAHost) {
  EXPECT_EQ(
      problem("/c/slb/advhc/health h http/content \"//host:8080/x\"\n"),
      "/cfg/slb/advhc/health h: content \"//host:8080/x\" has a port behind its host; that is for dport");
  EXPECT_EQ(problems("/c/slb/advhc/health h http/content \"//[::1]:8080/x\"\n").size(), 1u);
  for (const char* good : {"//host/x:8", "//[2001:db8::1]/x", "//host", "/a:b"})
    EXPECT_THAT(problems(std::string("/c/slb/advhc/health h http/content \"") + good + "\"\n"), IsEmpty())
        << good;
}

TEST(Refused, AnObjectOfSnmpThatCantBeAskedFor) {
  EXPECT_EQ(problem("/c/slb/advhc/snmphc 1/oid sysUpTime.0\n"),
            "/cfg/slb/advhc/snmphc 1: oid sysUpTime.0 is none; allowed are numbers with dots between, as "
            "1.3.6.1.2.1.1.3.0");
  EXPECT_EQ(problem("/c/slb/advhc/snmphc 1/oid 1.3.6.1/invert ena\n"),
            "/cfg/slb/advhc/snmphc 1: invert needs rcvcnt: any value passes without");
}

TEST(Refused, TimesThatNeverCome) {
  EXPECT_EQ(
      problem("/c/slb/advhc/health t tcp/timeout 5\n/c/slb/group 1/health t\n"),
      "/cfg/slb/advhc/health t: timeout 5 is longer than inter 2 of real server 1; give the check an inter");
  EXPECT_THAT(problems("/c/slb/advhc/health t tcp/timeout 5/inter 9\n/c/slb/group 1/health t\n"), IsEmpty());
  EXPECT_EQ(problem("/c/slb/advhc/health t tcp/inter 2/degrade 2500\n"),
            "/cfg/slb/advhc/health t: degrade 2500 is longer than the 2 seconds that an answer has");
}

TEST(Refused, AConnectionOverUdpThatExpectsNothing) {
  EXPECT_EQ(problem("/c/slb/advhc/script 1/open 514,udp/send x\n"),
            "/cfg/slb/advhc/script 1: connection 1 is over udp, and expects nothing: it can't fail");
}

TEST(Refused, PartsThatAnExpressionCantHeed) {
  for (const char* part :
       {"ldap/content \"cn=x\"/addbound age 10", "ldap/alerts ena", "tcp/degrade 100", "tcp/fail 100"})
    EXPECT_EQ(problem(std::string("/c/slb/advhc/health p ") + part +
                      "\n/c/slb/advhc/health e logexp/content \"p & tcp\"\n"),
              "/cfg/slb/advhc/health e: content: p has bounds or alerts, which an expression can't heed; use "
              "it by itself")
        << part;
}

TEST(Refused, AWindowThatHoldsNoTwoChecks) {
  EXPECT_EQ(problem("/c/slb/advhc/health w app/ports 80/window 2\n/c/slb/group 1/health w\n"),
            "/cfg/slb/advhc/health w: window 2 is not longer than inter 2 of real server 1; no two checks "
            "would be within it");
  EXPECT_THAT(problems("/c/slb/advhc/health w app/ports 80/window 3\n/c/slb/group 1/health w\n"), IsEmpty());
}

TEST(MayChange, OnlyAdministratorsSayWhatIsDoneAsRoot) {
  const Config none = config_of("/c/slb/advhc/health a tcp\n");
  const Config restart = config_of("/c/slb/advhc/health a tcp/restart \"/bin/true\"\n");
  const Config failover = config_of("/c/slb/advhc/health a tcp/failover \"/bin/true\"\n");
  const Config other = config_of("/c/slb/advhc/health b tcp/restart \"/bin/true\"\n");
  for (const Level level : {SLBADMIN, L4ADMIN}) {
    EXPECT_FALSE(may_change(level, none, restart).ok());
    EXPECT_FALSE(may_change(level, none, failover).ok());
    EXPECT_FALSE(may_change(level, restart, other).ok()) << "under another name";
    EXPECT_TRUE(may_change(level, restart, none).ok()) << "less is done";
    EXPECT_TRUE(may_change(level, restart, restart).ok());
  }
  EXPECT_TRUE(may_change(ADMIN, none, restart).ok());
}

TEST(Targets, ANamedCheckIsJudgedByItsOwnTimesBesideAnotherThatAsksTheSame) {
  const auto compiled = compile(config_of(R"(
/c/slb/advhc/health strict tcp/retry 1
/c/slb/group 1/health strict
/c/slb/group 2/add 1/health tcp
/c/slb/virt 1/service 8080/group 2/rport 80
)"));
  std::vector<unsigned> retries;
  for (const auto& [key, target] : compiled.targets)
    if (key.real == 1) retries.push_back(target.policy.retry);
  EXPECT_THAT(retries, testing::UnorderedElementsAre(1, 4));
}

TEST(Secrets, AreHiddenAndNothingElse) {
  const char* text = R"(
/c/slb/secret abc
/c/slb/advhc/health l ldap/user "cn=x"/pass "hush"
/c/slb/advhc/health p pop3/content "joe:hush"
/c/slb/advhc/health w http/content "/a:b"
/c/slb/advhc/snmphc 1/oid 1.3/comm hush
/c/slb/group 1/content "joe:hush"/health imap
/c/slb/group 2/content "joe:hush"/add 2
/c/slb/real 2/health radius
/c/slb/group 3/content "/a:b"/health http
)";
  Config hidden = config_of(text);
  hide_secrets(hidden);
  std::string wanted = text::dump(config_of(text));
  for (const char* secret : {"hush", "abc"})
    for (auto at = wanted.find(secret); at != std::string::npos; at = wanted.find(secret))
      wanted.replace(at, std::string(secret).size(), kHidden);
  EXPECT_EQ(text::dump(hidden), wanted);
  EXPECT_EQ(wanted.find("hush"), std::string::npos);
  Config none;
  hide_secrets(none);
  EXPECT_EQ(text::dump(none), text::dump(Config()));
}

}  // namespace
}  // namespace headgate::config
