// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/xdp_sockets.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <string>

namespace headgate::shell {

XdpSockets open_xdp_sockets() {
  XdpSockets sockets;
  std::error_code ignored;  // without /proc nothing is found, and nothing closed
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
    const std::string name = entry.path().filename();
    int fd = -1;
    std::from_chars(name.data(), name.data() + name.size(), fd);
    int domain = 0;
    socklen_t length = sizeof domain;
    struct stat about {};
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) != 0 || domain != AF_XDP) continue;
    if (fstat(fd, &about) == 0) sockets.emplace(fd, about.st_ino);
  }
  return sockets;
}

void close_leaked(const XdpSockets& sockets) {
  if (sockets.empty()) return;
  for (const auto& socket : open_xdp_sockets()) {
    if (sockets.contains(socket)) close(socket.first);
  }
}

}  // namespace headgate::shell
