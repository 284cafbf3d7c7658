// SPDX-License-Identifier: Apache-2.0
#include "controlplane/config/link_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controlplane/config/compile.h"
#include "controlplane/config/sample.h"
#include "controlplane/config/validate.h"

namespace headgate::config {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> problems(const Config& config) {
  std::vector<std::string> lines;
  for (const Problem& problem : validate(config)) lines.push_back(problem.line());
  return lines;
}

std::vector<std::string> checks(const Config& config, std::uint32_t real) {
  std::vector<std::string> identities;
  for (const auto& [key, target] : compile(config).targets)
    if (key.real == real) identities.push_back(key.check);
  return identities;
}

TEST(LinkCheck, ARealServersLinkIsThatOfThePortOfItsNumber) {
  const Config config = with(lab(), "/c/slb/group 1/health link\n");
  EXPECT_THAT(problems(config), IsEmpty());
  EXPECT_THAT(checks(config, 1), Contains("link port1 port 1"));
  EXPECT_THAT(checks(config, 2), ElementsAre("link port2 port 2"));
}

TEST(LinkCheck, WithoutAKernelDeviceTheDataplaneIsAsked) {
  EXPECT_THAT(
      checks(with(lab(), "/c/port 2/driver pci/device 0000:05:00.0\n/c/slb/group 1/health link\n"), 2),
      ElementsAre("link port 2"));
}

TEST(LinkCheck, APartOfAnExpressionHasItsPortToo) {
  const Config config = with(lab(),
                             "/c/slb/advhc/health cable link\n/c/slb/advhc/health both logexp/content "
                             "\"cable & tcp\"\n/c/slb/group 1/health both\n");
  EXPECT_THAT(checks(config, 2),
              ElementsAre("logexp named both cable & tcp of link named cable port2 port 2 of tcp"));
}

TEST(LinkCheck, ARealServerWithoutAPortOfItsNumberIsRefused) {
  const std::string third = "/c/slb/real 3/ena/rip 10.10.2.13\n/c/slb/group 1/add 3\n";
  EXPECT_THAT(
      problems(with(lab(), third + "/c/slb/group 1/health link\n")),
      ElementsAre("/cfg/slb/real 3: health link looks at the link of port 3, and there is no /cfg/port 3 "
                  "with a device"));
  EXPECT_THAT(problems(with(lab(), third + "/c/slb/advhc/health cable link\n/c/slb/real 3/health cable\n")),
              ElementsAre("/cfg/slb/real 3: health cable looks at the link of port 3, and there is no "
                          "/cfg/port 3 with a device"));
  EXPECT_THAT(problems(with(lab(), third + "/c/slb/group 1/health logexp/content \"tcp | link\"\n")),
              ElementsAre("/cfg/slb/real 3: health logexp looks at the link of port 3, and there is no "
                          "/cfg/port 3 with a device"));
  EXPECT_THAT(problems(with(lab(), third + "/c/slb/group 1/health link\n/c/slb/real 3/health tcp\n")),
              IsEmpty());
}

TEST(LinkCheck, ArpAndLinkFitEveryService) {
  for (const char* word : {"arp", "link"}) {
    const Config config = with(
        lab(), "/c/slb/virt 1/service 53/protocol udp/group 1\n/c/slb/group 1/health " + std::string(word));
    EXPECT_THAT(problems(config), IsEmpty());
    for (const std::string& check : checks(config, 2)) EXPECT_EQ(check.substr(0, check.find(' ')), word);
  }
}

TEST(LinkCheck, SettingsWithoutUseAreRefused) {
  for (const char* word : {"arp", "link"}) {
    const std::string type = word;
    const std::string start = "/cfg/slb/advhc/health below: " + type + " has no use for ";
    EXPECT_THAT(
        problems(with(lab(), "/c/slb/advhc/health below " + type + "/dport 80/content \"/\"/status 200\n")),
        ElementsAre(start + "dport", start + "content", start + "status"));
  }
}

}  // namespace
}  // namespace headgate::config
