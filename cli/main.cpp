// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

#include <fmt/format.h>

#include "cli/editor.h"
#include "cli/reference.h"
#include "cli/script.h"
#include "cli/socket_client.h"
#include "cli/version.h"

namespace headgate::cli {
namespace {

constexpr int kGood = 0;
constexpr int kLineFailed = 1;
constexpr int kNotStarted = 2;

constexpr const char* kUsage =
    "Usage: headgate [--run-dir DIR] [-c COMMAND]... [FILE]\n"
    "       headgate --reference | --version | --help\n"
    "\n"
    "The command line of the Headgate session switch. At a terminal it is interactive; otherwise it executes "
    "the\n"
    "lines of the commands, of the file, or of standard input.\n"
    "\n"
    "  -c COMMAND     execute a command (may be given several times; lines are separated by newlines)\n"
    "  --run-dir DIR  where headgated listens (default /run/headgate)\n"
    "  --reference    print the CLI reference, in Markdown\n"
    "\n"
    "Exit status: 0 every line succeeded, 1 a line failed or changes were left without apply, 2 wrong usage "
    "or\n"
    "headgated does not answer.\n";

struct Options {
  std::string run_dir = "/run/headgate";
  std::string commands;  ///< of -c, one a line
  std::string file;
  bool reference = false;
  bool version = false;
  bool help = false;
};

Result<Options> parse(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const bool takes_value = argument == "-c" || argument == "--run-dir";
    if (takes_value && i + 1 == arguments.size()) return Error{argument + " needs a value"};
    if (argument == "-c") {
      options.commands += arguments[++i] + "\n";
    } else if (argument == "--run-dir") {
      options.run_dir = arguments[++i];
    } else if (argument == "--reference") {
      options.reference = true;
    } else if (argument == "--version") {
      options.version = true;
    } else if (argument == "--help" || argument == "-h") {
      options.help = true;
    } else if (argument.starts_with("-") || !options.file.empty()) {
      return Error{"unknown argument " + argument};
    } else {
      options.file = argument;
    }
  }
  if (!options.commands.empty() && !options.file.empty()) return Error{"give commands or a file, not both"};
  return options;
}

int refuse(const Error& error) {
  std::cerr << "headgate: " << error.message << "\n";
  return kNotStarted;
}

int interact(SocketClient& client) {
  Editor editor;
  Shell shell(client, editor, client.opened());
  shell.refresh_prompt();
  greet(shell);
  while (!shell.leaving()) {
    const auto line = editor.read_line(shell);
    if (!line) break;
    shell.execute(*line);
  }
  return kGood;
}

int script(SocketClient& client, std::istream& lines) {
  ScriptConsole console(std::cout, std::cerr);
  Shell shell(client, console, client.opened());
  return run_script(lines, shell, [&] { return client.broken(); }) ? kGood : kLineFailed;
}

int execute(const Options& options) {
  errno = 0;
  std::ifstream file(options.file);
  if (!options.file.empty() && (!file || file.peek() == std::ifstream::traits_type::eof()) && errno != 0)
    return refuse({fmt::format("can't read {}: {}", options.file, std::strerror(errno))});
  const auto client = SocketClient::connect(options.run_dir);
  if (!client) return refuse(client.error());
  if (!options.file.empty()) return script(**client, file);
  if (!options.commands.empty()) {
    std::istringstream commands(options.commands);
    return script(**client, commands);
  }
  return isatty(STDIN_FILENO) != 0 ? interact(**client) : script(**client, std::cin);
}

int run(const std::vector<std::string>& arguments) {
  const auto options = parse(arguments);
  if (!options) {
    std::cerr << "headgate: " << options.error().message << "\n" << kUsage;
    return kNotStarted;
  }
  if (options->help) std::cout << kUsage;
  if (options->version) std::cout << "headgate " << kVersion << "\n";
  if (options->reference) std::cout << reference();
  return options->help || options->version || options->reference ? kGood : execute(*options);
}

}  // namespace
}  // namespace headgate::cli

int main(int argc, char** argv) {
  return headgate::cli::run({argv + 1, argv + argc});
}
