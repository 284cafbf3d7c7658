// SPDX-License-Identifier: Apache-2.0
#include "controlplane/kernel/nft.h"

#include <nftables/libnftables.h>

#include <utility>

#include <fmt/format.h>

#include "controlplane/kernel/guard.h"

namespace headgate::kernel {
namespace {

struct Context {
  Context() : nft(nft_ctx_new(NFT_CTX_DEFAULT)) {
    nft_ctx_buffer_output(nft);
    nft_ctx_buffer_error(nft);
  }
  ~Context() { nft_ctx_free(nft); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  nft_ctx* nft;
};

/// One for all calls: the library ends the process when it can't have a socket, so that it keeps its own.
nft_ctx* context() {
  static const Context context;
  return context.nft;
}

/// Whether that went well, and what the library said.
std::pair<bool, std::string> run(const std::string& commands) {
  const bool done = nft_run_cmd_from_buffer(context(), commands.c_str()) == 0;
  (void)nft_ctx_get_output_buffer(context());  // reading empties it
  return {done, nft_ctx_get_error_buffer(context())};
}

}  // namespace

Status run_nft(const std::string& commands) {
  const auto [done, said] = run(commands);
  if (done) return Done{};
  return Error{fmt::format("can't change the guard in nftables: {}", said.substr(0, said.find('\n')))};
}

bool guard_stands() {
  return run(fmt::format("list table {}", kGuardTable)).first;
}

}  // namespace headgate::kernel
