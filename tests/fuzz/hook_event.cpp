// Any bytes as a hook's input: reading is total, what we write reads back as the same event, and an input that was cut
// never offers a tool's input to be allowed.
#include "schema/hook_event.hpp"

#include <tuple>

#include "schema/json_scan.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace inbox_poller::fuzz::of_hook_event {

using namespace inbox_poller::schema;

namespace {

auto all_of(const HookEvent& e) {
  return std::tie(e.name, e.session_id, e.transcript_path, e.cwd, e.notification_type, e.agent_id, e.agent_type,
                  e.prompt, e.tool_name, e.tool_input, e.source, e.reason, e.teammate_name, e.team_name, e.task_id,
                  e.task_subject, e.stop_hook_active);
}

void check_answers(const HookEvent& event) {
  for (const std::string& answer : {hook_context(event.name, event.prompt), hook_continue(event.prompt, false),
                                    hook_continue(event.prompt, true), hook_deny(event.tool_name)}) {
    EXPECT(scan_object(answer).ok() && answer.find('\n') == std::string::npos);
    EXPECT(answer.find("\"allow\"") == std::string::npos || event.name == "allow" || event.prompt == "allow" ||
           event.tool_name == "allow");
  }
  if (event.tool_input.empty()) return;
  const std::string allowed = hook_allow(event.tool_input);
  const auto specific = find_member(allowed, "hookSpecificOutput");
  EXPECT(specific.has_value());
  const auto decision = find_member(*specific, "decision");
  EXPECT(decision && find_member(*decision, "behavior") == "\"allow\"");
  EXPECT(find_member(*decision, "updatedInput") == event.tool_input);  // what was asked, byte for byte
}

}  // namespace

int try_one(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(data, size);
  const auto event = decode_hook_event(text);
  EXPECT(event.ok() || event.error().code == "hook.syntax");
  if (event) {
    EXPECT(!event->name.empty());
    EXPECT(event->tool_input.empty() || text.find(event->tool_input) != std::string_view::npos);
    const auto again = decode_hook_event(encode(*event));
    EXPECT(again.ok() && all_of(*again) == all_of(*event));
    check_answers(*event);
  }
  const std::size_t end = size == 0 ? 0 : data[size / 2] * size / 256;
  for (const std::string_view cut : {text, text.substr(0, end)}) {
    const auto part = decode_hook_event(cut, true);
    EXPECT(!part || (!part->name.empty() && part->tool_input.empty()));
  }
  return 0;
}

const Target registered("hook_event", try_one);

}  // namespace inbox_poller::fuzz::of_hook_event
