// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <google/protobuf/message_lite.h>

#include "model/result.h"

namespace headgate {

/// How both seams carry messages over a Unix stream socket: four bytes of length, big-endian, then
/// the serialised message. A longer message than kMaxFrame is refused before anything is allocated.
constexpr std::size_t kFrameHeader = 4;
constexpr std::size_t kMaxFrame = std::size_t{64} << 20;

/// The message with its length in front, ready to be written.
[[nodiscard]] std::string frame(const google::protobuf::MessageLite& message);

/// The body length that a header of kFrameHeader bytes announces; an error when it is over kMaxFrame.
[[nodiscard]] Result<std::size_t> frame_length(std::string_view header);

/// Collects bytes as they arrive and hands out whole message bodies, for callers without coroutines.
class FrameReader {
 public:
  void append(std::string_view bytes) { pending_.append(bytes); }
  /// The next whole body; nothing while it is incomplete; an error when the stream can't be followed any
  /// more.
  [[nodiscard]] Result<std::optional<std::string>> next();

 private:
  std::string pending_;
};

}  // namespace headgate
