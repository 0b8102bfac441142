// Domain values as the records that are told of them (schema/operations).
#pragma once

#include <string>
#include <string_view>

#include "handlers/worker_state.hpp"
#include "poller/team/ask_view.hpp"
#include "poller/team/team.hpp"
#include "schema/error.hpp"
#include "schema/operations/team.hpp"
#include "schema/operations/trace.hpp"

namespace inbox_poller::poller {

operations::LeadMessage message_view(const Offered&);
operations::Message message_view(const MessageRow&);
operations::Letter letter_view(const HostMailRow&);
operations::Lead lead_view(Team&);
operations::Shutdown shutdown_view(std::string_view team, const handlers::Shutdown&);
/// What a worker is doing now.
handlers::WorkerState worker_state(Team&, const MemberRow&, EpochMs now);
/// An ask that waits, with where it would run, what the rules say of each part, and whether our answer counts.
operations::OpenAsk open_ask_view(Team&, const handlers::Ask&);
operations::RuledAsk ruled_view(std::string_view team, const handlers::Ask&);
operations::GivenRule rule_view(const SessionRule&);
Result<operations::Team> team_view(Team&, Runtime&);
/// Everything the ledger has on a message key (or the beginning of one) or a request id: messages, asks, shutdowns,
/// what we wrote, history. Of asks only those of `kind`, unless it is empty.
Result<operations::Trace> trace_view(Ledger&, const std::string& id, const std::string& kind, int limit);

}  // namespace inbox_poller::poller
