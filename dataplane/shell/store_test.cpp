// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/store.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "model/ip.h"

namespace headgate::shell {
namespace {

class StoreTest : public testing::Test {
 protected:
  StoreTest() {
    std::string name = (std::filesystem::temp_directory_path() / "headgate-store-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~StoreTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string file() const { return folder_ + "/forwarding.generation"; }

  std::string folder_;
};

forwarding::Generation generation(std::uint64_t number) {
  forwarding::Generation generation;
  generation.set_number(number);
  generation.add_service()->set_vip(Ip(Ipv4{0x0a0a0164}).wire());
  return generation;
}

TEST_F(StoreTest, GivesBackWhatWasSavedLast) {
  const Store store(folder_ + "/made/on/demand");
  ASSERT_TRUE(store.save(generation(1)).ok());
  ASSERT_TRUE(store.save(generation(2)).ok());
  forwarding::States states;
  states.add_target()->set_admission(forwarding::OPEN);
  ASSERT_TRUE(store.save(states).ok());

  EXPECT_EQ(store.generation().value()->SerializeAsString(), generation(2).SerializeAsString());
  EXPECT_EQ(store.states().value()->SerializeAsString(), states.SerializeAsString());
}

TEST_F(StoreTest, NothingSavedIsNoError) {
  const Store store(folder_);
  EXPECT_FALSE(store.generation().value().has_value());
  EXPECT_FALSE(store.states().value().has_value());
}

TEST_F(StoreTest, EveryDamagedByteAndEveryCutIsFound) {
  const Store store(folder_);
  ASSERT_TRUE(store.save(generation(3)).ok());
  std::ifstream in(file(), std::ios::binary);
  const std::string good{std::istreambuf_iterator<char>(in), {}};
  const auto write = [&](const std::string& bytes) { std::ofstream(file(), std::ios::binary) << bytes; };
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    write(bad);
    EXPECT_FALSE(store.generation().ok()) << i;
    write(good.substr(0, i));
    EXPECT_FALSE(store.generation().ok()) << i;
  }
  write(good);
  EXPECT_TRUE(store.generation().ok());
}

TEST_F(StoreTest, WhatAnotherBuildStoredIsRefusedByItsVersion) {
  const Store store(folder_);
  ASSERT_TRUE(store.save(generation(3)).ok());
  std::fstream(file(), std::ios::in | std::ios::out | std::ios::binary) << "HGFW0001";
  const auto stored = store.generation();
  ASSERT_FALSE(stored.ok());
  EXPECT_EQ(stored.error().message,
            file() + " is of version HGFW0001, this build knows HGFW0002: started without it");
}

TEST_F(StoreTest, AFileThatOpensButCannotBeReadIsAnErrorWithItsName) {
  std::filesystem::create_directory(file());
  const auto stored = Store(folder_).generation();
  ASSERT_FALSE(stored.ok());
  EXPECT_NE(stored.error().message.find(file()), std::string::npos);
}

TEST_F(StoreTest, AFolderThatCannotBeWrittenIsAnErrorWithItsName) {
  std::ofstream(folder_ + "/file") << "x";
  const auto saved = Store(folder_ + "/file").save(generation(1));
  ASSERT_FALSE(saved.ok());
  EXPECT_NE(saved.error().message.find(folder_), std::string::npos);
}

}  // namespace
}  // namespace headgate::shell
