// Any history of a lock path: what was touched lately is never taken over or removed, whatever its times say; and a
// lock file's process id is a number that stands in it.
#include "poller/mailbox/arrays/lock_decision.hpp"

#include "tests/fuzz/fuzz.hpp"

namespace inbox_poller::fuzz::of_lock_decision {

using namespace inbox_poller::poller;

namespace {

struct Look {
  FileStat seen;
  SteadyTime at;
};

/// Since when the last look's thing has been seen at every look, by a plain walk backwards.
SteadyTime unchanged_since(const std::vector<Look>& looks) {
  const FileStat& last = looks.back().seen;
  SteadyTime since = looks.back().at;
  for (auto look = looks.rbegin(); look != looks.rend(); ++look) {
    const FileStat& s = look->seen;
    if (s.kind != last.kind || s.dev != last.dev || s.ino != last.ino || s.mtime_ns != last.mtime_ns) break;
    since = look->at;
  }
  return since;
}

void check(LockStep step, const FileStat& seen, std::chrono::nanoseconds unchanged) {
  switch (step) {
    case LockStep::take_over: EXPECT(seen.kind == FileKind::directory && unchanged >= std::chrono::seconds(10)); break;
    case LockStep::examine_file: EXPECT(seen.kind == FileKind::regular && unchanged >= std::chrono::seconds(5)); break;
    case LockStep::remove_file: EXPECT(seen.kind == FileKind::regular && unchanged >= std::chrono::seconds(30)); break;
    case LockStep::wait: EXPECT(unchanged < std::chrono::seconds(10) || seen.kind == FileKind::regular); break;
    case LockStep::refuse: EXPECT(seen.kind != FileKind::directory); break;
  }
  if (step == LockStep::examine_file || step == LockStep::remove_file) EXPECT(seen.size <= 4096);
}

void check_history(const std::uint8_t* data, std::size_t size) {
  std::vector<Look> looks;
  std::optional<LockObservation> observation;
  SteadyTime now{};
  for (std::size_t i = 0; i + 4 <= size; i += 4) {
    now += std::chrono::milliseconds(data[i] * 50);
    FileStat seen;
    seen.kind = static_cast<FileKind>(data[i + 1] % 4);
    seen.ino = 1U + data[i + 2] % 3;
    seen.size = std::uint64_t{data[i + 1]} * 64;
    seen.mtime_ns = (data[i + 3] % 3 - 1) * 4'000'000'000'000'000'000;  // long ago, now, and far in the future
    looks.push_back({seen, now});
    observation = observe(observation, seen, now);
    EXPECT(observation->since >= unchanged_since(looks) && observation->since <= now);
    check(decide(*observation, now), seen, now - observation->since);
  }
}

}  // namespace

int try_one(const std::uint8_t* data, std::size_t size) {
  check_history(data, size);
  const std::string_view content = as_text(data, size);
  if (const auto pid = pid_in_lock_file(content)) {
    EXPECT(*pid > 0);
    EXPECT(content.find(std::to_string(*pid)) != std::string_view::npos);
  }
  return 0;
}

const Target registered("lock_decision", try_one);

}  // namespace inbox_poller::fuzz::of_lock_decision
