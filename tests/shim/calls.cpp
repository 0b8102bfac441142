// Put between a program and the C library: ends the process before or after its N-th call that changes something, and
// cuts transfers short. Needs no ptrace, and counts all threads together. The environment says what it does:
//
//   CALLS_END=N, CALLS_END_AT=before|after   _exit(137) at the N-th call; `after` is the default
//   CALLS_DO=COMMAND                         there the shell runs this, and the process goes on
//   CALLS_TRACE=FILE                         a line for each counted call: number, name, path
//   CALLS_SHORT=K | random:SEED              a read or write moves at most K bytes, or a drawn number of them; at least
//   one CALLS_SHORT_EVERY=N                      only every N-th of them is cut (default: each)
//
// Only regular files and stream sockets are cut: of pipes, datagrams and event counters the kernel moves so few bytes
// whole.
//
// Linux: LD_PRELOAD. macOS: DYLD_INSERT_LIBRARIES together with DYLD_FORCE_FLAT_NAMESPACE=1; it compiles there and is
// not used.
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

constexpr int killed = 137;
constexpr int no_directory = -1;

// The function that would have been called without this library.
#define REAL(name) static const auto real = reinterpret_cast<decltype(&::name)>(::dlsym(RTLD_NEXT, #name))

struct Settings {
  unsigned long end = number("CALLS_END", 0);
  bool before = text("CALLS_END_AT") == "before";
  std::string command = text("CALLS_DO");
  int trace = open_trace();
  bool is_random = text("CALLS_SHORT").rfind("random:", 0) == 0;
  unsigned long most = is_random ? 0 : number("CALLS_SHORT", 0);
  std::uint64_t seed = is_random ? std::strtoull(text("CALLS_SHORT").c_str() + 7, nullptr, 10) : 0;
  unsigned long every = std::max(1UL, number("CALLS_SHORT_EVERY", 1));

  static std::string text(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  }
  static unsigned long number(const char* name, unsigned long otherwise) {
    const char* value = std::getenv(name);
    return value == nullptr ? otherwise : std::strtoul(value, nullptr, 10);
  }
  static int open_trace() {
    REAL(open);
    const std::string path = text("CALLS_TRACE");
    return path.empty() ? -1 : real(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  }
};

const Settings& settings() {
  static const Settings all;
  return all;
}

std::string path_of(int fd) {
  std::array<char, 4096> path{};
#ifdef __APPLE__
  return ::fcntl(fd, F_GETPATH, path.data()) == 0 ? path.data() : "";
#else
  const ssize_t size = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path.data(), path.size());
  return size > 0 ? std::string(path.data(), static_cast<std::size_t>(size)) : "";
#endif
}

/// What was asked for at the N-th call. The shell starts without this library.
void end() {
  const std::string& command = settings().command;
  if (command.empty()) ::_exit(killed);
  const int before = errno;
  const std::array<const char*, 4> words{"/bin/sh", "-c", command.c_str(), nullptr};
  const std::array<const char*, 2> environment{"PATH=/usr/bin:/bin", nullptr};
  pid_t shell = 0;
  int status = 0;
  const int failed = ::posix_spawn(&shell, words[0], nullptr, nullptr, const_cast<char* const*>(words.data()),
                                   const_cast<char* const*>(environment.data()));
  if (failed != 0 || ::waitpid(shell, &status, 0) != shell || status != 0) ::_exit(killed);
  errno = before;
}

