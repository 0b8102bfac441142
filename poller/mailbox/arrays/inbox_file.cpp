#include "poller/mailbox/arrays/inbox_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <system_error>

namespace inbox_poller::poller {

namespace {

constexpr int most_exchanges = 8;
constexpr std::string_view temporary_mark = ".json.ip-";
constexpr std::string_view temporary_end = ".tmp";
std::atomic<unsigned long> temporaries{0};  // so that no name is used twice

Snapshot without_bytes(ReadOutcome outcome, std::string detail) {
  Snapshot out;
  out.outcome = outcome;
  out.detail = std::move(detail);
  return out;
}

Snapshot failed(const Error& error) {
  if (is_errno(error, ENOENT)) return without_bytes(ReadOutcome::missing, {});
  if (error.code == code::not_regular) return without_bytes(ReadOutcome::not_regular, error.message);
  return without_bytes(ReadOutcome::fault, error.message);
}

/// Reads a decimal number without sign or leading zero, as std::to_string writes it.
std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || std::to_string(value) != text) return std::nullopt;
  return value;
}

}  // namespace

Snapshot open_snapshot(FileSystem& files, const Clock& clock, const Directory& at, const std::string& name,
                       std::uint64_t limit) {
  const EpochMs wall_before = clock.system_ms();  // the clock that stamps files
  // Stat before the open, because opening a device can have effects.
  const Result<FileStat> found = files.stat_at(at, name);
  if (!found) return failed(found.error());
  const std::string path = at.path + "/" + name;
  if (found->kind != FileKind::regular) {
    return without_bytes(ReadOutcome::not_regular, path + " is " + std::string(describe(found->kind)) +
                                                       ", not a regular file; it was not opened");
  }
  Result<File> file = files.open_read(at, name);
  if (!file) return failed(file.error());
  if (Status trusted = require_trusted(file->stat, path); !trusted.ok()) return failed(trusted.error());
  if (file->stat.size > limit) {
    return without_bytes(ReadOutcome::too_large, path + " has " + std::to_string(file->stat.size) +
                                                     " bytes, over the limit of " + std::to_string(limit) +
                                                     " (limits.inbox_file); nothing was read");
  }
  Snapshot out;
  out.version = version_of(file->stat);
  out.settled = is_settled(out.version, wall_before);
  out.mode = file->stat.mode & 0777U;
  out.links = file->stat.links;
  out.outcome = ReadOutcome::document;
  out.file = *std::move(file);
  return out;
}

void close_snapshot(FileSystem& files, std::uint64_t bytes_read, Snapshot& snapshot) {
  const Result<FileStat> after = files.stat(*snapshot.file);
  if (!after) {
    snapshot = failed(after.error());
  } else if (version_of(*after) != snapshot.version || bytes_read != snapshot.version.size) {
    snapshot.outcome = ReadOutcome::torn;
    snapshot.detail = snapshot.file->path + " changed while it was read";
  }
}

Snapshot take_snapshot(FileSystem& files, const Clock& clock, const Directory& at, const std::string& name,
                       std::uint64_t limit) {
  Snapshot out = open_snapshot(files, clock, at, name, limit);
  if (out.outcome != ReadOutcome::document) return out;
  Result<std::string> bytes = read_all(files, *out.file);
  if (!bytes) return failed(bytes.error());
  out.bytes = *std::move(bytes);
  close_snapshot(files, out.bytes.size(), out);
  return out;
}

Result<bool> has_bytes(FileSystem& files, const File& file, std::string_view bytes) {
  std::array<char, 16384> buffer;
  for (std::size_t done = 0; done < bytes.size();) {
    const std::string_view wanted = bytes.substr(done, buffer.size());
    TRY(const auto count, files.read_at(file, buffer.data(), wanted.size(), done));
    if (std::string_view(buffer.data(), count) != wanted) return false;
    done += wanted.size();
  }
  return true;
}

TemporaryFile::TemporaryFile(FileSystem& files, const Directory& at, const std::string& target)
    : files_(files),
      at_(at),
      target_(target),
      name_("." + target + ".ip-" + std::to_string(::getpid()) + "-" + std::to_string(++temporaries) +
            std::string(temporary_end)) {}

TemporaryFile::~TemporaryFile() {
  if (exists_) (void)files_.unlink_at(at_, name_);
}

Status TemporaryFile::write(std::string_view bytes, unsigned mode) {
  Status status = create_durable(files_, at_, name_, bytes, mode);
  exists_ = status.ok();
  return told(std::move(status));
}

Status TemporaryFile::replace_target() {
  Status status = files_.rename_at(at_, name_, target_);
  if (status.ok()) exists_ = false;
  return told(std::move(status));
}

Result<bool> TemporaryFile::exchange_target(const FileVersion& seen) {
  const Result<FileStat> ours = files_.stat_at(at_, name_);
  if (!ours) return told(ours.error()).error();
  if (Status exchanged = files_.exchange_at(at_, name_, target_); !exchanged.ok()) {
    const bool unknown = is_errno(exchanged.error(), EINVAL) || is_errno(exchanged.error(), ENOSYS);
    if (unknown) exchanged = replace_target();
    if (!exchanged.ok()) return told(std::move(exchanged)).error();
    return true;
  }
  const Result<FileStat> came_out = files_.stat_at(at_, name_);
  // If the stat fails, assume that the old file was still the version that we wanted to replace.
  if (!came_out || has_same_bytes(version_of(*came_out), seen)) return true;
  if (Status back = put_back(*came_out, *ours); !back.ok()) return told(std::move(back)).error();
  return false;
}

/// Exchanges until the file that comes out is the one put there last. Any other file is from a faster peer, and is
/// newer.
Status TemporaryFile::put_back(FileStat came_out, FileStat put) {
  for (int round = 0; round < most_exchanges; ++round) {
    if (!files_.exchange_at(at_, name_, target_).ok()) return replace_target();  // this loses only our own file
    const Result<FileStat> now = files_.stat_at(at_, name_);
    if (!now) break;
    if (now->dev == put.dev && now->ino == put.ino) return Done{};
    put = came_out;
    came_out = *now;
  }
  exists_ = false;  // keep it: it may be a message of a peer that writes faster than we check
  return Error{"io.EAGAIN", name_ + " was replaced again and again while we wrote"};
}

Status TemporaryFile::told(Status status) const {
  if (status.ok()) return status;
  Error problem = status.error();
  if (const auto at = problem.message.find(name_); at != std::string::npos)
    problem.message.replace(at, name_.size(), target_ + " anew");
  return problem;
}

std::optional<int> TemporaryFile::owner(std::string_view name) {
  if (!name.starts_with('.') || !name.ends_with(temporary_end)) return std::nullopt;
  name.remove_prefix(1);
  name.remove_suffix(temporary_end.size());
  const std::size_t mark = name.find(temporary_mark);
  if (mark == std::string_view::npos || !schema::is_inbox_name(name.substr(0, mark))) return std::nullopt;
  const std::string_view numbers = name.substr(mark + temporary_mark.size());
  const std::size_t dash = numbers.find('-');
  if (dash == std::string_view::npos || !number(numbers.substr(dash + 1))) return std::nullopt;
  const std::optional<int> pid = number(numbers.substr(0, dash));
  return pid && *pid > 0 ? pid : std::nullopt;
}

}  // namespace inbox_poller::poller
