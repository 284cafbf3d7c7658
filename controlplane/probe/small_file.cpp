// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include <fmt/format.h>

namespace headgate::probe {
namespace {

Error unreadable(const std::string& path) {
  return Error{fmt::format("cannot read {}: {}", path, std::generic_category().message(errno))};
}

Error too_large(const std::string& path) {
  return Error{fmt::format("{} is too large; at most 1 MiB is allowed", path)};
}

/// Files of the kernel have no size before they are read.
headgate::Result<std::string> read_open(int file, const std::string& path) {
  struct stat about {};
  if (fstat(file, &about) != 0) return unreadable(path);
  if (!S_ISREG(about.st_mode)) return Error{path + " is no regular file; only those are read"};
  if (static_cast<std::size_t>(about.st_size) > kLargestFile) return too_large(path);
  std::string content;
  std::array<char, 16384> bytes;
  for (;;) {
    const ssize_t length = read(file, bytes.data(), bytes.size());
    if (length < 0) return unreadable(path);
    if (length == 0) return content;
    content.append(bytes.data(), static_cast<std::size_t>(length));
    if (content.size() > kLargestFile) return too_large(path);
  }
}

}  // namespace

headgate::Result<std::string> read_small_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (file < 0) return unreadable(path);
  auto content = read_open(file, path);
  close(file);
  return content;
}

}  // namespace headgate::probe
