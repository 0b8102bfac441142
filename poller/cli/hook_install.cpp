#include "poller/cli/hook_install.hpp"

#include <unistd.h>

#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "poller/cli/printable.hpp"
#include "poller/cli/text_diff.hpp"
#include "schema/hook_settings.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;
namespace fs = std::filesystem;

namespace {

struct InstallOptions {
  std::string scope = "user";
  bool print = false;
  bool yes = false;
};

constexpr std::size_t most_settings = std::size_t{4} << 20;
constexpr unsigned mode_of_new = 0600;
constexpr std::string_view backup_ending = ".inbox-poller-backup";

Error fault(const fs::path& path, const std::string& what) {
  return {"settings.unusable", path.string() + ": " + what};
}

/// Where this program is, with links followed.
Result<std::string> program_path() {
  std::error_code problem;
#ifdef __APPLE__
  char buffer[PATH_MAX];
  std::uint32_t size = sizeof buffer;
  const fs::path found = ::_NSGetExecutablePath(buffer, &size) == 0 ? fs::canonical(buffer, problem) : fs::path();
#else
  const fs::path found = fs::read_symlink("/proc/self/exe", problem);
#endif
  if (problem || found.empty()) return Error{"settings.unusable", "the path of this program cannot be found out"};
  return found.string();
}

Result<schema::HookProgram> program_of(const Context& context) {
  auto path = program_path();
  if (!path) return path.error();
  if (!schema::is_our_program(*path))
    return fault(*path,
                 "our hooks are known by the program's name; call it inbox-poller, or something with that in it");
  schema::HookProgram program{*std::move(path), {}};
  if (!context.socket.empty()) {
    auto socket = context.socket_path();
    if (!socket) return socket.error();
    program.options.insert(program.options.end(), {"--socket", *std::move(socket)});
  }
  if (!context.team.empty()) program.options.insert(program.options.end(), {"--team", context.team});
  return program;
}

/// The settings file as it is, wherever a link leads.
struct Settings {
  fs::path folder;
  std::string name;
  std::optional<std::string> text;  // none: no such file
  unsigned mode = mode_of_new;

  [[nodiscard]] fs::path path() const { return folder / name; }
};

Result<fs::path> named_path(const std::string& scope) {
  std::error_code problem;
  if (scope == "project") return fs::absolute(".claude/settings.json", problem).lexically_normal();
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return fs::path(value == nullptr ? "" : value);
  };
  fs::path folder = variable("CLAUDE_CONFIG_DIR");
  if (folder.empty() && !variable("HOME").empty()) folder = variable("HOME") / ".claude";
  if (!folder.is_absolute())
    return Error{std::string(code::bad_path), "neither CLAUDE_CONFIG_DIR nor HOME names a folder, as an absolute path"};
  return folder / "settings.json";
}

Result<Settings> read_settings(FileSystem& files, const std::string& scope) {
  const auto named = named_path(scope);
  if (!named) return named.error();
  std::error_code problem;
  fs::path path = fs::canonical(*named, problem);
  if (problem) {
    if (fs::is_symlink(fs::symlink_status(*named)))
      return fault(*named, "a link that leads nowhere: " + problem.message());
    if (problem != std::errc::no_such_file_or_directory) return fault(*named, problem.message());
    path = *named;
  }
  Settings settings{path.parent_path(), path.filename().string(), {}, mode_of_new};
  if (problem) return settings;
  const auto file = files.open_read(absolute, path.string());
  if (!file) return file.error();
  if (file->stat.size > most_settings) return fault(path, "longer than 4 MiB; that is no settings file");
  auto text = read_all(files, *file);
  if (!text) return text.error();
  settings.text = *std::move(text);
  settings.mode = file->stat.mode;
  return settings;
}

/// In its place at once, or not at all.
Status replace(FileSystem& files, const Directory& folder, const std::string& name, std::string_view bytes,
               unsigned mode) {
  const std::string temporary = name + ".inbox-poller-" + std::to_string(::getpid());
  if (Status made = create_durable(files, folder, temporary, bytes, mode); !made.ok()) return made;
  Status renamed = files.rename_at(folder, temporary, name);
  if (!renamed.ok()) static_cast<void>(files.unlink_at(folder, temporary));
  return renamed;
}

