// The effective configuration after reading, checking and defaults: plain values, no TOML, no file access. Every
// duration is std::chrono, every size is Bytes; the file's texts have units ("500ms", "10min", "64MiB"). Equality
// compares every value, so that a reload finds the changes.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/redis_address.hpp"
#include "config/rules.hpp"
#include "schema/names.hpp"

namespace inbox_poller::config {

using Duration = std::chrono::milliseconds;

struct Bytes {
  std::uint64_t count = 0;
  auto operator<=>(const Bytes&) const = default;
};

/// Permission modes of the agent client, from narrow to wide. Invariant: the order is the ceiling's order.
enum class PermissionMode { plan, standard, accept_edits, automatic, dont_ask, bypass };
consteval auto words_of(PermissionMode) {
  return std::to_array<std::string_view>({"plan", "default", "acceptEdits", "auto", "dontAsk", "bypassPermissions"});
}
inline std::string_view to_string(PermissionMode mode) { return schema::name_of(mode); }

/// The role with the lead's inbox. leader: InboxPoller consumes it. front: a real lead does, and InboxPoller first
/// answers what a rule decides. observer: InboxPoller never writes. follower: the lead is on another node, and
/// InboxPoller carries the mail between the lead and this node's workers.
BOOST_DEFINE_ENUM_CLASS(Role, leader, interceptor, observer, follower)
inline std::string_view to_string(Role role) { return schema::name_of(role); }

/// A leader's reaction to a competing consumer of its inbox.
BOOST_DEFINE_ENUM_CLASS(OnCompetingConsumer, stop, observe, ignore)
/// The mailbox system of a team.
BOOST_DEFINE_ENUM_CLASS(Backend, claude_code, jsonl, maildir, redis)
consteval auto words_of(Backend) {
  return std::to_array<std::string_view>({"claude-code", "jsonl", "maildir", "redis"});
}
/// Facts about all teams of one mailbox system. Code that depends on them uses the fact and never the system's name.
struct BackendFacts {
  std::string_view noun;     // a team of the system, for people
  bool asks;                 // workers send requests and answers; others have letters and tasks only
  bool obeys;                // workers obey modes and rules
  bool ends_by_force;        // a worker has a process of its own
  bool verifies;             // a worker may check whether its lead wrote the answer
  bool reads_task_messages;  // a task arrives in a message of its own type, not in words
  bool folds_names;          // old clients look a team up by a simpler spelling of its name
  bool short_ids;            // ids of the lead's requests have eight characters
};
const BackendFacts& facts_of(Backend);
inline std::string_view to_string(Backend backend) { return schema::name_of(backend); }

/// The answerer of requests that no rule decides.
BOOST_DEFINE_ENUM_CLASS(Answerer, person, lead, both)
inline std::string_view to_string(Answerer answerer) { return schema::name_of(answerer); }

/// The delivery methods, as spelled in `delivery.methods`.
enum class DeliveryMethod { mcp, stdin_stream, hook, channel, socket, exec, file, tmux };
consteval auto words_of(DeliveryMethod) {
  return std::to_array<std::string_view>({"mcp", "stdin", "hook", "channel", "socket", "exec", "file", "tmux"});
}
inline std::string_view to_string(DeliveryMethod way) { return schema::name_of(way); }
/// The default methods: all but the channel, which must be named in delivery.methods.
inline constexpr DeliveryMethod usual_methods[] = {DeliveryMethod::mcp,    DeliveryMethod::stdin_stream, DeliveryMethod::hook, DeliveryMethod::socket,
                                     DeliveryMethod::exec, DeliveryMethod::file,         DeliveryMethod::tmux};

struct TeamSettings {
  std::string name;        // a team name, or a glob such as "session-*"
  std::string root;        // absolute, links followed; contains the team directories
  std::string tasks_root;  // absolute; contains the task directories; empty: <root>/../tasks
  std::string folder;      // absolute; backend jsonl or maildir: the team's directory; else empty
  RedisAddress redis;     // backend redis: the address and name of the team's mail
  std::vector<std::string> members;  // of a team without a roster; `anybody`: every owner of an inbox and every sender
  static constexpr std::string_view anybody = "*";
  std::string lead;        // the lead's member name; empty: from the roster's leadAgentId
  Role role = Role::leader;
  Backend backend = Backend::claude_code;
  Duration poll_interval{500};       // role interceptor: 100 ms unless set
  bool watch = true;                 // poll early when the inbox directory changes
  std::vector<std::string> aliases;  // misspelled names of the lead: chat in their inboxes is the lead's
  std::string tasks;                 // absolute; the team's task directory; empty: <tasks_root>/<team>
  OnCompetingConsumer on_competing_consumer = OnCompetingConsumer::stop;
  Duration unresponsive_after{std::chrono::minutes(10)};  // a worker without a message for so long is shown as unresponsive
  [[nodiscard]] bool takes_anybody() const { return members.size() == 1 && members.front() == anybody; }
  [[nodiscard]] const BackendFacts& facts() const { return facts_of(backend); }
  /// Returns the directory of the team of this name; for Redis, the Redis server's address.
  [[nodiscard]] std::string team_folder(std::string_view team) const;
  /// Returns the directory in which its inboxes change; for a maildir, the lead's. Empty for Redis.
  [[nodiscard]] std::string inbox_folder(std::string_view team) const;
  /// Returns true if `name` is a glob: a `*` stands for any run of characters, but not for a leading dot.
  [[nodiscard]] bool is_glob() const { return name.find('*') != std::string::npos; }
  /// Returns true if these settings are for the team in this directory of the root.
  [[nodiscard]] bool claims(std::string_view team) const;
  /// Returns the directory with the task files of the team of this name.
  [[nodiscard]] std::string task_folder(std::string_view team) const;
  /// Returns the directory in which the clients of such teams list their live sessions; empty if they do not.
  [[nodiscard]] std::string session_folder() const;
  bool operator==(const TeamSettings&) const = default;
};

/// The modes that InboxPoller sets when a worker joins, and the widest mode that it sets on request.
struct ModeSettings {
  std::optional<PermissionMode> on_join;                        // for every worker not named below; empty: none is set
  std::vector<std::pair<std::string, PermissionMode>> members;  // by member name
  PermissionMode ceiling = PermissionMode::accept_edits;
  Duration apply_timeout{std::chrono::seconds(30)};  // a mode that the roster does not show by then is "not applied"

