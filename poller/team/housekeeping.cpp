#include "poller/team/housekeeping.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "poller/pause.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

using schema::InboxDocument;
using schema::ReadFlag;
using std::chrono::milliseconds;

constexpr std::chrono::hours prune_every{1};
constexpr std::chrono::minutes compact_every{1};
constexpr std::chrono::seconds when_busy{10};
constexpr milliseconds shortest_wait = std::chrono::seconds(1);
constexpr milliseconds longest_wait = std::chrono::minutes(15);
constexpr int compact_rounds = 8;                           // but for the first, each is a few milliseconds
constexpr std::size_t entries_at_once = 256;                // then others get their turn
constexpr std::uint64_t pooled_from = std::uint64_t{1} << 20;  // handled on the pool from here on

}  // namespace

void Housekeeping::saw(const ReadResult& reading) {
  const auto& entries = reading.document.entries();
  const auto read =
      std::count_if(entries.begin(), entries.end(), [](const auto& entry) { return entry.read == ReadFlag::read; });
  read_entries_ = reading.skipped + static_cast<std::size_t>(read);
  file_bytes_ = reading.windows.empty() ? 0 : reading.windows.back().bytes.end;
}

void Housekeeping::prune_now_and_then() {
  const auto now = context_.clock.steady();
  if (pruned_ && now - *pruned_ < prune_every) return;
  pruned_ = now;
  const auto cutoff = context_.clock.wall_ms() - context_.config.limits.retention.count();
  // What has only just left the inbox stays for an hour: a peer may put an older copy of the file back.
  const auto keep = [&, known = mailbox_.known(context_.lead).identities()](const schema::MessageKey& key) {
    return intake_.in_inbox(key) || known.contains(schema::with_occurrence(key, 0)) || gone_.contains(key);
  };
  const auto gone = context_.ledger.prune(context_.name, cutoff, keep);
  gone_.clear();
  if (gone && *gone > 0)
    context_.telemetry.emit(Event::ledger_pruned, {{"team", context_.name}, {"count", std::to_string(*gone)}});
}

asio::awaitable<bool> Housekeeping::compact_now_and_then(std::function<bool()> may_write) {
  const auto& settings = context_.config.compaction;
  const auto now = context_.clock.steady();
  if (now < compact_from_ || !may_write() || !handlers::is_compaction_due(settings, read_entries_, file_bytes_))
    co_return false;
  compact_from_ = now + compact_every;
  Rows rows;
  auto end = Attempt::try_again;
  for (int round = 0; round < compact_rounds && end == Attempt::try_again; ++round) {
    if (round > 0) co_await pause_jittered(milliseconds(15), milliseconds(50));
    end = co_await compact(may_write, rows);
  }
  if (end == Attempt::try_again) compact_from_ = now + when_busy;
  // Not enough is old enough; by then more of it is.
  if (end == Attempt::nothing_to_gain)
    compact_from_ = now + std::clamp<milliseconds>(settings.after / 4, shortest_wait, longest_wait);
  co_return true;
}

asio::awaitable<Housekeeping::Attempt> Housekeeping::compact(const std::function<bool()>& may_write, Rows& rows) {
  // All of it, whatever is known of its head.
  auto read = [this, lead = context_.lead] { return mailbox_.read(lead, ReadMode::unlocked); };
  ReadResult reading;
  if (file_bytes_ < pooled_from)
    reading = read();
  else
    reading = co_await offload(pool_, std::move(read));
  if (reading.outcome != ReadOutcome::document) co_return Attempt::try_again;
  const auto items = co_await look_up(reading.document, rows);
  if (!items) co_return Attempt::gave_up;
  const auto leaving = handlers::entries_to_compact(context_.config.compaction, *items, reading.document.bytes().size(),
                                                    context_.clock.wall_ms());
  if (leaving.empty()) co_return Attempt::nothing_to_gain;
  if (!may_write()) co_return Attempt::gave_up;
  const auto result = co_await remove(reading.document, leaving);
  co_return settle(result, reading.document, leaving);
}

