#include "poller/control/views.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "handlers/permission.hpp"
#include "handlers/subject.hpp"
#include "handlers/unsent_report.hpp"
#include "poller/context/message_life.hpp"
#include "schema/operations/shape.hpp"

namespace inbox_poller::poller {
using operations::number_of;
namespace {

operations::Happened happened_view(const HistoryRow& row) {
  return {row.at_ms, row.team, row.message_key, row.request_id, row.event, row.detail};
}

operations::Effect effect_view(const OutboxRow& row) {
  return {.team = row.team,
          .inbox = row.inbox,
          .state = to_string(row.state),
          .attempts = row.attempts,
          .created_ms = row.created_ms,
          .next_ms = row.next_ms,
          .last_problem = row.last_problem,
          .message_key = row.key.value,
          .request_id = row.request_id,
          .entry = entry_text(row.message, ""), .order = {}};
}

}  // namespace

handlers::WorkerState worker_state(Team& team, const MemberRow& member, EpochMs now) {
  auto& context = team.context();
  const auto* listed = context.roster.find(member.name);
  const auto told = context.told.find(member.name);
  handlers::WorkerSigns signs;
  signs.present = member.present && (listed == nullptr || listed->status != schema::ended_status);
  signs.active = listed == nullptr || listed->is_active;
  signs.last_report = member.state;
  signs.open_requests = team.requests().pending_of(member.name);
  // Nobody listened to it before, so a worker that was never heard is not silent yet.
  const EpochMs heard = member.last_seen_ms == 0 ? team.since_ms : member.last_seen_ms;
  signs.last_seen_ms = std::max<EpochMs>(heard, listed == nullptr ? 0 : listed->joined_at_ms);
  signs.told_ms = told == context.told.end() ? 0 : told->second;
  return handlers::state_of(signs, context.config.team.unresponsive_after, now);
}

operations::OpenRequest open_request_view(Team& team, const handlers::Request& request) {
  auto view = team.requests().view_of(request);
  const std::string left = handlers::why_left_to_lead(request.kind, team.context().view());
  if (!left.empty()) {
    view.answers = "not_leader";
    view.answers_reason = left;
    return view;
  }
  const auto authority = team.context().answer_authority(request.asker);
  view.answers = handlers::to_string(authority.answers);
  view.answers_reason = authority.reason;
  return view;
}

namespace {

template <std::size_t N>
operations::Spread spread_view(const Spread<N>& spread) {
  operations::Spread view{{}, number_of(spread.count), spread.sum_ms};
  for (std::size_t i = 0; i < N; ++i) view.up_to.push_back({spread.bounds[i], number_of(spread.up_to[i])});
  return view;
}

/// Classifies the decider, because a record may hold any name.
std::string_view decider(std::string_view by, std::string_view lead) {
  if (by == "rule" || by == handlers::by_hook) return "rule";
  if (by == "deadline") return "timeout";
  return by == lead ? "lead" : "person";
}

operations::Counted counted_view(const Tally& tally, std::string_view lead) {
  std::map<std::tuple<std::string, std::string, std::string>, std::uint64_t> sums;
  for (const auto& [one, count] : tally.decisions) sums[{one.kind, one.outcome, std::string(decider(one.by, lead))}] += count;
  operations::Counted view{{}, spread_view(tally.waits), spread_view(tally.accepts)};
  for (const auto& [one, count] : sums)
    view.decisions.push_back({std::get<0>(one), std::get<1>(one), std::get<2>(one), number_of(count)});
  return view;
}

/// Adds the text with which the worker's last turn ended, if it was not sent.
void add_unsent(operations::Member& view, const MemberRow& member, Ledger& ledger) {
  if (member.unsent.empty()) return;
  const auto row = ledger.messages().find(schema::MessageKey{member.unsent});
  if (!row || !*row) return;  // deleted after limits.retention
  const auto bytes = (*row)->message.text.size();
  view.unsent_key = member.unsent;
  view.unsent_bytes = number_of(bytes);
  view.detail = member.detail + (member.detail.empty() ? "" : "; ") + handlers::unsent_note(bytes, member.unsent);
}

operations::Member member_view(Team& team, const std::string& name, const MemberRow& member, EpochMs now_ms) {
  auto& context = team.context();
  const auto* listed = context.roster.find(name);
  const EpochMs unread = member.present ? team.outbox().unread_since(schema::inbox_name(name)) : 0;
  operations::Member view{.member = name,
                          .present = member.present,
                          .doing = handlers::to_string(worker_state(team, member, now_ms)),
                          .state = member.state == handlers::WorkerReport::none ? "" : to_string(member.state),
                          .detail = member.detail,
                          .task = member.task,
                          .mode = listed == nullptr ? "" : listed->mode,
                          .last_seen_ms = member.last_seen_ms,
                          .unread_ms = unread > 0 && now_ms - unread > context.config.team.unresponsive_after.count() ? unread : 0,
                          .pending = team.requests().pending_of(name),
                          .unsent_key = {},
                          .unsent_bytes = {},
                          .answers = {},
                          .answers_reason = {}};
  add_unsent(view, member, context.ledger);
  if (listed == nullptr) return view;
  const auto authority = context.answer_authority(name);
  view.answers = handlers::to_string(authority.answers);
  view.answers_reason = authority.reason;
  return view;
}

operations::TaskCounts tasks_view(const TaskEvents& queue) {
  const auto counts = queue.counts();
  if (!counts) return {{}, {}, {}, {}, counts.error().message};
  return {number_of(counts->open), number_of(counts->claimed), number_of(counts->done), number_of(counts->dead), {}};
}

/// Adds what is unusual about our role in this team: other consumers, and problems.
void add_oddities(operations::Team& view, Team& team) {
  const auto& membership = team.context().membership;
  view.role = to_string(membership.role);
  view.role_reason = membership.reason;
  for (const auto& shutdown : team.shutdowns().open())
    view.shutdowns.push_back(shutdown_view(team.context().name, shutdown));
  for (const auto& row : team.orders().not_applied()) view.not_applied.push_back({row.member, row.subject, row.sent_ms});
  for (const auto& [inbox, orphan] : team.worker_boxes().orphaned_inboxes())
    view.orphaned_inboxes.push_back({inbox, number_of(orphan.entries), number_of(orphan.unread)});
  for (const auto& [name, reason] : team.context().roster.unreachable) view.unreachable.push_back({name, reason});
  if (team.tasks() != nullptr) view.tasks = tasks_view(*team.tasks());
  if (team.cluster() != nullptr) view.cluster = team.cluster()->told();
  if (!membership.may(handlers::Right::watch_lead)) return;
  const auto seen = team.watched();
  view.seen = {number_of(seen.consumed), number_of(seen.waiting), seen.oldest_waiting_ms, seen.longest_ms};
}

/// Lists the delivery methods in the order in which they are tried.
operations::Delivery delivery_view(Team& team) {
  operations::Delivery view{{}, team.delivery().routes().last_method()};
  const auto states = team.delivery().routes().methods();
  const auto chosen = choose(states);
  for (const auto& state : states)
    view.methods.push_back({config::to_string(state.method), state.available, chosen == state.method, state.reason});
  return view;
}

}  // namespace

operations::Shutdown shutdown_view(std::string_view team, const handlers::Shutdown& row) {
  operations::Shutdown view{.team = team,
                            .request_id = row.request_id,
                            .member = row.member,
                            .by = row.by,
                            .reason = row.reason,
                            .state = handlers::to_string(row.state),
                            .open = handlers::is_open(row.state),
                            .requested_ms = row.requested_ms,
                            .changed_ms = row.changed_ms,
                            .remind_ms = row.remind_ms,
                            .reminded_ms = row.reminded_ms,
                            .force_ms = row.force_ms,
                            .timeout_ms = row.timeout_ms,
                            .backend = row.place.backend,
                            .pane_id = row.place.pane_id,
                            .processes = {},
                            .left_alone = row.place.left_alone,
                            .answer = row.answer,
                            .tasks = row.tasks,
                            .detail = row.detail};
  for (const auto& process : row.place.processes) view.processes.push_back(process.pid);
  return view;
}

operations::RuledRequest ruled_view(std::string_view team, const handlers::Request& request) {
  return {team,
          handlers::to_string(request.kind),
          request.request_id,
          request.asker,
          handlers::subject_of(request),
          handlers::to_string(request.state),
          request.rule};
}

operations::GivenRule rule_view(const SessionRule& rule) {
  return {{to_string(rule.kind), rule.action, rule.rule}, rule.by, rule.at_ms};
}

operations::LeadMessage message_view(const LeasedMessage& message) {
  operations::LeadMessage view{.message_key = message.key.value,
                               .from = message.from,
                               .color = message.color,
                               .summary = message.summary,
                               .timestamp = message.timestamp,
                               .type = message.type,
                               .text = message.note.empty() ? message.text : noted_text(message),
                               .received_ms = message.received_ms,
                               .attempts = message.attempts,
                               .request_id = {}};
  if (!message.request_id.empty()) view.request_id = message.request_id;
  return view;
}

operations::Message message_view(const MessageRow& row) {
  return {.team = row.team,
          .inbox = row.inbox,
          .sender = row.sender,
          .type = row.type,
          .disposition = to_string(row.disposition),
          .code = row.code,
          .reason = row.reason,
          .message_key = row.key.value,
          .request_id = row.request_id,
          .received_ms = row.received_ms,
          .delivery = to_string(row.delivery),
          .method = row.method,
          .confirmed = to_string(row.confirmed),
          .offered_ms = row.offered_ms,
          .delivered_ms = row.delivered_ms,
          .attempts = row.attempts,
          .priority = static_cast<int>(row.priority),
          .entry = entry_text(row.message, row.raw)};
}

operations::NodeMessage node_message_view(const NodeMailRow& row) {
  return {.message_key = row.key.value,
          .team = row.team,
          .direction = to_string(row.direction),
          .node = row.node,
          .inbox = row.inbox,
          .sender = row.sender,
          .type = row.type,
          .request_id = row.request_id,
          .state = to_string(row.state),
          .state_ms = row.state_ms,
          .created_ms = row.created_ms,
          .attempts = row.attempts, .problem = row.problem};
}

operations::Lead lead_view(Team& team) {
  auto& delivery = team.delivery();
  const auto& row = delivery.lead().row();
  operations::Lead view{.member = team.context().lead,
                        .state = to_string(row.state),
                        .since_ms = row.since_ms,
                        .until_ms = row.until_ms,
                        .by = row.by,
                        .session = row.session,
                        .pane = row.pane,
                        .not_woken = delivery.routes().why_not_woken(delivery.hook_offers().client()),
                        .session_file = {}};
  if (const auto& live = team.lead_session())
    view.session_file = {live->process.pid, live->said.version, live->said.status,
                         handlers::reads_inbox(sight_of(*live, team.context().roster))};
  return view;
}

Result<operations::Team> team_view(Team& team, Runtime& services) {
  auto& context = team.context();
  TRY(const auto counts, services.ledger.deliveries().counts(context.name));
  TRY(const auto owed, services.ledger.outbox().owed(context.name));
  TRY(const auto quarantined, services.ledger.messages().quarantined_count(context.name));

  const auto open = team.requests().shown();
  const auto& locks = team.contention();
  const auto& inbox = team.inbox_report();
  const auto& compacted = team.housekeeping().compacted();
  const auto& tally = services.telemetry.tally(context.name);
  operations::Team view;
  view.team = context.name;
  view.source = context.config.source;
  view.lead = lead_view(team);
  view.inbox = {team.inbox_path(), inbox.state, inbox.detail, number_of(compacted.entries), compacted.last_ms};
  view.roster = {team.roster_report().state, team.roster_report().detail};
  for (const auto& [name, member] : context.members)
    if (name != context.lead) view.members.push_back(member_view(team, name, member, services.clock.wall_ms()));
  view.requests.pending = number_of(open.size());
  if (!open.empty()) view.requests.oldest_ms = open.front()->asked_ms;
  if (!open.empty()) view.requests.oldest_subject = handlers::subject_of(*open.front());
  view.chat = {counts.queued,  counts.offered, counts.delivered,       counts.assumed,
               counts.expired, counts.digest,  counts.oldest_queued_ms};
  view.delivery = delivery_view(team);
  view.replies_owed = owed;
  view.quarantined = quarantined;
  view.locks = {number_of(locks.acquired), number_of(locks.refused), number_of(locks.stale_taken),
                number_of(locks.median_us), number_of(locks.p99_us)};
  for (const auto& rule : context.rules.of_session()) view.rules.push_back(rule_view(rule));
  view.counted = counted_view(tally, context.lead);
  view.polls = {tally.polled_ms, number_of(tally.late_polls), tally.late_ms, tally.latest.count()};
  if (!context.ledger_fault().empty()) view.ledger_fault = context.ledger_fault();
  add_oddities(view, team);
  return view;
}

namespace {

/// Collects the records that belong to an id, each once.
class Trace {
 public:
  Trace(Ledger& ledger, std::string kind, int limit) : ledger_(ledger), kind_(std::move(kind)), limit_(limit) {}