Status write_settings(FileSystem& files, const Settings& settings, const std::optional<std::string>& text) {
  std::error_code problem;
  fs::create_directories(settings.folder, problem);
  if (problem) return fault(settings.folder, problem.message());
  const auto folder = files.open_dir(absolute, settings.folder.string());
  if (!folder) return folder.error();
  if (settings.text) {
    const std::string backup = settings.name + std::string(backup_ending);
    if (Status kept = replace(files, *folder, backup, *settings.text, settings.mode); !kept.ok()) return kept;
  }
  Status done =
      text ? replace(files, *folder, settings.name, *text, settings.mode) : files.unlink_at(*folder, settings.name);
  return done.ok() ? files.sync_dir(*folder) : done;
}

using Change = std::function<Result<std::optional<std::string>>(const Settings&)>;

ExitCode told(Context& context, const Settings& settings, const std::string& diff, bool changed,
              const std::string& text) {
  if (!context.json) return context.print(text + '\n');
  return context.print_json({{"ok", true}, {"path", settings.path().string()}, {"changed", changed}, {"diff", diff}});
}

/// Shows what would change, asks, and changes it.
ExitCode apply(Context& context, const InstallOptions& options, const Change& change) {
  PosixFileSystem files;
  const auto settings = read_settings(files, options.scope);
  if (!settings) return context.fail(settings.error());
  const std::string path = settings->path().string();
  const auto text = change(*settings);
  if (!text) return context.fail({text.error().code, path + ": " + text.error().message});
  if (*text == settings->text) return told(context, *settings, "", false, printable(path) + ": nothing to change");
  const std::string diff = unified_diff(settings->text.value_or(""), text->value_or(""), path);
  if (!context.json) {
    if (const ExitCode shown = context.print(printable_block(diff, "")); shown != ExitCode::done) return shown;
  }
  if (!options.yes && !context.console.confirm("Write this to " + printable(path) + "?"))
    return context.fail({"settings.unchanged", path + " was not changed; --yes writes without asking"});
  const auto again = read_settings(files, options.scope);
  if (!again) return context.fail(again.error());
  if (again->text != settings->text)
    return context.fail(fault(path, "somebody has changed it in the meantime; nothing was written, try again"));
  if (const Status written = write_settings(files, *settings, *text); !written.ok())
    return context.fail(written.error());
  return told(context, *settings, diff, true,
              printable(path) + (*text ? ": written" : ": removed, since nothing else was in it") +
                  (settings->text ? "; what was there is in " + printable(path) + std::string(backup_ending) : ""));
}

ExitCode install(Context& context, const InstallOptions& options) {
  const auto program = program_of(context);
  if (!program) return context.fail(program.error());
  if (options.print) return context.print(schema::hook_settings(*program));
  return apply(context, options, [&](const Settings& settings) -> Result<std::optional<std::string>> {
    if (!settings.text) return std::optional(schema::hook_settings(*program));
    auto text = schema::with_hooks(*settings.text, *program);
    if (!text) return text.error();
    return std::optional(*std::move(text));
  });
}

ExitCode uninstall(Context& context, const InstallOptions& options) {
  return apply(context, options, [](const Settings& settings) -> Result<std::optional<std::string>> {
    return settings.text ? schema::without_hooks(*settings.text) : std::optional<std::string>();
  });
}

void add_common(CLI::App& command, InstallOptions& options) {
  command
      .add_option("--scope", options.scope, "user: ~/.claude or $CLAUDE_CONFIG_DIR; project: .claude in this folder")
      ->type_name("SCOPE")
      ->capture_default_str()
      ->check(CLI::IsMember({"user", "project"}).description(""));
  command.add_flag("--yes", options.yes, "Write without asking");
}

}  // namespace

void add_hook_install(CLI::App& hook, Context& context) {
  auto options = std::make_shared<InstallOptions>();
  CLI::App* command = add_command(
      hook, "install", "Put our hooks into the settings of the lead's client",
      "Shows what would change, asks, and writes it; every other byte of the file stays, and what was there\n"
      "before is kept beside it. --socket and --team, where given, become part of the hooks. Twice is as good\n"
      "as once. The hooks of a user's settings run in every session, also in those of workers: the daemon\n"
      "listens to the lead's alone.\n\n"
      "Examples:\n"
      "  inbox-poller hook install\n"
      "  inbox-poller hook install --scope project --yes\n"
      "  inbox-poller hook install --print");
  add_common(*command, *options);
  command->add_flag("--print", options->print, "Only print the fragment");
  command->callback([options, &context] { context.exit_code = install(context, *options); });

  command = add_command(hook, "uninstall", "Take our hooks out again",
                        "Removes exactly what `hook install` added, from whichever version of it.\n\n"
                        "Example:\n"
                        "  inbox-poller hook uninstall --yes");
  add_common(*command, *options);
  command->callback([options, &context] { context.exit_code = uninstall(context, *options); });
}

}  // namespace inbox_poller::poller::cli
