#include "schema/roster.hpp"

#include "schema/field_reader.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::schema {

namespace {

Error syntax_error(const ScanProblem& problem) {
  return {"roster.syntax", problem.what + " at byte " + std::to_string(problem.offset)};
}

Result<Member> decode_member(std::string_view bytes, std::size_t index) {
  const std::string path = "members[" + std::to_string(index) + "]";
  std::vector<MemberSpan> members;
  if (scan_object(bytes, members)) {
    return Error{"roster.field", path + ": expected an object, found " + std::string(describe(kind_of(bytes)))};
  }
  FieldReader fields(bytes, members, path + ".");
  Member member;
  member.agent_id = fields.string({"agentId"});
  member.name = fields.string({"name"});
  member.agent_type = fields.string({"agentType"});
  member.model = fields.string({"model"});
  member.color = fields.string({"color"});
  member.cwd = fields.string({"cwd"});
  member.tmux_pane_id = fields.string({"tmuxPaneId"});
  member.backend_type = fields.string({"backendType"});
  member.mode = fields.string({"mode"});
  member.worktree_path = fields.string({"worktreePath"});
  member.session_id = fields.string({"sessionId"});
  member.prompt = fields.string({"prompt"});
  member.joined_at_ms = fields.integer({"joinedAt"});
  member.plan_mode_required = fields.optional_boolean({"planModeRequired"}).value_or(false);
  member.is_active = fields.optional_boolean({"isActive"}).value_or(true);
  if (fields.problem()) return Error{"roster.field", *fields.problem()};
  return member;
}

/// The `members` array of a roster, with spans of the whole file.
Result<ArrayScan> scan_member_list(std::string_view bytes, const std::vector<MemberSpan>& fields) {
  const auto array = find_member(bytes, fields, "members");
  if (!array) return ArrayScan{};
  if (kind_of(*array) != JsonKind::array) {
    return Error{"roster.field", "members: expected an array, found " + std::string(describe(kind_of(*array)))};
  }
  ArrayScan scanned = scan_array(*array);
  const auto offset = static_cast<std::size_t>(array->data() - bytes.data());
  const auto moved = [offset](Span span) { return Span{span.begin + offset, span.end + offset}; };
  scanned.array = moved(scanned.array);
  for (Span& element : scanned.elements) element = moved(element);
  return scanned;
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
  std::vector<MemberSpan> top_level;
  if (const auto problem = scan_object(bytes, top_level)) return syntax_error(*problem);
  FieldReader fields(bytes, top_level);
  Roster roster;
  roster.name = fields.string({"name"});
  roster.description = fields.string({"description"});
  roster.lead_agent_id = fields.string({"leadAgentId"});
  roster.lead_session_id = fields.string({"leadSessionId"});
  roster.created_at_ms = fields.integer({"createdAt"});
  if (fields.problem()) return Error{"roster.field", *fields.problem()};

  const auto members = scan_member_list(bytes, top_level);
  if (!members) return members.error();
  for (std::size_t i = 0; i < members->elements.size(); ++i) {
    auto member = decode_member(members->elements[i].of(bytes), i);
    if (!member) return member.error();
    if (is_valid_name(member->name)) roster.members.push_back(std::move(*member));
  }
  return roster;
}

Result<std::string> without_member(std::string_view bytes, std::string_view name) {
  std::vector<MemberSpan> top_level;
  if (const auto problem = scan_object(bytes, top_level)) return syntax_error(*problem);
  const auto members = scan_member_list(bytes, top_level);
  if (!members) return members.error();

  std::vector<bool> dropped;
  bool found = false;
  for (const Span& element : members->elements) {
    const auto member_name = find_member(element.of(bytes), "name");
    dropped.push_back(member_name && decode_string(*member_name) == name);
    found = found || dropped.back();
  }
  if (!found) return std::string(bytes);
  return without_elements(bytes, members->array, members->elements, dropped);
}

}  // namespace inbox_poller::schema
