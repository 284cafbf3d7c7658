// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/session_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace headgate::shell {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::array kMagic = {'H', 'G', 'S', 'E', 'S', 'S', '0', '1'};
/// A killed process may need a while to let go of its memory and queues.
constexpr auto kPatience = std::chrono::seconds(5);
constexpr auto kPause = std::chrono::milliseconds(5);

struct Header {
  std::array<char, 8> magic{};
  std::uint64_t fingerprint = 0;
  std::uint64_t workers = 0;
  std::uint64_t sessions = 0;
  std::uint64_t size = 0;
  std::uint64_t seed = 0;
  std::array<char, 40> boot{};  ///< ticks count from the boot
  std::uint64_t checksum = 0;   ///< of all before it
};
static_assert(sizeof(Header) <= kHugePage);

std::uint64_t checksum(const Header& header) noexcept {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&header);
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (std::size_t i = 0; i < offsetof(Header, checksum); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3;
  return hash;
}

std::array<char, 40> this_boot() {
  std::array<char, 40> id{};
  std::ifstream("/proc/sys/kernel/random/boot_id").read(id.data(), id.size() - 1);
  return id;
}

std::size_t rounded(std::size_t bytes) noexcept {
  return (bytes + kHugePage - 1) / kHugePage * kHugePage;
}

/// The header has a page of its own.
std::size_t size_of(const FileLayout& layout) {
  std::size_t size = kHugePage;
  for (const std::size_t part : layout.parts) size += rounded(part);
  return size;
}

Error failure(std::string_view what, const std::string& path) {
  return {fmt::format("{} {}: {}", what, path, std::strerror(errno))};
}

/// Why a file with this header can't be taken over.
Status check(const Header& header, const FileLayout& layout) {
  if (header.magic != kMagic || header.checksum != checksum(header)) return Error{"it has no whole header"};
  const Error other{"it has another layout than this program's"};
  if (header.fingerprint != layout.fingerprint) return other;
  if (header.workers != layout.workers || header.sessions != layout.sessions) {
    return Error{fmt::format("it is of {} workers with {} sessions each, not of {} with {}", header.workers,
                             header.sessions, layout.workers, layout.sessions)};
  }
  if (header.size != size_of(layout)) return other;
  if (header.boot != this_boot()) return Error{"it is of an earlier boot"};
  return Done{};
}

}  // namespace

// ---- Files

Result<SessionFile> SessionFile::take(const std::vector<FilePlace>& places, const std::string& name,
                                      const FileLayout& layout) {
  std::string refused;
  Error last{"there is no folder for the sessions"};
  for (const bool adopting : {true, false}) {
    for (const FilePlace& place : places) {
      if (adopting && !std::filesystem::exists(place.folder + "/" + name)) continue;
      auto file = open(place, name);
      if (!file) {
        last = file.error();
        if (adopting) return last;
        continue;
      }
      const Status done = adopting ? file->adopt(layout) : file->make(layout);
      if (done) {
        file->refused_ = refused;
        return file;
      }
      last = done.error();
      if (adopting) refused = fmt::format("{}: {}", file->path_, last.message);
      std::filesystem::remove(file->path_);
    }
  }
  return last;
}

Result<SessionFile> SessionFile::open(const FilePlace& place, const std::string& name) {
  std::error_code ignored;  // shows when the file is opened
  std::filesystem::create_directories(place.folder, ignored);
  SessionFile file;
  file.path_ = place.folder + "/" + name;
  file.huge_ = place.huge;
  file.file_ = Fd(::open(file.path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.file_) return failure("opening", file.path_);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (flock(file.file_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      return Error{fmt::format("{} is in use by another headgate-dataplane", file.path_)};
    }
    std::this_thread::sleep_for(kPause);
  }
  return file;
}

Status SessionFile::map(std::size_t size) {
  void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file_.get(), 0);
  if (at == MAP_FAILED) return failure("mapping", path_);
  memory_ = {static_cast<std::byte*>(at), size};
  madvise(at, size, MADV_HUGEPAGE);  // a wish
  return Done{};
}

