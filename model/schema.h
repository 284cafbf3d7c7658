// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <google/protobuf/descriptor.h>

#include "model/config.pb.h"
#include "model/line.h"
#include "model/result.h"

// Reads the annotations of config.proto once, at start, and serves them as a tree of menus. A contradiction
// in the annotations (a default outside of its range, two fields with one word) is found by a unit test.
namespace headgate::schema {

struct Menu;

/// The numbers that a setting accepts.
struct Range {
  struct Span {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
  };
  std::vector<Span> spans;
  std::uint32_t step = 1;  ///< 2: even numbers only

  [[nodiscard]] bool contains(std::uint32_t number) const;
  /// As error sentences print it: "1-48", "even numbers 2-32768", "0 or 5-65534".
  [[nodiscard]] std::string text() const;
};

/// One word of a menu: a setting, or the way into a sub-menu.
struct Entry {
  std::string word;
  std::vector<std::string> aliases;
  config::Kind kind = config::AUTOMATIC;  ///< never AUTOMATIC in the finished tree
  Range range;                            ///< of numbers, or of the length of a text
  std::string help;
  std::string label;
  std::string unit;
  config::Level level = config::ADMIN;
  const google::protobuf::FieldDescriptor* field = nullptr;
  const Menu* menu = nullptr;    ///< MENU only
  std::vector<Entry> arguments;  ///< of a TUPLE in order; of STEPS one for each verb, AUTOMATIC: none follows
  bool trailing = false;         ///< an argument that may be left out
  bool behind_key = false;       ///< may be typed right behind the menu's key
  std::string suffix;            ///< of a list: what its words have behind add and rem
  std::vector<std::string> unbuilt;                           ///< values that are refused as not built yet
  const google::protobuf::FieldDescriptor* within = nullptr;  ///< SUBSET only: the list it is part of

  /// Whether it is a list of numbers: MEMBERS or SUBSET.
  [[nodiscard]] bool numbers() const { return kind == config::MEMBERS || kind == config::SUBSET; }
  /// The words that may be typed for it: one, or two for STATE, POWER and lists, of which the first adds; of
  /// STEPS one for each verb, and the one that takes away.
  [[nodiscard]] std::vector<std::string> words() const;
  [[nodiscard]] bool keyed() const { return kind == config::MENU && field->is_repeated(); }
};

/// What a typed word does with its entry.
enum class Verb {
  enter,   ///< go into the menu
  set,     ///< followed by the value
  on,      ///< ena or on
  off,     ///< dis or off
  add,     ///< followed by a list member
  remove,  ///< followed by a list member
  append,  ///< a step to STEPS, followed by the verb's own argument
  drop,    ///< the last of STEPS
  erase,   ///< del: the object whose menu this is; no entry
};

/// One word that may be typed in a menu.
struct Command {
  std::string word;
  Verb verb = Verb::set;
  const Entry* entry = nullptr;  ///< null for `erase` only
  bool alias = false;            ///< another spelling: matched, but not listed
  const Entry* step = nullptr;   ///< of `append`: the argument of the verb

  /// Two spellings of one command are the same command.
  [[nodiscard]] bool same(const Command& other) const {
    return verb == other.verb && entry == other.entry && step == other.step;
  }
};

struct Menu {
  std::string path;    ///< of words from the root, without keys: "/cfg/slb/virt/service"
  std::string title;   ///< with {} and {parent}
  std::string object;  ///< "real server"
  const google::protobuf::Descriptor* message = nullptr;
  const Menu* parent = nullptr;
  const Entry* key = nullptr;  ///< null when there is just one
  std::vector<std::string> alias_paths;
  std::vector<Entry> entries;  ///< in the order of the file; the key is not among them

  std::vector<Command> commands;  ///< in the order of the entries; `del` after them, aliases last

  [[nodiscard]] const Entry* find(std::string_view exact_word) const;
  /// The setting whose value may be typed right behind the key; null when there is none.
  [[nodiscard]] const Entry* behind_key() const;
  /// The list that a SUBSET of this menu is part of; null for everything else.
  [[nodiscard]] const Entry* list_of(const Entry& subset) const;
  /// The command of an exact word or a unique prefix; else a sentence that quotes the word.
  [[nodiscard]] Result<Command> match(std::string_view word) const;
};

/// The menu of /cfg. Built on first use, lives as long as the program.
[[nodiscard]] const Menu& root();

/// The canonical text of one argument ("ena", "1-48" checked, "10.0.0.1"), or a sentence that names the
/// setting, the value and what is allowed. `what` names the setting: "weight of real server 1".
[[nodiscard]] Result<std::string> check(const Entry& entry, std::string_view argument, std::string_view what);

/// As check(), of a word as it was typed: an unquoted "none" stands for the empty text.
[[nodiscard]] Result<std::string> check(const Entry& entry, const line::Token& token, std::string_view what);

/// Whether a word behind the port of a service only says which application it is, as later releases write it:
/// "service 80 http".
[[nodiscard]] bool names_application(std::string_view word);

/// What an argument may be, as error sentences print it: "1-48", "ena or dis", "an IPv4 or IPv6 address".
[[nodiscard]] std::string allowed(const Entry& entry);
/// The sentence about an argument that is missing; `what` names the setting.
[[nodiscard]] std::string missing(const Entry& entry, std::string_view what);

/// What an error sentence calls a menu: "real server 1", "service http of virtual server 1", "Layer 4
/// Advanced". `keys` are those of the keyed menus on the way, outermost first.
[[nodiscard]] std::string name_of(const Menu& menu, const std::vector<std::string>& keys);

/// The menus from the root to this one, without the root.
[[nodiscard]] std::vector<const Menu*> way_to(const Menu& menu);

/// The keywords of an enum, in its order.
[[nodiscard]] std::vector<std::string> keywords(const google::protobuf::EnumDescriptor& type);

/// All texts a choice, flag or well-known port accepts, for completion; empty for free values.
[[nodiscard]] std::vector<std::string> candidates(const Entry& entry);

}  // namespace headgate::schema
