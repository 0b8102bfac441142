#include "poller/cli/hook_worker.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cstdlib>
#include <memory>

#include "poller/cli/printable.hpp"
#include "schema/hook_event.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

struct HookWorkerOptions {
  std::optional<config::Duration> patience;
  bool verbose = false;
};

/// Longer than the lead's hooks have: whoever gives up here leaves a call that a rule denies to somebody else.
constexpr milliseconds default_patience{500};
constexpr milliseconds input_within{5000};                // the client writes at once; a terminal never
constexpr std::size_t most_input = std::size_t{1} << 20;  // what is longer does not fit into a request either

Result<json::object> read_call(Context& context) {
  const auto input = context.console.read_beginning(most_input, input_within);
  if (!input) return input.error();
  const auto event = schema::decode_hook_event(input->text, input->is_cut);
  if (!event) return event.error();
  json::object request{{"event", schema::encode(*event)}};
  if (const char* pane = std::getenv("TMUX_PANE"); pane != nullptr) request["pane"] = pane;
  return request;
}

/// What the daemon decided; empty when nothing, and an error that says why where it does.
Result<std::string> decision(Context& context, milliseconds patience) {
  auto request = read_call(context);
  if (!request) return request.error();
  const auto until = steady_clock::now() + patience;
  const auto left = [until] {
    return std::max(std::chrono::ceil<milliseconds>(until - steady_clock::now()), milliseconds(1));
  };
  const auto path = context.socket_path();
  if (!path) return path.error();
  auto client = ControlClient::connect(*path, left());
  if (!client) return client.error();
  const auto answer = context.ask(*client, "worker_call", *std::move(request), left());
  if (!answer) return answer.error();
  if (const auto ignored = raw_text_of(*answer, "ignored"); !ignored.empty()) return Error{"hook.ignored", ignored};
  return raw_text_of(*answer, "output");
}

ExitCode hook_worker(Context& context, const HookWorkerOptions& options) {
  const auto output = decision(context, options.patience.value_or(default_patience));
  if (!output && options.verbose) context.console.complain(printable(output.error().message));
  if (output && !output->empty()) static_cast<void>(context.console.write(*output + '\n'));
  return ExitCode::done;
}

}  // namespace

void add_hook_worker(CLI::App& hook, Context& context) {
  auto options = std::make_shared<HookWorkerOptions>();
  CLI::App* command = add_command(
      hook, "worker", "What a worker's client runs before each tool call",
      "Reads a PreToolUse event on the standard input. Where a rule of the worker's team allows or denies the\n"
      "call, it prints that, once it is recorded (`inbox-poller decisions`). What no rule decides, and every\n"
      "session that is no worker's, goes on as without it; so it does when no daemon answers: it leaves with 0\n"
      "and prints nothing (--verbose says why on the error output).\n\n"
      "Example:\n"
      "  inbox-poller hook install --for workers");
  add_duration(*command, "--patience", options->patience, "How long the daemon may take (default: 500ms)");
  command->add_flag("--verbose", options->verbose, "Say on the error output why there was nothing to do");
  command->callback([options, &context] { context.exit_code = hook_worker(context, *options); });
}

}  // namespace inbox_poller::poller::cli
