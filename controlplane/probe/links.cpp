// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/links.h"

#include <cerrno>

#include <fmt/format.h>

#include "controlplane/probe/words.h"

namespace headgate::probe {
namespace {

Result result(L4Port port, bool up) {
  return {
      .passed = up, .heard = up, .reason = fmt::format("link of port {} is {}", port, up ? "up" : "down")};
}

}  // namespace

Result Links::look(const Check& check) {
  if (check.path.empty()) {
    const auto told = told_.find(check.port);
    if (told != told_.end()) return result(check.port, told->second);
    return {.unasked = true,
            .reason = fmt::format("link of port {} is not known: the dataplane has not told", check.port)};
  }
  const kernel::Interface found = inquiry_.interface_of(check.path);
  if (found.error == 0) return result(check.port, found.running);
  const std::string why = found.error == ENODEV ? "it is not there" : words_of(found.error);
  return {.unasked = own_fault(found.error),
          .reason = fmt::format("link of port {} is down: {}: {}", check.port, check.path, why)};
}

}  // namespace headgate::probe
