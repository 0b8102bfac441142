// `hook`, `hook wait` and `hook worker`: started by a lead's or a worker's client at its events. They fail open: after
// any error the client continues as if they did not exist. An error never allows a call. Source: docs/reference/wire.md
// W25.
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdlib>
#include <memory>

#include "handlers/text.hpp"
#include "poller/cli/command.hpp"
#include "poller/cli/printable.hpp"
#include "poller/processes.hpp"
#include "schema/client_version.hpp"
#include "schema/hook_event.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

struct HookOptions {
  std::optional<config::Duration> patience;
  std::optional<config::Duration> timeout;
  bool verbose = false;
};

constexpr milliseconds default_patience{35};  // with the program's start below 50 ms, which nobody notices
/// The limit while no person waits at the screen and the daemon has accepted the connection. A client's shortest limit
/// for a hook is 1.5 s (SessionEnd).
constexpr milliseconds long_patience{1000};
/// Longer than for the lead's hooks: after a timeout a call that a rule denies is decided by the client.
constexpr milliseconds worker_patience{500};
constexpr milliseconds input_within{5000};                // the client writes at once; a terminal never ends
constexpr std::size_t most_input = std::size_t{1} << 20;  // a tool's result may be longer; the rest is not needed
constexpr std::size_t most_prompt = std::size_t{32} << 10;
constexpr std::size_t most_last_message = 100;  // bytes; only the first words are used
constexpr std::size_t most_part = 8'000;        // bytes of a worker's text; each may become six in JSON
constexpr std::size_t most_event = max_request_bytes - 4096;
constexpr milliseconds look_again{2000};
constexpr milliseconds grace{10'000};
constexpr int most_shells = 4;    // between a client and its hook
constexpr int most_pointers = 3;  // for one message that is too long to print
/// With this exit code the client wakes the session and shows it the error output.
constexpr auto wakes = static_cast<ExitCode>(2);

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Returns the version that the client gives its hooks; empty if it gives none.
std::string client_version() {
  const auto version = schema::parse_agent(variable("AI_AGENT"));
  return version ? schema::to_string(*version) : std::string();
}

schema::ClientMode client_mode() {
  return schema::client_mode(variable("CLAUDE_CODE_ENTRYPOINT"), variable("CLAUDE_CODE_SESSION_ATTENDED"));
}

/// Reduces an event to what the daemon needs and a request can hold.
arguments::Heard request_of(schema::HookEvent event) {
  if (event.name != "PermissionRequest") event.tool_input.clear();
  event.prompt.resize(handlers::beginning(event.prompt, most_prompt).size());
  event.last_assistant_message.resize(handlers::beginning(event.last_assistant_message, most_last_message).size());
  std::string text = schema::encode(event);
  if (json::serialize(json::string(text)).size() > most_event) {
    event.prompt.clear();
    text = schema::encode(event);
  }
  return {.event = json::value(text),
          .pane = variable("TMUX_PANE"),
          .mode = schema::to_string(client_mode()),
          .client = client_version(),
          .attended = !variable("CLAUDE_CODE_SESSION_ATTENDED").empty(),
          .team = {}};
}

struct Heard {
  std::string name;
  arguments::Heard request;
};

Result<Heard> read_event(Context& context) {
  TRY(const auto input, context.console.read_beginning(most_input, input_within));
  TRY(auto event, schema::decode_hook_event(input.text, input.is_cut));
  std::string name = event.name;
  return Heard{std::move(name), request_of(std::move(event))};
}

/// Time limits of a hook from one start: for the connection, and for the answer.
struct Patience {
  milliseconds connection;
  milliseconds answer;
};

/// Returns the text that the daemon wants printed. An error says why there is none. Sets `client` once connected.
template <class Request>
Result<std::string> output_of(Context& context, const Request& request, Patience patience,
                              std::optional<ControlClient>& client) {
  const auto began = steady_clock::now();
  TRY(const auto path, context.socket_path());
  TRY(const auto connected, ControlClient::connect(path, patience.connection));
  client = connected;
  const auto left = std::chrono::ceil<milliseconds>(began + patience.answer - steady_clock::now());
  TRY(auto answer, context.ask(*client, request, std::max(left, milliseconds(1))));
  if (answer.ignored) return Error{"hook.ignored", std::move(answer.ignored->bytes)};
  return answer.output.value_or("").bytes;
}

/// Reports whether the messages were printed. The daemon receives the report although the hook awaits no answer.
void tell(ControlClient& client, bool printed) {
  client.tell(
      arguments::on_wire(arguments::Shown{printed}));  // without it the messages come again, labeled as repeated
}

Status pass_on(Context& context, const std::optional<config::Duration>& said) {
  TRY(auto heard, read_event(context));
  const Patience patience{said.value_or(default_patience),
                          said.value_or(schema::may_be_slow(heard.name) ? long_patience : default_patience)};
  std::optional<ControlClient> client;
  const auto output = output_of(context, arguments::Hook{std::move(heard.request)}, patience, client);
  if (!output && client && output.error().code != "hook.ignored") tell(*client, false);
  if (!output) return output.error();
  if (output->empty()) return Done{};
  // Print before reporting, so that text the client did not receive is delivered again.
  TRY(context.console.write(*output + '\n'));
  tell(*client, true);
  return Done{};
}

void explain(Context& context, const HookOptions& options, const Error& why) {
  if (options.verbose) context.console.complain(printable(why.message));
}

ExitCode hook(Context& context, const HookOptions& options) {
  if (const Status passed = pass_on(context, options.patience); !passed.ok())
    explain(context, options, passed.error());
  return ExitCode::done;
}

// --- hook worker

/// Reports the end of a turn, its text in parts that each fit into a request.
Status report_turn(Context& context, schema::HookEvent event, Patience patience) {
  TRY(const auto path, context.socket_path());
  TRY(auto client, ControlClient::connect(path, patience.connection));
  const std::string text = std::exchange(event.last_assistant_message, {});
  std::string_view rest = text;
  arguments::WorkerTurn request{
      .event = schema::encode(event), .text = {}, .more = true, .pane = variable("TMUX_PANE"), .team = {}};
  while (request.more) {
    request.text = handlers::beginning(rest, most_part);
    rest.remove_prefix(request.text.size());
    request.more = !rest.empty();
    TRY(const auto answer, context.ask(client, request, patience.answer));
    if (answer.ignored) return Error{"hook.ignored", answer.ignored->bytes};
  }
  return Done{};
}

Result<std::string> worker_output(Context& context, const HookOptions& options) {
  TRY(const auto input, context.console.read_beginning(most_input, input_within));
  TRY(const auto event, schema::decode_hook_event(input.text, input.is_cut));
  if (event.name == "Stop") {
    TRY(report_turn(context, event,
                    {options.patience.value_or(default_patience), options.patience.value_or(long_patience)}));
    return std::string();
  }
  std::optional<ControlClient> client;
  const milliseconds patience = options.patience.value_or(worker_patience);
  const arguments::WorkerCall request{schema::encode(event), variable("TMUX_PANE"), {}};
  return output_of(context, request, {patience, patience}, client);
}

ExitCode hook_worker(Context& context, const HookOptions& options) {
  const auto output = worker_output(context, options);
  if (!output) explain(context, options, output.error());
  if (output && !output->empty()) static_cast<void>(context.console.write(*output + '\n'));
  return ExitCode::done;
}

// --- hook wait

/// The client that runs this hook, to see whether it lives. The end of a shell in between also counts as its end.
class Client {
 public:
  Client() {
    const auto named = variable("CLAUDE_PID");
    auto process = processes_.identify(::getppid());
    for (int i = 0; process && i < most_shells && std::to_string(process->pid) != named && runs_a_command(*process); ++i)
      process = parent_of(*process);
    if (process) process_ = *std::move(process);
  }

  bool lives() { return ::getppid() == parent_ && (!process_ || processes_.is_alive(*process_)); }

 private:
  /// True for a shell that runs a command.
  bool runs_a_command(const ProcessRef& process) {
    const auto arguments = processes_.arguments(process);
    return arguments.size() > 2 && is_shell(arguments) && arguments[1].starts_with('-') &&
           arguments[1].find('c') != std::string::npos;
  }

  SystemProcesses processes_;
  const pid_t parent_ = ::getppid();
  std::optional<ProcessRef> process_;
};

/// Prints the received messages and returns the exit code that wakes the session.
ExitCode wake(Context& context, ControlClient& client, const HookOptions& options, const operations::Received& answer,
              const std::string& team) {
  std::string text = schema::handed_over(answer.block.value_or("").bytes);
  const bool fits = text.size() <= schema::longest_hook_text;
  const auto& first = answer.messages.front();
  if (!fits && first.attempts > most_pointers) {
    explain(context, options, {"hook.too_long", "a message is too long, and the session was told so often enough"});
    return ExitCode::done;
  }
  // The daemon requeues the message when this connection closes.
  if (!fits) text = schema::pointer_to(first.from.bytes, first.text.bytes.size(), team);
  if (const Status written = context.console.write_error(text + '\n'); !written.ok()) return ExitCode::done;
  if (fits) tell(client, true);
  return wakes;
}

/// Waits until a message arrives, the time is over, or the session or its client has ended.
Result<ExitCode> wait_for_messages(Context& context, ControlClient& client, const HookOptions& options,
                                   const std::string& team, Client& our_client) {
  const auto begin = steady_clock::now();
  bool was_there = false;
  for (;;) {
    const auto passed = std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin);
    const auto left = options.timeout ? *options.timeout - passed : milliseconds::max();
    if (left <= milliseconds(0) || !our_client.lives()) return ExitCode::done;
    const auto wait = std::min(left, look_again);
    const arguments::Recv request{.team = team, .wait_ms = wait.count()};
    TRY(const auto answer, context.ask(client, request, wait + std::chrono::seconds(30)));
    if (!answer.messages.empty()) return wake(context, client, options, answer, team);
    const bool is_gone = answer.lead_state == "offline";
    was_there = was_there || !is_gone;
    // The daemon may hear of the session only after this hook, from the event that started it.
    if (is_gone && (was_there || passed > grace)) return ExitCode::done;
  }
}

