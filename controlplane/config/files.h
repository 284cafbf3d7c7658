// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/result.h"

// Whole small files.
namespace headgate::files {

/// The content; nothing when the file is missing or can't be read.
[[nodiscard]] std::optional<std::string> read(const std::string& path);

/// Replaces a file so that a crash at any moment leaves the old content or the new: written beside it,
/// synced, renamed over it, and the directory synced.
[[nodiscard]] Status replace(const std::string& path, std::string_view content);
/// Renames within a directory, and syncs it.
[[nodiscard]] Status rename(const std::string& from, const std::string& to);

/// The same as replace without syncing: survives the end of this process, not that of the machine.
[[nodiscard]] Status replace_unsynced(const std::string& path, std::string_view content);
/// Renames within a directory without syncing it.
[[nodiscard]] Status rename_unsynced(const std::string& from, const std::string& to);
/// A file of this content, or that follows what is there already; without syncing.
[[nodiscard]] Status create_unsynced(const std::string& path, std::string_view content);
[[nodiscard]] Status append_unsynced(const std::string& path, std::string_view content);

/// Writes into an existing file as it is, for those of /proc.
[[nodiscard]] Status overwrite(const std::string& path, std::string_view content);

/// Keeps a directory to this process for as long as it lives, however it ends (reports 116); the error says
/// that another headgated has it.
[[nodiscard]] Status claim(const std::string& directory);

/// Creates a directory and those above it.
[[nodiscard]] Status make_directory(const std::string& path);

}  // namespace headgate::files
