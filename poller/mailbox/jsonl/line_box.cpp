#include "poller/mailbox/jsonl/line_box.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "poller/mailbox/jsonl/peer_lock.hpp"

namespace inbox_poller::poller {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t bytes_at_once = std::size_t{4} << 20;
constexpr std::size_t bytes_a_read = std::size_t{256} << 10;
constexpr std::size_t bytes_before = 64;     // bytes before the offset that identify the file as the one that was read
constexpr std::size_t bytes_of_mark = 4096;  // the same, after a restart
constexpr std::uint64_t big_enough = 256 * 1024;  // a file of this size is emptied without waiting for a quiet moment
constexpr milliseconds ask_again{200};
constexpr milliseconds keep_aside{std::chrono::hours(1)};

BoxState state_of(const Error& error) {
  if (is_errno(error, ENOENT)) return BoxState::missing;
  return error.code == code::not_regular ? BoxState::not_regular : BoxState::fault;
}

/// Returns true if the file cannot have a lease at any time.
bool are_none(const Error& error) {
  return is_errno(error, EINVAL) || is_errno(error, EACCES) || is_errno(error, EPERM) || is_errno(error, ENOSYS);
}

bool is_blank_line(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

}  // namespace

bool LineBox::has_news(const Directory& folder, const std::string& below) const {
  if (sources_.empty()) return true;
  if (owes_emptying_ && team_.clock.steady() >= not_before_) return true;
  return std::any_of(sources_.begin(), sources_.end(), [&](const Source& source) {
    const auto now = team_.files.stat_at(folder, below + source.name);
    if (!now) return source.inode != 0 || !is_errno(now.error(), ENOENT);
    const bool same_time = now->mtime_ns == source.mtime_ns || now->size == 0;
    return now->ino != source.inode || now->size != source.size || !same_time ||
           !source.settled.empty() || (source.offset < source.size && team_.clock.steady() >= not_before_);
  });
}

Result<std::string> LineBox::tail_of(const File& file, std::uint64_t end, std::size_t most) const {
  std::string bytes(static_cast<std::size_t>(std::min<std::uint64_t>(end, most)), '\0');
  TRY(const auto count, team_.files.read_at(file, bytes.data(), bytes.size(), end - bytes.size()));
  bytes.resize(count);
  return bytes;
}

schema::MessageKey LineBox::key_of(const Source& source, std::uint64_t begin, std::string_view line) const {
  // The generation and the offset, so that two equal lines are two messages. Also the text, so that a new generation
  // that was not noticed cannot give a message the key of another one.
  return schema::make_message_key({team_.name, box_}, "line " + std::to_string(source.generation),
                                  std::to_string(begin), line, 0);
}

Result<bool> LineBox::is_as_read(const Source& source, const File& file) const {
  if (file.stat.ino != source.inode || file.stat.size < source.offset) return false;
  TRY(const auto tail, tail_of(file, source.offset, source.tail.size()));
  return tail == source.tail;
}

Result<File> LineBox::open_in_place(const Directory& folder, Batch& batch) {
  auto file = team_.files.open_read(folder, file_);
  batch.state = file ? BoxState::open : state_of(file.error());
  if (!file && batch.state != BoxState::missing) batch.detail = file.error().message;
  return file;
}

Status LineBox::recognize(const Directory& folder, const File& file) {
  BoxRecord& record = team_.records.of(box_);
  const BoxRecord before = record;
  // A file is put aside only if the exchange took place: then its name leads to the recorded inode.
  std::vector<AsideFile> aside;
  std::vector<std::string> prepared;
  for (const auto& one : record.aside) {
    const auto found = team_.files.stat_at(folder, one.name);
    const bool exchanged = found && found->ino == one.inode;
    if (exchanged) aside.push_back(one);
    // A power failure may have removed the prepared file's name, so the inode in place counts as well.
    if (!exchanged && (found || file.stat.ino == one.inode)) record.generation = one.generation;
    if (!exchanged && found) prepared.push_back(one.name);
  }
  record.aside = aside;
  if (const auto mark = record.emptying) {
    const auto tail = file.stat.size > mark->size ? tail_of(file, mark->size, bytes_of_mark) : Result<std::string>("");
    if (!tail) return record = before, tail.error();
    if (judge(*mark, file.stat, schema::content_hash(*tail)) == FileNow::emptied) {
      ++record.generation;
      record.emptying.reset();
    }
  }
  if (record != before)
    if (auto saved = team_.records.save(true); !saved) return record = before, saved;
  for (const auto& name : prepared) static_cast<void>(team_.files.unlink_at(folder, name));
  for (const auto& one : record.aside)
    sources_.push_back({.name = one.name, .inode = one.inode, .generation = one.generation, .aside_ms = one.since_ms});
  sources_.push_back({.name = file_, .inode = file.stat.ino, .generation = record.generation});
  return Done{};
}

Status LineBox::begin_anew(const File& file, Access reader, Batch& batch) {
  Source& source = in_place();
  if (!source.held.empty()) {
    BoxRecord& record = team_.records.of(box_);
    const BoxRecord before = record;
    ++record.generation;
    record.emptying.reset();
    if (auto saved = team_.records.save(true); !saved) return record = before, saved;
  }
  const EpochMs now = team_.clock.wall_ms();
  if (reader == Access::exclusive && !source.held.empty()) batch.signs.push_back({ConsumerEvidence::What::swept, {}, {}});
  for (const auto& [key, since] : source.held)
    if (reader != Access::exclusive)
      batch.signs.push_back({ConsumerEvidence::What::consumed, key, milliseconds(std::max<EpochMs>(0, now - since))});
  source = Source{};
  source.name = file_;
  source.inode = file.fd.get() >= 0 ? file.stat.ino : 0;
  source.generation = team_.records.of(box_).generation;
  owes_emptying_ = false;
  return Done{};
}

Batch LineBox::take(const Directory& folder, Access reader, std::size_t most, const Waits& waits) {
  Batch batch;
  shown_.clear();
  std::string room = read_.empty() ? std::string() : std::move(read_.front());  // reuses its memory
  read_.clear();
  if (reader_ == Access::peek && reader != Access::peek) rewind();  // peeked lines are new to this reader
  reader_ = reader;
  all_shown_ = one_waits_ = false;
  auto file = open_in_place(folder, batch);
  Status ready = Done{};
  if (!file && batch.state != BoxState::missing) return batch;
  if (!file) {
    if (!sources_.empty()) ready = begin_anew({}, reader, batch);  // another program removed it
    if (!ready.ok()) batch.state = BoxState::fault, batch.detail = ready.error().message;
    return batch;
  }
  if (sources_.empty()) {
    ready = recognize(folder, *file);
  } else if (const auto same = is_as_read(in_place(), *file); !same) {
    ready = same.error();
  } else if (!*same) {
    ready = begin_anew(*file, reader, batch);
  }
  if (!ready.ok()) {
    batch.state = BoxState::fault;
    batch.detail = ready.error().message;
    return batch;
  }
  shown_to_.assign(sources_.size(), 0);
  read_from_.assign(sources_.size(), {});
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (one_waits_) {
      shown_to_[i] = sources_[i].offset;
    } else if (sources_[i].is_in_place()) {
      read_lines(i, *file, most, waits, std::exchange(room, {}), batch);
    } else if (const auto aside = team_.files.open_read(folder, sources_[i].name)) {
      read_lines(i, *aside, most, waits, std::exchange(room, {}), batch);
    } else {
      shown_to_[i] = sources_[i].offset;  // a person removed it
    }
  }
  file = Error{"io.closed", ""};  // closes the file, which would prevent the lease
  if (reader == Access::exclusive) end_last_line(folder, in_place(), batch);
  all_shown_ = !batch.more && !one_waits_ && batch.state == BoxState::open;
  for (const auto& source : sources_) {
    batch.size.entries += source.held.size();
    batch.size.bytes += source.size;
    for (const auto& [key, since] : source.held)
      if (batch.size.oldest_unread_ms == 0 || since < batch.size.oldest_unread_ms) batch.size.oldest_unread_ms = since;
  }
  batch.size.unread = reader == Access::exclusive ? batch.taken.size() : batch.size.entries;
  if (batch.size.unread == 0) batch.size.oldest_unread_ms = 0;
  if (!no_lease_.empty() && batch.detail.empty())
    batch.detail = "the file system gives no lease on it (" + no_lease_ + "), so it is replaced when it is big instead of emptied";
  return batch;
}

