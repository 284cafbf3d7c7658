// SPDX-License-Identifier: Apache-2.0
#include "controlplane/kernel/nft.h"

#include <nftables/libnftables.h>

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

}  // namespace

Status run_nft(const std::string& commands) {
  const Context context;
  if (nft_run_cmd_from_buffer(context.nft, commands.c_str()) == 0) return Done{};
  const std::string said = nft_ctx_get_error_buffer(context.nft);
  return Error{fmt::format("can't change the guard in nftables: {}", said.substr(0, said.find('\n')))};
}

bool guard_stands() {
  const Context context;
  return nft_run_cmd_from_buffer(context.nft, fmt::format("list table {}", kGuardTable).c_str()) == 0;
}

}  // namespace headgate::kernel
