// One reading of an inbox file: all of it, or the part after the known head, in windows of bounded size. Locks, and
// the use of a reading, are outside of this file's scope.
// Invariant: the bytes of a reading belong to one version of the file, which was scanned to its end before any entry
// is shown. A window that is loaded later is compared with the scanned bytes.
// Source: docs/adr/0013-the-known-head-of-an-inbox.md.
#pragma once

#include <string>

#include "poller/mailbox/arrays/inbox_file.hpp"

namespace inbox_poller::poller {

/// The file to read, with the limit and the key scope for its entries.
struct InboxSource {
  FileSystem& files;
  const Clock& clock;
  const Directory& folder;
  const std::string& file;
  schema::KeyScope scope;
  std::uint64_t limit = 0;  // bytes
};

inline constexpr std::size_t window_size = std::size_t{4} << 20;  // bytes; a larger entry has a larger window

/// Reads all of the file. `snapshot` receives the version that was read.
ReadResult read_whole(const InboxSource& source, Snapshot& snapshot);

/// Reads the part after the known head. A file that changes meanwhile or does not parse is read once more as a whole,
/// so that complete entries can be salvaged.
ReadResult read_behind(const InboxSource& source, const PrefixCache& known, Snapshot& snapshot,
                       std::size_t window = window_size);

/// Loads the bytes of a window. Returns false if the file no longer has them.
bool show_window(FileSystem& files, ReadResult& reading, std::size_t window);

/// True for a whole file of white space, without an array.
bool is_blank(const InboxDocument& document);
/// Describes a problem for people: "… at byte 12".
std::string describe(const schema::ScanProblem& problem);

/// Returns the longest known beginning that these bytes have.
Head recognize(std::string_view bytes, const PrefixCache& known);

}  // namespace inbox_poller::poller
