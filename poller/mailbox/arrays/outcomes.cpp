#include "poller/mailbox/arrays/outcomes.hpp"

#include <algorithm>

namespace inbox_poller::poller {

BoxState state_of(ReadOutcome outcome) {
  switch (outcome) {
    case ReadOutcome::document: return BoxState::open;
    case ReadOutcome::missing: return BoxState::missing;
    case ReadOutcome::empty: return BoxState::empty;
    case ReadOutcome::torn: return BoxState::torn;
    case ReadOutcome::not_regular: return BoxState::not_regular;
    case ReadOutcome::too_large: return BoxState::too_large;
    case ReadOutcome::lock_held: return BoxState::held;
    case ReadOutcome::fault: break;
  }
  return BoxState::fault;
}

WriteStatus put_of(WriteOutcome outcome) {
  switch (outcome) {
    case WriteOutcome::done: return WriteStatus::done;
    case WriteOutcome::already_there: return WriteStatus::unchanged;
    case WriteOutcome::lock_held:
    case WriteOutcome::changed: return WriteStatus::busy;
    case WriteOutcome::lock_foreign: return WriteStatus::blocked;
    case WriteOutcome::missing: return WriteStatus::gone;
    case WriteOutcome::refused: return WriteStatus::refused;
    case WriteOutcome::fault: break;
  }
  return WriteStatus::fault;
}

EntryIndex::EntryIndex(const ReadResult& reading, const PrefixCache& known)
    : known_(known), empty_(reading.skipped == 0 && reading.document.entries().empty()) {
  unread_.reserve(reading.document.entries().size());
  for (const InboxEntry& entry : reading.document.entries())
    unread_.emplace(entry.key.value, entry.read != ReadFlag::read);
}

std::optional<bool> EntryIndex::is_unread(const schema::MessageKey& key) const {
  if (const auto found = unread_.find(key.value); found != unread_.end()) return found->second;
  // A known entry was read. Its later removal makes no difference.
  return known_.contains(key, known_.size()) ? std::optional(false) : std::nullopt;
}

ReadStatus read_status_in(const EntryIndex& entries, const AppendReceipt& receipt) {
  if (const auto unread = entries.is_unread(receipt.key)) return *unread ? ReadStatus::waiting : ReadStatus::consumed;
  const bool earlier_still_unread =
      std::any_of(receipt.unread_before.begin(), receipt.unread_before.end(),
                  [&](const schema::MessageKey& key) { return entries.is_unread(key).value_or(false); });
  // An owner that only marks removes nothing. A person who clears an inbox leaves it empty.
  const bool vanished = receipt.keeps_read && !entries.empty();
  return earlier_still_unread || vanished ? ReadStatus::lost : ReadStatus::consumed;
}

}  // namespace inbox_poller::poller
