#include "tests/bench/peer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>

namespace inbox_poller::bench {

namespace {

constexpr Nanoseconds millisecond = 1'000'000;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

/// As proper-lockfile takes it with the retries of this generation.
bool take_lock(const std::string& lock, Style style) {
  const int tries = style == Style::replace ? 11 : 1;
  Nanoseconds wait = 5 * millisecond;
  for (int attempt = 0; attempt < tries; ++attempt) {
    if (attempt > 0) {
      pause_for(wait);
      wait = std::min(wait * 2, 100 * millisecond);
    }
    if (::mkdir(lock.c_str(), 0755) == 0) return true;
    if (errno != EEXIST) give_up("cannot make " + lock);
  }
  return false;
}

std::string with_one_more(std::string bytes, const std::string& entry) {
  if (bytes == "[]" || bytes.empty()) return "[\n  " + entry + "\n]";
  if (!bytes.ends_with("\n]")) give_up("an inbox that does not end as inboxes do, although its lock is ours");
  bytes.resize(bytes.size() - 2);
  bytes += ",\n  " + entry + "\n]";
  return bytes;
}

}  // namespace

void pause_for(Nanoseconds time) {
  const timespec wanted{time / 1'000'000'000, time % 1'000'000'000};
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &wanted, nullptr);
}

std::string read_whole(const std::string& path) {
  std::string bytes;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return bytes;
  struct stat about {};
  if (::fstat(file, &about) == 0) bytes.resize(static_cast<std::size_t>(about.st_size));
  std::size_t have = 0;
  for (;;) {
    if (have == bytes.size()) bytes.resize(have + 4096);
    const ssize_t count = ::read(file, bytes.data() + have, bytes.size() - have);
    if (count <= 0) break;
    have += static_cast<std::size_t>(count);
  }
  ::close(file);
  bytes.resize(have);
  return bytes;
}

void write_whole(const std::string& path, std::string_view bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) give_up("cannot write " + path);
  while (!bytes.empty()) {
    const ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count <= 0) give_up("cannot write " + path);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  ::close(file);
}

std::string entry_of(std::string_view from, std::string_view text, bool read, std::size_t number) {
  const Nanoseconds utc = read_clock(CLOCK_REALTIME);
  const std::time_t second = static_cast<std::time_t>(utc / 1'000'000'000);
  tm parts{};
  ::gmtime_r(&second, &parts);
  char when[64];
  const std::size_t length = std::strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(when + length, sizeof when - length, ".%03dZ", static_cast<int>(utc / 1'000'000 % 1000));
  char id[64];
  std::snprintf(id, sizeof id, "%08zx-0000-4000-8000-%012llx", number & 0xffffffffU,
                static_cast<unsigned long long>(utc) & 0xffffffffffffULL);
  return "{\n    \"from\": \"" + std::string(from) + "\",\n    \"text\": \"" + escaped(text) +
         "\",\n    \"timestamp\": \"" + when + "\",\n    \"color\": \"blue\",\n    \"msgV\": 1,\n    \"msg_id\": \"" +
         id + "\",\n    \"type\": \"message\",\n    \"read\": " + (read ? "true" : "false") + "\n  }";
}

std::string inbox_of(const std::vector<std::string>& entries) {
  if (entries.empty()) return "[]";
  std::string bytes = "[\n  ";
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i > 0) bytes += ",\n  ";
    bytes += entries[i];
  }
  return bytes + "\n]";
}

void append(const PeerFile& file, const std::string& entry, Style style, Slot& slot) {
  if (!take_lock(file.lock(), style)) {
    slot.fate = Fate::refused;
    return;
  }
  slot.locked = now_ns();
  const std::string bytes = with_one_more(read_whole(file.path()), entry);
  if (style == Style::replace) {
    const std::string temporary = file.path() + ".tmp." + std::to_string(::getpid());
    write_whole(temporary, bytes);
    slot.complete_utc = read_clock(CLOCK_REALTIME);
    slot.complete = now_ns();
    if (::rename(temporary.c_str(), file.path().c_str()) != 0) give_up("cannot rename " + temporary);
  } else {
    write_whole(file.path(), bytes);
    slot.complete = now_ns();
    slot.complete_utc = read_clock(CLOCK_REALTIME);
  }
  ::rmdir(file.lock().c_str());
  slot.unlocked = now_ns();
  slot.fate = Fate::written;
}

void empty(const PeerFile& file) {
  while (!take_lock(file.lock(), Style::replace)) {
  }
  const std::string temporary = file.path() + ".tmp." + std::to_string(::getpid());
  write_whole(temporary, "[]");
  if (::rename(temporary.c_str(), file.path().c_str()) != 0) give_up("cannot rename " + temporary);
  ::rmdir(file.lock().c_str());
}

}  // namespace inbox_poller::bench
