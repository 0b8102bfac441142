// A disk under SQLite on which the Nth operation fails, or is the last one before the process is killed.
#pragma once

#include <sqlite3.h>
#include <unistd.h>

#include <csignal>

#include "tests/support/catch.hpp"

namespace inbox_poller::poller::ledger_test {

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
  /// The `n`-th reading from now fails with `error`; those are not counted otherwise.
  void fail_read(int n, int error) {
    reads_left_ = n;
    error_ = error;
  }
  [[nodiscard]] bool read_failed() const { return reads_left_ == 0; }
  /// This process is killed instead of the `n`-th operation from now.
  void kill_at(int n) {
    fail(n, 0, false);
    kills_ = true;
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
    if (kills_) ::kill(::getpid(), SIGKILL);
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
        [](sqlite3_file* f, void* to, int n, sqlite3_int64 at) {
          if (self()->reads_left_ > 0 && --self()->reads_left_ == 0) return self()->error_;
          return real(f)->pMethods->xRead(real(f), to, n, at);
        },
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
  int reads_left_ = 0;
  int error_ = SQLITE_IOERR_WRITE;
  bool persistent_ = false;
  bool failed_ = false;
  bool kills_ = false;
};

}  // namespace inbox_poller::poller::ledger_test
