#include "poller/mailbox/maildir/maildir_mailbox.hpp"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>
#include <cerrno>
#include <memory>
#include <utility>

#include "poller/mailbox/letter.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
using schema::MessageKey;

namespace {

constexpr std::size_t held_at_once = 500;  // each is an open file until its ack()
constexpr std::size_t bytes_kept = std::size_t{16} << 20;  // of one box, from its scan until receive() shows them
constexpr std::chrono::milliseconds one_tick{50};  // more than one tick of any file system's clock
constexpr std::chrono::hours resent_within{1};     // peers repeat messages without an answer
constexpr std::size_t most_bad_bytes = 64 << 10;

bool is_gone(const Error& error) { return is_errno(error, ENOENT) || error.code == "root.missing"; }

WriteReceipt why_not(const Error& error) {
  if (is_gone(error)) return {WriteStatus::gone, error.message};
  const bool in_the_way = error.code == code::untrusted || is_errno(error, ENOTDIR) || is_errno(error, ELOOP) ||
                          is_errno(error, EACCES) || is_errno(error, EPERM);
  return {in_the_way ? WriteStatus::blocked : WriteStatus::fault, error.message};
}

}  // namespace

MaildirMailbox::MaildirMailbox(FileSystem& files, const Clock& clock, MaildirSettings settings)
    : root_(files, clock, settings.root), settings_(std::move(settings)) {}

MaildirMailbox::Box& MaildirMailbox::box(const std::string& name) {
  return boxes_.try_emplace(name, root_, name, bytes_kept, settings_.pool).first->second;
}

std::string MaildirMailbox::location(const std::string& name) const { return root_.path() + "/" + name + "/new"; }

// --- reading

Status MaildirMailbox::look_around() {
  for (auto& [name, one] : boxes_) one.just_looked = false;
  is_idle_ = false;
  bool same = std::exchange(all_told_, false);
  const bool by_name = same && turns_.are_taken() && is_root_as_seen();
  TRY(const auto root, by_name ? Result<Directory>(Directory()) : root_.open());
  if (!by_name) {
    const auto now = root_.clock().steady();
    if (root.stat.ino != root_seen_.ino || root.stat.mtime_ns != root_seen_.mtime_ns)
      root_seen_ = {root.stat.ino, root.stat.mtime_ns, now, false};
    if (!root_seen_.all) {
      same = false;
      TRY(list(root));
      root_seen_.all = now - root_seen_.since >= one_tick;
    }
  }
  const auto turn = turns_.next(folders_.size());
  const std::string below = by_name ? root_.path() + "/" : "";
  for (std::size_t i = 0; i < folders_.size(); ++i) {
    Folder& folder = folders_[i];
    if (by_name && !turn.has(i) && may_wait(folder)) continue;
    same = look_at(folder, root_.files().stat_at(root, below + folder.name + "/new")) && same;
  }
  is_idle_ = all_told_ = same;
  return Done{};
}

Status MaildirMailbox::list(const Directory& root) {
  FileSystem& files = root_.files();
  TRY(auto names, files.list(root));
  std::sort(names.begin(), names.end());
  folders_.clear();
  for (std::string& name : names) {
    if (name == "tmp" || name == "tasks") continue;
    const auto found = files.stat_at(root, name);
    if (found && found->kind != FileKind::regular) folders_.push_back({std::move(name), found->kind == FileKind::directory});
  }
  return Done{};
}

/// Checks the root by its name, without opening it.
bool MaildirMailbox::is_root_as_seen() const {
  const auto now = root_.files().stat_at(absolute, root_.path());
  return now && now->kind == FileKind::directory && require_trusted(*now, root_.path()).ok() && root_seen_.all &&
         now->ino == root_seen_.ino && now->mtime_ns == root_seen_.mtime_ns;
}

bool MaildirMailbox::look_at(Folder& folder, const Result<FileStat>& now) {
  const Folder before = folder;
  folder.has_new = now.ok();
  folder.is_box = folder.is_directory && is_actor_name(folder.name) && (now || !is_gone(now.error()));
  folder.changed = folder.is_box && (!now || !has_all_of(box(folder.name), *now));
  return !before.changed && !folder.changed && before.has_new == folder.has_new && before.is_box == folder.is_box;
}

