// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/core/burst.h"
#include "dataplane/core/shared.h"
#include "dataplane/shell/device.h"
#include "dataplane/shell/plan.h"
#include "dataplane/shell/retry_pause.h"
#include "dataplane/shell/steering_program.h"
#include "model/forwarding.pb.h"
#include "model/ids.h"
#include "model/slots.pb.h"

namespace headgate::shell {

/// A port that is open. Closing it detaches the XDP program and takes the twin away.
struct OpenPort {
  core::PortIndex index = 0;
  forwarding::Port config;
  std::string kernel_interface;  ///< where the kernel sees it: the device itself, or the TAP twin
  unsigned interface_index = 0;  ///< of an AF_XDP device when it was opened
  std::optional<SteeringProgram> program;
  Device device;
  std::optional<Device> twin;
  bool up = false;              ///< as last reported
  core::Totals::Port before{};  ///< what was counted before it was opened
  std::uint64_t lost_base = 0;  ///< what the workers had lost on its way out when its counts began
};

/// The ports of the running configuration: opened when it names them, tried again while that fails, closed
/// when it does not name them any more, or their interface or its steering program has vanished.
class Ports {
 public:
  Ports(rte_mempool* buffers, std::string steering_file)
      : buffers_(buffers), steering_file_(std::move(steering_file)) {}

  void want(const forwarding::Generation& generation);
  /// Hands out the ports that have to close; the caller destroys them when no worker uses them any more.
  [[nodiscard]] std::vector<OpenPort> take_unwanted();
  /// Opens what is missing and due; true when at least one port came. Failures go to the log, each once.
  bool open_missing(const SteeringTables& tables, std::uint64_t now_ns);
  /// When open_missing() has something to do; nothing when no port is missing.
  [[nodiscard]] std::optional<std::uint64_t> next_try_ns() const;
  /// Brings all steering programs to `tables`.
  void steer(const SteeringTables& tables);

  [[nodiscard]] std::vector<OpenPort>& open() noexcept { return open_; }
  [[nodiscard]] const std::vector<OpenPort>& open() const noexcept { return open_; }
  /// The indices that ports have, for a process to come: sessions hold them.
  void remember(memory::Slots& slots) const;
  void recall(const memory::Slots& slots);
  /// By PortIndex; 0 where no port is open.
  [[nodiscard]] std::vector<PortNumber> by_index() const;

 private:
  struct Wanted {
    forwarding::Port config;
    std::uint64_t next_try_ns = 0;
    RetryPause pause;
    std::string failure;  ///< as last logged
  };
  [[nodiscard]] bool is_open(std::uint32_t number) const;
  [[nodiscard]] std::optional<core::PortIndex> index_for(std::uint32_t number);
  /// What has to hold before a driver is asked: the interface is there, and free of programs.
  [[nodiscard]] static Status prepare(const forwarding::Port& config);
  [[nodiscard]] Result<OpenPort> open(const forwarding::Port& config, const SteeringTables& tables);
  [[nodiscard]] Status add_steering(OpenPort& port, const SteeringTables& tables) const;
  [[nodiscard]] Status add_twin(OpenPort& port) const;

  rte_mempool* buffers_;
  std::string steering_file_;
  std::map<std::uint32_t, Wanted> wanted_;
  std::vector<OpenPort> open_;
  std::map<std::uint32_t, core::PortIndex>
      indices_;  ///< by number; kept, so that a port that returns has the same
};

/// As workers see the ports; they are dealt out evenly, and a port never changes hands while it is open: for
/// a moment the old plan and the new one are both in use, and a queue bears only one reader.
void plan_ports(const Ports& ports, unsigned workers, Plan& plan);

}  // namespace headgate::shell
