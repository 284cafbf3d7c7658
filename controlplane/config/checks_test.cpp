// SPDX-License-Identifier: Apache-2.0
#include "controlplane/config/checks.h"

#include <gtest/gtest.h>

#include "controlplane/config/checks_site.h"

namespace headgate::config {
namespace {

TEST(NamedCheck, DecidesAboutTheGroupsThatUseIt) {
  const auto compiled = compile(config_of(R"(
/c/slb/advhc/health web http/content "/alive"/status 200-299/dport 8080/inter 5/retry 2/restr 3
/c/slb/group 1/health web
)"));
  const Target& first = target(compiled, 1);
  EXPECT_EQ(first.check.identity(), "http named web /alive port 8080 status 200-299");
  EXPECT_EQ(first.policy, (health::Policy{.inter = std::chrono::seconds(5), .retry = 2, .restr = 3}));
}

TEST(NamedCheck, OfARealServerComesBeforeThatOfItsGroups) {
  const auto compiled = compile(config_of("/c/slb/real 2/health icmp\n"));
  EXPECT_EQ(target(compiled, 1).check.identity(), "tcp");
  EXPECT_EQ(target(compiled, 2).check.identity(), "icmp");
}

TEST(NamedCheck, LeavesWhatItDoesNotSetToTheRealServer) {
  const auto compiled = compile(config_of(R"(
/c/slb/real 1/inter 7/retry 6/restr 5
/c/slb/advhc/health plain
/c/slb/advhc/health plain/retry 9
/c/slb/group 1/health plain
)"));
  EXPECT_EQ(target(compiled, 1).policy,
            (health::Policy{.inter = std::chrono::seconds(7), .retry = 9, .restr = 5}));
}

TEST(NamedCheck, BoundsTheTimeToAnswerBothWays) {
  const auto compiled = compile(config_of(R"(
/c/slb/advhc/health quick/degrade 1000/restore 500/fail 3000/timeout 4
/c/slb/real 1/inter 5/health quick
)"));
  const health::Policy& policy = target(compiled, 1).policy;
  EXPECT_EQ(policy.response, (health::Bands{1'000'000, 500'000, 3'000'000, std::nullopt}));
  EXPECT_EQ(policy.timeout, std::chrono::seconds(4));
  EXPECT_EQ(target(compiled, 2).policy.response, health::Bands{});
}

TEST(NamedCheck, MayBeMadeOfOthers) {
  const auto compiled = compile(config_of(R"(
/c/slb/advhc/health web http/content "/a"
/c/slb/advhc/health both logexp/content "web & !icmp | script2"
/c/slb/advhc/script 2/open 81/send "x"
/c/slb/group 1/health both
)"));
  const probe::Check& check = target(compiled, 1).check;
  ASSERT_EQ(check.parts.size(), 3u);
  EXPECT_EQ(check.parts[0].identity(), "http named web /a");
  EXPECT_EQ(check.parts[1].identity(), "icmp");
  EXPECT_EQ(check.parts[2].kind, probe::Kind::script);
}

TEST(NamedCheck, ThatDoesNotExistIsRefused) {
  EXPECT_EQ(problem("/c/slb/group 1/health wbe\n"),
            "/cfg/slb/group 1: health wbe is no type of check, and there is no /cfg/slb/advhc/health wbe");
  EXPECT_EQ(problem("/c/slb/real 1/health script9\n"),
            "/cfg/slb/real 1: health script9: there is no /cfg/slb/advhc/script 9");
  EXPECT_EQ(problem("/c/slb/group 1/health snmp2\n"),
            "/cfg/slb/group 1: health snmp2: there is no /cfg/slb/advhc/snmphc 2");
}

TEST(NamedCheck, CantHaveANameThatMeansATypeOfCheck) {
  EXPECT_EQ(
      problem("/c/slb/advhc/health http http\n"),
      "/cfg/slb/advhc/health http: health http would mean the type of check; give this one another name");
  for (const char* name : {"script3", "snmp9", "inherit", "none", "tcp"})
    EXPECT_EQ(problems(std::string("/c/slb/advhc/health ") + name + " tcp\n").size(), 1u) << name;
}

TEST(NamedCheck, RefusesSettingsThatItsTypeHasNoUseFor) {
  EXPECT_EQ(problem("/c/slb/advhc/health a tcp/status 200\n"),
            "/cfg/slb/advhc/health a: tcp has no use for status");
  EXPECT_EQ(problem("/c/slb/advhc/health a icmp/dport 80\n"),
            "/cfg/slb/advhc/health a: icmp has no use for dport");
  EXPECT_EQ(problem("/c/slb/advhc/health a httphead/expect \"x\"\n"),
            "/cfg/slb/advhc/health a: httphead has no use for expect");
  EXPECT_EQ(problem("/c/slb/advhc/health a/inter 2/timeout 3\n"),
            "/cfg/slb/advhc/health a: timeout 3 is longer than inter 2");
}

TEST(NamedCheck, RefusesBoundsTheWrongWayRound) {
  EXPECT_EQ(problems("/c/slb/advhc/health a/degrade 500/restore 1000\n").size(), 1u);
  EXPECT_EQ(problems("/c/slb/advhc/health a/restore 1000\n").size(), 1u);
}

TEST(NamedCheck, BoundsTheNumbersOfADirectory) {
  const auto compiled = compile(config_of(R"(
/c/slb/advhc/health replica ldap/content "cn=replica"/addbound missing-changes 1000 500/addbound age 60 0 300 200/alerts ena
/c/slb/group 1/health replica
)"));
  const Target& first = target(compiled, 1);
  EXPECT_EQ(first.check.identity(),
            "ldap named replica cn=replica bounds of age bounds of missing-changes with alerts");
  EXPECT_EQ(first.policy.measures,
            (std::vector<health::NamedBands>{
                {"age", {.degrade_above = 60, .fail_above = 300, .recover_below = 200}},
                {"missing-changes", {.degrade_above = 1000, .restore_below = 500}}}));
}

TEST(NamedCheck, RefusesBoundsOfNumbersThatMakeNoSense) {
  const std::string check = "/c/slb/advhc/health replica ldap/";
  EXPECT_EQ(problem(check + "addbound age 60 70\n"),
            "/cfg/slb/advhc/health replica: bound age: restore below 70 is more than degrade above 60: it "
            "must be that or less");
  EXPECT_EQ(problem(check + "addbound age 0\n"),
            "/cfg/slb/advhc/health replica: bound age: neither degrade nor fail is set");
  EXPECT_EQ(problem(check + "addbound age 60/addbound AGE 70\n"),
            "/cfg/slb/advhc/health replica: bound age: it has bounds already");
  EXPECT_EQ(problem("/c/slb/advhc/health page http/addbound age 60\n"),
            "/cfg/slb/advhc/health page: http has no use for bound");
  EXPECT_EQ(problem("/c/slb/advhc/health page http/alerts ena\n"),
            "/cfg/slb/advhc/health page: http has no use for alerts");
}

TEST(NamedCheck, RefusesBoundsThatAreNoNumbers) {
  EXPECT_EQ(problem("/c/slb/advhc/health replica ldap/attr age/expect \">=old\"\n"),
            "/cfg/slb/advhc/health replica: expect \">=old\": >= must be followed by a number");
  EXPECT_EQ(problem("/c/slb/advhc/snmphc 1/oid 1.3.6.1/rcvcnt \"<=\"\n"),
            "/cfg/slb/advhc/snmphc 1: rcvcnt \"<=\": <= must be followed by a number");
}

TEST(NamedCheck, AWeightBySnmpIsAnotherCheckThanTheValueAlone) {
  const std::string lines =
      "/c/slb/advhc/snmphc 1/oid 1.3.6.1\n/c/slb/group 1/health snmp1\n/c/slb/real 1/weight 7\n";
  EXPECT_FALSE(target(compile(config_of(lines)), 1).check.weight);
  const auto compiled = compile(config_of(lines + "/c/slb/advhc/snmphc 1/weight ena\n"));
  EXPECT_TRUE(target(compiled, 1).check.identity().ends_with("as weight"));
  EXPECT_EQ(target(compiled, 1).weight, 7u);
}

TEST(NamedCheck, TakesNoContentOfItsGroup) {
  EXPECT_EQ(problem("/c/slb/advhc/health a http\n/c/slb/group 1/health a/content \"/x\"\n"),
            "/cfg/slb/group 1: content \"/x\" has no effect with health a; set content none");
}

TEST(NamedCheck, SaysWhatIsWrongWithAnExpression) {
  EXPECT_EQ(problem("/c/slb/advhc/health e logexp/content \"tcp &\"\n"),
            "/cfg/slb/advhc/health e: content \"tcp &\": a name is missing at the end");
  EXPECT_EQ(problem("/c/slb/advhc/health e logexp/content \"e\"\n"),
            "/cfg/slb/advhc/health e: content: e is an expression itself");
}

TEST(Script, SaysWhatIsWrongWithAStatement) {
  EXPECT_EQ(problem("/c/slb/advhc/script 1/send \"x\"\n"),
            "/cfg/slb/advhc/script 1: statement 1: it needs an open before it");
}

TEST(Radius, NeedsItsSecret) {
  const std::string check = "/c/slb/advhc/health r radius/content \"joe:x\"\n";
  EXPECT_EQ(problem(check), "/cfg/slb/advhc/health r: a check by RADIUS needs /cfg/slb/secret");
  EXPECT_EQ(problems(check + "/c/slb/secret abc\n"), std::vector<std::string>{});
}

TEST(HealthText, StatementsKeepTheirOrderThroughDumpAndDiff) {
  const Config one = config_of("/c/slb/advhc/script 1/open 80/send \"b\"/send \"a\"/send \"b\"/close\n");
  EXPECT_NE(text::dump(one).find(
                "/c/slb/advhc/script 1\n\topen 80\n\tsend \"b\"\n\tsend \"a\"\n\tsend \"b\"\n\tclose\n"),
            std::string::npos);
  const Config other = config_of("/c/slb/advhc/script 1/open 80/send \"b\"/expect \"c\"\n");
  EXPECT_EQ(text::diff(one, other), "/c/slb/advhc/script 1\n\trem\n\trem\n\trem\n\texpect \"c\"\n");
  Config loaded = one;
  ASSERT_TRUE(text::load(text::diff(one, other), loaded).ok());
  EXPECT_EQ(text::dump(loaded), text::dump(other));
}

}  // namespace
}  // namespace headgate::config
