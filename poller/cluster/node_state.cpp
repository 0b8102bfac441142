#include "poller/cluster/node_state.hpp"

#include <algorithm>
#include <utility>

namespace inbox_poller::poller {

void NodeState::tell_trouble(const std::string& now_wrong) {
  if (now_wrong == trouble) return;
  const bool recovered = now_wrong.empty();
  if (trouble.empty()) trouble_ms = context.clock.wall_ms();
  Fields fields{{"team", context.name}, {"reason", recovered ? trouble : now_wrong}};
  if (recovered) fields.emplace_back("latency_ms", std::to_string(context.clock.wall_ms() - trouble_ms));
  context.telemetry.emit(recovered ? Event::cluster_recovered : Event::cluster_degraded, fields);
  trouble = now_wrong;
  context.changed(only(Area::teams));
}

const SeenHost* NodeState::who_leads() const {
  if (leader.empty() || leader == settings.node) return nullptr;
  if (std::ranges::find(settings.leads, leader) == settings.leads.end()) return nullptr;
  const auto found = seen.find(leader);
  const bool leads = found != seen.end() && found->second.leads && found->second.epoch == leader_epoch;
  return leads ? &found->second : nullptr;
}

void NodeState::tell_ends(std::vector<NodeEnd> the_orders, std::vector<NodeEnd> the_ends) {
  if (the_orders == orders && the_ends == ends) return;
  orders = std::move(the_orders);
  ends = std::move(the_ends);
  ++telling;
}

Status NodeState::commit(const Work& work) {
  const auto with_receipts = [&](Tx& tx) -> Status {
    auto& table = tx.ledger.node_mail();
    if (!receipts.there.empty())
      TRY(table.set(context.name, {receipts.there.begin(), receipts.there.end()}, NodeMailState::there,
                    context.clock.wall_ms()));
    if (!receipts.told.empty()) TRY(table.tell(receipts.told, 1));
    if (!receipts.ended.empty()) TRY(table.tell(receipts.ended, 2));
    tx.then([this] { receipts = {}; });
    return work(tx);
  };
  return context.commit(with_receipts, CommitAs::fact);
}

void NodeState::fenced(std::int64_t by) {
  epoch = std::max(epoch, by);
  lease = handlers::refused(lease, now(), true);
  wake();
}

}  // namespace inbox_poller::poller
