// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "controlplane/probe/prober.h"

namespace boost::asio {
class io_context;
}

namespace headgate::probe {

/// Echo probes of all targets over one raw socket a family. Replies are matched by address, id, sequence and
/// a random payload, so that none counts for another target, twice, or too late (reports 12).
class IcmpProber {
 public:
  explicit IcmpProber(boost::asio::io_context& context);
  ~IcmpProber();
  void start(TargetId target, const Ip& address, Prober::OnResult on_result);
  void cancel(TargetId target);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace headgate::probe
