#include "poller/mailbox/jsonl/line_post.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <unordered_map>
#include <utility>

#include "poller/mailbox/jsonl/line.hpp"
#include "poller/mailbox/jsonl/peer_lock.hpp"
#include "poller/mailbox/jsonl/proof.hpp"

namespace inbox_poller::poller {
namespace {

constexpr std::chrono::milliseconds ask_lease_again{200};
constexpr std::uint64_t looked_at = std::uint64_t{1} << 20;  // bytes, at the end of an inbox without a reader

/// Calls `visit` with the offset of each line, and with the line without its end.
template <class Visit>
void each_line(std::string_view bytes, Visit visit) {
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
    visit(at, bytes.substr(at, end - at));
    at = end + 1;
  }
}

WriteReceipt stopped_here(const Error& error) {
  if (error.code == code::not_regular || error.code == code::untrusted) return {WriteStatus::refused, error.message};
  return {is_errno(error, ENOENT) ? WriteStatus::gone : WriteStatus::fault, error.message};
}

}  // namespace

/// Lease on an open file, so that no other process has the file open. Its own reads and writes are removed from the
/// file events.
class LinePost::Hold {
 public:
  Hold(LinePost& post, const Directory& folder, const std::string& file, Box& box) : post_(post), box_(box) {
    auto peers = peer_lock(post.files_, folder, file.substr(0, file.rfind('.')));
    if (!peers) {
      result_ = {WriteStatus::busy, "a peer holds the lock of " + folder.path + "/" + file};
      return;
    }
    peers_ = *std::move(peers);
    auto opened = post.files_.open_update(folder, file);
    if (!opened) {
      result_ = stopped_here(opened.error());
      return;
    }
    file_ = *std::move(opened);
    const auto granted = post.files_.set_lease(file_, Lease::write);
    if (!granted) {
      result_ = {WriteStatus::refused, granted.error().message};
      return;
    }
    ++(*granted ? post.contention_.acquired : post.contention_.refused);
    if (!*granted) {
      result_ = {WriteStatus::busy, file_.path + " is open elsewhere"};
      return;
    }
    held_ = true;
    post_.drain();  // events before the lease
    if (const auto now = post_.files_.stat(file_)) file_.stat = *now;
  }
  ~Hold() {
    if (!held_) return;
    const std::size_t before = box_.events.size();
    post_.drain();
    box_.events.resize(before);  // own events, because no other process had the file open
    if (post_.files_.lease_is_wanted(file_)) ++post_.contention_.stale_taken;
    static_cast<void>(post_.files_.set_lease(file_, Lease::none));
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  [[nodiscard]] bool held() const { return held_; }
  /// Returns true if the file is open and cannot have a lease.
  [[nodiscard]] bool impossible() const { return result_.put == WriteStatus::refused && file_.fd.get() >= 0; }
  [[nodiscard]] const WriteReceipt& result() const { return result_; }
  [[nodiscard]] const File& file() const { return file_; }
  /// Reads the end of the file, from begins() on.
  Result<std::string> read() {
    begins_ = file_.stat.size > looked_at ? file_.stat.size - looked_at : 0;
    std::string bytes(static_cast<std::size_t>(file_.stat.size - begins_), '\0');
    TRY(const auto count, post_.files_.read_at(file_, bytes.data(), bytes.size(), begins_));
    bytes.resize(count);
    return bytes;
  }
  [[nodiscard]] std::uint64_t begins() const { return begins_; }

 private:
  LinePost& post_;
  Box& box_;
  std::optional<File> peers_;  // the peers' lock, if they have one
  File file_;
  WriteReceipt result_;
  std::uint64_t begins_ = 0;
  bool held_ = false;
};

void LinePost::drain() {
  for (const FileEvent& event : watch_->drain())
    for (auto& [file, box] : posted_)
      if (event.what == FileEvent::What::missed || event.file == box.watched) box.events.push_back(event.what);
}

LinePost::Box& LinePost::watched(const std::string& path, const std::string& file) {
  Box& box = posted_[file];
  const auto found = watch_->watch(path);
  box.watched = found ? *found : -1;
  return box;
}

void LinePost::post(const Directory& folder, const std::string& file, std::span<Line> lines) {
  const auto all = [&](const WriteReceipt& result) {
    for (Line& one : lines) one.result = result;
  };
  const auto exists = files_.stat_at(folder, file);
  if (!exists && is_errno(exists.error(), ENOENT)) {
    const auto made = files_.create_exclusive(folder, file, 0600);
    if (!made)
      return all(is_errno(made.error(), EEXIST) ? WriteReceipt{WriteStatus::busy, made.error().message} : stopped_here(made.error()));
    if (const auto synced = files_.sync_dir(folder); !synced.ok()) return all(stopped_here(synced.error()));
  }
  const bool first = !posted_.contains(file);
  drain();
  if (!first) judge(folder, file, posted_[file]);
  Box& box = watched(folder.path + "/" + file, file);
  if (first) box.events.clear();
  if (const WriteReceipt stopped = post_behind(folder, file, box, lines); stopped.put != WriteStatus::done) {
    if (box.lines.empty()) posted_.erase(file);
    return all(stopped);
  }
  WriteReceipt written;
  if (const auto open = files_.open_update(folder, file); open)
    if (const auto synced = files_.sync(*open); !synced.ok()) written = stopped_here(synced.error());
  for (Line& one : lines)
    if (one.result.put == WriteStatus::done) one.result = written;
}

WriteReceipt LinePost::post_behind(const Directory& folder, const std::string& file, Box& box, std::span<Line> lines) {
  std::vector<Posted> posted;
  std::string fresh;
  const auto add = [&](Line& one, std::uint64_t end) {
    posted.push_back({one.line, end + fresh.size(), ReadStatus::waiting, box.watched >= 0});
    one.result.put = WriteStatus::done;
    fresh += one.line;
  };
  WriteReceipt result;
  {
    Hold hold(*this, folder, file, box);
    if (!hold.held() && !hold.impossible()) return hold.result();
    const auto bytes = hold.read();
    if (!bytes) return stopped_here(bytes.error());
    if (hold.held()) look_closer(hold.file(), box, *bytes);
    std::unordered_map<std::string_view, std::uint64_t> there;
    each_line(*bytes, [&](std::size_t at, std::string_view one) { there.insert_or_assign(one, hold.begins() + at); });
    std::string_view torn = std::string_view(*bytes).substr(bytes->rfind('\n') + 1);
    std::size_t zeroes = 0;  // left by a power cut; without a lease they stay, because the line is only appended
    if (hold.held()) zeroes = torn.size() - (torn.find_last_not_of('\0') + 1);
    torn.remove_suffix(zeroes);
    const std::uint64_t end = hold.file().stat.size - zeroes;
    std::uint64_t at = end;
    for (Line& one : lines) {
      const std::string_view text = std::string_view(one.line).substr(0, one.line.size() - 1);
      if (const auto found = there.find(text); found != there.end()) {
        posted.push_back({one.line, found->second, ReadStatus::waiting, box.watched >= 0});
        one.result.put = WriteStatus::unchanged;
        continue;
      }
      if (hold.held() && one.line.starts_with(torn))
        at -= torn.size();  // own line, torn by a power cut: complete it
      else if (!torn.empty())
        fresh = "\n";  // another program's line: keep it apart
      torn = {};
      there.emplace(text, at + fresh.size());
      add(one, at);
    }
    if (hold.held()) {
      if (!torn.empty()) fresh = "\n";
      if (!fresh.empty()) result = write(hold.file(), fresh, at, end);
    } else {
      for (Posted& one : posted) one.proven = false;
      if (!fresh.empty()) result = append(folder, file, fresh);
    }
  }
  if (result.put != WriteStatus::done) return result;
  for (std::size_t i = 0; i < lines.size(); ++i) box.lines.insert_or_assign(lines[i].key, std::move(posted[i]));
  return result;
}

WriteReceipt LinePost::append(const Directory& folder, const std::string& file, const std::string& lines) {
  const auto open = files_.open_append(folder, file);
  if (!open) return stopped_here(open.error());
  const auto written = files_.append(*open, lines);
  return written.ok() ? WriteReceipt{} : stopped_here(written.error());
}

WriteReceipt LinePost::write(const File& file, const std::string& lines, std::uint64_t at, std::uint64_t end) {
  Status written = end < file.stat.size ? files_.truncate(file, end) : Status(Done{});
  if (written.ok()) written = files_.write_at(file, lines, at);
  if (written.ok()) return {};
  // Remove a torn line, because it would end the programs that read it.
  static_cast<void>(files_.truncate(file, end));
  return stopped_here(written.error());
}

void LinePost::track(const std::string& file, const schema::MessageKey& key) {
  posted_[file].lines.try_emplace(key, Posted{{}, 0, ReadStatus::waiting, false});
}

ReadStatus LinePost::read_status(const std::string& file, const schema::MessageKey& key) const {
  const auto box = posted_.find(file);
  if (box == posted_.end()) return ReadStatus::waiting;
  const auto found = box->second.lines.find(key);
  return found == box->second.lines.end() ? ReadStatus::waiting : found->second.read_status;
}

void LinePost::untrack(const std::string& file, const schema::MessageKey& key) {
  const auto box = posted_.find(file);
  if (box == posted_.end()) return;
  const auto found = box->second.lines.find(key);
  if (found != box->second.lines.end() && found->second.read_status != ReadStatus::lost) rewritten_.erase({file, key});
  box->second.lines.erase(key);
  if (!box->second.lines.empty()) return;
  if (box->second.watched >= 0) watch_->forget(box->second.watched);
  posted_.erase(box);
}

std::vector<std::string> LinePost::files() const {
  std::vector<std::string> names;
  for (const auto& [file, box] : posted_) names.push_back(file);
  return names;
}

bool LinePost::decided(const std::string& file) const {
  const auto box = posted_.find(file);
  return box != posted_.end() && std::any_of(box->second.lines.begin(), box->second.lines.end(), [](const auto& one) {
           return one.second.read_status != ReadStatus::waiting;
         });
}

void LinePost::look(
    const Directory& folder,
    const std::function<std::optional<schema::MessageKey>(const std::string& file, std::string_view)>& key_in) {
  drain();
  for (auto& [file, box] : posted_) {
    const KeyOf key_of = [&, &name = file](std::string_view line) { return key_in(name, line); };
    const bool strange = std::any_of(box.lines.begin(), box.lines.end(), [](const auto& one) {
      return one.second.line.empty() && one.second.read_status == ReadStatus::waiting;
    });
    if (strange && clock_.steady() >= box.not_before) {
      box.not_before = clock_.steady() + ask_lease_again;
      static_cast<void>(watched(folder.path + "/" + file, file));
      Hold hold(*this, folder, file, box);
      const bool is_open = hold.held() || hold.impossible();
      const auto bytes = is_open ? hold.read() : Result<std::string>(std::string());
      if (hold.held() && bytes) look_closer(hold.file(), box, *bytes);
      if ((is_open && bytes) || hold.result().put == WriteStatus::gone) find(file, box, *bytes, key_of, hold.held());
    }
    judge(folder, file, box);
  }
}

void LinePost::find(const std::string& file, Box& box, std::string_view bytes, const KeyOf& key_of, bool held) {
  each_line(bytes, [&](std::size_t at, std::string_view line) {
    const auto key = key_of(line);
    const auto known = key ? box.lines.find(*key) : box.lines.end();
    if (known == box.lines.end() || !known->second.line.empty()) return;
    known->second.line = std::string(line) + "\n";
    known->second.begin = at;  // too low in an inbox longer than `looked_at`, which has no reader
    known->second.proven = held && box.watched >= 0;
  });
  for (auto& [key, one] : box.lines)
    if (one.line.empty() && one.read_status == ReadStatus::waiting)
      one.read_status = rewritten_.emplace(file, key).second ? ReadStatus::lost : ReadStatus::consumed;
}

void LinePost::judge(const Directory& folder, const std::string& file, Box& box) {
  const auto now = files_.stat_at(folder, file);
  const std::uint64_t size = now ? now->size : 0;
  bool doubtful = false;
  for (auto& [key, one] : box.lines) {
    if (one.read_status != ReadStatus::waiting || one.line.empty()) continue;
    const bool as_long = one.begin + one.line.size() <= size;
    if (!one.proven) {
      if (!as_long) one.read_status = rewritten_.emplace(file, key).second ? ReadStatus::lost : ReadStatus::consumed;
      continue;
    }
    switch (proof_of(box.events, as_long)) {
      case Proof::waiting: break;
      case Proof::read: one.read_status = ReadStatus::consumed; break;
      case Proof::destroyed: one.read_status = ReadStatus::lost; break;
      case Proof::doubtful: doubtful = true; break;
    }
  }
  if (!doubtful) return box.events.clear();
  if (clock_.steady() < box.not_before) return;
  box.not_before = clock_.steady() + ask_lease_again;
  Hold hold(*this, folder, file, box);
  if (hold.held()) {
    if (const auto bytes = hold.read()) look_closer(hold.file(), box, *bytes);
  } else if (hold.result().put == WriteStatus::gone) {
    look_closer({}, box, {});
  }
}

void LinePost::look_closer(const File& file, Box& box, std::string_view bytes) {
  const std::uint64_t begins = file.stat.size - bytes.size();
  const bool was_read = std::find(box.events.begin(), box.events.end(), FileEvent::What::read) != box.events.end();
  for (auto& [key, one] : box.lines) {
    if (one.read_status != ReadStatus::waiting || !one.proven) continue;
    const bool there = one.begin >= begins && one.begin < file.stat.size &&
                       bytes.substr(static_cast<std::size_t>(one.begin - begins)).starts_with(one.line);
    if (proof_of(box.events, there) == Proof::read || (there && was_read)) one.read_status = ReadStatus::consumed;
    else if (!there && one.begin >= begins) one.read_status = ReadStatus::lost;
  }
  box.events.clear();
}

WriteReceipt LinePost::recall(const Directory& folder, const std::string& file, std::span<const schema::MessageKey> keys,
                            const KeyOf& key_of) {
  const bool first = !posted_.contains(file);
  Box& box = posted_[file];
  WriteReceipt result;
  {
    Hold hold(*this, folder, file, box);
    result = hold.impossible() ? WriteReceipt{WriteStatus::gone, hold.result().detail} : hold.result();
    const auto bytes = hold.held() ? hold.read() : Result<std::string>(std::string());
    if (!bytes) result = stopped_here(bytes.error());
    if (bytes) each_line(*bytes, [&](std::size_t at, std::string_view line) {
      const auto key = key_of(line);
      if (!key || std::find(keys.begin(), keys.end(), *key) == keys.end()) return;
      const auto written = files_.write_at(hold.file(), silenced_jsonl(line), hold.begins() + at);
      if (!written.ok()) result = stopped_here(written.error());
    });
  }
  if (first) posted_.erase(file);
  return result;
}

}  // namespace inbox_poller::poller
