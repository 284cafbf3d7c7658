// SPDX-License-Identifier: Apache-2.0
#include "cli/menus.h"

#include <algorithm>
#include <cctype>

#include "cli/handlers.h"

namespace headgate::cli {
namespace {

/// The key entry of a configured object, for commands that take its number.
const schema::Entry& key_of(std::string_view word) {
  return *schema::root().find("slb")->menu->find(word)->menu->key;
}

Argument number_of(std::string_view word, const std::string& object) {
  return {&key_of(word), object + " number"};
}
Argument optional(Argument argument) {
  argument.optional = true;
  return argument;
}
Argument address(const std::string& label) {
  return {schema::root().find("slb")->menu->find("real")->menu->find("rip"), label};
}
Argument one_of(std::vector<std::string> words) {
  return {nullptr, "option", std::move(words), true};
}

/// A number or port name that no setting stands for.
Argument port_number(const std::string& label) {
  static const schema::Entry entry = [] {
    schema::Entry made;
    made.kind = config::SERVICE;
    made.range.spans = {{1, 65535}};
    return made;
  }();
  return {&entry, label};
}

Argument small_number(const std::string& label, std::uint32_t high) {
  static std::deque<schema::Entry> entries;
  schema::Entry& entry = entries.emplace_back();
  entry.kind = config::NUMBER;
  entry.range.spans = {{0, high}};
  return {&entry, label, {}, true};
}

std::vector<Command> session_commands() {
  constexpr auto user = config::USER;
  return {
      {"cip", "Sessions of a client address", user, {}, {}, info_sessions_cip, {address("client address")}},
      {"cport", "Sessions of a client port", user, {}, {}, info_sessions_cport, {port_number("client port")}},
      {"dip",
       "Sessions to a virtual server address",
       user,
       {},
       {},
       info_sessions_dip,
       {address("destination address")}},
      {"dport",
       "Sessions to a virtual port",
       user,
       {},
       {},
       info_sessions_dport,
       {port_number("destination port")}},
      {"port",
       "Sessions that came in on a port",
       user,
       {},
       {},
       info_sessions_port,
       {number_of("port", "port")}},
      {"real",
       "Sessions bound to a real server",
       user,
       {},
       {},
       info_sessions_real,
       {number_of("real", "real server")}},
      {"virt",
       "Sessions of a virtual server",
       user,
       {},
       {},
       info_sessions_virt,
       {number_of("virt", "virtual server")}},
      {"dump", "All sessions; E: in use, without it: terminated", user, {}, {}, info_sessions_dump},
  };
}

std::vector<Command> info_slb_commands() {
  constexpr auto user = config::USER;
  return {
      {"real", "State of a real server", user, {}, {}, info_slb_real, {number_of("real", "real server")}},
      {"health",
       "Checks of a real server and their last changes",
       user,
       {},
       {},
       info_slb_health,
       {number_of("real", "real server")}},
      {"virt",
       "State of a virtual server",
       user,
       {},
       {},
       info_slb_virt,
       {number_of("virt", "virtual server")}},
      {"group",
       "State of a real server group",
       user,
       {},
       {},
       info_slb_group,
       {number_of("group", "real server group")}},
      {"dump", "State of everything balanced", user, {}, {}, info_slb_dump},
  };
}

std::vector<Command> stats_slb_commands() {
  constexpr auto user = config::USER;
  return {
      {"real", "Counters of a real server", user, {}, {}, stats_real, {number_of("real", "real server")}},
      {"group",
       "Counters of a real server group",
       user,
       {},
       {},
       stats_group,
       {number_of("group", "real server group")}},
      {"virt",
       "Counters of a virtual server",
       user,
       {},
       {},
       stats_virt,
       {number_of("virt", "virtual server")}},
      {"maint", "Counters of the switch itself", user, {}, {}, stats_maint},
      {"dump", "All counters", user, {}, {}, stats_dump},
      {"clear", "Set the counters to zero", config::OPER, {}, {}, stats_clear},
  };
}

std::vector<Command> oper_slb_commands() {
  const auto level = config::SLBOPER;
  const Argument real = number_of("real", "real server");
  return {
      {"ena", "Give a real server new sessions again", level, {}, {}, oper_enable, {real}},
      {"dis",
       "No new sessions for a real server (n), or persistent only (p)",
       level,
       {},
       {},
       oper_disable,
       {real, one_of({"n", "p"})}},
      {"clear",
       "Forget all sessions, or those of a real server",
       level,
       {},
       {},
       oper_clear,
       {one_of({"real"}), optional(real)}},
      {"cur", "Operator settings of the real servers", level, {}, {}, oper_cur},
  };
}

/// Puts the menus together, each owned by the deque.
class Builder {
 public:
  std::deque<Menu> run() {
    Menu& main = add({"", "Main"});
    Menu& info = below(main, {"info", "Information"}, "Information Menu");
    Menu& info_sys = below(info, {"sys", "System Information"}, "System Information Menu");
    info_sys.commands = {
        {"general", "Version, name, state of the configuration", config::USER, {}, {}, info_general},
        {"log", "Last log messages", config::USER, {}, {}, info_log}};
    Menu& info_slb =
        below(info, {"slb", "Server Load Balancing Information"}, "Server Load Balancing Information Menu");
    Menu& sess = below(info_slb, {"sess", "Session Table Information"}, "Session Table Information Menu");
    sess.commands = session_commands();
    append(info_slb, info_slb_commands());
    append(info, {{"link", "Links of the ports", config::USER, {}, {}, info_link}});
    add_stats(main);
    add_config(main);
    Menu& oper = below(main, {"oper", "Operations"}, "Operations Command Menu", config::SLBOPER);
    below(oper, {"slb", "Server Load Balancing Operations"}, "Server Load Balancing Operations Menu",
          config::SLBOPER)
        .commands = oper_slb_commands();
    return std::move(menus_);
  }

