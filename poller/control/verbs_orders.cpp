// The verbs by which the lead's side begins something itself: shutdowns, modes, rules.
#include <algorithm>
#include <chrono>

#include "poller/control/request.hpp"
#include "poller/control/verbs.hpp"
#include "poller/control/views.hpp"
#include "schema/operations/order.hpp"
#include "schema/printable.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

constexpr long long longest_wait_ms = 7LL * 24 * 60 * 60 * 1000;

std::vector<std::string> workers_of(Team& team) {
  std::vector<std::string> names;
  for (const auto& member : team.context().roster.members)
    if (member.name != team.context().lead) names.push_back(member.name);
  return names;
}

/// Whom a request is about: `member`, or all workers. Fills `problem` when it does not say.
std::vector<std::string> members_of(const json::object& request, Team& team, json::object& problem) {
  const auto member = text(request, "member");
  const bool all = flag(request, "all");
  if (member.empty() == all) return all ? workers_of(team) : std::vector{member};
  problem = refuse("request.invalid", "say which worker with `member`, or `all`: true for every one of them");
  return {};
}

template <class Rule>
void add_rules(std::vector<operations::Rule>& list, std::string_view kind, const config::RuleSet<Rule>& rules) {
  for (const auto& rule : rules.deny) list.push_back({kind, "deny", rule.text});
  for (const auto& rule : rules.ask) list.push_back({kind, "ask", rule.text});
  for (const auto& rule : rules.allow) list.push_back({kind, "allow", rule.text});
}

}  // namespace

asio::awaitable<json::object> Verbs::shut_down(TeamPtr team, Object request, SessionPtr) {
  Object problem;
  const auto members = members_of(request, *team, problem);
  if (!problem.empty()) co_return problem;
  Shutdowns::Order order;
  order.by = text(request, "by");
  order.reason = text(request, "reason");
  order.force = flag(request, "force");
  for (const auto& [name, field] :
       {std::pair{"nudge_after_ms", &order.nudge_after}, std::pair{"force_after_ms", &order.force_after}}) {
    const auto ms = number(request, name);
    if (!ms) continue;
    if (*ms < 0 || *ms > longest_wait_ms)
      co_return refuse("request.invalid", std::string("`") + name + "` must be between 0 and seven days");
    *field = std::chrono::milliseconds(*ms);
  }
  operations::ShutdownsBegun begun;
  for (const auto& member : members) {
    order.member = member;
    const auto outcome = co_await team->shutdowns().request(order);
    if (const auto* shutdown = outcome ? std::get_if<handlers::Shutdown>(&*outcome) : nullptr) {
      begun.shutdowns.push_back(shutdown_view(team->context().name, *shutdown));
      continue;
    }
    const Error why = outcome ? error_of(std::get<handlers::NotTaken>(*outcome)) : outcome.error();
    if (!flag(request, "all")) co_return refuse(why);
    begun.refused.push_back({member, why.code, why.message});
  }
  team->poke();
  co_return done(begun);
}

json::object Verbs::shutdowns(const Object& request) {
  const auto id = text(request, "id");
  const auto wanted = text(request, "team");
  const int limit = limit_of(request);
  std::vector<std::pair<std::string, handlers::Shutdown>> found;
  if (!id.empty()) {
    auto rows = services_.ledger.shutdowns().by_id(id);
    if (!rows) return refuse(rows.error());
    found = *std::move(rows);
    std::erase_if(found, [&](const auto& one) { return !wanted.empty() && one.first != wanted; });
    if (found.empty())
      return refuse("request.unknown", "no shutdown with the id \"" + id +
                                           "\" was ever requested; `inbox-poller shutdowns` shows the latest ones");
  } else {
    for (const auto& team : all_served(wanted)) {
      const auto& name = team->context().name;
      auto rows = services_.ledger.shutdowns().latest(name, limit);
      if (!rows) return refuse(rows.error());
      for (auto& row : *rows) found.emplace_back(name, std::move(row));
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.second.requested_ms > b.second.requested_ms; });
  }
  operations::Shutdowns list;
  for (const auto& [team, shutdown] : found)
    if (list.shutdowns.size() < static_cast<std::size_t>(limit)) list.shutdowns.push_back(shutdown_view(team, shutdown));
  return done(list);
}

json::object Verbs::mode(Team& team, const Object& request) {
  const auto name = text(request, "mode");
  const auto mode = schema::parse<config::PermissionMode>(name);
  if (!mode) return no_such_mode(name);
  Object problem;
  const auto members = members_of(request, team, problem);
  if (!problem.empty()) return problem;
  const auto rows = team.orders().set_mode(members, *mode, text(request, "by"));
  if (!rows) return refuse(rows.error());
  team.poke();
  operations::ModesSent modes;
  for (const auto& row : *rows) modes.sent.push_back({row.member, row.subject});
  return done(modes);
}

json::object Verbs::assign(Team& team, const Object& request) {
  const auto to = text(request, "member");
  const auto task = team.assign(text(request, "task"), to, text(request, "by"));
  if (!task) return refuse(task.error());
  return done(operations::Assigned{task->id, schema::printable(task->subject), to});
}

json::object Verbs::allow(Team& team, const Object& request) {
  // In front of another lead our rules hold for us; what its workers are told is that lead's.
  const auto audience =
      team.context().standing.may(handlers::Right::order) ? Orders::Audience::workers : Orders::Audience::us;
  const auto allowed =
      team.orders().allow(text(request, "rule"), text(request, "directory"), text(request, "by"), audience);
  if (!allowed) return refuse(allowed.error());
  operations::Allowed view{.rule = allowed->rule.rule,
                           .is_new = allowed->is_new,
                           .told = operations::texts_of(allowed->told),
                           .not_told = allowed->not_told,
                           .answered = {},
                           .role = to_string(team.context().standing.stance)};
  for (const auto& ask : team.asks().judge_again()) view.answered.push_back(ruled_view(team.context().name, ask));
  team.poke();
  return done(view);
}

json::object Verbs::revoke(Team& team, const Object& request) {
  const auto revoked = team.orders().revoke(text(request, "rule"), text(request, "by"));
  if (!revoked) return refuse(revoked.error());
  return done(operations::Revoked{revoked->rule, operations::texts_of(team.orders().told(revoked->id))});
}

json::object Verbs::rules(Team& team, const Object&) {
  const auto& context = team.context();
  operations::Rules view{context.name, {}, {}, context.config.source};
  add_rules(view.configured, "permission", context.config.permissions.rules);
  add_rules(view.configured, "host", context.config.sandbox.hosts);
  for (const auto& rule : context.rules.of_session()) {
    view.session.push_back({rule_view(rule), operations::texts_of(team.orders().told(rule.id)), {}});
    if (rule.kind == "team") view.session.back().not_told = team.orders().why_not_told(rule.rule);
  }
  return done(view);
}

json::object Verbs::resume(Team& team, const Object&) {
  if (auto resumed = team.resume(); !resumed) return refuse(resumed.error());
  return done(operations::Resumed{team.context().name, to_string(team.context().standing.stance)});
}

}  // namespace inbox_poller::poller
