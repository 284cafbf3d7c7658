// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headgate::probe {

/// Looks for a text in the body of a reply, in whatever way the body is framed (RFC 9112, 6). Keeps no more
/// of it than the text is long. Without a text it looks for the end.
class HttpBody {
 public:
  /// How much of a body is searched.
  static constexpr std::size_t kMost = 64 * 1024;
  /// How long the line between two chunks may be, with its extensions.
  static constexpr std::size_t kLongestChunkLine = 4 * 1024;
  /// How long all trailers behind the last chunk may be.
  static constexpr std::size_t kMostTrailers = 256 * 1024;
  enum class Find { more, found, lacking, malformed };

  /// Empty: nothing is looked for, and `lacking` says that the body is there to its end.
  explicit HttpBody(std::string wanted) : wanted_(std::move(wanted)) {}

  /// A line of the headers, without its end: what it says about the body's length counts.
  void header(std::string_view line);
  /// The headers have ended; `none` where the status says that there is no body.
  [[nodiscard]] Find begin(bool none);
  /// The next octets behind the headers. Called until there is a finding.
  [[nodiscard]] Find append(std::string_view bytes);
  /// Whether it is the end of the stream that ends the body.
  [[nodiscard]] bool ends_with_stream() const { return !chunked_ && !length_; }
  /// How much of the body has been searched.
  [[nodiscard]] std::size_t octets() const { return octets_; }
  /// What is malformed, in words.
  [[nodiscard]] std::string_view complaint() const { return complaint_; }

 private:
  enum class Chunk { size, extension, data, end, trailers };

  void set_length(std::string_view value);
  [[nodiscard]] Find malformed(std::string_view complaint);
  [[nodiscard]] Find search(std::string_view data);
  [[nodiscard]] Find search_chunks(std::string_view bytes);
  [[nodiscard]] Find chunk_data(std::string_view& bytes);
  [[nodiscard]] Find chunk_octet(char c);
  [[nodiscard]] Find chunk_begins();
  [[nodiscard]] Find trailer_octet(char c);

  std::string wanted_;
  std::string tail_;  ///< of what was searched, as much as the text may begin in
  std::size_t octets_ = 0;
  std::string_view complaint_;
  bool chunked_ = false;
  std::optional<std::uint64_t> length_;  ///< none: until the server closes
  Chunk chunk_ = Chunk::size;
  std::uint64_t left_ = 0;   ///< of the chunk
  unsigned digits_ = 0;      ///< of the chunk's size
  std::size_t framing_ = 0;  ///< octets of the chunk's line, or of the trailers
  bool empty_line_ = true;   ///< so far, of the trailers
};

}  // namespace headgate::probe
