// For LD_PRELOAD: clocks that a test sets while the program runs. CLOCK_FILE names a file of two 64-bit numbers of
// milliseconds in the machine's byte order, which is mapped: what is added to the wall clock, and for how long the
// machine has slept, which is added to CLOCK_BOOTTIME alone (a suspend moves that and the wall clock; CLOCK_MONOTONIC
// stands still in it). Without the variable or the file the clocks are those of the system. The times of files are the
// kernel's in any case.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace {

struct Shifts {
  volatile std::int64_t wall_ms;
  volatile std::int64_t slept_ms;
};

const Shifts* map() {
  static const Shifts none{0, 0};
  const char* path = ::getenv("CLOCK_FILE");
  const int file = path != nullptr ? ::open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return &none;
  void* mapped = ::mmap(nullptr, sizeof(Shifts), PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  return mapped == MAP_FAILED ? &none : static_cast<const Shifts*>(mapped);
}

const Shifts& shifts() {
  static const Shifts* const mapped = map();
  return *mapped;
}

int real_time_of(clockid_t clock, timespec* time) {
  using Call = int (*)(clockid_t, timespec*);
  static const Call next = reinterpret_cast<Call>(::dlsym(RTLD_NEXT, "clock_gettime"));
  return next(clock, time);
}

bool is_wall(clockid_t clock) {
#ifdef CLOCK_REALTIME_COARSE
  if (clock == CLOCK_REALTIME_COARSE) return true;
#endif
  return clock == CLOCK_REALTIME;
}

bool counts_sleep(clockid_t clock) {
#ifdef CLOCK_BOOTTIME
  if (clock == CLOCK_BOOTTIME) return true;
#endif
  return false;
}

void shift(timespec& time, std::int64_t by_ms) {
  time.tv_sec += by_ms / 1000;
  time.tv_nsec += by_ms % 1000 * 1'000'000;
  if (time.tv_nsec < 0) {
    time.tv_nsec += 1'000'000'000;
    --time.tv_sec;
  }
  if (time.tv_nsec >= 1'000'000'000) {
    time.tv_nsec -= 1'000'000'000;
    ++time.tv_sec;
  }
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const int result = real_time_of(clock, time);
  if (result != 0) return result;
  if (is_wall(clock)) shift(*time, shifts().wall_ms);
  if (counts_sleep(clock)) shift(*time, shifts().slept_ms);
  return 0;
}

int gettimeofday(timeval* time, void*) noexcept {
  timespec now{};
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  *time = {now.tv_sec, static_cast<suseconds_t>(now.tv_nsec / 1000)};
  return 0;
}

time_t time(time_t* out) noexcept {
  timespec now{};
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  if (out != nullptr) *out = now.tv_sec;
  return now.tv_sec;
}
}
