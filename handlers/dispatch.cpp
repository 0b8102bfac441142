#include "handlers/dispatch.hpp"

#include <algorithm>

#include "handlers/direction.hpp"
#include "handlers/kinds.hpp"
#include "handlers/permission.hpp"
#include "handlers/plan_approval.hpp"
#include "handlers/request.hpp"
#include "handlers/request_block.hpp"
#include "handlers/request_kind.hpp"
#include "handlers/sandbox.hpp"
#include "handlers/shutdown.hpp"
#include "handlers/status.hpp"
#include "handlers/stop.hpp"
#include "handlers/text.hpp"
#include "handlers/unsent_report.hpp"

namespace inbox_poller::handlers {

namespace {

/// Finds a sender's name in a payload that differs from the envelope's.
struct OtherSender {
  std::string_view sender;  // bare

  using Name = std::optional<std::string_view>;

  // Requests are answered, so their payload must name the sender, and the same sender.
  Name operator()(const schema::PermissionRequest& request) const { return required(request.agent_id); }
  Name operator()(const schema::PlanApprovalRequest& request) const { return required(request.from); }
  Name operator()(const schema::ShutdownRequest& request) const { return required(request.from); }
  Name operator()(const schema::SandboxPermissionRequest& request) const {
    if (request.worker_id.empty()) return required(request.worker_name);
    if (const Name other = required(request.worker_id)) return other;
    return optional(request.worker_name);
  }
  Name operator()(const schema::IdleNotification& idle) const { return optional(idle.from); }
  Name operator()(const schema::TaskCompleted& task) const { return optional(task.from); }
  // Names the assigner, not the sender.
  Name operator()(const schema::TaskAssignment&) const { return std::nullopt; }
  Name operator()(const ShutdownAnswerPayload auto& answer) const { return optional(answer.from); }
  // The direction table refuses these for every claimed sender.
  Name operator()(const NeverObeyedPayload auto&) const { return std::nullopt; }
  Name operator()(const ContentPayload auto&) const { return std::nullopt; }

