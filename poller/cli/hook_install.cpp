// `hook install` and `hook uninstall`: this program's hooks in the settings of a client.
#include <algorithm>
#include <iterator>
#include <memory>

#include "poller/cli/clients.hpp"
#include "poller/cli/command.hpp"
#include "poller/cli/printable.hpp"
#include "poller/cli/settings_change.hpp"
#include "schema/hook_settings.hpp"

namespace inbox_poller::poller::cli {

namespace {

constexpr schema::ClientVersion first_with_hooks{2, 1, 33};  // that knows these events; docs/reference/hooks.md

struct InstallOptions {
  std::string scope = "user";
  std::string user;    // lead or workers; for uninstall empty: both
  std::string client;  // a program or a version; empty: those found
  bool print = false;
  bool yes = false;
};

std::optional<schema::HookUser> user_of(const InstallOptions& options) {
  if (options.user.empty()) return std::nullopt;
  return options.user == "workers" ? schema::HookUser::worker : schema::HookUser::lead;
}

Result<schema::HookProgram> program_of(const Context& context, const InstallOptions& options) {
  TRY(auto path, program_path());
  if (!schema::is_our_program(path))
    return settings_fault(
        path, "our hooks are known by the program's name; call it inbox-poller, or something with that in it");
  schema::HookProgram program{std::move(path), {}, user_of(options).value_or(schema::HookUser::lead)};
  if (!context.socket.empty()) {
    TRY(auto socket, context.socket_path());
    program.options.insert(program.options.end(), {"--socket", std::move(socket)});
  }
  if (!context.team.empty()) program.options.insert(program.options.end(), {"--team", context.team});
  return program;
}

/// The clients that may read the settings file, and the version it is written for.
struct Readers {
  std::vector<Client> found;        // in PATH or running
  std::vector<Client> unknown;      // version unknown; of `found`, or of the one that --client names
  schema::ClientVersion version{};  // the oldest that counts
  std::string told;                 // text: this version, and why
};

Readers readers_of(const InstallOptions& options) {
  Readers readers;
  readers.found = find_clients();
  std::vector<Client> counted = readers.found;
  if (const auto version = schema::parse_client_version(options.client))
    counted = {{"named by --client", version, ""}};
  else if (!options.client.empty())
    counted = {ask_client(options.client)};
  readers.version = oldest_of(counted);
  const std::string written = "written for client " + schema::to_string(readers.version);
  std::copy_if(counted.begin(), counted.end(), std::back_inserter(readers.unknown),
               [](const Client& client) { return !client.version; });
  if (counted.empty())
    readers.told = written + ", the oldest that is supported: no client is in PATH, and none runs (--client names one, or a version)";
  else if (!readers.unknown.empty())
    readers.told = written + ", the oldest that is supported: the version of " + readers.unknown.front().path +
                   " is not known, " + readers.unknown.front().problem;
  else
    readers.told =
        written + (counted.size() > 1 ? ", the oldest of " + std::to_string(counted.size()) + " in PATH or running" : "");
  if (readers.version < schema::oldest_client)
    readers.told += "; which hooks a client before " + schema::to_string(schema::oldest_client) +
                    " reads is not known, and before " + schema::to_string(first_with_hooks) + " it skips the file";
  if (!schema::can(readers.version, schema::Ability::is_woken) && options.user == "lead")
    readers.told += "; hooks of clients before " + schema::to_string(schema::since(schema::Ability::is_woken)) +
                    " cannot wake an idle session";
  return readers;
}

/// Refuses events that a client on this machine does not know: that client would skip the whole file.
Status readable_by(const Readers& readers, const InstallOptions& options, const std::string& path) {
  const auto events = schema::hook_events(*user_of(options), readers.version);
  const auto refusal = [&](const Client& client, const std::string& why, const std::string& mend) {
    return Error{"settings.client", path + " was not changed: " + to_string(client) + " " + why +
                                        ", and would skip the whole file, your "
                                        "permissions included; " +
                                        mend};
  };
  if (readers.version < schema::oldest_client)
    return Error{"settings.client", path + " was not changed: which hooks a client before " +
                                        schema::to_string(schema::oldest_client) +
                                        " reads is not known; update the client"};
  for (const Client& client : readers.found) {
    const auto version = client.version.value_or(schema::oldest_client);
    if (version < schema::oldest_client)
      return refusal(client, "may not know our hooks", "update it, or take it out of PATH");
    const auto bad = std::find_if(events.begin(), events.end(),
                                  [&](std::string_view event) { return !schema::takes_event(version, event); });
    if (bad != events.end())
      return refusal(client, "does not know the hook event " + std::string(*bad),
                     "leave --client out, update that client, or take it out of PATH");
  }
  return Done{};
}

ExitCode apply(Context& context, const InstallOptions& options, SettingsChange change) {
  const auto named = settings_path(options.scope);
  if (!named) return context.fail(named.error());
  change.file = *named;
  change.yes = options.yes;
  return change_settings(context, change);
}

ExitCode install(Context& context, InstallOptions& options) {
  if (options.user.empty()) options.user = "lead";
  auto program = program_of(context, options);
  if (!program) return context.fail(program.error());
  const Readers readers = readers_of(options);
  if (!options.client.empty() && !readers.unknown.empty())
    return context.fail({"settings.client", "nothing was written: the version of " + readers.unknown.front().path +
                                                " is not known, " + readers.unknown.front().problem +
                                                "; --client takes a client's program, or a version such as 2.1.139"});
  program->client = readers.version;
  if (options.print) {
    context.console.complain(printable(readers.told));
    return context.print(schema::hook_settings(*program));
  }
  SettingsChange change;
  change.change = [&](const Settings& settings) -> Result<std::optional<std::string>> {
    if (!settings.text) return std::optional(schema::hook_settings(*program));
    TRY(auto text, schema::with_hooks(*settings.text, *program));
    return std::optional(std::move(text));
  };
  change.allowed = [&](const std::string& path) { return readable_by(readers, options, path); };
  change.more = printable(readers.told);
  operations::Texts off;
  PosixFileSystem files;
  std::error_code problem;
  for (const HookSilence& silence : silenced_hooks(files, std::filesystem::current_path(problem)))
    off.emplace_back(silence.file + ": " + to_string(silence));
  change.also.client = schema::to_string(readers.version);
  change.also.why = readers.told;
  change.also.hooks_off = off;
  const ExitCode done = apply(context, options, std::move(change));
  for (const auto& line : off) context.console.complain("WARNING: " + printable(line));
  return done;
}

ExitCode uninstall(Context& context, const InstallOptions& options) {
  SettingsChange change;
  change.change = [&](const Settings& settings) -> Result<std::optional<std::string>> {
    return settings.text ? schema::without_hooks(*settings.text, user_of(options)) : std::optional<std::string>();
  };
  return apply(context, options, std::move(change));
}

constexpr Argument hook_settings_takes[] = {
    takes<&InstallOptions::scope>("--scope SCOPE", "user: ~/.claude or $CLAUDE_CONFIG_DIR; project: .claude in this folder")
        .shows_default()
        .one_of("user, project"),
    takes<&InstallOptions::user>("--target WHOM", "lead: messages and its own prompts; workers: their calls by your rules")
        .one_of("lead, workers"),
    takes<&InstallOptions::yes>("--yes", "Write without asking"),
};

// clang-format off
constexpr Argument hook_install_takes[] = {
    takes<&InstallOptions::client>("--client PROGRAM", "The client's program, or its version (default: those in PATH)"),
    takes<&InstallOptions::print>("--print", "Only print the fragment"),
};

constexpr Command hook_install_rows[] = {
    {.name = "hook install", .group = Group::deliver, .summary = "Put our hooks into the settings of a client",
     .help = "Shows what would change, asks, and writes it; every other byte of the file stays, and what was there\n"
             "before is kept beside it. --socket and --team, where given, become part of the hooks. Twice is as good\n"
             "as once. The hooks of a user's settings run in every session: the daemon knows whose it is.\n"
             "--target workers: what your rules allow or deny is decided before a worker asks its lead; with it an interceptor\n"
             "and a team whose lead is gone decide also for workers that take answers from their lead alone. The daemon also\n"
             "gets the text with which a turn ends, for [delivery] unsent_reports.\n"
             "A client skips a whole settings file for one event that it does not know, so the clients in PATH are\n"
             "asked for their versions; the oldest counts. `inbox-poller doctor` looks again after an update.\n"
             "Settings that keep hooks from running here (disableAllHooks, allowManagedHooksOnly) are named.",
     .examples = "inbox-poller hook install\n"
                 "inbox-poller hook install --target workers --scope project --yes\n"
                 "inbox-poller hook install --print --client 2.1.330",
     .shared = hook_settings_takes, .arguments = hook_install_takes, .work = runs<install>, .prints = operations::shapes<operations::SettingsChanged>},
    {.name = "hook uninstall", .group = Group::deliver, .summary = "Take our hooks out again",
     .help = "Removes exactly what `hook install` added, from whichever version of it; both the lead's and\n"
             "the workers', or with --target only these.",
     .examples = "inbox-poller hook uninstall --yes\n"
                 "inbox-poller hook uninstall --target workers",
     .shared = hook_settings_takes, .work = runs<uninstall>, .prints = operations::shapes<operations::SettingsChanged>},
};
// clang-format on

}  // namespace

std::span<const Command> hook_install_commands() { return hook_install_rows; }

}  // namespace inbox_poller::poller::cli
