// SPDX-License-Identifier: Apache-2.0
// Answers of servers to the checks that talk line by line: one verdict, however the stream is cut, in bounded
// memory.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "controlplane/probe/heard.h"

namespace {

using namespace headgate::probe;

Dialogue::Script script_of(std::uint8_t choice) {
  switch (choice % 4) {
    case 0:
      return smtp_script("postmaster");
    case 1:
      return pop3_script("joe", "secret");
    case 2:
      return imap_script("joe", "secret");
    default:
      return nntp_script("local.test");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const Dialogue::Script script = script_of(data[0]);
  const std::string_view server(reinterpret_cast<const char*>(data) + 2, size - 2);
  const Heard whole = hear(script, server, size);
  if (whole != hear(script, server, 1) || whole != hear(script, server, data[1] % 64 + 1u)) std::abort();
  const std::string& reason = whole.outcome.reason;
  if (reason.empty() || (reason.starts_with("login") && reason.find("secret") != std::string::npos))
    std::abort();
  return 0;
}
