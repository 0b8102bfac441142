// What may leave the lead's inbox, and when that is worth a rewrite of the file. An entry may leave when it is marked
// read, the ledger has it whole and owes nothing for it, and both were so for long enough. Source:
// docs/adr/0014-compaction-of-the-leads-inbox.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "config/config.hpp"
#include "handlers/handler.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::handlers {

/// So many of the newest read entries always stay: for a person who looks into the file, for the spelling that the next
/// entry takes over, and so that one who removes all that is read is still noticed.
inline constexpr std::size_t newest_that_stay = 10;

/// What the ledger has of an entry: its committed row.
struct ArchivedEntry {
  EpochMs received_ms = 0;  // by our clock; what the sender claims does not count
  /// An equal of an entry without a time stamp is a message of its own, and is told from it only as long as it is
  /// there.
  bool has_timestamp = false;
  bool owes = false;  // it is still on its way to the lead, or its ask is open
};

/// One entry of the inbox, in the order of the file.
struct InboxItem {
  const schema::MessageKey* key = nullptr;
  std::size_t bytes = 0;
  bool is_read = false;
  std::optional<ArchivedEntry> archived;  // looked up for read entries only
};

/// Whether a look at all entries may be worth it.
bool is_compaction_due(const config::CompactionSettings&, std::size_t read_entries, std::uint64_t file_bytes);

/// The indexes of those that may leave, ascending; all equals of one (same sender, time and text) or none. Empty when
/// it is too little for a rewrite: fewer than 500 entries and less than half of the file.
std::vector<std::size_t> entries_to_compact(const config::CompactionSettings&, std::span<const InboxItem> items,
                                            std::uint64_t file_bytes, EpochMs now_ms);

}  // namespace inbox_poller::handlers
