// `inbox`: operations on the inbox files of a team, under the inbox locks, with or without a daemon.
#include <algorithm>
#include <boost/algorithm/string/join.hpp>
#include <boost/json.hpp>
#include <filesystem>
#include <memory>
#include <set>

#include "poller/cli/command.hpp"
#include "poller/cli/inbox_entries.hpp"
#include "poller/cli/printable.hpp"
#include "poller/mailbox/arrays/arrays_mailbox.hpp"
#include "poller/mailbox/arrays/array_entry.hpp"
#include "schema/json_scan.hpp"
#include "schema/nearest.hpp"
#include "schema/operations/printed.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

constexpr std::size_t one_line_limit = 100;  // bytes of a text in a table

struct InboxOptions {
  config::Sources sources;
  std::string root;  // --root; empty: as configured, or the default
  std::string member;
  std::string text;
  std::string from;
  std::string summary;
  std::vector<std::string> keys;
  std::size_t last = 0;  // 0: all
  bool full = false;
  bool raw = false;
  bool force = false;
  bool read = false;
  bool all = false;
  bool yes = false;
};

/// Finds all teams that the options may refer to. `looked`: receives the folders searched.
Result<std::vector<TeamPlace>> teams_in_question(const Context& context, const InboxOptions& options, FileSystem& files, std::string& looked) {
  const auto environment = config::Environment::from_process();
  const config::Sources sources = options.root.empty() ? meant_sources(context, options.sources) : options.sources;
  std::vector<config::TeamConfig> configs;
  if (!options.root.empty() || config::is_unconfigured(sources, environment)) {
    std::error_code gone;  // the folder of this process; the path then stays relative
    const std::string root =
        options.root.empty() ? "" : std::filesystem::absolute(options.root, gone).lexically_normal().string();
    configs.push_back(any_team(root, environment));
  } else {
    config::Loaded loaded = config::load(sources, environment);
    if (!loaded.problems.empty()) {
      std::string all;
      for (const std::string& problem : loaded.problems) all += problem + '\n';
      return Error{"config.invalid", all + "--root DIR does without the configuration"};
    }
    for (config::LoadedTeam& team : loaded.teams) configs.push_back(std::move(team.config));
  }
  std::vector<TeamPlace> teams;
  for (const config::TeamConfig& config : configs) {
    if (!config.team.is_glob() && config.team.name == context.team &&
        config.team.backend != config::Backend::claude_code)
      return usage_error("team " + context.team + " is a " + std::string(config.team.facts().noun) +
                         " (team.backend), and these commands read array inboxes: see `inbox-poller history`");
    looked += (looked.empty() ? "" : ", ") + config.team.team_folder(config.team.name) + (config.team.backend == config::Backend::claude_code ? "" : " (no array inboxes: these commands do not read them)");
    auto found = find_teams(files, config);
    if (!found && found.error().code != "io.ENOENT") return found.error();
    if (found) std::move(found->begin(), found->end(), std::back_inserter(teams));
  }
  return teams;
}

Result<TeamPlace> choose_team(const Context& context, const InboxOptions& options, FileSystem& files) {
  std::string looked;
  TRY(auto teams, teams_in_question(context, options, files, looked));
  if (!context.team.empty()) std::erase_if(teams, [&](const TeamPlace& team) { return team.name != context.team; });
  if (teams.size() == 1) return teams.front();
  if (teams.empty())
    return Error{"team.unknown", (context.team.empty() ? "no team exists" : "team \"" + context.team + "\" does not exist") +
                                     "; looked for " + looked + ". --root DIR names the folder that holds the teams"};
  std::string places;
  for (const TeamPlace& team : teams) places += (places.empty() ? "" : ", ") + team.folder();
  return Error{"team.ambiguous", "several teams exist; choose one with --team or --root: " + places};
}

/// The chosen team, and the inbox that the command works on.
struct Box {
  PosixFileSystem files;
  SystemClock clock;
  TeamPlace team;
  ArraysMailbox mailbox;
  Result<schema::Roster> roster;
  std::string lead;
  std::string member;  // name of the inbox
  bool known;          // the requested name is valid, or a member's

