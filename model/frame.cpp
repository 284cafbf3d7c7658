// SPDX-License-Identifier: Apache-2.0
#include "model/frame.h"

#include <fmt/format.h>

namespace headgate {

std::string frame(const google::protobuf::MessageLite& message) {
  std::string bytes(kFrameHeader, '\0');
  message.AppendToString(&bytes);
  const std::size_t length = bytes.size() - kFrameHeader;
  for (std::size_t i = 0; i < kFrameHeader; ++i) bytes[i] = static_cast<char>(length >> (24 - 8 * i));
  return bytes;
}

Result<std::size_t> frame_length(std::string_view header) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < kFrameHeader; ++i) length = length << 8 | static_cast<unsigned char>(header[i]);
  if (length > kMaxFrame)
    return Error{fmt::format("message of {} bytes refused: at most {} are allowed", length, kMaxFrame)};
  return length;
}

Result<std::optional<std::string>> FrameReader::next() {
  if (pending_.size() < kFrameHeader) return std::optional<std::string>();
  const auto length = frame_length(pending_);
  if (!length) return length.error();
  if (pending_.size() < kFrameHeader + *length) return std::optional<std::string>();
  std::optional<std::string> body(pending_.substr(kFrameHeader, *length));
  pending_.erase(0, kFrameHeader + *length);
  return body;
}

}  // namespace headgate
