#include "poller/mailbox/arrays/array_inboxes.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace inbox_poller::poller {

namespace {

constexpr const char* inboxes_folder = "inboxes";
// Limits of one hold of the lock: each flag costs a few system calls and the comparison of whole entries.
constexpr std::size_t flips_per_hold = 128;
constexpr std::size_t flips_per_write = 64;  // bytes between them are written as read, over an unlocked writer's too
constexpr std::size_t bytes_per_hold = 256 * 1024;
constexpr std::size_t widest_gap = 4096;  // bytes between two entries that are set with one write

void stop(WriteResult& result, const WriteResult& reason) {
  result.outcome = reason.outcome;
  result.detail = reason.detail;
}

bool is_unread(const InboxEntry& entry) { return entry.read != ReadFlag::read; }

/// True if `found` is the entry as the edit leaves it.
bool is_set(std::string_view found, const InPlaceEdit& edit) {
  const std::size_t flag = edit.flag - edit.offset;
  const std::size_t behind = flag + read_in_place.size();
  return found.size() == edit.before.size() && found.substr(flag, read_in_place.size()) == read_in_place &&
         found.substr(0, flag) == edit.before.substr(0, flag) && found.substr(behind) == edit.before.substr(behind);
}

}  // namespace

ArrayInboxes::ArrayInboxes(FileSystem& files, const Clock& clock, std::string team_dir, std::string team,
                           std::uint64_t size_limit)
    : files_(files),
      clock_(clock),
      team_dir_(std::move(team_dir)),
      inboxes_path_(team_dir_ + "/" + inboxes_folder),
      team_(std::move(team)),
      size_limit_(size_limit),
      locks_(files, clock) {}

std::string ArrayInboxes::path_of(const std::string& inbox) const { return inboxes_path_ + "/" + inbox_file_name(inbox); }

void ArrayInboxes::look_by_name() {
  if (looks_in_turn()) {  // only one or two files are checked: stat their paths, open nothing
    const Result<FileStat> folder = files_.stat_at(absolute, inboxes_path_);
    rests_ = folder && listed_ && listed_->is(version_of(*folder));
    return;
  }
  Result<Directory> folder = files_.open_dir(absolute, inboxes_path_);
  if (folder && listed_ && listed_->is(version_of(folder->stat))) inboxes_ = *std::move(folder);
}

Result<Directory> ArrayInboxes::open_team() { return open_dir_below(files_, team_dir_); }

Result<Directory> ArrayInboxes::open_inboxes() {
  TRY(const auto team, open_team());
  return open_inboxes(team);
}

Result<Directory> ArrayInboxes::open_inboxes(const Directory& team) {
  TRY(auto folder, files_.open_dir(team, inboxes_folder));
  TRY(require_trusted(folder.stat, folder.path));
  return folder;
}

Result<Directory> ArrayInboxes::take_inboxes() {
  if (!inboxes_) return open_inboxes();
  return *std::exchange(inboxes_, std::nullopt);
}

Result<Directory> ArrayInboxes::open_or_make_inboxes() {
  Result<Directory> folder = open_inboxes();
  if (folder.ok() || !is_errno(folder.error(), ENOENT)) return folder;
  const Result<Directory> team = open_team();
  if (!team) return team.error();  // never make a team's folder
  const Status made = files_.mkdir_at(*team, inboxes_folder, 0700);
  if (!made.ok() && !is_errno(made.error(), EEXIST)) return made.error();
  TRY(files_.sync_dir(*team));
  return open_inboxes();
}

GlanceResult ArrayInboxes::glance(const std::string& inbox) {
  if (!schema::is_inbox_name(inbox)) return {};
  const bool again = inboxes_.has_value();
  Result<Directory> folder = take_inboxes();
  const GlanceResult result =
      compare(inbox, folder ? files_.stat_at(*folder, inbox_file_name(inbox)) : Result<FileStat>(folder.error()));
  if (again && result.glance == Glance::unchanged) inboxes_ = *std::move(folder);
  return result;
}

