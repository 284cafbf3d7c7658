// SPDX-License-Identifier: Apache-2.0
#include "controlplane/config/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

namespace headgate::files {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

Error failure(std::string_view verb, const std::string& path) {
  return {fmt::format("can't {} {}: {}", verb, path, std::strerror(errno))};
}

bool write_all(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

enum class Durability { process, machine };

Status write_file(const std::string& path, int flags, std::string_view content, Durability durability) {
  const Descriptor file(open(path.c_str(), flags | O_WRONLY | O_CLOEXEC, 0600));
  if (file.number() < 0) return failure("open", path);
  if (!write_all(file.number(), content)) return failure("write", path);
  if (durability == Durability::machine && fsync(file.number()) != 0) return failure("sync", path);
  return Done{};
}

Status sync_directory_of(const std::string& path) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  const Descriptor folder(
      open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.number() < 0 || fsync(folder.number()) != 0) return failure("sync", directory);
  return Done{};
}

}  // namespace

std::optional<std::string> read(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) return std::nullopt;
  std::string content;
  char bytes[16 * 1024];
  ssize_t length = 0;
  while ((length = ::read(file.number(), bytes, sizeof bytes)) > 0)
    content.append(bytes, static_cast<std::size_t>(length));
  return length < 0 ? std::nullopt : std::optional(content);
}

Status replace(const std::string& path, std::string_view content) {
  const std::string beside = path + ".new";
  if (Status written = write_file(beside, O_CREAT | O_TRUNC, content, Durability::machine); !written.ok())
    return written;
  return rename(beside, path);
}

Status replace_unsynced(const std::string& path, std::string_view content) {
  const std::string beside = path + ".new";
  if (Status written = create_unsynced(beside, content); !written.ok()) return written;
  return rename_unsynced(beside, path);
}

Status rename(const std::string& from, const std::string& to) {
  if (Status renamed = rename_unsynced(from, to); !renamed.ok()) return renamed;
  return sync_directory_of(to);
}

Status rename_unsynced(const std::string& from, const std::string& to) {
  return std::rename(from.c_str(), to.c_str()) == 0 ? Status(Done{}) : failure("rename to", to);
}

Status create_unsynced(const std::string& path, std::string_view content) {
  return write_file(path, O_CREAT | O_TRUNC, content, Durability::process);
}

Status append_unsynced(const std::string& path, std::string_view content) {
  return write_file(path, O_APPEND, content, Durability::process);
}

Status overwrite(const std::string& path, std::string_view content) {
  return write_file(path, 0, content, Durability::process);
}

Status claim(const std::string& directory) {
  const std::string path = directory + "/headgated.lock";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return failure("open", path);
  // Stays open: the kernel lets go of it with the process, so that a stale lock can't exist.
  if (flock(file, LOCK_EX | LOCK_NB) == 0) return Done{};
  const int error = errno;
  close(file);
  if (error == EWOULDBLOCK) return Error{fmt::format("another headgated is at work in {}", directory)};
  return Error{fmt::format("can't lock {}: {}", path, std::strerror(error))};
}

Status make_directory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return Error{fmt::format("can't create {}: {}", path, error.message())};
  return Done{};
}

}  // namespace headgate::files