  Box(TeamPlace place, std::string_view name)
      : team(std::move(place)),
        mailbox(files, clock, settings_of(team.config, team.name)),
        roster(mailbox.roster()),
        lead(lead_of(team.config, roster)),
        member(schema::bare_name(name)),
        known(schema::is_valid_name(member) || (roster && roster->find(member) != nullptr)) {
    if (known) member = schema::inbox_name(member);
  }
  [[nodiscard]] std::string path() const { return team.folder() + "/inboxes/" + member + ".json"; }
  [[nodiscard]] operations::AboutInbox about() const { return {team.name, member, path()}; }
  /// Waits 5 s: client 2.1.50 writes the file in place, and a busy machine may stop it between its two steps.
  Result<ReadResult> read() {
    ReadResult result = read_calmly(mailbox.inboxes(), member, wait_here, 100);
    TRY(as_status(result, member));
    return result;
  }
};

Result<std::unique_ptr<Box>> open_inboxes(const Context& context, const InboxOptions& options) {
  PosixFileSystem files;
  TRY(auto team, choose_team(context, options, files));
  auto box = std::make_unique<Box>(std::move(team), options.member);
  if (!box->known)
    return usage_error("\"" + options.member + "\" is not a name (A-Z a-z 0-9 _ -, at most 64)");
  return box;
}

/// Refuses to change the lead's inbox while a daemon serves it, because the daemon would see another consumer.
Status leave_to_daemon(const Context& context, const InboxOptions& options, const Box& box) {
  if (options.force || box.member != box.lead) return Done{};
  Result<ControlClient> client = context.connect();
  if (!client && client.error().code == code::no_daemon) return Done{};
  const auto status =
      client ? client->call(arguments::on_wire(arguments::Status())) : Result<json::object>(client.error());
  if (!status || !flag_of(*status, "ok"))
    return Error{"inbox.unsure", "whether a daemon serves the lead's inbox cannot be told (" +
                                     (status ? raw_text_of(*status, "message") : status.error().message) +
                                     "); --force does it nevertheless"};
  if (!is_served(*status, box.path())) return Done{};
  return Error{"inbox.served",
               "a daemon serves this inbox: it marks what it has recorded, and would take this for another consumer at "
               "work. Messages for the lead come from `inbox-poller recv`; --force does it nevertheless"};
}

// --- list

const LockSight* lock_of(const TeamSight& sight, const InboxSight& inbox) {
  const auto found = std::find_if(sight.locks.begin(), sight.locks.end(),
                                  [&](const LockSight& lock) { return lock.path == inbox.path + ".lock"; });
  return found == sight.locks.end() ? nullptr : &*found;
}

long long age_of(const LockSight& lock) { return now_ms() - lock.stat.mtime_ns / 1'000'000; }

std::string lock_text(const LockSight* lock) {
  if (lock == nullptr) return "free";
  const char* kind = lock->stat.kind == FileKind::directory ? "held " : "blocked by something else ";
  return kind + span_text(age_of(*lock));
}

operations::ListedInbox listed(const TeamSight& sight, const InboxSight& inbox) {
  using operations::number_of;
  operations::ListedInbox view{.inbox = inbox.name,
                               .path = inbox.path,
                               .whose = to_string(inbox.whose),
                               .state = to_string(state_of(inbox.outcome)),
                               .detail = inbox.detail,
                               .entries = number_of(inbox.entries),
                               .unread = number_of(inbox.unread),
                               .bad = number_of(inbox.bad),
                               .size = inbox.stat ? number_of(inbox.stat->size) : 0,
                               .oldest_unread_ms = inbox.oldest_unread_ms,
                               .lock = {}};
  if (const LockSight* lock = lock_of(sight, inbox)) view.lock = {lock->stat.kind == FileKind::directory, age_of(*lock)};
  return view;
}

