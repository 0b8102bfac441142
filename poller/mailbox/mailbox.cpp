#include "poller/mailbox/mailbox.hpp"

#include <algorithm>

namespace inbox_poller::poller {

std::string_view to_string(ReadOutcome outcome) {
  switch (outcome) {
    case ReadOutcome::document: return "ok";
    case ReadOutcome::missing: return "missing";
    case ReadOutcome::empty: return "empty";
    case ReadOutcome::torn: return "torn";
    case ReadOutcome::not_regular: return "not_regular";
    case ReadOutcome::too_large: return "too_large";
    case ReadOutcome::lock_held: return "locked";
    case ReadOutcome::fault: break;
  }
  return "fault";
}

Presence presence_in(const ReadResult& reading, const KnownEntries& known, const AppendReceipt& receipt) {
  const auto& before = receipt.unread_before;
  bool earlier_still_unread = false;
  for (const schema::InboxEntry& there : reading.document.entries()) {
    const bool unread = there.read != schema::ReadFlag::read;
    if (there.key == receipt.key) return unread ? Presence::unread : Presence::read;
    if (unread && std::find(before.begin(), before.end(), there.key) != before.end()) earlier_still_unread = true;
  }
  // It was read once; whether it is there still or was cleared away since makes no difference.
  if (known.contains(receipt.key, known.size())) return Presence::read;
  // An owner that only marks takes nothing out; a person who clears an inbox does, and leaves it empty.
  const bool vanished = receipt.keeps_read && reading.skipped + reading.document.entries().size() > 0;
  return earlier_still_unread || vanished ? Presence::overwritten : Presence::gone;
}

}  // namespace inbox_poller::poller
