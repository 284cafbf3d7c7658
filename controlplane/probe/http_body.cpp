// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/http_body.h"

#include <algorithm>
#include <limits>

#include "controlplane/probe/words.h"

namespace headgate::probe {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char small = lower(c);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

}  // namespace

void HttpBody::header(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (same_word(name, "content-length")) set_length(value);
  if (same_word(name, "transfer-encoding"))
    chunked_ = same_word(trimmed(value.substr(value.rfind(',') + 1)), "chunked");
}

void HttpBody::set_length(std::string_view value) {
  std::uint64_t length = 0;
  for (const char c : value) {
    if (c < '0' || c > '9') complaint_ = "Content-Length is not a number";
    const bool large = length > std::numeric_limits<std::uint64_t>::max() / 10 - 1;
    length = large ? length : length * 10 + static_cast<std::uint64_t>(c - '0');
  }
  if (value.empty()) complaint_ = "Content-Length is not a number";
  if (length_ && length_ != length) complaint_ = "answer has two lengths";
  length_ = length;
}

HttpBody::Find HttpBody::malformed(std::string_view complaint) {
  complaint_ = complaint;
  return Find::malformed;
}

HttpBody::Find HttpBody::begin(bool none) {
  if (none) return Find::lacking;
  if (chunked_) return Find::more;
  if (!complaint_.empty()) return Find::malformed;
  return length_ == 0 ? Find::lacking : Find::more;
}

HttpBody::Find HttpBody::append(std::string_view bytes) {
  if (chunked_) return search_chunks(bytes);
  if (length_) bytes = bytes.substr(0, std::min<std::uint64_t>(bytes.size(), *length_ - octets_));
  const Find find = search(bytes);
  return find == Find::more && length_ == octets_ ? Find::lacking : find;
}

HttpBody::Find HttpBody::search(std::string_view data) {
  if (wanted_.empty()) {
    octets_ += data.size();
    return Find::more;
  }
  data = data.substr(0, kMost - octets_);
  octets_ += data.size();
  tail_ += data;
  if (tail_.find(wanted_) != std::string::npos) return Find::found;
  if (tail_.size() >= wanted_.size()) tail_.erase(0, tail_.size() - (wanted_.size() - 1));
  return octets_ == kMost ? Find::lacking : Find::more;
}

// ---- Chunks (RFC 9112, 7.1)

HttpBody::Find HttpBody::search_chunks(std::string_view bytes) {
  Find find = Find::more;
  while (find == Find::more && !bytes.empty()) {
    if (chunk_ == Chunk::data) {
      find = chunk_data(bytes);
    } else {
      find = chunk_ == Chunk::trailers ? trailer_octet(bytes.front()) : chunk_octet(bytes.front());
      bytes.remove_prefix(1);
    }
  }
  return find;
}

HttpBody::Find HttpBody::chunk_data(std::string_view& bytes) {
  const std::string_view data = bytes.substr(0, std::min<std::uint64_t>(bytes.size(), left_));
  bytes.remove_prefix(data.size());
  left_ -= data.size();
  if (left_ == 0) chunk_ = Chunk::end;
  return search(data);
}

HttpBody::Find HttpBody::chunk_octet(char c) {
  if (++framing_ > kLongestChunkLine) return malformed("a chunk's line is longer than 4 KiB");
  if (chunk_ == Chunk::end) {
    if (c == '\n') chunk_ = Chunk::size;
    return c == '\n' || c == '\r' ? Find::more : malformed("chunk is longer than it says");
  }
  if (c == '\n') return chunk_begins();
  if (chunk_ == Chunk::extension) return Find::more;
  const int value = hex(c);
  if (value < 0) {
    chunk_ = Chunk::extension;
    return c == ';' || c == ' ' || c == '\t' || c == '\r' ? Find::more : malformed("chunk has no size");
  }
  constexpr unsigned kMostDigits = 15;
  if (++digits_ > kMostDigits) return malformed("chunk has no size");
  left_ = left_ << 4 | static_cast<std::uint64_t>(value);
  return Find::more;
}

HttpBody::Find HttpBody::chunk_begins() {
  if (digits_ == 0) return malformed("chunk has no size");
  digits_ = 0;
  framing_ = 0;
  chunk_ = left_ == 0 ? Chunk::trailers : Chunk::data;
  return left_ == 0 && !wanted_.empty() ? Find::lacking : Find::more;
}

/// An empty line ends them, and the body.
HttpBody::Find HttpBody::trailer_octet(char c) {
  if (++framing_ > kMostTrailers) return malformed("trailers are longer than 256 KiB");
  if (c == '\n' && empty_line_) return Find::lacking;
  if (c != '\r') empty_line_ = c == '\n';
  return Find::more;
}

}  // namespace headgate::probe