ExitCode list_inboxes(Context& context, const InboxOptions& options) {
  PosixFileSystem files;
  const auto team = choose_team(context, options, files);
  if (!team) return context.fail(team.error());
  const TeamSight sight = look_at_team(files, SystemClock(), *team, wait_here);
  if (sight.problem) return context.fail(*sight.problem);
  if (context.json) {
    operations::InboxList all{team->name, team->folder(), sight.lead, {}};
    for (const InboxSight& inbox : sight.inboxes) all.inboxes.push_back(listed(sight, inbox));
    return context.print_record(all);
  }
  std::string text = context.console.bold("team " + printable(team->name)) + "  " + printable(team->folder()) + '\n';
  if (!sight.roster)
    text += "  " + context.console.loud("no roster: " + printable(sight.roster.error().message)) + '\n';
  if (sight.inboxes.empty()) return context.print(text + "  no inboxes\n");
  std::vector<Row> rows{{"INBOX", "WHOSE", "STATE", "ENTRIES", "UNREAD", "SIZE", "OLDEST UNREAD", "LOCK"}};
  for (const InboxSight& inbox : sight.inboxes)
    rows.push_back({inbox.name, std::string(to_string(inbox.whose)), std::string(to_string(state_of(inbox.outcome))),
                    std::to_string(inbox.entries), std::to_string(inbox.unread),
                    std::to_string(inbox.stat ? inbox.stat->size : 0),
                    inbox.oldest_unread_ms == 0 ? "-" : ago(inbox.oldest_unread_ms), lock_text(lock_of(sight, inbox))});
  return context.print(text + context.console.table(rows, "  "));
}

// --- show, unread

operations::InboxEntry told_of(const EntryView& entry) {
  operations::InboxEntry view{entry.key, entry.read, entry.type, entry.from, entry.timestamp, entry.summary, entry.text, {}, {}};
  // A bad entry is printable here as in the table, because it may not be UTF-8.
  if (!entry.problem.empty())
    view = {entry.key, entry.read, entry.type, {}, {}, {}, {}, entry.problem, printable(entry.text)};
  return view;
}

std::string time_of(const EntryView& entry) {
  const auto at = parse_timestamp(entry.timestamp);
  return at ? time_text(*at) : entry.timestamp.empty() ? "-" : printable(shortened(entry.timestamp, 30));
}

std::string entries_text(const Console& console, const std::vector<EntryView>& entries, bool full) {
  std::vector<Row> rows;
  if (!full) rows.push_back({"", "KEY", "TIME", "FROM", "TYPE", "TEXT"});
  std::string blocks;
  for (const EntryView& entry : entries) {
    const std::string mark = entry.read ? " " : "*";
    if (full) {
      blocks += console.bold(mark + ' ' + entry.key + "  " + time_of(entry) + "  " + printable(entry.from) + "  " +
                             printable(entry.type)) +
                '\n';
      if (!entry.summary.empty()) blocks += "  summary: " + printable(entry.summary) + '\n';
      if (!entry.problem.empty()) blocks += "  " + console.loud(printable(entry.problem)) + '\n';
      blocks += printable_block(entry.text, "  | ");
      continue;
    }
    const std::string first = entry.problem.empty() ? entry.summary : entry.problem;
    const std::string line = printable(shortened(first.empty() ? entry.text : first + ": " + entry.text, one_line_limit));
    rows.push_back({mark, entry.key.substr(0, 12), time_of(entry), printable(entry.from), printable(entry.type), line});
  }
  return full ? blocks : console.lines(std::move(rows), "KEY", {});
}

ExitCode show(Context& context, const InboxOptions& options, bool only_unread) {
  const auto box = open_inboxes(context, options);
  if (!box) return context.fail(box.error());
  const Result<ReadResult> read = (*box)->read();
  if (!read) return context.fail(read.error());
  std::vector<EntryView> entries;
  for (const InboxEntry& entry : read->document.entries())
    if (!only_unread || entry.read != ReadFlag::read) entries.push_back(view_of(read->document, entry));
  if (options.last != 0 && entries.size() > options.last)
    entries.erase(entries.begin(), entries.end() - static_cast<std::ptrdiff_t>(options.last));
  ExitCode printed = ExitCode::done;
  if (context.json) {
    operations::InboxEntries answer{(*box)->about(), {}};
    for (const EntryView& entry : entries) answer.entries.push_back(told_of(entry));
    printed = context.print_record(answer);
  } else if (entries.empty()) {
    context.console.complain(only_unread ? "nothing is unread" : "the inbox is empty");
  } else {
    printed = context.print(entries_text(context.console, entries, options.full));
  }
  return printed == ExitCode::done && entries.empty() ? ExitCode::not_found : printed;
}

