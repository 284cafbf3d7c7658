// SPDX-License-Identifier: Apache-2.0
#include "controlplane/daemon/states_keeper.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace headgate::daemon {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSoon{50};
constexpr milliseconds kBreath{1};
/// So many targets are written in one go: a few hundred microseconds.
constexpr std::size_t kSlice = 128;

}  // namespace

void StatesKeeper::changed_much(std::function<void()> kept) {
  changed_ = true;
  if (kept) waiting_.push_back(std::move(kept));
  if (std::exchange(soon_, true)) return;
  timers_.after(kSoon, [this] {
    soon_ = false;
    beat();
  });
}

void StatesKeeper::beat() {
  if (!changed_ || writer_) return;
  begin();
  go_on({});
}

void StatesKeeper::begin() {
  timers_.cancel(next_slice_);
  changed_ = false;
  std::ranges::move(std::exchange(waiting_, {}), std::back_inserter(served_));
  writer_.emplace(store_.states_writer());
}

void StatesKeeper::go_on(const TargetKey& from) {
  const auto next = write_some(from);
  if (!next || !*next) return;
  next_slice_ = timers_.after(kBreath, [this, from = **next] { go_on(from); });
}

Status StatesKeeper::keep() {
  begin();
  for (TargetKey from;;) {
    const auto next = write_some(from);
    if (!next) return next.error();
    if (!*next) return Done{};
    from = **next;
  }
}

/// With whom it goes on; nothing when all is stored.
Result<std::optional<TargetKey>> StatesKeeper::write_some(const TargetKey& from) {
  Monitor::Some some = monitor_.remembered(from, kSlice);
  if (!some.next) some.states.MergeFrom(monitor_.operations());
  Status written = writer_->append(some.states);
  if (written.ok() && !some.next) written = writer_->finish();
  if (!written.ok() || !some.next) end(written.ok());
  if (!written.ok()) return written.error();
  return std::move(some.next);
}

void StatesKeeper::end(bool well) {
  writer_.reset();
  changed_ = changed_ || !well;
  if (!served_.empty())
    timers_.after(milliseconds(0), [served = std::exchange(served_, {})] {
      for (const auto& kept : served) kept();
    });
  if (!waiting_.empty()) changed_much();
}

}  // namespace headgate::daemon
