// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "controlplane/config/files.h"
#include "controlplane/kernel/announce.h"
#include "controlplane/kernel/guard.h"
#include "controlplane/kernel/kernel.h"
#include "controlplane/kernel/netlink.h"
#include "controlplane/kernel/nft.h"

namespace headgate::kernel {
namespace {

using Sentences = std::vector<std::string>;
using Links = std::map<std::string, LinkInfo>;

/// A VIP is answered on the interface that has it and nowhere else; we ask with the address of the subnet.
/// For all interfaces, since one that is none of ours could answer for a VIP too (reports 92).
constexpr std::pair<const char*, const char*> kArpSettings[] = {
    {"/proc/sys/net/ipv4/conf/all/arp_ignore", "1"}, {"/proc/sys/net/ipv4/conf/all/arp_announce", "2"}};

void note(const Status& status, Sentences& sentences) {
  if (!status.ok()) sentences.push_back(status.error().message);
}

std::string device_of(const Link& link, const DeviceNames& names) {
  if (!link.device.empty()) return link.device;
  const auto found = names.find(link.port);
  return found == names.end() ? std::string() : found->second;
}

/// What can be placed now: on interfaces that exist.
struct Wanted {
  Placed placed;
  std::map<PlacedAddress, Address> origin;
};

class Linux final : public Kernel {
 public:
  Linux(std::unique_ptr<Netlink> netlink, std::string state_file)
      : netlink_(std::move(netlink)),
        state_file_(std::move(state_file)),
        owned_(read_owned(files::read(state_file_).value_or(""))) {}

  Sentences prepare(const Plan& next, const DeviceNames& names) override {
    Sentences sentences;
    Guard wide = next.guard;
    wide.vips.insert(plan_.guard.vips.begin(), plan_.guard.vips.end());
    wide.services.insert(plan_.guard.services.begin(), plan_.guard.services.end());
    for (const PlacedAddress& address : owned_.placed.addresses)
      if (address.prefix == address.address.bits()) wide.vips.insert(address.address);
    note(install(wide), sentences);
    links_up(next, names, sentences);
    return sentences;
  }

  Sentences apply(const Plan& plan, const DeviceNames& names) override {
    Sentences sentences = prepare(plan, names);
    plan_ = plan;
    const auto links = netlink_->links();
    const auto actual = netlink_->placed();
    if (!links || !actual) return {links ? actual.error().message : links.error().message};
    Wanted wanted = wanted_of(plan, names, *links, sentences);
    for (const std::string& device : without_link_local(wanted.placed, owned_.placed, *actual)) {
      const PlacedAddress placed = link_local(device, links->at(device).mac);
      wanted.placed.addresses.insert(placed);
      wanted.origin[placed] = {.address = placed.address, .prefix = placed.prefix};
    }
    const Changes changes = reconcile(wanted.placed, owned_.placed, *actual);
    own(changes, sentences);
    remove(changes.remove, *links, sentences);
    if (!wanted.placed.addresses.empty()) quiet_arp(sentences);
    for (const PlacedAddress& address : changes.cut_off) {
      const LinkInfo& link = links->at(address.device);
      if (link.up) note(netlink_->add_subnet(address, link.index), sentences);
    }
    add(changes.add, wanted, *links, sentences);
    owned_.placed = changes.owned;
    save(sentences);
    note(install(plan.guard), sentences);
    return sentences;
  }

  void announce(const Plan& plan, const DeviceNames& names, std::uint32_t port) override {
    for (const Address& address : plan.addresses)
      if (address.vip && address.link.port == port)
        announce_one(device_of(address.link, names), address.address);
  }

  std::map<Ip, Mac> neighbours() override {
    auto all = netlink_->neighbours();
    return all ? std::move(*all) : std::map<Ip, Mac>();
  }

  Mac mac_of(const std::string& device) override {
    const auto links = netlink_->links();
    const auto found = links ? links->find(device) : decltype(links->begin()){};
    return links && found != links->end() ? found->second.mac : Mac{};
  }

  Sentences withdraw() {
    Sentences sentences;
    const auto links = netlink_->links();
    if (!links) return {links.error().message};
    remove(owned_.placed, *links, sentences);
    for (const auto& [path, value] : owned_.sysctls)
      (void)files::overwrite(path, value);  // gone with its interface
    note(install({}), sentences);
    owned_ = {};
    save(sentences);
    return sentences;
  }

 private:
  /// Replaces the guard when it differs, or is no longer there (somebody flushed all of nftables).
  Status install(const Guard& guard) {
    if (installed_ == guard && (guard.empty() || guard_stands())) return Done{};
    Status done = run_nft(guard_commands(guard));
    if (done.ok()) installed_ = guard;
    return done;
  }