// --- send

Status may_receive(const Box& box) {
  const Whose whose = whose_inbox(box.member, box.team.config, box.lead, box.roster);
  if (whose == Whose::unknown)
    return Error{"inbox.no_roster", "the roster that names the members cannot be read (" + box.roster.error().message +
                                        "); --force writes the inbox nevertheless"};
  if (whose != Whose::nobody) return Done{};
  std::vector<std::string> known;
  for (const schema::Member& member : box.roster->members) known.push_back(member.name);
  const std::string meant = schema::did_you_mean(box.member, known);
  return Error{"member.unknown", "\"" + box.member + "\" is not a member of team " + box.team.name + meant +
                                     (meant.empty() ? "; its" : " Its") + " members are: " + boost::join(known, ", ") +
                                     ". --force writes an inbox of that name, which may never be read"};
}

ExitCode send_entry(Context& context, const InboxOptions& options) {
  const auto opened = open_inboxes(context, options);
  if (!opened) return context.fail(opened.error());
  Box& box = **opened;
  std::string text = options.text;
  if (text == "-") {
    auto input = context.console.read_all(box.team.config.limits.message.count);
    if (!input) return context.fail(input.error());
    text = *std::move(input);
  }
  text = schema::decode_string(schema::quote(text)).value_or("");  // as readers will decode bytes that are not UTF-8
  if (const Status may = may_receive(box); !options.force && !may) return context.fail(may.error());
  if (const auto refused = refuse_control_text(text); !options.raw && refused) return context.fail(*refused);
  schema::Message message;
  message.from = options.from.empty() ? box.lead : options.from;
  if (!schema::is_valid_name(message.from) && !(box.roster && box.roster->find(message.from) != nullptr))
    return context.fail(usage_error("--from \"" + message.from + "\" is not a name"));
  if (const auto* sender = box.roster ? box.roster->find(message.from) : nullptr) message.color = sender->color;
  message.text = std::move(text);
  message.summary = options.summary;
  message.timestamp = schema::iso_timestamp(box.clock.wall_ms());
  AppendReceipt receipt;
  receipt.key =
      schema::make_message_key({box.team.name, box.member}, message.from, message.timestamp, message.text, 0);
  message.id = schema::uuid_from(receipt.key.value);
  const std::string entry = encode_entry(message);
  const WriteResult result =
      patiently(box.clock, wait_here, [&] { return box.mailbox.inboxes().append(box.member, entry, receipt); });
  if (const Status sent = as_status(result, box.member); !sent) return context.fail(sent.error());
  if (context.json) return context.print_record(operations::InboxSent{box.about(), receipt.key.value});
  return context.print("in " + printable(box.path()) + " as " + receipt.key.value + '\n');
}

// --- mark-read, clear

using RetentionPolicy = std::function<Result<std::vector<std::size_t>>(const InboxDocument&)>;
using Apply = WriteResult (*)(ArrayInboxes&, const std::string&, const InboxDocument&, std::span<const std::size_t>);

WriteResult mark(ArrayInboxes& mailbox, const std::string& inbox, const InboxDocument& document,
                 std::span<const std::size_t> indexes) {
  return mailbox.mark_read(inbox, document, indexes);
}

WriteResult remove(ArrayInboxes& mailbox, const std::string& inbox, const InboxDocument& document,
                   std::span<const std::size_t> indexes) {
  WriteResult result = mailbox.remove(inbox, document, indexes);
  if (result.outcome == WriteOutcome::done) result.marked = indexes.size();  // a removal is all or nothing
  return result;
}

