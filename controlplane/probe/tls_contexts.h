// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "model/result.h"

struct ssl_ctx_st;

namespace headgate::probe {

/// What probes over TLS have in common, made once for each choice: the versions 1.2 and 1.3, and the
/// certificates that are trusted.
class TlsContexts {
 public:
  using Shared = std::shared_ptr<ssl_ctx_st>;

  /// The context that verifies by the certificates in the PEM file `ca`, by those of this machine where that
  /// is empty, or not at all. A file that has changed is read again; probes under way keep what they have.
  [[nodiscard]] headgate::Result<Shared> of(bool verify, const std::string& ca);

 private:
  struct Entry {
    Shared context;
    std::filesystem::file_time_type changed;
  };
  std::map<std::pair<bool, std::string>, Entry> known_;
};

}  // namespace headgate::probe
