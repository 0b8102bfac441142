// Who consumes an inbox beside us: compares each reading of it with the one before, and gives signs of another consumer
// and of what it took. Memory only: the first reading after a start says nothing about what was before.
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
    EpochMs waited_ms = 0;  // from our first look at it
  };
  struct Observation {
    std::vector<Consumed> consumed;           // unread before, and neither there nor unread now, not by us
    std::vector<schema::MessageKey> flipped;  // new here, and read already: nobody writes a message like that
    bool swept = false;                       // every read entry has gone at once: what a consumer that deletes does
  };

  /// Of the entries that the mailbox knew, all read, so many were left out of the document, being as they were.
  struct Recognised {
    std::size_t knew = 0;
    std::size_t left_out = 0;
  };
  /// Compares with the reading before.
  Observation look(const InboxDocument&, EpochMs now_ms, Recognised = {0, 0});
  /// The mailbox knows the first so many entries of the document now, all read, and tells them from new ones.
  void leave_to_mailbox(const InboxDocument&, std::size_t entries);
  /// We have marked these read; their going is no surprise.
  void marked_by_us(const schema::MessageKey&);
  /// We have taken it out of the file.
  void removed_by_us(const schema::MessageKey&);

  struct Waiting {
    std::size_t unread = 0;
    EpochMs oldest_ms = 0;  // when the oldest of them was first seen; 0: none waits
  };
  [[nodiscard]] Waiting waiting() const;

 private:
  struct Entry {
    EpochMs first_seen_ms = 0;
    bool read = false;
  };
  std::unordered_map<std::string, Entry> before_;  // by key; without what the mailbox knows
  bool looked_ = false;
};

}  // namespace inbox_poller::poller
