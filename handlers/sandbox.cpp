#include "handlers/sandbox.hpp"

#include "handlers/outgoing.hpp"
#include "schema/codec.hpp"
#include "schema/printable.hpp"

namespace inbox_poller::handlers {

namespace {

/// Returns the spelling that people see and that equal requests share.
std::string spelled(const config::CanonicalHost& host) {
  return host.port ? host.name + " port " + std::to_string(*host.port) : host.name;
}

}  // namespace

Request draft_of(const schema::SandboxPermissionRequest& asked) {
  const auto host = config::canonical_host(asked.host);
  Request request;
  request.kind = RequestKind::sandbox;
  request.request_id = asked.request_id;
  request.content_hash = host ? digest_of({"host", spelled(*host)}) : digest_of({"as written", asked.host});
  request.subject = host ? spelled(*host) : asked.host;
  request.body = asked.host;
  return request;
}

config::Verdict judge(const schema::SandboxPermissionRequest& asked, std::string_view, const TeamView& view,
                      const RequestView&) {
  return config::judge_host(view.hosts, asked.host, view.config.sandbox.default_action);
}

std::string sandbox_answer(const Request& decided) {
  return schema::encode(schema::SandboxPermissionResponse{.request_id = decided.request_id,
                                                          .host = decided.body,
                                                          .allow = decided.state == RequestState::approved,
                                                          .timestamp = schema::iso_timestamp(decided.decided_ms)});
}

std::string sandbox_card(const Request& request, std::string_view before) {
  return schema::printable_block(request.body.empty() ? request.subject : request.body, before);
}

RuleOfAnswer sandbox_rule(const Request& request, const Answer& answer, bool, const TeamView&) {
  const bool by_person = answer.event == RequestEvent::person_approves || answer.event == RequestEvent::person_denies;
  if (!by_person || !config::canonical_host(request.subject)) return std::nullopt;
  return NewRule{RuleKind::host, request.subject};
}

}  // namespace inbox_poller::handlers
