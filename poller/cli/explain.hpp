// States as sentences: where a message, an ask, an answer of ours or a shutdown is now, and what a person can do about
// it. One place for `trace`, `status`, `shutdowns` and the wait of `shutdown`.
#pragma once

#include <string>
#include <string_view>

#include "poller/cli/console.hpp"
#include "schema/operations/team.hpp"
#include "schema/operations/trace.hpp"

namespace inbox_poller::poller::cli {

/// Continues "it …". `team`: what `status` says of its team now, for one that waits; may be null.
std::string message_sentence(const operations::Message& message, const operations::Team* team = nullptr);
std::string message_sentence(const operations::SaidMessage& message);
std::string request_sentence(const operations::Ask& ask);
std::string shutdown_sentence(const operations::Shutdown& shutdown);
/// "team-lead is busy for 3m (a prompt was submitted), the report runs out in 12m"
std::string lead_sentence(const operations::Lead& lead);
/// The way to the lead that is used, and why the better ones are not: "exec (stdin: …; hook: …)". Empty when the daemon
/// does not say.
std::string ladder_sentence(const operations::Delivery& delivery);
/// Continues "what we wrote for NAME …".
std::string effect_sentence(const operations::Effect& effect);

/// The daemon's answer to `trace`, whole. `team`: as in message_sentence(); `full`: with all that was asked.
std::string trace_text(const Console&, const operations::Trace& answer, const operations::Team* team, bool full);

/// What to do about a message of ours or others that was refused or could not be read; empty for a code that only a
/// newer daemon knows.
std::string_view advice_for(std::string_view code);

}  // namespace inbox_poller::poller::cli
