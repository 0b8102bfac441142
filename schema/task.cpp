#include "schema/task.hpp"

#include "schema/field_reader.hpp"

namespace inbox_poller::schema {

namespace {

constexpr std::string_view pending = "\"pending\"";

}  // namespace

bool Task::is_unfinished() const { return status != "completed" && status != "deleted"; }

bool Task::is_owned_by(std::string_view name, std::string_view agent_id) const {
  return !owner.empty() && (owner == name || owner == agent_id);
}

Result<Task> decode_task(std::string_view bytes) {
  const auto members = scan_object(bytes);
  if (!members) return Error{"task.syntax", members.error().message};
  FieldReader fields(bytes, *members);
  Task task;
  task.id = fields.required_string("id");
  task.status = fields.required_string("status");
  fields.strings({{"subject", task.subject}, {"owner", task.owner}, {"description", task.description}});
  task.internal = find_member(fields.token("metadata").value_or("null"), "_internal") == "true";
  if (fields.problem()) return Error{"task.field", *fields.problem()};
  return task;
}

Result<std::string> released(std::string_view bytes) {
  TRY(decode_task(bytes));
  TRY(const auto members, scan_object(bytes));
  std::vector<Span> spans;
  std::vector<bool> dropped;
  for (const MemberSpan& member : members) {
    spans.push_back({member.key.begin, member.value.end});
    dropped.push_back(decode_string(member.key.of(bytes)) == "owner");
  }
  // A task has an id and a status, so at least one member is kept.
  std::string result = without_elements(bytes, {0, bytes.size()}, spans, dropped);
  if (const auto status = find_member(result, "status")) {
    result.replace(static_cast<std::size_t>(status->data() - result.data()), status->size(), pending);
  }
  return result;
}

Result<std::string> assigned(std::string_view bytes, std::string_view owner) {
  TRY(auto result, released(bytes));
  TRY(const auto members, scan_object(result));
  return result.insert(members.back().value.end, ",\n  \"owner\": " + quote(owner));
}

}  // namespace inbox_poller::schema
