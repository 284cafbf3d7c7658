// SPDX-License-Identifier: Apache-2.0
#include "cli/tree.h"

#include <gtest/gtest.h>

namespace headgate::cli {
namespace {

/// The place of a path of menus, keys included.
Place at(std::initializer_list<std::pair<const char*, const char*>> steps) {
  Place place;
  for (const auto& [word, key] : steps)
    place = entered(place, *(*match(place.menu(), word, config::ADMIN))->menu, key);
  return place;
}

std::string matched(const Place& place, std::string_view word, config::Level level = config::ADMIN) {
  const auto command = match(place.menu(), word, level);
  return command ? (*command)->word : command.error().message;
}

void expect_sound(const Menu& menu) {
  for (const Command& command : menu.commands) {
    const int purposes =
        (command.menu != nullptr) + (command.setting != nullptr) + (command.handler != nullptr);
    EXPECT_EQ(purposes, 1) << menu.title << " " << command.word;
    EXPECT_LE(command.word.size() + command.help.size(),
              79u - 8 - (command.word.size() < 8 ? 8 - command.word.size() : 0))
        << menu.title << " " << command.word;
    EXPECT_FALSE(command.help.empty()) << menu.title << " " << command.word;
    const auto found = match(menu, command.word, config::ADMIN);
    EXPECT_TRUE(found && *found == &command) << menu.title << " " << command.word;
    if (command.menu != nullptr && !command.alias) {
      EXPECT_EQ(command.menu->parent, &menu) << command.word;
      EXPECT_EQ(command.menu->key != nullptr, command.menu->title.find("{}") != std::string::npos)
          << command.word;
      expect_sound(*command.menu);
    }
  }
}

TEST(Tree, EveryEntryIsReachableAndDoesOneThing) {
  expect_sound(main_menu());
}

TEST(Tree, MainMenuIsListedAsAdministratorsKnowIt) {
  EXPECT_EQ(listing({}, config::ADMIN),
            "------------------------------------------------------------\n"
            "[Main Menu]\n"
            "     info     - Information Menu\n"
            "     stats    - Statistics Menu\n"
            "     cfg      - Configuration Menu\n"
            "     oper     - Operations Command Menu\n"
            "     diff     - Show pending config changes  [global command]\n"
            "     apply    - Apply pending config changes [global command]\n"
            "     save     - Save running config          [global command]\n"
            "     revert   - Revert pending or applied changes [global command]\n"
            "     exit     - Exit                         [global command]\n");
}

TEST(Tree, LowerLevelsSeeAndUseLess) {
  EXPECT_EQ(listing({}, config::USER),
            "------------------------------------------------------------\n"
            "[Main Menu]\n"
            "     info     - Information Menu\n"
            "     stats    - Statistics Menu\n"
            "     exit     - Exit                         [global command]\n");
  EXPECT_EQ(matched({}, "cfg", config::SLBOPER), "unknown command \"cfg\"");
  EXPECT_EQ(matched({}, "apply", config::OPER), "unknown command \"apply\"");
  EXPECT_EQ(matched({}, "oper", config::SLBOPER), "oper");
  EXPECT_EQ(matched(at({{"cfg", ""}}), "slb", config::SLBADMIN), "slb");
  EXPECT_EQ(matched(at({{"cfg", ""}}), "sys", config::SLBADMIN), "unknown command \"sys\"");
  EXPECT_EQ(matched(at({{"cfg", ""}}), "s", config::SLBADMIN), "slb");
}

TEST(Tree, WordsAreMatchedExactlyThenByPrefixAndLocallyFirst) {
  const Place real = at({{"cfg", ""}, {"slb", ""}, {"real", "1"}});
  EXPECT_EQ(matched(real, "w"), "weight");
  EXPECT_EQ(matched(real, "diff"), "diff");
  EXPECT_EQ(matched(real, "re"), "ambiguous command \"re\": retry, restr");
  EXPECT_EQ(matched(real, "app"), "apply");
  EXPECT_EQ(matched({}, "s"), "stats");
  EXPECT_EQ(matched({}, "sa"), "save");
  EXPECT_EQ(matched({}, "ps"), "unknown command \"ps\"");
  EXPECT_EQ(matched({}, ""), "unknown command \"\"");
}

TEST(Tree, TitlesShowTheKeys) {
  EXPECT_EQ(at({}).title(), "Main");
  EXPECT_EQ(at({{"cfg", ""}, {"slb", ""}, {"real", "1"}}).title(), "Real server 1 ");
  EXPECT_EQ(at({{"cfg", ""}, {"slb", ""}, {"virt", "1"}, {"service", "http"}}).title(),
            "Virtual Server 1 http Service ");
}

TEST(Tree, AliasPathsLeadToTheProperPlace) {
  EXPECT_EQ(at({{"cfg", ""}, {"ip", ""}, {"if", "2"}}).path(), "/cfg/l3/if 2");
  EXPECT_EQ(at({{"cfg", ""}, {"vlan", "5"}}).path(), "/cfg/l2/vlan 5");
}

TEST(Completion, CompletesUniqueWordsAndListsTheOthers) {
  EXPECT_EQ(complete({}, "in", config::ADMIN), (Completion{"fo/", {}}));
  EXPECT_EQ(complete({}, "/cfg/slb/re", config::ADMIN), (Completion{"al ", {}}));
  EXPECT_EQ(complete({}, "/c/sl/real 1/re", config::ADMIN), (Completion{"", {"retry", "restr"}}));
  EXPECT_EQ(complete({}, "/c/slb/group 1/metric ", config::ADMIN),
            (Completion{"",
                        {"leastconns", "roundrobin", "hash", "minmisses", "phash", "response", "bandwidth",
                         "svcleast", "health"}}));
  EXPECT_EQ(complete({}, "/c/slb/group 1/metric ro", config::ADMIN), (Completion{"undrobin ", {}}));
  EXPECT_EQ(complete({}, "app", config::ADMIN), (Completion{"ly", {}}));
  EXPECT_EQ(complete({}, "diff f", config::ADMIN), (Completion{"lash", {}}));
  EXPECT_EQ(complete({}, "dif", config::ADMIN), (Completion{"f ", {}}));
  EXPECT_EQ(complete({}, "/c/slb/real 1/weigh", config::ADMIN), (Completion{"t ", {}}));
  EXPECT_EQ(complete({}, "/c/slb/virt 1/service htt", config::ADMIN), (Completion{"p", {"http", "https"}}));
  EXPECT_EQ(complete({}, "/c/slb/virt 1/service https", config::ADMIN), (Completion{"/", {}}));
  EXPECT_EQ(complete({}, "/c/slb/real 1/rip ", config::ADMIN),
            (Completion{"", {}, "     an IPv4 or IPv6 address - Address\n"}));
  EXPECT_EQ(complete({}, "/nonsense/x", config::ADMIN), Completion{});
  EXPECT_EQ(complete({}, "/c/slb/real 1/name \"a/b", config::ADMIN), Completion{});
}

TEST(Completion, CommonStartIsInserted) {
  EXPECT_EQ(complete(at({{"cfg", ""}, {"slb", ""}, {"real", "1"}}), "r", config::ADMIN).insert, "");
  EXPECT_EQ(complete({}, "/info/slb/sess/d", config::ADMIN), (Completion{"", {"dip", "dport", "dump"}}));
}

TEST(Help, SaysWhatMayFollow) {
  EXPECT_EQ(help({}, "/c/slb/real 1/re", config::ADMIN),
            "     retry    - Failures in a row that take a service down\n"
            "     restr    - Successes in a row that bring it back\n");
  EXPECT_EQ(help({}, "/c/slb/real 1/weight ", config::ADMIN), "     1-48 - Share of new sessions\n");
  EXPECT_EQ(help({}, "/c/slb/real ", config::ADMIN), "     1-1023 - real server\n");
  EXPECT_EQ(help({}, "/oper/slb/dis 1 ", config::ADMIN),
            "     n or p - No new sessions for a real server (n), or persistent only (p)\n");
  EXPECT_EQ(help({}, "/c/sys/syslog/hst1 10.0.0.1 ", config::ADMIN),
            "     0-7 - least severe message sent\n");
  EXPECT_EQ(help({}, "apply ", config::ADMIN), "     apply    - Apply pending config changes\n");
}

TEST(Help, EveryMenuEndsWithTheWayToTheGlobalCommands) {
  const std::string main = help({}, "", config::ADMIN);
  EXPECT_TRUE(
      main.ends_with("     exit     - Exit                         [global command]\n"
                     "     \"help\" lists the global commands\n"))
      << main;
  EXPECT_EQ(help({}, "/oper/slb/", config::ADMIN),
            "     ena      - Give a real server new sessions again\n"
            "     dis      - No new sessions for a real server (n), or persistent only (p)\n"
            "     clear    - Forget all sessions, or those of a real server\n"
            "     cur      - Operator settings of the real servers\n"
            "     \"help\" lists the global commands\n");
}

TEST(Help, DisablingAServerSaysWhatItCosts) {
  EXPECT_EQ(*explain({}, "/cfg/slb/real 1/dis", config::ADMIN),
            "     dis      - Take this server out of service; ends its sessions at apply\n");
  EXPECT_EQ(*explain({}, "/cfg/slb/virt", config::ADMIN),
            "     virt     - Virtual Server Menu\n"
            "                virtual server number: 1-1024\n" +
                *explain(at({{"cfg", ""}, {"slb", ""}, {"virt", "1"}}), "", config::ADMIN));
  EXPECT_EQ(explain({}, "/cfg/slb/re 1/x", config::ADMIN).error().message, "unknown command \"x\"");
}

}  // namespace
}  // namespace headgate::cli
