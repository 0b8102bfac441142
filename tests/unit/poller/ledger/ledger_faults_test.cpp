// The loop that SQLite tests itself with: the Nth operation on the disk fails, for N = 1, 2, … until none fails any
// more.
#include "failing_disk.hpp"
#include "ledger_support.hpp"

namespace inbox_poller::poller::ledger_test::ledger_faults_test {
namespace {

Status write_tick(Ledger& ledger, const std::string& name) {
  for (int i = 0; i < 3; ++i) {
    MessageRow row = chat_row(name + std::to_string(i));
    row.message.text = std::string(6000, 'x');  // more than one page
    auto inserted = ledger.messages().insert(row);
    if (!inserted) return inserted.error();
  }
  return ledger.outbox().enqueue(outbox_row("ann", name, name));
}

Status one_tick(Ledger& ledger, const std::string& name) {
  return ledger.transaction([&] { return write_tick(ledger, name); });
}

bool all_of_tick(Ledger& ledger, const std::string& name) {
  const bool first = must(ledger.messages().known(named(name + "0")));
  for (int i = 1; i < 3; ++i) CHECK(must(ledger.messages().known(named(name + std::to_string(i)))) == first);
  CHECK(must(ledger.outbox().of_request("red", name)).size() == (first ? 1U : 0U));
  return first;
}

bool is_disk_fault(const std::string& code) { return code == "ledger.io" || code == "ledger.full"; }

}  // namespace

TEST_CASE("the Nth operation on the disk fails: the tick is whole or absent, said to be committed only when it is") {
  for (const int error : {SQLITE_FULL, SQLITE_IOERR_WRITE}) {
    for (const bool persistent : {false, true}) {
      bool any_failed = true;
      for (int n = 1; any_failed; ++n) {
        REQUIRE(n < 500);
        TemporaryDirectory directory;
        FailingDisk disk;
        const std::string path = directory.file("ledger.db");
        auto ledger = must(Ledger::open(path));
        must(one_tick(*ledger, "before"));
        disk.fail(n, error, persistent);
        const auto tick = one_tick(*ledger, "during");
        any_failed = disk.failed();
        INFO("operation " << n << (persistent ? " and all after it" : "") << ": " << code_of(tick));
        if (!tick.ok()) CHECK(is_disk_fault(code_of(tick)));
        CHECK(all_of_tick(*ledger, "before"));
        CHECK(all_of_tick(*ledger, "during") == tick.ok());
        disk.fail(0, 0, false);
        must(one_tick(*ledger, "after"));
        ledger.reset();

        ledger = must(Ledger::open(path));
        CHECK(all_of_tick(*ledger, "before"));
        CHECK(all_of_tick(*ledger, "during") == tick.ok());
        CHECK(all_of_tick(*ledger, "after"));
      }
    }
  }
}

TEST_CASE("the Nth operation fails while two teams commit together: each is whole or absent, and told which") {
  for (const int error : {SQLITE_FULL, SQLITE_IOERR_WRITE}) {
    bool any_failed = true;
    for (int n = 1; any_failed; ++n) {
      REQUIRE(n < 500);
      TemporaryDirectory directory;
      FailingDisk disk;
      auto ledger = must(Ledger::open(directory.file("ledger.db")));
      Status one = Done{};
      Status two = Done{};
      disk.fail(n, error, false);
      const auto both = ledger->transaction([&]() -> Status {
        if (auto goes_on = ledger->attempt([&] { return write_tick(*ledger, "one"); }, one); !goes_on) return goes_on;
        return ledger->attempt([&] { return write_tick(*ledger, "two"); }, two);
      });
      any_failed = disk.failed();
      disk.fail(0, 0, false);
      INFO("operation " << n << ": " << code_of(both) << ", " << code_of(one) << ", " << code_of(two));
      CHECK(all_of_tick(*ledger, "one") == (both.ok() && one.ok()));
      CHECK(all_of_tick(*ledger, "two") == (both.ok() && two.ok()));
      must(one_tick(*ledger, "after"));
    }
  }
}

TEST_CASE("a part that fails undoes its own writes and nothing else") {
  TemporaryDirectory directory;
  auto ledger = must(Ledger::open(directory.file("ledger.db")));
  Status one = Done{};
  Status two = Done{};
  must(ledger->transaction([&]() -> Status {
    must(ledger->attempt([&] { return write_tick(*ledger, "one"); }, one));
    return ledger->attempt(
        [&]() -> Status {
          must(write_tick(*ledger, "two"));
          return Error{"ledger.final", "decided before"};
        },
        two);
  }));
  CHECK(all_of_tick(*ledger, "one"));
  CHECK_FALSE(all_of_tick(*ledger, "two"));
  CHECK(code_of(two) == "ledger.final");
}

TEST_CASE("what cannot be read of a ledger for want of memory, or by a failing disk, is not called damaged") {
  for (const int error : {SQLITE_IOERR_NOMEM, SQLITE_NOMEM, SQLITE_IOERR_READ}) {
    TemporaryDirectory directory;
    FailingDisk disk;
    const std::string path = directory.file("ledger.db");
    must(one_tick(*must(Ledger::open(path)), "before"));
    int refused = 0;
    for (int n = 1;; ++n) {
      REQUIRE(n < 2000);
      disk.fail_read(n, error);
      const auto code = code_of(Ledger::open(path));
      if (!disk.read_failed()) break;
      INFO("reading " << n << ", error " << error << ": " << code);
      CHECK(code != "ledger.damaged");
      refused += code == "ok" ? 0 : 1;
    }
    CHECK(refused > 0);
    disk.fail_read(0, 0);
    CHECK(all_of_tick(*must(Ledger::open(path)), "before"));
  }
}

TEST_CASE(
    "the Nth operation fails while a ledger is made: there is no half ledger, and the next attempt makes a whole one") {
  bool any_failed = true;
  int refused = 0;
  for (int n = 1; any_failed; ++n) {
    REQUIRE(n < 500);
    TemporaryDirectory directory;
    FailingDisk disk;
    const std::string path = directory.file("ledger.db");
    disk.fail(n, SQLITE_FULL, true);
    const auto code = code_of(Ledger::open(path));
    any_failed = disk.failed();
    INFO("operation " << n << ": " << code);
    if (code != "ok") CHECK(is_disk_fault(code));
    refused += code == "ok" ? 0 : 1;
    disk.fail(0, 0, false);
    must(one_tick(*must(Ledger::open(path)), "after"));
  }
  CHECK(refused > 0);
}

}  // namespace inbox_poller::poller::ledger_test::ledger_faults_test
