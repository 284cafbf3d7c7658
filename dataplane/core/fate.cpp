// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/fate.h"

namespace headgate::core {

std::string_view name(Fate fate) noexcept {
  static constexpr std::array<std::string_view, kFates> kNames = {"to_real",
                                                                  "to_client",
                                                                  "error_to_real",
                                                                  "error_to_client",
                                                                  "reset_no_real",
                                                                  "reset_terminated",
                                                                  "punt",
                                                                  "drop_truncated",
                                                                  "drop_bad_header",
                                                                  "drop_bad_checksum",
                                                                  "drop_source_route",
                                                                  "drop_extensions",
                                                                  "drop_udp_length",
                                                                  "drop_udp_checksum",
                                                                  "drop_fragment",
                                                                  "drop_fragment_bad",
                                                                  "drop_fragment_tiny",
                                                                  "drop_fragment_overlap",
                                                                  "drop_fragment_early",
                                                                  "drop_error_bad",
                                                                  "drop_error_no_session",
                                                                  "drop_land",
                                                                  "drop_no_flags",
                                                                  "drop_ttl",
                                                                  "drop_too_big",
                                                                  "drop_client_port",
                                                                  "drop_server_port",
                                                                  "drop_no_vport",
                                                                  "drop_no_session",
                                                                  "drop_bad_reset",
                                                                  "drop_oos_fin",
                                                                  "drop_martian",
                                                                  "drop_no_real",
                                                                  "drop_table_full",
                                                                  "drop_no_route",
                                                                  "drop_no_neighbour"};
  return kNames[static_cast<std::size_t>(fate)];
}

}  // namespace headgate::core