/// Repeats read, selection and write until success or timeout; prints the number of changed entries.
ExitCode change(Context& context, Box& box, const RetentionPolicy& choose, Apply apply, std::string_view what) {
  std::optional<Error> problem;
  std::size_t count = 0;
  const WriteResult result = patiently(box.clock, wait_here, [&]() -> WriteResult {
    const Result<ReadResult> read = box.read();
    const auto chosen = read ? choose(read->document) : Result<std::vector<std::size_t>>(read.error());
    problem = chosen ? std::nullopt : std::optional(chosen.error());
    if (problem) return {WriteOutcome::refused, {}, 0};
    if (chosen->empty()) return {};
    WriteResult written = apply(box.mailbox.inboxes(), box.member, read->document, *chosen);
    count += written.marked;
    return written;
  });
  if (problem) return context.fail(*problem);
  if (const Status written = as_status(result, box.member); !written) return context.fail(written.error());
  if (!result.detail.empty()) context.console.complain(printable(result.detail));
  if (context.json) return context.print_record(operations::InboxChanged{box.about(), operations::number_of(count)});
  return context.print(std::to_string(count) + (count == 1 ? " entry " : " entries ") + std::string(what) + '\n');
}

ExitCode mark_read(Context& context, const InboxOptions& options) {
  if (options.all == !options.keys.empty())
    return context.fail(usage_error("say which entries: --key with the beginning of a key, or --all"));
  const auto box = open_inboxes(context, options);
  if (!box) return context.fail(box.error());
  if (const Status may = leave_to_daemon(context, options, **box); !may) return context.fail(may.error());
  const auto choose = [&](const InboxDocument& document) -> Result<std::vector<std::size_t>> {
    if (options.all) return entries_that_are(false, document);
    return entries_with_keys(document, options.keys);
  };
  return change(context, **box, choose, mark, "marked read");
}

ExitCode clear(Context& context, const InboxOptions& options) {
  const auto box = open_inboxes(context, options);
  if (!box) return context.fail(box.error());
  if (const Status may = leave_to_daemon(context, options, **box); !may) return context.fail(may.error());
  if (!options.all)
    return change(
        context, **box, [](const InboxDocument& document) { return entries_that_are(true, document); }, remove,
        "removed");
  const Result<ReadResult> seen = (*box)->read();
  if (!seen) return context.fail(seen.error());
  const auto& entries = seen->document.entries();
  const std::string question = "remove all " + std::to_string(entries.size()) + " entries of the inbox of " +
                               (*box)->member + ", " + std::to_string(entries_that_are(false, seen->document).size()) +
                               " of them unread?";
  if (!options.yes && !context.console.confirm(question))
    return context.fail(usage_error("--all removes unread entries too: say --yes, or answer on a terminal"));
  // Entries that arrived after the question are kept.
  std::set<schema::MessageKey> meant;
  for (const InboxEntry& entry : entries) meant.insert(entry.key);
  const auto choose = [&](const InboxDocument& document) -> Result<std::vector<std::size_t>> {
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < document.entries().size(); ++i)
      if (meant.contains(document.entries()[i].key)) chosen.push_back(i);
    return chosen;
  };
  return change(context, **box, choose, remove, "removed");
}

constexpr const char* left_to_the_daemon =
    "The lead's inbox is left alone while a daemon serves it: the daemon would take this for\n"
    "another consumer.\n";

ExitCode show_all(Context& context, const InboxOptions& options) { return show(context, options, false); }
ExitCode show_unread(Context& context, const InboxOptions& options) { return show(context, options, true); }

constexpr Argument inbox_whose[] = {takes<&InboxOptions::member>("MEMBER", "Whose inbox").required()};

// clang-format off
constexpr Argument inbox_takes[] = {
    takes_each<&InboxOptions::sources, source_arguments>(),
    takes<&InboxOptions::root>("--root DIR", "The folder that holds the teams (not mail that agents share); no configuration is read"),
};
constexpr Argument inbox_reader_takes[] = {
    takes<&InboxOptions::last>("--last N", "Only so many, the newest").within(1, 1'000'000),
    takes<&InboxOptions::full>("--full", "Whole texts"),
};
constexpr Argument inbox_send_takes[] = {
    takes<&InboxOptions::text>("TEXT", "The message, or - for the standard input").required(),
    takes<&InboxOptions::from>("--from NAME", "The sender's name (default: the lead's)"),
    takes<&InboxOptions::summary>("--summary TEXT", "One line that says what it is about"),
    takes<&InboxOptions::force>("--force", "Also to a name that is not a member"),
    takes<&InboxOptions::raw>("--raw", "Also a text that is a control message"),
};
constexpr Argument inbox_mark_read_takes[] = {
    takes<&InboxOptions::keys>("--key PREFIX", "Entries whose keys begin so"),
    takes<&InboxOptions::all>("--all", "All that are unread"),
    takes<&InboxOptions::force>("--force", "Also the inbox that a daemon serves"),
};
constexpr Argument inbox_clear_takes[] = {
    takes<&InboxOptions::all>("--all", "Unread entries too"),
    takes<&InboxOptions::read>("--read", "Only entries that are marked read (the default)").excludes("--all"),
    takes<&InboxOptions::yes>("--yes", "Do not ask"),
    takes<&InboxOptions::force>("--force", "Also the inbox that a daemon serves"),
};