void LineBox::read_lines(std::size_t index, const File& file, std::size_t most, const Waits& waits, std::string room,
                         Batch& batch) {
  Source& source = sources_[index];
  shown_to_[index] = source.offset;
  source.size = file.stat.size;
  source.mtime_ns = file.stat.mtime_ns;
  if (file.stat.size <= source.offset) return;
  const std::uint64_t there = file.stat.size - source.offset;
  std::string bytes = std::move(room);
  bytes.clear();
  bytes.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(there, bytes_at_once)));
  std::size_t lines = 0;
  bool all_read = false;
  // Read until there are enough lines, and at least one line end.
  while (!all_read && lines < most && (lines == 0 || bytes.size() < bytes_at_once)) {
    if (bytes.size() >= bytes_at_once && bytes.size() > team_.size_limit) {
      batch.state = BoxState::too_large;
      batch.detail = file.path + " holds a line of more than " + std::to_string(team_.size_limit) +
                     " bytes (limits.inbox_file); take it out, or raise the limit";
      return;
    }
    const std::size_t before = bytes.size();
    bytes.resize(static_cast<std::size_t>(std::min<std::uint64_t>(there, before + bytes_a_read)));
    const auto count = team_.files.read_at(file, bytes.data() + before, bytes.size() - before, source.offset + before);
    if (!count) {
      batch.state = BoxState::fault;
      batch.detail = count.error().message;
      return;
    }
    const bool is_cut = *count < bytes.size() - before;  // the file became shorter meanwhile
    bytes.resize(before + *count);
    all_read = bytes.size() == there;
    lines += static_cast<std::size_t>(std::count(bytes.begin() + static_cast<std::ptrdiff_t>(before), bytes.end(), '\n'));
    if (is_cut) break;
  }
  const std::size_t end = bytes.rfind('\n');
  if (end == std::string::npos) return;  // a program is writing the line, or died meanwhile
  bytes.resize(end + 1);
  const std::string_view held = read_.emplace_back(std::move(bytes));
  read_from_[index] = held;
  std::size_t at = 0;
  for (; at < held.size() && batch.taken.size() < most;) {
    const std::size_t stop = held.find('\n', at);
    const std::string_view line = held.substr(at, stop - at);
    const std::uint64_t begin = source.offset + at;
    if (waits && waits(line)) {
      one_waits_ = true;
      break;
    }
    at = stop + 1;
    if (is_blank_line(line)) continue;
    schema::MessageKey key = key_of(source, begin, line);
    source.held.try_emplace(key, team_.clock.wall_ms());
    if (source.settled.contains(begin)) continue;
    shown_.push_back({index, begin, source.offset + at});
    batch.taken.push_back({std::move(key), line, false});
  }
  shown_to_[index] = source.offset + at;
  if (!one_waits_ && (at < held.size() || !all_read)) batch.more = true;
}

