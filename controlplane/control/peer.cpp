// SPDX-License-Identifier: Apache-2.0
#include "controlplane/control/server.h"

#include <grp.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace headgate::control {
namespace {

std::optional<gid_t> group_id(const char* name) {
  char memory[16 * 1024];
  group entry{};
  group* found = nullptr;
  if (getgrnam_r(name, &entry, memory, sizeof memory, &found) != 0 || found == nullptr) return std::nullopt;
  return found->gr_gid;
}

std::vector<gid_t> groups_of(int socket, gid_t primary) {
  std::vector<gid_t> groups(64 * 1024 / sizeof(gid_t));
  auto length = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
  if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &length) != 0) length = 0;
  groups.resize(length / sizeof(gid_t));
  groups.push_back(primary);
  return groups;
}

}  // namespace

Peer peer_of(int socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return {~0u, config::USER};
  if (credentials.uid == 0) return {0, config::ADMIN};
  const std::vector<gid_t> groups = groups_of(socket, credentials.gid);
  const auto member = [&](const char* name) {
    const auto id = group_id(name);
    return id && std::ranges::count(groups, *id) != 0;
  };
  if (member("headgate")) return {credentials.uid, config::ADMIN};
  return {credentials.uid, member("headgate-oper") ? config::SLBOPER : config::USER};
}

}  // namespace headgate::control
