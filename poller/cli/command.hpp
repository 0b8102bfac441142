// The shared base of all commands: global options, requests to the daemon, exit codes, and the command table.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "poller/cli/argument.hpp"
#include "poller/cli/command_line.hpp"
#include "poller/cli/exit_code.hpp"
#include "poller/control/client.hpp"
#include "schema/error.hpp"
#include "schema/operations/json_schema.hpp"
#include "schema/operations/team.hpp"
#include "schema/operations/verb_arguments.hpp"

namespace inbox_poller::poller::cli {

/// The option --wait: how long a command waits for a team or a worker that does not exist yet.
struct TeamWait {
  bool waits = false;
  std::optional<config::Duration> limit = {};  // empty: no limit

  static constexpr bool may_be_left_out = true;
  void read(const std::string& option, const std::string& text);
};

class Context {
 public:
  Context(Console& out, RunDaemon run) : console(out), run_daemon(std::move(run)) {}

  Console& console;
  RunDaemon run_daemon;
  std::string socket;                      // --socket; empty: as configured
  std::string team;                        // --team
  bool json = false;                       // --json
  std::vector<std::string> behind_dashes;  // arguments after the first "--", unparsed: CLI11 splits "[a,b]"
  const CLI::App* line = nullptr;          // the parser
  ExitCode exit_code = ExitCode::done;

  /// Returns the control socket: --socket as an absolute path, or the configured one. Errors: "control.bad_path",
  /// "config.invalid".
  [[nodiscard]] Result<std::string> socket_path() const;
  [[nodiscard]] Result<ControlClient> connect() const;
  /// Adds advice to an error when no daemon answers on the socket.
  static Error advised(Error);
  /// Sends one request, for --team if that is given, on a new connection or on `client`. An error of the daemon is
  /// returned with the daemon's code.
  template <class Request>
  [[nodiscard]] Result<typename Request::Answer> ask(const Request& request) const {
    TRY(auto client, connect());
    return ask(client, request);
  }
  template <class Request>
  [[nodiscard]] Result<typename Request::Answer> ask(ControlClient& client, const Request& request,
                                                     ControlClient::Patience patience = usual_patience) const {
    TRY(const auto answer, exchange(client, arguments::on_wire(request), patience));
    return operations::decode<typename Request::Answer>(answer);
  }
  /// Does the same as ask(), but returns the answer as received, for --json.
  template <class Request>
  [[nodiscard]] Result<boost::json::object> ask_raw(const Request& request) const {
    TRY(auto client, connect());
    return ask_raw(client, request);
  }
  template <class Request>
  [[nodiscard]] Result<boost::json::object> ask_raw(ControlClient& client, const Request& request,
                                                    ControlClient::Patience patience = usual_patience) const {
    return exchange(client, arguments::on_wire(request), patience);
  }

  /// Sends a request and prints the answer as text, or as received with --json. `wait`: how long to wait for the team.
  template <class Request, class Words>
  ExitCode show(const Request& request, const Words& words, const TeamWait& wait = {}) const {
    return show(arguments::on_wire(request), wait, [&](const boost::json::object& answer) {
      return words(operations::decode<typename Request::Answer>(answer));
    });
  }
  /// Prints the error, with --json as an object on standard output, and returns its exit code.
  ExitCode fail(const Error&) const;
  ExitCode print(std::string_view text) const;
  /// Prints the object with this program's version as `version`; docs/schemas describes the output of that version.
  ExitCode print_json(const boost::json::object&) const;
  template <class Record>
  ExitCode print_record(const Record& record) const {
    return print_json(operations::done(record));
  }

 private:
  static constexpr std::chrono::seconds usual_patience{30};

  [[nodiscard]] Result<boost::json::object> exchange(ControlClient&, boost::json::object request,
                                                     ControlClient::Patience) const;
  ExitCode show(const boost::json::object& request, const TeamWait&,
                const std::function<std::string(const boost::json::object&)>& words) const;
};

/// A team or a worker that a command waits for. Decides whether a request that did not find it is sent again.
class TeamAwaited {
 public:
  TeamAwaited(const Context& context, TeamWait wait) : context_(context), wait_(wait) {}
  /// Sleeps shortly and returns true when `answer` says that the team or worker is absent and time is left. The first
  /// such call reports on stderr. Otherwise returns false; an error about an absence then says how to wait, or that the
  /// time is over.
  bool again(Result<boost::json::object>& answer);

