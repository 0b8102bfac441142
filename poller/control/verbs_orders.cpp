// The verbs by which the lead side starts something itself: shutdowns, modes, rules.
#include <algorithm>
#include <chrono>

#include "poller/control/request.hpp"
#include "poller/control/verbs.hpp"
#include "poller/control/views.hpp"
#include "schema/printable.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

constexpr long long longest_wait_ms = 7LL * 24 * 60 * 60 * 1000;

std::vector<std::string> workers_of(Team& team) {
  std::vector<std::string> names;
  for (const auto& member : team.context().roster.members)
    if (member.name != team.context().lead) names.push_back(member.name);
  return names;
}

/// Selects the workers of a request: `member`, or all.
template <class Request>
Result<std::vector<std::string>> members_of(const Request& request, Team& team) {
  if (request.member.empty() == request.all) return request.all ? workers_of(team) : std::vector{request.member};
  return Error{"request.invalid", "say which worker with `member`, or `all`: true for every one of them"};
}

/// Parses an optional duration of a request.
Status read_span(std::string_view name, std::optional<long long> ms, std::optional<config::Duration>& span) {
  if (!ms) return Done{};
  if (*ms < 0 || *ms > longest_wait_ms)
    return Error{"request.invalid", "`" + std::string(name) + "` must be between 0 and seven days"};
  span = std::chrono::milliseconds(*ms);
  return Done{};
}

template <class Rule>
void add_rules(std::vector<operations::Rule>& list, std::string_view kind, const config::RuleSet<Rule>& rules) {
  for (const auto& rule : rules.deny) list.push_back({kind, "deny", rule.text});
  for (const auto& rule : rules.ask) list.push_back({kind, "ask", rule.text});
  for (const auto& rule : rules.allow) list.push_back({kind, "allow", rule.text});
}

}  // namespace

asio::awaitable<Result<operations::ShutdownsBegun>> Verbs::shut_down(TeamPtr team, arguments::Shutdown request,
                                                                     SessionPtr) {
  CO_TRY(const auto members, members_of(request, *team));
  Shutdowns::Order order;
  order.by = request.by;
  order.reason = request.reason;
  order.force = request.force;
  CO_TRY(read_span("remind_after_ms", request.remind_after_ms, order.remind_after));
  CO_TRY(read_span("force_after_ms", request.force_after_ms, order.force_after));
  operations::ShutdownsBegun begun;
  for (const auto& member : members) {
    order.member = member;
    const auto outcome = co_await team->shutdowns().request(order);
    if (const auto* shutdown = outcome ? std::get_if<handlers::Shutdown>(&*outcome) : nullptr) {
      begun.shutdowns.push_back(shutdown_view(team->context().name, *shutdown));
      continue;
    }
    const Error why = outcome ? error_of(std::get<handlers::NotTaken>(*outcome)) : outcome.error();
    if (!request.all) co_return why;
    begun.refused.push_back({member, why.code, why.message});
  }
  team->wake();
  co_return begun;
}

Result<operations::Shutdowns> Verbs::shutdowns(const arguments::Shutdowns& request) {
  const auto& id = request.id;
  const auto& wanted = request.team;
  const int limit = limit_of(request);
  std::vector<std::pair<std::string, handlers::Shutdown>> found;
  if (!id.empty()) {
    TRY(found, services_.ledger.shutdowns().by_id(id));
    std::erase_if(found, [&](const auto& one) { return !wanted.empty() && one.first != wanted; });
    if (found.empty())
      return Error{"request.unknown", "no shutdown with the id \"" + id +
                                          "\" was ever requested; `inbox-poller shutdowns` shows the latest ones"};
  } else {
    for (const auto& team : all_served(wanted)) {
      const auto& name = team->context().name;
      TRY(auto rows, services_.ledger.shutdowns().latest(name, limit));
      for (auto& row : rows) found.emplace_back(name, std::move(row));
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.second.requested_ms > b.second.requested_ms; });
  }
  operations::Shutdowns list;
  for (const auto& [team, shutdown] : found)
    if (list.shutdowns.size() < static_cast<std::size_t>(limit)) list.shutdowns.push_back(shutdown_view(team, shutdown));
  return list;
}

Result<operations::ModesSent> Verbs::mode(Team& team, const arguments::Mode& request) {
  const auto mode = schema::parse<config::PermissionMode>(request.mode);
  if (!mode) return no_such_mode(request.mode);
  TRY(const auto members, members_of(request, team));
  TRY(const auto rows, team.orders().set_mode(members, *mode, request.by));
  team.wake();
  operations::ModesSent modes;
  for (const auto& row : rows) modes.sent.push_back({row.member, row.subject});
  return modes;
}

Result<operations::Assigned> Verbs::assign(Team& team, const arguments::Assign& request) {
  TRY(const auto task, team.assign(request.task, request.member, request.by));
  return operations::Assigned{task.id, schema::printable(task.subject), request.member};
}

Result<operations::Allowed> Verbs::allow(Team& team, const arguments::Allow& request) {
  // Beside another lead our rules hold for us only; that lead talks to its workers.
  const auto audience =
      team.context().membership.may(handlers::Right::order) ? Orders::Audience::workers : Orders::Audience::us;
  TRY(const auto allowed, team.orders().allow(request.rule, request.directory, request.by, audience));
  operations::Allowed view{.rule = allowed.rule.rule,
                           .is_new = allowed.is_new,
                           .told = operations::texts_of(allowed.told),
                           .not_told = allowed.not_told,
                           .answered = {},
                           .role = to_string(team.context().membership.role)};
  for (const auto& one : team.requests().judge_again()) view.answered.push_back(ruled_view(team.context().name, one));
  team.wake();
  return view;
}

Result<operations::Revoked> Verbs::revoke(Team& team, const arguments::Revoke& request) {
  TRY(const auto revoked, team.orders().revoke(request.rule, request.by));
  return operations::Revoked{revoked.rule, operations::texts_of(team.orders().told(revoked.id))};
}

Result<operations::Rules> Verbs::rules(Team& team, const arguments::Rules&) {
  const auto& context = team.context();
  operations::Rules view{context.name, {}, {}, context.config.source};
  add_rules(view.configured, "permission", context.config.permissions.rules);
  add_rules(view.configured, "host", context.config.sandbox.hosts);
  for (const auto& rule : context.rules.of_session()) {
    view.session.push_back({rule_view(rule), operations::texts_of(team.orders().told(rule.id)), {}});
    if (rule.kind == handlers::RuleKind::team) view.session.back().not_told = team.orders().why_not_told(rule.rule);
  }
  return view;
}

Result<operations::Resumed> Verbs::resume(Team& team, const arguments::Resume&) {
  TRY(team.resume());
  return operations::Resumed{team.context().name, to_string(team.context().membership.role)};
}

}  // namespace inbox_poller::poller
