// A worker asks to stop. It only wishes it: a yes begins a shutdown of that worker like any other (shutdown.hpp), a no
// is told in plain words, because the client knows no answer to such a request. It is never an order to the lead.
// Source: docs/reference/wire.md W21.
#pragma once

#include <string>
#include <string_view>

#include "handlers/handler.hpp"

namespace inbox_poller::handlers {

/// The ask without asker and times.
Ask draft_of(const schema::ShutdownRequest&);

/// Always asked: no rule ends a worker.
config::Verdict judge(const schema::ShutdownRequest&, std::string_view asker, const TeamView&, const AskView&);

/// What a worker reads whose wish was not granted; never a control message.
std::string stop_refusal(const Ask& decided);
std::string stop_card(const Ask&, std::string_view before);

/// What a worker reads as the reason of the shutdown that it wished for.
std::string stop_reason(const Ask& granted);

}  // namespace inbox_poller::handlers