 private:
  Menu& add(Menu menu) { return menus_.emplace_back(std::move(menu)); }
  static void append(Menu& menu, std::vector<Command> commands) {
    std::ranges::move(commands, std::back_inserter(menu.commands));
  }
  Menu& below(Menu& parent, Menu menu, std::string help, config::Level level = config::USER) {
    menu.parent = &parent;
    Menu& made = add(std::move(menu));
    parent.commands.push_back({made.word, std::move(help), level, &made});
    return made;
  }
  void add_stats(Menu& main) {
    Menu& stats = below(main, {"stats", "Statistics"}, "Statistics Menu");
    Menu& port = below(stats, {"port", "Port {}", nullptr, &key_of("port"), "port"}, "Port Statistics Menu");
    port.commands = {{"if", "Interface counters", config::USER, {}, {}, stats_port_if}};
    below(stats, {"slb", "Server Load Balancing Statistics"}, "Server Load Balancing Statistics Menu")
        .commands = stats_slb_commands();
  }
  void add_config(Menu& main) {
    Menu& cfg = below(main, {"cfg", "Configuration"}, "Configuration Menu", config::ADMIN);
    fill(cfg, schema::root());
    main.commands.back().level = lowest(cfg);
    append(cfg, {{"dump", "The running configuration, ready to be loaded", lowest(cfg), {}, {}, do_dump}});
    for (Menu& menu : menus_)
      if (menu.config != nullptr) add_aliases(menu);
  }

  void fill(Menu& menu, const schema::Menu& config);
  void add_aliases(Menu& menu);
  Command command_of(const schema::Command& command, Menu& menu);
  static config::Level lowest(const Menu& menu) {
    return std::ranges::min(menu.commands, {}, &Command::level).level;
  }

  std::deque<Menu> menus_;
};

std::string help_of_off(const schema::Entry& entry) {
  if (entry.label == "real server") return "Take this server out of service; ends its sessions at apply";
  std::string help = entry.help;
  help.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(help.front())));
  const bool serves = entry.kind == config::POWER || entry.label == "virtual server";
  return "Do not " + help + (serves ? "; ends its sessions at apply" : "");
}

/// "Real server Menu", "Layer 2 Menu: VLANs".
std::string help_of_menu(const schema::Entry& entry) {
  if (const auto colon = entry.help.find(':'); colon != std::string::npos)
    return entry.help.substr(0, colon) + " Menu" + entry.help.substr(colon);
  std::string title = entry.menu->title;
  for (const std::string_view key : {" {parent}", " {}"})
    if (const auto at = title.find(key); at != std::string::npos) title.erase(at, key.size());
  while (title.ends_with(' ')) title.pop_back();
  return title + " Menu";
}

