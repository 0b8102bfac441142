// The second half of dispatch.hpp: the effect of an answer on an open request.
#include <algorithm>
#include <array>
#include <chrono>

#include "handlers/dispatch.hpp"
#include "handlers/permission.hpp"
#include "handlers/request.hpp"
#include "handlers/request_route.hpp"
#include "schema/secrets.hpp"

namespace inbox_poller::handlers {

namespace {

/// Values of `decided_by` that mean no person.
constexpr std::array<std::string_view, 6> not_names{"rule", "hook", "deadline", "limit", "roster", "shutdown"};

std::string named(const Request& request) {
  return std::string(to_string(request.kind)) + " request " + request.request_id + " of " + request.asker;
}

NotTaken too_late(const Request& request, RequestEvent event) {
  if (is_open(request.state))
    return {"request.not_applicable", named(request) + " is " + std::string(to_string(request.state)) + "; " +
                                          std::string(to_string(event)) + " does not apply to it now"};
  std::string state(to_string(request.state));
  std::replace(state.begin(), state.end(), '_', ' ');
  std::string reason = named(request) + " is already " + state;
  if (!request.decided_by.empty()) reason += " by " + request.decided_by;
  if (request.decided_by == "rule" && !request.rule.empty()) reason += " " + request.rule;
  return {"request.already_decided", reason + " since " + schema::iso_timestamp(request.decided_ms)};
}

/// Returns why the role forbids the answer. An observer records what others did and writes nothing to the team.
std::optional<NotTaken> no_say(const Request& request, RequestEvent event, const TeamView& view) {
  const bool done_by_others = event == RequestEvent::asker_leaves || event == RequestEvent::answered_by_other;
  if (const std::string why = done_by_others ? "" : why_left_to_lead(request.kind, view); !why.empty())
    return NotTaken{"role.not_leader", named(request) + " is for the lead of " + std::string(view.team) + " to answer: " + why};
  if (event == RequestEvent::deadline_passes && request.deadline_ms == 0)
    return NotTaken{"request.not_applicable", named(request) + " does not have a deadline of InboxPoller"};
  return std::nullopt;
}

/// Returns why the lead may not answer this request. The name is the answer's own claim, so this check stops mistakes
/// only.
std::optional<NotTaken> no_business(const Request& request, const Answer& answer, const TeamView& view) {
  const bool answers = answer.event == RequestEvent::person_approves || answer.event == RequestEvent::person_denies;
  if (answers && std::ranges::find(not_names, answer.by) != not_names.end())
    return NotTaken{"answer.misplaced",
                    "\"" + answer.by + "\" is no person's name in the record; give another one with --by"};
  if (!answers || answer.by != view.lead || asks_lead(request, view)) return std::nullopt;
  return NotTaken{"answer.not_asked",
                  named(request) + (request.asker == view.lead
                                        ? " is the lead's own prompt; a person answers it"
                                        : " is for a person to answer, not for the lead (approver = \"person\" in " +
                                              view.config.source + ")")};
}

/// Returns why the worker would refuse the answer, which would make its request fail.
std::optional<NotTaken> no_use(const Request& request, RequestEvent event, const AnswerAuthority& authority) {
  if (authority.counts() || !is_verified(request.kind, event)) return std::nullopt;
  return NotTaken{"worker.verifies_lead", named(request) +
                                              " is not answered from here: " + verifies(request.asker, authority) +
                                              ". " + answered_instead(request.asker)};
}

/// Returns why the answer cannot be carried out; called before anything changes.
std::optional<NotTaken> objection(const Request& request, const Answer& answer, const TeamView& view) {
  const bool approves = answer.event == RequestEvent::person_approves;
  const char* const misplaced = "answer.misplaced";
  const bool approves_tool =
      (approves || answer.event == RequestEvent::rule_allows) && request.kind == RequestKind::permission;
  if (!answer.updated_input.empty() && !approves_tool)
    return NotTaken{misplaced, "another input can only be given with the approval of a permission request"};
  if (approves_tool && !is_sendable_input(answer.updated_input.empty() ? request.body : answer.updated_input))
    return NotTaken{"permission.bad_input",
                    "the input for " + request.subject + " must be one well-formed JSON object"};
  if (answer.mode && !(approves && request.kind == RequestKind::plan)) {
    return NotTaken{misplaced, "a mode can only be given with the approval of a plan"};
  }
  if (answer.mode && *answer.mode > view.config.plans.ceiling) {
    return NotTaken{"plan.mode_above_ceiling", "the mode " + std::string(config::to_string(*answer.mode)) +
                                                   " is wider than plans.ceiling, which is " +
                                                   std::string(config::to_string(view.config.plans.ceiling))};
  }
  return std::nullopt;
}

std::string in_words(std::chrono::milliseconds span) {
  const auto count = span.count();
  const auto unit = [&](long long size, std::string_view name) {
    return std::to_string(count / size) + " " + std::string(name) + (count == size ? "" : "s");
  };
  if (count >= 60'000 && count % 60'000 == 0) return unit(60'000, "minute");
  if (count >= 1'000 && count % 1'000 == 0) return unit(1'000, "second");
  return unit(1, "millisecond");
}

/// Returns the reason for the record and the denied worker. Never empty for a denial: clients ignore an empty text.
std::string reason_given(const Request& request, const Answer& answer) {
  if (answer.event == RequestEvent::deadline_passes)
    return "Denied because no answer came within " +
           in_words(std::chrono::milliseconds(request.deadline_ms - request.asked_ms)) + ".";
  if (answer.event == RequestEvent::person_denies && answer.reason.empty())
    return "Denied by " + answer.by + "; no reason was given.";
  if (answer.updated_input.empty()) return answer.reason;
  return answer.reason + (answer.reason.empty() ? "" : "; ") +
         "allowed with another input: " + schema::mask_secrets(answer.updated_input);
}

/// Returns true if the answer has no field for a person's words.
bool needs_note(const Request& decided, const Answer& answer) {
  if (answer.reason.empty()) return false;
  return answer.event == RequestEvent::person_approves ||
         (answer.event == RequestEvent::person_denies && decided.kind == RequestKind::sandbox);
}

std::vector<Post> posts_of(const Request& decided, const Answer& answer, const TeamView& view) {
  // Withdrawn or answered elsewhere: no worker waits for an answer.
  const bool is_answer = decided.state == RequestState::approved || decided.state == RequestState::denied ||
                         decided.state == RequestState::expired;
  if (!is_answer) return {};
  // The lead's prompt waits for the decision itself, not for a message.
  if (decided.asker == view.lead) return {};
  std::vector<Post> posts;
  Grant grant = plain_grant(decided, view);
  if (!answer.updated_input.empty()) grant.input = answer.updated_input;
  if (answer.mode) grant.mode = *answer.mode;
  const bool is_granted_stop = decided.kind == RequestKind::stop && decided.state == RequestState::approved;
  if (!is_granted_stop) posts.emplace_back(reply_to(decided, grant, view));
  if (needs_note(decided, answer)) posts.emplace_back(note_to(decided, answer.reason, view));
  return posts;
}

}  // namespace

std::string why_left_to_lead(RequestKind kind, const TeamView& view) {
  if (!view.membership.may(Right::answer))
    return "here the role is observer; change team.role and run `inbox-poller reload`";
  if (kind == RequestKind::stop && !view.membership.may(Right::decide_wish))
    return "only the lead ends its workers (team.role)";
  return {};
}

std::variant<Decided, NotTaken> decide(const Request& request, const Answer& answer, const TeamView& view,
                                       EpochMs now_ms, const AnswerAuthority& authority) {
  const auto next = transition(request.state, answer.event);
  if (!next) return too_late(request, answer.event);
  if (auto problem = no_say(request, answer.event, view)) return *std::move(problem);
  if (auto problem = no_business(request, answer, view)) return *std::move(problem);
  if (auto problem = no_use(request, answer.event, authority)) return *std::move(problem);
  if (auto problem = objection(request, answer, view)) return *std::move(problem);
  Request decided = request;
  decided.state = *next;
  decided.decided_ms = now_ms;
  decided.decided_by = answer.event == RequestEvent::deadline_passes ? "deadline" : answer.by;
  decided.reason = reason_given(request, answer);
  std::vector<Post> posts = posts_of(decided, answer, view);
  return Decided{std::move(decided), std::move(posts)};
}

}  // namespace inbox_poller::handlers
