// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "controlplane/probe/runs.h"

namespace headgate::probe {

/// Begins an application check: its steps one after the other, until one fails. When its time is over, the
/// step that it is at has failed in part.
[[nodiscard]] std::unique_ptr<Run> begin_app(boost::asio::io_context& context, const Probe& probe,
                                             Prober::OnResult on_result);

}  // namespace headgate::probe