void LineBox::end_last_line(const Directory& folder, Source& source, Batch& batch) {
  // Only for bytes after the last line end, if the file has the same size as at the last read.
  if (batch.more || one_waits_ || shown_to_.back() >= source.size || std::exchange(quiet_size_, source.size) != source.size) return;
  if (team_.clock.steady() < not_before_) return;
  not_before_ = team_.clock.steady() + ask_again;
  const auto peers = peer_lock(team_.files, folder, box_);
  if (!peers) return;
  const auto file = team_.files.open_update(folder, file_);
  if (!file || file->stat.ino != source.inode) return;
  const auto granted = team_.files.set_lease(*file, Lease::write);
  if (!granted || !*granted) return;
  // With the lease no program is writing, so the bytes are a line of a writer that died or writes no line ends. The
  // line end keeps it apart from the next line.
  const auto now = team_.files.stat(*file);
  const bool ended = now && now->size == source.size && team_.files.write_at(*file, "\n", source.size).ok();
  static_cast<void>(team_.files.set_lease(*file, Lease::none));
  batch.more = batch.more || ended;
}

Settled LineBox::ack(const Directory& folder, const std::vector<Ack>& disposals) {
  Settled result;
  if (sources_.empty() || disposals.size() != shown_.size() || shown_to_.size() != sources_.size()) return result;
  std::vector<std::uint64_t> again(sources_.size(), UINT64_MAX);
  for (std::size_t i = 0; i < shown_.size(); ++i) {
    Source& source = sources_[shown_[i].source];
    if (disposals[i] == Ack::requeue) {
      again[shown_[i].source] = std::min(again[shown_[i].source], shown_[i].begin);
      continue;
    }
    source.settled.insert(shown_[i].begin);
    if (disposals[i] == Ack::skip) source.must_stay = true;
    if (disposals[i] == Ack::ack) ++result.consumed;
  }
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    Source& source = sources_[i];
    const std::uint64_t to = std::min(shown_to_[i], again[i]);
    if (to <= source.offset) continue;
    source.settled.erase(source.settled.begin(), source.settled.lower_bound(to));
    source.tail += read_from_[i].substr(0, static_cast<std::size_t>(to - source.offset));
    source.tail.erase(0, source.tail.size() - std::min(source.tail.size(), bytes_before));
    source.offset = to;
  }
  if (all_shown_) read_.clear();
  const std::size_t shown = shown_.size();
  shown_.clear();
  shown_to_.clear();  // disposals apply once
  if (reader_ != Access::exclusive) return result;
  owes_emptying_ = may_be_emptied();
  // Empty in a quiet moment, or if the file is big, because each emptying costs several writes to the disk.
  if (owes_emptying_ && all_shown_ && (shown == 0 || in_place().size >= big_enough)) empty(folder, result);
  drop_aside(folder);
  return result;
}

