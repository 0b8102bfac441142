// `mcp install` and `mcp uninstall`: this program's server in the settings of a client.
#include <filesystem>
#include <memory>

#include "config/redis_address.hpp"
#include "poller/cli/command.hpp"
#include "poller/cli/mcp/servers.hpp"
#include "poller/cli/printable.hpp"
#include "poller/cli/settings_change.hpp"
#include "schema/hook_settings.hpp"

namespace inbox_poller::poller::cli {

namespace fs = std::filesystem;

namespace {

struct McpInstallOptions {
  std::string scope = "local";
  std::string name = "inbox-poller";
  BoxPlace place;
  bool channel = false;
  bool yes = false;
};

/// Builds the server's arguments: actor, place and daemon, because a client may not pass the environment on.
Result<std::vector<std::string>> arguments_of(const Context& context, const McpInstallOptions& options) {
  std::vector<std::string> words{"mcp"};
  const auto whom = mcp_whom(options.place, context.team, options.channel);
  if (!whom) return Error{"settings.unusable", "nothing was written: " + whom.error().message};
  if (!whom->root.empty()) {
    std::error_code problem;
    if (!config::is_engine_address(whom->root) && !fs::is_directory(whom->root, problem))
      return Error{"settings.unusable", "nothing was written: this folder does not exist: " + whom->root};
    words.insert(words.end(), {"--root", whom->root, "--actor", whom->actor});
    if (!whom->known_actors.empty()) words.insert(words.end(), {"--known-actors", whom->known_actors});
  }
  if (!context.socket.empty()) {
    TRY(auto socket, context.socket_path());
    words.insert(words.end(), {"--socket", std::move(socket)});
  }
  if (!context.team.empty()) words.insert(words.end(), {"--team", context.team});
  if (options.channel) words.emplace_back("--channel");
  return words;
}

/// Checks a server's name, which a client may make part of the names of its tools.
void check_name(const std::string& name) {
  const bool fits = !name.empty() && name.size() <= 64 &&
                    name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == std::string::npos;
  if (!fits) throw CLI::ValidationError("--name: a server's name has letters, digits, '_' and '-', at most 64");
}

ExitCode install(Context& context, const McpInstallOptions& options) {
  check_name(options.name);
  auto program = program_path();
  if (!program) return context.fail(program.error());
  if (!schema::is_our_program(*program))
    return context.fail(settings_fault(
        *program, "our servers are known by the program's name; call it inbox-poller, or something with that in it"));
  auto arguments = arguments_of(context, options);
  if (!arguments) return context.fail(arguments.error());
  const auto place = mcp_place(options.scope);
  if (!place) return context.fail(place.error());
  const schema::McpServer server{options.name, *std::move(program), *std::move(arguments)};
  const std::string allows = "mcp__" + options.name + "__*";
  SettingsChange change;
  change.file = place->file;
  change.yes = options.yes;
  change.change = [&](const Settings& settings) -> Result<std::optional<std::string>> {
    TRY(auto text, schema::with_server(settings.text, place->keys, server));
    return std::optional(std::move(text));
  };
  change.more = "the client asks once whether its tools may be used; this allows them: \"permissions\": {\"allow\": [\"" +
                printable(allows) + "\"]}";
  change.also.allow = allows;
  return change_settings(context, change);
}

ExitCode uninstall(Context& context, const McpInstallOptions& options) {
  check_name(options.name);
  const auto place = mcp_place(options.scope);
  if (!place) return context.fail(place.error());
  SettingsChange change;
  change.file = place->file;
  change.yes = options.yes;
  change.change = [&](const Settings& settings) -> Result<std::optional<std::string>> {
    return settings.text ? schema::without_server(*settings.text, place->keys, options.name)
                         : std::optional<std::string>();
  };
  return change_settings(context, change);
}

constexpr Argument mcp_settings_takes[] = {
    takes<&McpInstallOptions::scope>(
        "--scope SCOPE", "local: you, in this folder; project: all, in its .mcp.json; user: you, everywhere")
        .shows_default()
        .one_of("user, project, local"),
    takes<&McpInstallOptions::name>("--name NAME", "What the client calls the server").shows_default(),
    takes<&McpInstallOptions::yes>("--yes", "Write without asking"),
};

// clang-format off
constexpr Argument mcp_install_takes[] = {
    takes<&McpInstallOptions::place, &BoxPlace::actor>("--actor NAME", "Whose mailbox it is (default: COLLAB_ACTOR)"),
    takes<&McpInstallOptions::place, &BoxPlace::root>("--root DIR", "The folder of the mailboxes, or redis+unix:///PATH#TEAM (default: COLLAB_ROOT)"),
    takes_each<&McpInstallOptions::place, box_known_actors>(),
    takes<&McpInstallOptions::channel>("--channel", "Push messages into the session too, where its client takes that"),
};

constexpr Command mcp_install_rows[] = {
    {.name = "mcp install", .group = Group::deliver, .summary = "Put this server into the settings of a client",
     .help = "Shows what would change, asks, and writes it; every other byte of the file stays, and what was there\n"
             "before is kept beside it. Twice is as good as once. With --root and --actor it is the mailbox of one\n"
             "actor; without them the lead of a team (--team, --socket). They become arguments of the server, since a\n"
             "client may start it with few variables. The last line is what allows the tools.",
     .examples = "inbox-poller mcp install --root scratch/coordination --actor alice\n"
                 "inbox-poller mcp install --scope project --team demo --yes",
     .shared = mcp_settings_takes, .arguments = mcp_install_takes, .work = runs<install>, .prints = operations::shapes<operations::SettingsChanged>},
    {.name = "mcp uninstall", .group = Group::deliver, .summary = "Take it out again",
     .help = "Removes what `mcp install` put there, from whichever version of it.",
     .examples = "inbox-poller mcp uninstall --scope project --yes",
     .shared = mcp_settings_takes, .work = runs<uninstall>, .prints = operations::shapes<operations::SettingsChanged>},
};
// clang-format on

}  // namespace

std::span<const Command> mcp_install_commands() { return mcp_install_rows; }

}  // namespace inbox_poller::poller::cli
