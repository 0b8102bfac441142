// `box`: mail and tasks of one actor in a folder that agents share. No daemon is needed.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>
#include <cmath>
#include <memory>
#include <set>

#include "poller/cli/box_place.hpp"
#include "poller/cli/printable.hpp"
#include "poller/exchange/box_copy.hpp"
#include "schema/envelope.hpp"
#include "schema/operations/printed.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds longest_wait = std::chrono::hours(24 * 365);
constexpr double most_priority = 1e9;
constexpr milliseconds shortest_lease{1};
constexpr milliseconds longest_lease = std::chrono::hours(24 * 30);

struct BoxOptions {
  BoxPlace place;
  std::string to, from;
  std::string value;  // a payload or a result
  std::string id;
  std::string reason;
  std::string type;
  std::string in_reply_to;
  std::optional<config::Duration> timeout;
  std::optional<config::Duration> lease;
  std::optional<double> priority;
  bool is_text = false;
};

/// One actor's operations, for one command.
struct ActorsBox {
  PosixFileSystem files;
  SystemClock clock;
  boost::asio::io_context loop{1};
  std::unique_ptr<SharedBox> operations;
};

using Act = ExitCode (*)(Context&, ActorsBox&, const BoxOptions&);

/// Opens the box and does one thing in it.
ExitCode in_box(Context& context, const BoxOptions& options, Act act) {
  const auto root = options.place.path();
  if (!root) return context.fail(root.error());
  const auto who = options.place.who();
  if (!who) return context.fail(who.error());
  const auto known = options.place.known();
  if (!known) return context.fail(known.error());
  ActorsBox box;
  auto opened = open_box(*root, *who, box.files, box.clock, box.loop.get_executor(), engine_patience);
  if (!opened) return context.fail(opened.error());
  box.operations = *std::move(opened);
  box.operations->set_known_actors(*known);
  return act(context, box, options);
}

/// What stands on the command line or the standard input: JSON, or else a text.
Result<json::value> value_of(Context& context, const BoxOptions& options) {
  std::string text = options.value;
  if (text == "-") {
    TRY(auto input, context.console.read_all(most_envelope_bytes));
    text = std::move(input);
  }
  if (!options.is_text)
    if (auto value = schema::parse_value(text)) return value;
  return json::value(text);
}

ExitCode show_task(Context& context, const Result<json::object>& task) {
  if (!task) return context.fail(task.error());
  return context.json ? context.print_record(operations::BoxTask{*task}) : context.print(box_text(*task));
}

/// `none`: a record of nothing.
template <class Record>
ExitCode show_none(Context& context, const Record& none, const std::string& words) {
  if (context.json) (void)context.print_record(none);
  if (!context.json) context.console.complain(words);
  return ExitCode::not_found;
}

// --- mail

ExitCode send(Context& context, ActorsBox& box, const BoxOptions& options) {
  auto payload = value_of(context, options);
  if (!payload) return context.fail(payload.error());
  const auto sent = box.operations->send(
      {options.to, options.type.empty() ? "message" : options.type, *std::move(payload), options.in_reply_to});
  if (!sent) return context.fail(sent.error());
  operations::BoxMessage answer{sent->message, {}, {}};
  if (sent->new_mailbox) answer = {sent->message, true, sent->note};
  if (context.json) return context.print_record(answer);
  if (sent->new_mailbox) context.console.complain(printable(sent->note));
  return context.print(box_text(sent->message));
}

using Received = Result<std::optional<HandOut>>;

boost::asio::awaitable<void> receive(Operations& operations, Filter filter, milliseconds within,
                                     std::optional<Received>& into) {
  into.emplace(co_await operations.recv(std::move(filter), within));
}

