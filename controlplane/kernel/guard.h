// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "controlplane/kernel/plan.h"

// The nftables table that keeps the kernel from answering or forwarding what is the dataplane's: it stands
// while headgated is dead, and before a VIP exists.
namespace headgate::kernel {

constexpr const char* kGuardTable = "inet headgate_guard";

/// Commands for nft that replace the whole table in one transaction; for an empty guard, that remove it.
/// Input drops TCP and UDP to VIPs (an echo request is the kernel's to answer); forward drops what real
/// services send, since only a translated reply may reach a client.
[[nodiscard]] std::string guard_commands(const Guard& guard);

}  // namespace headgate::kernel
