// SPDX-License-Identifier: Apache-2.0
// What outlasts the process of the director's side: which slot stands for what, and where counts began.
#include <algorithm>
#include <cstring>

#include "dataplane/core/director.h"

namespace headgate::core {
namespace {

std::string octets(const Ip& address) {
  return {reinterpret_cast<const char*>(address.octets.data()), address.octets.size()};
}

Ip address(const std::string& octets) {
  Ip out;
  std::memcpy(out.octets.data(), octets.data(), std::min(octets.size(), out.octets.size()));
  return out;
}

}  // namespace

memory::Slots Director::slots() const {
  memory::Slots out;
  add_bindings(out);
  for (const auto& [key, info] : tallies_) {
    memory::Tally& tally = *out.add_tally();
    tally.set_slot(info.slot);
    tally.set_kind(static_cast<std::uint32_t>(std::get<0>(key)));
    tally.set_first(std::get<1>(key));
    tally.set_second(std::get<2>(key));
    tally.set_packets(info.retired.packets);
    tally.set_octets(info.retired.octets);
    tally.set_opened(info.retired.opened);
  }
  *out.mutable_base() = base_;
  return out;
}

void Director::add_bindings(memory::Slots& out) const {
  for (const auto& [key, slot] : slots_) {
    memory::Binding& binding = *out.add_binding();
    binding.set_slot(slot);
    binding.set_virt(key.virt);
    binding.set_vport(key.vport);
    binding.set_protocol(key.protocol);
    binding.set_group(key.group);
    binding.set_real(key.real);
    binding.set_rport(key.rport);
    binding.set_vip(octets(key.vip));
    binding.set_rip(octets(key.rip));
    binding.set_packets(bound_[slot].base.packets);
    binding.set_octets(bound_[slot].base.octets);
    binding.set_opened(bound_[slot].base.opened);
  }
}

void Director::recall(const memory::Slots& slots) {
  for (const memory::Binding& binding : slots.binding()) recall(binding);
  std::vector<bool> taken(kMaxTallies);
  for (const memory::Tally& tally : slots.tally()) {
    if (tally.slot() < kMaxTallies && !taken[tally.slot()]) taken[tally.slot()] = recall(tally);
  }
  std::erase_if(free_tallies_, [&](TallySlot slot) { return taken[slot]; });
  std::erase_if(free_, [&](BindingSlot slot) {
    const auto found = slots_.find(bound_[slot].key);
    return found != slots_.end() && found->second == slot;
  });
  for (const BindingSlot slot : free_) {
    if (!held(slot)) continue;
    bound_[slot].base = sums(slot);
    lingering_.push_back(slot);
  }
  base_ = slots.base();
  base_.mutable_fate()->Resize(kFates, 0);
  close_unknown();
}

// A binding that the memory knows by other addresses was given away after this was stored, and had no
// session.
void Director::recall(const memory::Binding& binding) {
  const BindingKey key{.virt = binding.virt(),
                       .vport = binding.vport(),
                       .protocol = binding.protocol(),
                       .group = binding.group(),
                       .real = binding.real(),
                       .rport = binding.rport(),
                       .vip = address(binding.vip()),
                       .rip = address(binding.rip())};
  if (binding.slot() >= kMaxBindings) return;
  const auto slot = static_cast<BindingSlot>(binding.slot());
  const Shared::Binding& words = shared_.bindings[slot];
  const bool same = words.vip() == key.vip && words.vport() == key.vport && words.rip() == key.rip &&
                    words.rport() == key.rport;
  if (!same || !slots_.emplace(key, slot).second) return;
  bound_[slot] = {.key = key, .base = sums(slot), .reported = sums(slot)};
  bound_[slot].octets_told = bound_[slot].reported.octets;
  bound_[slot].was_open = shared_.state(slot).admission != forwarding::CLOSED;
  bound_[slot].base.packets = std::min(binding.packets(), bound_[slot].base.packets);
  bound_[slot].base.octets = std::min(binding.octets(), bound_[slot].base.octets);
  bound_[slot].base.opened = std::min(binding.opened(), bound_[slot].base.opened);
}

bool Director::recall(const memory::Tally& tally) {
  const TallyKey key{static_cast<char>(tally.kind()), tally.first(), tally.second()};
  const TallyInfo info{
      .slot = tally.slot(),
      .retired = {.packets = tally.packets(), .octets = tally.octets(), .opened = tally.opened()}};
  return tallies_.emplace(key, info).second;
}

// Of a slot that nobody knows the meaning of, no session may go on.
void Director::close_unknown() {
  for (const BindingSlot slot : free_) {
    if (shared_.state(slot).admission != forwarding::CLOSED) shared_.admit(slot, forwarding::CLOSED);
  }
}

}  // namespace headgate::core