std::string help_of(const schema::Command& command) {
  using schema::Verb;
  switch (command.verb) {
    case Verb::erase:
      return "Delete it";
    case Verb::off:
      return help_of_off(*command.entry);
    case Verb::enter:
      return help_of_menu(*command.entry);
    case Verb::add:
      if (command.entry->kind == config::SUBSET) return "No " + command.entry->help;
      return "Add a " + command.entry->help;
    case Verb::append:
      return command.step->help;
    case Verb::drop:
      return "Take the last " + command.entry->help + " away";
    case Verb::remove:
      if (command.entry->kind == config::SUBSET) return "Again " + command.entry->help;
      return "Remove a " + command.entry->help;
    default:
      return command.entry->help;
  }
}

void Builder::fill(Menu& menu, const schema::Menu& config) {
  menu.config = &config;
  menu.key = config.key;
  menu.object = config.object;
  for (const schema::Command& command : config.commands)
    if (!command.alias && command.verb != schema::Verb::erase)
      menu.commands.push_back(command_of(command, menu));
  const config::Level level = lowest(menu);
  for (const schema::Command& command : config.commands)
    if (command.verb == schema::Verb::erase)
      menu.commands.push_back({command.word, help_of(command), level, nullptr, &command});
  menu.commands.push_back({"cur", "Show the settings", level, nullptr, nullptr, do_cur});
}

Command Builder::command_of(const schema::Command& command, Menu& menu) {
  Command made{command.word, help_of(command), command.entry->level, nullptr, &command};
  if (command.verb != schema::Verb::enter) return made;
  Menu& child = add({command.word, command.entry->menu->title});
  child.parent = &menu;
  fill(child, *command.entry->menu);
  made.menu = &child;
  made.setting = nullptr;
  made.level = lowest(child);
  return made;
}

/// Other spellings, some of which lead past the menus between.
void Builder::add_aliases(Menu& menu) {
  for (const schema::Command& command : menu.config->commands) {
    if (!command.alias) continue;
    Command made{command.word, help_of(command), command.entry->level, nullptr, &command};
    made.alias = true;
    if (command.verb == schema::Verb::enter) {
      made.menu = &*std::ranges::find(menus_, command.entry->menu, &Menu::config);
      made.setting = nullptr;
    }
    menu.commands.push_back(std::move(made));
  }
}

}  // namespace

std::deque<Menu> make_menus() {
  return Builder().run();
}

std::vector<Command> make_global_commands() {
  constexpr auto user = config::USER;
  constexpr auto change = config::SLBADMIN;
  const Argument any_word{nullptr, "command", {}, true};
  return {
      {"diff", "Show pending config changes", change, {}, {}, do_diff, {one_of({"flash"})}},
      {"apply", "Apply pending config changes", change, {}, {}, do_apply},
      {"save", "Save running config", change, {}, {}, do_save, {one_of({"n"})}},
      {"revert", "Revert pending or applied changes", change, {}, {}, do_revert, {one_of({"apply"})}},
      {"exit", "Exit", user, {}, {}, do_exit},
      {"quit", "Exit", user, {}, {}, do_exit},
      {"help", "Global commands, or what a command does", user, {}, {}, do_help, {any_word}},
      {"?", "What this menu has, or what a command does", user, {}, {}, do_question, {any_word}},
      {"print", "Show this menu again", user, {}, {}, do_print},
      {".", "The same", user, {}, {}, do_print},
      {"up", "One menu up", user, {}, {}, do_up},
      {"..", "The same", user, {}, {}, do_up},
      {"pwd", "Where you are", user, {}, {}, do_pwd},
      {"history", "The last commands; !! and !n repeat them", user, {}, {}, do_history},
      {"lines", "Lines of a page, 0 for no paging", user, {}, {}, do_lines, {small_number("lines", 300)}},
      {"verbose",
       "0 errors only, 1 without menus, 2 everything",
       user,
       {},
       {},
       do_verbose,
       {small_number("verbosity", 2)}},
  };
}

}  // namespace headgate::cli
