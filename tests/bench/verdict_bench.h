// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <benchmark/benchmark.h>

namespace headgate::bench {

/// The time from a probe's result to when the dataplane's core knows the verdict, over the real engine and
/// the real socket, for each of `targets` in turn: median, 99th percentile and worst.
void verdicts(benchmark::State& state, unsigned targets);

}  // namespace headgate::bench
