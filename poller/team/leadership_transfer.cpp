#include "poller/team/leadership_transfer.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "handlers/nodes.hpp"
#include "handlers/request_kind.hpp"
#include "poller/context/message_life.hpp"

namespace inbox_poller::poller {
namespace {

constexpr int most_handed_over = 5000;

/// Names the request of an answer as the replicator does.
std::string name_at_nodes(const handlers::Request& request) {
  return schema::inbox_name(request.asker) + "/" + request.request_id;
}

}  // namespace

LeadershipTransfer::LeadershipTransfer(TeamState& context, ClusterMember& nodes, Requests& requests)
    : context_(context), cluster_(nodes), requests_(requests) {
  cluster_.before_leading([this] { return hand_over(); });
  ClusterMember::KnownRequests known;
  known.open = [this] {
    std::vector<std::pair<std::string, std::string>> open;
    for (const auto* request : requests_.oldest_first())
      if (const auto type = handlers::traits_of(request->kind).answer_type; !type.empty())
        open.emplace_back(std::string(type), name_at_nodes(*request));
    return open;
  };
  known.answered = [this](const std::string& type, const std::string& id, const std::string& node) -> Status {
    const auto* kind = handlers::kind_answered_by(type);
    const auto open = requests_.oldest_first();
    const auto found = std::find_if(open.begin(), open.end(), [&](const handlers::Request* one) {
      return kind != nullptr && one->kind == kind->kind && name_at_nodes(*one) == id;
    });
    if (found == open.end()) return Done{};
    const handlers::Answer answer{.event = handlers::RequestEvent::answered_by_other,
                                  .by = "node " + node,
                                  .reason = "node " + node + " led the team then, and answered it"};
    const auto outcome = requests_.answer(**found, answer, false);
    const auto* refused = std::get_if<Requests::Refusal>(&outcome);
    return refused == nullptr ? Status(Done{}) : Status(error_of(*refused));
  };
  cluster_.know_requests(std::move(known));
}

bool LeadershipTransfer::is_ours(const std::string& member) const {
  const auto& settings = cluster_.state().settings;
  return member != context_.lead && handlers::node_of(settings, member) == settings.node && context_.members.contains(member);
}

void LeadershipTransfer::run_due() {
  const auto& state = cluster_.state();
  const bool is_followed = !state.leader.empty() && state.leader != state.settings.node && !state.leading();
  if (!is_followed || context_.membership.role != handlers::EffectiveRole::standby) return;
  const bool new_leader = to_ != state.leader || epoch_ != state.leader_epoch;
  auto& deliveries = context_.ledger.deliveries();
  const auto queued = deliveries.queued_count(context_.name);  // a receiver may have returned a message meanwhile
  const auto offered = deliveries.offered(context_.name);      // or acknowledged one, for which later ones waited
  if (!queued || !offered || (!new_leader && *queued == left_ && offered->size() == offered_) || !hand_over()) return;
  if (new_leader && !context_.commit([this](Tx& tx) { return give_up_orders(tx); })) return;
  if (const auto left = deliveries.queued_count(context_.name); left) left_ = *left;
  offered_ = offered->size();
  to_ = state.leader;
  epoch_ = state.leader_epoch;
}

bool LeadershipTransfer::owes_chat() const {
  const auto role = context_.membership.role;
  // The lease of a leader may just have ended, before its role.
  if (role != handlers::EffectiveRole::standby) return role == handlers::EffectiveRole::leader;
  auto& deliveries = context_.ledger.deliveries();
  const auto is_owed = [this](const MessageRow& row) { return is_ours(row.sender); };
  const auto offered = deliveries.offered(context_.name);  // what the lead does not take is handed over later
  if (!offered || std::ranges::any_of(*offered, is_owed)) return true;
  const auto rows = deliveries.queued(context_.name, most_handed_over);
  return !rows || std::ranges::any_of(*rows, is_owed);
}

Status LeadershipTransfer::hand_over() {
  // Each message names the lead. The name is not known while the roster was never read: called again then.
  if (context_.lead.empty()) return Error{"team.no_lead", "the roster was not read yet, so the lead's name is not known"};
  return context_.commit([&](Tx& tx) -> Status {
    TRY(tx.ledger.node_mail().hand_over(context_.name));
    TRY(hand_over_chat(tx));
    return hand_over_requests(tx);
  });
}

Status LeadershipTransfer::give_up_orders(Tx& tx) {
  TRY(const auto orders, tx.ledger.node_mail().unsent_orders(context_.name));
  for (const auto& order : orders) {
    const std::string why = "node " + cluster_.state().leader + " leads now; if it is still wanted, order it there";
    TRY(tx.ledger.node_mail().set(context_.name, {order.id}, NodeMailState::rejected, context_.clock.wall_ms(), why));
    auto fields = letter_fields(order);
    fields.emplace_back("reason", why);
    tx.log(Event::replication_rejected, std::move(fields));
  }
  return Done{};
}

Status LeadershipTransfer::hand_over_chat(Tx& tx) {
  TRY(const auto offered, tx.ledger.deliveries().offered(context_.name));
  std::set<std::string> waiting;  // senders whose older chat is with the lead, which may return it
  for (const auto& row : offered) waiting.insert(row.sender);
  TRY(auto rows, tx.ledger.deliveries().queued(context_.name, most_handed_over));
  std::erase_if(rows, [&](const MessageRow& row) { return waiting.contains(row.sender); });
  std::ranges::sort(rows, {}, &MessageRow::id);
  std::vector<long long> ids;
  for (const auto& row : rows) {
    if (!context_.members.contains(row.sender) || row.sender == context_.lead) continue;  // written by the daemon
                                                                                          // itself
    ids.push_back(row.id);
    tx.log(Event::delivery_expired, {{"team", context_.name},
                                     {"message_key", row.key.value},
                                     {"from", row.sender},
                                     {"reason", "another node leads, and it is handed over there"}});
    if (!is_ours(row.sender)) continue;  // its own node sends it
    TRY(cluster_.hand_over(row, 0, tx));
  }
  return tx.ledger.deliveries().hand_over(ids, context_.clock.wall_ms());
}

Status LeadershipTransfer::hand_over_requests(Tx& tx) {
  for (const auto* request : requests_.oldest_first()) {
    if (!is_ours(request->asker)) continue;
    TRY(const auto message, tx.ledger.messages().find(request->message));
    if (!message) continue;
    TRY(cluster_.hand_over(*message, request->joined_ms, tx));
  }
  return Done{};
}

}  // namespace inbox_poller::poller
