#include "tests/sim/ledger_disk.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <mutex>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace inbox_poller::sim {

struct LedgerDisk::Shared {
  sqlite3_vfs* real = nullptr;
  sqlite3_vfs vfs{};
  std::vector<LedgerDisk*> disks;
  std::mutex mutex;  // of what is open and of its locks: a daemon has threads
  std::vector<File*> open;
};

LedgerDisk::Shared& LedgerDisk::shared() {
  static Shared one;
  return one;
}

LedgerDisk* LedgerDisk::disk_of(const char* name) {
  for (auto* disk : shared().disks)
    if (name != nullptr && std::string_view(name).starts_with(disk->folder_ + "/")) return disk;
  return nullptr;
}

LedgerDisk::LedgerDisk(std::string folder) : folder_(std::move(folder)) {
  auto& all = shared();
  all.disks.push_back(this);
  if (all.disks.size() > 1) return;
  all.real = sqlite3_vfs_find(nullptr);
  all.vfs = *all.real;
  all.vfs.zName = "simulated";
  all.vfs.pNext = nullptr;
  all.vfs.szOsFile = static_cast<int>(sizeof(File)) + all.real->szOsFile;
  all.vfs.xOpen = &open;
  all.vfs.xDelete = [](sqlite3_vfs*, const char* name, int sync) {
    auto* disk = disk_of(name);
    if (const int failed = fault(disk, SQLITE_IOERR_DELETE); failed != SQLITE_OK) return failed;
    if (disk != nullptr) disk->unsynced_.erase(name);
    return shared().real->xDelete(shared().real, name, sync);
  };
  all.vfs.xRandomness = [](sqlite3_vfs*, int size, char* to) {
    for (int i = 0; i < size; ++i) to[i] = static_cast<char>(i * 37 + 11);
    return size;
  };
  all.vfs.xSleep = [](sqlite3_vfs*, int microseconds) {
    pass(std::chrono::microseconds(microseconds));
    return microseconds;
  };
  if (sqlite3_vfs_register(&all.vfs, 1) != SQLITE_OK) throw std::runtime_error("no VFS");
}

LedgerDisk::~LedgerDisk() {
  std::erase(shared().disks, this);
  if (shared().disks.empty()) sqlite3_vfs_unregister(&shared().vfs);
}

int LedgerDisk::fault(LedgerDisk* disk, int error) {
  if (disk == nullptr || disk->fate_ == nullptr) return SQLITE_OK;
  if (disk->fate_->next() != Fate::Turn::goes_on) return error;
  return disk->fate_->disk_is_full && error == SQLITE_IOERR_WRITE ? SQLITE_FULL : SQLITE_OK;
}

void LedgerDisk::remember(sqlite3_file* file, sqlite3_int64 at, sqlite3_int64 size) {
  auto* wrapped = reinterpret_cast<File*>(file);
  if (wrapped->disk == nullptr) return;
  sqlite3_int64 before = 0;
  real(file)->pMethods->xFileSize(real(file), &before);
  std::string old(static_cast<std::size_t>(std::max<sqlite3_int64>(0, std::min(size, before - at))), '\0');
  if (!old.empty()) real(file)->pMethods->xRead(real(file), old.data(), static_cast<int>(old.size()), at);
  wrapped->disk->unsynced_[*wrapped->path].push_back({at, before, std::move(old)});
}

int LedgerDisk::open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  auto* wrapped = reinterpret_cast<File*>(file);
  wrapped->base.pMethods = nullptr;
  wrapped->real = reinterpret_cast<sqlite3_file*>(wrapped + 1);
  wrapped->real->pMethods = nullptr;
  wrapped->disk = disk_of(name);
  if (fault(file, SQLITE_CANTOPEN) != SQLITE_OK) return SQLITE_CANTOPEN;
  const int result = shared().real->xOpen(shared().real, name, wrapped->real, flags, out_flags);
  if (wrapped->real->pMethods == nullptr) return result;
  wrapped->base.pMethods = methods();
  wrapped->path = new std::string(name == nullptr ? "" : name);
  wrapped->shared = wrapped->exclusive = 0;
  const std::lock_guard held(shared().mutex);
  shared().open.push_back(wrapped);
  return result;
}

int LedgerDisk::close(sqlite3_file* file) {
  auto* wrapped = reinterpret_cast<File*>(file);
  {
    const std::lock_guard held(shared().mutex);
    std::erase(shared().open, wrapped);
  }
  delete wrapped->path;
  return real(file)->pMethods->xClose(real(file));
}

int LedgerDisk::write(sqlite3_file* file, const void* from, int size, sqlite3_int64 at) {
  if (const int failed = fault(file, SQLITE_IOERR_WRITE); failed != SQLITE_OK) return failed;
  remember(file, at, size);
  return real(file)->pMethods->xWrite(real(file), from, size, at);
}

int LedgerDisk::truncate(sqlite3_file* file, sqlite3_int64 size) {
  if (const int failed = fault(file, SQLITE_IOERR_TRUNCATE); failed != SQLITE_OK) return failed;
  sqlite3_int64 before = 0;
  real(file)->pMethods->xFileSize(real(file), &before);
  remember(file, size, before - size);
  return real(file)->pMethods->xTruncate(real(file), size);
}

int LedgerDisk::sync(sqlite3_file* file, int flags) {
  if (const int failed = fault(file, SQLITE_IOERR_FSYNC); failed != SQLITE_OK) return failed;
  auto* wrapped = reinterpret_cast<File*>(file);
  if (wrapped->disk != nullptr) wrapped->disk->unsynced_.erase(*wrapped->path);
  return real(file)->pMethods->xSync(real(file), flags);
}

int LedgerDisk::lock_index(sqlite3_file* file, int at, int count, int flags) {
  auto* wrapped = reinterpret_cast<File*>(file);
  const unsigned wanted = ((1U << static_cast<unsigned>(count)) - 1) << static_cast<unsigned>(at);
  const bool shares = (flags & SQLITE_SHM_SHARED) != 0;
  auto& mine = shares ? wrapped->shared : wrapped->exclusive;
  const std::lock_guard held(shared().mutex);
  if ((flags & SQLITE_SHM_UNLOCK) != 0) {
    mine &= ~wanted;
    return SQLITE_OK;
  }
  for (const auto* other : shared().open)
    if (other != wrapped && *other->path == *wrapped->path && ((other->exclusive | (shares ? 0U : other->shared)) & wanted) != 0)
      return SQLITE_BUSY;
  mine |= wanted;
  return SQLITE_OK;
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
      &lock_index,
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
