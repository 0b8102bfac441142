// The verb `judge`: returns the verdict of the rules, or of a person, on a tool call of the lead's own.
#include <chrono>

#include "handlers/lead_permission.hpp"
#include "poller/control/long_poll.hpp"
#include "poller/control/verbs.hpp"
#include "poller/team/lead_requests.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

constexpr std::chrono::seconds decision_look{1};

operations::Judgment reply(const LeadVerdict& verdict) {
  operations::Judgment judgment{config::to_string(verdict.decision), verdict.rule, verdict.reason, {}, {}};
  if (verdict.by_person) judgment.by_person = true;
  if (!verdict.updated_input.empty()) judgment.updated_input = verdict.updated_input;
  return judgment;
}

}  // namespace

asio::awaitable<Result<operations::Judgment>> Verbs::evaluate(TeamPtr team, arguments::Evaluate request, SessionPtr session) {
  LeadRequests requests(team->context(), team->requests());
  LeadCall call{request.id, request.tool, request.input, request.cwd};
  if (request.preview) call.tool += handlers::preview_mark;
  if (const auto problem = LeadRequests::problem_of(call)) co_return *problem;
  const bool may_wait = request.wait && requests.may_open();
  if (request.preview && !may_wait)
    co_return Error{"request.not_applicable", "the prompts of team " + team->context().name +
                                                   "'s lead are not put before a person here: that needs "
                                                   "`permissions = true` under [lead], and a role that answers requests"};
  std::optional<handlers::Request> opened;
  if (may_wait) {  // an earlier connection may have asked and broken; then the request or its decision exists
    CO_TRY(opened, requests.find(call));
  }
  if (!opened) {
    CO_TRY(const auto verdict,
           request.preview ? Result<LeadVerdict>(LeadRequests::of_preview()) : requests.judge(call));
    if (verdict.decision != config::Action::ask || !may_wait) co_return reply(verdict);
    CO_TRY(opened, requests.open(call, verdict));
  }
  LongPoll poll(services_, session);
  for (;;) {
    poll.look();
    CO_TRY(const auto decided, requests.decision(*opened));
    if (decided && decided->decision != config::Action::ask) co_return reply(*decided);
    if (decided && !session->closed) {  // withdrawn by another connection
      CO_TRY(opened, requests.open(call, *decided));
    }
    if (session->closed) {
      requests.withdraw(*opened);
      co_return Error{"control.closed", "the caller stopped waiting for the decision"};
    }
    if (team->retired())
      co_return Error{"team.unknown",
                      "team \"" + team->context().name + "\" is not served any more; its requests are kept"};
    co_await poll.next(decision_look);
  }
}

}  // namespace inbox_poller::poller
