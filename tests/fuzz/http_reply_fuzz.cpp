// SPDX-License-Identifier: Apache-2.0
//
// Feeds the HTTP reply parser whatever a server may send, whole and split at every place that the first byte
// chooses, with or without a text that its body must hold, or read to its end: the verdict must not depend on
// the split, must never be taken back, and passes only what has a wanted status and holds the text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "controlplane/probe/http_reply.h"

using headgate::probe::HttpReply;
using headgate::probe::HttpWish;
using headgate::probe::Outcome;
using headgate::probe::StatusSet;

namespace {

HttpWish wish_of(std::uint8_t choice) {
  HttpWish wish;
  if (choice & 1) wish.contains = choice & 2 ? "aab" : "x";
  if (choice & 4) wish.statuses = StatusSet::parse("100,200-299").value();
  wish.whole = (choice & 8) != 0;
  if (wish.whole) wish.contains.clear();
  return wish;
}

/// What must be in the bytes for a verdict of success.
bool can_pass(const HttpWish& wish, std::string_view bytes) {
  return bytes.size() >= 13 && bytes.substr(0, 7) == "HTTP/1." &&
         (wish.whole || bytes.find(" 200") != bytes.npos || wish.statuses != StatusSet()) &&
         (wish.whole || wish.contains.size() < 2 || bytes.find('a') != bytes.npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t piece = static_cast<std::size_t>(data[0] % 16) + 1;
  const HttpWish wish = wish_of(data[1]);
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);

  HttpReply whole(wish);
  whole.append(bytes);
  const Outcome expected = whole.end();

  HttpReply split(wish);
  std::optional<Outcome> decided;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const auto& outcome = split.append(bytes.substr(at, piece));
    if (decided && outcome != decided) std::abort();
    decided = outcome;
  }
  if (split.end() != expected) std::abort();
  if (expected.reason.empty() || (expected.passed && !can_pass(wish, bytes))) std::abort();
  return 0;
}
