// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "cli/client.h"
#include "model/frame.h"

namespace headgate::cli {

/// Talks to headgated over control.sock. When headgated has gone away in between, it waits a while for it to
/// come back, resumes the configuration session, and asks again.
class SocketClient : public Client {
 public:
  /// Connects and opens a configuration session. The error says how to start headgated.
  static Result<std::unique_ptr<SocketClient>> connect(const std::string& run_dir);
  ~SocketClient() override;

  Result<control::Reply> call(const control::Request& request) override;

  [[nodiscard]] const control::Opened& opened() const { return opened_; }
  /// Going on with a script makes no sense: headgated did not come back, or came back without the changes
  /// that were pending.
  [[nodiscard]] bool broken() const { return lost_changes_ || socket_ < 0; }

 private:
  explicit SocketClient(std::string path) : path_(std::move(path)) {}
  Status open_socket();
  Status open_session();
  Status reconnect();
  Result<control::Reply> exchange(control::Request request);
  Status send(const std::string& bytes);
  Result<control::Reply> receive(std::uint64_t id);
  void close_socket();

  std::string path_;
  int socket_ = -1;
  FrameReader reader_;
  control::Opened opened_;
  std::uint64_t next_id_ = 1;
  bool edited_ = false;  ///< edits were sent that no apply, revert or new session followed
  bool lost_changes_ = false;
};

}  // namespace headgate::cli