 private:
  [[nodiscard]] Name required(std::string_view name) const {
    return schema::bare_name(name) == sender ? Name() : Name(name);
  }
  [[nodiscard]] Name optional(std::string_view name) const { return name.empty() ? Name() : required(name); }
};

/// Returns the refusal for the operator. The code tells a sender's fault from a message's.
Refused refusal(const schema::Payload& payload, Side side, std::string_view from, std::string_view reason) {
  const auto told = [&](std::string code, std::string_view why) {
    return Refused{std::move(code),
                   one_line(schema::type_name(payload), 64) + " from " + shown(from) + ": " + std::string(why)};
  };
  if (side == Side::stranger) return told("sender.stranger", reason);
  if (side == Side::lead) return told("sender.own_name", reason);
  if (std::holds_alternative<schema::UnknownPayload>(payload)) return told("payload.unknown", reason);
  if (const auto* bad = std::get_if<schema::MalformedPayload>(&payload))
    return told("payload.malformed", std::string(reason) + "; " + bad->problem);
  return told("direction." + std::string(schema::type_name(payload)), reason);
}

RequestEvent event_of(config::Action action) {
  switch (action) {
    case config::Action::allow: return RequestEvent::rule_allows;
    case config::Action::deny: return RequestEvent::rule_denies;
    case config::Action::ask: return RequestEvent::rule_asks;
  }
  return RequestEvent::rule_denies;
}

Asked left_pending(Request request) {
  request.state = transition(request.state, RequestEvent::rule_asks).value();
  return {std::move(request), {}};
}

Asked decided_at_once(Request request, RequestEvent event, std::string_view by, const TeamView& view) {
  request.state = transition(request.state, event).value();
  request.decided_by = by;
  request.decided_ms = request.asked_ms;
  Post reply = reply_to(request, plain_grant(request, view), view);
  return {std::move(request), {std::move(reply)}};
}

/// Gives a new request its first state.
Outcome first_state(Request request, const config::Verdict& verdict, const TeamView& view, const RequestView& known) {
  request.rule = verdict.rule;
  const bool answers = view.membership.may(Right::answer_by_rule);
  const RequestEvent event = event_of(verdict.action);
  // The worker accepts neither a rule's answer nor a denial at a deadline, so the request has no deadline.
  const bool refused = !known.authority.counts() && is_verified(request.kind, RequestEvent::deadline_passes);
  if (refused && answers && known.pending_of_asker >= view.config.limits.pending_per_worker) {
    return Refused{"limit.requests", std::string(to_string(request.kind)) + " request " + request.request_id +
                                         " from " + shown(request.asker) + ": " +
                                         std::to_string(known.pending_of_asker) +
                                         " of its requests already wait (limits.pending_per_worker), and " +
                                         verifies(request.asker, known.authority)};
  }
  if (!answers || refused || !known.why_leads.empty()) {
    request.reason = "the rules say " + std::string(to_string(verdict.action)) + ": " + one_line(verdict.reason, 300);
    if (refused && answers) request.reason += "; " + verifies(request.asker, known.authority);
    if (!known.why_leads.empty()) request.reason += "; " + std::string(known.why_leads);
    return left_pending(std::move(request));
  }
  request.reason = reason_of(verdict);
  if (event != RequestEvent::rule_asks) return decided_at_once(std::move(request), event, "rule", view);
  if (!view.membership.may(Right::answer_by_time)) return left_pending(std::move(request));
  if (known.pending_of_asker >= view.config.limits.pending_per_worker) {
    request.rule = "limits.pending_per_worker";
    request.reason = "Denied because " + std::to_string(known.pending_of_asker) +
                     " of your requests already wait for an answer. Wait for those before you ask for more.";
    return decided_at_once(std::move(request), RequestEvent::rule_denies, "limit", view);
  }
  request.deadline_ms = request.asked_ms + traits_of(request.kind).timeout(view.config).count();
  return left_pending(std::move(request));
}

/// The outcome of a message that its sender may send.
struct ByType {
  const Incoming& incoming;
  std::string_view sender;  // bare
  Side side;
  const schema::Payload& payload;
  const TeamView& view;
  const RequestView& known;

  Outcome operator()(const schema::PlainText&) const { return ToLead{}; }

  Outcome operator()(const schema::UnknownPayload& unknown) const {
    if (is_type_of_ours(unknown.type) || unknown.type == unsent_type)
      return refusal(payload, side, sender, "the lead gets messages of this type from its own program only");
    if (view.config.delivery.unknown == config::UnknownPolicy::deliver) return ToLead{};
    return refusal(payload, side, sender, "the type is unknown, and the configuration says to hold such messages");
  }

  Outcome operator()(const StatusPayload auto& report) const {
    WorkerStatus status = status_of(report, view.config.delivery);
    // Clients repeat reports; the lead gets one failure once, unless it wants every report.
    const bool again = status.state == known.last_state && status.detail == known.last_detail;
    if (again && view.config.delivery.idle != config::IdlePolicy::all) status.to_lead = false;
    return status;
  }

  Outcome operator()(const RequestPayload auto& asked) const {
    Request request = draft_of(asked);
    if (request.kind == RequestKind::stop && !view.membership.may(Right::decide_wish))
      return refusal(payload, side, sender, "its lead decides whether it stops");
    if (known.same_id) return same_id_again(std::move(request));
    request.asker = sender;
    request.asked_ms = incoming.now_ms;
    const auto* member = view.roster.find(request.asker);
    request.joined_ms = incoming.joined_ms == 0 && member != nullptr ? member->joined_at_ms : incoming.joined_ms;
    request.message = incoming.key;
    return first_state(std::move(request), judge(asked, sender, view, known), view, known);
  }

  Outcome operator()(const ShutdownAnswerPayload auto& answer) const {
    return answer_shutdown(answer, incoming, known.shutdown);
  }