 private:
  const Context& context_;
  TeamWait wait_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  bool told_ = false;
};

/// Converts an answer that is not "ok" into the error that it names; returns all others unchanged.
Result<boost::json::object> granted(Result<boost::json::object> answer);

/// Returns the outcome of the only decision in an answer; a failed decision becomes its error.
Result<operations::Outcome> the_one(const operations::Outcomes&);

// --- Fields of answers. A daemon of another version may omit a field.

/// Returns a string member, made printable; empty when absent.
std::string text_of(const boost::json::object&, std::string_view name);
/// Returns a string member unchanged; empty when absent.
std::string raw_text_of(const boost::json::object&, std::string_view name);
/// Returns "-" for an empty table cell.
inline std::string or_dash(std::string text) { return text.empty() ? "-" : text; }
/// Returns an integer member; 0 when absent or too large.
long long number_of(const boost::json::object&, std::string_view name);
bool flag_of(const boost::json::object&, std::string_view name);
/// Returns an object member; an empty object when absent.
const boost::json::object& object_of(const boost::json::object&, std::string_view name);
/// Returns the objects in an array member; elements of other types are skipped.
std::vector<const boost::json::object*> objects_of(const boost::json::object&, std::string_view name);

/// Returns the wall clock in milliseconds since the Unix epoch.
long long now_ms();
/// Lets now_ms() stand at this time, for tests; 0 lets it run.
void stop_clock(long long at_ms);
/// Sleeps for this time, or until a signal arrives.
void rest(std::chrono::milliseconds time);
/// Returns a text such as "3m ago"; "never" for 0.
std::string ago(long long epoch_ms);

// --- the table of commands

/// The purpose of a command; `--help` lists the groups in this order.
enum class Group { answer, look, act, deliver, set_up };

/// The function of a command and the type of its options.
struct Work {
  std::shared_ptr<void> (*make)() = nullptr;           // the options; a subcommand with the same type shares them
  ExitCode (*run)(Context&, void* options) = nullptr;  // null: a subcommand is required
};

template <class Options>
std::shared_ptr<void> make_options() {
  return std::make_shared<Options>();
}
template <auto Run, class Options>
constexpr Work work_of(ExitCode (*)(Context&, Options&)) {
  return {make_options<std::remove_const_t<Options>>,
          [](Context& context, void* options) { return Run(context, *static_cast<Options*>(options)); }};
}
template <auto Run>
constexpr Work work_of(ExitCode (*)(Context&)) {
  return {nullptr, [](Context& context, void*) { return Run(context); }};
}
/// The work of `ExitCode Run(Context&, Options&)`, or of a function without options.
template <auto Run>
constexpr Work runs = work_of<Run>(Run);
/// The work of a command that only holds options for its subcommands.
template <class Options>
constexpr Work holds{make_options<Options>, nullptr};

/// A command or a subcommand ("hook wait"): the only source for parser, help, completions, manual pages and schemas.
struct Command {
  std::string_view name;
  Group group;
  std::string_view summary;  // one line
  std::string_view help;     // paragraph for --help
  std::string_view examples;
  std::span<const Argument> shared = {};  // with other commands; --help lists them first
  std::span<const Argument> arguments = {};
  Work work = {};
  std::span<const operations::ShapeOf> prints = {};  // record types printed with --json; empty: none
  std::string_view note = {};                        // shared text of several commands, between help and examples
  std::string_view exit_codes = {};                  // of this command; empty: the common ones
};
std::span<const Command> commands();

/// Builds the parser from the command table.
std::unique_ptr<CLI::App> command_line(Context&);

/// Returns the subcommand with this name, or null.
const CLI::App* command_below(const CLI::App& above, const std::string& name);

/// Prints the candidates for the last of these words, one a line, each followed by a tab and its description.
ExitCode complete(Context&, const CLI::App& line, const std::vector<std::string>& words);

/// The row of `--wait[=DURATION]` for commands that send an order.
template <auto Member>
constexpr Argument takes_team_wait() {
  return takes<Member>("--wait [=DURATION]", "Wait until the team and the worker are there, at most so long");
}
/// Parses a duration such as 20s; throws CLI::ValidationError on a wrong one.
config::Duration read_duration(const std::string& option, const std::string& text);

/// Returns the user's name for the record. The name proves nothing: it comes from USER first.
std::string user_name();

/// Runs `doctor`.
ExitCode examine_all(Context&, const config::Sources&);

inline constexpr Argument source_arguments[] = {
    takes<&config::Sources::files>("--config FILE", "Team files, one for each team"),
    takes<&config::Sources::dir>("--config-dir DIR",
                                 "A folder of team files (default: ~/.config/inbox-poller/teams.d, when no --config is given)"),
    takes<&config::Sources::daemon_file>("--daemon-config FILE", "The daemon's own settings"),
};

/// Returns the files that a running daemon reads; empty where they are those of this environment.
config::Sources sources_in(const operations::Configuration& told);

/// Returns the files that a command is about: those named on its command line, else those of the answering daemon, else
/// those of this environment. A daemon may have been started with other files.
config::Sources meant_sources(const Context&, const config::Sources& named);

}  // namespace inbox_poller::poller::cli
