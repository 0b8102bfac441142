#include "schema/roster.hpp"

#include <algorithm>

#include "schema/field_reader.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::schema {

namespace {

Error syntax_error(const Error& problem) { return {"roster.syntax", problem.message}; }

Result<Member> decode_member(std::string_view bytes, std::size_t index) {
  const std::string path = "members[" + std::to_string(index) + "]";
  const auto members = scan_object(bytes);
  if (!members) return Error{"roster.field", path + ": " + unexpected("an object", bytes)};
  FieldReader fields(bytes, *members, path + ".");
  Member member;
  fields.strings({{"agentId", member.agent_id},
                  {"name", member.name},
                  {"agentType", member.agent_type},
                  {"model", member.model},
                  {"color", member.color},
                  {"cwd", member.cwd},
                  {"tmuxPaneId", member.tmux_pane_id},
                  {"backendType", member.backend_type},
                  {"mode", member.mode},
                  {"worktreePath", member.worktree_path},
                  {"sessionId", member.session_id},
                  {"prompt", member.prompt}});
  member.joined_at_ms = fields.integer("joinedAt");
  member.plan_mode_required = fields.optional_boolean("planModeRequired").value_or(false);
  member.is_active = fields.optional_boolean("isActive").value_or(true);
  if (fields.problem()) return Error{"roster.field", *fields.problem()};
  return member;
}

/// Only a hint about other clients, so that one of an unknown shape counts as none.
std::optional<LeadProcess> decode_lead_process(std::string_view bytes) {
  const auto members = scan_object(bytes);
  if (!members) return std::nullopt;
  FieldReader fields(bytes, *members);
  LeadProcess process;
  process.pid = fields.integer("pid");
  process.claimed_at_ms = fields.integer("claimedAt");
  fields.strings({{"pidSpace", process.pid_space}});
  const std::string_view started = fields.token("procStart").value_or("null");
  switch (kind_of(started)) {
    case JsonKind::string: process.started = decode_string(started).value_or(""); break;
    case JsonKind::number: process.started = started; break;
    case JsonKind::null: break;
    case JsonKind::boolean:
    case JsonKind::array:
    case JsonKind::object: return std::nullopt;
  }
  return fields.problem() || process.pid <= 0 ? std::nullopt : std::optional(process);
}

/// The bytes of the `members` array; an empty list when there is none.
Result<std::string_view> member_list(std::string_view bytes, const std::vector<MemberSpan>& fields) {
  const std::string_view list = find_member(bytes, fields, "members").value_or("[]");
  if (kind_of(list) == JsonKind::array) return list;
  return Error{"roster.field", "members: " + unexpected("an array", list)};
}

}  // namespace

std::string Roster::lead_name() const {
  const std::string_view lead = bare_name(lead_agent_id);
  return is_valid_name(lead) ? std::string(lead) : "team-lead";
}

const Member* Roster::find(std::string_view bare) const {
  for (const Member& member : members) {
    if (member.name == bare) return &member;
  }
  return nullptr;
}

Result<Roster> decode_roster(std::string_view bytes) {
  const auto top_level = scan_object(bytes);
  if (!top_level) return syntax_error(top_level.error());
  FieldReader fields(bytes, *top_level);
  Roster roster;
  fields.strings({{"name", roster.name},
                  {"description", roster.description},
                  {"leadAgentId", roster.lead_agent_id},
                  {"leadSessionId", roster.lead_session_id}});
  roster.created_at_ms = fields.integer("createdAt");
  if (fields.problem()) return Error{"roster.field", *fields.problem()};
  roster.lead_process = decode_lead_process(find_member(bytes, *top_level, "leadProcess").value_or(""));

  const auto list = member_list(bytes, *top_level);
  if (!list) return list.error();
  const std::vector<Span> elements = scan_array(*list).elements;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    auto member = decode_member(elements[i].of(*list), i);
    if (!member) return member.error();
    if (is_valid_name(member->name)) roster.members.push_back(std::move(*member));
  }
  return roster;
}

Result<std::string> without_member(std::string_view bytes, std::string_view name) {
  const auto top_level = scan_object(bytes);
  if (!top_level) return syntax_error(top_level.error());
  const auto list = member_list(bytes, *top_level);
  if (!list) return list.error();

  const ArrayScan scanned = scan_array(*list);
  std::vector<bool> dropped;
  for (const Span& element : scanned.elements) {
    dropped.push_back(decode_string(find_member(element.of(*list), "name").value_or("")) == name);
  }
  std::string result(bytes);
  if (std::find(dropped.begin(), dropped.end(), true) == dropped.end()) return result;
  const auto begin = static_cast<std::size_t>(list->data() - bytes.data());
  return result.replace(begin, list->size(), without_elements(*list, scanned.array, scanned.elements, dropped));
}

}  // namespace inbox_poller::schema
