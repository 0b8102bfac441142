#include "poller/team/rule_grants.hpp"

#include <algorithm>
#include <utility>

#include "handlers/stop.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

using handlers::Request;

constexpr int restored_shutdowns = 1000;

}  // namespace

Status RuleGrants::restore() {
  TRY(auto decisions, context_.recent_decisions());
  TRY(const auto shutdowns, context_.ledger.shutdowns().latest(context_.name, restored_shutdowns));
  for (auto& [team, request] : decisions) {
    if (request.kind != handlers::RequestKind::stop || request.state != handlers::RequestState::approved) continue;
    const bool begun = std::any_of(shutdowns.begin(), shutdowns.end(), [&r = request](const auto& shutdown) {
      // The reason names the wish. The times of the two are not compared, because the clock may have been set back.
      return shutdown.member == r.asker && shutdown.reason == handlers::stop_reason(r);
    });
    if (!begun) grants_.push_back(std::move(request));
  }
  return Done{};
}

asio::awaitable<void> RuleGrants::run_due() {
  for (auto& request : requests_.take_granted_stops()) grants_.push_back(std::move(request));
  std::vector<Request> left;
  for (auto& request : std::exchange(grants_, {}))
    if (!co_await begin(request)) left.push_back(std::move(request));
  grants_.insert(grants_.end(), std::make_move_iterator(left.begin()), std::make_move_iterator(left.end()));
}

asio::awaitable<bool> RuleGrants::begin(Request granted) {
  const auto* member = context_.roster.find(granted.asker);
  if (member == nullptr) co_return context_.has_left(granted.asker);  // a roster that is just being rewritten may miss
                                                                      // it
  // Two nodes' clocks are not compared. The roster may lack the latest heartbeat of the asker's node for a minute.
  if (is_successor(member->joined_at_ms, granted.joined_ms))
    co_return context_.clock.wall_ms() - granted.decided_ms > 60'000;
  Shutdowns::Order order{.member = granted.asker, .by = granted.decided_by, .reason = handlers::stop_reason(granted)};
  // A shutdown under way already fulfills the request; after a ledger fault retry later.
  co_return (co_await shutdowns_.request(std::move(order))).ok();
}

}  // namespace inbox_poller::poller
