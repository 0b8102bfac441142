// A peer that writes into an inbox, as the two generations of clients do: lock directory, whole file read, one entry
// more, whole file written. Which bytes are written is the same as JSON.stringify(array, null, 2) would give.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/bench/stamps.hpp"

namespace inbox_poller::bench {

enum class Style {
  replace,  // newest clients: ten tries at the lock, temporary file and rename
  rewrite,  // 2.1.50: one try at the lock, then truncate and write in place
};

struct PeerFile {
  std::string folder;  // …/inboxes
  std::string name;    // team-lead
  [[nodiscard]] std::string path() const { return folder + "/" + name + ".json"; }
  [[nodiscard]] std::string lock() const { return path() + ".lock"; }
};

std::string read_whole(const std::string& path);
/// Truncates and writes, without a sync.
void write_whole(const std::string& path, std::string_view bytes);

/// An entry in the spelling of the newest clients, at depth one of the array. `text` must need no escape but '"'.
std::string entry_of(std::string_view from, std::string_view text, bool read, std::size_t number);
std::string inbox_of(const std::vector<std::string>& entries);

/// Appends, noting the moments in the slot.
void append(const PeerFile&, const std::string& entry, Style, Slot&);

/// Takes everything out of an inbox, as a newest worker does once it has read it. Waits for the lock.
void empty(const PeerFile&);

void pause_for(Nanoseconds);

}  // namespace inbox_poller::bench
