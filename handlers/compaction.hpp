// Which entries may leave the lead's inbox, and when their removal is worth rewriting the file. Invariant: an entry
// leaves only if it is marked read, its ledger row is committed and closed, and it was received long enough ago.
// Source: docs/adr/0014-compaction-of-the-leads-inbox.md.
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

/// The newest read entries, which always stay. A person may look into the file, and the next entry copies its
/// formatting. A reader that removes all read entries is also still noticed.
inline constexpr std::size_t newest_that_stay = 10;

/// The committed ledger row of an entry.
struct ArchivedEntry {
  EpochMs received_ms = 0;  // by the daemon's clock, not by the sender's claim
  /// Without a time stamp, an equal entry is a separate message that only the entry's presence tells apart.
  bool has_timestamp = false;
  bool owes = false;  // still on its way to the lead, or an open approval request
};

/// One entry of the inbox, in the order of the file.
struct InboxItem {
  const schema::MessageKey* key = nullptr;
  std::size_t bytes = 0;
  bool is_read = false;
  std::optional<ArchivedEntry> archived;  // set for read entries only
};

/// Returns true if a scan of all entries may be worth it.
bool is_compaction_due(const config::CompactionSettings&, std::size_t read_entries, std::uint64_t file_bytes);

/// Returns the indexes of the entries that may leave, ascending. Equal entries (same sender, time and text) leave
/// together or not at all. Empty if fewer than 500 entries and less than half of the file could leave.
std::vector<std::size_t> entries_to_compact(const config::CompactionSettings&, std::span<const InboxItem> items,
                                            std::uint64_t file_bytes, EpochMs now_ms);

}  // namespace inbox_poller::handlers
