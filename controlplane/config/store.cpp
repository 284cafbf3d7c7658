// SPDX-License-Identifier: Apache-2.0
#include "controlplane/config/store.h"

#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <boost/crc.hpp>

#include "controlplane/config/files.h"
#include "model/config_text.h"

namespace headgate::config {
namespace {

constexpr std::string_view kSeal = "/* checksum ";
constexpr std::string_view kBoot = "/* boot ";
constexpr std::string_view kGeneration = "/* generation ";

std::string checksum(const boost::crc_32_type& crc, std::size_t size) {
  return fmt::format("{:08x} over {} bytes", crc.checksum(), size);
}

std::string checksum(std::string_view text) {
  boost::crc_32_type crc;
  crc.process_bytes(text.data(), text.size());
  return checksum(crc, text.size());
}

/// The rest of the line that begins with `word`; empty when there is none.
std::string line_after(std::string_view text, std::string_view word) {
  const auto at = text.find(word);
  if (at == std::string_view::npos) return {};
  const auto begin = at + word.size();
  return std::string(text.substr(begin, text.find('\n', begin) - begin));
}

Result<std::string> read_sealed(const std::string& path) {
  const auto content = files::read(path);
  if (!content) return Error{"is missing"};
  return unsealed(*content);
}

Result<Config> parse(const std::string& text) {
  Config config;
  if (Status loaded = text::load(text, config); !loaded.ok()) return loaded.error();
  return config;
}

Result<Config> read_config(const std::string& path) {
  const auto text = read_sealed(path);
  if (!text) return text.error();
  return parse(*text);
}

}  // namespace

std::string sealed(std::string_view text) {
  return fmt::format("{}{}{}\n", text, kSeal, checksum(text));
}

Result<std::string> unsealed(std::string_view content) {
  const auto at = content.rfind(kSeal);
  if (content.empty()) return Error{"is empty"};
  if (at == std::string_view::npos)
    return Error{"has no checksum line: it is not whole, or was not written by this switch"};
  const std::string_view text = content.substr(0, at);
  if (content.substr(at + kSeal.size()) != checksum(text) + "\n") return Error{"does not match its checksum"};
  return std::string(text);
}

// ---- States

StatesWriter::StatesWriter(std::string path, std::string header)
    : path_(std::move(path)), header_(std::move(header)) {}

/// Messages one behind the other are one message with all that they repeat.
Status StatesWriter::append(const forwarding::States& states) {
  return write(std::exchange(header_, {}) + states.SerializeAsString());
}

Status StatesWriter::write(std::string_view text) {
  crc_.process_bytes(text.data(), text.size());
  const bool first = std::exchange(size_, size_ + text.size()) == 0;
  return first ? files::create_unsynced(beside(), text) : files::append_unsynced(beside(), text);
}

Status StatesWriter::finish() {
  const std::string seal = fmt::format("{}{}\n", kSeal, checksum(crc_, size_));
  if (Status sealed = files::append_unsynced(beside(), seal); !sealed.ok()) return sealed;
  return files::rename_unsynced(beside(), path_);
}

// ---- The store

Store::Store(std::string directory, std::string boot_id)
    : directory_(std::move(directory)), boot_id_(std::move(boot_id)) {}

std::string Store::path(std::string_view name) const {
  return fmt::format("{}/{}", directory_, name);
}

Store::Loaded Store::load() const {
  Loaded loaded;
  loaded.states = load_states();
  const auto complain = [&](std::string_view file, const Error& error, std::string_view instead) {
    loaded.sentences.push_back(fmt::format("{} {}; {}", path(file), error.message, instead));
  };
  const auto active = read_config(path("config.active"));
  if (active) loaded.saved = *active;
  if (!active && files::read(path("config.active"))) {
    complain("config.active", active.error(), "config.backup is taken instead");
    const auto backup = read_config(path("config.backup"));
    if (backup)
      loaded.saved = *backup;
    else
      complain("config.backup", backup.error(), "there is no configuration");
    loaded.lost = !backup;
  }
  loaded.running.config = loaded.saved;
  const auto text = read_sealed(path("config.running"));
  if (!text) {
    const bool damaged = files::read(path("config.running")).has_value();
    if (damaged) complain("config.running", text.error(), "the saved configuration is taken instead");
    const bool never_saved = !files::read(path("config.active"));
    loaded.lost = loaded.lost || (damaged && never_saved);
    return loaded;
  }
  const std::string generation = line_after(*text, kGeneration);
  std::from_chars(generation.data(), generation.data() + generation.size(), loaded.running.generation);
  if (line_after(*text, kBoot) != boot_id_) return loaded;  // a reboot loads what was saved
  const auto running = parse(*text);
  if (running) {
    loaded.running.config = *running;
    loaded.lost = false;
  } else {
    complain("config.running", running.error(), "the saved configuration is taken instead");
  }
  return loaded;
}

Status Store::stage_running(const Running& running) const {
  const std::string text = fmt::format("{}{}\n{}{}\n{}", kBoot, boot_id_, kGeneration, running.generation,
                                       text::dump(running.config));
  return files::replace(path("config.next"), sealed(text));
}

Status Store::adopt_running() const {
  return files::rename(path("config.next"), path("config.running"));
}

StatesWriter Store::states_writer() const {
  return {path("states"), fmt::format("{}{}\n", kBoot, boot_id_)};
}

/// Silent about a file that is not there, not of this boot, or not whole: probes find out all but the
/// operator's settings, and those the dataplane knows too.
std::optional<forwarding::States> Store::load_states() const {
  forwarding::States states;
  const auto text = read_sealed(path("states"));
  const std::string header = fmt::format("{}{}\n", kBoot, boot_id_);
  if (!text || !text->starts_with(header) || !states.ParseFromString(text->substr(header.size())))
    return std::nullopt;
  return states;
}

Status Store::save(const Config& config, Rotation rotation) const {
  const auto active = files::read(path("config.active"));
  const bool whole =
      active && unsealed(*active).ok();  // a broken file must not take the place of a good backup
  if (rotation == Rotation::into_backup && whole)
    if (Status rotated = files::replace(path("config.backup"), *active); !rotated.ok()) return rotated;
  return files::replace(path("config.active"), sealed(text::dump(config)));
}

}  // namespace headgate::config
