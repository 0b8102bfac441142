// The verb `judge`: what the rules, or a person where they ask, say about a tool call of the lead's own.
#include <chrono>

#include "handlers/lead_permission.hpp"
#include "poller/control/long_poll.hpp"
#include "poller/control/verbs.hpp"
#include "poller/team/lead_asks.hpp"
#include "schema/operations/rule.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

constexpr std::chrono::seconds decision_look{1};

boost::json::object reply(const LeadVerdict& verdict) {
  operations::Judgement judgement{config::to_string(verdict.decision), verdict.rule, verdict.reason, {}, {}};
  if (verdict.by_person) judgement.by_person = true;
  if (!verdict.updated_input.empty()) judgement.updated_input = verdict.updated_input;
  return done(judgement);
}

}  // namespace

asio::awaitable<boost::json::object> Verbs::judge(TeamPtr team, Object request, SessionPtr session) {
  LeadAsks asks(team->context(), team->asks());
  const bool preview = flag(request, "preview");
  LeadCall call{text(request, "id"), text(request, "tool"), text(request, "input"), text(request, "cwd")};
  if (preview) call.tool += handlers::preview_mark;
  if (const auto problem = LeadAsks::problem_of(call)) co_return refuse(*problem);
  const bool may_wait = flag(request, "wait") && asks.may_open();
  if (preview && !may_wait)
    co_return refuse("request.not_applicable", "the prompts of team " + team->context().name +
                                                   "'s lead are not put before a person here: that needs "
                                                   "`permissions = true` under [lead], and a role that answers asks");
  std::optional<handlers::Ask> ask;
  if (may_wait) {  // asked before, by somebody whose connection broke: the ask stands, or its decision
    auto known = asks.find(call);
    if (!known) co_return refuse(known.error());
    ask = std::move(*known);
  }
  if (!ask) {
    const auto verdict = preview ? Result<LeadVerdict>(LeadAsks::of_preview()) : asks.judge(call);
    if (!verdict) co_return refuse(verdict.error());
    if (verdict->decision != config::Action::ask || !may_wait) co_return reply(*verdict);
    auto opened = asks.open(call, *verdict);
    if (!opened) co_return refuse(opened.error());
    ask = std::move(*opened);
  }
  LongPoll poll(services_, session);
  for (;;) {
    poll.look();
    const auto decided = asks.decision(*ask);
    if (!decided) co_return refuse(decided.error());
    if (*decided && (*decided)->decision != config::Action::ask) co_return reply(**decided);
    if (*decided && !session->closed) {  // withdrawn with another connection
      auto opened = asks.open(call, **decided);
      if (!opened) co_return refuse(opened.error());
      ask = std::move(*opened);
    }
    if (session->closed) {
      asks.withdraw(*ask);
      co_return refuse("control.closed", "nobody waits for the decision any more");
    }
    if (team->retired())
      co_return refuse("team.unknown", "team \"" + team->context().name + "\" is no longer served; its asks are kept");
    co_await poll.next(decision_look);
  }
}

}  // namespace inbox_poller::poller
