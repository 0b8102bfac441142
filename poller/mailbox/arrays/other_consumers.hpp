// Detection of other consumers of an inbox: compares each reading with the one before, and returns evidence and the
// consumed messages. Held in memory only: the first reading after a start has nothing to compare with.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "poller/clock.hpp"
#include "poller/mailbox/arrays/inbox_document.hpp"

namespace inbox_poller::poller {

class OtherConsumers {
 public:
  struct Consumed {
    schema::MessageKey key;
    EpochMs waited_ms = 0;  // since our first reading of it
  };
  struct Observation {
    std::vector<Consumed> consumed;           // unread before, and now read or gone, not by us
    std::vector<schema::MessageKey> flipped;  // new and marked read already; no sender writes that
    bool swept = false;                       // every read entry is gone at once, as after a consumer that deletes
  };

  /// Number of entries that the mailbox knew, all read, and of those that the document left out as unchanged.
  struct Recognized {
    std::size_t knew = 0;
    std::size_t left_out = 0;
  };
  /// Compares the document with the reading before. `now_ms` is wall-clock time.
  Observation look(const InboxDocument&, EpochMs now_ms, Recognized = {0, 0});
  /// Leaves the first `entries` of the document, all read, to the mailbox, which now recognizes them itself.
  void leave_to_mailbox(const InboxDocument&, std::size_t entries);
  /// Records a mark of ours, so that the entry's removal is not evidence.
  void marked_by_us(const schema::MessageKey&);
  /// Records that we removed the entry from the file.
  void removed_by_us(const schema::MessageKey&);

  struct Waiting {
    std::size_t unread = 0;
    EpochMs oldest_ms = 0;  // wall clock; first reading of the oldest; 0: none is unread
  };
  [[nodiscard]] Waiting waiting() const;

 private:
  struct Entry {
    EpochMs first_seen_ms = 0;
    bool read = false;
  };
  std::unordered_map<std::string, Entry> before_;  // by key; without the entries left to the mailbox
  bool looked_ = false;
};

}  // namespace inbox_poller::poller
