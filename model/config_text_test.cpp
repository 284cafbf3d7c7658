// SPDX-License-Identifier: Apache-2.0
#include "model/config_text.h"

#include <gtest/gtest.h>

#include "model/random_config.h"

namespace headgate::text {
namespace {

constexpr std::uint32_t kDraws = 300;

config::Config loaded(std::string_view text) {
  config::Config config;
  const auto status = load(text, config);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  return config;
}

std::string load_error(std::string_view text) {
  config::Config config;
  const auto status = load(text, config);
  EXPECT_EQ(config.ByteSizeLong(), 0u) << "a refused text changed the configuration";
  return status ? "no error" : status.error().message;
}

/// The error of one absolute line on top of what `before` loads; checks that nothing was changed.
std::string line_error(std::string_view line, std::string_view before = "") {
  const config::Config base = loaded(before);
  config::Config config = base;
  Position position{"slb"};
  const auto status = apply_line(line, position, config);
  EXPECT_EQ(config.SerializeAsString(), base.SerializeAsString()) << line;
  EXPECT_EQ(position, Position{"slb"}) << line;
  return status ? "no error" : status.error().message;
}

bool equal(const config::Config& a, const config::Config& b) {
  return a.SerializeAsString() == b.SerializeAsString();
}

constexpr std::string_view kTestBed =
    "/c/sys\n"
    "\tname lb-a\n"
    "\thprompt ena\n"
    "/c/sys/syslog\n"
    "\thst1 10.10.1.9 7 1\n"
    "/c/port 1\n"
    "\tdevice port1\n"
    "/c/l2/vlan 1\n"
    "\tadd 1\n"
    "/c/l3/if 1\n"
    "\tena\n"
    "\taddr 10.10.1.5\n"
    "\tmask 255.255.255.0\n"
    "/c/l3/route\n"
    "\tadd 10.20.0.0 255.255.0.0 10.10.1.1\n"
    "/c/slb\n"
    "\ton\n"
    "/c/slb/adv\n"
    "\tgrace ena\n"
    "/c/slb/real 1\n"
    "\tena\n"
    "\trip 10.10.2.11\n"
    "\tname \"web \\\"one\\\" \\\\ here\"\n"
    "/c/slb/real 2\n"
    "\tdis\n"
    "/c/slb/group 1\n"
    "\tmetric roundrobin\n"
    "\tcontent \"/health\"\n"
    "\tadd 1\n"
    "\tadd 2\n"
    "/c/slb/port 1\n"
    "\tclient ena\n"
    "/c/slb/virt 1\n"
    "\tena\n"
    "\tvip 10.10.1.100\n"
    "/c/slb/virt 1/service http\n"
    "\trport 8080\n"
    "/c/slb/virt 1/service 8443\n"
    "\tgroup 1\n";

TEST(ConfigText, DumpIsInTheCapturedFormat) {
  EXPECT_EQ(dump(loaded(kTestBed)), kTestBed);
}

TEST(ConfigText, EveryConfigurationSurvivesDumpAndLoad) {
  for (std::uint32_t seed = 0; seed < kDraws; ++seed) {
    const auto config = test_support::RandomConfig(seed).draw();
    const std::string text = dump(config);
    ASSERT_TRUE(equal(loaded(text), config)) << "seed " << seed << "\n" << text;
  }
}

TEST(ConfigText, LinesOneByOneGiveWhatLoadGives) {
  for (std::uint32_t seed = 0; seed < kDraws; ++seed) {
    const auto wanted = test_support::RandomConfig(seed).draw();
    std::string text = dump(wanted);
    config::Config config;
    Position position;
    while (!text.empty()) {
      const auto end = text.find('\n');
      ASSERT_TRUE(apply_line(text.substr(0, end), position, config).ok());
      text.erase(0, end + 1);
    }
    ASSERT_TRUE(equal(config, wanted)) << "seed " << seed;
  }
}

TEST(ConfigText, DiffLeadsFromOneConfigurationToTheOther) {
  for (std::uint32_t seed = 0; seed < kDraws; ++seed) {
    const auto from = test_support::RandomConfig(seed).draw();
    const auto to = test_support::RandomConfig(seed + kDraws).draw();
    config::Config config = from;
    const std::string edits = diff(from, to);
    const auto status = load(edits, config);
    ASSERT_TRUE(status.ok()) << status.error().message;
    ASSERT_TRUE(equal(config, to)) << "seed " << seed << "\n" << edits;
    EXPECT_EQ(diff(to, to), "");
  }
}

TEST(ConfigText, DumpLoadsOnTopOfItself) {
  config::Config config = loaded(kTestBed);
  ASSERT_TRUE(load(kTestBed, config).ok());
  EXPECT_EQ(dump(config), kTestBed);
}

TEST(ConfigText, DiffWritesDefaultsDeletionsAndListMembers) {
  const auto from = loaded(kTestBed);
  config::Config to = from;
  ASSERT_TRUE(load("/c/slb/adv/grace dis\n/c/slb/real 2/del\n/c/slb/group 1/rem 2/add 3\n/c/slb/virt "
                   "1/service 8443/del\n"
                   "/c/sys/syslog/hst1 0.0.0.0\n/c/slb/real 7/weight 1\n/c/slb/group 1/content none",
                   to)
                  .ok());
  EXPECT_EQ(diff(from, to),
            "/c/sys/syslog\n"
            "\thst1 0.0.0.0\n"
            "/c/slb/adv\n"
            "\tgrace dis\n"
            "/c/slb/real 2/del\n"
            "/c/slb/real 7\n"
            "\tdis\n"
            "/c/slb/group 1\n"
            "\tcontent \"\"\n"
            "\trem 2\n"
            "\tadd 3\n"
            "/c/slb/virt 1/service 8443/del\n");
}

TEST(ConfigText, AHeaderAloneCreatesNothingAndADefaultValueDoes) {
  EXPECT_EQ(dump(loaded("/c/slb/real 1\n/c/slb/virt 1/service http\n/c/slb/adv\n\tgrace dis\n")), "");
  EXPECT_EQ(dump(loaded("/c/slb/real 1/weight 1")), "/c/slb/real 1\n\tdis\n");
}

TEST(ConfigText, AbbreviationsAliasesAndStackedWordsAreUnderstood) {
  const auto wanted = loaded("/c/slb/real 1\n\tena\n\trip 10.0.0.1\n");
  EXPECT_TRUE(equal(loaded("/c/slb/real 1/rip 10.0.0.1/ena"), wanted));
  EXPECT_TRUE(equal(loaded("/cfg/sl/re 1/ri 10.0.0.1/en"), wanted));
  EXPECT_TRUE(equal(loaded("/cf/slb/real 1/enable/rip 10.0.0.1/"), wanted));
  EXPECT_TRUE(equal(loaded("/cfg/ip/if 1/addr 10.0.0.5"), loaded("/c/l3/if 1/addr 10.0.0.5")));
  EXPECT_TRUE(equal(loaded("/cfg/vlan 5/name x"), loaded("/c/l2/vlan 5/name \"x\"")));
  EXPECT_TRUE(equal(loaded("/cfg/ip/route/add 1.0.0.0 255.0.0.0 2.0.0.1"),
                    loaded("/c/l3/route\n add 1.0.0.0 255.0.0.0 2.0.0.1")));
}

TEST(ConfigText, LaterSpellingOfServicesIsUnderstood) {
  const auto wanted = loaded("/c/slb/virt 1/service http/rport 8080");
  EXPECT_TRUE(equal(loaded("/c/slb/virt 1/service 80 http\n    rport 8080\n"), wanted));
  EXPECT_TRUE(equal(loaded("/c/slb/virt 1/service 80 basic-slb/rport 8080"), wanted));
  EXPECT_EQ(line_error("/c/slb/virt 1/service 80 nonsense"), "unexpected \"nonsense\" after service");
}

TEST(ConfigText, RelativeLinesFollowTheLastHeader) {
  config::Config config;
  Position position;
  ASSERT_TRUE(apply_line("/c/slb/virt 1/service http", position, config).ok());
  EXPECT_EQ(position, (Position{"slb", "virt 1", "service http"}));
  ASSERT_TRUE(apply_line("\tgroup 3", position, config).ok());
  EXPECT_EQ(config.slb().virt(0).service(0).group(), 3u);
  ASSERT_TRUE(apply_line("/", position, config).ok());
  EXPECT_EQ(position, Position{});
}

TEST(ConfigText, TheWholeScriptWithWrapperAndCommentsLoads) {
  const std::string script =
      "script start \"Headgate\" 4  /**** DO NOT EDIT THIS LINE!\r\n"
      "/* Configuration dump taken 15:44:00 Wed Jan 14, 2015\r\n"
      "/c/slb/real 1\r\n    ena\r\n\r\n\trip 10.0.0.1\r\n/\r\nscript end  /**** DO NOT EDIT THIS LINE!";
  EXPECT_TRUE(equal(loaded(script), loaded("/c/slb/real 1/ena/rip 10.0.0.1")));
}

TEST(ConfigText, StanzasMayComeInAnyOrder) {
  EXPECT_EQ(dump(loaded("/c/slb/real 3/ena\n/c/slb/real 1/ena\n/c/slb/real 2/ena\n")),
            "/c/slb/real 1\n\tena\n/c/slb/real 2\n\tena\n/c/slb/real 3\n\tena\n");
  EXPECT_EQ(dump(loaded("/c/slb/group 1/add 9/add 2/add 9/add 5")),
            "/c/slb/group 1\n\tadd 2\n\tadd 5\n\tadd 9\n");
}

TEST(ConfigText, ErrorsNameSettingValueAndWhatIsAllowed) {
  EXPECT_EQ(line_error("/c/slb/real 1/weight 60"),
            "weight of real server 1: 60 is not allowed, allowed is 1-48");
  EXPECT_EQ(line_error("/c/slb/real 2000/ena"), "real server: 2000 is not allowed, allowed is 1-1023");
  EXPECT_EQ(line_error("/c/slb/real"), "real server needs a number, allowed is 1-1023");
  EXPECT_EQ(line_error("/c/slb/real 1/weight"), "weight of real server 1 needs a value, allowed is 1-48");
  EXPECT_EQ(line_error("/c/slb/real 1/weight 2 3"), "unexpected \"3\" after weight");
  EXPECT_EQ(line_error("/c/slb/real 1/ena 1"), "unexpected \"1\" after ena");
  EXPECT_EQ(line_error("/c/slb/ps"), "unknown command \"ps\"");
  EXPECT_EQ(line_error("/info/slb"), "unknown command \"info\"");
  EXPECT_EQ(line_error("/c/s"), "ambiguous command \"s\": sys, slb");
  EXPECT_EQ(line_error("/c//slb"), "unknown command \"\"");
  EXPECT_EQ(line_error("/c/slb/group 1/add 2000"),
            "real server of real server group 1: 2000 is not allowed, allowed is 1-1023");
  EXPECT_EQ(line_error("/c/sys/syslog/hst1 10.0.0.1 9"),
            "severity of hst1 of Syslog: 9 is not allowed, allowed is 0-7");
  EXPECT_EQ(line_error("/c/slb/virt 1/service http/rport x"),
            "rport of service http of virtual server 1: x is not allowed, allowed is 0 or 5-65534 or a name "
            "such as http");
  EXPECT_EQ(line_error("/c/slb/real 1/name \"a\x01\""), "control characters are not allowed");
}

TEST(ConfigText, ALineThatFailsLateChangesNothing) {
  EXPECT_EQ(line_error("/c/slb/real 1/ena/weight 5/rip web", "/c/slb/real 1/rip 10.0.0.1"),
            "rip of real server 1: web is not allowed, allowed is an IPv4 or IPv6 address");
}

TEST(ConfigText, DeletionIsOfOneExistingObjectAndTakesNoArguments) {
  constexpr std::string_view kBefore =
      "/c/slb/real 1/ena\n/c/slb/virt 1/service http/group 2\n/c/l2/vlan 2/add 1";
  for (const char* object : {"real 1", "virt 1", "virt 1/service http"}) {
    EXPECT_EQ(line_error(std::string("/c/slb/") + object + "/del all", kBefore),
              "unexpected \"all\" after del");
    config::Config config = loaded(kBefore);
    EXPECT_TRUE(load(std::string("/c/slb/") + object + "/del", config).ok());
    EXPECT_FALSE(equal(config, loaded(kBefore)));
  }
  EXPECT_EQ(line_error("/c/slb/real 2/del", kBefore), "real server 2 does not exist");
  EXPECT_EQ(line_error("/c/slb/virt 2/service http/del", kBefore),
            "service http of virtual server 2 does not exist");
  EXPECT_EQ(line_error("/c/slb/group 1/rem 5", kBefore), "real server group 1 has no real server 5");
  EXPECT_EQ(line_error("/c/slb/del"), "unknown command \"del\"");
}

TEST(ConfigText, NoneEmptiesATextAndQuotedNoneIsTheWord) {
  EXPECT_EQ(loaded("/c/slb/group 1/content x/content none").slb().group(0).content(), "");
  EXPECT_EQ(loaded("/c/slb/group 1/content \"none\"").slb().group(0).content(), "none");
  EXPECT_EQ(dump(loaded("/c/sys/name \"none\"")), "/c/sys\n\tname \"none\"\n");
}

TEST(ConfigText, LoadSaysWhichLineIsBad) {
  EXPECT_EQ(load_error("/c/slb/real 1\n\tena\n\tweight 0\n\trip 1.2.3.4\n"),
            "line 3 (weight 0): weight of real server 1: 0 is not allowed, allowed is 1-48");
  EXPECT_EQ(
      load_error("\n\xff" + std::string(4097, 'x')),
      "line 2 (?" + std::string(59, 'x') + "...): unknown command \"?" + std::string(59, 'x') + "...\"");
}

TEST(ConfigText, LongTextsAreReadWhole) {
  for (const std::size_t size : {4095u, 4096u, 4097u, 65536u, 5u << 20}) {
    std::string text;
    for (std::uint32_t i = 0; text.size() < size; ++i)
      text += "/c/slb/real " + std::to_string(i % 1023 + 1) + "\n\tname \"" + std::to_string(i) + "\"\n";
    text += "/* " + std::string(4097, '*') + "\n/c/slb/adv/fastage 7";
    EXPECT_EQ(loaded(text).slb().adv().fastage(), 7u) << size;
  }
}

TEST(ConfigText, NormaliseMakesEqualConfigurationsEqualMessages) {
  config::Config config;
  for (const std::uint32_t number : {5u, 1u, 3u}) config.mutable_slb()->add_real()->set_number(number);
  config.mutable_slb()->mutable_real(0)->set_weight(1);
  config.mutable_slb()->mutable_adv()->set_grace(false);
  auto& group = *config.mutable_slb()->add_group();
  group.set_number(1);
  for (const std::uint32_t member : {3u, 1u, 3u}) group.add_member(member);
  config.mutable_sys()->mutable_syslog()->mutable_hst1()->set_port(514);
  normalise(config);
  EXPECT_TRUE(equal(
      config, loaded("/c/slb/real 1/dis\n/c/slb/real 3/dis\n/c/slb/real 5/dis\n/c/slb/group 1/add 1/add 3")));
}

TEST(ConfigText, AMemberIsDisabledInOneGroupOnlyAndForgottenWithIt) {
  constexpr std::string_view kGroup = "/c/slb/group 1\n\tadd 1\n\tadd 2\n";
  auto config = loaded(std::string(kGroup) + "/c/slb/group 1/dis 2");
  EXPECT_EQ(dump(config), std::string(kGroup) + "\tdis 2\n");
  EXPECT_EQ(line_error("/c/slb/group 1/dis 3", kGroup), "real server group 1 has no real server 3");
  EXPECT_EQ(line_error("/c/slb/group 1/ena 3", kGroup), "real server group 1 has no real server 3");
  const auto before = config;
  ASSERT_TRUE(load("/c/slb/group 1/enable 2/ena 1", config).ok());
  EXPECT_EQ(diff(before, config), "/c/slb/group 1\n\tena 2\n");
  config = before;
  ASSERT_TRUE(load("/c/slb/group 1/rem 2\n/c/slb/group 1/add 2", config).ok());
  ASSERT_TRUE(load("/c/slb/group 1/rem 2", config).ok());
  ASSERT_TRUE(load("/c/slb/group 1/add 2", config).ok());
  EXPECT_EQ(dump(config), kGroup);
}

TEST(ConfigText, TheMetricMayHaveAMask) {
  EXPECT_EQ(dump(loaded("/c/slb/group 1/metric phash 255.255.255.0")),
            "/c/slb/group 1\n\tmetric phash 255.255.255.0\n");
  EXPECT_EQ(dump(loaded("/c/slb/group 1/metric leastconns/name x")), "/c/slb/group 1\n\tname \"x\"\n");
  EXPECT_EQ(line_error("/c/slb/group 1/metric phash 255.0.255.0"),
            "mask of metric of real server group 1: 255.0.255.0 is not allowed, allowed is a subnet mask");
}

}  // namespace
}  // namespace headgate::text
