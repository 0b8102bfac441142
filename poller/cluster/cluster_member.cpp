#include "poller/cluster/cluster_member.hpp"

#include <algorithm>
#include <utility>
#include <boost/asio/use_awaitable.hpp>

#include "poller/cluster/heartbeat.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

using handlers::Moment;

constexpr const char* nobody_known = "?";  // not a valid node name, so no node has it
constexpr Moment beat_every{3'000};
constexpr Moment prune_every{600'000};
constexpr EpochMs kept_ms = 15 * 60 * 1000;  // how long ended rows stay, in case the sender puts them again
constexpr std::size_t round_trips_kept = 5;
constexpr std::chrono::milliseconds receive_for{5'000};
constexpr std::chrono::milliseconds look_every{1'000};
constexpr std::chrono::milliseconds first_pause{250};
constexpr std::chrono::milliseconds longest_pause{5'000};

/// Says why other nodes would ignore a heartbeat of this size; empty if they read it.
std::string over_the_limit(std::size_t bytes) {
  if (bytes <= longest_beat) return {};
  return "the roster of this node takes " + std::to_string(bytes >> 10) +
         " KiB in its heartbeat, and other nodes read at most " + std::to_string(longest_beat >> 10) +
         " KiB; take members out of the roster, or put them on another node";
}

}  // namespace

ClusterMember::ClusterMember(TeamState& context, std::shared_ptr<Mailbox> mailbox, std::shared_ptr<RosterStore> members,
                         std::unique_ptr<Broker> broker, std::string why_none)
    : state_(context),
      local_mailbox_(std::move(mailbox)),
      local_members_(std::move(members)),
      broker_(std::move(broker)),
      mailbox_(state_, *local_mailbox_),
      members_(state_, *local_members_),
      carrier_(state_, *local_mailbox_) {
  state_.wake = [this] { wake_(); };
  if (!broker_) {
    state_.trouble = std::move(why_none);
    return;
  }
  replicator_ = std::make_unique<Replicator>(state_, *broker_, [this](std::string_view bytes) -> Result<schema::Message> {
    TRY(auto decoded, local_mailbox_->decode(bytes));
    return std::move(decoded.message);
  });
  replicator_->arrived = [this] {
    mailbox_.heard();
    wake_();
  };
}

Status ClusterMember::restore() {
  auto& table = state_.context.ledger.node_mail();
  TRY(table.prepare());
  TRY(const auto place, table.place(state_.context.name));
  state_.epoch = state_.leader_epoch = place.epoch;
  TRY(const auto removed, table.removed(state_.context.name));
  for (const auto& row : removed) state_.removed[row.member] = row.joined_ms;
  return carrier_.restore();
}

handlers::Membership ClusterMember::membership() const {
  if (state_.context.config.team.role == config::Role::follower) {
    const auto who = state_.leader.empty() ? std::string("no node leads now") : "node " + state_.leader + " leads";
    return {handlers::EffectiveRole::follower, state_.trouble.empty() ? who : state_.trouble};
  }
  if (state_.leading()) return {handlers::EffectiveRole::leader, {}};
  if (!state_.trouble.empty()) return {handlers::EffectiveRole::standby, state_.trouble};
  return {handlers::EffectiveRole::standby, state_.leader.empty() || state_.leader == state_.settings.node
                                         ? std::string("no node leads now")
                                         : "node " + state_.leader + " leads"};
}

Status ClusterMember::may_decide() const {
  if (state_.leading() || membership().role == handlers::EffectiveRole::follower) return Done{};
  return Error{"cluster.no_lease", "this node does not lead the team now, so it decides nothing"};
}

bool ClusterMember::wants_to_lead() const {
  return wanted_ && state_.context.config.team.role == config::Role::leader;
}

void ClusterMember::want_to_lead(bool wanted) {
  if (std::exchange(wanted_, wanted) != wanted) turn_.raise();
}

void ClusterMember::subscribe(std::function<void()> wake) { wake_ = std::move(wake); }

void ClusterMember::tell_ends(std::vector<NodeEnd> orders, std::vector<NodeEnd> ends) {
  const auto before = state_.telling;
  state_.tell_ends(std::move(orders), std::move(ends));
  if (state_.telling != before) turn_.raise();
}

void ClusterMember::wake() {
  state_.work.raise();
  turn_.raise();
  if (broker_) broker_->wake();
}

asio::awaitable<bool> ClusterMember::begin_to_lead(std::int64_t epoch) {
  const auto& context = state_.context;
  state_.epoch = std::max(state_.epoch, epoch);
  auto known = context.ledger.node_mail().place(context.name);
  if (!known) co_return false;
  // No other node led since this node did, so its open requests are unchanged.
  const bool goes_on = known->leader == state_.settings.node && epoch == known->epoch + 1;
  if (!goes_on && !known->leader.empty()) {
    // Every node puts its rows again under the next epoch. If this process ends before that, a restart repeats this.
    known->leader = nobody_known;
    known->epoch = std::max(known->epoch, epoch);
    if (!state_.commit([&](Tx& tx) { tx.keep(tx.ledger.node_mail().set_place(*known)); })) co_return false;
    if (!before_leading_()) co_return false;
    auto open = requests_.open ? requests_.open() : std::vector<std::pair<std::string, std::string>>();
    const auto answered = co_await broker_->answered(open);
    if (!answered) co_return false;
    for (std::size_t i = 0; i < std::min(open.size(), answered->size()); ++i) {
      const auto& answer = (*answered)[i];
      const auto& request = open[i];  // type and "WORKER/ID" of its answer
      const auto slash = request.second.find('/');
      const auto worker = request.second.substr(0, slash);
      if (answer.node.empty()) {
        // The broker may have lost its data. The ledger has the answers that reached workers of this node.
        const auto here = context.ledger.node_mail().answer_to(context.name, worker, request.second.substr(slash + 1));
        if (!here) co_return false;
        const bool is_its = *here && (*here)->type == request.first;
        if (is_its && !requests_.answered(request.first, request.second, (*here)->node)) co_return false;
        continue;
      }
      if (!requests_.answered(request.first, request.second, answer.node)) co_return false;
      const auto passed_on = [&](Tx& tx) { return replicator_->pass_on(request.first, worker, answer, tx); };
      if (!state_.commit(passed_on)) co_return false;
    }
  }
  co_return replicator_->leader_changed(state_.settings.node, epoch).ok();
}

bool ClusterMember::frames_to_lead_wait() const {
  const auto waiting = state_.context.ledger.node_mail().queued(state_.context.name, MailDirection::out, lead_address);
  return !waiting || *waiting > 0;
}

Status ClusterMember::hand_over(const MessageRow& message, EpochMs joined_ms, Tx& tx) {
  auto& context = state_.context;
  NodeMailRow row;
  row.team = context.name;
  row.node = std::string(lead_address);
  row.inbox = context.lead;
  row.key = message.key;
  row.sender = message.sender;
  row.type = message.type;
  row.request_id = message.request_id;
  row.entry = message.raw.empty() ? local_mailbox_->encode(message.message) : message.raw;
  row.created_ms = context.clock.wall_ms();
  row.attempts = message.attempts > 0 ? 1 : 0;  // the lead of this node may have seen it
  row.joined_ms = joined_ms;
  TRY(const auto added, tx.ledger.node_mail().add(row));
  if (added) tx.then([this] { state_.work.raise(); });
  return Done{};
}

void ClusterMember::leads(const LeaderLease& lease) {
  state_.epoch = std::max(state_.epoch, lease.epoch);
  // The word that this node won the lease was lost. It leads from begin_to_lead() on, which needs the leader before it.
  if (lease.holder == state_.settings.node && !state_.lease.held) return;
  if (!lease.holder.empty() && replicator_)
    if (const auto changed = replicator_->leader_changed(lease.holder, lease.epoch); !changed) return;  // asked again soon
  state_.leader_epoch = lease.epoch;
  if (std::exchange(state_.leader, lease.holder) == lease.holder) return;
  state_.context.telemetry.emit(
      Event::cluster_leader,
      {{"team", state_.context.name},
       {"new", lease.holder.empty() ? "none" : lease.holder},
       {"reason", lease.holder.empty() ? "no node has the lease" : "epoch " + std::to_string(lease.epoch)}});
  ++state_.roster_version;
  state_.work.raise();
  broker_->wake();  // receive() waits on the streams of the former role
  wake_();
}

asio::awaitable<void> ClusterMember::keep_lease(std::function<bool()> given_up) {
  if (!broker_) co_return;
  while (!given_up()) {
    const auto seen = turn_.count();
    co_await turn();
    const auto next = std::min(handlers::next_moment(state_.lease, wants_to_lead(), state_.now()), beaten_ + beat_every);
    const auto wait = std::clamp<Moment>(next - state_.now(), Moment(20), look_every);
    co_await turn_.wait(seen, wait);
  }
  const auto last = std::exchange(state_.lease, {});
  if (!last.held) co_return;
  [[maybe_unused]] const auto resigned = co_await broker_->resign(last.epoch);
}

asio::awaitable<void> ClusterMember::turn() {
  co_await step_lease();
  if (state_.now() - beaten_ >= beat_every || told_roster_ != members_.version() + state_.telling) co_await beat();
}

asio::awaitable<void> ClusterMember::step_lease() {
  const auto asked = state_.now();
  switch (handlers::next_step(state_.lease, wants_to_lead(), asked)) {
    case handlers::LeaseStep::wait: co_return;
    case handlers::LeaseStep::give_up: {
      const auto epoch = state_.lease.epoch;
      state_.lease = handlers::refused(state_.lease, asked, true);
      state_.context.telemetry.emit(Event::cluster_leader,
                                    {{"team", state_.context.name},
                                     {"old", state_.settings.node},
                                     {"new", "none"},
                                     {"reason", wants_to_lead() ? "the lease could not be renewed in time: nothing is "
                                                                  "decided here any more"
                                                                : "this node does not lead any more"}});
      state_.leader.clear();
      broker_->wake();
      wake_();
      [[maybe_unused]] const auto resigned = co_await broker_->resign(epoch);  // on an error the lease expires
      co_return;
    }
    case handlers::LeaseStep::renew:
    case handlers::LeaseStep::elect: break;
  }
  const bool renews = state_.lease.held;
  auto asking = renews ? broker_->renew(state_.lease.epoch) : broker_->elect(state_.epoch);
  const auto got = co_await std::move(asking);
  if (!got) {
    state_.tell_trouble(got.error(), broker_->name());
    state_.lease = handlers::refused(state_.lease, asked, false);
    co_return;
  }
  if (got->ours) {
    // Commit the epoch before any decision under it. After a failover that lost it, elect() asks for a higher one.
    if (!renews && !co_await begin_to_lead(got->epoch)) {
      state_.lease = handlers::refused(state_.lease, asked, false);
      co_return;
    }
    state_.lease = handlers::granted(got->epoch, got->left, asked);
  } else {
    state_.lease = handlers::refused(state_.lease, asked, true);
  }
  leads(*got);
}

asio::awaitable<void> ClusterMember::beat() {
  beaten_ = state_.now();
  told_roster_ = members_.version() + state_.telling;
  auto& context = state_.context;
  const auto counts = context.ledger.node_mail().counts(context.name);
  long long queued = 0, oldest = 0;
  if (counts)
    for (const auto& one : *counts) {
      if (one.direction != MailDirection::out) continue;
      queued += one.waiting + one.put;
      if (one.oldest_ms != 0) oldest = oldest == 0 ? one.oldest_ms : std::min<long long>(oldest, one.oldest_ms);
    }
  SeenHost own;
  own.version = INBOX_POLLER_VERSION;
  own.leads = state_.leading();
  own.epoch = own.leads ? state_.lease.epoch : 0;
  own.queued = queued;
  own.oldest_ms = oldest;
  own.told_ms = context.clock.wall_ms();
  Heartbeat ours;
  ours.node = state_.settings.node;
  ours.told = beat_text(state_, own, members_.own_members());
  const std::string too_large = over_the_limit(ours.told.size());
  if (too_large.empty()) {
    const auto asked = context.clock.steady();
    const auto told = co_await broker_->beat(std::move(ours));
    if (!told) {
      state_.tell_trouble(told.error(), broker_->name());
      co_return;
    }
    took(context.clock.steady() - asked);
  }
  if (!co_await replicator_->look_at_place()) co_return;
  auto beats = co_await broker_->nodes();
  if (!beats) {
    state_.tell_trouble(beats.error(), broker_->name());
    co_return;
  }
  take_beats(*std::move(beats));
  if (!state_.lease.held)
    if (const auto leader = co_await broker_->leader()) leads(*leader);
  state_.tell_trouble(too_large);
  const auto wall = context.clock.wall_ms();
  static_cast<void>(state_.commit([&](Tx& tx) { tx.keep(tx.ledger.node_mail().settle_of_lead(context.name, wall)); }));
  state_.work.raise();
  if (state_.now() - pruned_ < prune_every) co_return;
  pruned_ = state_.now();
  const auto kept = std::max<EpochMs>(kept_ms, context.config.limits.retention.count());
  static_cast<void>(state_.commit([&](Tx& tx) { tx.keep(tx.ledger.node_mail().prune(context.name, wall - kept)); }));
}

void ClusterMember::took(std::chrono::nanoseconds time) {
  if (round_trips_.size() == round_trips_kept) round_trips_.erase(round_trips_.begin());
  round_trips_.push_back(std::chrono::duration_cast<std::chrono::microseconds>(time));
}

std::chrono::microseconds ClusterMember::round_trip() const {
  auto sorted = round_trips_;
  std::ranges::sort(sorted);
  return sorted.empty() ? std::chrono::microseconds(0) : sorted[sorted.size() / 2];
}

void ClusterMember::take_beats(std::vector<Heartbeat> beats) {
  bool changed = false, heard = false;
  for (const auto& one : beats) {
    auto fresh = read_beat(state_.settings, one.node, one.told, state_.context.lead);
    if (!fresh) continue;
    auto& seen = state_.seen[one.node];
    const bool is_new = fresh->told_ms == 0 || fresh->told_ms != seen.told_ms;  // a node that died leaves its last one
    fresh->heard_ms = is_new ? state_.context.clock.wall_ms() : seen.heard_ms;
    changed = changed || fresh->members != seen.members;
    heard = heard || fresh->orders != seen.orders || fresh->ends != seen.ends;
    seen = *std::move(fresh);
  }
  if (changed) ++state_.roster_version;
  if (changed || heard) wake_();
  if (state_.who_leads() != nullptr) members_.take_out(state_.who_leads()->removed);
  members_.mirror();
}

asio::awaitable<void> ClusterMember::send(std::function<bool()> given_up) {
  auto rest = first_pause;
  while (broker_ && !given_up()) {
    const auto seen = state_.work.count();
    const bool went = co_await replicator_->send();
    rest = went ? first_pause : std::min(rest * 2, longest_pause);
    if (given_up()) break;
    if (went)
      co_await state_.work.wait(seen, look_every);
    else
      co_await turn_.wait(turn_.count(), rest);
  }
}

asio::awaitable<void> ClusterMember::receive(std::function<bool()> given_up) {
  auto rest = first_pause;
  while (broker_ && !given_up()) {
    // Without a roster, the local members are unknown and every frame would be rejected.
    const bool ready = !state_.context.roster.members.empty();
    bool went = false;
    if (ready) went = co_await replicator_->receive(receive_for);
    rest = went ? first_pause : std::min(rest * 2, ready ? longest_pause : first_pause);
    if (given_up()) break;
    if (!went) co_await turn_.wait(turn_.count(), rest);
  }
}

operations::Cluster ClusterMember::told() const {
  using operations::number_of;
  const auto& context = state_.context;
  operations::Cluster view;
  view.node = state_.settings.node;
  view.id = state_.settings.id;
  view.redis_url = broker_ ? broker_->name() : "";
  view.leader = state_.leader;
  view.epoch = number_of(state_.leader_epoch);
  view.leads = state_.leading();
  view.trouble = state_.trouble;
  view.trouble_since_ms = state_.trouble.empty() ? 0 : state_.trouble_ms;
  view.round_trip_us = round_trip().count();
  view.full = state_.full;
  if (broker_)
    for (const auto& one : broker_->worries()) view.worries.emplace_back(one);
  for (const auto& [name, seen] : state_.seen) {
    view.nodes.push_back({name, seen.version, seen.leads, number_of(seen.queued), seen.oldest_ms, seen.heard_ms, {}});
    for (const auto& [member, entry] : seen.members) view.nodes.back().members.emplace_back(member);
  }
  if (const auto counts = context.ledger.node_mail().counts(context.name))
    for (const auto& one : *counts)
      view.mail.push_back({to_string(one.direction), one.node, number_of(one.waiting), number_of(one.put), number_of(one.there),
                           one.oldest_ms});
  return view;
}

}  // namespace inbox_poller::poller
