// File events of a simulated machine, as inotify(7) reports them to the daemon: what happened to a watched file, in order.
// Equal events in a row are one, as in the kernel. The functions of inotify are replaced at link time, like the clocks of
// virtual_time.hpp.
#pragma once

#include <cstdint>

namespace inbox_poller::sim {

struct Node;

/// Adds an event (IN_OPEN, IN_ACCESS, …) to all watches of this file.
void note_event(const Node& node, std::uint32_t what);

}  // namespace inbox_poller::sim
