// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/ports.h"

#include <algorithm>

#include <fmt/format.h>

#include "dataplane/shell/device_spec.h"
#include "dataplane/shell/eal.h"
#include "dataplane/shell/log.h"

namespace headgate::shell {
namespace {

constexpr std::uint32_t kEthernetHeader = 14;

bool same(const forwarding::Port& a, const forwarding::Port& b) {
  return a.number() == b.number() && a.device() == b.device() && a.driver() == b.driver();
}

/// An AF_XDP port is dead when its interface was deleted, or deleted and made anew, or when somebody took its
/// steering program off.
bool dead(const OpenPort& port) {
  if (port.config.driver() != forwarding::XDP_SOCKET) return false;
  const bool same_interface = interface_index(port.config.device()) == port.interface_index;
  return !same_interface || (port.program && !port.program->is_on(port.config.device()));
}

}  // namespace

void Ports::want(const forwarding::Generation& generation) {
  std::map<std::uint32_t, Wanted> wanted;
  for (const auto& config : generation.port()) {
    const auto before = wanted_.find(config.number());
    const bool known = before != wanted_.end() && same(before->second.config, config);
    wanted[config.number()] = known ? before->second : Wanted{.config = config};
  }
  wanted_ = std::move(wanted);
}

std::vector<OpenPort> Ports::take_unwanted() {
  const auto keep = [&](const OpenPort& port) {
    const auto found = wanted_.find(port.config.number());
    return found != wanted_.end() && same(found->second.config, port.config) && !dead(port);
  };
  std::vector<OpenPort> kept;
  std::vector<OpenPort> unwanted;
  for (OpenPort& port : open_) (keep(port) ? kept : unwanted).push_back(std::move(port));
  open_ = std::move(kept);
  for (const OpenPort& port : unwanted)
    log("port {} ({}) closes", port.config.number(), port.config.device());
  return unwanted;
}

bool Ports::open_missing(const SteeringTables& tables, std::uint64_t now_ns) {
  bool opened = false;
  for (auto& [number, wanted] : wanted_) {
    if (is_open(number) || now_ns < wanted.next_try_ns) continue;
    const Status ready = prepare(wanted.config);
    auto port = ready ? open(wanted.config, tables) : Result<OpenPort>(ready.error());
    wanted.next_try_ns = now_ns + (ready ? wanted.pause.after_driver() : wanted.pause.after_absence());
    if (port) {
      log("port {} ({}) is open; the kernel sees it as {}", number, wanted.config.device(),
          port->kernel_interface);
      open_.push_back(std::move(*port));
      wanted.failure.clear();
      wanted.pause = {};
      wanted.next_try_ns = 0;  // should it close, it may open again at once
      opened = true;
    } else if (wanted.failure != port.error().message) {
      wanted.failure = port.error().message;
      log("port {} ({}) does not open, trying again: {}", number, wanted.config.device(), wanted.failure);
    }
  }
  return opened;
}

std::optional<std::uint64_t> Ports::next_try_ns() const {
  std::optional<std::uint64_t> next;
  for (const auto& [number, wanted] : wanted_) {
    if (!is_open(number) && (!next || wanted.next_try_ns < *next)) next = wanted.next_try_ns;
  }
  return next;
}

Status Ports::prepare(const forwarding::Port& config) {
  return config.driver() == forwarding::XDP_SOCKET ? detach_stale_program(config.device()) : Status(Done{});
}

Result<OpenPort> Ports::open(const forwarding::Port& config, const SteeringTables& tables) {
  const auto index = index_for(config.number());
  if (!index) return Error{fmt::format("more than {} ports", core::kMaxPorts)};
  const bool xdp = config.driver() == forwarding::XDP_SOCKET;
  const unsigned interface = interface_index(config.device());
  const DeviceSpec spec = device_spec(config, steering_file_);
  auto device = Device::open(spec.name, spec.arguments, buffers_);
  if (!device) return device.error();
  if (xdp && device->mtu() + kEthernetHeader > kLongestFrame) {
    return Error{
        fmt::format("its MTU is {}, at most {} fit", device->mtu(), kLongestFrame - kEthernetHeader)};
  }
  OpenPort port{.index = *index,
                .config = config,
                .kernel_interface = config.device(),
                .interface_index = interface,
                .program = {},
                .device = std::move(*device),
                .twin = {}};
  const Status done = xdp ? add_steering(port, tables) : add_twin(port);
  if (!done) return done.error();
  return port;
}

Status Ports::add_steering(OpenPort& port, const SteeringTables& tables) const {
  auto program = SteeringProgram::attached_to(port.config.device());
  if (!program) return program.error();
  port.program = std::move(*program);
  return port.program->update(tables);
}

Status Ports::add_twin(OpenPort& port) const {
  port.kernel_interface = fmt::format("hg{}", port.config.number());
  auto twin =
      Device::open(fmt::format("net_tap_hg{}", port.config.number()),
                   fmt::format("iface={},mac={}", port.kernel_interface, port.device.mac().text()), buffers_);
  if (!twin) return twin.error();
  twin->set_mtu(port.device.mtu());
  port.device.hear_all_multicast();
  port.twin = std::move(*twin);
  return Done{};
}

void Ports::steer(const SteeringTables& tables) {
  for (OpenPort& port : open_) {
    if (!port.program) continue;
    if (auto done = port.program->update(tables); !done) {
      log("port {}: {}", port.config.number(), done.error().message);
    }
  }
}

void Ports::remember(memory::Slots& slots) const {
  for (const auto& [number, index] : indices_) {
    memory::Port& port = *slots.add_port();
    port.set_number(number);
    port.set_index(index);
  }
}

void Ports::recall(const memory::Slots& slots) {
  for (const memory::Port& port : slots.port()) {
    if (port.index() < core::kMaxPorts) indices_[port.number()] = static_cast<core::PortIndex>(port.index());
  }
}

std::vector<PortNumber> Ports::by_index() const {
  std::vector<PortNumber> numbers;
  for (const OpenPort& port : open_) {
    if (numbers.size() <= port.index) numbers.resize(port.index + 1U);
    numbers[port.index] = {static_cast<std::uint16_t>(port.config.number())};
  }
  return numbers;
}

bool Ports::is_open(std::uint32_t number) const {
  return std::any_of(open_.begin(), open_.end(),
                     [&](const OpenPort& port) { return port.config.number() == number; });
}

std::optional<core::PortIndex> Ports::index_for(std::uint32_t number) {
  if (const auto found = indices_.find(number); found != indices_.end()) return found->second;
  // Full: forget the numbers that no port has now.
  if (indices_.size() == core::kMaxPorts) {
    std::erase_if(indices_, [&](const auto& entry) { return !is_open(entry.first); });
  }
  std::array<bool, core::kMaxPorts> taken{};
  for (const auto& [other, index] : indices_) taken[index] = true;
  const auto free = std::find(taken.begin(), taken.end(), false);
  if (free == taken.end()) return std::nullopt;
  const auto index = static_cast<core::PortIndex>(free - taken.begin());
  indices_[number] = index;
  return index;
}

void plan_ports(const Ports& ports, unsigned workers, Plan& plan) {
  for (const OpenPort& port : ports.open()) {
    plan.position[port.index] = static_cast<std::uint8_t>(plan.ports.size() + 1);
    plan.ports.push_back({.index = port.index,
                          .device = port.device.id(),
                          .twin = port.twin ? port.twin->id() : kNoDevice,
                          .worker = port.index % workers});
  }
}

}  // namespace headgate::shell
