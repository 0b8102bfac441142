// For LD_PRELOAD: how much of the heap is in use, told once a second in HEAP_FILE ("<pid> <KiB in use> <KiB of the heap>"). What is
// resident never falls below the greatest peak so far, so it creeps for hours where peaks are random; what is in use does not.
#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace {

void* tell(void* path) {
  for (;;) {
    const struct mallinfo2 heap = mallinfo2();
    if (FILE* file = std::fopen(static_cast<const char*>(path), "w")) {
      std::fprintf(file, "%d %zu %zu\n", static_cast<int>(getpid()), (heap.uordblks + heap.hblkhd) >> 10, heap.arena >> 10);
      std::fclose(file);
    }
    usleep(1'000'000);
  }
}

__attribute__((constructor)) void at_the_start() {
  char* path = std::getenv("HEAP_FILE");
  pthread_t thread;
  if (path != nullptr && pthread_create(&thread, nullptr, tell, path) == 0) pthread_detach(thread);
}

}  // namespace
