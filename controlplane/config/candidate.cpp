// SPDX-License-Identifier: Apache-2.0
#include "controlplane/config/candidate.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include <fmt/format.h>

#include "controlplane/config/files.h"
#include "controlplane/config/store.h"
#include "model/config_text.h"
#include "model/line.h"

namespace headgate::config {
namespace {

constexpr std::string_view kBoundary = "/* pending\n";
constexpr std::string_view kUser = "/* user ";
constexpr std::string_view kSuffix = ".candidate";

bool equal(const Config& left, const Config& right) {
  return text::diff(left, right).empty();
}

/// The file of a candidate: whose, the base, and the pending text.
std::string written(const Candidate& candidate) {
  return sealed(fmt::format("{}{}\n{}{}{}", kUser, candidate.user, text::dump(candidate.base), kBoundary,
                            text::dump(candidate.pending)));
}

Result<Candidate> read(const std::string& path) {
  const auto content = files::read(path);
  if (!content) return Error{"is missing"};
  const auto text = unsealed(*content);
  if (!text) return text.error();
  const auto boundary = text->find(kBoundary);
  if (boundary == std::string::npos || !text->starts_with(kUser)) return Error{"is not a candidate"};
  Candidate candidate;
  std::from_chars(text->data() + kUser.size(), text->data() + boundary, candidate.user);
  if (Status base = text::load(std::string_view(*text).substr(0, boundary), candidate.base); !base.ok())
    return base.error();
  if (Status pending = text::load(std::string_view(*text).substr(boundary), candidate.pending); !pending.ok())
    return pending.error();
  return candidate;
}

}  // namespace

Config merge(const Config& base, const Config& pending, const Config& onto) {
  Config merged = onto;
  const std::string edits = text::diff(base, pending);
  text::Position position;
  std::string_view rest = edits;
  // What fails here removes something that another session has removed already.
  while (!rest.empty()) (void)text::apply_line(line::take_line(rest), position, merged);
  text::normalise(merged);
  return merged;
}

namespace {

/// What is done about a service that fails is done as root: who is no administrator may keep it under its
/// name, or take it away.
Status may_act(const Config& before, const Config& after) {
  for (const HealthCheck& check : after.slb().advhc().health()) {
    const auto& old = before.slb().advhc().health();
    const auto same = std::ranges::find(old, check.name(), &HealthCheck::name);
    const bool restart = check.restart().empty() || (same != old.end() && same->restart() == check.restart());
    const bool failover =
        check.failover().empty() || (same != old.end() && same->failover() == check.failover());
    if (!restart || !failover)
      return Error{fmt::format("this user may not say what is done when health {} fails", check.name())};
  }
  return Done{};
}

}  // namespace

Status may_change(Level level, const Config& before, const Config& after) {
  if (level < SLBADMIN) return Error{"this user may not change the configuration"};
  if (level >= ADMIN) return Done{};
  Config left = before;
  Config right = after;
  left.clear_slb();
  right.clear_slb();
  if (!equal(left, right)) return Error{"this user may change /cfg/slb only"};
  return may_act(before, after);
}

bool Candidate::changed() const {
  return !equal(base, pending);
}

CandidateBook::CandidateBook(std::string directory) : directory_(std::move(directory)) {}

std::string CandidateBook::path(const std::string& id) const {
  return fmt::format("{}/{}{}", directory_, id, kSuffix);
}

void CandidateBook::load(const Config& running) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory_, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(kSuffix)) continue;
    auto candidate = read(entry.path().string());
    if (candidate) candidates_[name.substr(0, name.size() - kSuffix.size())] = std::move(*candidate);
  }
  while (candidates_.size() > kMost) evict();
  rebase(running);
}

void CandidateBook::open(const std::string& id, std::uint32_t user, const Config& running) {
  if (candidates_.size() >= kMost) evict();
  candidates_[id] = {running, running, user, ++uses_};
}

Candidate* CandidateBook::find(const std::string& id, std::uint32_t user) {
  const auto found = candidates_.find(id);
  if (found == candidates_.end() || found->second.user != user) return nullptr;
  found->second.touched = ++uses_;
  return &found->second;
}

void CandidateBook::store(const std::string& id) {
  const auto found = candidates_.find(id);
  if (found == candidates_.end()) return;
  // Unsynced: it has to outlive headgated, not the machine. A full disk costs that and nothing else.
  (void)files::replace_unsynced(path(id), written(found->second));
}

void CandidateBook::close(const std::string& id) {
  candidates_.erase(id);
  std::error_code ignored;
  std::filesystem::remove(path(id), ignored);
}

void CandidateBook::rebase(const Config& running) {
  for (auto& [id, candidate] : candidates_) {
    candidate.pending = merge(candidate.base, candidate.pending, running);
    candidate.base = running;
    store(id);
  }
}

void CandidateBook::evict() {
  const auto older = [](const auto& left, const auto& right) {
    return std::pair(left.second.changed(), left.second.touched) <
           std::pair(right.second.changed(), right.second.touched);
  };
  close(std::string(std::ranges::min_element(candidates_, older)->first));
}

}  // namespace headgate::config
