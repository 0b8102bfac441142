// `box`: mail and tasks of an actor in a shared folder or Redis. Needs no daemon.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>
#include <cmath>
#include <memory>
#include <set>

#include "poller/cli/box_place.hpp"
#include "poller/cli/printable.hpp"
#include "poller/broker/box_copy.hpp"
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

struct Lease {
  std::optional<config::Duration> time;

  void read(const std::string& option, const std::string& text) {
    time = read_duration(option, text);
    if (*time < shortest_lease || *time > longest_lease)
      throw CLI::ValidationError(option + " is from 1ms to 30d, not \"" + text + '"');
  }
};

struct BoxOptions {
  BoxPlace place;
  std::string to, from;
  std::string value;  // a payload or a result
  std::string id;
  std::string reason;
  std::string type;
  std::string in_reply_to;
  std::optional<config::Duration> timeout;
  Lease lease;
  std::optional<double> priority;
  bool is_text = false;
};

/// An open mailbox with its dependencies, for one command.
struct ActorsBox {
  PosixFileSystem files;
  SystemClock clock;
  boost::asio::io_context loop{1};
  std::unique_ptr<SharedBox> operations;
};

using Act = ExitCode (*)(Context&, ActorsBox&, const BoxOptions&);

/// Opens the mailbox of the options and calls `act` on it.
template <Act act>
ExitCode in_box(Context& context, const BoxOptions& options) {
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

/// Returns the value from the command line or standard input, as JSON if it parses, otherwise as a text.
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

/// Reports that nothing was found, with --json as the record `none`.
template <class Record>
ExitCode show_none(Context& context, const Record& none, const std::string& words) {
  const ExitCode printed = context.json ? context.print_record(none) : ExitCode::done;
  if (!context.json) context.console.complain(words);
  return printed == ExitCode::done ? ExitCode::not_found : printed;
}

// --- Mail

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

boost::asio::awaitable<void> receive(ActorMail& operations, Filter filter, milliseconds within,
                                     std::optional<Received>& into) {
  into.emplace(co_await operations.recv(std::move(filter), within));
}

/// Prints the message before acknowledging it, so that a message is received again after an interruption in between.
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

// --- Tasks

ExitCode post(Context& context, ActorsBox& box, const BoxOptions& options) {
  if (options.priority && !(std::abs(*options.priority) <= most_priority))  // also false for NaN
    throw CLI::ValidationError("--priority is a number from -1000000000 to 1000000000");
  const auto payload = value_of(context, options);
  if (!payload) return context.fail(payload.error());
  return show_task(context, box.operations->post(options.type, *payload, options.priority));
}

ExitCode claim(Context& context, ActorsBox& box, const BoxOptions& options) {
  const auto type = options.type.empty() ? std::nullopt : std::optional(options.type);
  const auto claimed = box.operations->claim(type, options.lease.time.value_or(ActorTasks::default_lease));
  if (claimed && !claimed->has_value()) return show_none(context, operations::BoxTask{}, "no open task");
  return show_task(context, claimed ? Result<json::object>(**claimed) : Result<json::object>(claimed.error()));
}

ExitCode complete(Context& context, ActorsBox& box, const BoxOptions& options) {
  const auto result = value_of(context, options);
  if (!result) return context.fail(result.error());
  return show_task(context, box.operations->complete(options.id, *result));
}

ExitCode heartbeat(Context& context, ActorsBox& box, const BoxOptions& options) {
  return show_task(context, box.operations->heartbeat(options.id, options.lease.time.value_or(ActorTasks::default_lease)));
}

ExitCode abandon(Context& context, ActorsBox& box, const BoxOptions& options) {
  return show_task(context, box.operations->abandon(options.id, options.reason));
}

/// Scans until no task is half requeued (at most `most_sweeps` times), and at least as long as `--wait`.
ExitCode sweep(Context& context, ActorsBox& box, const BoxOptions& options) {
  const SteadyTime until = box.clock.steady() + options.timeout.value_or(milliseconds(0));
  operations::BoxTasks all;
  std::string text;
  std::set<std::string> troubles;
  for (int scan = 1;; ++scan) {
    const auto swept = box.operations->tasks().sweep();
    if (!swept) return context.fail(swept.error());
    for (const TaskFile& one : swept->gone) {
      all.tasks.push_back(one.task.object());
      text += printable(one.task.text("id")) +
              (one.place == TaskPlace::dead ? " is dead: " : " is open again, was held by ") +
              printable(one.task.text(one.place == TaskPlace::dead ? "dead_reason" : "swept_from")) + '\n';
    }
    for (const Error& trouble : swept->troubles) troubles.insert(trouble.message);
    if ((!swept->has_begun || scan >= most_sweeps) && box.clock.steady() >= until) break;
    rest(between_sweeps);
  }
  for (const std::string& trouble : troubles) context.console.complain("passed over: " + printable(trouble));
  all.ok = troubles.empty();
  const ExitCode printed =
      context.json ? context.print_record(all) : context.print(text.empty() ? "nothing to give back\n" : text);
  return troubles.empty() ? printed : ExitCode::failed;
}

// --- Copy between a folder and a Redis

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

// --- Arguments

constexpr Argument box_task_id[] = {takes<&BoxOptions::id>("ID", "The task's id, as `claim` shows it, or how it begins").required()};

constexpr Argument box_filter[] = {
    takes<&BoxOptions::type>("--type TYPE", "Only a message of this type"),
    takes<&BoxOptions::in_reply_to>("--reply-to ID", "Only the answer to the message of this id"),
};

constexpr Argument box_lease = takes<&BoxOptions::lease>("--lease DURATION", "Hold it for so long (default: 2min)");
constexpr Argument box_is_text = takes<&BoxOptions::is_text>("--text", "It is a text, also when it looks like JSON");

constexpr std::string_view gone_when_printed =
    "A message is gone only when it was written out: a closed pipe, a full disk or a kill in between loses\n"
    "nothing, and what then comes again says so (\"attempts\").\n";

// clang-format off
constexpr Argument box_takes[] = {
    takes_each<&BoxOptions::place, box_root>(),
    takes<&BoxOptions::place, &BoxPlace::actor>("--actor NAME", "Who you are (default: COLLAB_ACTOR)"),
    takes_each<&BoxOptions::place, box_known_actors>(),
};
constexpr Argument box_send_takes[] = {
    takes<&BoxOptions::to>("TO", "Whose mailbox").required(),
    takes<&BoxOptions::value>("PAYLOAD", "What it says: JSON, or a text; - reads the standard input").required(),
    box_is_text,
    takes<&BoxOptions::type>("--type TYPE", "What kind of message it is (default: message)"),
    takes<&BoxOptions::in_reply_to>("--in-reply-to ID", "The id of the message that this answers"),
};
constexpr Argument box_recv_takes[] = {takes<&BoxOptions::timeout>("--timeout DURATION", "Wait for so long at most (default: without a limit)")};
constexpr Argument box_post_takes[] = {
    takes<&BoxOptions::value>("PAYLOAD", "What is to be done: JSON, or a text; - reads the standard input").required(),
    box_is_text,
    takes<&BoxOptions::type>("--type TYPE", "What kind of task it is (default: task)"),
    takes<&BoxOptions::priority>("--priority NUMBER", "Higher ones are claimed first"),
};
constexpr Argument box_claim_takes[] = {
    takes<&BoxOptions::type>("--type TYPE", "Only a task of this type"),
    box_lease,
};
constexpr Argument box_complete_takes[] = {
    takes<&BoxOptions::value>("RESULT", "What came of it: JSON, or a text; - reads the standard input").required(),
    box_is_text,
};
constexpr Argument box_heartbeat_takes[] = {box_lease};
constexpr Argument box_abandon_takes[] = {takes<&BoxOptions::reason>("REASON", "Why, for the next worker that takes it").required()};
constexpr Argument box_sweep_takes[] = {takes<&BoxOptions::timeout>("--timeout DURATION", "Go on for so long")};
constexpr Argument box_copy_takes[] = {
    takes<&BoxOptions::from>("--from DIR", "The place with the mail and tasks").required(),
    takes<&BoxOptions::to>("--to DIR", "The place that gets them").required(),
};

constexpr Command box_rows[] = {
    {.name = "mailbox", .group = Group::act, .summary = "Share mail and tasks in a folder; needs no team and no daemon",
     .help = "Agents that are not one team share a folder: each has a mailbox in it, and all have one queue of\n"
             "tasks. No daemon is needed; other programs may work on the same files (docs/reference/mailboxes.md).",
     .examples = "mkdir -p scratch/coordination\n"
                 "export COLLAB_ROOT=scratch/coordination COLLAB_ACTOR=ada\n"
                 "inbox-poller mailbox send bob 'please review branch x' --type handoff\n"
                 "inbox-poller mailbox recv --timeout 60s",
     .arguments = box_takes, .work = holds<BoxOptions>},
    {.name = "mailbox send", .group = Group::act, .summary = "Write a message to an actor",
     .help = "Writes a message into an actor's mailbox; it is on the disk when this ends. Prints it with its id,\n"
             "under which an answer can be waited for. An actor without a mailbox gets one, and the answer says\n"
             "so (\"new_mailbox\"), with the name that may have been meant. --known-actors refuses other names.",
     .examples = "inbox-poller mailbox send bob '{\"task\": \"review\", \"branch\": \"x\"}' --type handoff\n"
                 "git log -1 | inbox-poller mailbox send bob - --text\n"
                 "inbox-poller mailbox send ada done --in-reply-to 0f3a9c21d4e84c6f9a1b2c3d4e5f6071",
     .arguments = box_send_takes, .work = runs<in_box<send>>, .prints = operations::shapes<operations::BoxMessage>},
    {.name = "mailbox recv", .group = Group::act, .summary = "Take the oldest message to you; wait for one",
     .help = "Prints the oldest message to you and takes it; waits until there is one. An interrupted wait\n"
             "takes nothing.",
     .examples = "inbox-poller mailbox recv --timeout 60s\n"
                 "inbox-poller mailbox recv --reply-to 0f3a9c21d4e84c6f9a1b2c3d4e5f6071 --json",
     .shared = box_filter, .arguments = box_recv_takes, .work = runs<in_box<recv>>, .prints = operations::shapes<operations::BoxMessage>,
     .note = gone_when_printed},
    {.name = "mailbox try-recv", .group = Group::act, .summary = "Take the oldest message to you, if there is one",
     .help = "As `mailbox recv`, without waiting; nothing is exit code 4.",
     .examples = "inbox-poller mailbox try-recv --type ack",
     .shared = box_filter, .work = runs<in_box<try_recv>>, .prints = operations::shapes<operations::BoxMessage>,
     .note = gone_when_printed},
    {.name = "mailbox inbox", .group = Group::act, .summary = "Show what waits for you, and how the tasks stand",
     .help = "Shows what waits for you, and how the tasks stand; changes nothing.",
     .examples = "inbox-poller mailbox inbox --json",
     .work = runs<in_box<inbox>>, .prints = operations::shapes<operations::BoxInbox>},
    {.name = "mailbox post", .group = Group::act, .summary = "Write a task that anybody may claim",
     .help = "Writes a task that anybody may claim. Higher priorities go first (0 unless said), then the oldest.",
     .examples = "inbox-poller mailbox post '{\"branch\": \"x\", \"do\": \"rebase\"}'\n"
                 "inbox-poller mailbox post 'update the changelog' --type docs --priority 5",
     .arguments = box_post_takes, .work = runs<in_box<post>>, .prints = operations::shapes<operations::BoxTask>},
    {.name = "mailbox claim", .group = Group::act, .summary = "Take the next task, for a time",
     .help = "Takes the next task, for as long as the lease: beat before it is over, or another may get the task.\n"
             "A lease is not a lock: work that outlives it may be done twice, and only one result is taken. No open\n"
             "task is exit code 4.",
     .examples = "inbox-poller mailbox claim\n"
                 "inbox-poller mailbox claim --type docs --lease 10min",
     .arguments = box_claim_takes, .work = runs<in_box<claim>>, .prints = operations::shapes<operations::BoxTask>},
    {.name = "mailbox heartbeat", .group = Group::act, .summary = "Hold a task for longer",
     .help = "You are still at it: the lease runs from now.",
     .examples = "inbox-poller mailbox heartbeat 0f3a9c21d4e84c6f9a1b2c3d4e5f6071 --lease 5min",
     .shared = box_task_id, .arguments = box_heartbeat_takes, .work = runs<in_box<heartbeat>>, .prints = operations::shapes<operations::BoxTask>},
    {.name = "mailbox complete", .group = Group::act, .summary = "Hand in the result of a task",
     .help = "Hands in the result of a task that you hold. When you do not hold it any more, that is said, and the\n"
             "result is kept among the dead letters (`inbox-poller tasks --dead`).",
     .examples = "inbox-poller mailbox complete 0f3a9c21d4e84c6f9a1b2c3d4e5f6071 '{\"merged\": true}'",
     .shared = box_task_id, .arguments = box_complete_takes, .work = runs<in_box<complete>>, .prints = operations::shapes<operations::BoxTask>},
    {.name = "mailbox abandon", .group = Group::act, .summary = "Give a task back",
     .help = "Gives a task that you hold back, for another. Handed out three times and not done, it is dead.",
     .examples = "inbox-poller mailbox abandon 0f3a9c21d4e84c6f9a1b2c3d4e5f6071 'no compiler is installed here'",
     .shared = box_task_id, .arguments = box_abandon_takes, .work = runs<in_box<abandon>>, .prints = operations::shapes<operations::BoxTask>},
    {.name = "mailbox sweep", .group = Group::act, .summary = "Give back the tasks whose lease is over",
     .help = "Gives back the tasks whose lease is over. That takes two steps, two seconds apart. One of all actors\n"
             "should do it now and then; several do no harm. A task that was claimed without a lease (its worker\n"
             "died) is given back after four minutes of watching.",
     .examples = "inbox-poller mailbox sweep\n"
                 "inbox-poller mailbox sweep --timeout 10min",
     .arguments = box_sweep_takes, .work = runs<in_box<sweep>>, .prints = operations::shapes<operations::BoxTasks>},
    {.name = "mailbox copy", .group = Group::act, .summary = "Copy mail and tasks between a folder and a Redis",
     .help = "Copies all that is unread and all tasks from one place to another: a folder, or a team in a Redis. Both\n"
             "stay as they are but for what is new there; a copy that broke off is made again. Do it while no agent works\n"
             "there. What was taken already stays behind.",
     .examples = "inbox-poller mailbox copy --from scratch/coordination --to redis+unix:///run/redis/team.sock#demo\n"
                 "inbox-poller mailbox copy --from redis+unix:///run/redis/team.sock#demo --to scratch/coordination",
     .arguments = box_copy_takes, .work = runs<copy>, .prints = operations::shapes<operations::BoxCopied>},
};
// clang-format on

}  // namespace

std::span<const Command> box_commands() { return box_rows; }

}  // namespace inbox_poller::poller::cli
