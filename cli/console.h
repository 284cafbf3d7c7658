// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headgate::cli {

/// Where a CLI session reads from and prints to.
class Console {
 public:
  virtual ~Console() = default;

  /// Whether somebody is there to answer questions.
  [[nodiscard]] virtual bool interactive() const = 0;
  /// Whole lines of output.
  virtual void print(std::string_view text) = 0;
  /// One line without "Error: ", which is put in front.
  virtual void error(std::string_view sentence) = 0;
  /// The answer to a question, without line end; nothing when nobody answers.
  virtual std::optional<std::string> ask(const std::string& question) = 0;
  /// From now on a page has so many lines; 0 for no paging.
  virtual void set_page(unsigned lines) = 0;
};

}  // namespace headgate::cli
