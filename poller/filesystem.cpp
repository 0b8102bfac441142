#include "poller/filesystem.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <system_error>

namespace inbox_poller::poller {

namespace {

constexpr int always = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

struct ErrnoName {
  int value;
  std::string_view name;
};
constexpr std::array errno_names{
    ErrnoName{EACCES, "EACCES"}, ErrnoName{EAGAIN, "EAGAIN"},   ErrnoName{EBADF, "EBADF"},
    ErrnoName{EBUSY, "EBUSY"},   ErrnoName{EDQUOT, "EDQUOT"},   ErrnoName{EEXIST, "EEXIST"},
    ErrnoName{EFBIG, "EFBIG"},   ErrnoName{EINTR, "EINTR"},     ErrnoName{EINVAL, "EINVAL"},
    ErrnoName{EIO, "EIO"},       ErrnoName{EISDIR, "EISDIR"},   ErrnoName{ELOOP, "ELOOP"},
    ErrnoName{EMFILE, "EMFILE"}, ErrnoName{EMLINK, "EMLINK"},   ErrnoName{ENAMETOOLONG, "ENAMETOOLONG"},
    ErrnoName{ENFILE, "ENFILE"}, ErrnoName{ENOENT, "ENOENT"},   ErrnoName{ENOMEM, "ENOMEM"},
    ErrnoName{ENOSPC, "ENOSPC"}, ErrnoName{ENOTDIR, "ENOTDIR"}, ErrnoName{ENOTEMPTY, "ENOTEMPTY"},
    ErrnoName{ENXIO, "ENXIO"},   ErrnoName{EPERM, "EPERM"},     ErrnoName{EROFS, "EROFS"},
    ErrnoName{ESTALE, "ESTALE"}, ErrnoName{EXDEV, "EXDEV"},
};

std::string errno_code(int value) {
  for (const ErrnoName& known : errno_names)
    if (known.value == value) return "io." + std::string(known.name);
  return "io.errno_" + std::to_string(value);
}

std::string join(const Directory& at, const std::string& name) { return at.path.empty() ? name : at.path + "/" + name; }

std::int64_t in_ns(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::int64_t>(time.tv_nsec);
}

FileKind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return FileKind::regular;
  if (S_ISDIR(mode)) return FileKind::directory;
  if (S_ISLNK(mode)) return FileKind::symlink;
  return FileKind::other;
}

FileStat to_file_stat(const struct stat& raw) {
  FileStat out;
  out.dev = static_cast<std::uint64_t>(raw.st_dev);
  out.ino = static_cast<std::uint64_t>(raw.st_ino);
  out.kind = kind_of(raw.st_mode);
  out.size = static_cast<std::uint64_t>(raw.st_size);
#ifdef __APPLE__
  out.mtime_ns = in_ns(raw.st_mtimespec);
  out.ctime_ns = in_ns(raw.st_ctimespec);
#else
  out.mtime_ns = in_ns(raw.st_mtim);
  out.ctime_ns = in_ns(raw.st_ctim);
#endif
  out.mode = static_cast<unsigned>(raw.st_mode & 07777);
  out.uid = static_cast<unsigned>(raw.st_uid);
  out.links = static_cast<std::uint64_t>(raw.st_nlink);
  return out;
}

/// Repeats a call while signals interrupt it.
template <class Call>
auto uninterrupted(Call call) {
  decltype(call()) result;
  do {
    result = call();
  } while (result == -1 && errno == EINTR);
  return result;
}

Status check(int result, std::string_view action, const std::string& path) {
  if (result == -1) return io_error(errno, action, path);
  return Done{};
}

Error not_regular(FileKind kind, const std::string& path) {
  return {std::string(code::not_regular), path + " is " + std::string(describe(kind)) + ", not a regular file"};
}

Result<File> open_regular(const Directory& at, const std::string& name, int flags, mode_t mode) {
  std::string path = join(at, name);
  File file{Fd(uninterrupted([&] { return ::openat(at.fd.get(), name.c_str(), flags | always, mode); })), {}, path};
  if (file.fd.get() < 0) {
    if (errno == ELOOP) return not_regular(FileKind::symlink, path);
    return io_error(errno, "opening", path);
  }
  struct stat raw {};
  if (::fstat(file.fd.get(), &raw) != 0) return io_error(errno, "looking at", path);
  file.stat = to_file_stat(raw);
  if (file.stat.kind != FileKind::regular) return not_regular(file.stat.kind, path);
  return file;
}

int sync_to_disk(int fd) {
#ifdef __APPLE__
  // On macOS fsync() only reaches the drive's cache; not every file system supports F_FULLFSYNC.
  if (::fcntl(fd, F_FULLFSYNC) == 0) return 0;
#endif
  return ::fsync(fd);
}

Status make_dirs(FileSystem& files, const std::string& path) {
  Status made = files.mkdir_at(absolute, path, 0700);
  const std::size_t slash = path.find_last_of('/');
  if (!made.ok() && is_errno(made.error(), ENOENT) && slash != std::string::npos && slash != 0) {
    TRY(make_dirs(files, path.substr(0, slash)));
    made = files.mkdir_at(absolute, path, 0700);
  }
  if (!made.ok()) return is_errno(made.error(), EEXIST) ? Status(Done{}) : made;
  // A power failure must not take the folder away with what is synced in it. A folder that may not be read is not synced.
  const auto above = files.open_dir(absolute, slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1)));
  return above ? files.sync_dir(*above) : Status(Done{});
}

}  // namespace

