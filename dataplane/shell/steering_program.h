// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "dataplane/shell/fd.h"
#include "dataplane/shell/steering_tables.h"
#include "model/result.h"

namespace headgate::shell {

/// The kernel's number of an interface; 0 when there is none of this name.
[[nodiscard]] unsigned interface_index(const std::string& interface);

/// Detaches a steering program that a killed dataplane left on an interface; the driver could not attach
/// ours. An interface without a program is fine; a program that is not ours stays, and is the error.
[[nodiscard]] Status detach_stale_program(const std::string& interface);

/// The maps of a loaded steering program, reached by the program's id.
class SteeringProgram {
 public:
  /// The program attached to an interface; an error when there is none of ours.
  [[nodiscard]] static Result<SteeringProgram> attached_to(const std::string& interface);
  /// A program by its descriptor, which stays the caller's.
  [[nodiscard]] static Result<SteeringProgram> from(int program_fd);

  /// Brings the maps to `tables` (what is new first, then what is gone), and opens the gate: before the first
  /// update the program drops all TCP and UDP. An error leaves the maps with no less than they had.
  [[nodiscard]] Status update(const SteeringTables& tables);

  /// False when an interface carries another program by now, or none; true as long as that can't be known.
  [[nodiscard]] bool is_on(const std::string& interface) const noexcept;

 private:
  std::uint32_t id_ = 0;  ///< the kernel's, of the program
  Fd vips_, services_, locals_, ready_;
  SteeringTables current_;
  bool open_ = false;
};

}  // namespace headgate::shell
