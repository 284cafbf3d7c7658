// SPDX-License-Identifier: Apache-2.0
#include "controlplane/config/store.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controlplane/config/candidate.h"
#include "controlplane/config/files.h"
#include "controlplane/config/sample.h"

namespace headgate::config {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class StoreTest : public testing::Test {
 protected:
  ~StoreTest() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] std::string file(const std::string& name) const { return directory_ + "/" + name; }
  static std::string name_of(const Config& config) { return config.sys().name(); }
  static Config named(std::string_view name) { return with(lab(), "/c/sys/name " + std::string(name)); }

  static std::string fresh_directory() {
    char name[] = "/tmp/headgate-store-XXXXXX";
    return mkdtemp(name);
  }

  std::string directory_ = fresh_directory();
  Store store_{directory_, "boot 1"};
};

TEST_F(StoreTest, AnEmptyDirectoryIsAFreshSwitch) {
  const Store::Loaded loaded = store_.load();
  EXPECT_EQ(text::dump(loaded.running.config), text::dump(Config()));
  EXPECT_THAT(loaded.sentences, IsEmpty());
}

TEST_F(StoreTest, SavedConfigurationIsWhatARebootLoads) {
  ASSERT_TRUE(store_.save(named("saved"), Store::Rotation::into_backup).ok());
  ASSERT_TRUE(store_.stage_running({named("applied"), 5}).ok());
  EXPECT_EQ(name_of(store_.load().running.config), "saved") << "staged is not yet running";
  ASSERT_TRUE(store_.adopt_running().ok());
  const Store::Loaded same_boot = store_.load();
  EXPECT_EQ(name_of(same_boot.running.config), "applied");
  EXPECT_EQ(same_boot.running.generation, 5u);
  const Store::Loaded rebooted = Store(directory_, "boot 2").load();
  EXPECT_EQ(name_of(rebooted.running.config), "saved");
  EXPECT_EQ(rebooted.running.generation, 5u) << "numbers go on, for a dataplane that remembers";
}

TEST_F(StoreTest, StatesOutlastHeadgatedButNotTheMachine) {
  forwarding::States targets, operations;
  targets.add_target()->set_reason("refused");
  operations.add_operation()->set_real(3);
  StatesWriter writer = store_.states_writer();
  for (const auto* states : {&targets, &targets, &operations}) ASSERT_TRUE(writer.append(*states).ok());
  EXPECT_FALSE(store_.load().states.has_value()) << "not all of it is there yet";
  ASSERT_TRUE(writer.finish().ok());
  ASSERT_TRUE(store_.load().states.has_value());
  EXPECT_EQ(store_.load().states->target_size(), 2);
  EXPECT_EQ(store_.load().states->operation_size(), 1);
  EXPECT_FALSE(Store(directory_, "boot 2").load().states.has_value());
  ASSERT_TRUE(files::replace(file("states"), "/* boot boot 1\nhalf of it").ok());
  EXPECT_FALSE(store_.load().states.has_value());
}

TEST_F(StoreTest, ADirectoryHasOneHeadgated) {
  ASSERT_TRUE(files::claim(directory_).ok());
  const Status second = files::claim(directory_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().message, "another headgated is at work in " + directory_);
}

TEST_F(StoreTest, SaveRotatesIntoBackupUnlessToldNotTo) {
  ASSERT_TRUE(store_.save(named("one"), Store::Rotation::into_backup).ok());
  ASSERT_TRUE(store_.save(named("two"), Store::Rotation::into_backup).ok());
  ASSERT_TRUE(store_.save(named("three"), Store::Rotation::keep_backup).ok());
  EXPECT_THAT(files::read(file("config.backup")).value(), HasSubstr("name one"));
  EXPECT_EQ(name_of(store_.load().saved), "three");
}

class Damaged : public StoreTest, public testing::WithParamInterface<const char*> {
 protected:
  /// The content of a good file, damaged in one way.
  static std::string damage(const std::string& good, const std::string& how) {
    if (how == "empty") return "";
    if (how == "half") return good.substr(0, good.size() / 2);
    if (how == "without its last byte") return good.substr(0, good.size() - 1);
    std::string changed = good;
    changed[good.size() / 3] ^= 1;
    return changed;
  }
};

