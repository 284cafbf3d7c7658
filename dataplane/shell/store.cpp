// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/store.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "dataplane/shell/fd.h"

namespace headgate::shell {
namespace {

constexpr const char* kGeneration = "forwarding.generation";
constexpr const char* kStates = "forwarding.states";
constexpr const char* kSlots = "forwarding.slots";
/// The number is that of the messages' meaning: what an older build stored is not guessed at.
constexpr std::string_view kKind = "HGFW";
constexpr std::string_view kMagic = "HGFW0002";
constexpr std::size_t kHeader = kMagic.size() + 8;

/// FNV-1a: finds damage, not malice; who can write here is root anyway.
std::uint64_t checksum(std::string_view bytes) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<std::uint8_t>(byte)) * 0x100000001b3;
  return hash;
}

/// What stands in the place of the magic, fit for a log.
std::string version_text(std::string_view bytes) {
  std::string text(bytes.substr(0, kMagic.size()));
  std::ranges::replace_if(
      text, [](char byte) { return byte < '0' || byte > 'z'; }, '?');
  return text;
}

Error failure(std::string_view what, const std::string& path) {
  return {fmt::format("{} {}: {}", what, path, std::strerror(errno))};
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// The whole content of an open file; false, with errno set, when it can't be read.
bool read_all(int fd, std::string& content) {
  std::array<char, 65536> part;
  while (true) {
    const ssize_t got = ::read(fd, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    content.append(part.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

Status Store::write(const std::string& name, const std::string& content) const {
  std::error_code ignored;  // shows when the file is opened
  std::filesystem::create_directories(folder_, ignored);
  const std::string path = folder_ + "/" + name;
  const std::string aside = path + ".new";
  const std::uint64_t sum = checksum(content);
  std::string header(kMagic);
  header.append(reinterpret_cast<const char*>(&sum), sizeof sum);

  const Fd file(::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file || !write_all(file.get(), header) || !write_all(file.get(), content) || fsync(file.get()) != 0) {
    return failure("writing", aside);
  }
  if (rename(aside.c_str(), path.c_str()) != 0) return failure("replacing", path);
  const Fd folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || fsync(folder.get()) != 0) return failure("syncing", folder_);
  return Done{};
}

Result<std::optional<std::string>> Store::read(const std::string& name) const {
  const std::string path = folder_ + "/" + name;
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return std::optional<std::string>{};
  std::string bytes;
  if (!file || !read_all(file.get(), bytes)) return failure("reading", path);
  const Error damaged{fmt::format("{} is damaged", path)};
  if (bytes.size() < kHeader || !bytes.starts_with(kKind)) return damaged;
  if (!bytes.starts_with(kMagic)) {
    return Error{fmt::format("{} is of version {}, this build knows {}: started without it", path,
                             version_text(bytes), kMagic)};
  }
  std::uint64_t sum = 0;
  std::memcpy(&sum, bytes.data() + kMagic.size(), sizeof sum);
  std::string content = bytes.substr(kHeader);
  if (checksum(content) != sum) return damaged;
  return std::optional(std::move(content));
}

template <class Message>
Result<std::optional<Message>> Store::load(const std::string& name) const {
  const auto content = read(name);
  if (!content) return content.error();
  if (!content->has_value()) return std::optional<Message>{};
  Message message;
  if (!message.ParseFromString(**content)) return Error{fmt::format("{}/{} is damaged", folder_, name)};
  return std::optional(std::move(message));
}

Status Store::save(const forwarding::Generation& generation) const {
  return write(kGeneration, generation.SerializeAsString());
}
Status Store::save(const forwarding::States& states) const {
  return write(kStates, states.SerializeAsString());
}
Status Store::save(const memory::Slots& slots) const {
  return write(kSlots, slots.SerializeAsString());
}
Result<std::optional<memory::Slots>> Store::slots() const {
  return load<memory::Slots>(kSlots);
}
Result<std::optional<forwarding::Generation>> Store::generation() const {
  return load<forwarding::Generation>(kGeneration);
}
Result<std::optional<forwarding::States>> Store::states() const {
  return load<forwarding::States>(kStates);
}

}  // namespace headgate::shell