/// One call that changes something, from before it to after it. The process may end at either.
class Counted {
 public:
  explicit Counted(const char* name, int fd, const char* path = "") : number_(++count()) {
    const Settings& wanted = settings();
    if (wanted.trace >= 0) tell(wanted.trace, name, fd, path);
    if (number_ == wanted.end && wanted.before) end();
  }
  ~Counted() {
    if (number_ == settings().end && !settings().before) end();
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  static std::atomic<unsigned long>& count() {
    static std::atomic<unsigned long> calls{0};
    return calls;
  }
  void tell(int trace, const char* name, int fd, const std::string& path) const {
    REAL(write);
    const int before = errno;
    const bool is_below = fd >= 0 && path.rfind('/', 0) != 0;
    const std::string place = (is_below ? path_of(fd) + (path.empty() ? "" : "/") : "") + path;
    const std::string line = std::to_string(number_) + " " + name + " " + place + "\n";
    static_cast<void>(real(trace, line.data(), line.size()) == 0);
    errno = before;
  }
  unsigned long number_;
};

bool may_be_cut(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return false;
  if (S_ISREG(status.st_mode)) return true;
  int type = 0;
  socklen_t size = sizeof type;
  return S_ISSOCK(status.st_mode) && ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

std::uint64_t drawn(std::uint64_t seed) {  // splitmix64
  seed += 0x9e3779b97f4a7c15;
  seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9;
  seed = (seed ^ (seed >> 27)) * 0x94d049bb133111eb;
  return seed ^ (seed >> 31);
}

/// How many of `wanted` bytes move this time.
std::size_t cut(int fd, std::size_t wanted) {
  static std::atomic<unsigned long> transfers{0};
  const Settings& how = settings();
  if (wanted < 2 || (how.most == 0 && !how.is_random)) return wanted;
  const int before = errno;
  const bool may_be = may_be_cut(fd);
  errno = before;
  if (!may_be) return wanted;
  const unsigned long number = ++transfers;
  if (number % how.every != 0) return wanted;
  return how.is_random ? 1 + drawn(how.seed + number) % wanted : std::min<std::size_t>(wanted, how.most);
}

/// Of several buffers only one is used when something is to be cut.
int cut(int fd, const iovec* given, int count, iovec& one) {
  for (int i = 0; i < count; ++i) {
    if (given[i].iov_len == 0) continue;
    one = given[i];
    one.iov_len = cut(fd, one.iov_len);
    return one.iov_len < given[i].iov_len ? 1 : 0;
  }
  return 0;
}

mode_t mode_of(int flags, va_list rest) { return (flags & O_CREAT) != 0 ? static_cast<mode_t>(va_arg(rest, int)) : 0; }

}  // namespace

// NOLINTBEGIN: the names and the parameters are the C library's.
#define OPENS(name)                                       \
  extern "C" int name(const char* path, int flags, ...) { \
    va_list rest;                                         \
    va_start(rest, flags);                                \
    const mode_t mode = mode_of(flags, rest);             \
    va_end(rest);                                         \
    REAL(name);                                           \
    const Counted call(#name, no_directory, path);        \
    return real(path, flags, mode);                       \
  }
#define OPENS_BELOW(name)                                             \
  extern "C" int name(int folder, const char* path, int flags, ...) { \
    va_list rest;                                                     \
    va_start(rest, flags);                                            \
    const mode_t mode = mode_of(flags, rest);                         \
    va_end(rest);                                                     \
    REAL(name);                                                       \
    const Counted call(#name, folder, path);                          \
    return real(folder, path, flags, mode);                           \
  }
#define ON_PATH(name, parameters, ...)             \
  extern "C" int name parameters {                 \
    REAL(name);                                    \
    const Counted call(#name, no_directory, path); \
    return real(__VA_ARGS__);                      \
  }
#define BELOW(name, parameters, ...)         \
  extern "C" int name parameters {           \
    REAL(name);                              \
    const Counted call(#name, folder, path); \
    return real(__VA_ARGS__);                \
  }
#define ON_DESCRIPTOR(name, parameters, ...) \
  extern "C" int name parameters {           \
    REAL(name);                              \
    const Counted call(#name, fd);           \
    return real(__VA_ARGS__);                \
  }
#define READS(name, parameters, ...)   \
  extern "C" ssize_t name parameters { \
    REAL(name);                        \
    size = cut(fd, size);              \
    return real(__VA_ARGS__);          \
  }
#define WRITES(name, parameters, ...)  \
  extern "C" ssize_t name parameters { \
    REAL(name);                        \
    size = cut(fd, size);              \
    const Counted call(#name, fd);     \
    return real(__VA_ARGS__);          \
  }

OPENS(open)
OPENS_BELOW(openat)
ON_PATH(mkdir, (const char* path, mode_t mode), path, mode)
ON_PATH(rmdir, (const char* path), path)
ON_PATH(unlink, (const char* path), path)
ON_PATH(chmod, (const char* path, mode_t mode), path, mode)
ON_PATH(rename, (const char* path, const char* target), path, target)
BELOW(renameat, (int folder, const char* path, int other, const char* target), folder, path, other, target)
BELOW(renameat2, (int folder, const char* path, int other, const char* target, unsigned flags), folder, path, other, target, flags)
BELOW(mkdirat, (int folder, const char* path, mode_t mode), folder, path, mode)
BELOW(unlinkat, (int folder, const char* path, int flags), folder, path, flags)
ON_DESCRIPTOR(fsync, (int fd), fd)
ON_DESCRIPTOR(fchmod, (int fd, mode_t mode), fd, mode)
ON_DESCRIPTOR(fchown, (int fd, uid_t user, gid_t group), fd, user, group)
ON_DESCRIPTOR(ftruncate, (int fd, off_t size), fd, size)
ON_DESCRIPTOR(bind, (int fd, const sockaddr* address, socklen_t size), fd, address, size)
ON_DESCRIPTOR(connect, (int fd, const sockaddr* address, socklen_t size), fd, address, size)
ON_DESCRIPTOR(close, (int fd), fd)
READS(read, (int fd, void* to, std::size_t size), fd, to, size)
READS(pread, (int fd, void* to, std::size_t size, off_t at), fd, to, size, at)
READS(recv, (int fd, void* to, std::size_t size, int flags), fd, to, size, flags)
WRITES(write, (int fd, const void* from, std::size_t size), fd, from, size)
WRITES(pwrite, (int fd, const void* from, std::size_t size, off_t at), fd, from, size, at)
WRITES(send, (int fd, const void* from, std::size_t size, int flags), fd, from, size, flags)

extern "C" ssize_t readv(int fd, const iovec* to, int count) {
  REAL(readv);
  iovec one{};
  return cut(fd, to, count, one) == 1 ? real(fd, &one, 1) : real(fd, to, count);
}

extern "C" ssize_t writev(int fd, const iovec* from, int count) {
  REAL(writev);
  iovec one{};
  const bool is_cut = cut(fd, from, count, one) == 1;
  const Counted call("writev", fd);
  return is_cut ? real(fd, &one, 1) : real(fd, from, count);
}

extern "C" ssize_t recvmsg(int fd, msghdr* message, int flags) {
  REAL(recvmsg);
  iovec one{};
  if (cut(fd, message->msg_iov, static_cast<int>(message->msg_iovlen), one) == 0) return real(fd, message, flags);
  msghdr part = *message;
  part.msg_iov = &one;
  part.msg_iovlen = 1;
  const ssize_t moved = real(fd, &part, flags);
  message->msg_flags = part.msg_flags;
  return moved;
}

extern "C" ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  REAL(sendmsg);
  iovec one{};
  msghdr part = *message;
  if (cut(fd, message->msg_iov, static_cast<int>(message->msg_iovlen), one) == 1) {
    part.msg_iov = &one;
    part.msg_iovlen = 1;
  }
  const Counted call("sendmsg", fd);
  return real(fd, &part, flags);
}

#ifndef __APPLE__
OPENS(open64)
OPENS_BELOW(openat64)
ON_DESCRIPTOR(fdatasync, (int fd), fd)
ON_DESCRIPTOR(ftruncate64, (int fd, off64_t size), fd, size)
READS(pread64, (int fd, void* to, std::size_t size, off64_t at), fd, to, size, at)
WRITES(pwrite64, (int fd, const void* from, std::size_t size, off64_t at), fd, from, size, at)
#endif
// NOLINTEND
