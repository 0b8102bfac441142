#include "poller/team/request_view.hpp"

#include "handlers/subject.hpp"

namespace inbox_poller::poller {

operations::Request request_view(std::string_view team, const handlers::Request& request) {
  return {.team = team,
          .kind = handlers::to_string(request.kind),
          .request_id = request.request_id,
          .member = request.asker,
          .subject = handlers::subject_of(request),
          .tool = request.kind == handlers::RequestKind::permission ? request.subject : "",
          .file = request.kind == handlers::RequestKind::plan ? request.subject : "",
          .body = request.body,
          .description = request.description,
          .suggestions = request.suggestions,
          .state = handlers::to_string(request.state),
          .asked_ms = request.asked_ms,
          .deadline_ms = request.deadline_ms,
          .decided_ms = request.decided_ms,
          .decided_by = request.decided_by,
          .rule = request.rule,
          .reason = request.reason,
          .message_key = request.message.value,
          .input = {},
          .suggested = {}};
}

operations::OpenRequest open_view(std::string_view team, const handlers::Request& request, std::string_view folder,
                                  const std::vector<config::PartVerdict>& parts) {
  operations::OpenRequest view{request_view(team, request), folder, {}, {}, {}, {}};
  for (const auto& part : parts) view.parts.push_back({part.part, part.rule, part.missing});
  return view;
}

}  // namespace inbox_poller::poller
