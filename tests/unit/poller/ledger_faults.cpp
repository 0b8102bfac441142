// The loop that SQLite tests itself with: the Nth operation on the disk fails, for N = 1, 2, … until none fails any
// more.
#include <cstring>

#include "ledger_support.hpp"

namespace inbox_poller::poller::test {
namespace {

/// The default VFS, except that operations can be made to fail. Only what changes a file or makes it durable is
/// counted.
class FailingDisk {
 public:
  FailingDisk() : real_(sqlite3_vfs_find(nullptr)) {
    self() = this;
    vfs_ = *real_;
    vfs_.zName = "failing";
    vfs_.pNext = nullptr;
    vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_->szOsFile;
    vfs_.xOpen = &open;
    vfs_.xDelete = [](sqlite3_vfs*, const char* name, int sync) {
      return self()->fails() ? SQLITE_IOERR_DELETE : self()->real_->xDelete(self()->real_, name, sync);
    };
    REQUIRE(sqlite3_vfs_register(&vfs_, 1) == SQLITE_OK);
  }
  ~FailingDisk() { sqlite3_vfs_unregister(&vfs_); }
  FailingDisk(const FailingDisk&) = delete;
  FailingDisk& operator=(const FailingDisk&) = delete;

  /// The `n`-th operation from now fails with `error`, and with `persistent` all after it. 0: none.
  void fail(int n, int error, bool persistent) {
    countdown_ = n;
    error_ = error;
    persistent_ = persistent;
    failed_ = false;
  }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  struct File {
    sqlite3_file base;
    sqlite3_file* real;
  };

  static FailingDisk*& self() {
    static FailingDisk* disk = nullptr;
    return disk;
  }
  static sqlite3_file* real(sqlite3_file* file) { return reinterpret_cast<File*>(file)->real; }

  bool fails() {
    if (countdown_ == 0) return false;
    if (countdown_ > 1) {
      --countdown_;
      return false;
    }
    if (!persistent_) countdown_ = 0;
    failed_ = true;
    return true;
  }
  static int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
    auto* wrapped = reinterpret_cast<File*>(file);
    wrapped->base.pMethods = nullptr;
    wrapped->real = reinterpret_cast<sqlite3_file*>(wrapped + 1);
    wrapped->real->pMethods = nullptr;
    if (self()->fails()) return SQLITE_CANTOPEN;
    const int result = self()->real_->xOpen(self()->real_, name, wrapped->real, flags, out_flags);
    if (wrapped->real->pMethods != nullptr) wrapped->base.pMethods = methods();
    return result;
  }

  static const sqlite3_io_methods* methods() {
    static const sqlite3_io_methods all = {
        2,
        [](sqlite3_file* f) { return real(f)->pMethods->xClose(real(f)); },
        [](sqlite3_file* f, void* to, int n, sqlite3_int64 at) { return real(f)->pMethods->xRead(real(f), to, n, at); },
        [](sqlite3_file* f, const void* from, int n, sqlite3_int64 at) {
          return self()->fails() ? self()->error_ : real(f)->pMethods->xWrite(real(f), from, n, at);
        },
        [](sqlite3_file* f, sqlite3_int64 size) {
          return self()->fails() ? self()->error_ : real(f)->pMethods->xTruncate(real(f), size);
        },
        [](sqlite3_file* f, int flags) {
          return self()->fails() ? SQLITE_IOERR_FSYNC : real(f)->pMethods->xSync(real(f), flags);
        },
        [](sqlite3_file* f, sqlite3_int64* size) { return real(f)->pMethods->xFileSize(real(f), size); },
        [](sqlite3_file* f, int level) { return real(f)->pMethods->xLock(real(f), level); },
        [](sqlite3_file* f, int level) { return real(f)->pMethods->xUnlock(real(f), level); },
        [](sqlite3_file* f, int* out) { return real(f)->pMethods->xCheckReservedLock(real(f), out); },
        [](sqlite3_file* f, int op, void* arg) { return real(f)->pMethods->xFileControl(real(f), op, arg); },
        [](sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); },
        [](sqlite3_file* f) { return real(f)->pMethods->xDeviceCharacteristics(real(f)); },
        [](sqlite3_file* f, int page, int size, int extend, void volatile** at) {
          return real(f)->pMethods->xShmMap(real(f), page, size, extend, at);
        },
        [](sqlite3_file* f, int at, int n, int flags) { return real(f)->pMethods->xShmLock(real(f), at, n, flags); },
        [](sqlite3_file* f) { real(f)->pMethods->xShmBarrier(real(f)); },
        [](sqlite3_file* f, int remove) { return real(f)->pMethods->xShmUnmap(real(f), remove); },
        nullptr,
        nullptr,
    };
    return &all;
  }

  sqlite3_vfs* real_;
  sqlite3_vfs vfs_{};
  int countdown_ = 0;
  int error_ = SQLITE_IOERR_WRITE;
  bool persistent_ = false;
  bool failed_ = false;
};

Status write_tick(Ledger& ledger, const std::string& name) {
  for (int i = 0; i < 3; ++i) {
    MessageRow row = chat_row(name + std::to_string(i));
    row.entry = std::string(6000, 'x');  // more than one page
    auto inserted = ledger.messages().insert(row);
    if (!inserted) return inserted.error();
  }
  return ledger.outbox().enqueue(outbox_row("ann", name, name));
}

Status one_tick(Ledger& ledger, const std::string& name) {
  return ledger.transaction([&] { return write_tick(ledger, name); });
}

bool all_of_tick(Ledger& ledger, const std::string& name) {
  const bool first = must(ledger.messages().known({name + "0"}));
  for (int i = 1; i < 3; ++i) CHECK(must(ledger.messages().known({name + std::to_string(i)})) == first);
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

}  // namespace inbox_poller::poller::test