asio::awaitable<std::optional<std::vector<handlers::InboxItem>>> Housekeeping::look_up(const InboxDocument& document,
                                                                                       Rows& rows) {
  std::vector<std::string> open;  // asks and shutdowns that wait for something
  for (const auto& ask : asks_.open()) open.push_back(ask.request_id);
  for (const auto& shutdown : shutdowns_.open()) open.push_back(shutdown.request_id);
  std::vector<handlers::InboxItem> items;
  items.reserve(document.entries().size());
  for (const auto& entry : document.entries()) {
    auto& item = items.emplace_back();
    item.key = &entry.key;
    item.bytes = entry.bytes.size();
    item.is_read = entry.read == ReadFlag::read;
    if (!item.is_read) continue;
    if (const auto before = rows.find(entry.key.value); before != rows.end()) {
      item.archived = before->second;
      continue;
    }
    auto row = archived(entry.key, open);
    if (!row) {
      tell("the ledger has no whole copy of message " + entry.key.value + ": " + row.error().message);
      co_return std::nullopt;
    }
    item.archived = *row;
    if (*row) rows.emplace(entry.key.value, **row);
    if (items.size() % entries_at_once == 0) co_await asio::post(executor_, asio::use_awaitable);
  }
  co_return items;
}

Result<std::optional<handlers::ArchivedEntry>> Housekeeping::archived(const schema::MessageKey& key,
                                                                      const std::vector<std::string>& open) const {
  const auto found = context_.ledger.messages().find(key);  // its checksum included
  if (!found) return found.error();
  if (!*found) return std::optional<handlers::ArchivedEntry>();
  const MessageRow& row = **found;
  handlers::ArchivedEntry entry;
  entry.received_ms = row.received_ms;
  entry.has_timestamp = !row.message.timestamp.empty();
  entry.owes = row.delivery == DeliveryState::queued || row.delivery == DeliveryState::offered ||
               std::find(open.begin(), open.end(), row.request_id) != open.end();
  return std::optional(entry);
}

asio::awaitable<WriteResult> Housekeeping::remove(const InboxDocument& document,
                                                  const std::vector<std::size_t>& leaving) {
  auto work = [this, lead = context_.lead, &document, &leaving] { return mailbox_.remove(lead, document, leaving); };
  if (document.bytes().size() < pooled_from) co_return work();
  co_return co_await offload(pool_, std::move(work));
}

Housekeeping::Attempt Housekeeping::settle(const WriteResult& result, const InboxDocument& document,
                                           const std::vector<std::size_t>& leaving) {
  switch (result.outcome) {
    case WriteOutcome::changed:  // by a peer, at the same moment
    case WriteOutcome::lock_held: return Attempt::try_again;
    case WriteOutcome::missing: return Attempt::gave_up;
    case WriteOutcome::lock_foreign:
    case WriteOutcome::refused: tell(result.detail); return Attempt::gave_up;
    case WriteOutcome::fault:  // gone or not: the next reading is a first one
      tell(result.detail);
      mailbox_.forget(context_.lead);
      witness_.forget();
      return Attempt::gave_up;
    case WriteOutcome::done:
    case WriteOutcome::already_there: break;
  }
  std::uint64_t bytes = 0;
  std::vector<Fingerprint> gone;
  for (const std::size_t index : leaving) {
    const auto& entry = document.entries()[index];
    bytes += entry.bytes.size();
    gone.push_back(fingerprint(entry.key));
    witness_.removed_by_us(entry.key);
  }
  gone_.add(std::move(gone));
  problem_.clear();
  compacted_.entries += leaving.size();
  compacted_.last_ms = context_.clock.wall_ms();
  context_.telemetry.emit(Event::inbox_compacted, {{"team", context_.name},
                                                   {"inbox", context_.lead},
                                                   {"count", std::to_string(leaving.size())},
                                                   {"bytes", std::to_string(bytes)},
                                                   {"reason", result.detail}});
  return Attempt::done;
}

void Housekeeping::tell(const std::string& problem) {
  if (problem == problem_) return;
  problem_ = problem;
  context_.telemetry.emit(
      Event::daemon_fault,
      {{"team", context_.name}, {"inbox", context_.lead}, {"reason", "read messages stay in the inbox: " + problem}});
}

}  // namespace inbox_poller::poller