TEST_P(Damaged, ActiveFallsBackToBackupAndSaysSo) {
  ASSERT_TRUE(store_.save(named("one"), Store::Rotation::into_backup).ok());
  ASSERT_TRUE(store_.save(named("two"), Store::Rotation::into_backup).ok());
  ASSERT_TRUE(
      files::replace(file("config.active"), damage(*files::read(file("config.active")), GetParam())).ok());
  const Store::Loaded loaded = store_.load();
  EXPECT_EQ(name_of(loaded.running.config), "one");
  ASSERT_THAT(loaded.sentences, SizeIs(1));
  EXPECT_THAT(loaded.sentences[0], HasSubstr("config.backup is taken instead"));
}

TEST_P(Damaged, RunningFallsBackToSavedAndSaysSo) {
  ASSERT_TRUE(store_.save(named("saved"), Store::Rotation::into_backup).ok());
  ASSERT_TRUE(store_.stage_running({named("applied"), 1}).ok());
  ASSERT_TRUE(store_.adopt_running().ok());
  ASSERT_TRUE(
      files::replace(file("config.running"), damage(*files::read(file("config.running")), GetParam())).ok());
  const Store::Loaded loaded = store_.load();
  EXPECT_EQ(name_of(loaded.running.config), "saved");
  EXPECT_THAT(loaded.sentences, SizeIs(1));
}

INSTANTIATE_TEST_SUITE_P(Store, Damaged,
                         testing::Values("empty", "half", "without its last byte", "one bit"));

TEST_F(StoreTest, ABrokenActiveNeverReplacesAGoodBackup) {
  ASSERT_TRUE(store_.save(named("one"), Store::Rotation::into_backup).ok());
  ASSERT_TRUE(store_.save(named("two"), Store::Rotation::into_backup).ok());
  ASSERT_TRUE(files::replace(file("config.active"), "rubbish").ok());
  ASSERT_TRUE(store_.save(named("three"), Store::Rotation::into_backup).ok());
  EXPECT_THAT(files::read(file("config.backup")).value(), HasSubstr("name one"));
}

/// Saves two configurations in turn, for ever; the parent kills it.
[[noreturn]] void save_for_ever(const Store& store, const Config& odd, const Config& even) {
  for (bool turn = false;; turn = !turn)
    if (!store.save(turn ? odd : even, Store::Rotation::into_backup).ok()) _exit(1);
}

// Reports 116.
TEST_F(StoreTest, KilledAtAnyMomentOfASaveTheOldOrTheNewIsThere) {
  const Config odd = named("odd");
  const Config even = named("even");
  ASSERT_TRUE(store_.save(odd, Store::Rotation::into_backup).ok());
  for (int round = 0; round < 100; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) save_for_ever(store_, odd, even);
    usleep(static_cast<useconds_t>(500 + 137 * round % 3000));  // varies the moment; nothing is awaited
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const Store::Loaded loaded = store_.load();
    EXPECT_THAT(loaded.sentences, IsEmpty());
    EXPECT_THAT(name_of(loaded.saved), testing::AnyOf("odd", "even"));
  }
}

// ---- Candidates at rest

TEST_F(StoreTest, CandidatesOutliveTheProgram) {
  {
    CandidateBook book(directory_);
    book.open("a", 0, lab());
    book.find("a", 0)->pending = named("pending");
    book.store("a");
  }
  CandidateBook book(directory_);
  book.load(lab());
  ASSERT_NE(book.find("a", 0), nullptr);
  EXPECT_EQ(name_of(book.find("a", 0)->pending), "pending");
  EXPECT_EQ(book.find("a", 1000), nullptr) << "of another user";
}

TEST_F(StoreTest, AnApplyByOneSessionReachesTheOthers) {
  CandidateBook book(directory_);
  book.open("a", 0, lab());
  book.find("a", 0)->pending = with(lab(), "/c/slb/real 1/weight 9");
  const Config applied = named("other");
  book.rebase(applied);
  EXPECT_EQ(text::dump(book.find("a", 0)->pending), text::dump(with(applied, "/c/slb/real 1/weight 9")));
}

TEST_F(StoreTest, TooManySessionsCostTheOldestWithoutChanges) {
  CandidateBook book(directory_);
  book.open("first", 0, lab());
  book.find("first", 0)->pending = named("precious");
  for (std::size_t i = 0; i < CandidateBook::kMost; ++i) book.open(std::to_string(i), 0, lab());
  EXPECT_EQ(book.size(), CandidateBook::kMost);
  EXPECT_NE(book.find("first", 0), nullptr);
  EXPECT_EQ(book.find("0", 0), nullptr);
}

}  // namespace
}  // namespace headgate::config
