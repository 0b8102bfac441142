#include "poller/delivery/leases.hpp"

#include <algorithm>

namespace inbox_poller::poller {
namespace {

constexpr std::size_t tidy_above = 100;     // messages kept per holder before returned ones are removed
constexpr std::ptrdiff_t left_most = 16;  // holders that left, and may still acknowledge

}  // namespace

void Leases::grant(const std::vector<LeasedMessage>& messages, const std::string& method, std::optional<SteadyTime> until) {
  for (const auto& message : messages) {
    end({message.id});
    const Lease lease{message.id, message.key.value, message.from, message.received_ms, method, ++lent_out_, until, 0};
    const auto at = by_id_.emplace_hint(by_id_.end(), message.id, lease);
    by_key_.emplace(at->second.key, message.id);
  }
}

void Leases::end(const std::vector<long long>& ids) {
  for (const auto id : ids) {
    const auto lease = by_id_.find(id);
    if (lease == by_id_.end()) continue;
    by_key_.erase(lease->second.key);
    by_id_.erase(lease);
  }
}

void Leases::end(const std::vector<long long>& delivered, std::vector<long long> acknowledged) {
  end(delivered);
  std::sort(acknowledged.begin(), acknowledged.end());
  for (auto& held : held_)
    for (auto& [id, key] : held.shown)
      if (std::binary_search(acknowledged.begin(), acknowledged.end(), id)) id = 0;
}

const Leases::Lease* Leases::find(std::string_view key) const {
  const auto id = by_key_.find(key);
  return id == by_key_.end() ? nullptr : &by_id_.at(id->second);
}

bool Leases::set_end(long long id, SteadyTime until) {
  const auto lease = by_id_.find(id);
  if (lease == by_id_.end()) return false;
  lease->second.until = until;
  return true;
}

std::vector<long long> Leases::due(SteadyTime by) const {
  std::vector<long long> ids;
  for (const auto& [id, lease] : by_id_)
    if (lease.until && *lease.until <= by) ids.push_back(id);
  return ids;
}

std::set<std::string> Leases::due_senders(SteadyTime after, SteadyTime by) const {
  std::set<std::string> senders;
  for (const auto& [id, lease] : by_id_)
    if (lease.until && *lease.until > after && *lease.until <= by) senders.insert(lease.from);
  return senders;
}

Leases::Holder Leases::enter() {
  auto left = std::count_if(held_.begin(), held_.end(), [](const Held& one) { return one.has_left; });
  std::erase_if(held_, [&](const Held& one) { return one.has_left && left-- > left_most; });
  held_.push_back({++last_holder_, {}});
  return last_holder_;
}

void Leases::hold(Holder holder, const std::vector<LeasedMessage>& messages) {
  const auto held = std::find_if(held_.begin(), held_.end(), [&](const Held& one) { return one.holder == holder; });
  if (held == held_.end()) return;
  if (held->shown.size() > tidy_above) std::erase_if(held->shown, [this](const auto& one) { return !has(one.first); });
  for (const auto& message : messages) {
    held->shown.emplace_back(message.id, message.key.value);
    if (const auto lease = by_id_.find(message.id); lease != by_id_.end()) lease->second.holder = holder;
  }
}

std::vector<LeasedMessage> Leases::leave(Holder holder) {
  std::vector<LeasedMessage> still;
  const auto held = std::find_if(held_.begin(), held_.end(), [&](const Held& one) { return one.holder == holder; });
  if (held == held_.end()) return still;
  held->has_left = true;
  for (const auto& [id, key] : held->shown) {
    const auto lease = by_id_.find(id);
    if (lease == by_id_.end() || lease->second.holder != holder) continue;
    LeasedMessage known;
    known.id = id;
    known.key = {key};
    known.from = lease->second.from;
    still.push_back(std::move(known));
  }
  return still;
}

std::vector<std::string> Leases::taken_by_method(const std::string& method, const std::string& key) const {
  std::vector<std::string> keys;
  if (const auto* last = find(key); last != nullptr)
    for (const auto& [id, lease] : by_id_)
      if (lease.method == method && lease.order < last->order) keys.push_back(lease.key);
  keys.push_back(key);
  return keys;
}

std::vector<std::string> Leases::taken_by_holder(const std::string& key) const {
  std::vector<std::string> keys;
  for (const auto& [holder, shown, has_left] : held_) {
    const auto found = std::find_if(shown.begin(), shown.end(), [&](const auto& one) { return one.second == key; });
    if (found == shown.end()) continue;
    keys.clear();  // offered again since: the last holder counts
    for (auto one = shown.begin(); one != found; ++one)
      if (one->first != 0) keys.push_back(one->second);
  }
  keys.push_back(key);
  return keys;
}

}  // namespace inbox_poller::poller