/// Out first, taken afterwards: whatever ends us in between, it comes again.
ExitCode recv_within(Context& context, ActorsBox& box, const BoxOptions& options, milliseconds within) {
  Filter filter;
  if (!options.type.empty()) filter.type = options.type;
  if (!options.in_reply_to.empty()) filter.reply_to = options.in_reply_to;
  std::optional<Received> received;
  std::exception_ptr failure;
  boost::asio::co_spawn(box.loop, receive(*box.operations, filter, within, received),
                        [&](std::exception_ptr thrown) { failure = thrown; });
  while (!received && !failure) box.loop.run_one();
  if (failure) std::rethrow_exception(failure);
  if (!*received) return context.fail(received->error());
  if (!(*received)->has_value()) return show_none(context, operations::BoxMessage{}, "no message");
  const HandOut& message = ***received;
  Status written = context.console.write(
      context.json ? printable_json(schema::strict_json(json::object{
                         {"ok", true}, {"version", INBOX_POLLER_VERSION}, {"message", message.message}})) + '\n'
                   : box_text(message.message));
  if (written.ok()) written = context.console.sync();
  if (!written.ok()) {
    context.console.complain(written.error().message + "; the message was not taken, it will come again");
    return ExitCode::failed;
  }
  if (const Status taken = box.operations->acknowledge(message.ticket); !taken.ok()) {
    context.console.complain("the message was written out, but it could not be taken, so it may come again: " +
                             printable(taken.error().message));
    return ExitCode::failed;
  }
  return ExitCode::done;
}

ExitCode recv(Context& context, ActorsBox& box, const BoxOptions& options) {
  return recv_within(context, box, options, options.timeout.value_or(longest_wait));
}

ExitCode try_recv(Context& context, ActorsBox& box, const BoxOptions& options) {
  return recv_within(context, box, options, milliseconds(0));
}

ExitCode inbox(Context& context, ActorsBox& box, const BoxOptions&) {
  auto found = box.operations->inbox();
  if (!found) return context.fail(found.error());
  for (const std::string& worry : box.operations->worries()) context.console.complain(worry);
  if (context.json) {
    (*found)["ok"] = true;
    return context.print_json(*found);
  }
  const auto told = operations::decode<operations::BoxInbox>(*found);
  const auto& tasks = told.tasks;
  std::string text = std::to_string(told.unread) + " unread for " + box.operations->actor() + '\n';
  std::vector<Row> rows;
  for (const json::object& one : told.messages) rows.push_back({text_of(one, "id"), text_of(one, "from"), text_of(one, "type")});
  text += context.console.table(rows, "  ");
  for (const auto& one : told.unreadable.value_or(std::vector<operations::UnreadableFile>()))
    text += "  cannot be read: " + printable(one.reason) + '\n';
  text += "tasks: " + std::to_string(tasks.open) + " open, " + std::to_string(tasks.claimed) + " claimed, " +
          std::to_string(tasks.done) + " done, " + std::to_string(tasks.dead) + " dead; yours: " +
          or_dash(names_of(tasks.mine)) + '\n';
  return context.print(text);
}

// --- tasks

ExitCode post(Context& context, ActorsBox& box, const BoxOptions& options) {
  const auto payload = value_of(context, options);
  if (!payload) return context.fail(payload.error());
  return show_task(context, box.operations->post(options.type, *payload, options.priority));
}

ExitCode claim(Context& context, ActorsBox& box, const BoxOptions& options) {
  const auto type = options.type.empty() ? std::nullopt : std::optional(options.type);
  const auto claimed = box.operations->claim(type, options.lease.value_or(Operations::default_lease));
  if (claimed && !claimed->has_value()) return show_none(context, operations::BoxTask{}, "no open task");
  return show_task(context, claimed ? Result<json::object>(**claimed) : Result<json::object>(claimed.error()));
}

ExitCode complete(Context& context, ActorsBox& box, const BoxOptions& options) {
  const auto result = value_of(context, options);
  if (!result) return context.fail(result.error());
  return show_task(context, box.operations->complete(options.id, *result));
}

ExitCode heartbeat(Context& context, ActorsBox& box, const BoxOptions& options) {
  return show_task(context, box.operations->heartbeat(options.id, options.lease.value_or(Operations::default_lease)));
}

ExitCode abandon(Context& context, ActorsBox& box, const BoxOptions& options) {
  return show_task(context, box.operations->abandon(options.id, options.reason));
}

