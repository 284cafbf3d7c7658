// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/control.pb.h"
#include "model/result.h"

namespace headgate::cli {

/// The way to headgated. An interface, so that tests answer in its place.
class Client {
 public:
  virtual ~Client() = default;

  /// What headgated answers; all parts of a reply that comes in several are joined. An error of the result
  /// means that there is no answer; what headgated refused stands in the reply's own `error`.
  virtual Result<control::Reply> call(const control::Request& request) = 0;
};

}  // namespace headgate::cli
