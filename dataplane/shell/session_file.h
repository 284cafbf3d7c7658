// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/shell/fd.h"
#include "model/result.h"

namespace headgate::shell {

/// What a file has to agree on with the program that takes it over.
struct FileLayout {
  std::uint64_t fingerprint = 0;  ///< of the types that lie in it
  unsigned workers = 1;           ///< a session is its worker's, by a hash over their number
  std::uint64_t sessions = 0;     ///< for each worker
  std::vector<std::size_t>
      parts;  ///< bytes of each; they follow each other, each at a boundary of a huge page
};

/// A folder that may hold the file, and whether its files lie on huge pages.
struct FilePlace {
  std::string folder;
  bool huge = false;
  bool operator==(const FilePlace&) const = default;
};

/// Memory that outlasts the process: a file of a memory file system, shared with whoever starts next.
///
/// Killed at any instruction, a process leaves exactly the stores it made; nobody but the next one looks at
/// them. One process at a time uses a file: a second one is refused, and one that starts while its
/// predecessor still ends waits for it.
class SessionFile {
 public:
  /// Takes over the file of `name` in one of `places`, the first that has a usable one, or makes an empty one
  /// in the first that has the room. All of its memory is there when it returns.
  [[nodiscard]] static Result<SessionFile> take(const std::vector<FilePlace>& places, const std::string& name,
                                                const FileLayout& layout);
  SessionFile(SessionFile&& other) noexcept;
  SessionFile& operator=(SessionFile&&) = delete;
  ~SessionFile();

  /// Zeroed, unless survived().
  [[nodiscard]] std::span<std::byte> part(std::size_t number) const noexcept;
  /// Random since the file was made.
  [[nodiscard]] std::uint64_t seed() const noexcept;
  /// Whether the content is that of a process before.
  [[nodiscard]] bool survived() const noexcept { return survived_; }
  /// Why a file that was there is not used; empty: none was, or it is.
  [[nodiscard]] const std::string& refused() const noexcept { return refused_; }
  [[nodiscard]] bool huge() const noexcept { return huge_; }
  [[nodiscard]] std::size_t size() const noexcept { return memory_.size(); }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  SessionFile() = default;
  [[nodiscard]] static Result<SessionFile> open(const FilePlace& place, const std::string& name);
  [[nodiscard]] Status map(std::size_t size);
  /// Maps what is there; an error tells why it can't be used.
  [[nodiscard]] Status adopt(const FileLayout& layout);
  [[nodiscard]] Status make(const FileLayout& layout);
  void lay_out(const FileLayout& layout);

  std::string path_;
  Fd file_;  ///< carries the lock
  bool huge_ = false;
  bool survived_ = false;
  std::string refused_;
  std::span<std::byte> memory_;
  std::vector<std::span<std::byte>> parts_;
};

/// Where sessions are kept: in `configured` alone if that is not empty; else on a mount of hugetlbfs with
/// pages of 2 MiB, as `mounts` (the text of /proc/mounts) has it, if `huge`; else in `run_dir` if that is on
/// a memory file system, else in /dev/shm.
[[nodiscard]] std::vector<FilePlace> session_places(const std::string& configured, const std::string& run_dir,
                                                    bool huge, std::string_view mounts);

/// The same on this machine; mounts hugetlbfs at `run_dir`/huge when there is none and huge pages are there.
[[nodiscard]] std::vector<FilePlace> session_places(const std::string& configured, const std::string& run_dir,
                                                    bool huge);

}  // namespace headgate::shell