Fd::~Fd() {
  if (value_ >= 0) ::close(value_);
}

Error io_error(int errno_value, std::string_view action, std::string_view path) {
  return {errno_code(errno_value),
          std::string(action) + " " + std::string(path) + ": " + std::generic_category().message(errno_value)};
}

bool is_errno(const Error& error, int errno_value) { return error.code == errno_code(errno_value); }

std::string_view describe(FileKind kind) {
  switch (kind) {
    case FileKind::regular: return "a regular file";
    case FileKind::directory: return "a folder";
    case FileKind::symlink: return "a symbolic link";
    case FileKind::other: break;
  }
  return "a FIFO, socket or device";
}

Result<Directory> PosixFileSystem::open_dir(const Directory& at, const std::string& name) {
  std::string path = join(at, name);
  const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
  Directory directory{Fd(uninterrupted([&] { return ::openat(at.fd.get(), name.c_str(), flags); })), {}, path};
  if (directory.fd.get() < 0) {
    // Systems differ in the errno for a link.
    if (errno == ELOOP || errno == ENOTDIR) {
      return Error{std::string(code::untrusted),
                   path + " is not a folder itself (a symbolic link or a file); name the real folder instead"};
    }
    return io_error(errno, "opening", path);
  }
  struct stat raw {};
  if (::fstat(directory.fd.get(), &raw) != 0) return io_error(errno, "looking at", path);
  directory.stat = to_file_stat(raw);
  return directory;
}

Result<File> PosixFileSystem::open_read(const Directory& at, const std::string& name) {
  return open_regular(at, name, O_RDONLY, 0);
}

Result<File> PosixFileSystem::open_update(const Directory& at, const std::string& name) {
  return open_regular(at, name, O_RDWR, 0);
}

Result<File> PosixFileSystem::open_append(const Directory& at, const std::string& name) {
  return open_regular(at, name, O_WRONLY | O_APPEND | O_CREAT, 0600);
}

Result<File> PosixFileSystem::create_exclusive(const Directory& at, const std::string& name, unsigned mode) {
  TRY(auto file, open_regular(at, name, O_RDWR | O_CREAT | O_EXCL, 0600));
  if (::fchmod(file.fd.get(), static_cast<mode_t>(mode)) != 0) {
    Error error = io_error(errno, "setting the mode of", file.path);
    ::unlinkat(at.fd.get(), name.c_str(), 0);
    return error;
  }
  return file;
}

Result<FileStat> PosixFileSystem::stat_at(const Directory& at, const std::string& name) {
  struct stat raw {};
  if (::fstatat(at.fd.get(), name.c_str(), &raw, AT_SYMLINK_NOFOLLOW) != 0)
    return io_error(errno, "looking at", join(at, name));
  return to_file_stat(raw);
}

