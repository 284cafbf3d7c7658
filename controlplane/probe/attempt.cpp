// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/attempt.h"

#include <utility>

#include "controlplane/probe/words.h"

namespace headgate::probe {

void Attempt::cancel() {
  on_result_ = nullptr;
  close();
}

void Attempt::report(const Outcome& outcome) {
  tell({.passed = outcome.passed,
        .heard = !outcome.unasked,
        .unasked = outcome.unasked,
        .reason = outcome.passed ? "" : outcome.reason,
        .reading = outcome.reading,
        .bears = outcome.bears,
        .measured = outcome.measured},
       outcome.note);
}

void Attempt::report_silence(const Outcome& outcome) {
  tell({.passed = outcome.passed, .heard = false, .reason = outcome.reason});
}

void Attempt::fail(const boost::system::error_code& error) {
  tell({.passed = false,
        .heard = sign_of_life(error.value()),
        .unasked = own_fault(error.value()),
        .reason = words_of(error.value())});
}

void Attempt::tell(Result result, const std::string& note) {
  if (!on_result_) return;
  result.took =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - started);
  if (result.reason.empty()) result.reason = answered_in(result.took) + note;
  std::exchange(on_result_, nullptr)(result);
}

}  // namespace headgate::probe