bool MaildirMailbox::may_wait(const Folder& folder) const {
  if (!settings_.writes || folder.name == settings_.lead) return false;
  const auto lead = boxes_.find(settings_.lead);
  if (lead != boxes_.end() && lead->second.reader == Access::observe) return false;
  const auto out = outgoing_.find(folder.name);
  return out == outgoing_.end() ||
         std::ranges::none_of(out->second.tracked, [](const auto& one) { return one.second == ReadStatus::waiting; });
}

bool MaildirMailbox::has_all_of(Box& box, const FileStat& now) const {
  if (now.ino != box.seen.ino || now.mtime_ns != box.seen.mtime_ns)
    box.seen = {now.ino, now.mtime_ns, root_.clock().steady(), false};
  return box.seen.all && !box.goes_on && !box.left_out;
}

/// Returns true if all letters of the box were shown. Errors: those of MaildirRoot::open(), "io.…".
Result<bool> MaildirMailbox::see(const std::string& name, Box& box) {
  TRY(const auto root, root_.open());
  TRY(const auto now, root_.files().stat_at(root, name + "/new"));
  return has_all_of(box, now);
}

Status MaildirMailbox::look(Box& one) {
  one.looked = root_.clock().steady();
  Status looked = one.mail.look();
  one.just_looked = looked.ok();
  return looked;
}

Result<std::span<const ReadyBox>> MaildirMailbox::ready_boxes() {
  if (!std::exchange(tidied_, true) && settings_.writes) {
    root_.clean();
    around_.reset();
    if (Status made = box(settings_.lead).mail.make(); !made.ok() && !is_gone(made.error())) {
      tidied_ = false;
      return made.error();
    }
  }
  const Status around = around_ ? *std::exchange(around_, std::nullopt) : look_around();
  if (is_idle_) return std::span<const ReadyBox>(ready_);
  ready_.clear();
  if (!around.ok() && is_gone(around.error())) return std::span<const ReadyBox>{};
  if (!around.ok()) return around.error();
  for (const Folder& folder : folders_)
    if (folder.is_box) ready_.push_back({folder.name, folder.changed});
  all_told_ = std::ranges::none_of(ready_, &ReadyBox::changed);
  return std::span<const ReadyBox>(ready_);
}

asio::awaitable<Batch> MaildirMailbox::receive(std::string name, Access reader, std::size_t most) {
  Batch batch;
  all_told_ = false;
  Box& one = box(name);
  if (Settled before; !one.goes_on) co_await see_off(one, before);
  if ((one.reader == Access::peek) != (reader == Access::peek)) {
    one.settled.clear();
    one.known.clear();
    one.goes_on = false;
  }
  one.reader = reader;
  one.shown.clear();
  one.bytes.clear();
  const auto seen = see(name, one);
  if (!seen) {
    batch.state = is_gone(seen.error()) ? BoxState::missing : BoxState::fault;
    batch.detail = seen.error().message;
    co_return batch;
  }
  if (!one.goes_on) begin_look(one, batch);
  if (batch.state == BoxState::fault) co_return batch;
  batch.state = BoxState::open;
  most = std::min(most, held_at_once);
  const std::set<Mail>& order = one.mail.in_order();
  for (auto next = order.begin(); next != order.end() && !batch.more;) {
    const Mail mail = *next;
    if (name == settings_.lead && !is_heard(mail.from)) {
      one.left_out = true;  // the next roster adds the sender
    } else if (!one.settled.contains(mail.name) && !one.again.contains(mail.name)) {
      batch.more = one.shown.size() == most;
      if (!batch.more) show(name, one, mail, batch);
    }
    next = order.upper_bound(mail);  // show() may have removed `mail`
  }
  if (!batch.more) show_bad(name, one, most, batch);
  one.goes_on = batch.more;
  if (reader == Access::peek) look_after(name, one);
  co_return batch;
}

