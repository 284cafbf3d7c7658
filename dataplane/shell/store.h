// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "model/forwarding.pb.h"
#include "model/result.h"
#include "model/slots.pb.h"

namespace headgate::shell {

/// What a dataplane that starts alone goes on with: the last generation and the last states, in the state
/// folder. Files are replaced whole (written aside, fsync, rename) and carry a checksum.
class Store {
 public:
  explicit Store(std::string folder) : folder_(std::move(folder)) {}

  [[nodiscard]] Status save(const forwarding::Generation& generation) const;
  [[nodiscard]] Status save(const forwarding::States& states) const;
  [[nodiscard]] Status save(const memory::Slots& slots) const;

  /// Nothing when none was saved; an error when it can't be read, is damaged, or was written by a
  /// build whose messages mean something else.
  [[nodiscard]] Result<std::optional<forwarding::Generation>> generation() const;
  [[nodiscard]] Result<std::optional<forwarding::States>> states() const;
  [[nodiscard]] Result<std::optional<memory::Slots>> slots() const;

 private:
  [[nodiscard]] Status write(const std::string& name, const std::string& content) const;
  [[nodiscard]] Result<std::optional<std::string>> read(const std::string& name) const;
  template <class Message>
  [[nodiscard]] Result<std::optional<Message>> load(const std::string& name) const;

  std::string folder_;
};

}  // namespace headgate::shell
