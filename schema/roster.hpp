// A team's config.json: its members. InboxPoller answers only names of the roster. Unknown fields stay in the file's
// bytes. Source: docs/reference/wire.md W3.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/error.hpp"

namespace inbox_poller::schema {

struct Member {
  std::string agent_id, name, agent_type, model, color, cwd, tmux_pane_id;
  std::string backend_type;  // tmux | iterm2 | in-process; empty in old rosters
  std::string mode;          // permission mode, once one was set
  std::string status;        // working | idle | shutdown, if the roster has it (JSONL teams); else empty
  std::string worktree_path, session_id, prompt;
  long long joined_at_ms = 0;
  bool is_active = true;  // absent means active
  bool operator==(const Member&) const = default;
};

/// The status of a member that has ended.
inline constexpr std::string_view ended_status = "shutdown";

/// The client that claims to lead this team (newer clients write it).
struct LeadProcess {
  long long pid = 0;
  std::string started;  // procStart as written; empty if absent
  long long claimed_at_ms = 0;
  std::string pid_space = {};  // pidSpace: where the number is valid, "host#pid:[4026531836]"; empty if absent
};

/// A member that cannot be answered: its name has no inbox of its own.
struct Unreachable {
  std::string name;
  std::string reason;  // as "its …"
  bool operator==(const Unreachable&) const = default;
};

struct Roster {
  std::string name, description, lead_agent_id, lead_session_id;
  std::vector<Member> members;
  std::vector<Unreachable> unreachable;
  long long made_ms = 0;  // createdAt; 0: absent
  std::optional<LeadProcess> lead_process;
  std::string ignored = {};  // fields and entries of another type, which count as absent; empty: none
  std::string own_lead_only = {};  // why workers accept answers of their own lead only; empty: they accept others

  /// Returns the lead's bare name from leadAgentId; "team-lead" if that is missing or not a valid name.
  [[nodiscard]] std::string lead_name() const;
  /// Returns the member with this bare name, or null.
  [[nodiscard]] const Member* find(std::string_view bare) const;
  /// Moves members to `unreachable` whose inbox name is that of another member or of one of `others`. A member whose valid
  /// name is the inbox name stays.
  void part_inboxes(const std::vector<std::string>& others);
};

/// Reads the file. Missing fields are empty; members without a name are left out. An invalid name gets the inbox that
/// clients make of it (inbox_name), unless another member has that inbox. A field of another type counts as absent, and
/// so does an entry that is not an object. Errors ("roster.…") name the field ("members: expected an array, found an
/// object").
Result<Roster> decode_roster(std::string_view bytes);

/// Returns the file with this entry after the last member, and every other byte unchanged. Returns the same bytes if
/// the member exists. Error if the entry is not a member of this name.
Result<std::string> with_member(std::string_view bytes, std::string_view name, std::string_view entry);

/// Returns the members' entries as written, by name; without members that have no name.
Result<std::vector<std::pair<std::string, std::string>>> member_entries(std::string_view bytes);

/// Reads one member's entry.
Result<Member> decode_member(std::string_view entry);

/// Returns the file without the member of this name, and every other byte unchanged.
Result<std::string> without_member(std::string_view bytes, std::string_view name);

}  // namespace inbox_poller::schema
