// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "controlplane/probe/conversation.h"
#include "controlplane/probe/http_body.h"
#include "controlplane/probe/status_set.h"

// Reads the reply to an HTTP check. Pure, incremental, bounded: it keeps at most one line, and of a body as
// much as it looks for, whatever comes.
namespace headgate::probe {

/// What a reply must be.
struct HttpWish {
  StatusSet statuses = {};
  std::string contains = {};             ///< what its body must hold; empty: the body is not read
  bool whole = false;                    ///< any status will do, but the answer must be whole
  std::string_view version = "HTTP/1.";  ///< how its status line begins, without the last digit
};

/// Decides by the status line, as soon as the three digits and what follows them are there; headers are not
/// waited for, nor a body of which nothing is wanted, unless the whole answer is. Accepts any minor version,
/// with or without a reason phrase, lines ended by CR LF or LF. Interim replies (1xx) are passed over unless
/// they are wanted.
class HttpReply {
 public:
  /// How much of a line is read; a longer status line without its status is no HTTP.
  static constexpr std::size_t kLongest = 256;
  /// How much may come before the body.
  static constexpr std::size_t kMostHead = 256 * 1024;
  /// How much of an answer is read in all.
  static constexpr std::size_t kMost = 16 * 1024 * 1024;

  explicit HttpReply(HttpWish wish = {}) : wish_(std::move(wish)), body_(wish_.contains) {}

  /// Takes the next bytes of the stream; the outcome once it is decided, and the same one from then on.
  const std::optional<Outcome>& append(std::string_view bytes);
  /// The stream has ended: decides if that has not happened yet.
  Outcome end();
  /// Of the reply, once it is known; of an interim one as long as that is read.
  [[nodiscard]] std::optional<unsigned> status() const { return status_; }

 private:
  enum class Part { status, headers, body };

  [[nodiscard]] std::string_view read_line(std::string_view bytes);
  void judge_status();
  void end_line();
  void end_head();
  void judge_body(HttpBody::Find find);
  void fail(std::string reason) { outcome_ = Outcome{false, std::move(reason)}; }

  HttpWish wish_;
  HttpBody body_;
  Part part_ = Part::status;
  std::string line_;
  std::size_t read_ = 0;            ///< octets in all
  std::size_t head_ = 0;            ///< octets before the body
  std::optional<unsigned> status_;  ///< of the reply that is being read
  bool interim_ = false;            ///< another reply follows
  std::optional<Outcome> outcome_;
};

/// A request, and a reply that decides.
[[nodiscard]] std::unique_ptr<Conversation> http_exchange(std::string request, HttpWish wish = {});

}  // namespace headgate::probe
