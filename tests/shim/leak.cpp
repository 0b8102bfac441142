// For LD_PRELOAD: memory that nobody can free any more. A check for leaks that does not see it sees none.
#include <cstdlib>

namespace {

__attribute__((noinline)) void lose(int count) {
  for (; count > 0; --count) {
    void* volatile lost = std::malloc(4242);
    static_cast<volatile char*>(lost)[0] = 1;
  }
}

__attribute__((constructor)) void at_the_start() { lose(100); }

}  // namespace
