// What is done about something at a lock path, as a table: kind, size and how long it has not changed.
#include "poller/mailbox/arrays/lock_decision.hpp"

#include <string>

#include "tests/support/catch.hpp"

namespace inbox_poller::lock_decision_test {

using namespace inbox_poller::poller;
using namespace std::chrono_literals;

namespace {

const SteadyTime start = SteadyTime{} + 1h;

FileStat thing(FileKind kind, std::uint64_t size = 0) {
  FileStat stat;
  stat.kind = kind;
  stat.dev = 1;
  stat.ino = 42;
  stat.size = size;
  stat.mtime_ns = 1'000;
  return stat;
}

}  // namespace

TEST_CASE("what stands at a lock path is waited for, taken over or left to a person, by kind and age") {
  struct Row {
    FileKind kind;
    std::uint64_t size;
    std::chrono::milliseconds unchanged_for;
    LockStep expected;
  };
  const Row rows[] = {
      {FileKind::directory, 0, 0ms, LockStep::wait},
      {FileKind::directory, 0, 9'999ms, LockStep::wait},
      {FileKind::directory, 0, 10s, LockStep::take_over},
      {FileKind::directory, 0, 24h, LockStep::take_over},
      {FileKind::directory, 1'000'000, 10s, LockStep::take_over},  // a folder's size means nothing
      {FileKind::regular, 10, 0ms, LockStep::wait},
      {FileKind::regular, 10, 4'999ms, LockStep::wait},
      {FileKind::regular, 10, 5s, LockStep::examine_file},
      {FileKind::regular, 10, 29'999ms, LockStep::examine_file},
      {FileKind::regular, 10, 30s, LockStep::remove_file},
      {FileKind::regular, 0, 30s, LockStep::remove_file},
      {FileKind::regular, 4'096, 30s, LockStep::remove_file},
      {FileKind::regular, 4'097, 4'999ms, LockStep::wait},
      {FileKind::regular, 4'097, 5s, LockStep::refuse},
      {FileKind::regular, 4'097, 24h, LockStep::refuse},
      {FileKind::symlink, 3, 0ms, LockStep::refuse},
      {FileKind::symlink, 3, 24h, LockStep::refuse},
      {FileKind::other, 0, 0ms, LockStep::refuse},
      {FileKind::other, 0, 24h, LockStep::refuse},
  };
  for (const Row& row : rows) {
    CAPTURE(describe(row.kind), row.size, row.unchanged_for.count());
    CHECK(decide({thing(row.kind, row.size), start}, start + row.unchanged_for) == row.expected);
  }
}

TEST_CASE("a look that finds the same thing untouched continues the observation") {
  const FileStat seen = thing(FileKind::directory);
  const LockObservation first = observe(std::nullopt, seen, start);
  CHECK(first.since == start);
  CHECK(observe(first, seen, start + 5s).since == start);
}

TEST_CASE("time in which nobody looked does not count: the holder may have stood still with us") {
  const FileStat seen = thing(FileKind::directory);
  LockObservation observation = observe(std::nullopt, seen, start);
  observation = observe(observation, seen, start + 1s);
  observation = observe(observation, seen, start + 1h);  // stopped, with the machine or with the container
  CHECK(decide(observation, start + 1h) == LockStep::wait);
  observation =
      observe(observation, seen, start + 1h + 3'999ms);  // of ten seconds one before it, five of it, four after it
  CHECK(decide(observation, start + 1h + 3'999ms) == LockStep::wait);
  observation = observe(observation, seen, start + 1h + 4s);
  CHECK(decide(observation, start + 1h + 4s) == LockStep::take_over);
}

TEST_CASE("a holder that touches its lock, or a new lock in the same place, begins the observation anew") {
  const LockObservation first = observe(std::nullopt, thing(FileKind::directory), start);
  FileStat touched = thing(FileKind::directory);
  touched.mtime_ns += 1;
  FileStat another = thing(FileKind::directory);
  another.ino += 1;
  FileStat elsewhere = thing(FileKind::directory);
  elsewhere.dev += 1;
  for (const FileStat& seen : {touched, another, elsewhere, thing(FileKind::regular)}) {
    CHECK(observe(first, seen, start + 7s).since == start + 7s);
  }
}

TEST_CASE("an mtime in the future does not protect an abandoned lock, nor does one in the past condemn a live one") {
  FileStat stat = thing(FileKind::directory);
  for (const std::int64_t mtime : {std::int64_t{0}, std::int64_t{4'000'000'000'000'000'000}}) {
    stat.mtime_ns = mtime;
    LockObservation observation = observe(std::nullopt, stat, start);
    CHECK(decide(observation, start) == LockStep::wait);
    observation = observe(observation, stat, start + 5s);
    CHECK(decide(observe(observation, stat, start + 10s), start + 10s) == LockStep::take_over);
  }
}

TEST_CASE(
    "the process of another tool's lock file is read in the two forms that exist, and nothing else is taken for one") {
  CHECK(pid_in_lock_file("4711\n1770000000000\n") == 4711);
  CHECK(pid_in_lock_file("4711") == 4711);
  CHECK(pid_in_lock_file(R"({"pid": 4711, "created_at": 1, "ttl_seconds": 30})") == 4711);
  CHECK(pid_in_lock_file(R"( {"created_at":1,"pid":4711})") == 4711);
  for (const char* content : {"", " ", "x", "-1", "0", "4711abc", "99999999999999999999", "{}", R"({"pid"})",
                              R"({"pid":})", R"({"pid":"4711"})", R"({"pid":0})", "{\"pid\" 1}", "pid: 4711"}) {
    CAPTURE(std::string(content));
    CHECK_FALSE(pid_in_lock_file(content));
  }
}

}  // namespace inbox_poller::lock_decision_test
