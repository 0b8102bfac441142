// Ends workers on this node by order of another, leading node. Processes and panes to end are recorded from local
// observation, before the worker can read the request. The leader only names the worker and the time.
#include <chrono>

#include "handlers/whose_pane.hpp"
#include "poller/team/shutdowns.hpp"
#include "schema/message.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

using handlers::Shutdown;
using handlers::ShutdownEvent;
using handlers::ShutdownState;

/// Limit for the worker's consent on this node; the leader gives up earlier and reports that.
constexpr std::chrono::hours follow_for{24};

}  // namespace

asio::awaitable<bool> Shutdowns::follow(Ordered ordered) {
  const auto* found = context_.roster.find(ordered.member);
  if (found == nullptr || open_.size() >= most_followed || open_.contains(ordered.request_id)) co_return false;
  const schema::Member member = *found;  // the roster may be replaced during the wait
  Shutdown shutdown;
  shutdown.place = co_await find_place(member);
  const auto known = context_.ledger.shutdowns().find(context_.name, ordered.request_id);
  if (!known || *known) co_return false;  // two orders may have arrived at once
  shutdown.request_id = ordered.request_id;
  shutdown.member = ordered.member;
  shutdown.agent_id = member.agent_id;
  shutdown.joined_ms = member.joined_at_ms;
  shutdown.by = ordered.by;
  shutdown.reason = ordered.reason;
  shutdown.requested_ms = shutdown.changed_ms = context_.clock.wall_ms();
  shutdown.timeout_ms = shutdown.requested_ms + std::chrono::milliseconds(follow_for).count();
  shutdown.survivors = family_.of(shutdown, shutdown.place.processes);
  shutdown.detail = handlers::waiting_for(shutdown);
  co_return keep(shutdown, [&](Tx& tx) {
    tx.log(Event::shutdown_requested, {{"team", context_.name},
                                       {"request_id", shutdown.request_id},
                                       {"member", shutdown.member},
                                       {"by", shutdown.by},
                                       {"reason", shutdown.place.left_alone}});
  });
}

std::optional<handlers::NotTaken> Shutdowns::end_now(const std::string& request_id, bool forced) {
  const auto found = context_.ledger.shutdowns().find(context_.name, request_id);
  if (!found || !*found) return std::nullopt;
  const Shutdown& shutdown = **found;
  const bool waits = shutdown.state == ShutdownState::requested;
  if (!waits && shutdown.state != ShutdownState::timed_out) return std::nullopt;
  if (forced)
    if (auto why = hindered({.member = shutdown.member, .force = true}, shutdown.place)) return why;
  move(shutdown, forced && waits ? ShutdownEvent::force_is_due : ShutdownEvent::worker_approves);
  return std::nullopt;
}

void Shutdowns::give_up_without(const std::set<std::string>& ordered) {
  const auto asked_before = context_.clock.wall_ms() - context_.config.shutdown.timeout.count();
  for (const Shutdown& one : open()) {
    const bool waits = one.state == ShutdownState::requested || elsewhere(one);  // for a word of another node
    if (waits && one.changed_ms < asked_before && !ordered.contains(one.request_id)) move(one, ShutdownEvent::time_passes);
  }
}

std::vector<schema::MessageKey> Shutdowns::carried_words(const Shutdown& shutdown) const {
  std::vector<schema::MessageKey> keys;
  const auto rows = context_.ledger.node_mail().of_request(shutdown.request_id, 10);
  if (!rows) return keys;
  for (const auto& row : *rows) {
    const auto decoded = mailbox_.decode(row.entry);
    if (row.direction != MailDirection::in || row.inbox != shutdown.member || !decoded) continue;
    const auto& message = decoded->message;
    const auto inbox = schema::inbox_name(row.inbox);
    keys.push_back(schema::make_message_key({context_.name, inbox}, message.from, message.timestamp, message.text, 0));
  }
  return keys;
}

}  // namespace inbox_poller::poller
