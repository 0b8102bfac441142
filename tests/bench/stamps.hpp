// What is noted of each message, in memory that the load generator shares with its writer processes. One writer fills
// the fields of one slot, its receiver fills `received` and `times`; they are compared when all writers have ended.
// Times are nanoseconds of CLOCK_MONOTONIC, which is one clock for all processes of a machine.
#pragma once

#include <sys/mman.h>
#include <time.h>

#include <cstdint>
#include <span>
#include <string>

#include "tests/bench/options.hpp"

namespace inbox_poller::bench {

using Nanoseconds = std::int64_t;

inline Nanoseconds read_clock(clockid_t which) {
  timespec now{};
  if (::clock_gettime(which, &now) != 0) return 0;
  return static_cast<Nanoseconds>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}
inline Nanoseconds now_ns() { return read_clock(CLOCK_MONOTONIC); }

/// CPU time of another process and all of its threads; 0 when it is not there. clock_getcpuclockid(3) in one line.
inline Nanoseconds cpu_ns(pid_t process) {
  clockid_t which{};
  return process > 0 && ::clock_getcpuclockid(process, &which) == 0 ? read_clock(which) : 0;
}

enum class Fate : std::int32_t { never_tried, written, refused };  // refused: the writer met a held lock and gave up

struct Slot {
  Nanoseconds stamp;         // stands in the text
  Nanoseconds locked;        // when the writer had the lock
  Nanoseconds complete;      // just before the rename of a complete file, or just after the write of one in place
  Nanoseconds complete_utc;  // the same moment by the wall clock
  Nanoseconds unlocked;      // when the lock had gone
  Nanoseconds received;      // first time
  Nanoseconds cpu_before;    // of the measured process, before the message was written
  Nanoseconds cpu_after;     // one pause after it arrived
  Nanoseconds window;        // between the two
  Fate fate;
  std::int32_t times;        // received
  std::int32_t wrong_stamp;  // received with another stamp than was written
};

inline std::span<Slot> shared_slots(std::size_t count) {
  const std::size_t size = (count + 1) * sizeof(Slot);
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) give_up("no shared memory");
  return {static_cast<Slot*>(memory), count};  // zeroed by the kernel
}

/// What the consumer can check: `bench <id> <stamp> xxx…`, of at least `size` bytes.
inline std::string message_text(std::size_t id, Nanoseconds stamp, std::size_t size) {
  std::string text = "bench " + std::to_string(id) + " " + std::to_string(stamp) + " ";
  if (text.size() < size) text.resize(size, 'x');
  return text;
}

}  // namespace inbox_poller::bench
