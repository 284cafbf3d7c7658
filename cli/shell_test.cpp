// SPDX-License-Identifier: Apache-2.0
#include "cli/shell.h"

#include <sstream>
#include <utility>

#include <gtest/gtest.h>

#include "cli/fake_headgated.h"
#include "cli/script.h"
#include "model/ip.h"

namespace headgate::cli {
namespace {

control::Opened opened(config::Level level = config::ADMIN) {
  control::Opened opened;
  opened.set_level(static_cast<std::uint32_t>(level));
  return opened;
}

struct Played {
  std::string shown;
  bool good = true;
};

/// What a script prints.
Played script(FakeHeadgated& headgated, const std::string& lines, config::Level level = config::ADMIN) {
  FakeConsole console;
  Shell shell(headgated, console, opened(level));
  std::istringstream input(lines);
  const bool good = run_script(input, shell, [] { return false; });
  return {console.shown, good};
}

/// What a terminal shows: prompts, what was typed, and what came.
std::string session(FakeHeadgated& headgated, const std::vector<std::string>& lines,
                    std::vector<std::string> answers = {}) {
  FakeConsole console(std::move(answers));
  Shell shell(headgated, console, opened());
  for (const auto& line : lines) {
    if (shell.leaving()) break;
    console.shown += shell.prompt() + line + "\n";
    shell.execute(line);
  }
  return console.shown;
}

TEST(Script, SettingsAreSilentAndErrorsAreLinesOfTheirOwn) {
  FakeHeadgated headgated;
  const auto played = script(headgated,
                             "/c/slb/real 1/rip 10.0.0.1/ena\n"
                             "weight 60\n"
                             "weight\n"
                             "weight 5\n"
                             "apply\n");
  EXPECT_EQ(played.shown,
            "Error: weight of real server 1: 60 is not allowed, allowed is 1-48\n"
            "Error: weight of real server 1 needs a value, allowed is 1-48\n"
            "Apply complete; don't forget to \"save\" updated configuration.\n");
  EXPECT_FALSE(played.good);
  EXPECT_EQ(text::dump(headgated.running), "/c/slb/real 1\n\tena\n\trip 10.0.0.1\n\tweight 5\n");
}

TEST(Script, PastedDumpsReproduceTheConfiguration) {
  FakeHeadgated first;
  ASSERT_TRUE(script(first,
                     "/c/slb/real 1/ena\n/c/slb/real 2/weight 1\n/c/slb/virt 1/service 80 http/rport 8080\n"
                     "/c/slb/group 1/content \"/a \\\"b\\\"\"/add 1\napply\n")
                  .good);
  const auto dumped = script(first, "/cfg/dump");
  EXPECT_TRUE(dumped.good);
  FakeHeadgated second;
  const auto pasted = script(second, dumped.shown + "apply\n");
  EXPECT_TRUE(pasted.good) << pasted.shown;
  EXPECT_EQ(text::dump(second.running), text::dump(first.running));
}

TEST(Script, SettingsAreSentTogetherAndEachErrorStaysThatOfItsLine) {
  FakeHeadgated headgated;
  headgated.refuse = {"/c/slb/real 2/ena", "/c/slb/real 4/weight 9", "/c/slb/real 5/del"};
  const auto played = script(headgated,
                             "/c/slb/real 1/ena\n"
                             "/c/slb/real 2/ena/weight 9\n"
                             "/c/slb/real 3/ena\nweight 60\nweight 7\n"
                             "/c/slb/real 4/weight 9/apply\n"
                             "/c/slb/real 5/weight 5\ndel\nweight 6\n"
                             "/c/slb/real 3/del\nreal 1/weight 8\n");
  EXPECT_EQ(played.shown,
            "Error: /c/slb/real 2/ena is refused\n"
            "Error: weight of real server 3: 60 is not allowed, allowed is 1-48\n"
            "Error: /c/slb/real 4/weight 9 is refused\n"
            "Error: /c/slb/real 5/del is refused\n"
            "Note: the session ended with changes that were not applied; they are dropped.\n");
  EXPECT_FALSE(played.good);
  EXPECT_EQ(text::dump(headgated.pending), "/c/slb/real 1\n\tena\n\tweight 8\n/c/slb/real 5\n\tweight 6\n");
  EXPECT_EQ(text::dump(headgated.running), "");
}

TEST(Script, AThousandSettingsTakeOneRequest) {
  FakeHeadgated headgated;
  std::string lines;
  for (int i = 1; i <= 1000; ++i) lines += fmt::format("/c/slb/real {}/ena\n", i);
  script(headgated, lines);
  EXPECT_EQ(headgated.requests.size(), 1u);
  EXPECT_EQ(headgated.pending.slb().real_size(), 1000);
}

TEST(Script, EveryErrorOfAnApplyIsALine) {
  FakeHeadgated headgated;
  headgated.apply_errors = {"virtual server 2: first", "virtual server 3: second"};
  const auto played = script(headgated, "/c/slb/on\napply\nrevert\n");
  EXPECT_EQ(played.shown,
            "Error: virtual server 2: first\nError: virtual server 3: second\n"
            "The pending changes are dropped.\n");
  EXPECT_FALSE(played.good);
}

TEST(Script, StopsALineAtItsFirstErrorAndKeepsWhatWasBefore) {
  FakeHeadgated headgated;
  EXPECT_FALSE(script(headgated, "/c/slb/real 1/ena/nonsense/weight 3\napply").good);
  EXPECT_EQ(text::dump(headgated.running), "/c/slb/real 1\n\tena\n");
}

TEST(Script, AppliesWithoutAskingAndTellsOfResets) {
  FakeHeadgated headgated;
  headgated.would_end = 3;
  EXPECT_EQ(script(headgated, "/c/slb/on\napply").shown,
            "3 sessions ended.\nApply complete; don't forget to \"save\" updated configuration.\n");
  EXPECT_TRUE(headgated.running.slb().enabled());
}

TEST(Script, UnappliedChangesAtTheEndAreAFailure) {
  FakeHeadgated headgated;
  const auto played = script(headgated, "/c/slb/on\n");
  EXPECT_EQ(played.shown, "Note: the session ended with changes that were not applied; they are dropped.\n");
  EXPECT_FALSE(played.good);
  EXPECT_TRUE(script(headgated, "/c/slb/real 1/ena\nrevert\n").good);
}

TEST(Script, AnEditThatChangesNothingLeavesNothingToApply) {
  FakeHeadgated headgated;
  ASSERT_TRUE(script(headgated, "/c/slb/real 1/weight 5\napply\n").good);
  const auto again = script(headgated, "/c/slb/real 1/weight 5\n");
  EXPECT_EQ(again.shown, "");
  EXPECT_TRUE(again.good);
  EXPECT_TRUE(script(headgated, "/c/slb/real 1/weight 6\n/c/slb/real 1/weight 5\n").good) << "there and back";
}

TEST(Script, ExitEndsItAtAnyDepthAndNothingIsAsked) {
  FakeHeadgated headgated;
  const auto played = script(headgated, "/c/slb/real 1/ena/apply\nexit\nnonsense\n");
  EXPECT_TRUE(played.good);
}

TEST(Script, OverlongAndOddLinesAreErrorsOfTheirOwn) {
  FakeHeadgated headgated;
  std::string words;
  for (int i = 0; i < 500; ++i) words += " word";
  const auto played = script(headgated, std::string(10000, 'x') + "\n\n   \napply" + words +
                                            "\n\xff\xfd\x01\n" + std::string("a\0b\n", 4) + "pwd\n");
  EXPECT_EQ(played.shown, "Error: unknown command \"" + std::string(60, 'x') +
                              "...\"\n"
                              "Error: unexpected \"word\" after apply\n"
                              "Error: control characters are not allowed\n"
                              "Error: control characters are not allowed\n"
                              "/\n");
}

TEST(Script, LevelsAreRespected) {
  FakeHeadgated headgated;
  EXPECT_EQ(
      script(headgated, "/cfg/slb/on\napply\n/oper/slb/dis 1\n", config::USER).shown,
      "Error: unknown command \"cfg\"\nError: unknown command \"apply\"\nError: unknown command \"oper\"\n");
}

TEST(Script, OperationsTakeTheCapturedForms) {
  FakeHeadgated headgated;
  EXPECT_EQ(script(headgated,
                   "/oper/slb/dis 1\n/o/slb/dis 2 p\n/oper/slb/dis 3 n/ena 3\n/oper/slb/clear\nclear real 2\n"
                   "clear real\ndis 1 x\n")
                .shown,
            "Real server 1 takes no new sessions.\n"
            "Real server 2 takes persistent sessions only.\n"
            "Real server 3 takes no new sessions.\n"
            "Real server 3 takes new sessions.\n"
            "7 sessions are cleared.\n"
            "7 sessions are cleared.\n"
            "Error: real server number is missing after clear real\n"
            "Error: option: x is not allowed, allowed is n or p\n");
  EXPECT_EQ(headgated.requests[1].operation().operation(), forwarding::DRAIN_PERSISTENT);
  EXPECT_EQ(headgated.requests[5].drop_sessions().filter().real(), 2u);
}

TEST(Script, SessionFiltersAreSent) {
  FakeHeadgated headgated;
  EXPECT_TRUE(
      script(headgated, "/info/slb/sess/cip 10.0.0.1\n/i/slb/sess/dport http\n/i/slb/sess/real 3\n").good);
  EXPECT_EQ(headgated.requests[0].sessions().filter().client(), Ip(Ipv4{0x0a000001}).wire());
  EXPECT_EQ(headgated.requests[1].sessions().filter().vport(), 80u);
  EXPECT_EQ(headgated.requests[2].sessions().filter().real(), 3u);
}

TEST(Script, HealthAsksForTheChangesOfItsServerAndStateForNone) {
  FakeHeadgated headgated;
  headgated.status.add_real()->set_number(7);
  EXPECT_TRUE(script(headgated, "/info/slb/health 7\n/info/slb/real 7\n").good);
  std::vector<std::uint32_t> asked;
  for (const control::Request& request : headgated.requests)
    if (request.has_status()) asked.push_back(request.status().changes_of());
  EXPECT_EQ(asked, (std::vector<std::uint32_t>{7, 0}));
}

TEST(Session, ShowsMenusValuesAndPendingOnes) {
  FakeHeadgated headgated;
  EXPECT_EQ(
      session(headgated, {"/cfg/slb/adv", "grace ena", "/c/slb/real 1/weight", "/c/slb/real 1/ena"}, {"5"}),
      ">> Main# /cfg/slb/adv\n"
      "------------------------------------------------------------\n"
      "[Layer 4 Advanced Menu]\n"
      "     grace    - Let sessions of failed servers run on\n"
      "     fastage  - Fast ageing: 2^n seconds\n"
      "     slowage  - Slow ageing: 2 minutes x 2^n\n"
      "     allowhc  - Allow HTTP checks of services on other ports than http\n"
      "     pmask    - Mask that makes IPv4 clients one for pbind clientip\n"
      "     pmask6   - Prefix length that makes IPv6 clients one\n"
      "     metrci   - Time between metric updates, in units of 10 seconds\n"
      "     rstchk   - Drop resets that are not within the window of their session\n"
      "     synatk   - SYN Attack Detection Menu\n"
      "     intrval  - Session attack detection: over so long, 0 for none\n"
      "     allowlim - Session attack detection: so many new sessions are none\n"
      "     ldapver  - Version that health checks by LDAP speak\n"
      "     cur      - Show the settings\n"
      ">> Layer 4 Advanced# grace ena\n"
      "Current graceful server failure: disabled\n"
      "New pending graceful server failure: enabled\n"
      ">> Layer 4 Advanced# /c/slb/real 1/weight\n"
      "Current real server weight: 1\n"
      "Enter new real server weight [1-48]: 5\n"
      "New pending real server weight: 5\n"
      ">> Real server 1 # /c/slb/real 1/ena\n"
      "Current status: disabled\n"
      "New status:     enabled\n");
}

TEST(Session, AnEmptyAnswerKeepsTheValueAndABadOneChangesNothing) {
  FakeHeadgated headgated;
  EXPECT_EQ(session(headgated, {"/c/slb/real 1/tmout", "tmout"}, {"", "3"}),
            ">> Main# /c/slb/real 1/tmout\n"
            "Current real server inactivity timeout: 10 minutes\n"
            "Enter new real server inactivity timeout [even numbers 2-32768]: \n"
            ">> Real server 1 # tmout\n"
            "Current real server inactivity timeout: 10 minutes\n"
            "Enter new real server inactivity timeout [even numbers 2-32768]: 3\n"
            "Error: tmout of real server 1: 3 is not allowed, allowed is even numbers 2-32768\n");
  EXPECT_EQ(text::dump(headgated.pending), "");
}

TEST(Session, AsksForAMissingNumber) {
  FakeHeadgated headgated;
  const auto shown = session(headgated, {"verbose 1", "/c/slb/real", "pwd"}, {"7"});
  EXPECT_EQ(shown,
            ">> Main# verbose 1\nCurrent verbosity: 2\nNew verbosity:     1\n"
            ">> Main# /c/slb/real\nEnter real server number (1-1023): 7\n"
            ">> Real server 7 # pwd\n/cfg/slb/real 7\n");
}

TEST(Session, ListsAndDeletionsAreShown) {
  FakeHeadgated headgated;
  EXPECT_EQ(session(headgated, {"/c/slb/group 1/add 2", "add 1", "rem 9", "del", "pwd"}),
            ">> Main# /c/slb/group 1/add 2\n"
            "Current real server: none\n"
            "New pending real server: 2\n"
            ">> Real server group 1# add 1\n"
            "Current real server: none\n"
            "Pending real server: 2\n"
            "New pending real server: 1 2\n"
            ">> Real server group 1# rem 9\n"
            "Current real server: none\n"
            "Pending real server: 1 2\n"
            "Error: real server group 1 has no real server 9\n"
            ">> Real server group 1# del\n"
            "real server group 1 is deleted by the next apply.\n"
            ">> Layer 4# pwd\n"
            "/cfg/slb\n");
}

TEST(Session, ApplyAsksBeforeItResetsSessions) {
  FakeHeadgated headgated;
  headgated.would_end = 1;
  EXPECT_EQ(session(headgated, {"verbose 1", "/c/slb/on", "apply", "apply"}, {"n", "y"}),
            ">> Main# verbose 1\nCurrent verbosity: 2\nNew verbosity:     1\n"
            ">> Main# /c/slb/on\n"
            "Current server load balancing: OFF\n"
            "New pending server load balancing: ON\n"
            ">> Layer 4# apply\n"
            "1 session will be ended; confirm [y/n]: n\n"
            "Not applied; the changes are still pending.\n"
            ">> Layer 4# apply\n"
            "1 session will be ended; confirm [y/n]: y\n"
            "1 session ended.\n"
            "Apply complete; don't forget to \"save\" updated configuration.\n");
}

TEST(Session, ExitAsksWhenChangesArePending) {
  FakeHeadgated headgated;
  const auto shown = session(headgated, {"verbose 1", "/c/slb/on", "exit", "pwd", "quit", "pwd"}, {"n", "y"});
  EXPECT_TRUE(
      shown.ends_with(">> Layer 4# exit\nPending changes are not applied; leave and drop them [y/n]: n\n"
                      ">> Layer 4# pwd\n/cfg/slb\n"
                      ">> Layer 4# quit\nPending changes are not applied; leave and drop them [y/n]: y\n"))
      << shown;
}

TEST(Session, HistoryRepeatsLines) {
  FakeHeadgated headgated;
  EXPECT_EQ(session(headgated, {"pwd", "!!", "history", "!1", "!9", "!x"}),
            ">> Main# pwd\n/\n"
            ">> Main# !!\n/\n"
            ">> Main# history\n   1 pwd\n   2 pwd\n   3 history\n"
            ">> Main# !1\n/\n"
            ">> Main# !9\nError: no line !9 in the history\n"
            ">> Main# !x\nError: no line !x in the history\n");
}

TEST(Session, QuietMeansErrorsOnly) {
  FakeHeadgated headgated;
  EXPECT_EQ(session(headgated, {"verbose 0", "pwd", "/cfg", "nonsense"}),
            ">> Main# verbose 0\npwd\n/cfg\nnonsense\nError: unknown command \"nonsense\"\n");
}

TEST(Session, CurShowsRunningAndPendingSettings) {
  FakeHeadgated headgated;
  ASSERT_TRUE(text::load("/c/slb/adv/grace ena", headgated.pending).ok());
  FakeConsole console;
  Shell shell(headgated, console, opened());
  EXPECT_TRUE(shell.execute("/c/slb/adv/cur"));
  EXPECT_EQ(console.shown,
            "------------------------------------------------------------------\n"
            "Current Layer 4 Advanced settings:\n"
            "  grace disabled, fastage 0, slowage 0, allowhc disabled,\n"
            "  pmask 255.255.255.255, pmask6 128 bits, metrci 10, rstchk enabled,\n"
            "  intrval 0 seconds, allowlim 1048550, ldapver 3\n"
            "Current SYN Attack Detection settings:\n"
            "  inter 2 seconds, thrsh 10000\n"
            "\n"
            "Pending Layer 4 Advanced settings:\n"
            "  grace enabled, fastage 0, slowage 0, allowhc disabled,\n"
            "  pmask 255.255.255.255, pmask6 128 bits, metrci 10, rstchk enabled,\n"
            "  intrval 0 seconds, allowlim 1048550, ldapver 3\n"
            "Pending SYN Attack Detection settings:\n"
            "  inter 2 seconds, thrsh 10000\n");
}

TEST(Session, TheNameStandsInThePromptOnceThatIsApplied) {
  FakeHeadgated headgated;
  FakeConsole console(std::vector<std::string>{});
  Shell shell(headgated, console, opened());
  EXPECT_TRUE(shell.execute("/c/sys/name lb-a"));
  EXPECT_TRUE(shell.execute("/apply"));
  EXPECT_EQ(shell.prompt(), ">> Main# ");
  EXPECT_TRUE(shell.execute("/c/sys/hprompt ena"));
  EXPECT_TRUE(shell.execute("/apply"));
  EXPECT_EQ(shell.prompt(), ">> lb-a - Main# ");
  EXPECT_TRUE(shell.execute("/c/slb/virt 1/service http"));
  EXPECT_EQ(shell.prompt(), ">> lb-a - Virtual Server 1 http Service # ");
  EXPECT_TRUE(shell.execute("../.."));
  EXPECT_EQ(shell.prompt(), ">> lb-a - Layer 4# ");
  EXPECT_TRUE(shell.execute("/"));
  EXPECT_EQ(shell.prompt(), ">> lb-a - Main# ");
}

TEST(Session, HelpNeverExecutes) {
  FakeHeadgated headgated;
  EXPECT_EQ(session(headgated,
                    {"? apply", "help /cfg/slb/real 1/weight", "help oper slb dis", "?apply", "hel pwd"}),
            ">> Main# ? apply\n"
            "     apply    - Apply pending config changes\n"
            ">> Main# help /cfg/slb/real 1/weight\n"
            "     weight   - Share of new sessions\n"
            "                value: 1-48\n"
            ">> Main# help oper slb dis\n"
            "     dis      - No new sessions for a real server (n), or persistent only (p)\n"
            "                real server number: 1-1023\n"
            "                option: n or p\n"
            ">> Main# ?apply\n"
            "     apply    - Apply pending config changes\n"
            ">> Main# hel pwd\n"
            "     pwd      - Where you are\n");
  EXPECT_TRUE(headgated.requests.empty());
}

TEST(Session, HelpWorksFromEveryMenuAndNamesWhatIsUnknown) {
  FakeHeadgated headgated;
  const auto shown =
      session(headgated, {"verbose 1", "/c/slb/real 1", "help stats slb maint", "help nonsense", "pwd"});
  EXPECT_TRUE(
      shown.ends_with(">> Real server 1 # help stats slb maint\n"
                      "     maint    - Counters of the switch itself\n"
                      ">> Real server 1 # help nonsense\n"
                      "Error: unknown command \"nonsense\"\n"
                      ">> Real server 1 # pwd\n/cfg/slb/real 1\n"))
      << shown;
}

TEST(Session, RevertApplyShowsWhatItUndoesAndAsks) {
  FakeHeadgated headgated;
  ASSERT_TRUE(text::load("/c/slb/on", headgated.running).ok());
  headgated.pending = headgated.running;
  const auto shown = session(headgated, {"revert apply", "revert apply", "revert apply"}, {"n", "y"});
  const std::string listed = "These changes since the last save will be undone:\n" + std::string(66, '-') +
                             "\n" +
                             text::diff(headgated.saved,
                                        [] {
                                          config::Config on;
                                          on.mutable_slb()->set_enabled(true);
                                          return on;
                                        }()) +
                             "Return to the saved configuration; confirm [y/n]: ";
  EXPECT_EQ(shown, ">> Main# revert apply\n" + listed + "n\nNothing is reverted.\n>> Main# revert apply\n" +
                       listed +
                       "y\nThe saved configuration runs; all changes since the last save are undone.\n"
                       ">> Main# revert apply\nNothing differs from the saved configuration.\n");
}

TEST(Session, AnEmptyAnswerToAnIndexReturnsSilentlyAndEndsTheLine) {
  FakeHeadgated headgated;
  EXPECT_EQ(session(headgated, {"/c/slb/real/ena", "/oper/slb/dis", "pwd"}, {"", ""}),
            ">> Main# /c/slb/real/ena\nEnter real server number (1-1023): \n"
            ">> Main# /oper/slb/dis\nEnter real server number (1-1023): \n"
            ">> Main# pwd\n/\n");
  EXPECT_TRUE(headgated.requests.empty());
}

TEST(Session, AFailedLineLeavesTheMenuWhereItWas) {
  FakeHeadgated headgated;
  const auto shown =
      session(headgated, {"verbose 1", "/c/slb", "verbose 2", "real 1/nonsense", "/info/slb/x", "pwd"});
  EXPECT_TRUE(
      shown.ends_with(">> Layer 4# real 1/nonsense\nError: unknown command \"nonsense\"\n"
                      ">> Layer 4# /info/slb/x\nError: unknown command \"x\"\n"
                      ">> Layer 4# pwd\n/cfg/slb\n"))
      << shown;
}

TEST(Session, StartsWithTheVersionAndTheMainMenu) {
  FakeHeadgated headgated;
  FakeConsole console(std::vector<std::string>{});
  Shell shell(headgated, console, opened());
  greet(shell);
  EXPECT_TRUE(console.shown.starts_with("Headgate ")) << console.shown;
  EXPECT_TRUE(console.shown.ends_with("\n\n" + listing({}, config::ADMIN))) << console.shown;
}

TEST(Session, ExitRemindsOfWhatIsNotSaved) {
  FakeHeadgated headgated;
  EXPECT_EQ(
      session(headgated, {"verbose 1", "/c/slb/on/apply", "exit"}),
      ">> Main# verbose 1\nCurrent verbosity: 2\nNew verbosity:     1\n"
      ">> Main# /c/slb/on/apply\n"
      "Current server load balancing: OFF\n"
      "New pending server load balancing: ON\n"
      "Apply complete; don't forget to \"save\" updated configuration.\n"
      ">> Layer 4# exit\n"
      "Note: the running configuration is not saved; \"save\" keeps it over a restart of the machine.\n");
}

TEST(Session, LinesSetsThePage) {
  FakeHeadgated headgated;
  FakeConsole console;
  Shell shell(headgated, console, opened());
  EXPECT_EQ(console.page, 24u);
  EXPECT_TRUE(shell.execute("lines 0"));
  EXPECT_EQ(console.page, 0u);
  EXPECT_EQ(console.shown, "Current lines of a page: 24\nNew lines of a page:     0\n");
}

}  // namespace
}  // namespace headgate::cli
