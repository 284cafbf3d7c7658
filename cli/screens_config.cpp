// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "cli/screen_words.h"
#include "cli/screens.h"
#include "model/config_text.h"
#include "model/field_access.h"
#include "model/line.h"

namespace headgate::cli {
namespace {

using google::protobuf::Message;
using schema::Entry;
using schema::Menu;

constexpr std::size_t kWidth = 76;

/// "  grace disabled, fastage 0", at most kWidth columns a line where that can be.
std::string wrapped(const std::vector<std::string>& parts) {
  std::string text;
  std::string line;
  for (const auto& part : parts) {
    if (!line.empty() && line.size() + 2 + part.size() > kWidth) {
      text += line + ",\n";
      line.clear();
    }
    line += (line.empty() ? "  " : ", ") + part;
  }
  return line.empty() ? text : text + line + "\n";
}

std::string digest(const Entry& entry, const Message& message) {
  const std::string value = setting_text(message, entry);
  if (entry.kind == config::STATE || entry.kind == config::POWER) return value;
  const bool list = entry.field->is_repeated();
  return (list ? entry.label + "s" : entry.word) + " " + (value.empty() ? "none" : value);
}

std::string own_settings(const Message& message, const Menu& menu) {
  std::vector<std::string> parts;
  for (const Entry& entry : menu.entries)
    if (entry.kind != config::MENU) parts.push_back(digest(entry, message));
  return wrapped(parts);
}

/// The title of an object below `title`, without the blank that prompts have.
std::string title_below(const Menu& menu, const Message& object) {
  if (menu.key == nullptr) return menu.title;
  return menu.object + " " + schema::key_of(object, menu);
}

/// Whether a check is one of this group, real server or service.
bool concerns(const control::CheckInUse& check, const Message& object, const std::vector<std::string>& keys) {
  if (const auto* group = dynamic_cast<const config::Group*>(&object))
    return check.group() == group->number();
  if (const auto* real = dynamic_cast<const config::Real*>(&object)) return check.real() == real->number();
  const auto* service = dynamic_cast<const config::Service*>(&object);
  return service != nullptr && check.vport() == service->vport() &&
         std::to_string(check.virt()) == keys.front();
}

}  // namespace

std::string setting_text(const Message& message, const Entry& entry) {
  if (entry.field->is_repeated()) {
    const auto values = schema::list_of(message, entry);
    return values.empty() ? "none" : line::join(values, entry.numbers() ? " " : ", ");
  }
  const std::string text = schema::text_of(message, entry);
  if (entry.kind == config::STATE || entry.kind == config::FLAG)
    return text == "ena" ? "enabled" : "disabled";
  if (entry.kind == config::POWER) return text == "on" ? "ON" : "OFF";
  return entry.unit.empty() ? text : text + " " + entry.unit;
}

std::string settings(const Message& message, const Menu& menu, const std::string& title,
                     std::string_view which) {
  std::string text;
  const std::string own = own_settings(message, menu);
  if (!own.empty()) text = fmt::format("{} {} settings:\n{}", which, title, own);
  const auto& reflect = *message.GetReflection();
  for (const Entry& entry : menu.entries) {
    if (entry.kind != config::MENU) continue;
    if (!entry.keyed())
      text += settings(*schema::find(message, entry, ""), *entry.menu, entry.menu->title, which);
    for (int i = 0; entry.keyed() && i < reflect.FieldSize(message, entry.field); ++i) {
      const Message& object = reflect.GetRepeatedMessage(message, entry.field, i);
      const std::string name = title_below(*entry.menu, object);
      text += settings(object, *entry.menu, menu.key != nullptr ? title + " " + name : name, which);
    }
  }
  return text;
}

std::string checks_in_use(const control::ConfigReply& reply, const Message& object,
                          const std::vector<std::string>& keys) {
  std::string text;
  for (const control::CheckInUse& check : reply.check()) {
    if (!concerns(check, object, keys)) continue;
    text +=
        fmt::format("  service {} of virtual server {}{}: {}",
                    port_name_of(check.vport()) + (is_udp(check.protocol()) ? " udp" : ""), check.virt(),
                    check.real() == 0 ? "" : fmt::format(", real server {}", check.real()), check.check());
    if (check.replaces())
      text += fmt::format(" in place of {}, which does not fit it\n", check.wanted());
    else
      text += check.wanted() == check.check() ? "\n" : fmt::format(" (configured {})\n", check.wanted());
  }
  return text.empty() ? text : "Health checks in use:\n" + text;
}

std::string dump_script(const config::Config& config, std::time_t now, const std::string& version) {
  const std::tm local = fmt::localtime(now);
  return fmt::format(
      "script start \"Headgate\" 4  /**** DO NOT EDIT THIS LINE!\n"
      "/* Configuration dump taken {:%H:%M:%S %a %b %e, %Y}\n"
      "/* Version {}\n"
      "{}/\n"
      "script end  /**** DO NOT EDIT THIS LINE!\n",
      local, version, text::dump(config));
}

}  // namespace headgate::cli
