// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dataplane/core/persistence.h"
#include "dataplane/core/selection.h"
#include "model/tick.h"

namespace headgate::core {

/// The server of a new session, where one session is reserved, and the persistence entry that it holds.
struct Chosen {
  const Member* member = nullptr;  ///< null: no server takes it
  Persistence::Use use = 0;
};

/// What a choice is made from.
struct Choosing {
  const Layout& layout;
  const Service& service;
  const Selection& selection;
  Shared& shared;
};

/// Chooses the server of a new session (reference 3.2, 1-5).
///
/// A client that persistence binds comes back to its server, in any service of the virtual server that has
/// it, as long as it takes part there and is open, be it as the last, or drains but admits bound clients. At
/// its maxcon the session goes elsewhere and the client stays bound. A server that failed, drains, or stands
/// in no longer loses its clients: each is bound anew by its next session. A client that is bound to a server
/// which this service does not have is remembered for this service's group beside that.
[[nodiscard]] Chosen choose(const Choosing& choosing, const Asking& asking, Tick now) noexcept;

/// The round in which a member may take a new session now, its limit aside: OPEN or LAST, CLOSED for none.
[[nodiscard]] forwarding::Admission round_of(const Choosing& choosing, const Member& member) noexcept;

/// The session of a choice does not come to be: what it holds of persistence is given back.
void let_go(const Chosen& chosen, const Service& service, const Shared& shared, Tick now) noexcept;

}  // namespace headgate::core