  /// Adds messages by a key or a prefix of one.
  Status add_messages(const std::string& id) {
    TRY(auto rows, ledger_.messages().like(id, limit_));
    for (const auto& row : rows) {
      trace_.messages.push_back(message_view(row));
      TRY(auto kept, ledger_.history().of_message(row.key));
      TRY(add_history(life_of(row, std::move(kept))));
      if (!row.request_id.empty()) TRY(add_request(row.request_id, row.team));
    }
    TRY(auto mails, ledger_.node_mail().like(id, limit_));
    for (const auto& row : mails) {
      trace_.node_messages.push_back(node_message_view(row));
      TRY(auto kept, ledger_.history().of_message(row.key));
      TRY(add_history(life_of(row, std::move(kept))));
    }
    TRY(auto written, ledger_.outbox().like(id, limit_));
    for (const auto& row : written) {
      TRY(add_effect(row, trace_.effects));
      TRY(add_history(ledger_.history().of_message(row.key)));
    }
    return Done{};
  }

  /// Adds a request or a shutdown by id, in one team or, with an empty name, in all.
  Status add_request(const std::string& id, const std::string& team) {
    TRY(auto mails, ledger_.node_mail().of_request(id, limit_));
    for (const auto& row : mails) {
      if (!is_of(row.sender) && !is_of(row.inbox)) continue;
      const auto is_row = [&](const operations::NodeMessage& one) {
        return one.message_key == row.key.value && one.team == row.team && one.direction == to_string(row.direction) && one.node == row.node &&
               one.inbox == row.inbox;
      };
      if (std::ranges::none_of(trace_.node_messages, is_row)) trace_.node_messages.push_back(node_message_view(row));
    }
    TRY(auto requests, ledger_.requests().by_id(id));
    for (const auto& [name, request] : requests)
      if ((team.empty() || team == name) && (kind_.empty() || kind_ == to_string(request.kind)))
        TRY(add(id, operations::TracedRequest{request_view(name, request), {}}, trace_.requests));
    TRY(auto shutdowns, ledger_.shutdowns().by_id(id));
    for (const auto& [name, shutdown] : shutdowns)
      if (team.empty() || team == name)
        TRY(add(id, operations::TracedShutdown{shutdown_view(name, shutdown), {}}, trace_.shutdowns));
    return Done{};
  }

