// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/session_file.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace headgate::shell {
namespace {

class SessionFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "session-file-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] Result<SessionFile> take(const FileLayout& layout) const {
    return SessionFile::take({{folder_, false}}, "sessions", layout);
  }
  /// Leaves a file with a mark in its second part.
  void leave(const FileLayout& layout) const {
    auto file = take(layout);
    ASSERT_TRUE(file.ok()) << file.error().message;
    file->part(1)[99] = std::byte{7};
  }

  FileLayout layout_{.fingerprint = 42, .workers = 1, .sessions = 1000, .parts = {4096, 100}};
  std::string folder_;
};

TEST_F(SessionFileTest, GivesZeroedPartsOfTheSizesAskedFor) {
  const auto file = take(layout_);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_FALSE(file->survived());
  EXPECT_EQ(file->refused(), "");
  for (const std::size_t number : {0u, 1u}) {
    EXPECT_EQ(file->part(number).size(), layout_.parts[number]);
    EXPECT_TRUE(std::ranges::all_of(file->part(number), [](std::byte b) { return b == std::byte{0}; }));
  }
}

TEST_F(SessionFileTest, KeepsItsContentAndSeedForTheNext) {
  std::uint64_t seed = 0;
  {
    auto file = take(layout_);
    ASSERT_TRUE(file.ok());
    file->part(1)[99] = std::byte{7};
    seed = file->seed();
  }
  const auto file = take(layout_);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->survived());
  EXPECT_EQ(file->part(1)[99], std::byte{7});
  EXPECT_EQ(file->seed(), seed);
}

TEST_F(SessionFileTest, KeepsWhatAKilledProcessStored) {
  const pid_t child = fork();
  if (child == 0) {
    auto file = take(layout_);
    if (!file) _exit(1);
    file->part(1)[99] = std::byte{7};
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  const auto file = take(layout_);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->survived());
  EXPECT_EQ(file->part(1)[99], std::byte{7});
}

TEST_F(SessionFileTest, StartsEmptyInsteadOfReadingWhatItDoesNotKnowAndSaysWhy) {
  const auto changed = [&](auto change) {
    FileLayout layout = layout_;
    change(layout);
    return layout;
  };
  const std::pair<FileLayout, const char*> others[] = {
      {changed([](FileLayout& l) { l.fingerprint = 43; }), "another layout"},
      {changed([](FileLayout& l) { l.parts.push_back(1); }), "another layout"},
      {changed([](FileLayout& l) { l.workers = 2; }),
       "of 1 workers with 1000 sessions each, not of 2 with 1000"},
      {changed([](FileLayout& l) { l.sessions = 999; }), "not of 1 with 999"},
  };
  for (const auto& [layout, reason] : others) {
    std::filesystem::remove(folder_ + "/sessions");
    leave(layout_);
    const auto file = take(layout);
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_FALSE(file->survived()) << reason;
    EXPECT_NE(file->refused().find(reason), std::string::npos) << file->refused();
    EXPECT_EQ(file->part(1)[99], std::byte{0}) << reason;
  }
}

TEST_F(SessionFileTest, StartsEmptyOnAnyDamageToTheHeader) {
  for (std::streamoff at = 0; at < 96; at += 5) {
    std::filesystem::remove(folder_ + "/sessions");
    leave(layout_);
    {
      std::fstream file(folder_ + "/sessions", std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(at);
      const auto byte = static_cast<char>(file.get() ^ 1);
      file.seekp(at);
      file.put(byte);
    }
    const auto file = take(layout_);
    ASSERT_TRUE(file.ok());
    EXPECT_FALSE(file->survived()) << "byte " << at;
    EXPECT_NE(file->refused(), "");
  }
}

TEST_F(SessionFileTest, StartsEmptyOnAFileCutShort) {
  for (const std::uintmax_t size : {0u, 100u, 4u << 20}) {
    leave(layout_);
    std::filesystem::resize_file(folder_ + "/sessions", size);
    const auto file = take(layout_);
    ASSERT_TRUE(file.ok());
    EXPECT_FALSE(file->survived()) << size;
    EXPECT_EQ(file->part(1)[99], std::byte{0}) << size;
  }
}

TEST_F(SessionFileTest, MovesOnToTheNextPlaceWhenOneHasNoRoom) {
  const auto file = SessionFile::take({{"/proc/none", true}, {folder_, false}}, "sessions", layout_);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->path(), folder_ + "/sessions");
  const auto none = SessionFile::take({{"/proc/none", true}}, "sessions", layout_);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("/proc/none/sessions"), std::string::npos) << none.error().message;
}

TEST(SessionPlaces, AreHugePagesFirstAndMemoryInAnyCase) {
  const char* mounts =
      "proc /proc proc rw 0 0\n"
      "hugetlbfs /mnt/1g hugetlbfs rw,pagesize=1024M 0 0\n"
      "hugetlbfs /dev/hugepages hugetlbfs rw,relatime,pagesize=2M 0 0\n";
  const FilePlace memory{"/dev/shm", false};
  const FilePlace huge{"/dev/hugepages", true};
  EXPECT_EQ(session_places("", "/nowhere", true, mounts), (std::vector{huge, memory}));
  EXPECT_EQ(session_places("", "/nowhere", false, mounts), std::vector{memory});
  EXPECT_EQ(session_places("", "/nowhere", true, "proc /proc proc rw 0 0\n"), std::vector{memory});
  EXPECT_EQ(session_places("/elsewhere", "/nowhere", true, mounts),
            (std::vector<FilePlace>{{"/elsewhere", false}}));
}

}  // namespace
}  // namespace headgate::shell
