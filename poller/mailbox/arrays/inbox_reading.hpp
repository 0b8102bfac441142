// One reading of an inbox file: all of it, or what lies behind the known head, in windows of bounded size. What it is
// not: about locks, and about what becomes of a reading. Invariant: the bytes of a reading are of one version of the
// file, which was scanned to its end before anybody saw the first entry; a window that is fetched later is compared
// with what was scanned. Source: docs/adr/0013-the-known-head-of-an-inbox.md.
#pragma once

#include <string>

#include "poller/mailbox/arrays/inbox_file.hpp"

namespace inbox_poller::poller {

/// What is read, and how.
struct InboxSource {
  FileSystem& files;
  const Clock& clock;
  const Directory& folder;
  const std::string& file;
  schema::KeyScope scope;
  std::uint64_t limit = 0;  // bytes
};

inline constexpr std::size_t window_size = std::size_t{4} << 20;  // bytes; an entry that is larger has a larger window

/// All of it. `snapshot` gets the version that was read.
ReadResult read_whole(const InboxSource& source, Snapshot& snapshot);

/// What follows the known head. A file that moves or does not parse is read as a whole once more, for those who
/// salvage.
ReadResult read_behind(const InboxSource& source, const PrefixCache& known, Snapshot& snapshot,
                       std::size_t window = window_size);

/// Puts the bytes of a window at hand, if the file still has them.
bool show_window(FileSystem& files, ReadResult& reading, std::size_t window);

/// All of a file, and no array in it: nothing but white space.
bool is_blank(const InboxDocument& document);
/// For people: "… at byte 12".
std::string describe(const schema::ScanProblem& problem);

/// The longest known beginning that these bytes have.
Head recognise(std::string_view bytes, const PrefixCache& known);

}  // namespace inbox_poller::poller
