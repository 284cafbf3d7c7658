// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/forwarding.pb.h"

namespace headgate {

/// Calls `visit` with every member of a service in every role: its members, what stands in for them, and the
/// groups that step in. A server with two roles comes twice.
template <class Visit>
void for_each_member(const forwarding::Service& service, const Visit& visit) {
  const auto all = [&](const auto& members) {
    for (const forwarding::Member& member : members) {
      visit(member);
      for (const forwarding::Member& backup : member.backup()) visit(backup);
    }
  };
  all(service.member());
  for (const forwarding::Fallback& fallback : service.fallback()) all(fallback.member());
}

}  // namespace headgate
