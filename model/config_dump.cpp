// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "model/config_text.h"
#include "model/field_access.h"
#include "model/schema.h"

namespace headgate::text {
namespace {

using google::protobuf::Message;
using schema::Entry;
using schema::Menu;

/// Writes the edits between two configurations, menu by menu in the order of the schema. A dump is what leads
/// from the empty configuration to the given one.
class Writer {
 public:
  /// `from` is null when the object is new.
  void menu(const Menu& menu, const std::string& path, const Message* from, const Message& to);
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  void settings(const Menu& menu, const Message& from, const Message& to);
  void steps(const Entry& entry, const Message& from, const Message& to);
  void list(const Menu& menu, const Entry& entry, const Message& from, const Message& to);
  void objects(const Entry& entry, const std::string& path, const Message& from, const Message& to);
  void line(const std::string& words);

  std::string text_;
  std::string header_;  ///< still to be written before the next line
};

void Writer::line(const std::string& words) {
  text_ += header_ + "\t" + words + "\n";
  header_.clear();
}

/// The entry whose default a dump writes out for an object that has nothing else to say. Without that line
/// the object would not come into being: a header alone makes none.
const Entry& sample(const Menu& menu) {
  const auto found = std::ranges::find_if(menu.entries, [](const Entry& entry) {
    return entry.kind == config::STATE || entry.kind == config::FLAG || entry.kind == config::CHOICE ||
           entry.kind == config::CHECK || entry.kind == config::NUMBER;
  });
  return found != menu.entries.end() ? *found : *std::ranges::find(menu.entries, config::TEXT, &Entry::kind);
}

/// "ena", or "weight 5".
std::string setting(const Message& message, const Entry& entry) {
  if (entry.kind == config::STATE || entry.kind == config::POWER) return dump_of(message, entry);
  return entry.word + " " + dump_of(message, entry);
}

/// What a list no longer holds is gone from its subsets, too, and needs no line there.
void Writer::list(const Menu& menu, const Entry& entry, const Message& from, const Message& to) {
  const auto before = list_of(from, entry);
  const auto after = list_of(to, entry);
  const std::set<std::string> kept(after.begin(), after.end());
  const std::set<std::string> known(before.begin(), before.end());
  const Entry* whole = menu.list_of(entry);
  for (const auto& text : before)
    if (!kept.contains(text) && (whole == nullptr || contains(to, *whole, {text})))
      line(entry.words()[1] + " " + text);
  for (const auto& text : after)
    if (!known.contains(text)) line(entry.words()[0] + " " + text);
}

/// Steps have an order, and can only be taken away from the end.
void Writer::steps(const Entry& entry, const Message& from, const Message& to) {
  const auto before = list_of(from, entry);
  const auto after = list_of(to, entry);
  const auto [old_rest, new_rest] = std::ranges::mismatch(before, after);
  for (auto gone = old_rest; gone != before.end(); ++gone) line(entry.words().back());
  for (auto made = new_rest; made != after.end(); ++made) line(*made);
}

void Writer::settings(const Menu& menu, const Message& from, const Message& to) {
  for (const Entry& entry : menu.entries) {
    if (entry.kind == config::MENU) continue;
    if (entry.kind == config::STEPS)
      steps(entry, from, to);
    else if (entry.field->is_repeated())
      list(menu, entry, from, to);
    else if (dump_of(from, entry) != dump_of(to, entry))
      line(setting(to, entry));
  }
}

/// Both sides are in the order of their keys.
void Writer::objects(const Entry& entry, const std::string& path, const Message& from, const Message& to) {
  const auto& reflect = *to.GetReflection();
  const auto header = [&](const Message& object) {
    return fmt::format("{}/{} {}", path, entry.word, key_of(object, *entry.menu));
  };
  for (int i = 0; i < reflect.FieldSize(from, entry.field); ++i) {
    const Message& object = reflect.GetRepeatedMessage(from, entry.field, i);
    if (schema::find(to, entry, key_of(object, *entry.menu)) == nullptr) text_ += header(object) + "/del\n";
  }
  for (int i = 0; i < reflect.FieldSize(to, entry.field); ++i) {
    const Message& object = reflect.GetRepeatedMessage(to, entry.field, i);
    menu(*entry.menu, header(object), schema::find(from, entry, key_of(object, *entry.menu)), object);
  }
}

void Writer::menu(const Menu& menu, const std::string& path, const Message* from, const Message& to) {
  const std::size_t start = text_.size();
  const Message& old = from != nullptr ? *from : default_of(menu);
  header_ = path + "\n";
  settings(menu, old, to);
  header_.clear();
  for (const Entry& entry : menu.entries) {
    if (entry.kind != config::MENU) continue;
    if (entry.keyed())
      objects(entry, path, old, to);
    else
      this->menu(*entry.menu, path + "/" + entry.word, schema::find(old, entry, ""),
                 *schema::find(to, entry, ""));
  }
  if (from != nullptr || menu.key == nullptr || text_.size() > start) return;
  header_ = path + "\n";
  line(setting(to, sample(menu)));
}

}  // namespace

std::string diff(const config::Config& from, const config::Config& to) {
  config::Config old = from;
  config::Config now = to;
  normalise(old);
  normalise(now);
  Writer writer;
  writer.menu(schema::root(), "/c", &old, now);
  return writer.take();
}

std::string dump(const config::Config& config) {
  return diff({}, config);
}

}  // namespace headgate::text