void MaildirMailbox::begin_look(Box& one, Batch& batch) {
  one.left_out = false;
  one.again.clear();
  if (Status looked = one.just_looked ? Status(Done{}) : look(one); !looked.ok()) {
    batch.state = BoxState::fault;
    batch.detail = looked.error().message;
    return;
  }
  one.just_looked = false;
  const auto now = root_.clock().steady();
  const auto now_ms = root_.clock().wall_ms();
  std::set<std::string_view> there;
  for (const Mail& mail : one.mail.in_order()) there.insert(mail.name);
  const bool watches = one.reader == Access::observe || one.reader == Access::shared;
  for (const auto& [file, known] : one.known)
    if (watches && !there.contains(file))
      batch.signs.push_back({ConsumerEvidence::What::consumed, known.key,
                             std::chrono::duration_cast<std::chrono::milliseconds>(now - known.since)});
  const auto& bad = one.mail.unreadable();
  std::erase_if(one.known, [&](const auto& known) { return !there.contains(known.first); });
  std::erase_if(one.bad_looks, [&](const auto& looks) { return !bad.contains(looks.first); });
  std::erase_if(one.bad_told, [&](const auto& file) { return !bad.contains(file); });
  std::erase_if(one.settled, [&](const auto& file) { return !there.contains(file); });
  std::erase_if(one.first_ms, [&](const auto& first) { return !there.contains(first.first); });
  std::erase_if(one.taken, [&](const auto& taken) { return now - taken.second > resent_within; });
  for (const std::string_view file : there) one.first_ms.try_emplace(std::string(file), now_ms);
  for (const auto& [file, reason] : bad) ++one.bad_looks[file];
  batch.size.entries = batch.size.unread = there.size();
  for (const auto& [file, first] : one.first_ms)
    batch.size.oldest_unread_ms = batch.size.oldest_unread_ms == 0 ? first : std::min(batch.size.oldest_unread_ms, first);
}

void MaildirMailbox::show(const std::string& name, Box& one, const Mail& mail, Batch& batch) {
  const bool owns = one.reader == Access::exclusive || one.reader == Access::shared;
  Result<NewMail::Open> open = one.mail.open(mail, owns);
  if (!open) {  // taken, locked by another process of this actor, or no longer readable
    one.left_out = true;
    if (is_errno(open.error(), EMFILE) || is_errno(open.error(), ENFILE)) {
      batch.more = !one.shown.empty();  // the ack() of the held letters comes first
      return;
    }
    if (!is_errno(open.error(), ENOENT) && !is_errno(open.error(), EAGAIN)) one.mail.pass_over(mail, open.error());
    return;
  }
  const MessageKey key = key_of_letter({settings_.team, name}, open->envelope, mail.id, settings_.lead);
  one.known.try_emplace(mail.name, Known{key, root_.clock().steady()});
  batch.taken.push_back({key, one.bytes.emplace_back(std::move(open->bytes)), false});
  one.shown.push_back({mail, key, owns ? std::optional(*std::move(open)) : std::nullopt, false});
}

/// Reports each unreadable file once, as a bad letter. The file stays in place.
void MaildirMailbox::show_bad(const std::string& name, Box& one, std::size_t most, Batch& batch) {
  for (const auto& [file, reason] : one.mail.unreadable()) {
    one.left_out = true;  // read again later, because it may have been fixed
    const bool due = one.bad_looks[file] >= settings_.torn_looks && one.reader != Access::peek;
    if (!due || one.bad_told.contains(file) || one.shown.size() >= most) continue;
    const auto folder = root_.folder(name + "/new");
    const auto opened = folder ? root_.files().open_read(*folder, file) : Result<File>(folder.error());
    if (!opened) continue;
    std::string bytes(std::min<std::uint64_t>(opened->stat.size, most_bad_bytes), '\0');
    const auto read = root_.files().read_at(*opened, bytes.data(), bytes.size(), 0);
    bytes.resize(read ? *read : 0);
    if (!read || schema::Envelope::decode(bytes) || root_.read(*folder, file)) continue;  // its writer has ended by now
    const MessageKey key = schema::make_bad_entry_key({settings_.team, name}, file + '\n' + bytes, 0);
    batch.taken.push_back({key, one.bytes.emplace_back(std::move(bytes)), false});
    one.shown.push_back({Mail{0, file, {}, {}, {}, {}}, key, std::nullopt, true});
  }
}

