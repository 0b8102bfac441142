#include "poller/mailbox/jsonl/team_texts.hpp"

#include <algorithm>

#include "schema/field_reader.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::poller {
namespace {

constexpr std::string_view task_prefix = "task_";
constexpr std::string_view task_suffix = ".json";

std::string_view id_in(std::string_view file) {
  if (!file.starts_with(task_prefix) || !file.ends_with(task_suffix)) return {};
  file.remove_prefix(task_prefix.size());
  return file.substr(0, file.size() - std::min(file.size(), task_suffix.size()));
}

void note(std::string& all, const std::string& one) {
  if (!one.empty()) all += (all.empty() ? "" : "; ") + one;
}

void add_member(schema::Roster& roster, schema::Member member) {
  if (member.name.empty()) return;
  if (!schema::is_valid_name(member.name)) {
    roster.unreachable.push_back(
        {member.name, "its name cannot be a file's name here (A-Z a-z 0-9 _ -, at most 64, no - in front)"});
    return;
  }
  member.agent_id = member.name;
  member.backend_type = "in-process";
  if (roster.find(member.name) == nullptr) roster.members.push_back(std::move(member));
}

}  // namespace

Result<schema::Roster> decode_jsonl_roster(std::string_view bytes) {
  const auto top = schema::scan_object(bytes);
  if (!top) return Error{"roster.syntax", top.error().message};
  schema::Roster roster;
  schema::FieldReader fields(bytes, *top);
  roster.name = fields.string("team_name");
  roster.ignored = fields.ignored();
  roster.lead_agent_id = jsonl_lead;
  const std::string_view list = fields.token("members").value_or("[]");
  if (schema::kind_of(list) != schema::JsonKind::array)
    return Error{"roster.field", "members: " + schema::unexpected("an array", list)};
  for (const schema::Span& element : schema::scan_array(list).elements) {
    const std::string_view one = element.of(list);
    const auto members = schema::scan_object(one);
    if (!members) {
      note(roster.ignored, "members: " + schema::unexpected("an object", one));
      continue;
    }
    schema::FieldReader inner(one, *members, "members[].");
    schema::Member member;
    inner.strings({{"name", member.name}, {"role", member.agent_type}, {"status", member.status}});
    if (inner.problem()) return Error{"roster.field", *inner.problem()};
    note(roster.ignored, inner.ignored());
    member.is_active = member.status.empty() || member.status == "working";
    add_member(roster, std::move(member));
  }
  if (fields.problem()) return Error{"roster.field", *fields.problem()};
  return roster;
}

schema::Roster jsonl_roster_of(std::string_view team, const std::vector<std::string>& members) {
  schema::Roster roster;
  roster.name = team;
  roster.lead_agent_id = jsonl_lead;
  for (const std::string& name : members) {
    schema::Member member;
    member.name = name;
    add_member(roster, std::move(member));
  }
  return roster;
}

bool is_jsonl_task(std::string_view file) {
  const std::string_view id = id_in(file);
  return !id.empty() && id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_hex_task(std::string_view file) {
  const std::string_view id = id_in(file);
  return is_jsonl_task(file) && id.size() == 8 && id.find_first_of("abcdef") != std::string_view::npos;
}

Result<schema::Task> decode_jsonl_task(std::string_view bytes) {
  const auto members = schema::scan_object(bytes);
  if (!members) return Error{"task.syntax", members.error().message};
  schema::FieldReader fields(bytes, *members);
  schema::Task task;
  const std::string_view id = fields.token("id").value_or("null");
  task.id = schema::decode_string(id).value_or(std::string(id));
  task.status = fields.required_string("status");
  fields.strings({{"subject", task.subject}, {"owner", task.owner}});
  if (fields.problem()) return Error{"task.field", *fields.problem()};
  return task;
}

Result<std::string> released_jsonl(std::string_view bytes) {
  return with_members(bytes, {{"status", "\"pending\""}, {"owner", "null"}});
}

Result<std::string> assigned_jsonl(std::string_view bytes, std::string_view owner) {
  return with_members(bytes, {{"status", "\"pending\""}, {"owner", schema::quote(owner)}});
}

Result<std::string> with_members(std::string_view object,
                                 const std::vector<std::pair<std::string, std::string>>& wanted) {
  const auto members = schema::scan_object(object);
  if (!members) return Error{"object.syntax", members.error().message};
  std::string out(object);
  std::vector<std::pair<schema::Span, std::string>> edits;
  std::string behind;
  for (const auto& [name, token] : wanted) {
    bool there = false;
    for (const auto& member : *members) {
      if (schema::decode_string(member.key.of(object)) != name) continue;
      edits.emplace_back(member.value, token);
      there = true;
    }
    if (!there) behind += ", " + schema::quote(name) + ": " + token;
  }
  if (!behind.empty() && members->empty()) {
    const std::size_t open = out.find('{') + 1;
    edits.push_back({{open, open}, behind.substr(2)});
  } else if (!behind.empty()) {
    const std::size_t end = members->back().value.end;
    edits.push_back({{end, end}, behind});
  }
  std::stable_sort(edits.begin(), edits.end(), [](const auto& a, const auto& b) { return a.first.begin < b.first.begin; });
  for (auto edit = edits.rbegin(); edit != edits.rend(); ++edit)
    out.replace(edit->first.begin, edit->first.size(), edit->second);
  return out;
}

}  // namespace inbox_poller::poller
