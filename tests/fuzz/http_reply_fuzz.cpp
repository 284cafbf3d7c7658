// SPDX-License-Identifier: Apache-2.0
//
// Feeds the HTTP reply parser whatever a server may send, whole and split at every place that the first byte
// chooses: the verdict must not depend on the split, must never be taken back, and passes only a status of
// 200.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "controlplane/probe/http_reply.h"

using headgate::probe::HttpReply;
using headgate::probe::Outcome;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = static_cast<std::size_t>(data[0] % 16) + 1;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);

  HttpReply whole;
  whole.append(bytes);
  const Outcome expected = whole.end();

  HttpReply split;
  std::optional<Outcome> decided;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const auto& outcome = split.append(bytes.substr(at, piece));
    if (decided && outcome != decided) std::abort();
    decided = outcome;
  }
  if (split.end() != expected) std::abort();
  if (expected.passed &&
      (bytes.size() < 13 || bytes.substr(0, 7) != "HTTP/1." || bytes.substr(8, 4) != " 200"))
    std::abort();
  return 0;
}
