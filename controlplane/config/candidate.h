// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/config.pb.h"
#include "model/result.h"

// Pending configurations: one for each CLI session.
namespace headgate::config {

/// Brings the edits that turned `base` into `pending` onto `onto`, setting by setting: what was not touched
/// keeps the value of `onto`. An edit of something that is no longer there is dropped when it removed it
/// anyway. Pure.
[[nodiscard]] Config merge(const Config& base, const Config& pending, const Config& onto);

/// Whether `level` may turn `before` into `after`: ADMIN everything, SLBADMIN /cfg/slb, others nothing
/// (reference 1.6). The error says what is not allowed.
[[nodiscard]] Status may_change(Level level, const Config& before, const Config& after);

struct Candidate {
  Config base;  ///< the running configuration that the edits are relative to
  Config pending;
  std::uint32_t user = 0;     ///< whose it is
  std::uint64_t touched = 0;  ///< order of use, for eviction

  [[nodiscard]] bool changed() const;
};

/// All candidates, kept on disk so that they outlive a restart of headgated.
class CandidateBook {
 public:
  static constexpr std::size_t kMost = 64;

  explicit CandidateBook(std::string directory);

  /// Reads back what is on disk and brings it onto `running`.
  void load(const Config& running);
  /// A new session's; gives up the one that was not used for longest when there are too many, one without
  /// changes first. `id` must be new.
  void open(const std::string& id, std::uint32_t user, const Config& running);
  /// The candidate of a session of this user; null when there is none.
  [[nodiscard]] Candidate* find(const std::string& id, std::uint32_t user);
  void store(const std::string& id);
  void close(const std::string& id);
  /// The running configuration has changed: brings all candidates onto it.
  void rebase(const Config& running);
  [[nodiscard]] std::size_t size() const { return candidates_.size(); }

 private:
  [[nodiscard]] std::string path(const std::string& id) const;
  void evict();

  std::string directory_;
  std::map<std::string, Candidate> candidates_;
  std::uint64_t uses_ = 0;
};

}  // namespace headgate::config
