#include "poller/team/role_keeper.hpp"

#include <algorithm>
#include <utility>

#include "handlers/other_consumer.hpp"
#include "poller/lead_process.hpp"

namespace inbox_poller::poller {

RoleKeeper::RoleKeeper(TeamState& context, const Mailbox& mailbox, ClusterMember* nodes,
                               const Requests& requests, Delivery& delivery, FileSystem& files, Processes& processes)
    : context_(context),
      mailbox_(mailbox),
      cluster_(nodes),
      requests_(requests),
      delivery_(delivery),
      processes_(processes),
      session_(files, processes, context.clock, context.config.team.session_folder()) {
  if (cluster_ != nullptr) context_.membership = cluster_->membership();
}

bool RoleKeeper::is_alone() const {
  if (!context_.may(handlers::Right::compact)) return false;
  const auto now = context_.clock.steady();
  return std::none_of(signs_.begin(), signs_.end(),
                      [now](SteadyTime sign) { return now - sign <= handlers::sign_lasts; });
}

void RoleKeeper::observe_consumers(const Batch& batch) {
  using What = ConsumerEvidence::What;
  watched_.waiting = batch.size.unread;
  watched_.oldest_waiting_ms = batch.size.oldest_unread_ms;
  if (!context_.may(handlers::Right::watch_lead)) {
    // Keys that the ledger has were in the inbox before: another program restored an older copy of the file.
    const auto flipped = std::count_if(batch.signs.begin(), batch.signs.end(), [&](const ConsumerEvidence& sign) {
      if (sign.what != What::flipped) return false;
      const auto known = context_.ledger.messages().known(sign.key);
      return known && !*known;
    });
    const bool swept = std::any_of(batch.signs.begin(), batch.signs.end(),
                                   [](const ConsumerEvidence& sign) { return sign.what == What::swept; });
    if (flipped > 0) competing_consumer("flipped", static_cast<std::size_t>(flipped));
    if (swept) competing_consumer("removed", 1);
    return;
  }
  std::vector<ConsumerEvidence> consumed;
  for (const auto& sign : batch.signs)
    if (sign.what == What::consumed) consumed.push_back(sign);
  if (consumed.empty()) return;
  static_cast<void>(context_.commit([&](Tx& tx) -> Status {
    tx.then([&] {
      watched_.consumed += consumed.size();
      for (const auto& one : consumed)
        watched_.longest_ms = std::max(watched_.longest_ms, static_cast<EpochMs>(one.waited.count()));
    });
    for (const auto& one : consumed) {
      TRY(const auto answered, requests_.answered_by_rule(one.key));
      Fields fields{{"team", context_.name},
                    {"inbox", context_.lead},
                    {"message_key", one.key.value},
                    {"latency_ms", std::to_string(std::max<long long>(0, one.waited.count()))}};
      if (answered)
        fields.emplace_back("reason",
                            "we had answered it, but the lead took it before our mark; the first answer at "
                            "the worker counts");
      tx.log(answered ? Event::request_answered_by_lead : Event::message_consumed, std::move(fields));
    }
    return Done{};
  }));
}

void RoleKeeper::check_lead_inbox() {
  watched_.waiting = 0;
  watched_.oldest_waiting_ms = 0;
}

void RoleKeeper::competing_consumer(std::string code, std::size_t count) {
  const auto now = context_.clock.steady();
  signs_.push_back(now);
  std::vector<config::Duration> ages;
  for (const auto sign : signs_) ages.push_back(std::chrono::duration_cast<config::Duration>(now - sign));
  context_.telemetry.emit(
      Event::inbox_competing_consumer,
      {{"team", context_.name},
       {"inbox", context_.lead},
       {"code", code},
       {"count", std::to_string(count)},
       {"reason", code == "flipped"
                      ? "messages were marked read before InboxPoller saw them"
                      : "all entries that were read have gone at once, as a client that deletes leaves it"}});
  std::erase_if(signs_, [now](SteadyTime sign) { return now - sign > handlers::sign_lasts; });
  if (!handlers::are_believed(ages)) return;
  give_way("another program consumes " + inbox_path() +
           "; stop it, or use role = \"interceptor\", then inbox-poller resume");
}

void RoleKeeper::check_lead_process() {
  const auto& claim = context_.roster.lead_process;
  if (!claim || !context_.may(handlers::Right::expect_nobody)) return;
  const auto id = claim_of(*claim);
  if (id == claim_) return;
  const auto state = handlers::state_of(look_at(*claim, processes_));
  if (state == handlers::LeadProcessState::gone) return;
  claim_ = id;
  const std::string who =
      "process " + std::to_string(claim->pid) + " says in the roster that it leads this team (leadProcess)";
  if (state == handlers::LeadProcessState::elsewhere) {
    context_.telemetry.emit(Event::daemon_warning,
                             {{"team", context_.name},
                              {"reason", who + " and is not to be seen from here, in " + claim->pid_space +
                                             ": if it lives, it reads the lead's inbox itself, and messages reach only "
                                             "one of the two"}});
    return;
  }
  if (is_accepted(id)) return;
  give_way_to_lead("lead_process", who);
}

bool RoleKeeper::is_accepted(const std::string& claim) const {
  const auto said = context_.ledger.history().of_request(context_.name, claim);
  return said && std::any_of(said->begin(), said->end(),
                             [](const HistoryRow& row) { return row.event == event_name(Event::lead_accepted); });
}

void RoleKeeper::check_lead_session() {
  const bool changed = session_.look(context_.roster.lead_session_id);
  const auto& live = session_.live();
  if (changed) {
    context_.changed(only(Area::teams));
    delivery_.lead().session_says(live ? live->said.status : std::string_view());
  }
  if (!live || context_.roster.lead_process || !context_.may(handlers::Right::expect_nobody)) return;
  const auto id = claim_of(*live);
  if (id == claim_ || !handlers::reads_inbox(sight_of(*live, context_.roster))) return;
  claim_ = id;
  if (is_accepted(id)) return;
  give_way_to_lead("lead_session", words_of(*live) + " has the lead's session, made this team");
}

void RoleKeeper::give_way_to_lead(std::string_view code, const std::string& who) {
  const std::string reason = who + " and was alive at " + schema::iso_timestamp(context_.clock.wall_ms()) +
                             ", so it reads " + inbox_path() + " itself";
  context_.telemetry.emit(Event::inbox_competing_consumer, {{"team", context_.name},
                                                           {"inbox", context_.lead},
                                                           {"code", std::string(code)},
                                                           {"count", "1"},
                                                           {"reason", reason}});
  give_way(reason + "; to lead in its place, end it, then inbox-poller resume; resume beside it takes its mail away");
}

void RoleKeeper::give_way(const std::string& reason) {
  if (const auto role = handlers::role_beside(context_.config.team.on_competing_consumer)) change_role({*role, reason});
}

void RoleKeeper::change_role(handlers::Membership membership) {
  const auto old = context_.membership.role;
  context_.membership = std::move(membership);
  context_.changed(all_areas);  // our rights to answer, too
  const auto now = context_.membership.role;
  if (handlers::reads_anew(old, now)) {
    delivery_.serve_anew();
    ++times_changed_;
  }
  signs_.clear();
  ++times_set_;
  if (now == old) return;
  context_.telemetry.emit(Event::inbox_role, {{"team", context_.name},
                                               {"inbox", context_.lead},
                                               {"old", std::string(to_string(old))},
                                               {"new", std::string(to_string(now))},
                                               {"reason", context_.membership.reason}});
}

void RoleKeeper::follow_lease(bool retired) {
  if (cluster_ == nullptr) return;
  const auto role = context_.membership.role;
  const bool by_node = handlers::follows_nodes(role);
  cluster_->want_to_lead(by_node && !retired);
  if (!by_node) return;  // another consumer was seen here
  auto membership = cluster_->membership();
  if (membership.role != role) return change_role(std::move(membership));
  if (std::exchange(context_.membership.reason, membership.reason) != membership.reason)
    context_.changed(only(Area::teams));
}

Status RoleKeeper::resume() {
  const auto role = context_.config.team.role;
  const auto& claim = context_.roster.lead_process;
  const auto& live = session_.live();
  if (handlers::gave_way(role, context_.membership.role) && (claim || live)) {
    const auto id = claim ? claim_of(*claim) : claim_of(*live);
    TRY(context_.commit([&](Tx& tx) {
      tx.log(Event::lead_accepted, {{"team", context_.name},
                                    {"request_id", id},
                                    {"reason", "a person said resume: we lead, also while this process lives"}});
      tx.then([&] { claim_ = id; });
    }));
  }
  change_role({handlers::effective_role(role), {}});
  return Done{};
}

}  // namespace inbox_poller::poller
