// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/attempt.h"

#include <utility>

#include "controlplane/probe/words.h"

namespace headgate::probe {

void Attempt::cancel() {
  on_result_ = nullptr;
  close();
}

void Attempt::report(bool passed, std::string reason) {
  if (!on_result_) return;
  const auto time = took();
  const Result result{passed, true, passed ? answered_in(time) : std::move(reason), time};
  std::exchange(on_result_, nullptr)(result);
}

void Attempt::fail(const boost::system::error_code& error) {
  if (!on_result_) return;
  const Result result{false, sign_of_life(error.value()), words_of(error.value()), took()};
  std::exchange(on_result_, nullptr)(result);
}

std::chrono::microseconds Attempt::took() const {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - started);
}

}  // namespace headgate::probe