asio::awaitable<Settled> MaildirMailbox::ack(std::string name, std::vector<Ack> disposals) {
  Settled result;
  const auto found = boxes_.find(name);
  if (found == boxes_.end()) co_return result;
  all_told_ = false;
  Box& one = found->second;
  bool all = disposals.size() >= one.shown.size();
  // If the scan has more letters, these move to cur/ while the next ones are shown and committed.
  auto leaving = std::shared_ptr<Leaving>();
  if (one.goes_on && settings_.pool != nullptr)
    if (auto ready = one.mail.leaving()) leaving = *std::move(ready);
  for (std::size_t i = 0; i < std::min(disposals.size(), one.shown.size()); ++i) {
    Shown& shown = one.shown[i];
    if (disposals[i] == Ack::requeue) {
      one.again.insert(shown.mail.name);
      one.left_out = true;
    } else if (disposals[i] == Ack::skip || !shown.open) {
      (shown.is_bad ? one.bad_told : one.settled).insert(shown.mail.name);
    } else {
      all = consume(one, shown, leaving.get(), result) && all;
    }
  }
  one.shown.clear();
  one.left_out = one.left_out || !all;
  co_await see_off(one, result);
  if (leaving) Leaving::start(leaving, *settings_.pool, co_await asio::this_coro::executor);
  one.leaving = std::move(leaving);
  if (one.goes_on) co_return result;
  one.again.clear();
  one.mail.rest();
  one.seen.all = one.looked - one.seen.since >= one_tick;
  co_return result;
}

/// Waits until the letters of the previous batch are in cur/.
asio::awaitable<void> MaildirMailbox::see_off(Box& one, Settled& result) {
  const auto leaving = std::exchange(one.leaving, nullptr);
  if (!leaving) co_return;
  co_await leaving->ended();
  result.consumed += leaving->left();
  if (!leaving->problem()) co_return;
  one.left_out = true;  // the next scan shows them again, and the ledger knows them
  result.put = WriteStatus::fault;
  result.detail = leaving->problem()->message;
}

bool MaildirMailbox::consume(Box& one, Shown& shown, Leaving* leaving, Settled& result) {
  // Not synced: the ledger knows a letter that a power cut brings back, so the letter is taken again.
  Result<bool> taken = false;
  if (leaving != nullptr)
    one.mail.take(shown.mail, *std::exchange(shown.open, std::nullopt), *leaving);
  else
    taken = one.mail.take(shown.mail, *shown.open, Durable::no);
  if (!taken) {
    result.put = WriteStatus::fault;
    result.detail = taken.error().message;
    return false;
  }
  one.known.erase(shown.mail.name);
  one.taken[shown.key] = root_.clock().steady();
  result.consumed += *taken ? 1 : 0;
  return true;
}

void MaildirMailbox::rewind(const std::string& name) {
  const auto found = boxes_.find(name);
  if (found == boxes_.end()) return;
  all_told_ = false;
  found->second.settled.clear();
  found->second.goes_on = false;
  found->second.seen.all = false;
}

Result<Decoded> MaildirMailbox::decode(std::string_view bytes) const { return decode_letter(bytes, settings_.lead); }

std::function<bool(const MessageKey&)> MaildirMailbox::referenced(const std::string& name) const {
  auto keys = std::make_shared<std::set<MessageKey>>();
  if (const auto found = boxes_.find(name); found != boxes_.end()) {
    for (const auto& [file, known] : found->second.known) keys->insert(known.key);
    for (const auto& [key, since] : found->second.taken) keys->insert(key);
  }
  return [keys](const MessageKey& key) { return keys->contains(key); };
}

asio::awaitable<Expunged> MaildirMailbox::expunge(std::string, RetentionPolicy) {
  Expunged nothing;  // consumed letters are in cur/, which belongs to the agents
  nothing.put = WriteStatus::unchanged;
  co_return nothing;
}

// --- writing

std::set<std::string> MaildirMailbox::ids_in(const std::string& actor, std::initializer_list<const char*> folders) const {
  std::set<std::string> ids;
  for (const char* folder : folders)
    if (const auto names = root_.names(actor + folder))
      for (const std::string& name : *names) ids.insert(schema::id_hinted_by(name));
  return ids;
}

std::vector<WriteReceipt> MaildirMailbox::post(const std::string& inbox, std::span<const schema::Message> messages) {
  std::vector<WriteReceipt> results;
  all_told_ = false;
  const auto may_go_on = [&] {
    const WriteStatus last = results.empty() ? WriteStatus::done : results.back().put;
    return last == WriteStatus::done || last == WriteStatus::unchanged || last == WriteStatus::refused;
  };
  for (const schema::Message& message : messages)
    results.push_back(may_go_on() ? post_one(inbox, message) : results.back());
  return results;
}

