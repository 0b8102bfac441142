#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "ledger_support.hpp"

namespace inbox_poller::poller::ledger_test::ledger_crash_test {
namespace {

constexpr int messages_per_tick = 10;

std::string tick_key(long long tick, int i) { return "tick " + std::to_string(tick) + " message " + std::to_string(i); }

/// What one tick of the daemon commits together.
Status one_tick(Ledger& ledger, long long& tick) {
  return ledger.transaction([&]() -> Status {
    auto batch = ledger.next_batch();
    if (!batch) return batch.error();
    tick = *batch;
    for (int i = 0; i < messages_per_tick; ++i) {
      auto inserted = ledger.messages().insert(chat_row(tick_key(tick, i), tick));
      if (!inserted) return inserted.error();
    }
    const std::string id = "request " + std::to_string(tick);
    if (auto put = ledger.requests().put("red", request_row(id, handlers::RequestState::denied)); !put) return put;
    return ledger.outbox().enqueue(outbox_row("ann", "reply to " + id, id));
  });
}

/// Runs `work` in a child process that nobody waits for to finish; the child never returns into the test program.
template <class Work>
pid_t in_child(Work work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::_exit(3);
  }
  REQUIRE(child > 0);
  return child;
}

void reap(pid_t child, int expected_signal) {
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == expected_signal);
}

}  // namespace

TEST_CASE("killed in the middle of a transaction: nothing of it is there, everything before it is") {
  TemporaryDirectory directory;
  const std::string path = directory.file("ledger.db");
  reap(in_child([&] {
         auto ledger = Ledger::open(path);
         if (!ledger || !(*ledger)->messages().insert(message_row("committed"))) return;
         static_cast<void>((*ledger)
                               ->transaction([&]() -> Status {
                                 static_cast<void>((*ledger)->messages().insert(message_row("not committed")).ok());
                                 ::kill(::getpid(), SIGKILL);
                                 return Done{};
                               })
                               .ok());
       }),
       SIGKILL);
  auto ledger = must(Ledger::open(path));  // the dead process's lock is gone with it
  CHECK(must(ledger->messages().known(named("committed"))));
  CHECK_FALSE(must(ledger->messages().known(named("not committed"))));
}

TEST_CASE(
    "killed at any moment: every tick that was said to be committed is there, and every tick is whole or absent") {
  TemporaryDirectory directory;
  const std::string path = directory.file("ledger.db");
  long long said = 0;
  for (int round = 0; round < 12; ++round) {
    int pipe[2];
    REQUIRE(::pipe(pipe) == 0);
    const pid_t child = in_child([&] {
      ::close(pipe[0]);
      auto ledger = Ledger::open(path);
      long long tick = 0;
      while (ledger.ok() && one_tick(**ledger, tick).ok()) {
        if (::write(pipe[1], &tick, sizeof tick) != sizeof tick) return;
      }
    });
    ::close(pipe[1]);
    // Every other child is killed early, maybe before its first commit; the others some time after it.
    long long tick = 0;
    if (round % 2 == 1 && ::read(pipe[0], &tick, sizeof tick) == sizeof tick) said = tick;
    std::this_thread::sleep_for(std::chrono::milliseconds(1 + 7 * round));  // clock: a kill at any moment
    ::kill(child, SIGKILL);
    reap(child, SIGKILL);
    while (::read(pipe[0], &tick, sizeof tick) == sizeof tick) said = tick;
    ::close(pipe[0]);

    auto ledger = must(Ledger::open(path));
    const long long next = must(ledger->next_batch());
    CHECK(next > said);
    for (tick = 1; tick < next; ++tick) {
      int there = 0;
      for (int i = 0; i < messages_per_tick; ++i) there += must(ledger->messages().known(named(tick_key(tick, i)))) ? 1 : 0;
      const std::string id = "request " + std::to_string(tick);
      const bool asked =
          must(ledger->requests().find("red", {handlers::RequestKind::permission, "ann", id})).has_value();
      const bool owed = must(ledger->outbox().of_request("red", id)).size() == 1;
      INFO("tick " << tick << ", said " << said);
      CHECK((there == messages_per_tick || there == 0));
      CHECK((asked == (there != 0) && owed == asked));
    }
  }
  CHECK(said > 0);  // otherwise nothing was shown
}

}  // namespace inbox_poller::poller::ledger_test::ledger_crash_test
