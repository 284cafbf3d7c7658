// SPDX-License-Identifier: Apache-2.0
#include "model/schema.h"

#include <algorithm>
#include <charconv>
#include <deque>

#include <fmt/format.h>

#include "model/line.h"
#include "model/match.h"

namespace headgate::schema {
namespace {

using google::protobuf::FieldDescriptor;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::uint32_t number(std::string_view text) {
  std::uint32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// "0,5-65534" or "2-32768/2".
Range parse_range(std::string_view text) {
  Range range;
  if (text.empty()) return range;
  const auto parts = split(text, '/');
  if (parts.size() > 1) range.step = number(parts[1]);
  for (const auto span : split(parts[0], ',')) {
    const auto bounds = split(span, '-');
    range.spans.push_back({number(bounds.front()), number(bounds.back())});
  }
  return range;
}

config::Kind kind_of(const FieldDescriptor& field, const config::Word& word) {
  if (word.kind() != config::AUTOMATIC) return word.kind();
  if (field.type() == FieldDescriptor::TYPE_MESSAGE) return config::MENU;
  return field.type() == FieldDescriptor::TYPE_ENUM ? config::CHOICE : config::AUTOMATIC;
}

/// Builds the tree once. A deque, so that menus keep their addresses.
class Tree {
 public:
  Tree() {
    build(*config::Config::descriptor(), nullptr, "/cfg", config::ADMIN);
    for (Menu& menu : menus_) add_commands(menu);
    for (Menu& menu : menus_) add_alias_paths(menu);
  }
  [[nodiscard]] const Menu& root() const { return menus_.front(); }

 private:
  Menu& build(const google::protobuf::Descriptor& message, const Menu* parent, std::string path,
              config::Level level);
  Entry entry(const FieldDescriptor& field, Menu& menu, config::Level level);
  static std::vector<Entry> verbs_of(const google::protobuf::Descriptor& step);
  static void add_commands(Menu& menu);
  static void add_steps(Menu& menu, const Entry& entry);
  void add_alias_paths(const Menu& target);
  Menu* find(const std::vector<std::string_view>& words);

  std::deque<Menu> menus_;
  std::deque<Entry> keys_;
};

Menu& Tree::build(const google::protobuf::Descriptor& message, const Menu* parent, std::string path,
                  config::Level level) {
  const auto& notes = message.options().GetExtension(config::menu);
  Menu& menu = menus_.emplace_back();
  menu.path = std::move(path);
  menu.title = notes.title();
  menu.object = notes.object();
  menu.message = &message;
  menu.parent = parent;
  menu.entries.reserve(static_cast<std::size_t>(message.field_count()));
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    Entry made = entry(field, menu, level);
    if (field.options().GetExtension(config::word).key())
      menu.key = &keys_.emplace_back(std::move(made));
    else
      menu.entries.push_back(std::move(made));
  }
  return menu;
}

Entry Tree::entry(const FieldDescriptor& field, Menu& menu, config::Level level) {
  const auto& word = field.options().GetExtension(config::word);
  Entry entry;
  entry.word = word.has_word() ? word.word() : field.name();
  entry.aliases.assign(word.alias().begin(), word.alias().end());
  entry.kind = kind_of(field, word);
  entry.range = parse_range(word.range());
  entry.help = word.help();
  entry.label = word.has_label() ? word.label() : word.help();
  entry.unit = word.unit();
  entry.level = word.has_level() ? word.level() : level;
  entry.field = &field;
  entry.trailing = word.trailing();
  entry.behind_key = word.behind_key();
  entry.suffix = word.suffix();
  entry.unbuilt.assign(word.unbuilt().begin(), word.unbuilt().end());
  if (entry.kind == config::SUBSET) entry.within = field.containing_type()->FindFieldByName(word.within());
  if (entry.kind == config::MENU) {
    Menu& below = build(*field.message_type(), &menu, menu.path + "/" + entry.word, entry.level);
    below.alias_paths.assign(word.alias_path().begin(), word.alias_path().end());
    entry.menu = &below;
  }
  if (entry.kind == config::TUPLE)
    for (int i = 0; i < field.message_type()->field_count(); ++i)
      entry.arguments.push_back(this->entry(*field.message_type()->field(i), menu, entry.level));
  if (entry.kind == config::STEPS) entry.arguments = verbs_of(*field.message_type());
  return entry;
}

/// The verbs of STEPS, in the order of their enum.
std::vector<Entry> Tree::verbs_of(const google::protobuf::Descriptor& step) {
  std::vector<Entry> verbs;
  const auto& verb = *step.FindFieldByName("verb");
  for (int i = 0; i < verb.enum_type()->value_count(); ++i) {
    const auto& options = verb.enum_type()->value(i)->options();
    const auto& word = options.GetExtension(config::argument);
    Entry& made = verbs.emplace_back();
    made.word = options.GetExtension(config::keyword);
    made.kind = word.kind();
    made.range = parse_range(word.range());
    made.help = made.label = word.help();
    made.unit = word.unit();
    made.field = step.FindFieldByName("text");
  }
  return verbs;
}

void Tree::add_steps(Menu& menu, const Entry& entry) {
  for (const Entry& verb : entry.arguments)
    menu.commands.push_back({verb.word, Verb::append, &entry, false, &verb});
  menu.commands.push_back({entry.words().back(), Verb::drop, &entry});
}

void Tree::add_commands(Menu& menu) {
  std::vector<Command> aliases;
  for (const Entry& entry : menu.entries) {
    if (entry.kind == config::STEPS) {
      add_steps(menu, entry);
      continue;
    }
    const auto words = entry.words();
    const bool list = entry.field->is_repeated();
    const bool twin = words.size() == 2;
    const Verb first = entry.kind == config::MENU ? Verb::enter
                       : list                     ? Verb::add
                       : twin                     ? Verb::on
                                                  : Verb::set;
    menu.commands.push_back({words[0], first, &entry});
    if (twin) menu.commands.push_back({words[1], list ? Verb::remove : Verb::off, &entry});
    for (const auto& alias : entry.aliases) aliases.push_back({alias, first, &entry, true});
    const bool subset = entry.kind == config::SUBSET;
    if (entry.kind != config::STATE && !subset) continue;
    aliases.push_back({"enable", subset ? Verb::remove : Verb::on, &entry, true});
    aliases.push_back({"disable", subset ? Verb::add : Verb::off, &entry, true});
  }
  if (menu.key != nullptr) menu.commands.push_back({"del", Verb::erase, nullptr});
  std::ranges::move(aliases, std::back_inserter(menu.commands));
}

/// Where a menu's other path is not already made by an alias on the way, its last word becomes a command
/// there.
void Tree::add_alias_paths(const Menu& target) {
  for (const auto& path : target.alias_paths) {
    auto words = split(path, '/');
    const std::string last(words.back());
    words.pop_back();
    Menu* menu = find(words);
    if (menu == nullptr || menu->match(last).ok()) continue;
    const auto& siblings = target.parent->entries;
    const auto entry = std::ranges::find(siblings, &target, &Entry::menu);
    menu->commands.push_back({last, Verb::enter, &*entry, true});
  }
}

/// The menu of exact words, the first two being "" and "cfg".
Menu* Tree::find(const std::vector<std::string_view>& words) {
  Menu* menu = &menus_.front();
  for (std::size_t i = 2; i < words.size() && menu != nullptr; ++i) {
    const auto command = menu->match(words[i]);
    const Menu* next = command && command->verb == Verb::enter ? command->entry->menu : nullptr;
    const auto owned = std::ranges::find_if(menus_, [&](const Menu& m) { return &m == next; });
    menu = owned == menus_.end() ? nullptr : &*owned;
  }
  return menu;
}

}  // namespace

std::vector<std::string> Entry::words() const {
  if (kind == config::STATE) return {"ena", "dis"};
  if (kind == config::POWER) return {"on", "off"};
  if (kind == config::SUBSET) return {"dis", "ena"};
  if (kind == config::STEPS) {
    std::vector<std::string> words;
    for (const Entry& verb : arguments) words.push_back(verb.word);
    words.emplace_back("rem");
    return words;
  }
  if (kind == config::MEMBERS || (kind == config::TUPLE && field->is_repeated()))
    return {"add" + suffix, "rem" + suffix};
  return {word};
}

const Entry* Menu::find(std::string_view exact_word) const {
  const auto found = std::ranges::find(entries, exact_word, &Entry::word);
  return found == entries.end() ? nullptr : &*found;
}

const Entry* Menu::behind_key() const {
  const auto found = std::ranges::find(entries, true, &Entry::behind_key);
  return found == entries.end() ? nullptr : &*found;
}

const Entry* Menu::list_of(const Entry& subset) const {
  if (subset.within == nullptr) return nullptr;
  return &*std::ranges::find(entries, subset.within, &Entry::field);
}

Result<Command> Menu::match(std::string_view word) const {
  const auto found = match_word(commands, word, [](const auto& a, const auto& b) { return a.same(b); });
  if (!found) return found.error();
  if (*found != nullptr) return **found;
  return Error{fmt::format("unknown command \"{}\"", line::shown(word))};
}

const Menu& root() {
  static const Tree tree;
  return tree.root();
}

std::vector<const Menu*> way_to(const Menu& menu) {
  std::vector<const Menu*> way;
  for (const Menu* m = &menu; m->parent != nullptr; m = m->parent) way.push_back(m);
  std::ranges::reverse(way);
  return way;
}

std::string name_of(const Menu& menu, const std::vector<std::string>& keys) {
  std::string name;
  std::size_t next = 0;
  for (const Menu* m : way_to(menu)) {
    if (m->key == nullptr || next >= keys.size()) continue;
    const std::string one = fmt::format("{} {}", m->object, keys[next++]);
    name = name.empty() ? one : one + " of " + name;
  }
  return menu.key == nullptr ? menu.title : name;
}

}  // namespace headgate::schema
