#include "poller/mailbox/jsonl/proof.hpp"

#include <algorithm>

namespace inbox_poller::poller {

Proof proof_of(std::span<const FileEvent::What> events, bool still_as_long) {
  using What = FileEvent::What;
  std::ptrdiff_t changes = 0;
  bool read_after_a_change = false;
  for (const What what : events) {
    switch (what) {
      case What::read:
        // The reader opened the file after the line was written, and no change has removed the line since.
        if (changes == 0) return Proof::read;
        read_after_a_change = true;
        break;
      case What::changed: ++changes; break;
      case What::gone: return changes == 0 ? Proof::destroyed : Proof::doubtful;
      case What::missed: return Proof::doubtful;
    }
  }
  if (changes == 0) return Proof::waiting;
  // The file's length identifies a single change: another line or the emptying.
  if (changes > 1) return Proof::doubtful;
  if (!still_as_long) return Proof::destroyed;
  return read_after_a_change ? Proof::doubtful : Proof::waiting;
}

}  // namespace inbox_poller::poller
