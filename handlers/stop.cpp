#include "handlers/stop.hpp"

#include "handlers/outgoing.hpp"
#include "handlers/text.hpp"
#include "schema/printable.hpp"

namespace inbox_poller::handlers {

Request draft_of(const schema::ShutdownRequest& asked) {
  Request request;
  request.kind = RequestKind::stop;
  request.request_id = asked.request_id;
  request.subject = schema::bare_name(asked.from);
  request.body = asked.reason;
  request.content_hash = digest_of({"stop", request.subject, asked.reason});
  return request;
}

config::Verdict judge(const schema::ShutdownRequest&, std::string_view, const TeamView&, const RequestView&) {
  return {config::Action::ask, "shutdown.approver", "a worker is ended only when a person or a rule agrees"};
}

std::string stop_refusal(const Request& decided) {
  // Begins with a word, so that no reason can make it a control message.
  return "Your request to stop was declined: " + decided.reason;
}

std::string stop_card(const Request& request, std::string_view before) {
  return schema::printable_block(request.body.empty() ? "(none given)" : request.body, before);
}

std::string stop_reason(const Request& granted) {
  return one_line(granted.decided_by) + " agreed to your request to stop (" + one_line(granted.request_id) + ").";
}

}  // namespace inbox_poller::handlers
