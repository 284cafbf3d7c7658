// SPDX-License-Identifier: Apache-2.0
#include "model/schema.h"

#include <set>

#include <gtest/gtest.h>

#include "model/field_access.h"

namespace headgate::schema {
namespace {

std::vector<const Menu*> all_menus(const Menu& menu = root()) {
  std::vector<const Menu*> menus{&menu};
  for (const Entry& entry : menu.entries)
    if (entry.menu != nullptr)
      for (const Menu* below : all_menus(*entry.menu)) menus.push_back(below);
  return menus;
}

const Menu& menu_at(std::string_view path) {
  for (const Menu* menu : all_menus())
    if (menu->path == path) return *menu;
  throw std::out_of_range(std::string(path));
}

const Entry& entry_at(std::string_view path, std::string_view word) {
  const Entry* entry = menu_at(path).find(word);
  if (entry == nullptr) throw std::out_of_range(std::string(word));
  return *entry;
}

std::string checked(const Entry& entry, std::string_view argument) {
  const auto result = check(entry, argument, "it");
  return result ? *result : "Error: " + result.error().message;
}

TEST(Schema, EveryFieldIsAnnotatedAndHasAKindAndHelp) {
  for (const Menu* menu : all_menus()) {
    EXPECT_TRUE(menu->message->options().HasExtension(config::menu)) << menu->path;
    EXPECT_FALSE(menu->title.empty()) << menu->path;
    for (const Entry& entry : menu->entries) {
      EXPECT_TRUE(entry.field->options().HasExtension(config::word)) << entry.field->full_name();
      EXPECT_NE(entry.kind, config::AUTOMATIC) << entry.field->full_name();
      EXPECT_FALSE(entry.help.empty()) << entry.field->full_name();
      EXPECT_FALSE(entry.label.empty()) << entry.field->full_name();
    }
  }
}

TEST(Schema, KeyedMenusHaveAKeyAndAnObjectAndTheOthersNone) {
  for (const Menu* menu : all_menus())
    for (const Entry& entry : menu->entries) {
      if (entry.kind == config::SUBSET) {
        EXPECT_NE(menu->list_of(entry), nullptr) << entry.field->full_name();
      }
      if (entry.menu == nullptr) continue;
      EXPECT_EQ(entry.keyed(), entry.menu->key != nullptr) << entry.menu->path;
      EXPECT_EQ(entry.keyed(), !entry.menu->object.empty()) << entry.menu->path;
      EXPECT_EQ(entry.keyed(), entry.menu->title.find("{}") != std::string::npos) << entry.menu->path;
    }
}

TEST(Schema, EveryWordOfAMenuIsTypedOnce) {
  for (const Menu* menu : all_menus()) {
    std::set<std::string> seen;
    for (const Command& command : menu->commands)
      EXPECT_TRUE(seen.insert(command.word).second) << menu->path << " " << command.word;
  }
}

void expect_good_default(const google::protobuf::Message& message, const Entry& entry) {
  const std::string text = text_of(message, entry);
  EXPECT_EQ(checked(entry, text), text) << entry.field->full_name();
}

TEST(Schema, DefaultsAreWithinTheirRanges) {
  auto* factory = google::protobuf::MessageFactory::generated_factory();
  for (const Menu* menu : all_menus())
    for (const Entry& entry : menu->entries) {
      if (entry.kind == config::STEPS) continue;  // a step is what somebody typed
      for (const Entry& argument : entry.arguments) {
        // Of a list each argument is typed, but for the trailing ones and those that have a preset.
        if (entry.field->is_repeated() && !argument.trailing && !argument.field->has_default_value())
          continue;
        expect_good_default(*factory->GetPrototype(argument.field->containing_type()), argument);
      }
      if (entry.menu == nullptr && !entry.field->is_repeated() && entry.kind != config::TUPLE)
        expect_good_default(*factory->GetPrototype(menu->message), entry);
    }
}

TEST(Schema, AliasPathsLeadToTheirMenus) {
  EXPECT_EQ(root().match("ip")->entry->menu->path, "/cfg/l3");
  EXPECT_EQ(root().match("vlan")->entry->menu->path, "/cfg/l2/vlan");
  EXPECT_TRUE(root().match("vlan")->alias);
}

TEST(Schema, WordsMayBeAbbreviatedToAUniquePrefix) {
  const Menu& real = menu_at("/cfg/slb/real");
  EXPECT_EQ(real.match("w")->word, "weight");
  EXPECT_EQ(real.match("ena")->verb, Verb::on);
  EXPECT_EQ(real.match("e")->verb, Verb::on);
  EXPECT_EQ(real.match("disable")->verb, Verb::off);
  EXPECT_EQ(real.match("re").error().message, "ambiguous command \"re\": retry, restr");
  EXPECT_EQ(real.match("ps").error().message, "unknown command \"ps\"");
  EXPECT_EQ(real.match("").error().message, "unknown command \"\"");
  EXPECT_EQ(root().match("s").error().message, "ambiguous command \"s\": sys, slb");
}

TEST(Schema, NumbersAreExactOrRefused) {
  const Entry& weight = entry_at("/cfg/slb/real", "weight");
  EXPECT_EQ(checked(weight, "1"), "1");
  EXPECT_EQ(checked(weight, "48"), "48");
  for (const char* bad :
       {"0", "49", "3k", "+3", "-3", "0x3", "03", "3.0", "4294967297", "99999999999999999999", "three"})
    EXPECT_EQ(checked(weight, bad), std::string("Error: it: ") + bad + " is not allowed, allowed is 1-48");
  const Entry& maxcon = entry_at("/cfg/slb/real", "maxcon");
  EXPECT_EQ(checked(maxcon, "20000000"), "20000000");
  EXPECT_EQ(checked(maxcon, "20000001"), "Error: it: 20000001 is not allowed, allowed is 0-20000000");
  EXPECT_EQ(checked(weight, ""), "Error: it: an empty value is not allowed, allowed is 1-48");
}

TEST(Schema, RangesSayStepsAndSingleValues) {
  EXPECT_EQ(allowed(entry_at("/cfg/slb/real", "tmout")), "even numbers 2-32768");
  EXPECT_EQ(checked(entry_at("/cfg/slb/real", "tmout"), "3"),
            "Error: it: 3 is not allowed, allowed is even numbers 2-32768");
  const Entry& rport = entry_at("/cfg/slb/virt/service", "rport");
  EXPECT_EQ(checked(rport, "0"), "0");
  EXPECT_EQ(checked(rport, "80"), "http");
  EXPECT_EQ(checked(rport, "https"), "https");
  EXPECT_EQ(checked(rport, "4"),
            "Error: it: 4 is not allowed, allowed is 0 or 5-65534 or a name such as http");
  EXPECT_EQ(checked(rport, "65616"),
            "Error: it: 65616 is not allowed, allowed is 0 or 5-65534 or a name such as http");
}

TEST(Schema, VlanBoundsAreThoseOfTheField) {
  const Entry& vlan = entry_at("/cfg/l3/if", "vlan");
  for (const char* good : {"1", "4090"}) EXPECT_EQ(checked(vlan, good), good);
  for (const char* bad : {"0", "4091", "4094", "4095"})
    EXPECT_EQ(checked(vlan, bad), std::string("Error: it: ") + bad + " is not allowed, allowed is 1-4090");
}

TEST(Schema, FlagsAndChoicesTakeAbbreviations) {
  const Entry& grace = entry_at("/cfg/slb/adv", "grace");
  for (const char* word : {"e", "en", "ena", "enable"}) EXPECT_EQ(checked(grace, word), "ena");
  for (const char* word : {"d", "dis", "disable", "disabl"}) EXPECT_EQ(checked(grace, word), "dis");
  EXPECT_EQ(checked(grace, "on"), "Error: it: on is not allowed, allowed is ena or dis");
  const Entry& metric = entry_at("/cfg/slb/group", "metric").arguments[0];
  EXPECT_EQ(checked(metric, "round"), "roundrobin");
  EXPECT_EQ(
      checked(metric, "x"),
      "Error: it: x is not allowed, allowed is leastconns, roundrobin, hash, minmisses, phash, response, "
      "bandwidth, svcleast, health");
  EXPECT_EQ(checked(entry_at("/cfg/slb/virt/service", "thash"), "sip"), "sip") << "a word may begin another";
}

TEST(Schema, WhatIsNotBuiltYetSaysSo) {
  const Entry& pbind = entry_at("/cfg/slb/virt/service", "pbind");
  EXPECT_EQ(checked(pbind, "cookie"), "Error: it: cookie is not built yet, allowed is disable, clientip");
  EXPECT_EQ(checked(pbind, "cookies"), "Error: it: cookies is not allowed, allowed is disable, clientip");
}

TEST(Schema, ABackupIsAServerOrAGroupOrNone) {
  const Entry& backup = entry_at("/cfg/slb/real", "backup");
  EXPECT_EQ(checked(backup, "3"), "3");
  EXPECT_EQ(checked(backup, "r3"), "3");
  EXPECT_EQ(checked(backup, "g1024"), "g1024");
  EXPECT_EQ(checked(backup, "none"), "none");
  for (const char* bad : {"0", "1024", "g0", "g1025", "g", "r", "g03", "gr3", "group"})
    EXPECT_EQ(checked(backup, bad),
              std::string("Error: it: ") + bad + " is not allowed, allowed is none, 1-1023 or g1-g1024");
  const Entry& second = entry_at("/cfg/slb/group", "secbkp");
  EXPECT_EQ(checked(second, "7"), "g7") << "only a group can be meant";
  EXPECT_EQ(checked(second, "r7"), "Error: it: r7 is not allowed, allowed is none, g1-g1024");
}

TEST(Schema, AddressesAndMasksAreComplete) {
  const Entry& rip = entry_at("/cfg/slb/real", "rip");
  EXPECT_EQ(checked(rip, "10.0.0.1"), "10.0.0.1");
  for (const char* bad : {"web", "10.0.0", "10.0.0.256", "null", "10.0.0.1/24", "010.0.0.1"})
    EXPECT_EQ(checked(rip, bad),
              std::string("Error: it: ") + bad + " is not allowed, allowed is an IPv4 or IPv6 address");
  EXPECT_EQ(checked(entry_at("/cfg/l3/if", "mask"), "255.0.255.0"),
            "Error: it: 255.0.255.0 is not allowed, allowed is a subnet mask or a prefix length 1-128");
  EXPECT_EQ(checked(rip, "2001:DB8::0:1"), "2001:db8::1");
  for (const char* good : {"1", "64", "128", "255.255.255.0"})
    EXPECT_EQ(checked(entry_at("/cfg/l3/if", "mask"), good), good);
  for (const char* bad : {"0", "129", "064", "/64"})
    EXPECT_EQ(checked(entry_at("/cfg/l3/if", "mask"), bad),
              std::string("Error: it: ") + bad +
                  " is not allowed, allowed is a subnet mask or a prefix length 1-128");
}

TEST(Schema, TextsAreBoundedAndPrintable) {
  const Entry& name = entry_at("/cfg/slb/real", "name");
  EXPECT_EQ(checked(name, std::string(31, 'x')), std::string(31, 'x'));
  EXPECT_EQ(checked(name, std::string(32, 'x')),
            "Error: it: 32 characters are not allowed, allowed are 0-31");
  EXPECT_EQ(checked(name, "a\tb"), "Error: it: only printable ASCII characters are allowed");
  EXPECT_EQ(checked(name, "\xc3\xa4"), "Error: it: only printable ASCII characters are allowed");
  EXPECT_EQ(checked(entry_at("/cfg/sys", "name"), "a b"), "Error: it: blanks are not allowed");
}

TEST(Schema, LevelsComeFromTheMenuAbove) {
  EXPECT_EQ(entry_at("/cfg/slb/real", "rip").level, config::SLBADMIN);
  EXPECT_EQ(entry_at("/cfg/l3/if", "addr").level, config::ADMIN);
}

TEST(Schema, MenusAreNamedByTheirKeys) {
  EXPECT_EQ(name_of(menu_at("/cfg/slb/real"), {"1"}), "real server 1");
  EXPECT_EQ(name_of(menu_at("/cfg/slb/virt/service"), {"1", "http"}), "service http of virtual server 1");
  EXPECT_EQ(name_of(menu_at("/cfg/slb/adv"), {}), "Layer 4 Advanced");
}

}  // namespace
}  // namespace headgate::schema