  void links_up(const Plan& plan, const DeviceNames& names, Sentences& sentences) {
    const auto links = netlink_->links();
    if (!links) return;
    for (const Link& link : plan.links) {
      const auto found = links->find(device_of(link, names));
      if (found != links->end() && !found->second.up) note(netlink_->set_up(found->second.index), sentences);
    }
  }

  /// The interface of an address. While nobody says what it is (the dataplane is not there), the one on which
  /// we have put that address before: a restart must not take it away.
  [[nodiscard]] std::string device_of_address(const Address& address, const DeviceNames& names) const {
    std::string device = device_of(address.link, names);
    for (const PlacedAddress& placed : owned_.placed.addresses)
      if (device.empty() && placed.address == address.address && placed.prefix == address.prefix)
        device = placed.device;
    return device;
  }

  [[nodiscard]] Wanted wanted_of(const Plan& plan, const DeviceNames& names, const Links& links,
                                 Sentences& sentences) const {
    Wanted wanted{{{}, plan.routes}, {}};
    for (const Address& address : plan.addresses) {
      const std::string device = device_of_address(address, names);
      if (!links.contains(device)) {
        sentences.push_back(fmt::format("address {} waits for the interface of port {}",
                                        address.address.text(), address.link.port));
        continue;
      }
      const PlacedAddress placed{device, address.address, address.prefix};
      wanted.placed.addresses.insert(placed);
      wanted.origin[placed] = address;
    }
    return wanted;
  }

  /// Notes what will be ours before it is done, so that a crash in between leaves nothing behind unknown.
  void own(const Changes& changes, Sentences& sentences) {
    Placed all = changes.owned;
    all.addresses.insert(changes.remove.addresses.begin(), changes.remove.addresses.end());
    all.routes.insert(changes.remove.routes.begin(), changes.remove.routes.end());
    owned_.placed = all;
    save(sentences);
  }

  void save(Sentences& sentences) {
    const std::string text = write_owned(owned_);
    if (text == saved_) return;
    const Status status = files::replace(state_file_, text);
    if (status.ok()) saved_ = text;
    note(status, sentences);
  }

  void remove(const Placed& what, const Links& links, Sentences& sentences) {
    for (const Route& route : what.routes) note(netlink_->remove(route), sentences);
    for (const PlacedAddress& address : what.addresses)
      if (const auto found = links.find(address.device); found != links.end())
        note(netlink_->remove(address, found->second.index), sentences);
  }

  void add(const Placed& what, const Wanted& wanted, const Links& links, Sentences& sentences) {
    // Interface addresses first: routes need their subnets, and a VIP is only announced where it is
    // reachable.
    for (const bool vips : {false, true})
      for (const PlacedAddress& placed : what.addresses) {
        const Address& address = wanted.origin.at(placed);
        if (address.vip != vips) continue;
        note(netlink_->add(placed, links.at(placed.device).index, address.broadcast), sentences);
        if (vips) announce_one(placed.device, placed.address);
      }
    for (const Route& route : what.routes) note(netlink_->add(route), sentences);
  }

  void announce_one(const std::string& device, const Ip& vip) {
    const Mac mac = mac_of(device);
    if (!mac.none()) (void)kernel::announce(device, vip, mac);  // the loopback has nobody to tell
  }

  void quiet_arp(Sentences& sentences) {
    for (const auto& [path, value] : kArpSettings) {
      std::string before = files::read(path).value_or("");
      while (!before.empty() && before.back() == '\n') before.pop_back();
      if (before >= value || before.empty()) continue;  // one digit; what is stricter stays
      owned_.sysctls.emplace(path, before);
      save(sentences);
      note(files::overwrite(path, value), sentences);
    }
  }

  std::unique_ptr<Netlink> netlink_;
  std::string state_file_;
  std::optional<std::string> saved_;
  Owned owned_;
  Plan plan_;
  std::optional<Guard> installed_;
};

Result<std::unique_ptr<Linux>> make_linux(std::string state_file) {
  auto netlink = Netlink::open();
  if (!netlink) return netlink.error();
  return std::make_unique<Linux>(std::move(*netlink), std::move(state_file));
}

}  // namespace

Result<std::unique_ptr<Kernel>> make_kernel(std::string state_file) {
  auto kernel = make_linux(std::move(state_file));
  if (!kernel) return kernel.error();
  return std::unique_ptr<Kernel>(std::move(*kernel));
}

std::vector<std::string> withdraw(const std::string& state_file) {
  auto kernel = make_linux(state_file);
  return kernel ? (*kernel)->withdraw() : std::vector<std::string>{kernel.error().message};
}

}  // namespace headgate::kernel