ExitCode wait(Context& context, const HookOptions& options) {
  Client our_client;  // first: once the client has ended, another process is our parent, and that one lives on
  arguments::Attach request;
  request.method = "hook";
  if (::isatty(context.console.in()) == 0) {
    auto event = read_event(context);  // first: a client that writes to a process that has ended gets an error
    // A headless client waits at its end for this hook and discards the output.
    if (event && client_mode() != schema::ClientMode::interactive)
      event = Error{"hook.headless", "no person is at the client: no idle session can be woken"};
    if (!event) {
      explain(context, options, event.error());
      return ExitCode::done;
    }
    static_cast<arguments::Heard&>(request) = std::move(event->request);
  }
  auto client = context.connect();
  const auto attached = client ? context.ask(*client, request) : Result<operations::Attached>(client.error());
  const auto ended = attached ? wait_for_messages(context, *client, options, attached->team.bytes, our_client)
                              : Result<ExitCode>(attached.error());
  if (ended) return *ended;
  explain(context, options, ended.error());
  return ExitCode::done;
}

// clang-format off
constexpr Argument hook_takes[] = {
    takes<&HookOptions::patience>("--timeout DURATION", "How long the daemon may take (default: 35ms; 1s at the\nbeginning and the end of a turn or a session, once connected)"),
    takes<&HookOptions::verbose>("--verbose", "Say on the error output why there was nothing to do"),
};
constexpr Argument hook_wait_takes[] = {takes<&HookOptions::timeout>("--timeout DURATION", "How long to wait (default: without a limit)")};
constexpr Argument hook_worker_takes[] = {
    takes<&HookOptions::patience>("--timeout DURATION", "How long the daemon may take (default: 500ms; 1s at\nthe end of a turn)"),
    takes<&HookOptions::verbose>("--verbose", "Say on the error output why there was nothing to do"),
};

