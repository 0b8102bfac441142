// The verbs `which`, `approve` and `deny`: resolve request ids, and record a person's answer.
#include <set>
#include <utility>

#include "handlers/like.hpp"
#include "handlers/subject.hpp"
#include "poller/control/request.hpp"
#include "poller/control/request_finder.hpp"
#include "poller/control/verbs.hpp"
#include "poller/control/views.hpp"

namespace inbox_poller::poller {
namespace {

RequestFinder::Of conditions_of(const arguments::Verdict& request) {
  return {request.team, request.kind.bytes, request.message_key, request.shown};
}

operations::Outcome outcome_of(std::string_view team, const handlers::Request& request) {
  operations::Outcome outcome;
  outcome.team = team;
  outcome.kind = to_string(request.kind);
  outcome.request_id = request.request_id;
  outcome.member = request.asker;
  return outcome;
}

operations::Outcome refused(std::string_view team, const handlers::Request& request, std::string_view code, std::string message) {
  auto outcome = outcome_of(team, request);
  outcome.code = code;
  outcome.message = std::move(message);
  return outcome;
}

operations::Outcome applied_view(const std::string& team, const Requests::Applied& taken) {
  auto outcome = outcome_of(team, taken.request);
  outcome.ok = true;
  outcome.state = to_string(taken.request.state);
  outcome.subject = handlers::subject_of(taken.request);
  if (!taken.rule_added.empty()) outcome.rule_added = taken.rule_added;
  return outcome;
}

}  // namespace

Result<RequestFinder::Found> Verbs::open_request(RequestFinder& finder, const std::string& id) const {
  TRY(auto found, finder.find(id));
  const auto& request = found.second;
  if (!served(found.first) || !handlers::is_open(request.state))
    return Error{"request.already_decided", std::string(to_string(request.kind)) + " request " + request.request_id +
                                                " of " + request.asker + " is not open any more: nothing was answered"};
  return found;
}

Result<operations::Meant> Verbs::resolve(const arguments::Resolve& request) {
  RequestFinder finder(all_served(), services_.ledger, services_.clock.wall_ms(), {request.team, request.kind.bytes, {}, false});
  operations::Meant meant;
  if (!request.like.empty()) {
    TRY(const auto like, finder.find(request.like));
    const auto team = served(like.first);
    if (!team) return Error{"team.unknown", "team \"" + like.first + "\" is not served now"};
    const auto view = team->context().view();
    const auto made = handlers::rule_like(like.second, view);
    if (const auto* none = std::get_if<handlers::NotTaken>(&made)) return error_of(*none);
    const auto& rule = std::get<handlers::NewRule>(made);
    for (const auto* one : team->requests().shown())
      if (one->kind == like.second.kind && handlers::covers(rule, *one, team->requests().folder_of(*one), view))
        meant.requests.push_back(open_request_view(*team, *one));
    meant.rule = rule.text;
    return meant;
  }
  if (request.ids.empty()) return Error{"request.invalid", "`ids` must be a list, or `like` an id"};
  std::set<std::pair<std::string, handlers::RequestName>> taken;  // removes repeated names
  for (const auto& id : request.ids) {
    TRY(const auto found, open_request(finder, id));
    const auto& [name, one] = found;
    if (taken.emplace(name, name_of(one)).second) meant.requests.push_back(open_request_view(*served(name), one));
  }
  return meant;
}

Result<operations::Outcomes> Verbs::approve(const arguments::Approve& request) {
  handlers::Answer answer{.event = handlers::RequestEvent::person_approves,
                          .by = request.by,
                          .reason = request.note,
                          .updated_input = request.input};
  if (!request.mode.empty()) {
    answer.mode = schema::parse<config::PermissionMode>(request.mode);
    if (!answer.mode) return no_such_mode(request.mode);
  }
  return this->answer(request, answer, request.always);
}

Result<operations::Outcomes> Verbs::deny(const arguments::Deny& request) {
  const handlers::Answer answer{.event = handlers::RequestEvent::person_denies,
                                .by = request.by,
                                .reason = request.reason};
  return this->answer(request, answer, false);
}

Result<operations::Outcomes> Verbs::answer(const arguments::Verdict& request, const handlers::Answer& answer,
                                           bool always) {
  // If one of several ids is uncertain, nothing is answered. Requests given as shown have separate outcomes.
  const auto of = conditions_of(request);
  const bool all_or_none = request.ids.size() > 1 && !of.shown;
  RequestFinder finder(all_served(), services_.ledger, services_.clock.wall_ms(), of);
  operations::Outcomes reply;
  auto& answers = reply.answers;
  std::vector<Requests::Wanted> wanted;
  std::vector<TeamPtr> teams;
  std::vector<std::size_t> places;  // positions of the answered requests in the result
  std::set<std::pair<std::string, handlers::RequestName>> named;
  for (const auto& id : request.ids) {
    auto found = all_or_none ? open_request(finder, id) : finder.find(id);
    if (!found && !of.shown) return found.error();
    if (!found) {
      auto& outcome = answers.emplace_back();
      outcome.code = found.error().code;
      outcome.message = found.error().message;
      outcome.request_id = id;
      continue;
    }
    auto& [name, one] = *found;
    if (!named.emplace(name, name_of(one)).second) continue;
    const auto team = served(name);
    answers.push_back(refused(name, one, "team.unknown",
                              "team \"" + name + "\" is not served now, so its worker cannot be answered"));
    if (!team) continue;
    teams.push_back(team);
    places.push_back(answers.size() - 1);
    wanted.push_back({&team->requests(), std::move(one), answer, always});
  }
  const auto outcomes = Requests::answer_all(services_.ledger, wanted);
  std::set<TeamPtr> ruled;  // teams with a new rule
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    auto& place = answers[places[i]];
    const auto& name = teams[i]->context().name;
    if (const auto* no = std::get_if<Requests::Refusal>(&outcomes[i])) {
      place = refused(name, wanted[i].request, no->code, no->reason);
      continue;
    }
    const auto& taken = std::get<Requests::Applied>(outcomes[i]);
    place = applied_view(name, taken);
    if (!taken.rule_added.empty()) ruled.insert(teams[i]);
    teams[i]->wake();
  }
  if (!ruled.empty()) reply.answered.emplace();
  for (const auto& team : ruled)
    for (const auto& one : team->requests().judge_again())
      reply.answered->push_back(ruled_view(team->context().name, one));
  return reply;
}

}  // namespace inbox_poller::poller
