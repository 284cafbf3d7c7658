// SPDX-License-Identifier: Apache-2.0
#include "controlplane/action/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include <fmt/format.h>

namespace headgate::action {
namespace {

/// As the interface of C wants texts.
std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

class FileActions {
 public:
  FileActions() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addchdir_np(&actions_, "/");
    for (int file = 0; file <= STDERR_FILENO; ++file)
      posix_spawn_file_actions_addopen(&actions_, file, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
  }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

class Attributes {
 public:
  Attributes() {
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
  }
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  [[nodiscard]] const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

}  // namespace

Result<Process> start(const std::vector<std::string>& words, const std::vector<std::string>& environment) {
  Process process;
  const int error = posix_spawn(&process.id, words.front().c_str(), FileActions().get(), Attributes().get(),
                                pointers(words).data(), pointers(environment).data());
  if (error != 0) return Error{fmt::format("{}: {}", words.front(), std::strerror(error))};
  process.watch = static_cast<int>(syscall(SYS_pidfd_open, process.id, 0));
  if (process.watch >= 0) return process;
  const std::string why = std::strerror(errno);
  kill(-process.id, SIGKILL);
  waitpid(process.id, nullptr, 0);
  return Error{fmt::format("{} can't be watched: {}", words.front(), why)};
}

std::string failure_of(int status) {
  if (WIFSIGNALED(status)) return fmt::format("ended by signal {}", WTERMSIG(status));
  const int code = WEXITSTATUS(status);
  return code == 0 ? "" : fmt::format("ended with status {}", code);
}

}  // namespace headgate::action
