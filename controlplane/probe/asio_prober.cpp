// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/asio_prober.h"

#include <unordered_map>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "controlplane/probe/connection.h"
#include "controlplane/probe/icmp.h"

namespace headgate::probe {
namespace {

class AsioProber final : public Prober {
 public:
  explicit AsioProber(asio::io_context& context) : context_(context), icmp_(context) {}

  void start(TargetId target, const Probe& probe, OnResult on_result) override {
    cancel(target);
    if (probe.check.kind == Kind::icmp) return icmp_.start(target, probe.address, std::move(on_result));
    const auto connection = std::make_shared<Connection>(context_, probe, std::move(on_result));
    attempts_[target] = connection;
    asio::post(context_, [this, connection] {
      if (connection->reported()) return;  // cancelled before it began
      const Probe& probe = connection->probe;
      asio::co_spawn(context_, converse(connection, conversation(probe.check, probe.address, probe.port)),
                     asio::detached);
    });
  }

  void cancel(TargetId target) override {
    icmp_.cancel(target);
    const auto found = attempts_.find(target);
    if (found == attempts_.end()) return;
    const auto attempt = found->second.lock();
    if (attempt && !attempt->reported()) attempt->cancel();  // else it is just closing in order
    attempts_.erase(found);
  }

 private:
  asio::io_context& context_;
  IcmpProber icmp_;
  std::unordered_map<TargetId, std::weak_ptr<Attempt>> attempts_;
};

}  // namespace

std::unique_ptr<Prober> make_prober(asio::io_context& context) {
  return std::make_unique<AsioProber>(context);
}

}  // namespace headgate::probe
