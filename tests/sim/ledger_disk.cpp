#include "tests/sim/ledger_disk.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <stdexcept>

namespace inbox_poller::sim {

LedgerDisk*& LedgerDisk::self() {
  static LedgerDisk* one = nullptr;
  return one;
}

LedgerDisk::LedgerDisk() : real_(sqlite3_vfs_find(nullptr)) {
  self() = this;
  vfs_ = *real_;
  vfs_.zName = "simulated";
  vfs_.pNext = nullptr;
  vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_->szOsFile;
  vfs_.xOpen = &open;
  vfs_.xDelete = [](sqlite3_vfs*, const char* name, int sync) {
    if (const int failed = self()->fault(SQLITE_IOERR_DELETE); failed != SQLITE_OK) return failed;
    self()->unsynced_.erase(name);
    return self()->real_->xDelete(self()->real_, name, sync);
  };
  vfs_.xRandomness = [](sqlite3_vfs*, int size, char* to) {
    for (int i = 0; i < size; ++i) to[i] = static_cast<char>(i * 37 + 11);
    return size;
  };
  vfs_.xSleep = [](sqlite3_vfs*, int microseconds) {
    pass(std::chrono::microseconds(microseconds));
    return microseconds;
  };
  if (sqlite3_vfs_register(&vfs_, 1) != SQLITE_OK) throw std::runtime_error("no VFS");
}

LedgerDisk::~LedgerDisk() { sqlite3_vfs_unregister(&vfs_); }

int LedgerDisk::fault(int error) {
  if (fate_ == nullptr) return SQLITE_OK;
  if (fate_->next() != Fate::Turn::goes_on) return error;
  return fate_->disk_is_full && error == SQLITE_IOERR_WRITE ? SQLITE_FULL : SQLITE_OK;
}

void LedgerDisk::remember(sqlite3_file* file, sqlite3_int64 at, sqlite3_int64 size) {
  sqlite3_int64 before = 0;
  real(file)->pMethods->xFileSize(real(file), &before);
  std::string old(static_cast<std::size_t>(std::max<sqlite3_int64>(0, std::min(size, before - at))), '\0');
  if (!old.empty()) real(file)->pMethods->xRead(real(file), old.data(), static_cast<int>(old.size()), at);
  unsynced_[*reinterpret_cast<File*>(file)->path].push_back({at, before, std::move(old)});
}

int LedgerDisk::open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  auto* wrapped = reinterpret_cast<File*>(file);
  wrapped->base.pMethods = nullptr;
  wrapped->real = reinterpret_cast<sqlite3_file*>(wrapped + 1);
  wrapped->real->pMethods = nullptr;
  if (self()->fault(SQLITE_CANTOPEN) != SQLITE_OK) return SQLITE_CANTOPEN;
  const int result = self()->real_->xOpen(self()->real_, name, wrapped->real, flags, out_flags);
  if (wrapped->real->pMethods == nullptr) return result;
  wrapped->base.pMethods = methods();
  wrapped->path = new std::string(name == nullptr ? "" : name);
  return result;
}

int LedgerDisk::close(sqlite3_file* file) {
  delete reinterpret_cast<File*>(file)->path;
  return real(file)->pMethods->xClose(real(file));
}

int LedgerDisk::write(sqlite3_file* file, const void* from, int size, sqlite3_int64 at) {
  if (const int failed = self()->fault(SQLITE_IOERR_WRITE); failed != SQLITE_OK) return failed;
  self()->remember(file, at, size);
  return real(file)->pMethods->xWrite(real(file), from, size, at);
}

int LedgerDisk::truncate(sqlite3_file* file, sqlite3_int64 size) {
  if (const int failed = self()->fault(SQLITE_IOERR_TRUNCATE); failed != SQLITE_OK) return failed;
  sqlite3_int64 before = 0;
  real(file)->pMethods->xFileSize(real(file), &before);
  self()->remember(file, size, before - size);
  return real(file)->pMethods->xTruncate(real(file), size);
}

int LedgerDisk::sync(sqlite3_file* file, int flags) {
  if (const int failed = self()->fault(SQLITE_IOERR_FSYNC); failed != SQLITE_OK) return failed;
  self()->unsynced_.erase(*reinterpret_cast<File*>(file)->path);
  return real(file)->pMethods->xSync(real(file), flags);
}

const sqlite3_io_methods* LedgerDisk::methods() {
  static const sqlite3_io_methods all = {
      2,
      &close,
      [](sqlite3_file* f, void* to, int n, sqlite3_int64 at) { return real(f)->pMethods->xRead(real(f), to, n, at); },
      &write,
      &truncate,
      &sync,
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

void LedgerDisk::lose_power(Dice& dice) {
  for (auto& [path, writes] : unsynced_) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) continue;
    const bool all = dice.one_in(2);
    for (auto undo = writes.rbegin(); undo != writes.rend(); ++undo) {
      if (!all && dice.one_in(2)) continue;
      if (::pwrite(fd, undo->bytes.data(), undo->bytes.size(), undo->offset) < 0) throw std::runtime_error(path);
      if (all && ::ftruncate(fd, undo->size_before) != 0) throw std::runtime_error(path);
    }
    ::close(fd);
  }
  unsynced_.clear();
}

}  // namespace inbox_poller::sim
