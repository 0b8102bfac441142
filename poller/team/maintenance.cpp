#include "poller/team/maintenance.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::minutes compact_every{1};
constexpr std::chrono::seconds when_busy{10};
constexpr milliseconds shortest_wait = std::chrono::seconds(1);
constexpr milliseconds longest_wait = std::chrono::minutes(15);
constexpr std::size_t entries_at_once = 256;  // then other coroutines run

}  // namespace

void Maintenance::prune_now_and_then() {
  if (!prune_.take(context_.clock.steady())) return;
  const auto cutoff = context_.clock.wall_ms() - context_.config.limits.retention.count();
  std::vector<std::function<bool(const schema::MessageKey&)>> boxes{mailbox_.referenced(context_.lead)};
  for (const auto& alias : context_.config.team.aliases) boxes.push_back(mailbox_.referenced(alias));
  const auto keep = [&](const schema::MessageKey& key) {
    return std::any_of(boxes.begin(), boxes.end(), [&](const auto& held) { return held(key); });
  };
  const auto gone = context_.ledger.prune(context_.name, cutoff, keep);
  if (gone && *gone > 0)
    context_.telemetry.emit(Event::ledger_pruned, {{"team", context_.name}, {"count", std::to_string(*gone)}});
}

bool Maintenance::is_compaction_due() const {
  if (context_.clock.steady() < compact_from_) return false;
  return handlers::is_compaction_due(context_.config.compaction, size_.entries - size_.unread, size_.bytes);
}

asio::awaitable<bool> Maintenance::compact(std::function<bool()> may_write) {
  const auto now = context_.clock.steady();
  compact_from_ = now + compact_every;
  Rows rows;
  RetentionPolicy chosen = [&](std::span<const Item> items, std::uint64_t bytes) {
    return choose(items, bytes, may_write, rows);
  };
  const auto expunged = co_await mailbox_.expunge(context_.lead, std::move(chosen));
  switch (expunged.put) {
    case WriteStatus::busy: compact_from_ = now + when_busy; break;
    case WriteStatus::unchanged:  // too few entries are old enough yet
      compact_from_ = now + std::clamp<milliseconds>(context_.config.compaction.after / 4, shortest_wait, longest_wait);
      break;
    case WriteStatus::gone: break;
    case WriteStatus::blocked:
    case WriteStatus::refused:
    case WriteStatus::fault: tell(expunged.detail); break;
    case WriteStatus::done:
      problem_.clear();
      compacted_.entries += expunged.entries;
      compacted_.last_ms = context_.clock.wall_ms();
      context_.telemetry.emit(Event::inbox_compacted, {{"team", context_.name},
                                                       {"inbox", context_.lead},
                                                       {"count", std::to_string(expunged.entries)},
                                                       {"bytes", std::to_string(expunged.bytes)},
                                                       {"reason", expunged.detail}});
  }
  co_return true;
}

asio::awaitable<std::optional<std::vector<std::size_t>>> Maintenance::choose(std::span<const Item> held,
                                                                              std::uint64_t bytes,
                                                                              const std::function<bool()>& may_write,
                                                                              Rows& rows) {
  OpenIds open;  // open requests and shutdowns
  for (const auto& request : requests_.open()) open.emplace_back(request.asker, request.request_id);
  for (const auto& shutdown : shutdowns_.open()) open.emplace_back(shutdown.member, shutdown.request_id);
  std::vector<handlers::InboxItem> items;
  items.reserve(held.size());
  for (const auto& one : held) {
    auto& item = items.emplace_back();
    item.key = one.key;
    item.bytes = one.bytes;
    item.is_read = one.read;
    if (!item.is_read) continue;
    if (const auto before = rows.find(one.key->value); before != rows.end()) {
      item.archived = before->second;
      continue;
    }
    auto row = archived(*one.key, open);
    if (!row) {
      tell("the ledger's copy is cut off: message " + one.key->value + ": " + row.error().message);
      co_return std::nullopt;
    }
    item.archived = *row;
    if (*row) rows.emplace(one.key->value, **row);
    if (items.size() % entries_at_once == 0) co_await asio::post(executor_, asio::use_awaitable);
  }
  auto leaving = handlers::entries_to_compact(context_.config.compaction, items, bytes, context_.clock.wall_ms());
  if (!leaving.empty() && !may_write()) co_return std::nullopt;
  co_return leaving;
}

Result<std::optional<handlers::ArchivedEntry>> Maintenance::archived(const schema::MessageKey& key,
                                                                      const OpenIds& open) const {
  const auto found = context_.ledger.messages().find(key);  // including its checksum
  if (!found) return found.error();
  if (!*found) return std::optional<handlers::ArchivedEntry>();
  const MessageRow& row = **found;
  handlers::ArchivedEntry entry;
  entry.received_ms = row.received_ms;
  entry.has_timestamp = !row.message.timestamp.empty();
  entry.owes = row.delivery == DeliveryState::queued || row.delivery == DeliveryState::offered ||
               std::find(open.begin(), open.end(), std::pair(row.sender, row.request_id)) != open.end();
  return std::optional(entry);
}

void Maintenance::tell(const std::string& problem) {
  if (problem == problem_) return;
  problem_ = problem;
  context_.telemetry.emit(
      Event::daemon_fault,
      {{"team", context_.name}, {"inbox", context_.lead}, {"reason", "read messages stay in the inbox: " + problem}});
}

}  // namespace inbox_poller::poller
