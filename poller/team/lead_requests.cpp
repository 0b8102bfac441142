#include "poller/team/lead_requests.hpp"

#include "handlers/lead_permission.hpp"
#include "handlers/outgoing.hpp"
#include "handlers/permission.hpp"
#include "handlers/request_kind.hpp"
#include "handlers/subject.hpp"

namespace inbox_poller::poller {
namespace {

using handlers::Request;
using handlers::RequestKind;
using handlers::RequestState;

std::string request_id_of(const LeadCall& call, int round) { return handlers::call_request_id("lead", call.id, round); }

std::string hash_of(const LeadCall& call) { return handlers::digest_of({call.tool, call.input}); }

}  // namespace

std::optional<Error> LeadRequests::problem_of(const LeadCall& call) {
  if (call.id.size() > 200 || !schema::is_valid_request_id(call.id))
    return Error{"request.invalid", "`id` must be 1 to 200 letters, digits or @._:+=-"};
  if (call.tool.empty()) return Error{"request.invalid", "`tool` must name the tool"};
  if (!handlers::is_sendable_input(call.input))
    return Error{"permission.bad_input", "`input` must be the text of one well-formed JSON object"};
  return std::nullopt;
}

LeadVerdict LeadRequests::of_preview() {
  return {config::Action::ask, "", "only the beginning of it is known, which no rule can judge", {}};
}

Result<LeadVerdict> LeadRequests::judge(const LeadCall& call) {
  auto verdict = handlers::judge_lead(call.tool, call.input, call.cwd, context_.view());
  TRY(context_.commit([&](Tx& tx) {
    tx.log(Event::lead_permission, {{"team", context_.name},
                                    {"request_id", request_id_of(call, 1)},
                                    {"from", context_.lead},
                                    {"type", call.tool},
                                    {"action", std::string(config::to_string(verdict.action))},
                                    {"rule", verdict.rule}});
  }));
  if (verdict.action == config::Action::deny)
    verdict.reason = "Denied: " + verdict.reason + (verdict.rule.empty() ? "" : " (rule " + verdict.rule + ")");
  return LeadVerdict{verdict.action, verdict.rule, verdict.reason, {}};
}

bool LeadRequests::may_open() const {
  return context_.config.lead.permissions && context_.may(handlers::Right::ask_person);
}

Result<std::optional<Request>> LeadRequests::look_up(const LeadCall& call, std::string& request_id) {
  for (int round = 1;; ++round) {
    request_id = request_id_of(call, round);
    auto known = context_.ledger.requests().find(context_.name, {RequestKind::permission, context_.lead, request_id});
    if (!known || !*known) return known;
    if ((*known)->content_hash != hash_of(call))
      return Error{"request.id_reused", "another call was asked about under the id " + request_id};
    if ((*known)->state != RequestState::withdrawn) return known;
  }
}

Result<std::optional<Request>> LeadRequests::find(const LeadCall& call) {
  std::string id;
  return look_up(call, id);
}

Result<Request> LeadRequests::open(const LeadCall& call, const LeadVerdict& verdict) {
  Request request;
  TRY(const auto known, look_up(call, request.request_id));
  if (known) return *known;
  request.asker = context_.lead;
  request.content_hash = hash_of(call);
  request.subject = call.tool;
  request.body = call.input;
  request.state = RequestState::pending;
  request.asked_ms = context_.clock.wall_ms();
  request.deadline_ms = request.asked_ms + handlers::traits_of(request.kind).timeout(context_.config).count();
  request.rule = verdict.rule;
  request.reason = verdict.reason;
  TRY(context_.commit([&](Tx& tx) -> Status {
    tx.log(Event::request_pending, {{"team", context_.name},
                                    {"request_id", request.request_id},
                                    {"type", std::string(handlers::to_string(request.kind))},
                                    {"from", request.asker},
                                    {"subject", handlers::subject_of(request)},
                                    {"old", "received"},
                                    {"new", "pending"},
                                    {"rule", request.rule},
                                    {"reason", request.reason},
                                    {"deadline_ms", std::to_string(request.deadline_ms)}});
    tx.then([&] { requests_.opened(request, call.cwd); });
    return tx.ledger.requests().put(context_.name, request);
  }));
  return request;
}

void LeadRequests::withdraw(const Request& request) {
  const handlers::Answer answer{.event = handlers::RequestEvent::asker_leaves,
                                .by = context_.lead,
                                .reason = "the lead's session no longer waits for it"};
  static_cast<void>(requests_.answer(request, answer, false));  // fails if decided just now, or if the deadline decides
}

Result<std::optional<LeadVerdict>> LeadRequests::decision(const Request& request) {
  if (requests_.find(name_of(request)) != nullptr) return std::optional<LeadVerdict>();
  TRY(const auto known, context_.ledger.requests().find(context_.name, name_of(request)));
  if (!known) return Error{"request.unknown", "request " + request.request_id + " is not in the ledger any more"};
  const Request& decided = *known;
  if (handlers::is_open(decided.state)) return std::optional<LeadVerdict>();
  if (decided.state == RequestState::withdrawn)
    return std::optional(LeadVerdict{config::Action::ask, decided.rule, decided.reason, {}});
  const bool by_rule = decided.decided_by == "rule";
  if (decided.state != RequestState::approved)
    return std::optional(LeadVerdict{
        config::Action::deny, decided.rule, decided.reason, {}, decided.state == RequestState::denied && !by_rule});
  LeadVerdict allowed{config::Action::allow, decided.rule, decided.reason, {}, !by_rule};
  // The row holds another input if the call was approved with one (Requests::decide).
  if (handlers::digest_of({decided.subject, decided.body}) != decided.content_hash)
    allowed.updated_input = decided.body;
  return std::optional(std::move(allowed));
}

}  // namespace inbox_poller::poller
