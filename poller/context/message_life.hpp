// What the row of a message itself tells of its life: that it was accepted, offered, delivered, and when. The history
// has lines only for what no row tells, or tells no more, because most of what a message costs the disk would otherwise
// be lines that say the same again (docs/adr/0017-what-a-row-tells.md). Whoever shows a life puts both together here.
#pragma once

#include <vector>

#include "poller/context/telemetry.hpp"
#include "poller/ledger/ledger.hpp"

namespace inbox_poller::poller {

/// The fields of the events about a message, from its row as it is after the event.
Fields accepted_fields(const MessageRow&);
Fields offered_fields(const MessageRow&);
Fields delivered_fields(const MessageRow&);

/// A letter between hosts that became ours, from its row.
Event letter_event(const HostMailRow&);
Fields letter_fields(const HostMailRow&);

/// An entry as it stood or will stand in an inbox: `raw` where the columns do not say all of it.
std::string entry_text(const schema::Message&, const std::string& raw);

/// The line for the last time it was offered, to be kept before the row forgets it.
HistoryRow offered_line(const MessageRow&);

/// A message's lines in order: those that were kept, and what its row tells beside them.
std::vector<HistoryRow> life_of(const MessageRow&, std::vector<HistoryRow> kept);
std::vector<HistoryRow> life_of(const HostMailRow&, std::vector<HistoryRow> kept);

}  // namespace inbox_poller::poller
