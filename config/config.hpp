// The effective configuration, after reading, checking and defaults: plain values, no TOML, no file access.
// Every duration is std::chrono, every size is Bytes; the texts in the file carry units ("500ms", "10min", "64MiB").
// Equality is of every value: it tells what a reload changed.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/engine_address.hpp"
#include "config/rules.hpp"
#include "schema/names.hpp"

namespace inbox_poller::config {

using Duration = std::chrono::milliseconds;

struct Bytes {
  std::uint64_t count = 0;
  auto operator<=>(const Bytes&) const = default;
};

/// Permission modes of the agent client, from narrow to wide. Order matters: the ceiling compares by it.
enum class PermissionMode { plan, standard, accept_edits, automatic, dont_ask, bypass };
consteval auto words_of(PermissionMode) {
  return std::to_array<std::string_view>({"plan", "default", "acceptEdits", "auto", "dontAsk", "bypassPermissions"});
}
inline std::string_view to_string(PermissionMode mode) { return schema::name_of(mode); }

/// Who consumes the lead's inbox. leader: we alone. front: a real lead does, and we answer before it what a rule
/// decides. observer: somebody else does everything; we never write. satellite: the lead is on another host, and we carry
/// the mail between it and the workers of this one.
BOOST_DEFINE_ENUM_CLASS(Role, leader, front, observer, satellite)
inline std::string_view to_string(Role role) { return schema::name_of(role); }

/// What a leader does when somebody else turns out to consume the same inbox.
BOOST_DEFINE_ENUM_CLASS(ForeignConsumer, stop, observe, ignore)
BOOST_DEFINE_ENUM_CLASS(Transport, claude, jsonl, maildir, redis)
/// What is so in every team of one mailbox system, where something is decided by it. Whoever decides asks for the fact and
/// never for the system's name.
struct TransportFacts {
  std::string_view noun;     // for people: what a team of it is
  bool asks;                 // workers ask and answer; elsewhere there are letters and tasks, and nothing else
  bool obeys;                // workers obey modes and rules
  bool ends_by_force;        // a worker has a process of its own
  bool verifies;             // a worker may look whether its lead wrote the answer
  bool reads_task_messages;  // a task is given in a message of its own type, and not in words
  bool folds_names;          // old clients look a team up under a simpler spelling of its name
  bool short_ids;            // ids of what the lead asks have eight characters
};
const TransportFacts& facts_of(Transport);
inline std::string_view to_string(Transport transport) { return schema::name_of(transport); }

/// Who is asked what no rule decides.
BOOST_DEFINE_ENUM_CLASS(Answerer, person, lead, both)
inline std::string_view to_string(Answerer answerer) { return schema::name_of(answerer); }

/// The ways to the lead session, as `delivery.via` spells them.
enum class Way { mcp, stdin_stream, hook, channel, socket, exec, file, tmux };
consteval auto words_of(Way) {
  return std::to_array<std::string_view>({"mcp", "stdin", "hook", "channel", "socket", "exec", "file", "tmux"});
}
inline std::string_view to_string(Way way) { return schema::name_of(way); }
/// Those that are tried unless delivery.via says otherwise: what says nothing back has to be asked for.
inline constexpr Way usual_ways[] = {Way::mcp,    Way::stdin_stream, Way::hook, Way::socket,
                                     Way::exec, Way::file,         Way::tmux};

struct TeamSettings {
  std::string name;        // a team name or a glob such as "session-*"
  std::string root;        // absolute, links followed; the folder that holds the team folders
  std::string tasks_root;  // absolute; the folder that holds the task folders; empty: <root>/../tasks
  std::string folder;      // absolute; transport jsonl or maildir: the team's one folder; empty elsewhere
  EngineAddress engine;    // transport redis: where the team's mail is, and under which name
  std::vector<std::string> members;  // of a team that keeps no roster; `anybody`: whoever has a box there or writes
  static constexpr std::string_view anybody = "*";
  std::string lead;        // the lead's member name; empty: from the roster's leadAgentId
  Role role = Role::leader;
  Transport transport = Transport::claude;
  Duration poll_interval{500};       // role front: 100 ms unless set
  bool watch = true;                 // poll early when the inboxes folder changes
  std::vector<std::string> aliases;  // misspelt names of the lead: chat in their inboxes is the lead's
  std::string tasks;                 // absolute; the team's task folder; empty: <tasks_root>/<team>
  ForeignConsumer foreign_consumer = ForeignConsumer::stop;
  Duration silent_after{std::chrono::minutes(10)};  // a worker that said nothing for so long is shown as silent
  [[nodiscard]] bool takes_anybody() const { return members.size() == 1 && members.front() == anybody; }
  [[nodiscard]] const TransportFacts& facts() const { return facts_of(transport); }
  /// The folder of the team of this name; empty where there are no files.
  [[nodiscard]] std::string team_folder(std::string_view team) const;
  /// The folder in which its inboxes change.
  [[nodiscard]] std::string inbox_folder(std::string_view team) const;
  /// Whether `name` stands for many teams: a `*` for any run of characters, but for no leading dot.
  [[nodiscard]] bool is_glob() const { return name.find('*') != std::string::npos; }
  /// Whether the team in this folder of the root is meant.
  [[nodiscard]] bool claims(std::string_view team) const;
  /// The folder with the task files of the team of this name.
  [[nodiscard]] std::string task_folder(std::string_view team) const;
  /// Where the clients of such teams say what sessions of theirs live; empty where they do not.
  [[nodiscard]] std::string session_folder() const;
  bool operator==(const TeamSettings&) const = default;
};

/// Modes we set by ourselves when a worker joins, and how wide a mode anybody may set through us.
struct ModeSettings {
  std::optional<PermissionMode> on_join;                        // for every worker not named below; empty: none is set
  std::vector<std::pair<std::string, PermissionMode>> members;  // by member name
  PermissionMode ceiling = PermissionMode::accept_edits;
  Duration adopt_within{std::chrono::seconds(30)};  // after it a mode that the roster does not show is "not adopted"