  /// Adds the requests with this id of one worker.
  Status add_request_of(const std::string& worker, const std::string& id) {
    worker_ = worker;
    return add_request(id, "");
  }

  /// Adds a key of which only the history is left.
  Status add_history_of(const std::string& key) { return add_history(ledger_.history().of_message({key})); }

  operations::Trace take() {
    std::stable_sort(history_.begin(), history_.end(), [](const auto& a, const auto& b) { return a.at_ms < b.at_ms; });
    for (const auto& row : history_) trace_.history.push_back(happened_view(row));
    return std::move(trace_);
  }

 private:
  [[nodiscard]] bool is_of(const std::string& member) const { return worker_.empty() || member == worker_; }

  /// Adds a request or a shutdown unless it is there already.
  template <class View>
  Status add(const std::string& id, View view, std::vector<View>& to) {
    const auto name = [](const View& one) {
      if constexpr (requires { one.kind; }) return std::tie(one.team, one.request_id, one.member, one.kind.bytes);
      else return std::tie(one.team, one.request_id, one.member);
    };
    if (std::any_of(to.begin(), to.end(), [&](const View& other) { return name(other) == name(view); })) return Done{};
    if (!is_of(view.member.bytes)) return Done{};
    const auto& team = view.team.bytes;
    TRY(auto effects, ledger_.outbox().of_request(team, schema::inbox_name(view.member.bytes), id));
    for (const auto& effect : effects)
      TRY(add_effect(effect, view.effects));
    TRY(add_history(ledger_.history().of_request(team, id)));
    to.push_back(std::move(view));
    return Done{};
  }

