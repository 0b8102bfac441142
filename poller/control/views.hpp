// Domain values as the JSON objects of docs/control.md. Bytes that came from agents are made valid text here, once.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

#include "handlers/worker_state.hpp"
#include "poller/team/ask_view.hpp"
#include "poller/team/team.hpp"
#include "schema/error.hpp"

namespace inbox_poller::poller {

boost::json::object message_view(const Offered&);
boost::json::object message_view(const MessageRow&);
/// A letter between hosts: where it is, as far as this host knows.
boost::json::object letter_view(const HostMailRow&);
boost::json::object lead_view(Team&);
boost::json::object delivery_view(Team&);
boost::json::object shutdown_view(std::string_view team, const handlers::Shutdown&);
/// What a worker is doing now.
handlers::WorkerState worker_state(Team&, const MemberRow&, EpochMs now);
/// `answers`, `answers_reason`: whether the worker takes answers of ours.
void add_worth(boost::json::object& view, const handlers::AnswerWorth&);
/// An ask that waits, with where it would run, what the rules say of each part, and whether our answer counts.
boost::json::object open_ask_view(Team&, const handlers::Ask&);
/// An ask that a rule answered after it had waited.
boost::json::object ruled_view(std::string_view team, const handlers::Ask&);
boost::json::object session_rule_view(const SessionRule&);
Result<boost::json::object> team_view(Team&, Services&);
/// Everything the ledger has on a message key (or the beginning of one) or a request id: messages, asks, shutdowns,
/// what we wrote, history. Of asks only those of `kind`, unless it is empty.
Result<boost::json::object> trace_view(Ledger&, const std::string& id, const std::string& kind, int limit);

}  // namespace inbox_poller::poller