/// Looks until nothing is half given back, and for as long as it is told to.
ExitCode sweep(Context& context, ActorsBox& box, const BoxOptions& options) {
  const SteadyTime until = box.clock.steady() + options.timeout.value_or(milliseconds(0));
  operations::BoxTasks all;
  std::string text;
  std::set<std::string> troubles;
  for (int scan = 1;; ++scan) {
    const auto gone = box.operations->tasks().sweep();
    if (!gone) return context.fail(gone.error());
    for (const TaskFile& one : *gone) {
      all.tasks.push_back(one.task.object());
      text += printable(one.task.text("id")) +
              (one.place == TaskPlace::dead ? " is dead: " : " is open again, was held by ") +
              printable(one.task.text(one.place == TaskPlace::dead ? "dead_reason" : "swept_from")) + '\n';
    }
    for (const Error& trouble : box.operations->tasks().troubles()) troubles.insert(trouble.message);
    if ((!box.operations->tasks().has_begun() || scan >= most_sweeps) && box.clock.steady() >= until) break;
    rest(between_sweeps);
  }
  for (const std::string& trouble : troubles) context.console.complain("passed over: " + printable(trouble));
  all.ok = troubles.empty();
  const ExitCode printed =
      context.json ? context.print_record(all) : context.print(text.empty() ? "nothing to give back\n" : text);
  return troubles.empty() ? printed : ExitCode::failed;
}

// --- from one place to another

Result<std::unique_ptr<BoxStore>> store_at(ActorsBox& box, const std::string& root) {
  TRY(const auto path, BoxPlace{root, {}}.path());
  if (!config::is_engine_address(path)) {
    const MaildirRoot folder(box.files, box.clock, path);
    TRY(const auto open, folder.open());
    return folder_store(box.files, box.clock, path);
  }
  TRY(const auto address, team_address(path));
  return redis_store(address, engine_patience);
}

ExitCode copy(Context& context, const BoxOptions& options) {
  ActorsBox box;
  const auto from = store_at(box, options.from);
  if (!from) return context.fail(from.error());
  const auto to = store_at(box, options.to);
  if (!to) return context.fail(to.error());
  const auto copied = copy_boxes(**from, **to);
  if (!copied) return context.fail(copied.error());
  if (context.json)
    return context.print_record(operations::BoxCopied{operations::number_of(copied->actors), operations::number_of(copied->messages),
                                                      operations::number_of(copied->tasks), operations::number_of(copied->were_there)});
  return context.print(std::to_string(copied->messages) + " messages of " + std::to_string(copied->actors) + " actors and " +
                       std::to_string(copied->tasks) + " tasks were copied; " + std::to_string(copied->were_there) +
                       " were there already\n");
}

// --- options

std::shared_ptr<BoxOptions> options_of(CLI::App& command, Context& context, Act act) {
  if (!context.box_options) context.box_options = std::make_shared<BoxOptions>();
  auto options = std::static_pointer_cast<BoxOptions>(context.box_options);
  if (act != nullptr)
    command.callback([&context, options, act] { context.exit_code = in_box(context, *options, act); });
  return options;
}

void add_value(CLI::App& command, BoxOptions& options, const std::string& name, const std::string& line) {
  command.add_option(name, options.value, line + ": JSON, or a text; - reads the standard input")->required();
  command.add_flag("--text", options.is_text, "It is a text, also when it looks like JSON");
}

void add_task(CLI::App& command, BoxOptions& options) {
  command.add_option("ID", options.id, "The task's id, as `claim` shows it, or how it begins")->required();
}

void add_lease(CLI::App& command, BoxOptions& options) {
  command
      .add_option_function<std::string>(
          "--lease",
          [&options](const std::string& text) {
            const config::Duration lease = read_duration("--lease", text);
            if (lease < shortest_lease || lease > longest_lease)
              throw CLI::ValidationError("--lease is from 1ms to 30d, not \"" + text + '"');
            options.lease = lease;
          },
          "Hold it for so long (default: 2min)")
      ->type_name("DURATION");
}