Result<FileStat> PosixFileSystem::stat(const File& file) {
  struct stat raw {};
  if (::fstat(file.fd.get(), &raw) != 0) return io_error(errno, "looking at", file.path);
  return to_file_stat(raw);
}

Result<std::size_t> PosixFileSystem::read_at(const File& file, char* buffer, std::size_t size, std::uint64_t offset) {
  std::size_t done = 0;
  while (done < size) {
    const auto count = uninterrupted(
        [&] { return ::pread(file.fd.get(), buffer + done, size - done, static_cast<off_t>(offset + done)); });
    if (count < 0) return io_error(errno, "reading", file.path);
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

Status PosixFileSystem::write_at(const File& file, std::string_view bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const auto count =
        uninterrupted([&] { return ::pwrite(file.fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
    if (count < 0) return io_error(errno, "writing", file.path);
    bytes.remove_prefix(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return Done{};
}

Status PosixFileSystem::append(const File& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = uninterrupted([&] { return ::write(file.fd.get(), bytes.data(), bytes.size()); });
    if (count < 0) return io_error(errno, "writing", file.path);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return Done{};
}

Status PosixFileSystem::truncate(const File& file, std::uint64_t size) {
  return check(uninterrupted([&] { return ::ftruncate(file.fd.get(), static_cast<off_t>(size)); }), "cutting", file.path);
}

Result<bool> PosixFileSystem::set_lease(const File& file, Lease lease) {
#ifdef __linux__  // macOS defines these names too, but does not document them in fcntl(2)
  // The default action of SIGIO ends the process.
  [[maybe_unused]] static const auto ignored = std::signal(SIGIO, SIG_IGN);
  const int kind = lease == Lease::write ? F_WRLCK : lease == Lease::read ? F_RDLCK : F_UNLCK;
  if (::fcntl(file.fd.get(), F_SETLEASE, kind) == 0) return true;
  if (errno == EAGAIN || errno == EBUSY) return false;
  return io_error(errno, "leasing", file.path);
#else
  static_cast<void>(lease);
  return io_error(EINVAL, "leasing", file.path);
#endif
}

bool PosixFileSystem::lease_is_wanted(const File& file) {
#ifdef __linux__
  return ::fcntl(file.fd.get(), F_GETLEASE) != F_WRLCK;  // while a process waits: the mode after the break
#else
  static_cast<void>(file);
  return false;
#endif
}

Status PosixFileSystem::sync(const File& file) { return check(sync_to_disk(file.fd.get()), "syncing", file.path); }

Status PosixFileSystem::sync_dir(const Directory& directory) {
  return check(sync_to_disk(directory.fd.get()), "syncing", directory.path);
}

Status PosixFileSystem::rename_at(const Directory& at, const std::string& from, const std::string& to) {
  return check(::renameat(at.fd.get(), from.c_str(), at.fd.get(), to.c_str()), "renaming", join(at, from));
}

Status PosixFileSystem::exchange_at(const Directory& at, const std::string& one, const std::string& other) {
  return swap(at, one, at, other);
}

Status PosixFileSystem::swap(const Directory& at, const std::string& one, const Directory& there,
                             const std::string& other) {
  const auto exchange = [&] {
#if defined(RENAME_EXCHANGE)
    return ::renameat2(at.fd.get(), one.c_str(), there.fd.get(), other.c_str(), RENAME_EXCHANGE);
#elif defined(RENAME_SWAP)
    return ::renameatx_np(at.fd.get(), one.c_str(), there.fd.get(), other.c_str(), RENAME_SWAP);
#else
    errno = ENOSYS;
    return -1;
#endif
  };
  return check(exchange(), "renaming", join(at, one));
}

Status PosixFileSystem::move(const Directory& from, const std::string& name, const Directory& to,
                             const std::string& as, Onto onto) {
  const int source = from.fd.get();
  const int target = to.fd.get();
  const std::string path = join(from, name);
  if (onto == Onto::anything) return check(::renameat(source, name.c_str(), target, as.c_str()), "renaming", path);
#if defined(RENAME_NOREPLACE)
  const int moved = ::renameat2(source, name.c_str(), target, as.c_str(), RENAME_NOREPLACE);
#elif defined(RENAME_EXCL)
  const int moved = ::renameatx_np(source, name.c_str(), target, as.c_str(), RENAME_EXCL);
#else
  const int moved = (errno = ENOSYS, -1);
#endif
  if (moved == 0 || (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP)) return check(moved, "renaming", path);
  // Some file systems lack that call. Only one of several movers still gets the file, but a target created between
  // check and rename is replaced.
  struct stat there {};
  if (::fstatat(target, as.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0) return io_error(EEXIST, "renaming", path);
  return check(::renameat(source, name.c_str(), target, as.c_str()), "renaming", path);
}

Status PosixFileSystem::unlink_at(const Directory& at, const std::string& name) {
  return check(::unlinkat(at.fd.get(), name.c_str(), 0), "removing", join(at, name));
}

Status PosixFileSystem::mkdir_at(const Directory& at, const std::string& name, unsigned mode) {
  return check(::mkdirat(at.fd.get(), name.c_str(), static_cast<mode_t>(mode)), "creating", join(at, name));
}

Status PosixFileSystem::rmdir_at(const Directory& at, const std::string& name) {
  return check(::unlinkat(at.fd.get(), name.c_str(), AT_REMOVEDIR), "removing", join(at, name));
}

Result<std::vector<std::string>> PosixFileSystem::list(const Directory& directory) {
  // Opened again, because a duplicate would share the reading position.
  const int fd = ::openat(directory.fd.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return io_error(errno, "listing", directory.path);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(fd), &::closedir);
  if (!stream) {
    Error error = io_error(errno, "listing", directory.path);
    ::close(fd);
    return error;
  }
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return io_error(errno, "listing", directory.path);
  return names;
}

Status PosixFileSystem::lock(const Fd& open, const std::string& path) {
  return check(uninterrupted([&] { return ::flock(open.get(), LOCK_EX | LOCK_NB); }), "locking", path);
}

Result<std::string> read_all(FileSystem& files, const File& file) {
  std::string bytes(static_cast<std::size_t>(file.stat.size), '\0');
  TRY(const auto count, files.read_at(file, bytes.data(), bytes.size(), 0));
  bytes.resize(count);
  return bytes;
}

Status create_durable(FileSystem& files, const Directory& at, const std::string& name, std::string_view bytes,
                      unsigned mode) {
  TRY(const auto file, files.create_exclusive(at, name, mode));
  Status status = files.write_at(file, bytes, 0);
  if (status.ok()) status = files.sync(file);
  if (!status.ok()) (void)files.unlink_at(at, name);
  return status;
}

std::optional<config::Distrust> distrust(const FileStat& stat, std::string_view path, config::Trust trust,
                                         unsigned self) {
  const unsigned kind = stat.kind == FileKind::directory ? S_IFDIR : S_IFREG;
  return config::distrust(path, stat.uid, static_cast<mode_t>(kind | stat.mode), trust, self);
}

Status require_trusted(const FileStat& stat, std::string_view path) {
  static const unsigned self = ::geteuid();  // read once, because every poll needs it
  if (const auto reason = distrust(stat, path, config::Trust::to_us, self))
    return Error{std::string(code::untrusted), reason->told(path)};
  return Done{};
}

Status require_trusted_above(const std::string& path) {
  if (auto reason = config::distrust_above(path)) return Error{std::string(code::untrusted), *std::move(reason)};
  return Done{};
}

Result<Directory> open_dir_below(FileSystem& files, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  TRY(const auto above, files.open_dir(absolute, slash == 0 ? "/" : path.substr(0, slash)));
  TRY(auto directory, files.open_dir(above, path.substr(slash + 1)));
  TRY(require_trusted(directory.stat, directory.path));
  return directory;
}

Result<Directory> ensure_private_dir(FileSystem& files, const std::string& path) {
  std::string name = path;
  while (name.size() > 1 && name.back() == '/') name.pop_back();  // "link/" would follow the link
  TRY(make_dirs(files, name));
  TRY(auto directory, files.open_dir(absolute, name));
  Status trusted = require_trusted(directory.stat, name);
  if (trusted.ok()) trusted = require_trusted_above(name);
  if (!trusted.ok()) return trusted.error();
  return directory;
}

}  // namespace inbox_poller::poller
