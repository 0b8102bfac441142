// The fate of a line that the daemon wrote to a worker's inbox, derived from the file's events since then. Pure.
// Source: docs/adr/0032-jsonl-lines.md.
#pragma once

#include <span>

#include "poller/file_watch.hpp"

namespace inbox_poller::poller {

/// The conclusion that the events of a file allow about one line.
enum class Proof {
  waiting,    // the line is in the file and unread
  read,       // another process read the file while the line was in it
  destroyed,  // the file was emptied or replaced before any process read the line
  doubtful,   // the events are ambiguous: the caller must read the file
};

/// Derives the fate of one line from `events`, in their order. The events belong to one file, are later than the write
/// and exclude the daemon's own accesses. No other process had the file open when the line was written.
/// `still_as_long` is true if the file still reaches to the line's end.
Proof proof_of(std::span<const FileEvent::What> events, bool still_as_long);

}  // namespace inbox_poller::poller