  /// Adds an outgoing message with its setting update, if it has one.
  Status add_effect(const OutboxRow& row, std::vector<operations::Effect>& to) {
    auto view = effect_view(row);
    TRY(auto orders, ledger_.orders().of_team(row.team));
    for (const auto& order : orders)
      if (order.key == row.key)
        view.order = {order.member, to_string(order.kind), order.subject, order.by, to_string(order.state), order.state_ms};
    to.push_back(std::move(view));
    return Done{};
  }

  Status add_history(Result<std::vector<HistoryRow>> rows) {
    if (!rows) return rows.error();
    const auto key = [](const HistoryRow& row) {
      return std::tie(row.at_ms, row.team, row.message_key, row.request_id, row.event, row.detail);
    };
    for (auto& row : *rows)
      if (std::none_of(history_.begin(), history_.end(), [&](const auto& other) { return key(other) == key(row); }))
        history_.push_back(std::move(row));
    return Done{};
  }

  Ledger& ledger_;
  std::string kind_, worker_;
  int limit_;
  operations::Trace trace_;
  std::vector<HistoryRow> history_;
};

}  // namespace

Result<operations::Trace> trace_view(Ledger& ledger, const std::string& id, const std::string& kind, int limit) {
  Trace trace(ledger, kind, limit);
  TRY(trace.add_messages(id));
  TRY(trace.add_request(id, ""));
  TRY(trace.add_history_of(id));
  if (const auto slash = id.find('/'); slash != std::string::npos)
    TRY(trace.add_request_of(id.substr(0, slash), id.substr(slash + 1)));
  return trace.take();
}

}  // namespace inbox_poller::poller
