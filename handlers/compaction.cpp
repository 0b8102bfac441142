#include "handlers/compaction.hpp"

#include <algorithm>
#include <string>
#include <unordered_set>

namespace inbox_poller::handlers {

namespace {

constexpr std::size_t enough_entries = 500;

bool may_leave(const InboxItem& item, EpochMs received_before_ms) {
  return item.is_read && item.archived && item.archived->has_timestamp && !item.archived->owes &&
         item.archived->received_ms <= received_before_ms;
}

std::string identity_of(const InboxItem& item) { return schema::with_occurrence(*item.key, 0).value; }

}  // namespace

bool is_compaction_due(const config::CompactionSettings& settings, std::size_t read_entries, std::uint64_t file_bytes) {
  return settings.enabled && read_entries > newest_that_stay &&
         (read_entries > settings.entries || file_bytes > settings.size.count);
}

std::vector<std::size_t> entries_to_compact(const config::CompactionSettings& settings,
                                            std::span<const InboxItem> items, std::uint64_t file_bytes,
                                            EpochMs now_ms) {
  const EpochMs received_before_ms = now_ms - settings.after.count();
  std::vector<std::size_t> leaving;
  std::unordered_set<std::string> staying;
  std::size_t read = 0;
  for (std::size_t i = items.size(); i-- > 0;) {
    if (items[i].is_read) ++read;
    if (read > newest_that_stay && may_leave(items[i], received_before_ms))
      leaving.push_back(i);
    else
      staying.insert(identity_of(items[i]));
  }
  // Equal entries are numbered by their order: without the first, the second would get its number.
  std::erase_if(leaving, [&](std::size_t i) { return staying.contains(identity_of(items[i])); });
  std::reverse(leaving.begin(), leaving.end());
  std::uint64_t bytes = 0;
  for (const std::size_t i : leaving) bytes += items[i].bytes;
  if (leaving.size() < enough_entries && bytes < file_bytes / 2) leaving.clear();
  return leaving;
}

}  // namespace inbox_poller::handlers