  // The direction table refuses these from every side; this is the second check.
  Outcome operator()(const NeverObeyedPayload auto&) const { return not_for_us(); }
  Outcome operator()(const schema::MalformedPayload&) const { return not_for_us(); }

 private:
  [[nodiscard]] Refused not_for_us() const {
    return refusal(payload, side, sender, "this may not be sent to the lead");
  }
  /// Another request with a used id: an answer could not tell the two apart, so the new one is denied.
  [[nodiscard]] Outcome same_id_again(Request request) const {
    const Request& first = *known.same_id;
    if (first.content_hash == request.content_hash) return AskedAgain{};
    Refused refused{"request.id_reused", std::string(to_string(request.kind)) + " request " + request.request_id + " from " +
                                             shown(sender) + ": it used this id at " + schema::iso_timestamp(first.asked_ms) +
                                             " for another request, which is " + std::string(to_string(first.state)) +
                                             "; an answer could not tell the two apart"};
    if (!view.membership.may(Right::answer_by_rule) || !known.authority.counts()) return refused;
    request.asker = sender;
    request.asked_ms = request.decided_ms = incoming.now_ms;
    request.state = transition(request.state, RequestEvent::rule_denies).value();
    request.reason = "Denied because you used the request id \"" + request.request_id +
                     "\" before, for another request. Ask again with an id that you have not used.";
    refused.reason +=
        is_open(first.state) ? ", so it was denied, and the first one is withdrawn" : ", so it was denied";
    refused.posts.push_back(reply_to(request, plain_grant(request, view), view));
    if (request.kind == RequestKind::sandbox)
      refused.posts.push_back(note_to(request, request.reason, view));  // no text
    return refused;
  }
};

}  // namespace

std::optional<std::string> shutdown_of(const schema::Payload& payload) {
  const auto id = [](const auto& any) -> std::optional<std::string> {
    if constexpr (ShutdownAnswerPayload<std::remove_cvref_t<decltype(any)>>)
      return any.request_id;
    else
      return std::nullopt;
  };
  return std::visit(id, payload);
}

std::optional<RequestRef> request_of(const schema::Payload& payload) {
  const auto reference = [](const auto& any) -> std::optional<RequestRef> {
    if constexpr (!RequestPayload<std::remove_cvref_t<decltype(any)>>)
      return std::nullopt;
    else {
      Request request = draft_of(any);
      return RequestRef{request.kind, std::move(request.request_id), std::move(request.content_hash)};
    }
  };
  return std::visit(reference, payload);
}

Outcome dispatch(const Incoming& incoming, const schema::Payload& payload, const TeamView& view,
                 const RequestView& known) {
  const std::string_view from = incoming.message.from;
  const std::string_view sender = schema::bare_name(from);
  const Side side = side_of(from, view);
  const Direction direction = direction_of(payload, side, incoming.place);
  if (side == Side::stranger) {
    const auto& unreachable = view.roster.unreachable;
    const auto lost =
        std::find_if(unreachable.begin(), unreachable.end(), [&](const auto& member) { return member.name == sender; });
    if (lost == unreachable.end()) return refusal(payload, side, from, direction.reason);
    return refusal(payload, side, from, "it is in the roster, but cannot be answered: " + lost->reason);
  }
  if (const auto other = std::visit(OtherSender{sender}, payload)) {
    return Refused{"sender.disagrees", std::string(schema::type_name(payload)) + ": the envelope is from " +
                                           shown(from) + ", the message inside says " + shown(*other)};
  }
  switch (direction.passage) {
    case Passage::request:
    case Passage::answer:
    case Passage::status:
    case Passage::chat:
    case Passage::unknown: break;
    case Passage::refuse: return refusal(payload, side, from, direction.reason);
    case Passage::verdict:
    case Passage::order:
    case Passage::private_talk: return refusal(payload, side, from, "this is a worker's own; nothing in it is for us");
  }
  return std::visit(ByType{incoming, sender, side, payload, view, known}, payload);
}

}  // namespace inbox_poller::handlers
