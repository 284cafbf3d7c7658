// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/crc.hpp>

#include "model/config.pb.h"
#include "model/forwarding.pb.h"
#include "model/result.h"

// The configuration at rest: config.active is what a reboot loads, config.backup the active one before the
// last save, config.running what is applied now, config.next what an apply is about to make of it, states
// what is known about servers. A configuration is a dump (model/config_text.h) whose last line is a comment
// with a checksum, so that half a file is never taken for a whole one (reports 116).
namespace headgate::config {

/// The text with its checksum line.
[[nodiscard]] std::string sealed(std::string_view text);
/// The text of a sealed one; an error says why it can't be trusted. Pure.
[[nodiscard]] Result<std::string> unsealed(std::string_view content);

/// What was applied, and what belongs to it.
struct Running {
  Config config;
  std::uint64_t generation = 0;
};

/// Stores states piece by piece; what was stored before is there until the last one is. Only one writes at a
/// time: what a second one begins, the first does not finish.
class StatesWriter {
 public:
  StatesWriter(std::string path, std::string header);
  [[nodiscard]] Status append(const forwarding::States& states);
  [[nodiscard]] Status finish();

 private:
  [[nodiscard]] std::string beside() const { return path_ + ".new"; }
  [[nodiscard]] Status write(std::string_view text);

  std::string path_;
  std::string header_;  ///< until it is written
  boost::crc_32_type crc_;
  std::size_t size_ = 0;
};

class Store {
 public:
  /// `boot_id` names this boot of the machine: a running configuration of an earlier one does not count.
  Store(std::string directory, std::string boot_id);

  struct Loaded {
    Running running;
    Config saved;
    std::optional<forwarding::States> states;  ///< none at the first start after a boot
    std::vector<std::string> sentences;        ///< what was wrong with a file, and what was taken instead
    bool lost =
        false;  ///< there was a configuration, and none of its files can be read: `running` is no one's will
  };
  /// What to start with: running if it is of this boot, else active, else backup, else the defaults.
  [[nodiscard]] Loaded load() const;

  /// Writes what will be running, so that adopt_running() needs no space any more: an apply that can't be
  /// stored must fail before it reaches the dataplane.
  [[nodiscard]] Status stage_running(const Running& running) const;
  /// Makes what was staged the stored running configuration; it is on disk when this returns.
  [[nodiscard]] Status adopt_running() const;
  /// For verdicts and operator settings, for a start at which the dataplane has nothing to hand back. They
  /// outlast headgated, not the machine: the settings of an operator end with a reboot.
  [[nodiscard]] StatesWriter states_writer() const;
  enum class Rotation { into_backup, keep_backup };
  /// `save` and `save n`.
  [[nodiscard]] Status save(const Config& config, Rotation rotation) const;

 private:
  [[nodiscard]] std::string path(std::string_view name) const;
  [[nodiscard]] std::optional<forwarding::States> load_states() const;

  std::string directory_;
  std::string boot_id_;
};

}  // namespace headgate::config
