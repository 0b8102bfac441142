#include "poller/team/remote_termination.hpp"

#include <utility>

#include "handlers/nodes.hpp"
#include "poller/cluster/heartbeat.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

using handlers::Right;
using handlers::ShutdownState;

constexpr int recorded_at_once = 500;

}  // namespace

RemoteTermination::RemoteTermination(TeamState& context, ClusterMember& nodes, Shutdowns& shutdowns)
    : context_(context), cluster_(nodes), shutdowns_(shutdowns) {
  shutdowns_.elsewhere = [this](const handlers::Shutdown& shutdown) { return told_of(shutdown); };
  // A worker that reads the request may end a moment later, and its pane may get another owner.
  cluster_.file_when([this](const NodeMailRow& row) {
    if (row.type != schema::ShutdownRequest::type || row.request_id.empty()) return true;
    const auto known = context_.ledger.shutdowns().find(context_.name, row.request_id);
    return known && (*known || shutdowns_.open().size() >= Shutdowns::most_followed);
  });
}

std::optional<Shutdowns::Elsewhere> RemoteTermination::told_of(const handlers::Shutdown& shutdown) const {
  const auto& state = cluster_.state();
  if (!state.is_elsewhere(shutdown.member)) return std::nullopt;
  const std::string node(handlers::node_of(state.settings, shutdown.member));
  if (const auto seen = state.seen.find(node); seen != state.seen.end())
    for (const auto& end : seen->second.ends)
      if (end.request_id == shutdown.request_id && end.member == shutdown.member)
        return Shutdowns::Elsewhere{node, end.state == to_string(ShutdownState::cleaned), end.tasks, end.detail};
  return Shutdowns::Elsewhere{node, false, {}, {}};
}

std::vector<NodeEnd> RemoteTermination::orders() const {
  std::vector<NodeEnd> orders;
  if (!context_.may(Right::shut_down)) return orders;
  for (const auto& one : shutdowns_.open()) {
    const bool due = one.state == ShutdownState::requested || one.state == ShutdownState::approved || one.state == ShutdownState::forced;
    if (!due || !cluster_.state().is_elsewhere(one.member) || orders.size() == most_ends) continue;
    orders.push_back({one.request_id, one.member, std::string(to_string(one.state)), one.by, one.reason, {}, {}, one.joined_ms});
  }
  return orders;
}

asio::awaitable<void> RemoteTermination::record_before_filing() {
  if (!context_.may(Right::carry) || context_.roster.members.empty()) co_return;  // whose worker is asked is not known
  const auto rows = context_.ledger.node_mail().unrecorded_ends(context_.name, schema::ShutdownRequest::type, recorded_at_once);
  if (!rows) co_return;
  for (const auto& row : *rows) {
    NodeEnd asked{row.request_id, row.inbox, {}, "node " + row.node, {}, {}, {}, row.joined_ms};
    co_await obey(std::move(asked));
  }
}

/// Records that the shutdown is over: its request may still come, and the next worker of this name would read it.
bool RemoteTermination::record_over(const NodeEnd& order, const std::string& why) {
  const auto now = context_.clock.wall_ms();
  const handlers::Shutdown over{.request_id = order.request_id, .member = order.member, .joined_ms = order.joined_ms,
                                .by = order.by, .state = ShutdownState::cleaned, .requested_ms = now, .changed_ms = now,
                                .place = {.left_alone = why}};
  return context_.commit([&](Tx& tx) { return tx.ledger.shutdowns().put(context_.name, over); }).ok();
}

asio::awaitable<NodeEnd> RemoteTermination::obey(NodeEnd order) {
  NodeEnd told{order.request_id, order.member, {}, {}, {}, {}, {}, 0};
  auto known = context_.ledger.shutdowns().find(context_.name, order.request_id);
  if (!known) co_return told;
  const auto* member = context_.roster.find(order.member);
  if (!*known && (member == nullptr || is_successor(member->joined_at_ms, order.joined_ms))) {
    told.detail = "no worker of that name and join time is on this node";
    if (record_over(order, told.detail)) told.state = to_string(ShutdownState::cleaned);
    co_return told;
  }
  if (!*known) {
    Shutdowns::Ordered ordered{order.request_id, order.member, order.by, order.reason};
    co_await shutdowns_.follow(std::move(ordered));
  }
  std::optional<handlers::NotTaken> refused;
  if (order.state == to_string(ShutdownState::approved) || order.state == to_string(ShutdownState::forced))
    refused = shutdowns_.end_now(order.request_id, order.state == to_string(ShutdownState::forced));
  known = context_.ledger.shutdowns().find(context_.name, order.request_id);
  if (!known || !*known || (*known)->member != order.member) co_return told;
  told.state = to_string((*known)->state);
  told.tasks = (*known)->tasks;
  told.detail = refused ? refused->reason : (*known)->place.left_alone;
  co_return told;
}

asio::awaitable<void> RemoteTermination::run_due() {
  std::vector<NodeEnd> ends;
  if (context_.may(Right::end_here)) {
    const auto* leader = cluster_.state().who_leads();
    const auto wanted = leader == nullptr ? std::vector<NodeEnd>() : leader->orders;
    std::set<std::string> ordered;
    for (const auto& one : wanted) {
      ordered.insert(one.request_id);
      if (!cluster_.state().is_elsewhere(one.member)) ends.push_back(co_await obey(one));
    }
    if (leader != nullptr) shutdowns_.give_up_without(ordered);
  }
  co_await record_before_filing();  // after the orders, which tell who asked and why
  cluster_.tell_ends(orders(), std::move(ends));
}

}  // namespace inbox_poller::poller
