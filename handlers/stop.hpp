// A worker's request to stop. An approval starts a shutdown of that worker (shutdown.hpp). A denial is sent in plain
// words, because the client knows no answer to such a request. Never an order to the lead. Source:
// docs/reference/wire.md W21.
#pragma once

#include <string>
#include <string_view>

#include "handlers/handler.hpp"

namespace inbox_poller::handlers {

/// Returns the request without worker and times.
Request draft_of(const schema::ShutdownRequest&);

/// Always asks: no rule ends a worker.
config::Verdict judge(const schema::ShutdownRequest&, std::string_view asker, const TeamView&, const RequestView&);

/// Returns the text to a worker whose request was denied; never a control message.
std::string stop_refusal(const Request& decided);
std::string stop_card(const Request&, std::string_view before);

/// Returns the reason in the shutdown of a worker whose request was approved.
std::string stop_reason(const Request& granted);

}  // namespace inbox_poller::handlers
