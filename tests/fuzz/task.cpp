// Any bytes as a task file: what is given back has no owner, is pending, and is otherwise the file that it was.
#include "schema/task.hpp"

#include "schema/json_scan.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace inbox_poller::fuzz::of_task {

using namespace inbox_poller::schema;

namespace {

struct Part {
  std::string_view key, value;
  std::string name;
};

std::vector<Part> parts_of(std::string_view bytes) {
  const auto members = scan_object(bytes);
  EXPECT(members.ok());
  std::vector<Part> parts;
  for (const MemberSpan& member : *members) {
    const std::string_view key = member.key.of(bytes);
    parts.push_back({key, member.value.of(bytes), decode_string(key).value_or("")});
  }
  return parts;
}

/// What stands before the first member and behind the last one.
std::string frame_of(std::string_view bytes, const std::vector<Part>& parts) {
  const auto begin = parts.front().key.data() - bytes.data();
  const auto end = parts.back().value.data() + parts.back().value.size() - bytes.data();
  return std::string(bytes.substr(0, static_cast<std::size_t>(begin))) + "…" +
         std::string(bytes.substr(static_cast<std::size_t>(end)));
}

}  // namespace

int try_one(const std::uint8_t* data, std::size_t size) {
  const std::string_view before = as_text(data, size);
  const auto task = decode_task(before);
  const auto after = released(before);
  EXPECT(task.ok() == after.ok());
  if (!task) return 0;
  const auto again = decode_task(*after);
  EXPECT(again.ok() && again->owner.empty() && again->status == "pending" && again->is_unfinished());
  EXPECT(again->id == task->id && again->subject == task->subject && again->internal == task->internal);

  const std::vector<Part> old_parts = parts_of(before);
  const std::vector<Part> new_parts = parts_of(*after);
  EXPECT(frame_of(before, old_parts) == frame_of(*after, new_parts));
  auto next = new_parts.begin();
  for (const Part& part : old_parts) {
    if (part.name == "owner") continue;
    EXPECT(next != new_parts.end() && next->key == part.key);
    EXPECT(next->value == part.value || (part.name == "status" && next->value == "\"pending\""));
    ++next;
  }
  EXPECT(next == new_parts.end());
  EXPECT(*released(*after) == *after);
  return 0;
}

const Target registered("task", try_one);

}  // namespace inbox_poller::fuzz::of_task
