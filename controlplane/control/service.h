// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "controlplane/daemon/engine.h"
#include "model/control.pb.h"

// Answers the requests of control.proto. Knows nothing of sockets.
namespace headgate::control {

/// Who asks, as the kernel vouches for it.
struct Peer {
  std::uint32_t user = 0;
  config::Level level = config::USER;
};

/// One connection's side of the talk.
struct Conversation {
  Peer peer;
  std::string session;  ///< empty until Open
};

/// Hears of each reply; `last` tells that the request is done.
using OnReply = std::function<void(Reply reply, bool last)>;

class Service {
 public:
  explicit Service(daemon::Engine& engine) : engine_(engine) {}

  /// Answers one request, now or later. `talk` must stay until the last reply.
  void handle(Conversation& talk, const Request& request, const OnReply& on_reply);
  /// Of a virtual server, as clients of the switch see it: without a dataplane that forwards by the running
  /// configuration none serves. Nothing when there is none of that number.
  [[nodiscard]] std::optional<State> virt_state(std::uint32_t virt) const;

 private:
  Reply open(Conversation& talk, const Open& open);
  Reply edit(Conversation& talk, const Edit& edit);
  Reply get_config(Conversation& talk, const GetConfig& get);
  Reply diff(Conversation& talk, const Diff& diff);
  void apply(Conversation& talk, const Apply& apply, const OnReply& on_reply);
  Reply save(Conversation& talk, const Save& save);
  void revert(Conversation& talk, const Revert& revert, const OnReply& on_reply);
  Reply close(Conversation& talk);
  Reply status(const GetStatus& get);
  Reply get_log(const GetLog& get) const;
  Reply set_operation(Conversation& talk, const SetOperation& set);
  void relay(Conversation& talk, const Request& request, const OnReply& on_reply);
  void ask_dataplane(forwarding::Order order, const OnReply& on_reply);
  [[nodiscard]] config::Candidate* candidate(const Conversation& talk);

  daemon::Engine& engine_;
};

}  // namespace headgate::control