  /// Returns the mode of a worker of this name when it joins.
  [[nodiscard]] std::optional<PermissionMode> wanted(std::string_view member) const;
  bool operator==(const ModeSettings&) const = default;
};

struct ShutdownSettings {
  Duration remind_after{std::chrono::seconds(20)};  // one textual reminder; zero: none
  std::optional<Duration> force_after;             // empty: never without the worker's consent
  Duration timeout{std::chrono::minutes(10)};      // of a request without an answer, or of a cleanup without progress
  Duration grace{std::chrono::seconds(5)};         // between consent, TERM and KILL
  bool close_panes = true;
  bool remove_members = true;
  bool release_tasks = true;
  std::vector<std::string> tmux{"tmux"};  // how the panes' server is called: ["tmux", "-L", "team"]
  Answerer approver = Answerer::person;        // who decides when a worker asks to stop
  bool operator==(const ShutdownSettings&) const = default;
};

struct PermissionSettings {
  PermissionRules rules;
  Action default_action = Action::ask;
  Duration timeout{std::chrono::minutes(10)};  // after it: always deny
  Answerer approver = Answerer::person;
  bool operator==(const PermissionSettings&) const = default;
};

struct SandboxSettings {
  HostRules hosts;
  Action default_action = Action::ask;
  Duration timeout{std::chrono::minutes(10)};
  Answerer approver = Answerer::person;
  bool operator==(const SandboxSettings&) const = default;
};

struct PlanSettings {
  Action decision = Action::ask;  // ask or allow ("approve" in the file); never deny
  PermissionMode ceiling = PermissionMode::standard;
  Duration timeout{std::chrono::minutes(30)};
  std::uint32_t max_resubmissions = 5;  // a plan submitted this often goes to a person, whatever `decision` says
  Answerer approver = Answerer::person;
  bool operator==(const PlanSettings&) const = default;
};

/// How a person is notified of requests that a person answers.
struct ApproverSettings {
  std::vector<std::string> command;  // program that gets the request as JSON on standard input; no shell; empty: none
  Duration command_timeout{std::chrono::seconds(30)};
  bool operator==(const ApproverSettings&) const = default;
};

/// The task queue of a maildir, which InboxPoller maintains.
struct TaskQueueSettings {
  std::uint32_t max_attempts = 3;    // claimed so often without a result: a dead letter
  std::vector<std::string> done_command;  // program that gets each finished task as JSON on its standard input; no shell
  Duration done_timeout{std::chrono::seconds(30)};
  bool operator==(const TaskQueueSettings&) const = default;
};

/// The lead's own session.
struct LeadSettings {
  bool permissions = false;  // judges the lead's own permission prompts by [permissions] too
  bool mcp_tools = false;    // tools with which the lead lists and answers requests, and ends workers
  bool operator==(const LeadSettings&) const = default;
};

/// The delivery of status messages besides the shown state: none, a summary at intervals, or chat.
BOOST_DEFINE_ENUM_CLASS(IdlePolicy, state, digest, all)
/// What the lead gets of a text that a worker wrote at the end of its turn and did not send.
BOOST_DEFINE_ENUM_CLASS(UnsentPolicy, off, digest, first_lines, whole)
BOOST_DEFINE_ENUM_CLASS(UnknownPolicy, deliver, hold)  // an unknown payload type: chat for the lead, or quarantine

struct ExecSink {
  std::vector<std::string> argv;  // empty: not configured; run without a shell
  Duration timeout{std::chrono::seconds(30)};
  bool operator==(const ExecSink&) const = default;
};

/// The method that pastes into the lead's terminal, the last resort.
struct TmuxSink {
  std::string pane;      // "%3"; empty: the pane that the lead's own hooks reported
  bool payload = false;  // paste the messages; otherwise one line that says how to get them
  std::vector<std::string> command{"tmux"};  // the command for tmux, with the options that choose the server
  Duration settle{300};                      // between the paste and Enter
  bool operator==(const TmuxSink&) const = default;
};

struct DeliverySettings {
  std::vector<DeliveryMethod> methods{std::begin(usual_methods), std::end(usual_methods)};  // the first available one is used
  ExecSink exec;
  std::string file;  // absolute path of a JSON-lines file; empty: not configured
  TmuxSink tmux;
  Duration busy_timeout{std::chrono::minutes(15)};
  Duration assume_busy_for{std::chrono::seconds(30)};  // after a push, until the lead reports its state
  std::optional<Duration> max_delay;                  // a message older than this does not wait for an idle lead
  std::optional<Duration> urgent_max_delay;           // the same for urgent messages; zero: they never wait
  std::vector<std::string> urgent;                   // senders whose chat is urgent
  std::optional<Duration> expire_after;              // age at which an undelivered message expires; empty: never
  Duration digest_after{std::chrono::minutes(5)};    // a digest that no chat takes along is sent alone after this time
  std::uint32_t batch = 20;                          // at most this many messages at once
  std::vector<std::string> allowed_senders;                  // names outside the roster that may send chat, such as "user"
  IdlePolicy idle = IdlePolicy::state;
  UnknownPolicy unknown = UnknownPolicy::deliver;
  UnsentPolicy unsent_reports = UnsentPolicy::digest;
  bool operator==(const DeliverySettings&) const = default;
};

struct Limits {
  Bytes inbox_file{std::uint64_t{64} << 20};
  Bytes message{std::uint64_t{1} << 20};  // longer chat is cut for the lead and kept whole in the ledger
  std::uint32_t pending_per_worker = 64;  // further requests are denied with a text until some are answered
  std::uint32_t queued_chat = 10'000;     // no message is dropped beyond it: new chat stays unread in the inbox
  std::uint32_t quarantine_after_polls = 6;           // polls of an unreadable file before its bytes are copied to quarantine
  Duration retention{std::chrono::hours(24 * 14)};
  bool operator==(const Limits&) const = default;
};

/// The nodes of one team, and Redis between them.
struct ClusterSettings {
  std::string redis_url;           // redis+unix:///path, redis://host:port or rediss://host:port; empty: one node
  std::string id;                  // the team's name in Redis, the same on all nodes
  std::string node;                // this node
  std::string secret;              // absolute; the file with this node's password; empty: none
  std::string ca;                  // absolute; the authority for a TLS Redis server; empty: the system's
  std::vector<std::string> leads;  // nodes that may lead; members not in `members` live on the first one
  std::vector<std::pair<std::string, std::vector<std::string>>> members;  // members by node
  std::uint32_t queued = 20'000;   // letters kept for other nodes, or by them: at this count, mail stays in its inbox
  [[nodiscard]] bool is_set() const { return !redis_url.empty(); }
  bool operator==(const ClusterSettings&) const = default;
};

/// When read messages leave the lead's inbox for the ledger; role leader only.
struct CompactionSettings {
  bool enabled = true;
  std::uint32_t entries = 1000;              // more read entries than this, or
  Bytes size{1'000'000};                     // a larger file starts a check of the entries
  Duration after{std::chrono::minutes(60)};  // only entries received before this time
  bool operator==(const CompactionSettings&) const = default;
};

struct TeamConfig {
  std::string source;  // the configuration file
  TeamSettings team;
  PermissionSettings permissions;
  SandboxSettings sandbox;
  PlanSettings plans;
  ModeSettings modes;
  ShutdownSettings shutdown;
  DeliverySettings delivery;
  ApproverSettings approver;
  TaskQueueSettings tasks;
  LeadSettings lead;
  CompactionSettings compaction;
  ClusterSettings cluster;
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
