#include "poller/mailbox/maildir/new_mail.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "schema/ids.hpp"

namespace inbox_poller::poller {

namespace {

constexpr std::size_t worth_two = 256;  // new letters that are worth a second thread

/// Returns the identity of a message. Without an id it includes the file name, because each file is a message then.
std::string identity_of_mail(const schema::Envelope& envelope, const std::string& name) {
  const std::string id = schema::identity_of(envelope);
  return envelope.text("id").empty() ? "sha256:" + schema::content_hash(name + '\n' + id) : id;
}

}  // namespace

Status NewMail::make() {
  for (const char* below : {"/cur", "/new"}) {
    TRY(const auto folder, root_.made_folder(actor_ + below));
  }
  return Done{};
}

Status NewMail::look() {
  TRY(const auto names, root_.names(actor_ + "/new"));
  const auto is_there = [&](const std::string& name) { return std::binary_search(names.begin(), names.end(), name); };
  const auto is_gone = [&](const auto& one) { return !is_there(one.first); };
  std::erase_if(order_, [&](const Mail& mail) { return !is_there(mail.name); });
  std::erase_if(known_, is_gone);
  std::erase_if(unread_, is_gone);
  std::erase_if(reasons_, is_gone);
  rest();  // another program may have replaced the folders
  if (names.empty()) return Done{};
  TRY(open_new());
  std::vector<std::string> fresh;
  for (const std::string& name : names) {
    if (unread_.contains(name))
      read(name, std::nullopt);
    else if (!known_.contains(name))
      fresh.push_back(name);
  }
  Reading::Letters ahead;
  if (pool_ != nullptr && fresh.size() >= worth_two)
    ahead = Reading::all(std::make_shared<Reading>(root_, new_, fresh, keep_), *pool_);
  ahead.resize(fresh.size());
  for (std::size_t i = 0; i < fresh.size(); ++i) read(fresh[i], std::move(ahead[i]));
  return Done{};
}

void NewMail::rest() {
  new_.reset();
  cur_.reset();
  if (std::exchange(kept_, 0) > 0)
    for (auto& [name, known] : known_) known.kept.reset();
}

Status NewMail::open_new() {
  if (new_) return Done{};
  TRY(auto folder, root_.folder(actor_ + "/new"));
  new_ = std::make_shared<const Directory>(std::move(folder));
  return Done{};
}

Status NewMail::open_cur() {
  if (cur_) return Done{};
  TRY(auto folder, root_.made_folder(actor_ + "/cur"));
  cur_ = std::make_shared<const Directory>(std::move(folder));
  return Done{};
}

void NewMail::read(const std::string& name, std::optional<Result<Letterfile>> ahead) {
  const Directory& folder = *new_;
  const auto before = unread_.find(name);
  std::optional<Unread> seen;
  const auto stat = [&] {
    const Result<FileStat> now = root_.files().stat_at(folder, name);
    if (now) seen = Unread{now->ino, now->size, now->mtime_ns};
    return now.ok();
  };
  if (before != unread_.end() && (!stat() || before->second == *seen)) return;
  Result<Letterfile> file = ahead ? *std::move(ahead) : root_.read(folder, name);
  // An unreadable file is recognized by its stat before the read.
  if (!file && !seen && !is_errno(file.error(), ENOENT) && stat()) file = root_.read(folder, name);
  if (!file) {
    if (is_errno(file.error(), ENOENT)) return;
    const std::string& code = file.error().code;
    // A fault of the disk may end by itself, so the next look() reads the file again.
    if (!code.starts_with("io.") && seen) unread_[name] = *seen;
    reasons_[name] = file.error().message;
    return;
  }
  const schema::Envelope& envelope = file->envelope;
  Known& known = known_[name];
  known.place = order_
                    .insert({envelope.number("ts").value_or(0), name, identity_of_mail(envelope, name),
                             envelope.text("from"), envelope.text("type"), envelope.text("in_reply_to")})
                    .first;
  if (kept_ + file->bytes.size() <= keep_) {
    kept_ += file->bytes.size();
    known.kept = *std::move(file);
  }
  unread_.erase(name);
  reasons_.erase(name);
}

void NewMail::forget(const std::string& name) {
  const auto known = known_.find(name);
  if (known == known_.end()) return;
  order_.erase(known->second.place);
  known_.erase(known);
}

void NewMail::pass_over(const Mail& mail, const Error& error) {
  const std::string name = mail.name;  // forget() may free `mail`
  forget(name);
  reasons_[name] = error.message;
}

Result<NewMail::Open> NewMail::open(const Mail& mail, bool hold) {
  FileSystem& files = root_.files();
  TRY(open_new());
  TRY(auto file, files.open_read(*new_, mail.name));
  if (hold) {
    const Status held = files.lock(file.fd, file.path);
    // Without file locks two readers of one actor may get the same message, and one of them takes it.
    if (!held.ok() && is_errno(held.error(), EAGAIN)) return held.error();
  }
  TRY(const auto there, files.stat_at(*new_, mail.name));
  if (there.ino != file.stat.ino) return io_error(ENOENT, "opening", file.path);
  TRY(auto letter, this->letter(mail, file, there));
  return Open{std::move(letter.envelope), {mail.name, std::move(file)}, std::move(letter.bytes)};
}

Result<Letterfile> NewMail::letter(const Mail& mail, const File& file, const FileStat& there) {
  const auto known = known_.find(mail.name);
  auto kept = known == known_.end() ? std::nullopt : std::exchange(known->second.kept, std::nullopt);
  // The kernel sets the ctime when a file is taken or replaced.
  const bool as_read = kept && kept->stat.ino == there.ino && kept->stat.size == there.size &&
                       kept->stat.mtime_ns == there.mtime_ns && kept->stat.ctime_ns == there.ctime_ns;
  if (as_read) return *std::move(kept);
  TRY(MaildirRoot::require_size(file));
  TRY(auto bytes, read_all(root_.files(), file));
  auto envelope = schema::Envelope::decode(bytes);
  if (!envelope || identity_of_mail(*envelope, mail.name) != mail.id) {
    forget(std::string(mail.name));  // another message by now; the next look() finds it
    return io_error(ENOENT, "opening", file.path);
  }
  return Letterfile{*std::move(envelope), there, std::move(bytes)};
}

Result<bool> NewMail::take(const Mail& mail, const Open& open, Durable durable) {
  TRY(open_new());
  TRY(open_cur());
  TRY(const auto moved, leave(root_, *new_, *cur_, open.held, durable));
  if (moved) taken_.add(mail.id, *moved);
  forget(std::string(mail.name));  // forget() may free `mail`
  return moved.has_value();
}

Result<std::shared_ptr<Leaving>> NewMail::leaving() {
  TRY(open_new());
  TRY(open_cur());
  return std::make_shared<Leaving>(root_, new_, cur_);
}

void NewMail::take(const Mail& mail, Open&& open, Leaving& leaving) {
  taken_.add(mail.id, mail.name);
  leaving.add(std::move(open.held));
  forget(std::string(mail.name));  // forget() may free `mail`
}

Result<bool> NewMail::was_taken(const Mail& mail, const schema::Envelope& envelope) {
  TRY(const auto found, taken_.find(mail.id, mail.name, [&](const schema::Envelope& taken) {
    for (const char* field : {"from", "type"})
      if (taken.text(field) != envelope.text(field)) return false;
    const boost::json::object before = taken.object(), now = envelope.object();
    const boost::json::value *one = before.if_contains("payload"), *other = now.if_contains("payload");
    return one == nullptr || other == nullptr ? one == other : *one == *other;
  }));
  return found.has_value();
}

}  // namespace inbox_poller::poller
