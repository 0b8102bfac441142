#include "poller/team/ask_view.hpp"

#include "handlers/subject.hpp"

namespace inbox_poller::poller {

operations::Ask ask_view(std::string_view team, const handlers::Ask& ask) {
  return {.team = team,
          .kind = handlers::to_string(ask.kind),
          .request_id = ask.request_id,
          .member = ask.asker,
          .subject = handlers::subject_of(ask),
          .tool = ask.kind == handlers::AskKind::permission ? ask.subject : "",
          .file = ask.kind == handlers::AskKind::plan ? ask.subject : "",
          .body = ask.body,
          .description = ask.description,
          .suggestions = ask.suggestions,
          .state = handlers::to_string(ask.state),
          .asked_ms = ask.asked_ms,
          .deadline_ms = ask.deadline_ms,
          .decided_ms = ask.decided_ms,
          .decided_by = ask.decided_by,
          .rule = ask.rule,
          .reason = ask.reason,
          .message_key = ask.message.value,
          .input = {},
          .suggested = {}};
}

operations::OpenAsk open_view(std::string_view team, const handlers::Ask& ask, std::string_view folder,
                              const std::vector<config::PartVerdict>& parts) {
  operations::OpenAsk view{ask_view(team, ask), folder, {}, {}, {}, {}};
  for (const auto& part : parts) view.parts.push_back({part.part, part.rule, part.missing});
  return view;
}

}  // namespace inbox_poller::poller
