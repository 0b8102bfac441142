// The lock on a real file system: taken, met, taken over, released; with a clock that moves when told to.
#include "poller/mailbox/arrays/lock_directory.hpp"

#include <sys/wait.h>

#include "tests/support/catch.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/faulty_filesystem.hpp"
#include "tests/support/scratch.hpp"

namespace inbox_poller::lock_directory_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

/// The number of a process that has ended and was waited for.
int dead_pid() {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(0);
  ::waitpid(pid, nullptr, 0);
  return pid;
}

struct Setting {
  ScratchDir scratch;
  PosixFileSystem real;
  FaultyFileSystem files{real};
  ManualClock clock;
  Directory folder = *files.open_dir(absolute, scratch.path().string());
  LockDirectory locks{files, clock};
  const std::string name = "team-lead.json.lock";
  const fs::path path = scratch.path(name);

  LockAttempt attempt() { return locks.try_acquire(folder, name); }
  LockOutcome outcome() { return attempt().outcome; }
  /// So much time passes, and we look now and then.
  void watch(std::chrono::milliseconds span) {
    for (; span > longest_gap; span -= longest_gap) {
      clock.advance(longest_gap);
      CHECK(outcome() != LockOutcome::acquired);
    }
    clock.advance(span);
  }
};

}  // namespace

TEST_CASE("a free lock is a directory while it is held, with nothing in it, and nothing afterwards") {
  Setting at;
  {
    const LockAttempt attempt = at.attempt();
    REQUIRE(attempt.outcome == LockOutcome::acquired);
    CHECK(attempt.detail.empty());
    CHECK(attempt.lock->still_ours());
    CHECK(fs::is_directory(at.path));
    CHECK(fs::is_empty(at.path));
  }
  CHECK_FALSE(fs::exists(at.path));
}

