// Converts domain values to the records of the interface (schema/operations).
#pragma once

#include <string>
#include <string_view>

#include "handlers/worker_state.hpp"
#include "poller/team/request_view.hpp"
#include "poller/team/team.hpp"
#include "schema/error.hpp"
#include "schema/operations/team.hpp"
#include "schema/operations/trace.hpp"

namespace inbox_poller::poller {

operations::LeadMessage message_view(const LeasedMessage&);
operations::Message message_view(const MessageRow&);
operations::NodeMessage node_message_view(const NodeMailRow&);
operations::Lead lead_view(Team&);
operations::Shutdown shutdown_view(std::string_view team, const handlers::Shutdown&);
/// Evaluates the present activity of a worker; `now` is wall clock.
handlers::WorkerState worker_state(Team&, const MemberRow&, EpochMs now);
/// Adds the folder in which an open request would run, the rules' verdict on each part, and the authority of our
/// answer.
operations::OpenRequest open_request_view(Team&, const handlers::Request&);
operations::RuledRequest ruled_view(std::string_view team, const handlers::Request&);
operations::GivenRule rule_view(const SessionRule&);
Result<operations::Team> team_view(Team&, Runtime&);
/// Collects all ledger data on a message key, a key prefix or a request id: messages, requests, shutdowns, outgoing
/// messages, history. With `kind` only requests of that kind. Errors: ledger.*.
Result<operations::Trace> trace_view(Ledger&, const std::string& id, const std::string& kind, int limit);

}  // namespace inbox_poller::poller