bool LineBox::may_be_emptied() const {
  const Source& source = sources_.back();
  return source.size > 0 && source.offset == source.size && source.settled.empty() && !source.must_stay;
}

void LineBox::empty(const Directory& folder, Settled& result) {
  Source& source = in_place();
  const auto told = [&](const Error& why) { result.detail = why.message; };
  if (team_.clock.steady() < not_before_) return;
  not_before_ = team_.clock.steady() + ask_again;
  const auto file = team_.files.open_update(folder, file_);
  if (!file) return told(file.error());
  if (file->stat.ino != source.inode || file->stat.size != source.offset) return;  // new lines come first
  BoxRecord& record = team_.records.of(box_);
  const auto tail = tail_of(*file, source.offset, bytes_of_mark);
  if (!tail) return told(tail.error());
  const FileMark mark{source.inode, source.offset, file->stat.ctime_ns, schema::content_hash(*tail)};
  if (record.emptying != mark) {
    // A power failure must not leave less of the file than the mark says, because a shorter file counts as emptied.
    if (const auto synced = team_.files.sync(*file); !synced) return told(synced.error());
    const BoxRecord before = std::exchange(record, {source.generation, mark, record.aside});
    if (auto saved = team_.records.save(true); !saved) {
      record = before;
      return told(saved.error());
    }
  }
  const auto peers = peer_lock(team_.files, folder, box_);
  if (!peers) {
    ++team_.contention.refused;
    return;
  }
  auto emptied = no_lease_.empty() ? empty_under_lease(*file, mark) : Result<bool>(false);
  if (!emptied && are_none(emptied.error())) no_lease_ = emptied.error().message;
  if (emptied && *emptied) {
    ++record.generation;
    record.emptying.reset();
    // A power failure must not undo the emptying and leave its record. The other way round, the mark shows the same.
    auto saved = team_.files.sync(*file);
    if (saved) saved = team_.records.save(false);
    if (!saved) told(saved.error());
    source = {.name = file_, .inode = file->stat.ino, .generation = record.generation};
    owes_emptying_ = false;
    not_before_ = {};
    return;
  }
  if (source.size < team_.size_limit / 4) return;
  if (auto aside = put_aside(folder, *file); !aside) told(aside.error());
}

