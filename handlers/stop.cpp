#include "handlers/stop.hpp"

#include "handlers/outgoing.hpp"
#include "handlers/text.hpp"
#include "schema/printable.hpp"

namespace inbox_poller::handlers {

Ask draft_of(const schema::ShutdownRequest& ask) {
  Ask request;
  request.kind = AskKind::stop;
  request.request_id = ask.request_id;
  request.subject = schema::bare_name(ask.from);
  request.body = ask.reason;
  request.content_hash = digest_of({"stop", request.subject, ask.reason});
  return request;
}

config::Verdict judge(const schema::ShutdownRequest&, std::string_view, const TeamView&, const AskView&) {
  return {config::Action::ask, "shutdown.approver", "a worker is ended only when somebody agrees"};
}

std::string stop_refusal(const Ask& decided) {
  // Begins with a word, so that no reason can make it a control message.
  return "Your request to stop was declined: " + decided.reason;
}

std::string stop_card(const Ask& request, std::string_view before) {
  return schema::printable_block(request.body.empty() ? "(none given)" : request.body, before);
}

std::string stop_reason(const Ask& granted) {
  return one_line(granted.decided_by) + " agreed to your request to stop (" + one_line(granted.request_id) + ").";
}

}  // namespace inbox_poller::handlers
