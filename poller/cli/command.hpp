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
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "poller/cli/console.hpp"
#include "poller/control/client.hpp"
#include "poller/daemon.hpp"
#include "schema/error.hpp"

namespace inbox_poller::poller::cli {

enum class ExitCode {
  done = 0,
  failed = 1,     // refused by the daemon, or a fault
  usage = 2,      // the command line or the configuration is wrong
  no_daemon = 3,  // nobody answers on the control socket
  nothing = 4,    // there is nothing to show: no message, no such id
};

using RunDaemon = std::function<int(const RunOptions&)>;

class Context {
 public:
  Context(Console& out, RunDaemon run) : console(out), run_daemon(std::move(run)) {}

  Console& console;
  RunDaemon run_daemon;
  std::string socket;                      // --socket; empty: as configured
  std::string team;                        // --team
  bool json = false;                       // --json
  std::vector<std::string> behind_dashes;  // what stands behind the first "--", as it came: CLI11 takes "[a,b]" apart
  ExitCode exit_code = ExitCode::done;

  /// The socket to talk to: --socket as an absolute path, or where the configuration puts it.
  [[nodiscard]] Result<std::string> socket_path() const;
  [[nodiscard]] Result<ControlClient> connect() const;
  /// One request, `verb` and --team added, over a connection of its own or a given one. A refusal comes as an error
  /// with the daemon's code.
  [[nodiscard]] Result<boost::json::object> ask(std::string_view verb, boost::json::object request = {}) const;
  [[nodiscard]] Result<boost::json::object> ask(ControlClient&, std::string_view verb, boost::json::object request,
                                                ControlClient::Patience patience = std::chrono::seconds(30)) const;

  /// Tells what went wrong (with --json as an object on the output) and which code that is.
  ExitCode fail(const Error&) const;
  ExitCode print(std::string_view text) const;
  ExitCode print_json(const boost::json::object&) const;
};

// --- reading answers; a daemon of another version may leave a field out
// -----------------------------------------------------

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

/// The strings in an array member, as "alice, bob", made printable.
std::string names_of(const boost::json::object&, std::string_view name);

/// Milliseconds since the Unix epoch.
long long now_ms();
/// Waits so long, or until a signal comes.
void rest(std::chrono::milliseconds time);
/// "3m ago"; "never" for 0.
std::string ago(long long epoch_ms);

// --- the table of commands
// ------------------------------------------------------------------------------------------------------

/// One subcommand: a line for the list, and a help that teaches (a paragraph, then examples).
CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& line, const std::string& help);

/// An option that takes a duration such as 20s; anything else is a wrong command line.
CLI::Option* add_duration(CLI::App& command, const std::string& name, std::optional<config::Duration>& into,
                          const std::string& line);
/// Reads one; throws what CLI11 tells as a wrong command line.
config::Duration read_duration(const std::string& option, const std::string& text);

/// Who commands, for the record; not a proof of anything.
std::string user_name();

/// The options that say where the configuration is.
void add_sources(CLI::App& command, config::Sources& sources);

using AddCommand = void (*)(CLI::App&, Context&);
void add_run(CLI::App&, Context&);
void add_check_config(CLI::App&, Context&);
void add_status(CLI::App&, Context&);
void add_pending(CLI::App&, Context&);
void add_approve(CLI::App&, Context&);
void add_deny(CLI::App&, Context&);
void add_decisions(CLI::App&, Context&);
void add_send(CLI::App&, Context&);
void add_broadcast(CLI::App&, Context&);
void add_lead(CLI::App&, Context&);
CLI::App* add_lead_run(CLI::App& lead, Context&);
void add_hook(CLI::App&, Context&);
void add_recv(CLI::App&, Context&);
void add_ack(CLI::App&, Context&);
void add_trace(CLI::App&, Context&);
void add_history(CLI::App&, Context&);
void add_quarantine(CLI::App&, Context&);
void add_shutdown(CLI::App&, Context&);
void add_shutdowns(CLI::App&, Context&);
void add_mode(CLI::App&, Context&);
void add_allow(CLI::App&, Context&);
void add_revoke(CLI::App&, Context&);
void add_rules(CLI::App&, Context&);
void add_reload(CLI::App&, Context&);
void add_resume(CLI::App&, Context&);
void add_inbox(CLI::App&, Context&);
void add_doctor(CLI::App&, Context&);

/// The whole program: parses, runs one command, returns the exit code. `arguments` without the program's name.
int run_command_line(std::vector<std::string> arguments, Console&, RunDaemon);

}  // namespace inbox_poller::poller::cli