Status SessionFile::adopt(const FileLayout& layout) {
  struct stat info {};
  if (fstat(file_.get(), &info) != 0) return failure("looking at", path_);
  const std::size_t size = size_of(layout);
  if (static_cast<std::size_t>(info.st_size) < kHugePage) return Error{"it has no whole header"};
  if (auto done = map(static_cast<std::size_t>(info.st_size)); !done) return done;
  if (auto done = check(*reinterpret_cast<const Header*>(memory_.data()), layout); !done) return done;
  if (memory_.size() != size) return Error{"its size is not what its header says"};
  lay_out(layout);
  survived_ = true;
  return Done{};
}

Status SessionFile::make(const FileLayout& layout) {
  const std::size_t size = size_of(layout);
  if (ftruncate(file_.get(), 0) != 0 || ftruncate(file_.get(), static_cast<off_t>(size)) != 0) {
    return failure("making", path_);
  }
  // Without the room, a store would end the process later.
  if (!huge_ && fallocate(file_.get(), 0, 0, static_cast<off_t>(size)) != 0) return failure("making", path_);
  if (auto done = map(size); !done) return done;
  Header header{.magic = kMagic,
                .fingerprint = layout.fingerprint,
                .workers = layout.workers,
                .sessions = layout.sessions,
                .size = size,
                .boot = this_boot()};
  if (getrandom(&header.seed, sizeof header.seed, 0) != sizeof header.seed) return Error{"no random numbers"};
  header.checksum = checksum(header);
  std::memcpy(memory_.data(), &header, sizeof header);
  lay_out(layout);
  return Done{};
}

void SessionFile::lay_out(const FileLayout& layout) {
  std::size_t at = kHugePage;
  for (const std::size_t part : layout.parts) {
    parts_.push_back(memory_.subspan(at, part));
    at += rounded(part);
  }
}

SessionFile::SessionFile(SessionFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::move(other.file_)),
      huge_(other.huge_),
      survived_(other.survived_),
      refused_(std::move(other.refused_)),
      memory_(std::exchange(other.memory_, {})),
      parts_(std::move(other.parts_)) {}

SessionFile::~SessionFile() {
  if (!memory_.empty()) munmap(memory_.data(), memory_.size());
}

std::span<std::byte> SessionFile::part(std::size_t number) const noexcept {
  return parts_[number];
}

std::uint64_t SessionFile::seed() const noexcept {
  return reinterpret_cast<const Header*>(memory_.data())->seed;
}

// ---- Places

namespace {

constexpr long kTmpfs = 0x01021994;

/// A mount of hugetlbfs with pages of 2 MiB; its options name the size of the pages.
std::string huge_mount(std::string_view mounts) {
  while (!mounts.empty()) {
    const std::string_view line = mounts.substr(0, mounts.find('\n'));
    mounts.remove_prefix(std::min(mounts.size(), line.size() + 1));
    const std::size_t path = line.find(' ') + 1;
    const std::size_t type = line.find(' ', path) + 1;
    const bool fits =
        line.substr(type).starts_with("hugetlbfs ") && line.find("pagesize=2M", type) != line.npos;
    if (fits) return std::string(line.substr(path, type - 1 - path));
  }
  return {};
}

bool on_memory(const std::string& folder) {
  struct statfs info {};
  return statfs(folder.c_str(), &info) == 0 && info.f_type == kTmpfs;
}

std::string mounts_of_this_machine() {
  std::ifstream file("/proc/mounts");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::vector<FilePlace> session_places(const std::string& configured, const std::string& run_dir, bool huge,
                                      std::string_view mounts) {
  if (!configured.empty()) {
    struct statfs info {};
    const bool on_huge = statfs(configured.c_str(), &info) == 0 && info.f_type == 0x958458f6;  // hugetlbfs
    return {{configured, on_huge}};
  }
  std::vector<FilePlace> places;
  if (const std::string mount = huge ? huge_mount(mounts) : ""; !mount.empty())
    places.push_back({mount, true});
  places.push_back({on_memory(run_dir) ? run_dir : "/dev/shm", false});
  return places;
}

std::vector<FilePlace> session_places(const std::string& configured, const std::string& run_dir, bool huge) {
  std::string mounts = mounts_of_this_machine();
  if (configured.empty() && huge && huge_mount(mounts).empty()) {
    const std::string own = run_dir + "/huge";
    std::error_code ignored;
    std::filesystem::create_directories(own, ignored);
    if (::mount("nodev", own.c_str(), "hugetlbfs", 0, "pagesize=2M") == 0) mounts = mounts_of_this_machine();
  }
  return session_places(configured, run_dir, huge, mounts);
}

}  // namespace headgate::shell
