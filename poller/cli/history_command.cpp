// `history`: the messages in the ledger, also those that have left the inbox.
#include <boost/json.hpp>
#include <memory>
#include <optional>

#include "poller/cli/command.hpp"
#include "poller/cli/explain.hpp"
#include "poller/cli/nodes_text.hpp"
#include "poller/cli/inbox_entries.hpp"
#include "poller/cli/printable.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

constexpr std::size_t line_length = 100;  // bytes of a text in the table
constexpr int line_cells = 100;

struct HistoryOptions {
  std::string key;
  std::string from;
  std::string type;
  std::optional<config::Duration> since;
  int limit = 50;
  bool full = false;
};

/// Returns one word for the state; `trace` has the sentence.
std::string outcome(const operations::SaidMessage& message) {
  const auto& mail = message.node_message;
  if (mail && (message.disposition == "relayed" || mail->direction == "out")) return node_message_state(*mail);
  const std::string delivery = message.delivery.bytes;
  return delivery.empty() || delivery == "none" ? printable(message.disposition) : printable(delivery);
}

std::string first_line(const operations::SaidMessage& message) {
  if (const std::string subject = printable(message.subject); !subject.empty()) return cut(subject, line_cells);
  const std::string text = message.text.bytes;
  const std::size_t end = text.find('\n');
  const bool more = end != std::string::npos || message.is_cut;
  const std::string line = shortened(std::string_view(text).substr(0, end), line_length);
  return printable(line) + (more && !line.ends_with("…") ? "…" : "");
}

/// Returns the sender, its node if that is another one, and the recipient if that is not the lead.
std::string who(const operations::SaidMessage& message) {
  const auto& mail = message.node_message;
  const bool between = message.code == "role.between" || message.disposition == "relayed";
  return printable(message.sender) + (mail && mail->direction == "in" ? '@' + printable(mail->node) : "") +
         (between ? " to " + printable(message.inbox) : "");
}

std::string history_table(const Console& console, const std::vector<operations::SaidMessage>& messages) {
  std::vector<Row> rows{{"WHEN", "TEAM", "FROM", "TYPE", "STATE", "KEY", "TEXT"}};
  for (const auto& message : messages)
    rows.push_back({brief_time_text(message.received_ms, now_ms()), printable(message.team), who(message),
                    printable(message.type), outcome(message), printable(message.message_key).substr(0, 12),
                    first_line(message)});
  return console.lines(std::move(rows), "KEY", {"TEAM"});
}

std::string history_blocks(const Console& console, const std::vector<operations::SaidMessage>& messages) {
  std::string text;
  for (const auto& message : messages) {
    const std::string type = printable(message.type);
    text += (text.empty() ? "" : "\n") + console.bold("message " + printable(message.message_key)) + "\n  " +
            (type.empty() ? "" : type + ' ') + "from " + printable(message.sender) + " to " + printable(message.inbox) +
            ", team " + printable(message.team) + ", found " + time_text(message.received_ms) + "\n  it " +
            message_sentence(message) + '\n' + printable_block(message.text.bytes, "  | ");
  }
  return text;
}

ExitCode history(Context& context, const HistoryOptions& options) {
  const Result<json::object> answer =
      context.ask_raw(arguments::History{.sender = options.from,
                                         .type = options.type,
                                         .since_ms = options.since ? now_ms() - options.since->count() : 0,
                                         .limit = options.limit,
                                         .full = options.full,
                                         .key = options.key});
  if (!answer) return context.fail(answer.error());
  const auto messages = operations::decode<operations::History>(*answer).messages;
  const bool blocks = options.full || !options.key.empty();
  const ExitCode printed = context.json       ? context.print_json(*answer)
                           : messages.empty() ? ExitCode::done
                           : blocks           ? context.print(history_blocks(context.console, messages))
                                              : context.print(history_table(context.console, messages));
  if (printed != ExitCode::done || !messages.empty()) return printed;
  if (!context.json) context.console.complain("no message is in the ledger that fits");
  return ExitCode::not_found;
}

// clang-format off
constexpr Argument history_takes[] = {
    takes<&HistoryOptions::key>("KEY", "A message key or its beginning: these messages, whole"),
    takes<&HistoryOptions::from>("--from NAME", "Only those of this sender"),
    takes<&HistoryOptions::type>("--type TYPE", "Only those of this type, such as chat"),
    takes<&HistoryOptions::since>("--since DURATION", "Only those received in the last so long, such as 2h"),
    takes<&HistoryOptions::limit>("--limit N", "At most so many, the newest").shows_default().within(1, 10'000),
    takes<&HistoryOptions::full>("--full", "Print whole texts"),
};

constexpr Command history_rows[] = {
    {.name = arguments::History::verb, .group = Group::look, .summary = "Show received messages, also those that have left the lead's inbox",
     .help = "One line for each message that the ledger has, oldest first, so that the newest stands last. Messages\n"
             "that are read and old are taken out of the inbox file ([compaction] in the team's file); here they are\n"
             "shown until limits.retention. STATE is queued, offered, delivered or expired for what goes to the lead,\n"
             "else what it was: control, status, chat, rejected, duplicate or malformed. TEXT is its first line, or the\n"
             "subject of a request (see `inbox-poller decisions --help`). What goes to another node or came from one (alice@h2) is\n"
             "shown with where it is and since when. With a key, or its beginning, the whole\n"
             "text is printed; with --full that of each. `inbox-poller trace KEY` tells what happened to one.",
     .examples = "inbox-poller history --since 2d --from alice\n"
                 "inbox-poller history --type permission_request --limit 10\n"
                 "inbox-poller history 0f3a9c21\n"
                 "inbox-poller history --limit 1000 --full --json | jq -r '.messages[].text'",
     .arguments = history_takes, .work = runs<history>, .prints = operations::shapes<operations::History>},
};
// clang-format on

}  // namespace

std::span<const Command> history_commands() { return history_rows; }

}  // namespace inbox_poller::poller::cli