GlanceResult ArrayInboxes::compare(const std::string& inbox, const Result<FileStat>& found) {
  if (!found) {
    see_as_changed(inbox);
    // read() reports errors other than "not there".
    return {is_errno(found.error(), ENOENT) ? Glance::missing : Glance::changed, 0};
  }
  const auto last = last_reads_.find(inbox);
  const bool same = last != last_reads_.end() && last->second.is(version_of(*found));
  all_unchanged_ = all_unchanged_ && same;
  return {same ? Glance::unchanged : Glance::changed, found->size};
}

ReadResult ArrayInboxes::read(const std::string& inbox, ReadMode mode) { return read_as(inbox, mode, nullptr); }

ReadResult ArrayInboxes::read_news(const std::string& inbox, ReadMode mode) {
  return read_as(inbox, mode, &known(inbox));
}

ReadResult ArrayInboxes::read_as(const std::string& inbox, ReadMode mode, const PrefixCache* known) {
  const auto last = last_reads_.extract(inbox);
  all_unchanged_ = false;
  const SteadyTime begun = clock_.steady();
  const auto fault = [](ReadOutcome outcome, std::string detail) {
    ReadResult result;
    result.outcome = outcome;
    result.detail = std::move(detail);
    return result;
  };
  if (!schema::is_inbox_name(inbox)) return fault(ReadOutcome::fault, no_inbox_name(inbox).detail);
  const Result<Directory> folder = open_inboxes();
  if (!folder) {
    const bool missing = is_errno(folder.error(), ENOENT);
    return fault(missing ? ReadOutcome::missing : ReadOutcome::fault, folder.error().message);
  }
  const std::string file = inbox_file_name(inbox);
  std::string note;
  std::optional<HeldLock> lock;
  if (mode == ReadMode::under_lock) {
    LockAttempt attempt = locks_.try_acquire(*folder, lock_name(file));
    if (attempt.outcome == LockOutcome::fault) return fault(ReadOutcome::fault, attempt.detail);
    if (attempt.outcome != LockOutcome::acquired) return fault(ReadOutcome::lock_held, attempt.detail);
    note = std::move(attempt.detail);
    lock.emplace(std::move(*attempt.lock));
  }
  Snapshot snapshot;
  const InboxSource source{files_, clock_, *folder, file, scope(inbox), size_limit_};
  ReadResult result = known != nullptr ? read_behind(source, *known, snapshot) : read_whole(source, snapshot);
  if (lock) add_detail(note, lock->release().detail);
  add_detail(note, result.detail);
  result.detail = std::move(note);
  if (result.outcome == ReadOutcome::document) {
    LastRead now{snapshot.version, snapshot.settled, clock_.steady()};
    if (last && last.mapped().version == now.version) now.since = last.mapped().since;
    now.settled = now.settled || is_settled(now.version, begun - now.since);
    last_reads_.insert_or_assign(inbox, now);
  }
  return result;
}

bool ArrayInboxes::show(ReadResult& reading, std::size_t window) { return show_window(files_, reading, window); }

std::size_t ArrayInboxes::remember(const std::string& inbox, ReadResult& reading, std::size_t window) {
  PrefixCache& known = known_[inbox];
  if (window == 0) known.cut(reading.head);
  const auto& entries = reading.document.entries();
  const std::size_t first = reading.head.entries - reading.skipped;  // of the entries after the head
  const Window& range = reading.windows[window];
  if (first < range.first) return first;  // an entry of an earlier window is still unread
  std::size_t last = first;
  while (last < range.last && entries[last].read == ReadFlag::read) ++last;
  known.add(reading.head, reading.document, std::span(entries).subspan(first, last - first));
  return last;
}

const PrefixCache& ArrayInboxes::known(const std::string& inbox) const {
  static const PrefixCache nothing;
  const auto found = known_.find(inbox);
  return found == known_.end() ? nothing : found->second;
}

void ArrayInboxes::see_as_changed(const std::string& inbox) {
  last_reads_.erase(inbox);
  all_unchanged_ = false;
}

void ArrayInboxes::forget(const std::string& inbox) {
  known_.erase(inbox);
  see_as_changed(inbox);
}

