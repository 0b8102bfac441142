// What was read is gone, but the allocator of glibc keeps its pages: between the small things that stay after a first
// reading of many inboxes lies several times as much free memory. Elsewhere the allocator sees to it.
#pragma once

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace inbox_poller::poller {

/// Gives free pages back to the system. Takes about a millisecond when there are many: now and then is enough.
inline void give_back_free_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace inbox_poller::poller
