// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/packet/bench.h"

namespace headgate::testing {

/// Passes one packet of a connection's client, and expects exactly it, translated, at the server.
inline void reaches_server(Bench& bench, const Connection& session, const Packet& packet) {
  EXPECT_THAT(bench.from_client(packet), ::testing::ElementsAre(session.at_server(packet).out(kServerPort)));
}

/// Passes one packet of a connection's server, and expects exactly it, translated, at the client.
inline void reaches_client(Bench& bench, const Connection& session, const Packet& packet) {
  EXPECT_THAT(bench.from_server(packet), ::testing::ElementsAre(session.at_client(packet).out(kClientPort)));
}

}  // namespace headgate::testing
