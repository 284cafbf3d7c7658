// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include <boost/asio/io_context.hpp>

namespace headgate {

/// For tests: runs until `done` or five seconds are over.
template <class Predicate>
bool run_until(boost::asio::io_context& context, Predicate done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (!done() && std::chrono::steady_clock::now() < end) {
    context.restart();
    context.run_one_for(std::chrono::milliseconds(50));
  }
  return done();
}

}  // namespace headgate
