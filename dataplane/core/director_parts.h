// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "dataplane/core/generation.h"
#include "model/forwarding.pb.h"
#include "model/ip.h"

// What the parts of the director (director.cpp, director_check.cpp) have in common.
namespace headgate::core {

template <class Key>
Key binding_key(const forwarding::Service& service, std::uint32_t group, const forwarding::Member& member) {
  return {.virt = service.virt(),
          .vport = service.vport(),
          .protocol = service.protocol(),
          .group = group,
          .real = member.real(),
          .rport = member.rport(),
          .vip = ip_of(service.vip()),
          .rip = ip_of(member.rip())};
}

/// Whether what weighs its servers is measured in the dataplane or by checks.
inline bool measured(const Service& service) {
  return service.metric == forwarding::RESPONSE || service.metric == forwarding::BANDWIDTH;
}

/// Whether its servers are chosen by weights.
inline bool weighted(const Service& service) {
  return service.metric == forwarding::LEASTCONNS || service.metric == forwarding::SVCLEAST ||
         service.metric == forwarding::ROUNDROBIN || service.metric == forwarding::HEALTH ||
         measured(service);
}

/// The group whose counts a session of a fallback's server belongs to.
inline std::uint32_t group_of(const forwarding::Service& service, const forwarding::Fallback& fallback) {
  return fallback.group() != 0 ? fallback.group() : service.group();
}

}  // namespace headgate::core
