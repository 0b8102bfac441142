#include "poller/mailbox/maildir/maildir_root.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "poller/mailbox/envelopes.hpp"

namespace inbox_poller::poller {

namespace {

constexpr unsigned file_mode = 0600;
constexpr unsigned folder_mode = 0700;
constexpr std::string_view our_tmp = ".ip-";  // files that wait for their name
constexpr std::string_view our_offer = ".offer-";
constexpr std::int64_t a_day_ns = 24LL * 3600 * 1'000'000'000;
constexpr std::int64_t an_offer_ns = 30 * a_day_ns;  // its message may still be unread, and is a repeat then

bool is_message_name(std::string_view name) { return name.ends_with(".json") && !name.starts_with('.'); }

}  // namespace

Result<Directory> MaildirRoot::open() const {
  Result<Directory> root = files_.open_dir(absolute, path_);
  if (!root && is_errno(root.error(), ENOENT))
    return Error{"root.missing", path_ + " is not there: mkdir -p " + path_ + ", or name another folder with --root"};
  if (!root) return root;
  TRY(require_trusted(root->stat, path_));
  return root;
}

Result<Directory> MaildirRoot::descend(std::string_view below, bool make) const {
  Result<Directory> at = open();
  while (at && !below.empty()) {
    const std::string name(below.substr(0, below.find('/')));
    below.remove_prefix(std::min(below.size(), name.size() + 1));
    Result<Directory> next = files_.open_dir(*at, name);
    if (!next && make && is_errno(next.error(), ENOENT)) {
      const Status made = files_.mkdir_at(*at, name, folder_mode);
      if (!made.ok() && !is_errno(made.error(), EEXIST)) return made.error();
      TRY(files_.sync_dir(*at));
      next = files_.open_dir(*at, name);
    }
    at = std::move(next);
  }
  return at;
}

Result<Directory> MaildirRoot::folder(std::string_view below) const { return descend(below, false); }
Result<Directory> MaildirRoot::made_folder(std::string_view below) const { return descend(below, true); }

Result<std::vector<std::string>> MaildirRoot::names(std::string_view below) const {
  const Result<Directory> at = folder(below);
  if (!at && is_errno(at.error(), ENOENT)) return std::vector<std::string>{};
  if (!at) return at.error();
  TRY(auto found, files_.list(*at));
  std::erase_if(found, [](const std::string& name) { return !is_message_name(name); });
  std::sort(found.begin(), found.end());
  return found;
}

Result<std::vector<std::string>> MaildirRoot::actors() const {
  TRY(const auto root, open());
  TRY(auto found, files_.list(root));
  std::erase_if(found, [&](const std::string& name) {
    if (!is_actor_name(name)) return true;
    const Result<FileStat> stat = files_.stat_at(root, name);
    return !stat || stat->kind != FileKind::directory;
  });
  std::sort(found.begin(), found.end());
  return found;
}

std::string MaildirRoot::Fresh::name() const {
  std::array<char, 24> digits;
  std::snprintf(digits.data(), digits.size(), "%020lld", ns);
  return digits.data() + ("-" + id) + ".json";
}

MaildirRoot::Fresh MaildirRoot::fresh() const {
  last_ns_ = std::max(clock_.system_ns(), last_ns_ + 1);
  return {last_ns_, fresh_id()};
}

Status MaildirRoot::require_size(const File& file) {
  if (file.stat.size <= most_bytes) return Done{};
  return Error{"envelope.too_large", file.path + " has " + std::to_string(file.stat.size) + " bytes, at most " +
                                         std::to_string(most_bytes) + " are read"};
}

Result<Letterfile> MaildirRoot::read(const Directory& at, const std::string& name) const {
  TRY(const auto file, files_.open_read(at, name));
  TRY(require_size(file));
  TRY(auto bytes, read_all(files_, file));
  auto envelope = schema::Envelope::decode(bytes);
  if (!envelope) return in_context(file.path, envelope.error());
  return Letterfile{*std::move(envelope), file.stat, std::move(bytes)};
}

Result<std::string> MaildirRoot::stage(const Directory& tmp, const schema::Envelope& envelope) const {
  const std::string bytes = envelope.encode();
  TRY(require_size_of(bytes));
  const std::string name = std::string(our_tmp) + fresh_id() + ".tmp";
  TRY(create_durable(files_, tmp, name, bytes, file_mode));
  return name;
}

Status MaildirRoot::put(const Directory& at, const std::string& name, const schema::Envelope& envelope) const {
  TRY(const auto tmp, made_folder("tmp"));
  TRY(const auto staged, stage(tmp, envelope));
  Status moved = files_.move(tmp, staged, at, name, Onto::nothing);
  if (!moved.ok()) {
    (void)files_.unlink_at(tmp, staged);
    return moved;
  }
  return files_.sync_dir(at);
}

Result<std::uint64_t> MaildirRoot::change(const Directory& at, const std::string& name, const Letterfile& was,
                                          const schema::Envelope& envelope) const {
  TRY(const auto tmp, made_folder("tmp"));
  TRY(const auto staged, stage(tmp, envelope));
  const auto ours = files_.stat_at(tmp, staged);
  Status swapped = ours ? files_.swap(tmp, staged, at, name) : Status(ours.error());
  if (swapped.ok()) {
    const Result<FileStat> out = files_.stat_at(tmp, staged);
    // Another program replaced the file after it was read here, and the newer file counts.
    if (!out || out->ino != was.stat.ino || out->mtime_ns != was.stat.mtime_ns) {
      swapped = out ? Status(io_error(ENOENT, "changing", at.path + '/' + name)) : Status(out.error());
      (void)files_.swap(tmp, staged, at, name);
      const Result<FileStat> back = files_.stat_at(tmp, staged);
      if (!back || back->ino != ours->ino) {
        keep_strange(tmp, staged, name, out && back);
        return swapped.error();
      }
    }
  } else if (is_errno(swapped.error(), EINVAL) || is_errno(swapped.error(), ENOSYS)) {
    // This file system has no exchange. A change between the stat and the rename is lost.
    const Result<FileStat> there = files_.stat_at(at, name);
    swapped = there && there->ino == was.stat.ino ? files_.move(tmp, staged, at, name, Onto::anything)
                                                  : Status(io_error(ENOENT, "changing", at.path + '/' + name));
  }
  (void)files_.unlink_at(tmp, staged);
  if (swapped.ok()) swapped = files_.sync_dir(at);
  if (!swapped.ok()) return swapped.error();
  return ours->ino;
}

Status MaildirRoot::move(const Directory& from, const std::string& name, const Directory& to,
                         const std::string& as) const {
  Status moved = files_.move(from, name, to, as, Onto::nothing);
  if (moved.ok()) moved = files_.sync_dir(to);
  if (moved.ok()) moved = files_.sync_dir(from);
  return moved;
}

Result<std::string> MaildirRoot::set_aside(const Directory& from, const std::string& name, const Directory& to,
                                           const std::string& as) const {
  Status moved = move(from, name, to, as);
  if (moved.ok()) return as;
  if (!is_errno(moved.error(), EEXIST) && !is_errno(moved.error(), ENAMETOOLONG)) return moved.error();
  const std::string other = as.substr(0, std::min<std::size_t>(as.size() - 5, 150)) + '.' + fresh_id() + ".json";
  moved = move(from, name, to, other);
  if (!moved.ok()) return moved.error();
  return other;
}

/// Keeps another program's file that came out of an exchange and could not go back to its name. No other copy exists if
/// `certain`, so the file becomes a dead letter. Otherwise it stays in tmp/, where no person can requeue it.
void MaildirRoot::keep_strange(const Directory& tmp, const std::string& staged, const std::string& name,
                               bool certain) const {
  const Result<Directory> dead = certain ? made_folder("tasks/dead") : io_error(EIO, "keeping", name);
  if (dead && set_aside(tmp, staged, *dead, "dead-" + name).ok()) return;
  (void)files_.move(tmp, staged, tmp, "strange-" + fresh_id() + ".json", Onto::nothing);  // clean() keeps this name
}

void MaildirRoot::clean() const {
  const Result<Directory> tmp = folder("tmp");
  if (!tmp) return;
  const auto names = files_.list(*tmp);
  if (!names) return;
  for (const std::string& name : *names) {
    if (!name.starts_with(our_tmp) && !name.starts_with(our_offer)) continue;
    const Result<FileStat> stat = files_.stat_at(*tmp, name);
    const std::int64_t kept_ns = name.starts_with(our_offer) ? an_offer_ns : a_day_ns;
    if (stat && stat->kind == FileKind::regular && clock_.system_ns() - stat->ctime_ns > kept_ns)
      (void)files_.unlink_at(*tmp, name);
  }
}

}  // namespace inbox_poller::poller