WriteResult ArrayInboxes::mark_read(const std::string& inbox, const InboxDocument& document,
                                     std::span<const std::size_t> indexes) {
  if (!schema::is_inbox_name(inbox)) return no_inbox_name(inbox);
  std::vector<InPlaceEdit> edits;
  std::vector<std::size_t> unread;
  for (const std::size_t index : indexes) {
    if (index >= document.entries().size() || !is_unread(document.entries()[index])) continue;
    unread.push_back(index);
    if (const auto edit = document.mark_read_edit(index)) edits.push_back(*edit);
  }
  if (unread.empty()) return {};

  const Result<Directory> folder = open_inboxes();
  if (!folder) return stopped_by(folder.error());
  const Result<FileStat> found = files_.stat_at(*folder, inbox_file_name(inbox));
  if (!found) return stopped_by(found.error());
  // A file with a second name may be a backup, or a trap: an in-place write would reach it under both names.
  if (edits.empty() || found->links > 1) {
    Window all{0, 0, {document.offset(), document.offset() + document.bytes().size()}, {}};
    all.hash = hash_of(document.bytes());
    std::string file;
    return replace_marked(inbox, document, unread, std::span(&all, 1), file);
  }
  std::sort(edits.begin(), edits.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
  WriteResult result = mark_in_place(*folder, inbox, edits);
  const bool others = edits.size() < unread.size();  // entries that cannot be marked in place
  if (others && result.outcome == WriteOutcome::done) result.outcome = WriteOutcome::changed;  // by us; read it again
  return result;
}

WriteResult ArrayInboxes::mark_in_place(const Directory& folder, const std::string& inbox,
                                         std::span<const InPlaceEdit> edits) {
  const std::string file = inbox_file_name(inbox);
  std::string buffer;
  WriteResult result;
  for (auto rest = edits; !rest.empty() && result.outcome == WriteOutcome::done;) {
    std::size_t count = 0;
    std::size_t bytes = 0;
    while (count < rest.size() && count < flips_per_hold && (count == 0 || bytes < bytes_per_hold))
      bytes += rest[count++].before.size();
    buffer.reserve(bytes + count * widest_gap);
    LockAttempt attempt = locks_.try_acquire(folder, lock_name(file));
    if (attempt.outcome != LockOutcome::acquired) {
      WriteResult blocked = not_locked(attempt);
      blocked.marked = result.marked;
      return blocked;
    }
    flip_all(folder, file, *attempt.lock, rest.first(count), buffer, result);
    const LockRelease release = attempt.lock->release();
    if (!release.intact && result.outcome == WriteOutcome::done) result.outcome = WriteOutcome::changed;
    add_detail(result.detail, attempt.detail);
    add_detail(result.detail, release.detail);
    rest = rest.subspan(count);
  }
  return result;
}

void ArrayInboxes::flip_all(const Directory& folder, const std::string& file, const HeldLock& lock,
                             std::span<const InPlaceEdit> batch, std::string& buffer, WriteResult& result) {
  const Result<File> open = files_.open_update(folder, file);
  if (!open) return stop(result, stopped_by(open.error()));
  if (open->stat.links > 1) return stop(result, stopped(WriteOutcome::changed, open->path + " has got a second name"));
  while (!batch.empty()) {
    std::size_t count = 1;
    while (count < std::min(batch.size(), flips_per_write) && batch[count].offset - batch[count - 1].end() <= widest_gap)
      ++count;
    flip(*open, lock, batch.first(count), buffer, result);
    if (result.outcome != WriteOutcome::done) return;
    batch = batch.subspan(count);
  }
  const Result<FileStat> after = files_.stat(*open);
  if (!after) return stop(result, stopped_by(after.error()));
  if (after->size != open->stat.size)
    stop(result, stopped(WriteOutcome::changed, open->path + " was rewritten while we marked it"));
}

void ArrayInboxes::flip(const File& file, const HeldLock& lock, std::span<const InPlaceEdit> run, std::string& buffer,
                         WriteResult& result) {
  const Result<FileStat> as_read = files_.stat(file);
  if (!as_read) return stop(result, stopped_by(as_read.error()));
  const std::size_t begin = run.front().offset;
  buffer.resize(run.back().end() - begin);
  const Result<std::size_t> count = files_.read_at(file, buffer.data(), buffer.size(), begin);
  if (!count) return stop(result, stopped_by(count.error()));
  buffer.resize(*count);
  std::vector<std::size_t> flags;  // in the buffer
  for (const InPlaceEdit& edit : run) {
    const auto found = std::string_view(buffer).substr(std::min(edit.offset - begin, buffer.size()), edit.before.size());
    if (is_set(found, edit)) continue;  // set by a peer
    if (found != edit.before) return stop(result, stopped(WriteOutcome::changed, file.path + " was rewritten by a peer"));
    flags.push_back(edit.flag - begin);
  }
  if (flags.empty()) return;
  // Our process may have been stopped since. The lock may then belong to a peer, or a peer without a lock may have
  // written. The write below would undo changes between the flags.
  const Result<FileStat> now = files_.stat(file);
  if (!now) return stop(result, stopped_by(now.error()));
  if (version_of(*now) != version_of(*as_read) || !lock.still_ours())
    return stop(result, stopped(WriteOutcome::changed, file.path + " was rewritten while we marked it"));
  // One write for all flags; bytes between them are written as read. A sector is old or new, and no flag crosses the
  // end of one.
  const std::string_view piece = std::string_view(buffer).substr(flags.front(), flags.back() + read_in_place.size() - flags.front());
  const auto write = [&](std::string_view flag) {
    for (const std::size_t at : flags) buffer.replace(at, flag.size(), flag);
    return files_.write_at(file, piece, begin + flags.front());
  };
  const Status written = write(read_in_place);
  if (written.ok()) {
    result.marked += flags.size();
    return;
  }
  const bool restored = write("false").ok();
  stop(result, stopped_by(written.error()));
  if (!restored)
    add_detail(result.detail, "bytes at offset " + std::to_string(begin + flags.front()) + " may be damaged");
}

WriteResult ArrayInboxes::replace_marked(const std::string& inbox, const InboxDocument& document,
                                          std::span<const std::size_t> indexes, std::span<const Window> windows,
                                          std::string& file) {
  if (document.problem()) return stopped(WriteOutcome::refused, "a file that does not parse is not written to");
  const Result<Directory> folder = open_inboxes();
  if (!folder) return stopped_by(folder.error());
  const Snapshot snapshot = take_snapshot(files_, clock_, *folder, inbox_file_name(inbox), size_limit_);
  if (snapshot.outcome != ReadOutcome::document) return stopped_by(snapshot);
  const std::string_view bytes = snapshot.bytes;
  const bool as_read = std::all_of(windows.begin(), windows.end(), [&](const Window& window) {
    return window.bytes.end <= bytes.size() && hash_of(window.bytes.of(bytes)) == window.hash;
  });
  // Bytes outside of the windows may be new, but the file must parse.
  if (!as_read || schema::scan_array(bytes).problem)
    return stopped(WriteOutcome::changed, path_of(inbox) + " was rewritten by a peer");
  file = document.with_marked_read(indexes, bytes);
  if (file == bytes) return {};
  WriteResult result = replace(files_, locks_, *folder, inbox_file_name(inbox), snapshot, file);
  if (result.outcome == WriteOutcome::done) result.marked = indexes.size();
  return result;
}

WriteResult ArrayInboxes::rewrite(const Directory& folder, const std::string& inbox,
                                   const InboxDocument& document, std::string_view wanted) {
  if (document.problem()) return stopped(WriteOutcome::refused, "a file that does not parse is not written to");
  const std::string file = inbox_file_name(inbox);
  const Snapshot snapshot = take_snapshot(files_, clock_, folder, file, size_limit_);
  if (snapshot.outcome != ReadOutcome::document) return stopped_by(snapshot);
  if (snapshot.bytes != document.bytes())
    return stopped(WriteOutcome::changed, folder.path + "/" + file + " was rewritten by a peer");
  if (wanted == document.bytes()) return {};
  return replace(files_, locks_, folder, file, snapshot, wanted);
}

WriteResult ArrayInboxes::remove(const std::string& inbox, const InboxDocument& document,
                                  std::span<const std::size_t> indexes) {
  if (!schema::is_inbox_name(inbox)) return no_inbox_name(inbox);
  if (indexes.empty()) return {};
  const Result<Directory> folder = open_inboxes();
  if (!folder) return stopped_by(folder.error());
  std::string wanted = document.with_removed(indexes);
  WriteResult result = rewrite(*folder, inbox, document, wanted);
  if (result.outcome != WriteOutcome::done) return result;
  keep_known(inbox, document, indexes, std::move(wanted));
  if (const Status synced = files_.sync_dir(*folder); !synced.ok())
    return stopped(WriteOutcome::fault, "removed, but perhaps not lasting: " + synced.error().message);
  return result;
}

void ArrayInboxes::keep_known(const std::string& inbox, const InboxDocument& document,
                               std::span<const std::size_t> removed, std::string left) {
  const auto found = known_.find(inbox);
  if (found == known_.end()) return;
  std::vector<bool> stays(recognize(document.bytes(), found->second).entries, true);
  for (const std::size_t index : removed)
    if (index < stays.size()) stays[index] = false;
  const auto count = static_cast<std::size_t>(std::count(stays.begin(), stays.end(), true));
  const auto rest = InboxDocument::scan(std::move(left), scope(inbox));
  PrefixCache known;
  Head head;
  known.add(head, rest, std::span(rest.entries()).first(std::min(count, rest.entries().size())));
  found->second = std::move(known);
}

Result<std::span<const InboxGlance>> ArrayInboxes::glances() {
  rest_ = false;
  const bool rests = std::exchange(rests_, false);
  const Result<Directory> folder = rests ? Result<Directory>(Directory()) : take_inboxes();
  if (!folder && !is_errno(folder.error(), ENOENT)) return folder.error();
  if (!folder) {
    glances_.clear();
    listed_.reset();
    return std::span<const InboxGlance>{};
  }
  const FileVersion version = version_of(folder->stat);
  if (!rests && (!listed_ || !listed_->is(version))) {
    listed_.reset();
    const EpochMs wall_before = clock_.system_ms();  // the clock that stamps folders
    TRY(list(*folder));
    listed_ = LastRead{version, is_settled(version, wall_before), {}};
  }
  const auto turn = turns_.next(glances_.size());
  const bool were_unchanged = std::exchange(all_unchanged_, true);  // until compare() finds a change
  const bool only_turn = rests && were_unchanged;
  for (std::size_t i = only_turn ? turn.first : 0; i < (only_turn ? turn.behind : glances_.size()); ++i) {
    InboxGlance& glance = glances_[i];
    const bool at_rest = glance.result.glance == Glance::unchanged && last_reads_.contains(glance.inbox);
    if (at_rest && !turn.has(i)) continue;
    glance.result = compare(glance.inbox, rests ? files_.stat_at(absolute, path_of(glance.inbox))
                                                : files_.stat_at(*folder, inbox_file_name(glance.inbox)));
  }
  rest_ = were_unchanged && all_unchanged_;
  return std::span<const InboxGlance>(glances_);
}

std::uint64_t ArrayInboxes::size_of(const std::string& inbox) const {
  const auto found = std::lower_bound(glances_.begin(), glances_.end(), inbox,
                                      [](const InboxGlance& one, const std::string& name) { return one.inbox < name; });
  return found != glances_.end() && found->inbox == inbox ? found->result.size : 0;
}

Status ArrayInboxes::list(const Directory& folder) {
  TRY(const auto names, files_.list(folder));
  if (!std::exchange(litter_removed_, true)) remove_litter(files_, folder, names);
  glances_.clear();
  all_unchanged_ = false;
  for (const std::string_view name : names) {
    if (!name.ends_with(inbox_suffix)) continue;
    const std::string_view inbox = name.substr(0, name.size() - inbox_suffix.size());
    if (schema::is_inbox_name(inbox)) glances_.push_back({std::string(inbox), {}});
  }
  std::sort(glances_.begin(), glances_.end(), [](const auto& a, const auto& b) { return a.inbox < b.inbox; });
  std::erase_if(last_reads_, [&](const auto& last) {
    return !std::binary_search(glances_.begin(), glances_.end(), InboxGlance{last.first, {}},
                               [](const auto& a, const auto& b) { return a.inbox < b.inbox; });
  });
  return Done{};
}

}  // namespace inbox_poller::poller
