// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace headgate::core {

/// Stands for all types that lie in memory which outlasts the process, and for the meaning of what is in
/// them: two builds with the same number understand each other's sessions and counters (docs/adr/0012).
[[nodiscard]] std::uint64_t memory_layout() noexcept;

/// A worker's part of that memory is its counters and then, from here on, its table.
[[nodiscard]] std::size_t worker_table_at() noexcept;

}  // namespace headgate::core