void add_filter(CLI::App& command, BoxOptions& options) {
  command.add_option("--type", options.type, "Only a message of this type")->type_name("TYPE");
  command.add_option("--reply-to", options.in_reply_to, "Only the answer to the message of this id")->type_name("ID");
}

constexpr const char* gone_when_printed =
    "A message is gone only when it was written out: a closed pipe, a full disk or a kill in between loses\n"
    "nothing, and what then comes again says so (\"attempts\").\n\n";

}  // namespace

void declare_box(CLI::App& command, Context& context) {
  auto options = options_of(command, context, nullptr);
  explain(command,
          "Agents that are not one team share a folder: each has a mailbox in it, and all have one queue of\n"
          "tasks. No daemon is needed; other programs may work on the same files (docs/mailboxes.md).\n\n"
          "Examples:\n"
          "  mkdir -p scratch/coordination\n"
          "  export COLLAB_ROOT=scratch/coordination COLLAB_ACTOR=ada\n"
          "  inbox-poller box send bob 'please review branch x' --type handoff\n"
          "  inbox-poller box recv --timeout 60s");
  command.require_subcommand(1);
  add_box_root(command, options->place);
  command.add_option("--actor", options->place.actor, "Who you are (default: COLLAB_ACTOR)")->type_name("NAME");
  add_known_actors(command, options->place.known_actors);
}

void declare_box_send(CLI::App& command, Context& context) {
  auto options = options_of(command, context, send);
  explain(command,
          "Writes a message into an actor's mailbox; it is on the disk when this ends. Prints it with its id,\n"
          "under which an answer can be waited for. An actor without a mailbox gets one, and the answer says\n"
          "so (\"new_mailbox\"), with the name that may have been meant. --known-actors refuses other names.\n\n"
          "Examples:\n"
          "  inbox-poller box send bob '{\"task\": \"review\", \"branch\": \"x\"}' --type handoff\n"
          "  git log -1 | inbox-poller box send bob - --text\n"
          "  inbox-poller box send ada done --in-reply-to 0f3a9c21d4e84c6f9a1b2c3d4e5f6071");
  command.add_option("TO", options->to, "Whose mailbox")->required();
  add_value(command, *options, "PAYLOAD", "What it says");
  command.add_option("--type", options->type, "What kind of message it is (default: message)")->type_name("TYPE");
  command.add_option("--in-reply-to", options->in_reply_to, "The id of the message that this answers")->type_name("ID");
}

void declare_box_recv(CLI::App& command, Context& context) {
  auto options = options_of(command, context, recv);
  explain(command,
          std::string("Prints the oldest message to you and takes it; waits until there is one. An interrupted wait\n"
                      "takes nothing.\n") +
              gone_when_printed +
              "Examples:\n"
              "  inbox-poller box recv --timeout 60s\n"
              "  inbox-poller box recv --reply-to 0f3a9c21d4e84c6f9a1b2c3d4e5f6071 --json");
  add_filter(command, *options);
  add_duration(command, "--timeout,--wait", options->timeout, "Wait for so long at most (default: for ever)");
}

void declare_box_try_recv(CLI::App& command, Context& context) {
  auto options = options_of(command, context, try_recv);
  explain(command, std::string("As `box recv`, without waiting; nothing is exit code 4.\n") + gone_when_printed +
                       "Example:\n  inbox-poller box try-recv --type ack");
  add_filter(command, *options);
}

void declare_box_post(CLI::App& command, Context& context) {
  auto options = options_of(command, context, post);
  explain(command,
          "Writes a task that anybody may claim. Higher priorities go first (0 unless said), then the oldest.\n\n"
          "Examples:\n"
          "  inbox-poller box post '{\"branch\": \"x\", \"do\": \"rebase\"}'\n"
          "  inbox-poller box post 'update the changelog' --type docs --priority 5");
  add_value(command, *options, "PAYLOAD", "What is to be done");
  command.add_option("--type", options->type, "What kind of task it is (default: task)")->type_name("TYPE");
  command
      .add_option_function<double>(
          "--priority",
          [options](double priority) {
            if (!(std::abs(priority) <= most_priority))  // what is no number is not so either
              throw CLI::ValidationError("--priority is a number from -1000000000 to 1000000000");
            options->priority = priority;
          },
          "Higher ones are claimed first")
      ->type_name("NUMBER");
}

