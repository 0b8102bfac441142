// States as sentences: where a message, an approval request, a reply or a shutdown is, and what a person can do about
// it. Used by `trace`, `status`, `shutdowns` and the wait of `shutdown`.
#pragma once

#include <string>
#include <string_view>

#include "poller/cli/console.hpp"
#include "schema/operations/team.hpp"
#include "schema/operations/trace.hpp"

namespace inbox_poller::poller::cli {

/// Describes a message, to continue "it …". `team`: its team in `status`, for a message that waits; may be null.
std::string message_sentence(const operations::Message& message, const operations::Team* team = nullptr);
std::string message_sentence(const operations::SaidMessage& message);
std::string request_sentence(const operations::Request& request);
std::string shutdown_sentence(const operations::Shutdown& shutdown);
/// Describes the lead: "team-lead is busy for 3m (a prompt was submitted), the report runs out in 12m".
std::string lead_sentence(const operations::Lead& lead);
/// Returns the delivery method in use, and why each better one is not: "exec (stdin: …; hook: …)". Empty when the
/// daemon does not report methods.
std::string methods_sentence(const operations::Delivery& delivery);
/// Describes a reply, to continue "what we wrote for NAME …".
std::string effect_sentence(const operations::Effect& effect);

/// Formats the daemon's whole answer to `trace`. `team`: as for message_sentence(); `full`: with the whole request.
std::string trace_text(const Console&, const operations::Trace& answer, const operations::Team* team, bool full);

/// Advises on a message that was rejected or unreadable; empty for a code without advice.
std::string_view advice_for(std::string_view code);

}  // namespace inbox_poller::poller::cli
