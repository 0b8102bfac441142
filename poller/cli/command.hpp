// What the commands share: the global options, one conversation with the daemon, and how an ending becomes an exit
// code.
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
#include "schema/operations/requests.hpp"
#include "schema/operations/team.hpp"

namespace inbox_poller::poller::cli {

/// How long a command waits for a team, or a worker of it, that is not there yet. Usually not at all.
struct TeamWait {
  bool waits = false;
  std::optional<config::Duration> limit = {};  // none: for ever

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
  std::vector<std::string> behind_dashes;  // what stands behind the first "--", as it came: CLI11 takes "[a,b]" apart
  const CLI::App* line = nullptr;          // the parser
  ExitCode exit_code = ExitCode::done;

  /// The socket to talk to: --socket as an absolute path, or where the configuration puts it.
  [[nodiscard]] Result<std::string> socket_path() const;
  [[nodiscard]] Result<ControlClient> connect() const;
  /// With what to do, where nobody answers on the socket.
  static Error advised(Error);
  /// One request, of --team where that is given, over a connection of its own or a given one. A refusal comes as an
  /// error with the daemon's code.
  template <class Request>
  [[nodiscard]] Result<typename Request::Answer> ask(const Request& request) const {
    TRY(auto client, connect());
    return ask(client, request);
  }
  template <class Request>
  [[nodiscard]] Result<typename Request::Answer> ask(ControlClient& client, const Request& request,
                                                     ControlClient::Patience patience = usual_patience) const {
    TRY(const auto answer, exchange(client, requests::on_wire(request), patience));
    return operations::decode<typename Request::Answer>(answer);
  }
  /// The same; the answer as it came, for --json.
  template <class Request>
  [[nodiscard]] Result<boost::json::object> ask_raw(const Request& request) const {
    TRY(auto client, connect());
    return ask_raw(client, request);
  }
  template <class Request>
  [[nodiscard]] Result<boost::json::object> ask_raw(ControlClient& client, const Request& request,
                                                    ControlClient::Patience patience = usual_patience) const {
    return exchange(client, requests::on_wire(request), patience);
  }

  /// Asks, and prints the answer in words, or with --json as it came. An order may wait until its team is there.
  template <class Request, class Words>
  ExitCode show(const Request& request, const Words& words, const TeamWait& wait = {}) const {
    return show(requests::on_wire(request), wait, [&](const boost::json::object& answer) {
      return words(operations::decode<typename Request::Answer>(answer));
    });
  }
  /// Tells what went wrong (with --json as an object on the output) and which code that is.
  ExitCode fail(const Error&) const;
  ExitCode print(std::string_view text) const;
  /// With our version as `version`: docs/schemas describes what that one prints.
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

/// A team, or a worker, that is waited for: whether a request that did not find it is made again.
class TeamAwaited {
 public:
  TeamAwaited(const Context& context, TeamWait wait) : context_(context), wait_(wait) {}
  /// True after a short rest when `answer` is that the team is not there yet and the time is not over; says once on
  /// stderr what is waited for. Otherwise adds to the error's words how to wait, or that the time is over.
  bool again(Result<boost::json::object>& answer);

 private:
  const Context& context_;
  TeamWait wait_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  bool told_ = false;
};

/// A refusal of the daemon as the error that it names; everything else as it is.
Result<boost::json::object> granted(Result<boost::json::object> answer);

/// What became of the one ask that was answered; a refusal comes as an error.
Result<operations::Outcome> the_one(const operations::Outcomes&);

// --- reading answers; a daemon of another version may leave a field out

/// A string member made printable; empty when absent.
std::string text_of(const boost::json::object&, std::string_view name);
/// A string member as it is.
std::string raw_text_of(const boost::json::object&, std::string_view name);
/// "-" where a table would have nothing.
inline std::string or_dash(std::string text) { return text.empty() ? "-" : text; }
/// An integer member; 0 when absent.
long long number_of(const boost::json::object&, std::string_view name);
bool flag_of(const boost::json::object&, std::string_view name);
/// An object member; empty when absent.
const boost::json::object& object_of(const boost::json::object&, std::string_view name);
/// The objects in an array member; anything else in it is passed over.
std::vector<const boost::json::object*> objects_of(const boost::json::object&, std::string_view name);

/// Milliseconds since the Unix epoch.
long long now_ms();
/// Waits so long, or until a signal comes.
void rest(std::chrono::milliseconds time);
/// "3m ago"; "never" for 0.
std::string ago(long long epoch_ms);

// --- the table of commands

/// What a command is for; `--help` shows them in this order.
enum class Group { answer, look, act, deliver, set_up };

/// What a command does with its options.
struct Work {
  std::shared_ptr<void> (*make)() = nullptr;           // the options; commands below one with the same kind share them
  ExitCode (*run)(Context&, void* options) = nullptr;  // null: one below it is to be named
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
/// Of `ExitCode Run(Context&, Options&)`, or without options.
template <auto Run>
constexpr Work runs = work_of<Run>(Run);
/// Of a command that only has options for those below it.
template <class Options>
constexpr Work holds{make_options<Options>, nullptr};

/// A command, or one below another ("hook wait"): all that is known of it. Parser, help, completions, manual pages and
/// schemas come from here.
struct Command {
  std::string_view name;
  Group group;
  std::string_view summary;  // one line
  std::string_view help;     // what it teaches
  std::string_view examples;
  std::span<const Argument> shared = {};  // with other commands; --help shows them first
  std::span<const Argument> arguments = {};
  Work work = {};
  std::span<const operations::ShapeOf> prints = {};  // with --json, one of these; empty: nothing
  std::string_view note = {};                        // what several commands say, between help and examples
  std::string_view exit_codes = {};                  // its own; empty: those of all
};
std::span<const Command> commands();

/// The parser with everything that the commands declare.
std::unique_ptr<CLI::App> command_line(Context&);

/// The command of this name below this one, or null.
const CLI::App* command_below(const CLI::App& above, const std::string& name);

/// Prints what may stand in the place of the last of these words, one a line, with what it is behind a tab.
ExitCode complete(Context&, const CLI::App& line, const std::vector<std::string>& words);

/// `--wait[=DURATION]` of an order, as a row.
template <auto Member>
constexpr Argument takes_team_wait() {
  return takes<Member>("--wait [=DURATION]", "Wait until the team and the worker are there, at most so long");
}
/// Reads a duration such as 20s; throws what CLI11 tells as a wrong command line.
config::Duration read_duration(const std::string& option, const std::string& text);

/// Who commands, for the record; not a proof of anything.
std::string user_name();

/// What `doctor` does.
ExitCode examine_all(Context&, const config::Sources&);

/// Where the configuration is.
inline constexpr Argument source_arguments[] = {
    takes<&config::Sources::files>("--config FILE", "Team files, one for each team"),
    takes<&config::Sources::dir>("--config-dir DIR",
                                 "A folder of team files (default: ~/.config/inbox-poller/teams.d, when no --config is given)"),
    takes<&config::Sources::daemon_file>("--daemon-config FILE", "The daemon's own settings"),
};

/// The files that a running daemon reads, as it says; empty where it reads those of this environment.
config::Sources sources_in(const operations::Configuration& told);

/// The files that a command is about: those that its line names; else those of the daemon that answers, which may have
/// been started with others; else those of this environment.
config::Sources meant_sources(const Context&, const config::Sources& named);

}  // namespace inbox_poller::poller::cli