  /// What a worker of this name gets when it joins.
  [[nodiscard]] std::optional<PermissionMode> wanted(std::string_view member) const;
  bool operator==(const ModeSettings&) const = default;
};

struct ShutdownSettings {
  Duration nudge_after{std::chrono::seconds(20)};  // one textual reminder; zero: none
  std::optional<Duration> force_after;             // empty: never without the worker's consent
  Duration timeout{std::chrono::minutes(10)};      // a request without an answer, or a cleanup that gets nowhere
  Duration grace{std::chrono::seconds(5)};         // between consent, TERM and KILL
  bool close_panes = true;
  bool remove_members = true;
  bool release_tasks = true;
  std::vector<std::string> tmux{"tmux"};  // how the panes' server is reached: ["tmux", "-L", "team"]
  Answerer ask = Answerer::person;        // who decides when a worker asks to stop
  bool operator==(const ShutdownSettings&) const = default;
};

struct PermissionSettings {
  PermissionRules rules;
  Action default_action = Action::ask;
  Duration timeout{std::chrono::minutes(10)};  // after it: always deny
  Answerer ask = Answerer::person;
  bool operator==(const PermissionSettings&) const = default;
};

struct SandboxSettings {
  HostRules hosts;
  Action default_action = Action::ask;
  Duration timeout{std::chrono::minutes(10)};
  Answerer ask = Answerer::person;
  bool operator==(const SandboxSettings&) const = default;
};

struct PlanSettings {
  Action decision = Action::ask;  // ask or allow ("approve" in the file); never deny
  PermissionMode ceiling = PermissionMode::standard;
  Duration timeout{std::chrono::minutes(30)};
  std::uint32_t loop_limit = 5;  // the same plan submitted this often is put before a person, whatever `decision` says
  Answerer ask = Answerer::person;
  bool operator==(const PlanSettings&) const = default;
};

/// How a person hears of an ask that is theirs to answer.
struct PersonSettings {
  std::vector<std::string> notify;  // a program that gets the ask as JSON on its standard input; empty: none; no shell
  Duration notify_timeout{std::chrono::seconds(30)};
  bool operator==(const PersonSettings&) const = default;
};

/// The task queue of a maildir, which we keep in order.
struct TaskQueueSettings {
  std::uint32_t max_attempts = 3;    // handed out so often and not done: a dead letter
  std::vector<std::string> on_done;  // a program that gets each finished task as JSON on its standard input; no shell
  Duration on_done_timeout{std::chrono::seconds(30)};
  bool operator==(const TaskQueueSettings&) const = default;
};

/// The lead's own session.
struct LeadSettings {
  bool permissions = false;  // answer the lead's own permission prompts by [permissions] too
  bool mcp_tools = false;    // the lead may look at and decide its workers' asks, and end workers, by tools
  bool operator==(const LeadSettings&) const = default;
};

/// What becomes of status messages beside the state that is shown: nothing, a summary now and then, or chat.
BOOST_DEFINE_ENUM_CLASS(IdlePolicy, state, digest, all)
BOOST_DEFINE_ENUM_CLASS(UnknownPolicy, deliver, hold)  // an unknown payload type: chat for the lead, or quarantine

struct ExecSink {
  std::vector<std::string> argv;  // empty: no such sink; never passed through a shell
  Duration timeout{std::chrono::seconds(30)};
  bool operator==(const ExecSink&) const = default;
};

/// Pasting into the lead's terminal, the last resort.
struct TmuxSink {
  std::string pane;      // "%3"; empty: the one that the lead's own hooks told of
  bool payload = false;  // paste the messages themselves; otherwise one line that says how to get them
  std::vector<std::string> command{"tmux"};  // how tmux is called, with the options that choose the server
  Duration settle{300};                      // between the paste and Enter
  bool operator==(const TmuxSink&) const = default;
};

struct DeliverySettings {
  std::vector<Way> via{std::begin(usual_ways), std::end(usual_ways)};  // the first that is available is used
  ExecSink exec;
  std::string file;  // absolute path of a JSON-lines file; empty: no such sink
  TmuxSink tmux;
  Duration busy_limit{std::chrono::minutes(15)};
  Duration presumed_busy{std::chrono::seconds(30)};  // after a push until the lead itself says more
  std::optional<Duration> max_wait;                  // a message that waited so long no longer waits for an idle lead
  std::optional<Duration> urgent_max_wait;           // the same for urgent ones; zero: never wait
  std::vector<std::string> urgent;                   // senders all of whose chat is urgent
  std::optional<Duration> expire_after;              // undelivered for so long: given up, and said so; empty: never
  Duration digest_after{std::chrono::minutes(5)};    // a digest that no chat takes along goes alone after this
  std::uint32_t batch = 20;                          // at most this many messages at once
  std::vector<std::string> senders;                  // names outside the roster whose chat is welcome, such as "user"
  IdlePolicy idle = IdlePolicy::state;
  UnknownPolicy unknown = UnknownPolicy::deliver;
  bool operator==(const DeliverySettings&) const = default;
};

struct Limits {
  Bytes inbox_file{std::uint64_t{64} << 20};
  Bytes message{std::uint64_t{1} << 20};  // longer chat is cut for the lead, kept whole in the ledger
  std::uint32_t pending_per_worker = 64;  // further asks are denied with a text until some are answered
  std::uint32_t queued_chat = 10'000;     // beyond it the oldest is not dropped: new chat stays unread in the inbox
  std::uint32_t torn_polls = 6;           // polls a file may stay unreadable before its bytes are copied to quarantine
  Duration retention{std::chrono::hours(24 * 14)};
  bool operator==(const Limits&) const = default;
};

/// The hosts of one team, and the engine between them.
struct HostsSettings {
  std::string engine;              // redis+unix:///path, redis://host:port or rediss://host:port; empty: one host
  std::string id;                  // the team's name in the engine, the same on all of its hosts
  std::string host;                // ours
  std::string secret;              // absolute; the file with our password; empty: none
  std::string ca;                  // absolute; whom a TLS engine is checked against; empty: the system's
  std::vector<std::string> leads;  // the hosts that may lead; whoever is not in `members` lives on the first
  std::vector<std::pair<std::string, std::vector<std::string>>> members;  // who lives on which host
  std::uint32_t queued = 20'000;   // letters kept for others, or by others: at it, mail stays where it is
  [[nodiscard]] bool is_set() const { return !engine.empty(); }
  bool operator==(const HostsSettings&) const = default;
};

/// When read messages leave the lead's inbox for the ledger's archive; role leader only.
struct CompactionSettings {
  bool enabled = true;
  std::uint32_t entries = 1000;              // more read entries than this, or
  Bytes size{1'000'000};                     // a larger file, and it is looked at what may leave
  Duration after{std::chrono::minutes(60)};  // only what we received so long ago
  bool operator==(const CompactionSettings&) const = default;
};

struct TeamConfig {
  std::string source;  // the file it came from
  TeamSettings team;
  PermissionSettings permissions;
  SandboxSettings sandbox;
  PlanSettings plans;
  ModeSettings modes;
  ShutdownSettings shutdown;
  DeliverySettings delivery;
  PersonSettings person;
  TaskQueueSettings tasks;
  LeadSettings lead;
  CompactionSettings compaction;
  HostsSettings hosts;
  Limits limits;
  bool operator==(const TeamConfig&) const = default;
};

enum class LogFormat { automatic, text, json };
consteval auto words_of(LogFormat) { return std::to_array<std::string_view>({"auto", "text", "json"}); }
BOOST_DEFINE_ENUM_CLASS(LogLevel, debug, info, warn, error)

struct LogSettings {
  LogLevel level = LogLevel::info;
  LogFormat format = LogFormat::automatic;  // text on a terminal, JSON lines otherwise
  std::string file;                         // absolute; empty: standard error
  bool operator==(const LogSettings&) const = default;
};

struct DaemonConfig {
  std::string state_dir;  // ledger and quarantine; default $XDG_STATE_HOME/inbox-poller
  std::string socket;     // control socket; default $XDG_RUNTIME_DIR/inbox-poller/control.sock, else below state_dir
  LogSettings log;
  bool operator==(const DaemonConfig&) const = default;
};

struct Config {
  DaemonConfig daemon;
  std::vector<TeamConfig> teams;
};

}  // namespace inbox_poller::config
