#include "poller/hosts/host_state.hpp"

#include <algorithm>
#include <utility>

namespace inbox_poller::poller {

void HostState::tell_trouble(const std::string& now_wrong) {
  if (now_wrong == trouble) return;
  const bool recovered = now_wrong.empty();
  if (trouble.empty()) trouble_ms = context.clock.wall_ms();
  Fields fields{{"team", context.name}, {"reason", recovered ? trouble : now_wrong}};
  if (recovered) fields.emplace_back("latency_ms", std::to_string(context.clock.wall_ms() - trouble_ms));
  context.telemetry.emit(recovered ? Event::cluster_recovered : Event::cluster_degraded, fields);
  trouble = now_wrong;
  context.changed(only(Area::teams));
}

const SeenHost* HostState::who_leads() const {
  if (leader.empty() || leader == settings.host) return nullptr;
  if (std::ranges::find(settings.leads, leader) == settings.leads.end()) return nullptr;
  const auto found = seen.find(leader);
  const bool leads = found != seen.end() && found->second.leads && found->second.epoch == epoch;
  return leads ? &found->second : nullptr;
}

void HostState::tell_ends(std::vector<HostEnd> the_orders, std::vector<HostEnd> the_ends) {
  if (the_orders == orders && the_ends == ends) return;
  orders = std::move(the_orders);
  ends = std::move(the_ends);
  ++telling;
}

Status HostState::commit(const Work& work) {
  const auto with_marks = [&](Tx& tx) -> Status {
    auto& table = tx.ledger.host_mail();
    if (!late.there.empty())
      TRY(table.set(context.name, {late.there.begin(), late.there.end()}, HostMailState::there, context.clock.wall_ms()));
    if (!late.told.empty()) TRY(table.tell(late.told, 1));
    if (!late.ended.empty()) TRY(table.tell(late.ended, 2));
    tx.then([this] { late = {}; });
    return work(tx);
  };
  return context.commit(with_marks, CommitAs::fact);
}

void HostState::fenced(std::int64_t by) {
  epoch = std::max(epoch, by);
  lease = handlers::refused(lease, now(), true);
  wake();
}

}  // namespace inbox_poller::poller
