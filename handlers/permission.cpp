#include "handlers/permission.hpp"

#include "handlers/outgoing.hpp"
#include "schema/codec.hpp"
#include "schema/json_scan.hpp"

namespace inbox_poller::handlers {

Request draft_of(const schema::PermissionRequest& ask) {
  Request request;
  request.kind = RequestKind::permission;
  request.request_id = ask.request_id;
  request.content_hash = fingerprint({ask.tool_name, ask.input});
  request.subject = ask.tool_name;
  request.body = ask.input;
  request.description = ask.description;
  request.suggestions = ask.permission_suggestions;
  return request;
}

config::Verdict judge(const schema::PermissionRequest& ask, std::string_view asker, const TeamView& view,
                      const RequestView&) {
  const schema::Member* member = view.roster.find(asker);
  const config::RuleContext context{member ? member->cwd : std::string(), std::string(view.home)};
  return config::judge_tool(view.rules, ask.tool_name, ask.input, context, view.config.permissions.default_action);
}

std::string permission_answer(const Request& decided, std::string_view input) {
  return schema::encode(schema::PermissionResponse{.request_id = decided.request_id,
                                                   .allowed = decided.state == RequestState::approved,
                                                   .updated_input = std::string(input),
                                                   .permission_updates = "[]",
                                                   .error = decided.reason});
}

bool is_sendable_input(std::string_view input) {
  if (!schema::scan_object(input)) return false;
  Request probe;
  probe.request_id = "probe";
  probe.state = RequestState::approved;
  const schema::Payload read_back = schema::decode_payload(permission_answer(probe, input));
  return std::holds_alternative<schema::PermissionResponse>(read_back);
}

}  // namespace inbox_poller::handlers
