// The events of a message's life that its row records: accepted, offered, delivered, with their times. The history
// stores only events that no row records (any more), because repeated lines would be most of a message's disk cost
// (docs/adr/0017-what-a-row-tells.md). life_of() merges both.
#pragma once

#include <vector>

#include "poller/context/telemetry.hpp"
#include "poller/ledger/ledger.hpp"

namespace inbox_poller::poller {

/// Fields of the events about a message, from its row after the event.
Fields accepted_fields(const MessageRow&);
Fields offered_fields(const MessageRow&);
Fields delivered_fields(const MessageRow&);

/// Event for a received inter-host message, from its row.
Event letter_event(const NodeMailRow&);
Fields letter_fields(const NodeMailRow&);

/// Fields of request.pending and request.decided, from the request after the event. `before`: its state before.
Fields request_fields(const std::string& team, const handlers::Request&, std::string_view before);

/// Text of an entry in an inbox; `raw` is used where the columns lose information.
std::string entry_text(const schema::Message&, const std::string& raw);

/// History line of the last offer, to be stored before the row forgets it.
HistoryRow offered_line(const MessageRow&);

/// Requeues messages that were leased when the last daemon ended, in a transaction of its own. They are labeled as
/// possibly repeated. Errors: those of the ledger; nothing was requeued.
Status requeue_leased(Ledger& ledger);

/// Merges the stored history lines with the events of the row, in order.
std::vector<HistoryRow> life_of(const MessageRow&, std::vector<HistoryRow> kept);
std::vector<HistoryRow> life_of(const NodeMailRow&, std::vector<HistoryRow> kept);

}  // namespace inbox_poller::poller
