// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/steering_program.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <net/if.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace headgate::shell {
namespace {

constexpr std::uint8_t kPresent = 1;

Error failure(std::string_view what) {
  return {fmt::format("{}: {}", what, std::strerror(errno))};
}

steering_address on_wire(const Ip& address) noexcept {
  steering_address wire{};
  std::memcpy(wire.words, address.octets.data(), sizeof wire.words);
  return wire;
}

steering_service on_wire(const ServiceKey& key) noexcept {
  return {on_wire(key.address), htons(key.port), key.protocol, 0};
}

template <class Key>
Status add(int map, const std::set<Key>& from, const std::set<Key>& to, std::string_view name) {
  for (const Key& key : to) {
    if (from.contains(key)) continue;
    const auto wire = on_wire(key);
    if (bpf_map_update_elem(map, &wire, &kPresent, BPF_ANY) != 0) {
      return failure(fmt::format("steering map {} takes no more", name));
    }
  }
  return Done{};
}

template <class Key>
void remove(int map, const std::set<Key>& from, const std::set<Key>& to) {
  for (const Key& key : from) {
    if (to.contains(key)) continue;
    const auto wire = on_wire(key);
    bpf_map_delete_elem(map, &wire);  // fails only when it is gone already
  }
}

struct Attached {
  Fd program;
  std::string name;
};

/// The program on an interface; its descriptor is empty when there is none.
Result<Attached> attached_program(const std::string& interface) {
  const unsigned index = if_nametoindex(interface.c_str());
  if (index == 0) return Error{fmt::format("there is no interface {}", interface)};
  __u32 id = 0;
  if (bpf_xdp_query_id(static_cast<int>(index), 0, &id) != 0) return failure("XDP program of " + interface);
  if (id == 0) return Attached{};
  Attached attached{Fd(bpf_prog_get_fd_by_id(id)), {}};
  if (!attached.program) return failure("XDP program of " + interface);
  bpf_prog_info info{};
  __u32 length = sizeof info;
  if (bpf_obj_get_info_by_fd(attached.program.get(), &info, &length) != 0) return failure("XDP program");
  attached.name = info.name;
  return attached;
}

}  // namespace

unsigned interface_index(const std::string& interface) {
  return if_nametoindex(interface.c_str());
}

Status detach_stale_program(const std::string& interface) {
  const auto attached = attached_program(interface);
  if (!attached) return attached.error();
  if (!attached->program) return Done{};
  if (attached->name != STEERING_PROGRAM) {
    return Error{
        fmt::format("interface {} carries the XDP program {} of somebody else", interface, attached->name)};
  }
  if (bpf_xdp_detach(static_cast<int>(if_nametoindex(interface.c_str())), 0, nullptr) != 0) {
    return failure("detaching a stale XDP program from " + interface);
  }
  return Done{};
}

Result<SteeringProgram> SteeringProgram::attached_to(const std::string& interface) {
  auto attached = attached_program(interface);
  if (!attached) return attached.error();
  if (attached->name != STEERING_PROGRAM) {
    return Error{fmt::format("interface {} does not carry the steering program", interface)};
  }
  return from(attached->program.get());
}

Result<SteeringProgram> SteeringProgram::from(int program_fd) {
  std::array<__u32, 16> ids{};
  bpf_prog_info info{};
  info.nr_map_ids = ids.size();
  info.map_ids = reinterpret_cast<std::uintptr_t>(ids.data());
  __u32 length = sizeof info;
  if (bpf_obj_get_info_by_fd(program_fd, &info, &length) != 0) return failure("maps of the steering program");

  SteeringProgram program;
  program.id_ = info.id;
  for (std::size_t i = 0; i < std::min<std::size_t>(info.nr_map_ids, ids.size()); ++i) {
    Fd map(bpf_map_get_fd_by_id(ids[i]));
    bpf_map_info about{};
    __u32 size = sizeof about;
    if (!map || bpf_obj_get_info_by_fd(map.get(), &about, &size) != 0) return failure("a steering map");
    const std::string_view name = about.name;
    if (name == "vips") program.vips_ = std::move(map);
    if (name == "services") program.services_ = std::move(map);
    if (name == "locals") program.locals_ = std::move(map);
    if (name == "ready") program.ready_ = std::move(map);
  }
  if (!program.vips_ || !program.services_ || !program.locals_ || !program.ready_) {
    return Error{"the steering program lacks a map: is the object file of this version?"};
  }
  return program;
}

bool SteeringProgram::is_on(const std::string& interface) const noexcept {
  __u32 id = 0;
  const bool known = bpf_xdp_query_id(static_cast<int>(if_nametoindex(interface.c_str())), 0, &id) == 0;
  return !known || id == id_;
}

Status SteeringProgram::update(const SteeringTables& tables) {
  if (open_ && tables == current_) return Done{};
  if (auto done = add(locals_.get(), current_.locals, tables.locals, "locals"); !done) return done;
  if (auto done = add(vips_.get(), current_.vips, tables.vips, "vips"); !done) return done;
  if (auto done = add(services_.get(), current_.services, tables.services, "services"); !done) return done;
  remove(services_.get(), current_.services, tables.services);
  remove(vips_.get(), current_.vips, tables.vips);
  remove(locals_.get(), current_.locals, tables.locals);
  current_ = tables;

  const __u32 key = 0;
  const __u32 open = 1;
  if (!open_ && bpf_map_update_elem(ready_.get(), &key, &open, BPF_ANY) != 0) return failure("steering gate");
  open_ = true;
  return Done{};
}

}  // namespace headgate::shell