WriteReceipt MaildirMailbox::post_one(const std::string& inbox, const schema::Message& message) {
  if (!is_actor_name(inbox) || inbox == settings_.lead)
    return {WriteStatus::refused, "'" + inbox + "' cannot be an actor's name: use A-Z a-z 0-9 _ -, at most 64 characters"};
  const MessageKey key = schema::make_message_key({settings_.team, inbox}, message.from, message.timestamp, message.text, 0);
  const auto letter = letter_of(message, inbox, key.value);
  if (!letter) return {WriteStatus::refused, letter.error().message};
  Outgoing& out = outgoing_[inbox];
  // Only this process writes these ids, so one listing is enough. The order is the one in which letters move.
  if (!out.written) out.written = ids_in(inbox, {"/new", "/processing", "/expired", "/dead", "/cur"});
  if (out.written->contains(key.value)) {
    out.tracked.try_emplace(key, ReadStatus::waiting);
    return {WriteStatus::unchanged, {}};
  }
  const auto folder = root_.made_folder(inbox + "/new");
  if (!folder) return why_not(folder.error());
  MaildirRoot::Fresh name = root_.fresh();
  name.id = key.value;
  if (Status put = root_.put(*folder, name.name(), *letter); !put.ok()) return why_not(put.error());
  out.written->insert(key.value);
  out.tracked[key] = ReadStatus::waiting;
  return {};
}

void MaildirMailbox::track(const std::string& inbox, const MessageKey& key) {
  all_told_ = false;
  outgoing_[inbox].tracked.try_emplace(key, ReadStatus::waiting);
}

ReadStatus MaildirMailbox::read_status(const std::string& inbox, const MessageKey& key) const {
  const auto out = outgoing_.find(inbox);
  if (out == outgoing_.end()) return ReadStatus::waiting;
  const auto tracked = out->second.tracked.find(key);
  return tracked == out->second.tracked.end() ? ReadStatus::waiting : tracked->second;
}

void MaildirMailbox::untrack(const std::string& inbox, const MessageKey& key) {
  if (const auto out = outgoing_.find(inbox); out != outgoing_.end()) {
    out->second.tracked.erase(key);
    out->second.rewritten.erase(key.value);
  }
}

/// Updates the status of the written letters. A letter that moved from new/ to another folder of its owner was read. A
/// letter that vanished is lost, so it is written again once. If it vanishes again, its owner deletes read letters.
void MaildirMailbox::look_after(const std::string& name, const Box& one) {
  const auto found = outgoing_.find(name);
  if (found == outgoing_.end()) return;
  Outgoing& out = found->second;
  std::set<std::string> unread;
  for (const Mail& mail : one.mail.in_order()) unread.insert(mail.id);
  std::optional<std::set<std::string>> taken;
  for (auto& [key, read_status] : out.tracked) {
    if (read_status != ReadStatus::waiting || unread.contains(key.value)) continue;
    if (!taken) taken = ids_in(name, {"/processing", "/expired", "/dead", "/cur"});
    const bool was_read = taken->contains(key.value);
    if (!was_read && out.rewritten.contains(key.value)) out.deletes = true;
    read_status = was_read || out.deletes ? ReadStatus::consumed : ReadStatus::lost;
    if (read_status != ReadStatus::lost) continue;
    out.rewritten.insert(key.value);
    if (out.written) out.written->erase(key.value);
  }
}

WriteReceipt MaildirMailbox::recall(const std::string& inbox, std::span<const MessageKey> keys) {
  const auto folder = root_.folder(inbox + "/new");
  const auto names = folder ? root_.files().list(*folder) : Result<std::vector<std::string>>(folder.error());
  if (!names) return why_not(names.error());
  for (const std::string& name : *names) {
    const std::string id = schema::id_hinted_by(name);
    if (std::none_of(keys.begin(), keys.end(), [&](const MessageKey& key) { return key.value == id; })) continue;
    const auto letter = root_.read(*folder, name);
    if (!letter || letter->envelope.text("id") != id || letter->envelope.text("from") != settings_.lead) continue;
    const auto dead = root_.made_folder(inbox + "/dead");
    const auto moved = dead ? root_.set_aside(*folder, name, *dead, name) : Result<std::string>(dead.error());
    if (!moved && !is_gone(moved.error())) return why_not(moved.error());
  }
  return {};
}

}  // namespace inbox_poller::poller