Result<bool> LineBox::empty_under_lease(const File& file, const FileMark& mark) {
  TRY(const auto granted, team_.files.set_lease(file, Lease::write));
  ++(granted ? team_.contention.acquired : team_.contention.refused);
  if (!granted) return false;
  const auto now = team_.files.stat(file);
  const bool is_marked = now && now->size == mark.size && now->ctime_ns == mark.ctime_ns;
  const bool emptied = is_marked && team_.files.truncate(file, 0).ok();
  if (team_.files.lease_is_wanted(file)) ++team_.contention.stale_taken;
  static_cast<void>(team_.files.set_lease(file, Lease::none));
  return emptied;
}

Status LineBox::put_aside(const Directory& folder, const File& file) {
  Source& source = in_place();
  BoxRecord& record = team_.records.of(box_);
  const BoxRecord before = record;
  const EpochMs now = team_.clock.wall_ms();
  // Not *.jsonl, because some programs choose recipients by such files, even with a leading dot.
  const std::string name = "." + box_ + "." + std::to_string(source.generation) + ".inbox-poller";
  static_cast<void>(team_.files.unlink_at(folder, name));
  TRY(const auto fresh, team_.files.create_exclusive(folder, name, file.stat.mode));
  record.aside.push_back({name, source.inode, source.generation, now});
  record.emptying.reset();
  ++record.generation;
  Status done = team_.records.save(true);
  if (done.ok()) done = team_.files.exchange_at(folder, name, file_);
  if (!done.ok()) {
    record = before;
    static_cast<void>(team_.files.unlink_at(folder, name));
    static_cast<void>(team_.records.save(true));
    return done;
  }
  source.name = name;
  source.aside_ms = now;
  Source next;
  next.name = file_;
  next.inode = fresh.stat.ino;
  next.generation = record.generation;
  sources_.push_back(std::move(next));
  owes_emptying_ = false;
  return team_.files.sync_dir(folder);
}

void LineBox::drop_aside(const Directory& folder) {
  for (std::size_t i = 0; i + 1 < sources_.size(); ++i) {
    const Source& source = sources_[i];
    if (team_.clock.wall_ms() - source.aside_ms < keep_aside.count() || source.offset != source.size) continue;
    const auto file = team_.files.open_read(folder, source.name);
    const bool there = file && file->stat.ino == source.inode;
    if (there && file->stat.size != source.offset) continue;
    // A read lease shows that no program has the file open for writing.
    if (there && no_lease_.empty()) {
      const auto granted = team_.files.set_lease(*file, Lease::read);
      if (!granted || !*granted) continue;
      const auto now = team_.files.stat(*file);
      static_cast<void>(team_.files.set_lease(*file, Lease::none));
      if (!now || now->size != source.offset) continue;
    }
    if (there && !team_.files.unlink_at(folder, source.name).ok()) continue;
    std::erase_if(team_.records.of(box_).aside, [&](const AsideFile& one) { return one.name == source.name; });
    static_cast<void>(team_.records.save(false));
    sources_.erase(sources_.begin() + static_cast<std::ptrdiff_t>(i));
    return;  // the next call drops the next file
  }
}

void LineBox::rewind() {
  for (auto& source : sources_) {
    source.offset = 0;
    source.tail.clear();
    source.settled.clear();
    source.must_stay = false;
  }
  owes_emptying_ = false;
}

bool LineBox::holds(const schema::MessageKey& key) const {
  return std::any_of(sources_.begin(), sources_.end(),
                     [&](const Source& source) { return source.held.contains(key); });
}

}  // namespace inbox_poller::poller
