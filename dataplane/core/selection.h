// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "dataplane/core/generation.h"
#include "dataplane/core/shared.h"

namespace headgate::core {

/// Where a worker stands in the turn of one service.
using Cursor = std::uint32_t;

/// The selection of a service under the present states.
[[nodiscard]] std::shared_ptr<const Selection> select(const Service& service, const Shared& shared);

/// The member that takes a new session (reference 3.1), or null when none is available.
///
/// leastconns: fewest open sessions by weight, live; among equals the next in turn, so that idle servers
/// share. roundrobin: the next in turn, more turns for a higher weight. hash: by the client's address over
/// the available members, the same on every unit; weights do not matter. A member that closed since the
/// selection was made is passed over.
[[nodiscard]] const Member* pick(const Service& service, const Selection& selection, const Shared& shared,
                                 const Ip& client, Cursor& cursor) noexcept;

}  // namespace headgate::core