constexpr Command inbox_rows[] = {
    {.name = "inbox", .group = Group::act, .summary = "Use inbox files: list, show, unread, send, mark-read, clear",
     .help = "Works on the files themselves, under the locks that all clients respect; no daemon is\n"
             "needed. The team is found by --team in the configuration (of the daemon that runs), or below --root.",
     .examples = "inbox-poller inbox list\n"
                 "inbox-poller inbox show alice --last 3\n"
                 "inbox-poller inbox send alice 'please rebase' --root ~/.claude/teams --team demo",
     .arguments = inbox_takes, .work = holds<InboxOptions>},
    {.name = "inbox list", .group = Group::act, .summary = "Show the inboxes of the team",
     .help = "Every inbox with its entries and lock, and whose it is: the lead's, a member's, an alias of the\n"
             "lead, a welcome sender's, or orphaned: no session reads it.",
     .examples = "inbox-poller inbox list --team demo",
     .work = runs<list_inboxes>, .prints = operations::shapes<operations::InboxList>},
    {.name = "inbox show", .group = Group::act, .summary = "Show the entries of an inbox",
     .help = "In the order of the file; a star stands before what is unread.",
     .examples = "inbox-poller inbox show team-lead --last 5\n"
                 "inbox-poller inbox show alice --full",
     .shared = inbox_whose, .arguments = inbox_reader_takes, .work = runs<show_all>, .prints = operations::shapes<operations::InboxEntries>},
    {.name = "inbox unread", .group = Group::act, .summary = "Show the unread entries of an inbox",
     .help = "As `show`; nothing unread is exit code 4.",
     .examples = "inbox-poller inbox unread team-lead",
     .shared = inbox_whose, .arguments = inbox_reader_takes, .work = runs<show_unread>, .prints = operations::shapes<operations::InboxEntries>},
    {.name = "inbox send", .group = Group::act, .summary = "Append a message to an inbox",
     .help = "Writes one entry, under the lock, from the lead unless told otherwise. What a client would act\n"
             "on instead of reading it is refused. \"-\" reads the text from the standard input.",
     .examples = "inbox-poller inbox send alice 'please rebase'\n"
                 "git log -1 | inbox-poller inbox send alice - --from bob --summary 'the last commit'",
     .shared = inbox_whose, .arguments = inbox_send_takes, .work = runs<send_entry>, .prints = operations::shapes<operations::InboxSent>},
    {.name = "inbox mark-read", .group = Group::act, .summary = "Mark entries of an inbox as read",
     .help = "Marks entries as read, under the lock: those that --key names, or all.",
     .examples = "inbox-poller inbox mark-read alice --all\n"
                 "inbox-poller inbox mark-read alice --key 0f3a9c21d4e8",
     .shared = inbox_whose, .arguments = inbox_mark_read_takes, .work = runs<mark_read>, .prints = operations::shapes<operations::InboxChanged>,
     .note = left_to_the_daemon},
    {.name = "inbox clear", .group = Group::act, .summary = "Remove entries from an inbox",
     .help = "Removes the entries that are marked read; with --all every one.",
     .examples = "inbox-poller inbox clear alice\n"
                 "inbox-poller inbox clear alice --all --yes",
     .shared = inbox_whose, .arguments = inbox_clear_takes, .work = runs<clear>, .prints = operations::shapes<operations::InboxChanged>,
     .note = left_to_the_daemon},
};
// clang-format on

}  // namespace

std::span<const Command> inbox_commands() { return inbox_rows; }

}  // namespace inbox_poller::poller::cli
