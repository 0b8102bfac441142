// The effective configuration, after reading, checking and defaults: plain values, no TOML, no file access.
// Every duration is std::chrono, every size is Bytes; the texts in the file carry units ("500ms", "10min", "64MiB").
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/rules.hpp"

namespace inbox_poller::config {

using Duration = std::chrono::milliseconds;

struct Bytes {
  std::uint64_t count = 0;
  auto operator<=>(const Bytes&) const = default;
};

/// Permission modes of the agent client, from narrow to wide. Order matters: the ceiling compares by it.
enum class PermissionMode { plan, standard, accept_edits, automatic, dont_ask, bypass };
inline constexpr PermissionMode permission_modes[] = {PermissionMode::plan,         PermissionMode::standard,
                                                      PermissionMode::accept_edits, PermissionMode::automatic,
                                                      PermissionMode::dont_ask,     PermissionMode::bypass};
/// The wire spelling: plan, default, acceptEdits, auto, dontAsk, bypassPermissions.
std::string_view to_string(PermissionMode);
std::optional<PermissionMode> parse_mode(std::string_view);

enum class Role { leader };
enum class Transport { claude };

struct TeamSettings {
  std::string name;  // a team name or a glob such as "session-*"
  std::string root;  // absolute; the folder that holds the team folders
  std::string lead;  // the lead's member name; empty: from the roster's leadAgentId
  Role role = Role::leader;
  Transport transport = Transport::claude;
  Duration poll_interval{500};
};

struct PermissionSettings {
  PermissionRules rules;
  Action default_action = Action::ask;
  Duration timeout{std::chrono::minutes(10)};  // after it: always deny
};

struct SandboxSettings {
  HostRules hosts;
  Action default_action = Action::ask;
  Duration timeout{std::chrono::minutes(10)};
};

struct PlanSettings {
  Action decision = Action::ask;  // ask or allow ("approve" in the file); never deny
  PermissionMode ceiling = PermissionMode::standard;
  Duration timeout{std::chrono::minutes(30)};
  std::uint32_t loop_limit = 5;  // the same plan submitted this often is put before a person, whatever `decision` says
};

enum class IdlePolicy { state, all };        // are status messages only state, or chat as well
enum class UnknownPolicy { deliver, hold };  // an unknown payload type: chat for the lead, or quarantine

struct ExecSink {
  std::vector<std::string> argv;  // empty: no such sink; never passed through a shell
  Duration timeout{std::chrono::seconds(30)};
};

struct DeliverySettings {
  ExecSink exec;
  std::string file;  // absolute path of a JSON-lines file; empty: no such sink
  Duration busy_limit{std::chrono::minutes(15)};
  std::uint32_t batch = 20;          // at most this many messages at once
  std::vector<std::string> senders;  // names outside the roster whose chat is welcome, such as "user"
  IdlePolicy idle = IdlePolicy::state;
  UnknownPolicy unknown = UnknownPolicy::deliver;
};

struct Limits {
  Bytes inbox_file{std::uint64_t{64} << 20};
  Bytes message{std::uint64_t{1} << 20};  // longer chat is cut for the lead, kept whole in the ledger
  std::uint32_t pending_per_worker = 64;  // further asks are denied with a text until some are answered
  std::uint32_t queued_chat = 10'000;     // beyond it the oldest is not dropped: new chat stays unread in the inbox
  std::uint32_t torn_polls = 6;           // polls a file may stay unreadable before its bytes are copied to quarantine
  Duration retention{std::chrono::hours(24 * 14)};
};

struct TeamConfig {
  std::string source;  // the file it came from
  TeamSettings team;
  PermissionSettings permissions;
  SandboxSettings sandbox;
  PlanSettings plans;
  DeliverySettings delivery;
  Limits limits;
};

enum class LogFormat { automatic, text, json };
enum class LogLevel { debug, info, warn, error };

struct LogSettings {
  LogLevel level = LogLevel::info;
  LogFormat format = LogFormat::automatic;  // text on a terminal, JSON lines otherwise
  std::string file;                         // absolute; empty: standard error
};

struct DaemonConfig {
  std::string state_dir;  // ledger and quarantine; default $XDG_STATE_HOME/inbox-poller
  std::string socket;     // control socket; default $XDG_RUNTIME_DIR/inbox-poller/control.sock, else below state_dir
  LogSettings log;
};

struct Config {
  DaemonConfig daemon;
  std::vector<TeamConfig> teams;
};

}  // namespace inbox_poller::config
