// A team's config.json: who is a member. The roster is the only source of names we answer to.
// Source: docs/reference/wire.md W3. Unknown fields stay in the file's bytes.
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
  std::string status;        // working | idle | shutdown, where a roster keeps it (JSONL teams); empty elsewhere
  std::string worktree_path, session_id, prompt;
  long long joined_at_ms = 0;
  bool is_active = true;  // absent means active
};

/// What a roster that keeps a status says of a member that has ended.
inline constexpr std::string_view ended_status = "shutdown";

/// The client that says it leads this team (newer clients write it).
struct LeadProcess {
  long long pid = 0;
  std::string started;  // procStart as written; empty when absent
  long long claimed_at_ms = 0;
  std::string pid_space = {};  // pidSpace: where the number holds, "host#pid:[4026531836]"; empty when absent
};

/// A member that cannot be answered: its name has no inbox of its own.
struct Unserved {
  std::string name;
  std::string reason;  // as "its …"
  bool operator==(const Unserved&) const = default;
};

struct Roster {
  std::string name, description, lead_agent_id, lead_session_id;
  std::vector<Member> members;
  std::vector<Unserved> unserved;
  long long made_ms = 0;  // createdAt; 0: not said
  std::optional<LeadProcess> lead_process;
  std::string ignored = {};  // fields and entries of another type, which count as absent; empty: none
  std::string own_lead_only = {};  // why no worker takes an answer of anybody but its own lead; empty: they do

  /// The lead's bare name from leadAgentId; "team-lead" when that is missing or not a valid name.
  [[nodiscard]] std::string lead_name() const;
  /// The member with this bare name, or null.
  [[nodiscard]] const Member* find(std::string_view bare) const;
  /// Takes out of `members` whose name clients would turn into the inbox of another member or of one of `others`. Who
  /// has the inbox's very name keeps it.
  void part_inboxes(const std::vector<std::string>& others);
};

/// Reads the file. Missing or null fields are empty, members without a name are left out. One whose name clients do
/// not take as it is has the inbox that they make of it (inbox_name), unless that is another's. A field of another type
/// counts as absent, as does an entry that is no object. Errors ("roster.…") name the field ("members: expected an
/// array, found an object").
Result<Roster> decode_roster(std::string_view bytes);

/// The file with this entry behind the last member's, every other byte unchanged; the same bytes when there is a member
/// of this name. An entry that is no member of this name is an error.
Result<std::string> with_member(std::string_view bytes, std::string_view name, std::string_view entry);

/// The entries of the members, as they stand there, by name; those that have none are left out.
Result<std::vector<std::pair<std::string, std::string>>> member_entries(std::string_view bytes);

/// One member's entry alone.
Result<Member> decode_member(std::string_view entry);

/// The file without the member of this name, every other byte unchanged; the same bytes when there is none.
Result<std::string> without_member(std::string_view bytes, std::string_view name);

}  // namespace inbox_poller::schema
