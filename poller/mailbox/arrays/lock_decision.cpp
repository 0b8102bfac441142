#include "poller/mailbox/arrays/lock_decision.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace inbox_poller::poller {

bool same_lock(const FileStat& a, const FileStat& b) {
  return a.kind == b.kind && a.dev == b.dev && a.ino == b.ino && a.mtime_ns == b.mtime_ns;
}

LockObservation observe(const std::optional<LockObservation>& before, const FileStat& seen, SteadyTime now) {
  if (!before || !same_lock(before->seen, seen)) return {seen, now, now};
  const auto not_counted = std::max(SteadyTime::duration::zero(), now - before->last - longest_gap);
  return {seen, before->since + not_counted, now};
}

LockStep decide(const LockObservation& observation, SteadyTime now) {
  const auto unchanged_for = now - observation.since;
  switch (observation.seen.kind) {
    case FileKind::directory: return unchanged_for >= stale_after ? LockStep::take_over : LockStep::wait;
    case FileKind::regular:
      if (unchanged_for < foreign_patience) return LockStep::wait;
      if (observation.seen.size > foreign_file_limit) return LockStep::refuse;
      return unchanged_for >= foreign_stale_after ? LockStep::remove_file : LockStep::examine_file;
    case FileKind::symlink:
    case FileKind::other: break;
  }
  return LockStep::refuse;
}

std::optional<int> pid_in_lock_file(std::string_view content) {
  constexpr std::string_view white = " \t\r\n";
  const auto skip_white = [&] { content.remove_prefix(std::min(content.find_first_not_of(white), content.size())); };
  skip_white();
  if (content.starts_with('{')) {
    constexpr std::string_view key = "\"pid\"";
    const std::size_t at = content.find(key);
    if (at == std::string_view::npos) return std::nullopt;
    content.remove_prefix(at + key.size());
    skip_white();
    if (!content.starts_with(':')) return std::nullopt;
    content.remove_prefix(1);
    skip_white();
  }
  int pid = 0;
  const auto [end, error] = std::from_chars(content.data(), content.data() + content.size(), pid);
  const std::string_view rest(end, static_cast<std::size_t>(content.data() + content.size() - end));
  // "123abc" is not a number; 0 and negative numbers would mean process groups.
  if (error != std::errc{} || pid <= 0) return std::nullopt;
  if (!rest.empty() &&
      (white.find(rest.front()) == std::string_view::npos && rest.front() != ',' && rest.front() != '}')) {
    return std::nullopt;
  }
  return pid;
}

}  // namespace inbox_poller::poller
