// Return of free memory to the system. After a first read of many inboxes glibc keeps several times as much free memory
// as is in use, between small objects. Other allocators need no help.
#pragma once

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace inbox_poller::poller {

/// Returns free pages to the system. Takes about a millisecond if there are many, so call it rarely.
inline void release_free_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace inbox_poller::poller
