// What became of a line of ours in a worker's inbox, going by what was done with the file since. Pure.
// Source: docs/adr/0032-jsonl-lines.md.
#pragma once

#include <span>

#include "poller/file_watch.hpp"

namespace inbox_poller::poller {

enum class Proof {
  waiting,    // nobody has read it, and it stands there
  read,       // somebody read the file while it stood there
  destroyed,  // the file was emptied, or another took its place, and nobody had read it
  doubtful,   // both may be: whether it still stands there must be looked at
};

/// `events` are of the one file, none of them ours, since the line was written: at that moment nobody had it open.
/// `still_as_long`: the file is not shorter now than the line's end.
Proof proof_of(std::span<const FileEvent::What> events, bool still_as_long);

}  // namespace inbox_poller::poller
