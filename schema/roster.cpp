#include "schema/roster.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "schema/field_reader.hpp"
#include "schema/fold.hpp"
#include "schema/ids.hpp"
#include "schema/json_edit.hpp"

namespace inbox_poller::schema {

namespace {

constexpr long long latest_ms = 253'402'300'799'999;  // the end of the year 9999

void add_ignored(std::string& all, std::string_view one) {
  if (!one.empty()) all.append(all.empty() ? "" : "; ").append(one);
}

Error syntax_error(const Error& problem) { return {"roster.syntax", problem.message}; }

Result<Member> decode_member_at(std::string_view bytes, const std::string& path, std::string* ignored = nullptr) {
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
  member.joined_at_ms = std::clamp(fields.integer("joinedAt"), 0LL, latest_ms);
  member.is_active = fields.optional_boolean("isActive").value_or(true);
  if (fields.problem()) return Error{"roster.field", *fields.problem()};
  if (ignored != nullptr) add_ignored(*ignored, fields.ignored());
  return member;
}

/// Only a hint about other clients, so an unknown form counts as absent.
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
  const bool is_odd = fields.problem() || !fields.ignored().empty();
  return is_odd || process.pid <= 0 ? std::nullopt : std::optional(process);
}

/// Returns why no member of this name can be served. Names are shown and logged, so their characters must be visible.
std::optional<std::string> why_no_inbox(std::string_view name) {
  if (is_valid_name(name)) return std::nullopt;
  if (name.find('@') != std::string_view::npos) return "its name holds '@', behind which clients write the team";
  if (!is_seen(name)) return "its name holds an invisible or invalid character";
  if (!is_inbox_name(inbox_name(name))) return "its name is too long for a file";
  return std::nullopt;
}

/// Returns the bytes of the `members` array; an empty list if absent.
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

void Roster::part_inboxes(const std::vector<std::string>& others) {
  const auto is_odd_name = [](const Member& member) { return !is_valid_name(member.name); };
  if (std::none_of(members.begin(), members.end(), is_odd_name)) return;
  // By inbox; names that differ only in case are one file on some file systems.
  std::map<std::string, std::set<std::string>> claims;
  for (const std::string& other : others) claims[fold_case(inbox_name(other))].insert(other);
  for (const Member& member : members) claims[fold_case(inbox_name(member.name))].insert(member.name);
  const auto shares = [&](const Member& member) {
    const std::string inbox = inbox_name(member.name);
    const auto& names = claims[fold_case(inbox)];
    if (!is_odd_name(member) || names.size() == 1) return false;
    std::string rivals;
    for (const std::string& other : names)
      if (other != member.name) rivals += (rivals.empty() ? "" : ", ") + other;
    unreachable.push_back({member.name, "its inbox would be " + inbox + ".json, as that of " + rivals});
    return true;
  };
  std::erase_if(members, shares);
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
  if (fields.problem()) return Error{"roster.field", *fields.problem()};
  roster.made_ms = fields.integer("createdAt");
  roster.ignored = fields.ignored();
  roster.lead_process = decode_lead_process(find_member(bytes, *top_level, "leadProcess").value_or(""));

  TRY(const auto list, member_list(bytes, *top_level));
  const std::vector<Span> elements = scan_array(list).elements;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::string_view entry = elements[i].of(list);
    const std::string path = "members[" + std::to_string(i) + "]";
    if (kind_of(entry) != JsonKind::object) {
      add_ignored(roster.ignored, path + ": " + unexpected("an object", entry));
      continue;
    }
    TRY(auto member, decode_member_at(entry, path, &roster.ignored));
    if (member.name.empty()) continue;
    if (auto why = why_no_inbox(member.name))
      roster.unreachable.push_back({std::move(member.name), *std::move(why)});
    else
      roster.members.push_back(std::move(member));
  }
  roster.part_inboxes({roster.lead_name()});
  return roster;
}

Result<Member> decode_member(std::string_view entry) {
  TRY(auto member, decode_member_at(entry, "member"));
  if (member.name.empty()) return Error{"roster.field", "member.name: is missing"};
  if (const auto why = why_no_inbox(member.name)) return Error{"roster.field", "member.name: " + *why};
  return member;
}

Result<std::vector<std::pair<std::string, std::string>>> member_entries(std::string_view bytes) {
  const auto top_level = scan_object(bytes);
  if (!top_level) return syntax_error(top_level.error());
  TRY(const auto list, member_list(bytes, *top_level));
  std::vector<std::pair<std::string, std::string>> entries;
  for (const Span& element : scan_array(list).elements) {
    const auto text = element.of(list);
    const auto name = decode_string(find_member(text, "name").value_or("")).value_or("");
    if (!name.empty()) entries.emplace_back(name, text);
  }
  return entries;
}

Result<std::string> with_member(std::string_view bytes, std::string_view name, std::string_view entry) {
  TRY(const auto member, decode_member(entry));
  if (member.name != name) return Error{"roster.field", "member.name: is not \"" + std::string(name) + "\""};
  TRY(const auto entries, member_entries(bytes));
  for (const auto& [known, text] : entries)
    if (known == name) return std::string(bytes);
  TRY(const auto root, json_edit::root_of(bytes));
  const auto place = json_edit::place_of(bytes, root, "members");
  if (!place) return Error{"roster.field", "members: the list is missing"};
  TRY(const auto list, json_edit::array_at(bytes, root.values[*place]));
  return json_edit::with_part(bytes, root, list, std::string(entry));
}

Result<std::string> without_member(std::string_view bytes, std::string_view name) {
  const auto top_level = scan_object(bytes);
  if (!top_level) return syntax_error(top_level.error());
  TRY(const auto list, member_list(bytes, *top_level));

  const ArrayScan scanned = scan_array(list);
  std::vector<bool> dropped;
  for (const Span& element : scanned.elements) {
    dropped.push_back(decode_string(find_member(element.of(list), "name").value_or("")) == name);
  }
  std::string result(bytes);
  if (std::find(dropped.begin(), dropped.end(), true) == dropped.end()) return result;
  const auto begin = static_cast<std::size_t>(list.data() - bytes.data());
  return result.replace(begin, list.size(), without_elements(list, scanned.array, scanned.elements, dropped));
}

}  // namespace inbox_poller::schema
