// `manual`: manual pages from the command table, one for the program and one for each command. They are generated at
// installation and not kept in the repository.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>

#include "poller/cli/command.hpp"
#include "poller/cli/printable.hpp"

namespace inbox_poller::poller::cli {

namespace fs = std::filesystem;

namespace {

/// Escapes a text so that roff finds no requests in it.
std::string roff(std::string_view text) {
  std::string out;
  bool begins_line = true;
  for (const char c : text) {
    if (begins_line && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    begins_line = c == '\n';
  }
  return out;
}

std::string words_of(const CLI::Option& option) {
  std::string text = option.get_positional() ? option.get_name(true) : option.get_name(false, true);
  const std::string type = option.get_type_name();
  if (!option.get_positional() && option.get_items_expected_max() > 0 && !type.empty()) text += ' ' + type;
  return text;
}

std::string options_page(const CLI::App& app) {
  std::string text;
  for (const CLI::Option* option : app.get_options())
    if (!option->get_group().empty())
      text += ".TP\n\\fB" + roff(words_of(*option)) + "\\fR\n" + roff(option->get_description()) + '\n';
  return text.empty() ? text : ".SH OPTIONS\n" + text;
}

std::string page_name(std::string name) {
  for (char& c : name)
    if (c == ' ') c = '-';
  return "inbox-poller" + (name.empty() ? "" : '-' + name);
}

/// Returns a manual page. `name`: of the command, such as "hook install"; empty for the program.
std::string page(const CLI::App& app, const std::string& name, const std::string& also) {
  const std::string title = page_name(name);
  std::string summary = app.get_description();
  std::replace(summary.begin(), summary.end(), '\n', ' ');
  std::string text = ".TH " + title + " 1 \"\" \"inbox-poller " INBOX_POLLER_VERSION "\" \"\"\n.SH NAME\n" + roff(title) +
                     " \\- " + roff(summary) + "\n.SH SYNOPSIS\n.B inbox-poller" +
                     (name.empty() ? " COMMAND" : ' ' + roff(name)) + "\n[OPTIONS]";
  for (const CLI::Option* option : app.get_options())
    if (const std::string word = option->get_name(true); option->get_positional())
      text += ' ' + roff(option->get_required() ? word : '[' + word + ']');
  return text + "\n.SH DESCRIPTION\n.nf\n" + roff(app.get_footer()) + "\n.fi\n" + options_page(app) + also;
}

Status write_file(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  if (!file.flush()) return Error{"manual.unwritten", path.string() + ": cannot be written"};
  return Done{};
}

ExitCode write_manual(Context& context, const CLI::App& line, const std::string& into) {
  std::error_code problem;
  const fs::path folder(into);
  fs::create_directories(folder, problem);
  if (problem) return context.fail({"manual.unwritten", into + ": " + problem.message()});
  std::string list = ".SH COMMANDS\n";
  for (const Command& command : commands()) {
    const std::string name(command.name);
    const std::size_t space = name.find(' ');
    const CLI::App* app = command_below(line, name.substr(0, space));
    if (app != nullptr && space != std::string::npos) app = command_below(*app, name.substr(space + 1));
    if (app == nullptr) continue;
    const Status written = write_file(folder / (page_name(name) + ".1"), page(*app, name, ".SH SEE ALSO\n.BR inbox\\-poller (1)\n"));
    if (!written.ok()) return context.fail(written.error());
    list += ".TP\n.BR " + roff(page_name(name)) + " (1)\n" + roff(command.summary) + '\n';
  }
  const Status written = write_file(folder / (page_name("") + ".1"), page(line, "", list));
  return written.ok() ? ExitCode::done : context.fail(written.error());
}

ExitCode write_schemas(Context& context, const std::string& into) {
  std::error_code problem;
  fs::create_directories(into, problem);
  if (problem) return context.fail({"manual.unwritten", into + ": " + problem.message()});
  for (const Command& command : commands()) {
    std::string name(command.name);
    if (command.prints.empty()) continue;
    const auto schema = operations::json_schema(name, command.prints, name == "recv");
    std::ranges::replace(name, ' ', '-');
    const Status written = write_file(fs::path(into) / (name + ".json"), operations::indented(schema));
    if (!written.ok()) return context.fail(written.error());
  }
  const Status written = write_file(fs::path(into) / "control.json", operations::indented(operations::control_schema()));
  return written.ok() ? ExitCode::done : context.fail(written.error());
}

struct ManualOptions {
  std::string folder;
  bool schemas = false;
};

ExitCode manual(Context& context, const ManualOptions& options) {
  return options.schemas ? write_schemas(context, options.folder) : write_manual(context, *context.line, options.folder);
}

// clang-format off
constexpr Argument manual_takes[] = {
    takes<&ManualOptions::folder>("DIR", "The folder; it is made when it is not there").required(),
    takes<&ManualOptions::schemas>("--schemas", "JSON Schemas instead of pages"),
};

constexpr Command manual_rows[] = {
    {.name = "manual", .group = Group::set_up, .summary = "Write the manual pages",
     .help = "Writes the manual pages into a folder: inbox-poller.1, and one for each command. They say what --help says.\n"
             "--schemas writes a JSON Schema (2020-12) for each command instead, of what it prints with --json, and\n"
             "control.json, with the requests and answers of each verb of the control socket, for a client of your own.",
     .examples = "inbox-poller manual ~/.local/share/man/man1 && man inbox-poller-approve\n"
                 "inbox-poller manual --schemas schemas && cat schemas/pending.json",
     .arguments = manual_takes, .work = runs<manual>},
};
// clang-format on

}  // namespace

std::span<const Command> manual_commands() { return manual_rows; }

}  // namespace inbox_poller::poller::cli
