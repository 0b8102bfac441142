#include "handlers/unsent_report.hpp"

#include <algorithm>
#include <iterator>

#include "handlers/outgoing.hpp"
#include "handlers/text.hpp"
#include "schema/odd_characters.hpp"
#include "schema/utf8.hpp"

namespace inbox_poller::handlers {
namespace {

constexpr int most_lines = 10;
constexpr std::size_t most_first = 1'000;  // bytes of the first lines
constexpr std::size_t key_length = 12;     // enough to find the message by

/// The client asks before a call, and reports the end of a turn or a task.
constexpr std::string_view by_client[] = {schema::PermissionRequest::type, schema::SandboxPermissionRequest::type,
                                          schema::IdleNotification::type, schema::TaskAssignment::type,
                                          schema::TaskCompleted::type};

bool has_words(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto point = schema::code_point_at(text, at);
    if (point.value != ' ' && !schema::is_odd(point.value)) return true;
    at += point.length;
  }
  return false;
}

std::string_view first_lines(std::string_view text) {
  std::size_t end = 0;
  for (int line = 0; line < most_lines && end != std::string_view::npos; ++line)
    end = text.find('\n', line == 0 ? 0 : end + 1);
  return beginning(text.substr(0, end), most_first);
}

}  // namespace

bool is_said_to_lead(std::string_view type) {
  return std::find(std::begin(by_client), std::end(by_client), type) == std::end(by_client);
}

TurnId turn_of(const schema::HookEvent& event) {
  return {digest_of({event.session_id, event.prompt_id, event.last_assistant_message}), !event.prompt_id.empty()};
}

std::optional<Lane> judge(const EndedTurn& turn, const Arrival& arrival, const TeamView& view) {
  const auto policy = view.config.delivery.unsent_reports;
  if (policy == config::UnsentPolicy::off || turn.went_wrong || turn.has_told || !has_words(turn.text))
    return std::nullopt;
  if (!view.membership.may(Right::take)) return Lane::none;
  if (policy == config::UnsentPolicy::digest) return Lane::digest;
  const bool fits = receive(ToLead{}, arrival, view).what == Reception::What::accepted;
  return fits ? Lane::chat : Lane::digest;
}

ShownReport shown_report(std::string_view text, std::string_view key, bool whole, std::size_t most) {
  ShownReport shown;
  shown.before = "[not sent: written by the worker at the end of its turn, in which it sent you nothing]";
  shown.text = beginning(whole ? text : first_lines(text), most);
  if (shown.text.size() < text.size())
    shown.after = "[cut: " + std::to_string(shown.text.size()) + " of " + std::to_string(text.size()) +
                  " bytes shown; all of it: inbox-poller history " + std::string(key.substr(0, key_length)) + "]";
  return shown;
}

std::string unsent_note(std::size_t bytes, std::string_view key) {
  return "wrote " + std::to_string(bytes) + " bytes at the end of a turn and did not send them: inbox-poller history " +
         std::string(key.substr(0, key_length));
}

}  // namespace inbox_poller::handlers
