// The disk of one machine below SQLite: real files in memory (/dev/shm), through a VFS that follows the daemon's fate and
// remembers what was not synced, so that a power failure can take it back. SQLite itself is the real library. All machines
// share the VFS; a file belongs to the machine in whose folder it lies.
#pragma once

#include <sqlite3.h>

#include <map>
#include <string>
#include <vector>

#include "tests/sim/fate.hpp"

namespace inbox_poller::sim {

class LedgerDisk {
 public:
  /// Takes the files below `folder`. The first object registers the VFS as SQLite's default.
  explicit LedgerDisk(std::string folder);
  ~LedgerDisk();
  LedgerDisk(const LedgerDisk&) = delete;
  LedgerDisk& operator=(const LedgerDisk&) = delete;

  /// The daemon that uses the files from now on; null: none, and nothing fails.
  void serve(Fate* fate) { fate_ = fate; }
  /// Undoes some writes that were not synced, and removes the index of the write-ahead log.
  void lose_power(Dice& dice);

 private:
  struct Undo {
    sqlite3_int64 offset, size_before;
    std::string bytes;
  };
  struct File {
    sqlite3_file base;
    sqlite3_file* real;
    std::string* path;
    LedgerDisk* disk;  // null: of no machine, and nothing fails
    unsigned shared, exclusive;  // the locks of its index that this connection holds, a bit each
  };
  struct Shared;
  static Shared& shared();
  static LedgerDisk* disk_of(const char* name);
  static sqlite3_file* real(sqlite3_file* file) { return reinterpret_cast<File*>(file)->real; }
  static const sqlite3_io_methods* methods();
  static int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags);
  static int close(sqlite3_file* file);
  static int write(sqlite3_file* file, const void* from, int size, sqlite3_int64 at);
  static int truncate(sqlite3_file* file, sqlite3_int64 size);
  static int sync(sqlite3_file* file, int flags);
  /// The locks of the index are kept here: one process has all machines, and the kernel's took a tenth of a history.
  static int lock_index(sqlite3_file* file, int at, int count, int flags);
  /// SQLITE_OK, or the error that the call ends with.
  static int fault(LedgerDisk* disk, int error);
  static int fault(sqlite3_file* file, int error) { return fault(reinterpret_cast<File*>(file)->disk, error); }
  static void remember(sqlite3_file* file, sqlite3_int64 at, sqlite3_int64 size);

  std::string folder_;
  Fate* fate_ = nullptr;
  std::map<std::string, std::vector<Undo>> unsynced_;  // by path
};

}  // namespace inbox_poller::sim