void declare_box_claim(CLI::App& command, Context& context) {
  auto options = options_of(command, context, claim);
  explain(command,
          "Takes the next task, for as long as the lease: beat before it is over, or another may get the task.\n"
          "A lease is no lock: work that outlives it may be done twice, and only one result is taken. No open\n"
          "task is exit code 4.\n\n"
          "Examples:\n  inbox-poller box claim\n  inbox-poller box claim --type docs --lease 10min");
  command.add_option("--type", options->type, "Only a task of this type")->type_name("TYPE");
  add_lease(command, *options);
}

void declare_box_complete(CLI::App& command, Context& context) {
  auto options = options_of(command, context, complete);
  explain(command,
          "Hands in the result of a task that you hold. When you do not hold it any more, that is said, and the\n"
          "result is kept among the dead letters (`inbox-poller tasks --dead`).\n\n"
          "Example:\n  inbox-poller box complete 0f3a9c21d4e84c6f9a1b2c3d4e5f6071 '{\"merged\": true}'");
  add_task(command, *options);
  add_value(command, *options, "RESULT", "What came of it");
}

void declare_box_heartbeat(CLI::App& command, Context& context) {
  auto options = options_of(command, context, heartbeat);
  explain(command,
          "You are still at it: the lease runs from now.\n\n"
          "Example:\n  inbox-poller box heartbeat 0f3a9c21d4e84c6f9a1b2c3d4e5f6071 --lease 5min");
  add_task(command, *options);
  add_lease(command, *options);
}

void declare_box_abandon(CLI::App& command, Context& context) {
  auto options = options_of(command, context, abandon);
  explain(command,
          "Gives a task that you hold back, for another. Handed out three times and not done, it is dead.\n\n"
          "Example:\n  inbox-poller box abandon 0f3a9c21d4e84c6f9a1b2c3d4e5f6071 'there is no compiler here'");
  add_task(command, *options);
  command.add_option("REASON", options->reason, "Why, for whoever takes it next")->required();
}

void declare_box_sweep(CLI::App& command, Context& context) {
  auto options = options_of(command, context, sweep);
  explain(command,
          "Gives back the tasks whose lease is over. That takes two steps, two seconds apart. One of all actors\n"
          "should do it now and then; several do no harm. A task that was claimed without a lease (whoever did it\n"
          "died) is given back after four minutes of watching.\n\n"
          "Examples:\n  inbox-poller box sweep\n  inbox-poller box sweep --wait 10min");
  add_duration(command, "--wait", options->timeout, "Go on for so long");
}

void declare_box_copy(CLI::App& command, Context& context) {
  auto options = options_of(command, context, nullptr);
  explain(command,
          "Copies all that is unread and all tasks from one place to another: a folder, or a team in a Redis. Both\n"
          "stay as they are but for what is new there; a copy that broke off is made again. Do it while nobody works\n"
          "there. What was taken already stays behind.\n\n"
          "Examples:\n"
          "  inbox-poller box copy --from scratch/coordination --to redis+unix:///run/redis/team.sock#demo\n"
          "  inbox-poller box copy --from redis+unix:///run/redis/team.sock#demo --to scratch/coordination");
  command.add_option("--from", options->from, "The place with the mail and tasks")->required()->type_name("DIR");
  command.add_option("--to", options->to, "The place that gets them")->required()->type_name("DIR");
  command.callback([&context, options] { context.exit_code = copy(context, *options); });
}

void declare_box_inbox(CLI::App& command, Context& context) {
  options_of(command, context, inbox);
  explain(command,
          "Shows what waits for you, and how the tasks stand; changes nothing.\n\n"
          "Example:\n  inbox-poller box inbox --json");
}

}  // namespace inbox_poller::poller::cli