constexpr Command hook_rows[] = {
    {.name = arguments::Hook::verb, .group = Group::deliver, .summary = "Run as a hook of the lead's client",
     .help = "Reads a hook's event on the standard input, tells the daemon whether the lead is busy, idle or offline,\n"
             "and prints what the client shall do: read waiting messages, go on with them, allow or deny by rule\n"
             "([lead] permissions). Whatever goes wrong, it prints nothing and leaves with 0 (--verbose says why on\n"
             "the error output): the client goes on as without it. A wrong command line is 1, since 2 would block.",
     .examples = "inbox-poller hook install\n"
                 "echo '{\"hook_event_name\":\"Stop\",\"session_id\":\"…\"}' | inbox-poller hook --verbose",
     .arguments = hook_takes, .work = runs<hook>},
    {.name = "hook wait", .group = Group::deliver, .summary = "Wake an idle session when messages come",
     .help = "For a hook with \"asyncRewake\": waits until there are messages for the idle lead, writes them to the\n"
             "error output and leaves with 2. One at a time: another one leaves at once with 0, unless it is of a newer\n"
             "session, whose messages it then waits for. It also leaves with 0 when the time is over, when the session,\n"
             "its client or the daemon is gone, when the event on the standard input is not of the lead's session, and\n"
             "where no person is at the client (-p).",
     .examples = "inbox-poller hook wait --timeout 23h",
     .arguments = hook_wait_takes, .work = runs<wait>},
    {.name = "hook worker", .group = Group::deliver, .summary = "Decide a worker's tool call by the rules, as its hook",
     .help = "Reads a PreToolUse event on the standard input. Where a rule of the worker's team allows or denies the\n"
             "call, it prints that, once it is recorded (`inbox-poller decisions`). What no rule decides, and every\n"
             "session that is no worker's, goes on as without it; so it does when no daemon answers: it leaves with 0\n"
             "and prints nothing (--verbose says why on the error output).\n"
             "At a Stop event the daemon gets the last text of the turn. If the worker has sent its lead nothing in the\n"
             "turn, the text is kept, and [delivery] unsent_reports says what the lead gets of it.",
     .examples = "inbox-poller hook install --target workers",
     .arguments = hook_worker_takes, .work = runs<hook_worker>},
};
// clang-format on

}  // namespace

std::span<const Command> hook_commands() { return hook_rows; }

}  // namespace inbox_poller::poller::cli
