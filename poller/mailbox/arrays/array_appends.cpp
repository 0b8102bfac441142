// Appending to an array inbox; all other operations are in array_inboxes.cpp.
#include <unordered_map>
#include <utility>

#include "poller/mailbox/arrays/array_inboxes.hpp"

namespace inbox_poller::poller {
namespace {

constexpr int optimistic_rounds = 3;
constexpr std::size_t keys_in_receipt = 32;

/// True if an inbox without a whole array has kept this version for as long as an abandoned lock. By the steady clock:
/// after the system clock was set back, the file's stamp lies in the future.
bool stays_as_it_is(std::pair<FileVersion, SteadyTime>& first, const FileVersion& version, SteadyTime now) {
  if (first.first != version) first = {version, now};
  return now - first.second >= stale_after;
}

}  // namespace

WriteResult ArrayInboxes::append(const std::string& inbox, std::string_view entry, AppendReceipt& receipt) {
  Appended one{std::string(entry), std::move(receipt)};
  append(inbox, std::span(&one, 1));
  receipt = std::move(one.receipt);
  return one.result;
}

void ArrayInboxes::append(const std::string& inbox, std::span<Appended> batch) {
  std::vector<Appended*> fit;
  for (Appended& one : batch) {
    const auto alone = InboxDocument::scan("[" + one.entry + "]", scope(inbox));
    if (alone.problem() || alone.entries().size() != 1) {
      one.result = stopped(WriteOutcome::refused,
                           "what should be appended to '" + inbox + "' is not one JSON value");
      continue;
    }
    one.receipt = {alone.entries().front().key, {}, false};
    fit.push_back(&one);
  }
  if (fit.empty()) return;
  const WriteResult all = append_all(inbox, fit);
  for (Appended* one : fit)
    if (all.outcome != WriteOutcome::done || one->result.outcome != WriteOutcome::already_there) one->result = all;
}

WriteResult ArrayInboxes::append_all(const std::string& inbox, std::span<Appended* const> batch) {
  if (!schema::is_inbox_name(inbox)) return no_inbox_name(inbox);
  const Result<Directory> folder = open_or_make_inboxes();
  if (!folder) return stopped_by(folder.error());

  WriteResult result = stopped(WriteOutcome::changed, {});
  for (int round = 0; round < optimistic_rounds && result.outcome == WriteOutcome::changed; ++round)
    result = append_once(*folder, inbox, batch, std::nullopt);
  if (result.outcome == WriteOutcome::changed) {  // lost every race: try once more under the lock
    LockAttempt attempt = locks_.try_acquire(*folder, lock_name(inbox_file_name(inbox)));
    if (attempt.outcome != LockOutcome::acquired) return not_locked(attempt);
    result = append_once(*folder, inbox, batch, std::move(attempt.lock));
    add_detail(result.detail, attempt.detail);
  }
  if (result.outcome != WriteOutcome::done) return result;
  // Sync also for `already_there`: the entry may be ours, written just before a crash.
  if (const Status synced = files_.sync_dir(*folder); !synced.ok())
    return stopped(WriteOutcome::fault, "appended, but perhaps not lasting: " + synced.error().message);
  return result;
}

WriteResult ArrayInboxes::append_once(const Directory& folder, const std::string& inbox,
                                      std::span<Appended* const> batch, std::optional<HeldLock> lock) {
  const std::string file = inbox_file_name(inbox);
  Snapshot snapshot = take_snapshot(files_, clock_, folder, file, size_limit_);
  // A missing inbox appears by the same rename, with the entry in it: never half written, and never empty for a
  // moment. Peers create theirs with `[]` before they take the lock, so a file that appears at that moment has no
  // entry of a peer.
  const bool exists = snapshot.outcome != ReadOutcome::missing;
  if (exists && snapshot.outcome != ReadOutcome::document) return stopped_by(snapshot);

  // In the known head only the last entry is scanned, for its format.
  const PrefixCache& known = this->known(inbox);
  const Head head = recognize(snapshot.bytes, known);
  const PrefixCache::Checkpoint& border = head.entries == known.size() ? known.whole() : known.settled();
  const std::size_t begin = head.entries > 0 ? border.last_begins : 0;
  const auto from = begin > 0 ? schema::ArrayFrom::element : schema::ArrayFrom::beginning;
  const auto document = InboxDocument::scan(snapshot.bytes.substr(begin), scope(inbox), {begin, from});
  const std::string path = folder.path + "/" + file;
  // A young file without a parsable array may be in the middle of a peer's unlocked write. An old one stays as it is.
  // White space is left by a writer that died between truncating and writing, and nothing is lost by counting it as
  // []. Any other content may hold messages, and is left to a person.
  const bool is_odd = document.problem() || (exists && is_blank(document));
  const bool is_old =
      snapshot.settled || (is_odd && stays_as_it_is(in_the_way_[inbox], snapshot.version, clock_.steady()));
  if (document.problem() && is_old) {
    return stopped(WriteOutcome::refused, path + " is not one JSON array (" + describe(*document.problem()) +
                                              "); it is left as it is. Repair it, or move it away");
  }
  if (is_odd && !is_old)
    return stopped(WriteOutcome::changed, path + " is being written by another program");

  // The oldest keys are enough: a consumer of our entry has consumed them, and a peer that overwrites ours most likely
  // kept them.
  std::vector<schema::MessageKey> unread;
  std::unordered_map<std::string_view, std::size_t> before;  // by key: number of unread entries before it
  bool keeps_read = false;
  const auto stands = [&](const schema::MessageKey& key, bool is_read) {
    if (!before.emplace(key.value, unread.size()).second) return false;
    keeps_read = keeps_read || is_read;
    if (!is_read && unread.size() < keys_in_receipt) unread.push_back(key);
    return true;
  };
  for (const InboxEntry& entry : document.entries()) stands(entry.key, entry.read == ReadFlag::read);
  std::vector<std::string_view> wanted;
  for (Appended* one : batch) {
    AppendReceipt& receipt = one->receipt;
    const bool was_known = known.contains(receipt.key, head.entries);
    const bool is_new = !was_known && stands(receipt.key, false);
    one->result = is_new ? WriteResult{} : stopped(WriteOutcome::already_there, {});
    const std::size_t count = was_known ? 0 : before.at(receipt.key.value);
    receipt.unread_before.assign(unread.begin(), unread.begin() + static_cast<std::ptrdiff_t>(count));
    receipt.keeps_read = keeps_read;
    receipt.was_cleared = !is_odd && head.entries == 0 && document.entries().empty();
    if (is_new) wanted.push_back(one->entry);
  }
  if (wanted.empty()) return {};
  return replace(files_, locks_, folder, file, snapshot, snapshot.bytes.substr(0, begin) + document.with_appended(wanted),
                 std::move(lock));
}

}  // namespace inbox_poller::poller