TEST_CASE("a lock held by a peer is an outcome, and stays untouched") {
  Setting at;
  fs::create_directory(at.path);
  CHECK(at.outcome() == LockOutcome::held);
  at.watch(9'999ms);
  CHECK(at.outcome() == LockOutcome::held);
  CHECK(fs::is_directory(at.path));
  CHECK(at.locks.statistics().refused == 3);
}

TEST_CASE("a lock that has not changed for ten seconds of our clock is taken over, and this is told") {
  Setting at;
  fs::create_directory(at.path);
  SECTION("with the present as its mtime") {}
  SECTION("with an mtime a day ahead, at which peers would wait until tomorrow") {
    fs::last_write_time(at.path, fs::file_time_type::clock::now() + 24h);
  }
  SECTION("while the wall clock jumps") { at.clock.jump_wall(-1h); }
  CHECK(at.outcome() == LockOutcome::held);
  at.watch(10s);
  const LockAttempt attempt = at.attempt();
  CHECK(attempt.outcome == LockOutcome::acquired);
  CHECK_THAT(attempt.detail, Contains("taken over"));
  CHECK(at.locks.statistics().stale_taken == 1);
}

TEST_CASE("a holder that touches its lock every five seconds is never robbed") {
  Setting at;
  fs::create_directory(at.path);
  for (int i = 0; i < 12; ++i) {
    fs::last_write_time(at.path, fs::file_time_type::clock::now() + std::chrono::seconds(i));
    CHECK(at.outcome() == LockOutcome::held);
    at.clock.advance(4900ms);
    CHECK(at.outcome() == LockOutcome::held);  // just before the next touch
    at.clock.advance(100ms);
  }
}

TEST_CASE("of a lock that stays the same is told all the time, so that a log has one line of it") {
  Setting at;
  std::chrono::milliseconds later = 8s;
  SECTION("a peer's") { fs::create_directory(at.path); }
  SECTION("another tool's") {
    spill(at.path, "");
    CHECK(at.outcome() == LockOutcome::held);
    at.clock.advance(5s);
    later = 20s;
  }
  const std::string first = at.attempt().detail;
  CHECK_FALSE(first.empty());
  at.clock.advance(later);
  CHECK(at.attempt().detail == first);
}

TEST_CASE("a lock that another waiter took over just before us is left to it") {
  Setting at;
  fs::create_directory(at.path);
  CHECK(at.outcome() == LockOutcome::held);
  at.watch(10s);
  int looks = 0;
  at.files.before(Call::stat_at, [&](const std::string&) {
    if (++looks != 2) return;  // the last look before removing
    fs::remove(at.path);
    fs::create_directory(at.path);
    fs::last_write_time(at.path, fs::file_time_type::clock::now() + 1s);
  });
  CHECK(at.outcome() == LockOutcome::held);
  CHECK(fs::is_directory(at.path));
}

TEST_CASE("an abandoned lock directory with something in it is reported, never emptied") {
  Setting at;
  fs::create_directory(at.path);
  spill(at.path / "owner", "me");
  CHECK(at.outcome() == LockOutcome::held);
  at.watch(10s);
  const LockAttempt attempt = at.attempt();
  CHECK(attempt.outcome == LockOutcome::foreign);
  CHECK_THAT(attempt.detail, Contains("not empty") && Contains(at.path.string()));
  CHECK(slurp(at.path / "owner") == "me");
}

TEST_CASE("a link, a FIFO or a large file at the lock path is reported at once or after patience, and stays") {
  Setting at;
  SECTION("a link to a folder") {
    fs::create_directory(at.scratch.path("elsewhere"));
    fs::create_symlink("elsewhere", at.path);
  }
  SECTION("a link to nowhere") { fs::create_symlink("nowhere", at.path); }
  SECTION("a FIFO") { REQUIRE(::mkfifo(at.path.c_str(), 0600) == 0); }
  SECTION("a file larger than any lock") {
    spill(at.path, std::string(4097, 'x'));
    CHECK(at.outcome() == LockOutcome::held);
    at.clock.advance(24h);
  }
  const LockAttempt attempt = at.attempt();
  CHECK(attempt.outcome == LockOutcome::foreign);
  CHECK_THAT(attempt.detail, Contains("not a lock") && Contains("a person"));
  CHECK(fs::exists(fs::symlink_status(at.path)));
}

TEST_CASE("the lock file of a dead process is removed after five seconds, and this is told") {
  Setting at;
  spill(at.path, std::to_string(dead_pid()) + "\n1770000000000\n");
  CHECK(at.outcome() == LockOutcome::held);
  at.clock.advance(4'999ms);
  CHECK(at.outcome() == LockOutcome::held);
  at.clock.advance(1ms);
  const LockAttempt attempt = at.attempt();
  CHECK(attempt.outcome == LockOutcome::acquired);
  CHECK_THAT(attempt.detail, Contains("dead") && Contains("removed"));
}

TEST_CASE("the lock file of a live or unnamed process is reported after five seconds and removed after thirty") {
  Setting at;
  SECTION("live") { spill(at.path, "{\"pid\":" + std::to_string(::getpid()) + "}"); }
  SECTION("empty, as a flock user leaves it") { spill(at.path, ""); }
  CHECK(at.outcome() == LockOutcome::held);
  at.clock.advance(5s);
  const LockAttempt reported = at.attempt();
  CHECK(reported.outcome == LockOutcome::foreign);
  CHECK_THAT(reported.detail, Contains("another tool"));
  CHECK(fs::exists(at.path));
  at.watch(25s);
  const LockAttempt attempt = at.attempt();
  CHECK(attempt.outcome == LockOutcome::acquired);
  CHECK_THAT(attempt.detail, Contains("removed"));
}

TEST_CASE("a lock that was broken while we held it is noticed, and the breaker's own lock is not removed") {
  Setting at;
  LockAttempt attempt = at.attempt();
  REQUIRE(attempt.outcome == LockOutcome::acquired);
  fs::remove(at.path);
  SECTION("and gone") {
    CHECK_FALSE(attempt.lock->still_ours());
    const LockRelease release = attempt.lock->release();
    CHECK_FALSE(release.intact);
    CHECK_THAT(release.detail, Contains("broken"));
  }
  SECTION("and held by the breaker") {
    fs::create_directory(at.path);
    fs::last_write_time(at.path, fs::file_time_type::clock::now() + 1s);
    CHECK_FALSE(attempt.lock->still_ours());
    CHECK_FALSE(attempt.lock->release().intact);
    CHECK(fs::is_directory(at.path));
  }
}

TEST_CASE("a lock that was taken over before we had opened it is not taken for ours, and stays") {
  Setting at;
  at.files.once_before(Call::open_dir, ".lock", [&] {
    at.clock.advance(11s);  // this process stood still
    fs::remove(at.path);
    fs::create_directory(at.path);
  });
  const LockAttempt attempt = at.attempt();
  CHECK(attempt.outcome == LockOutcome::held);
  CHECK_THAT(attempt.detail, Contains("stood still"));
  CHECK(fs::is_directory(at.path));
}

TEST_CASE("a lock that could not be removed is told, and cleared by the next attempt without waiting") {
  Setting at;
  LockAttempt attempt = at.attempt();
  REQUIRE(attempt.outcome == LockOutcome::acquired);
  at.files.set({Call::rmdir_at, 1, EIO, true});
  const LockRelease release = attempt.lock->release();
  CHECK(release.intact);
  CHECK_THAT(release.detail, Contains("stays behind"));
  at.files.heal();
  CHECK(at.outcome() == LockOutcome::acquired);
  CHECK_FALSE(fs::exists(at.path));
}

TEST_CASE("one failed removal of our own lock is tried again") {
  Setting at;
  LockAttempt attempt = at.attempt();
  at.files.set({Call::rmdir_at, 1, EIO, false});
  CHECK(attempt.lock->release().detail.empty());
  CHECK_FALSE(fs::exists(at.path));
}

TEST_CASE("a lock that disappears between mkdir and the look is simply tried again") {
  Setting at;
  fs::create_directory(at.path);
  at.files.once_before(Call::stat_at, ".lock", [&] { fs::remove(at.path); });
  CHECK(at.outcome() == LockOutcome::acquired);
}

TEST_CASE("a folder in which no lock can be made is a fault that says so") {
  Setting at;
  at.files.set({Call::mkdir_at, 1, EROFS, true});
  const LockAttempt attempt = at.attempt();
  CHECK(attempt.outcome == LockOutcome::fault);
  CHECK_THAT(attempt.detail, Contains("Read-only"));
  CHECK_FALSE(attempt.lock);
}

TEST_CASE("statistics tell how long locks were held") {
  Setting at;
  for (int i = 1; i <= 100; ++i) {
    LockAttempt attempt = at.attempt();
    at.clock.advance(std::chrono::milliseconds(i));
  }
  const Contention statistics = at.locks.statistics();
  CHECK(statistics.acquired == 100);
  CHECK(statistics.median_us == 51'000);
  CHECK(statistics.p99_us == 100'000);
  CHECK(statistics.refused == 0);
}

}  // namespace inbox_poller::lock_directory_test
