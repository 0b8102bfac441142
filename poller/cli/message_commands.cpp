// Commands for messages to workers (`send`, `broadcast`) and to the lead (`recv`, `ack`).
#include <algorithm>
#include <boost/json.hpp>
#include <memory>
#include <optional>

#include "poller/cli/command.hpp"
#include "poller/cli/follow.hpp"
#include "poller/cli/printable.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;
using std::chrono::milliseconds;

namespace {

struct SendOptions {
  std::string to;  // empty: all workers
  std::string text;
  std::string summary;
  TeamWait wait;
};

ExitCode send_message(Context& context, const SendOptions& options) {
  std::string text = options.text;
  if (text == "-") {
    const Result<std::string> input = context.console.read_all(max_request_bytes);
    if (!input) return context.fail(input.error());
    text = *input;
  }
  const auto line = [](const operations::Sent& one) {
    return "for " + printable(one.member) + ": inbox-poller trace " + printable(one.message_key) + '\n';
  };
  if (!options.to.empty())
    return context.show(arguments::Send{options.to, std::move(text), options.summary, {}}, line, options.wait);
  const auto lines = [&](const operations::Broadcast& answer) {
    std::string list;
    for (const auto& one : answer.sent) list += line(one);
    return list.empty() ? "the team has no worker to send to\n" : list;
  };
  return context.show(arguments::Broadcast{std::move(text), options.summary, {}}, lines, options.wait);
}

struct RecvOptions {
  TeamWait wait;
  int max = 20;
  std::string format;  // empty: text, or as other options require
  bool no_ack = false;
  bool ignore_busy = false;
  bool follows = false;
  bool acks = false;
  std::string after;
};

constexpr milliseconds longest_wait = std::chrono::hours(1);  // of one request; longer waits take several requests

/// Sends requests until a message arrives or the time is over.
Result<json::object> receive(Context& context, ControlClient& client, const RecvOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  TeamAwaited awaited(context, options.wait);
  for (;;) {
    milliseconds wait{0};
    if (options.wait.waits) {
      wait = longest_wait;
      const auto passed = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
      if (options.wait.limit) wait = std::clamp(*options.wait.limit - passed, milliseconds(0), longest_wait);
    }
    const arguments::Recv request{
        .max = options.max, .wait_ms = wait.count(), .ignore_busy = options.ignore_busy, .hold = options.no_ack};
    Result<json::object> answer = context.ask_raw(client, request, wait + std::chrono::seconds(30));
    if (awaited.again(answer)) continue;
    if (!answer || wait.count() == 0 || !objects_of(*answer, "messages").empty()) return answer;
  }
}

ExitCode explain_nothing(Context& context, const operations::Received& answer) {
  const long long held = answer.held;
  std::string text = "no message";
  if (held > 0)
    text += "; " + std::to_string(held) + " held, the lead is " + printable(answer.lead_state) +
            " (--ignore-busy hands them out nevertheless)";
  return context.fail({"message.none", text});
}

ExitCode acknowledge(Context& context, ControlClient& client, const arguments::Strings& keys) {
  const auto answer = context.ask(client, arguments::Ack{.keys = keys});
  if (answer && answer->acknowledged == static_cast<long long>(keys.size())) return ExitCode::done;
  context.console.complain(
      "the messages were written out, but not all of them could be acknowledged: they may come again" +
      (answer ? std::string() : " (" + printable(answer.error().message) + ')'));
  return ExitCode::failed;
}

ExitCode recv(Context& context, const RecvOptions& given) {
  RecvOptions options = given;
  if (context.json) options.format = "json";
  if (options.acks && options.format == "text")
    return context.fail(usage_error("--ack-from-stdin needs --format json: the text does not show the message keys"));
  const bool json = options.format == "json" || options.acks;
  if (options.follows) return follow(context, {options.max, json, options.ignore_busy, options.acks, options.after});
  Result<ControlClient> client = context.connect();
  if (!client) return context.fail(client.error());
  const Result<json::object> answer = receive(context, *client, options);
  if (!answer) return context.fail(answer.error());
  const auto received = operations::decode<operations::Received>(*answer);
  if (received.messages.empty()) return explain_nothing(context, received);

  // Print before acknowledging, so that after an interruption the daemon delivers the messages again.
  Status written = context.console.write(received_text(context, json, *answer));
  if (written.ok()) written = context.console.sync();
  if (!written.ok()) {
    context.console.complain(written.error().message + "; nothing was acknowledged, the messages will come again");
    return ExitCode::failed;
  }
  arguments::Strings keys;
  std::string words;
  for (const auto& message : received.messages) {
    keys.emplace_back(message.message_key.bytes);
    words += ' ' + shell_word(printable(message.message_key));
  }
  if (std::ssize(keys) == options.max)
    context.console.explain("inbox-poller: more may wait; the exit code is 4 when none does\n");
  if (!options.no_ack) return acknowledge(context, *client, keys);
  context.console.explain("inbox-poller: held for ten minutes; acknowledge with: inbox-poller ack" + words + '\n');
  return ExitCode::done;
}

struct AckOptions {
  std::vector<std::string> keys;
};

ExitCode ack(Context& context, const AckOptions& options) {
  const auto& keys = options.keys;
  const Result<json::object> answer = context.ask_raw(arguments::Ack{.keys = keys});
  if (!answer) return context.fail(answer.error());
  const long long count = operations::decode<operations::Acknowledged>(*answer).acknowledged;
  std::string text = std::to_string(count) + " of " + std::to_string(keys.size()) + " acknowledged";
  if (count != std::ssize(keys)) text += "; the others are not held here: acknowledged before, queued again, or no key";
  const ExitCode printed = context.json ? context.print_json(*answer) : context.print(text + '\n');
  return printed == ExitCode::done && count == 0 ? ExitCode::not_found : printed;
}

// clang-format off
constexpr Argument send_takes[] = {
    takes<&SendOptions::to>("TO", "The worker's name").required(),
    takes<&SendOptions::text>("TEXT", "The message, or - for the standard input").required(),
    takes<&SendOptions::summary>("--summary TEXT", "One line that says what it is about"),
    takes_team_wait<&SendOptions::wait>(),
};
constexpr Argument broadcast_takes[] = {
    takes<&SendOptions::text>("TEXT", "The message, or - for the standard input").required(),
    takes<&SendOptions::summary>("--summary TEXT", "One line that says what it is about"),
    takes_team_wait<&SendOptions::wait>(),
};
constexpr Argument recv_takes[] = {
    takes<&RecvOptions::wait>("--wait [=DURATION]", "Wait for a message, at most DURATION; without one, without a limit"),
    takes<&RecvOptions::max>("--max N", "At most so many messages").shows_default().within(1, 1000),
    takes<&RecvOptions::format>("--format FORMAT", "text or json (--json is the same as --format json)").one_of("text, json"),
    takes<&RecvOptions::no_ack>("--no-ack", "Leave the acknowledgment to `inbox-poller ack`"),
    takes<&RecvOptions::follows>("--follow", "Stay, and print messages as they come").excludes("--wait, --no-ack"),
    takes<&RecvOptions::acks>("--ack-from-stdin", "Acknowledge what the keys on the standard input say (JSON only)").needs("--follow"),
    takes<&RecvOptions::after>("--after KEY", "The message that was taken last, and all handed out before it, are known").needs("--follow"),
    takes<&RecvOptions::ignore_busy>("--ignore-busy", "Also when the lead is busy"),
};
constexpr Argument ack_takes[] = {takes<&AckOptions::keys>("KEY", "Message keys, as recv shows them").required()};

constexpr Command message_rows[] = {
    {.name = arguments::Send::verb, .group = Group::act, .summary = "Send a message to one worker",
     .help = "Writes a message from the lead into a worker's inbox. A text that begins with \"-\" goes behind\n"
             "\"--\"; \"-\" alone reads the text from the standard input. With --wait the text may come before the team\n"
             "and the worker do; write a limit as --wait=2min. A text on which a worker would act is refused.",
     .examples = "inbox-poller send --wait=10min alice 'begin with the parser'\n"
                 "inbox-poller send alice 'please rebase before you go on'\n"
                 "git log -1 | inbox-poller send alice - --summary 'the last commit'",
     .arguments = send_takes, .work = runs<send_message>, .prints = operations::shapes<operations::Sent>},
    {.name = arguments::Broadcast::verb, .group = Group::act, .summary = "Send a message to every worker",
     .help = "As `send`, once to each member of the team but the lead.",
     .examples = "inbox-poller broadcast 'the build is green again'",
     .arguments = broadcast_takes, .work = runs<send_message>, .prints = operations::shapes<operations::Broadcast>},
    {.name = arguments::Recv::verb, .group = Group::deliver, .summary = "Take the messages for the lead",
     .help = "Prints the waiting messages and acknowledges them after they were written out: a closed pipe, a\n"
             "full disk or a kill in between loses nothing. While the lead is busy there is nothing to take.\n"
             "\"text\" is the block that a lead session reads; \"json\" is one object a line, with \"attempts\" over 1\n"
             "for a message that may be a repeat. With --no-ack the messages stay yours for ten minutes; `ack`\n"
             "ends that. An interrupted wait (SIGINT) takes nothing.\n\n"
             "With --follow it stays and prints each batch as it comes; while it runs it is the way \"socket\" of\n"
             "delivery.methods. When the team is not there yet, or the daemon restarts, it waits and goes on. With\n"
             "--ack-from-stdin nothing is acknowledged by itself: message keys are read from the standard input, one a\n"
             "line, and each acknowledges that message and all that were handed out before it; at most 1000 wait for\n"
             "that. The end of the input ends it. A program that was killed says with --after which message it had\n"
             "taken last. Several may follow; each\n"
             "message goes to one of them. SIGINT and SIGTERM end it with 0; what was not acknowledged comes again.",
     .examples = "inbox-poller recv --wait=1min\n"
                 "inbox-poller recv --follow\n"
                 "inbox-poller recv --follow --ack-from-stdin --after \"$(cat last-key)\" < keys | my-lead > keys\n"
                 "inbox-poller recv --format json --max 1 --no-ack",
     .arguments = recv_takes, .work = runs<recv>, .prints = operations::shapes<operations::LeadMessage>},
    {.name = arguments::Ack::verb, .group = Group::deliver, .summary = "Acknowledge messages taken with `recv --no-ack`",
     .help = "An acknowledged message has arrived and does not come again.",
     .examples = "inbox-poller ack 0f3a9c21d4e84c6f9a1b2c3d4e5f6071",
     .arguments = ack_takes, .work = runs<ack>, .prints = operations::shapes<operations::Acknowledged>},
};
// clang-format on

}  // namespace

std::span<const Command> message_commands() { return message_rows; }

}  // namespace inbox_poller::poller::cli
