// SPDX-License-Identifier: Apache-2.0
#include "cli/reference.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace headgate::cli {
namespace {

TEST(Reference, TheCommittedPageIsWhatTheSchemaSays) {
  const char* path = std::getenv("HEADGATE_CLI_REFERENCE");
  ASSERT_NE(path, nullptr) << "the test is told where docs/cli-reference.md is";
  std::ifstream file(path);
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), reference()) << "run: headgate --reference > docs/cli-reference.md";
}

}  // namespace
}  // namespace headgate::cli
