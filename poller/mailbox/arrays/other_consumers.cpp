#include "poller/mailbox/arrays/other_consumers.hpp"

#include <algorithm>

namespace inbox_poller::poller {

OtherConsumers::Observation OtherConsumers::look(const InboxDocument& document, EpochMs now_ms, Recognized recognized) {
  if (!looked_) recognized.knew = 0;
  Observation sighting;
  std::unordered_map<std::string, Entry> now;
  now.reserve(document.entries().size());
  bool any_read = recognized.left_out > 0;
  std::size_t known_here = recognized.left_out;
  for (const auto& entry : document.entries()) {
    const bool read = entry.read == ReadFlag::read;
    any_read = any_read || read;
    if (entry.known) ++known_here;
    const auto found = before_.find(entry.key.value);
    const bool is_new = found == before_.end() && !entry.known;
    const Entry before = found != before_.end() ? found->second : Entry{now_ms, entry.known};
    if (is_new && looked_ && read) sighting.flipped.push_back(entry.key);
    // Our mark stays ours, also when a peer's unlocked write takes the flag back.
    now[entry.key.value] = {before.first_seen_ms, read || before.read};
    if (!is_new && read && !before.read) sighting.consumed.push_back({entry.key, now_ms - before.first_seen_ms});
  }
  std::size_t read_gone = recognized.knew - std::min(recognized.knew, known_here);
  std::size_t read_before = recognized.knew;
  for (const auto& [key, entry] : before_) {
    if (entry.read) ++read_before;
    if (now.contains(key)) continue;
    if (entry.read)
      ++read_gone;
    else
      sighting.consumed.push_back({schema::MessageKey{key}, now_ms - entry.first_seen_ms});
  }
  sighting.swept = read_before > 0 && read_gone == read_before && !any_read;
  before_ = std::move(now);
  looked_ = true;
  return sighting;
}

void OtherConsumers::leave_to_mailbox(const InboxDocument& document, std::size_t entries) {
  for (std::size_t i = 0; i < entries; ++i) before_.erase(document.entries()[i].key.value);
  before_.rehash(0);
}

void OtherConsumers::marked_by_us(const schema::MessageKey& key) {
  if (const auto found = before_.find(key.value); found != before_.end()) found->second.read = true;
}

void OtherConsumers::removed_by_us(const schema::MessageKey& key) { before_.erase(key.value); }

OtherConsumers::Waiting OtherConsumers::waiting() const {
  Waiting waiting;
  for (const auto& [key, entry] : before_) {
    if (entry.read) continue;
    ++waiting.unread;
    if (waiting.oldest_ms == 0 || entry.first_seen_ms < waiting.oldest_ms) waiting.oldest_ms = entry.first_seen_ms;
  }
  return waiting;
}

}  // namespace inbox_poller::poller
