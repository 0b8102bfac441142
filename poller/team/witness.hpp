// Who consumes the lead's inbox beside us: compares each reading of it with the one before. As leader it gives signs of
// a foreign consumer; as front or observer it tells what the lead took and how long that waited. Memory only: the first
// reading after a start says nothing about what was before.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "poller/ledger/ledger.hpp"
#include "schema/inbox_document.hpp"

namespace inbox_poller::poller {

class Witness {
 public:
  struct Consumed {
    schema::MessageKey key;
    EpochMs waited_ms = 0;  // from our first look at it
  };
  struct Sighting {
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
  Sighting look(const schema::InboxDocument&, EpochMs now_ms, Recognised = {0, 0});
  /// The mailbox knows the first so many entries of the document now, all read, and tells them from new ones.
  void leave_to_mailbox(const schema::InboxDocument&, std::size_t entries);
  /// The file itself has gone or is none any more: no client consumes like that, so what follows is a first reading.
  void forget();
  /// We have marked these read; their going is no surprise.
  void marked_by_us(const schema::MessageKey&);
  /// We have taken it out of the file.
  void removed_by_us(const schema::MessageKey&);

  struct Totals {
    std::uint64_t consumed = 0;
    std::uint64_t waiting = 0;
    EpochMs oldest_waiting_ms = 0;  // when the oldest waiting one was first seen; 0: none waits
    EpochMs longest_ms = 0;         // the longest that one waited
  };
  [[nodiscard]] Totals totals() const;

 private:
  struct Entry {
    EpochMs first_seen_ms = 0;
    bool read = false;
  };
  std::unordered_map<std::string, Entry> before_;  // by key; without what the mailbox knows
  bool looked_ = false;
  std::uint64_t consumed_ = 0;
  EpochMs longest_ms_ = 0;
};

}  // namespace inbox_poller::poller
