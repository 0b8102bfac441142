#include "poller/control/views.hpp"

#include <algorithm>
#include <boost/json/array.hpp>
#include <map>
#include <tuple>

#include "handlers/permission.hpp"
#include "handlers/subject.hpp"
#include "poller/context/message_life.hpp"
#include "schema/json_scan.hpp"

namespace inbox_poller::poller {
namespace json = boost::json;
namespace {

/// Valid UTF-8, whatever the bytes were.
std::string clean(std::string_view bytes) { return schema::make_parsable(bytes); }

json::object history_view(const HistoryRow& row) {
  return {{"at_ms", row.at_ms},           {"team", clean(row.team)}, {"message_key", row.message_key},
          {"request_id", row.request_id}, {"event", row.event},      {"detail", clean(row.detail)}};
}

json::object effect_view(const OutboxRow& row) {
  return {{"team", row.team},
          {"inbox", row.inbox},
          {"state", to_string(row.state)},
          {"attempts", row.attempts},
          {"created_ms", row.created_ms},
          {"next_ms", row.next_ms},
          {"last_problem", clean(row.last_problem)},
          {"message_key", row.key.value},
          {"request_id", row.request_id},
          {"entry", clean(entry_text(row.message, ""))}};
}

json::array numbers_of(const std::vector<handlers::ProcessRef>& processes) {
  json::array numbers;
  for (const auto& process : processes) numbers.push_back(static_cast<std::int64_t>(process.pid));
  return numbers;
}

json::object order_view(const OrderRow& row) {
  return {{"member", clean(row.member)}, {"kind", row.kind},   {"subject", clean(row.subject)},
          {"by", clean(row.by)},         {"state", row.state}, {"state_ms", row.state_ms}};
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
  signs.open_asks = team.asks().pending_of(member.name);
  signs.last_seen_ms = std::max<EpochMs>(member.last_seen_ms, listed == nullptr ? 0 : listed->joined_at_ms);
  signs.told_ms = told == context.told.end() ? 0 : told->second;
  return handlers::state_of(signs, context.config.team.silent_after, now);
}

void add_worth(json::object& view, const handlers::AnswerWorth& worth) {
  view["answers"] = handlers::to_string(worth.answers);
  view["answers_reason"] = clean(worth.reason);
}

json::object open_ask_view(Team& team, const handlers::Ask& ask) {
  auto view = team.asks().view_of(ask);
  add_worth(view, team.context().worth(ask.asker));
  return view;
}

namespace {

template <std::size_t N>
json::object spread_view(const Spread<N>& spread) {
  json::array up_to;
  for (std::size_t i = 0; i < N; ++i)
    up_to.push_back(json::object{{"ms", spread.bounds[i]}, {"count", spread.up_to[i]}});
  return {{"up_to", std::move(up_to)}, {"count", spread.count}, {"sum_ms", spread.sum_ms}};
}

/// Who decided, as one of few: a name in a record may be any.
std::string_view decider(std::string_view by, std::string_view lead) {
  if (by == "rule" || by == handlers::by_hook) return "rule";
  if (by == "deadline") return "timeout";
  return by == lead ? "lead" : "person";
}

/// What was counted since the start.
json::object counted_view(const Tally& tally, std::string_view lead) {
  std::map<std::tuple<std::string, std::string, std::string>, std::uint64_t> sums;
  for (const auto& [one, count] : tally.decisions) sums[{one.kind, one.outcome, std::string(decider(one.by, lead))}] += count;
  json::array decisions;
  for (const auto& [one, count] : sums)
    decisions.push_back(json::object{
        {"kind", std::get<0>(one)}, {"outcome", std::get<1>(one)}, {"by", std::get<2>(one)}, {"count", count}});
  return {{"decisions", std::move(decisions)},
          {"waits", spread_view(tally.waits)},
          {"accepts", spread_view(tally.accepts)}};
}

json::array members_view(Team& team, EpochMs now_ms) {
  auto& context = team.context();
  json::array members;
  for (const auto& [name, member] : context.members) {
    if (name == context.lead) continue;
    const auto* listed = context.roster.find(name);
    const EpochMs unread = member.present ? team.outbox().unread_since(schema::inbox_name(name)) : 0;
    members.push_back(json::object{
        {"member", name},
        {"present", member.present},
        {"doing", handlers::to_string(worker_state(team, member, now_ms))},
        {"state", clean(member.state)},
        {"detail", clean(member.detail)},
        {"task", clean(member.task)},
        {"mode", listed == nullptr ? std::string() : clean(listed->mode)},
        {"last_seen_ms", member.last_seen_ms},
        {"unread_ms", unread > 0 && now_ms - unread > context.config.team.silent_after.count() ? unread : 0},
        {"pending", team.asks().pending_of(name)}});
    if (listed != nullptr) add_worth(members.back().as_object(), context.worth(name));
  }
  return members;
}

/// What is special about our part in this team: who else is there, what does not get on.
void add_oddities(json::object& view, Team& team) {
  const auto& standing = team.context().standing;
  view["role"] = to_string(standing.stance);
  view["role_reason"] = clean(standing.reason);
  json::array shutdowns;
  for (const auto& shutdown : team.shutdowns().open())
    shutdowns.push_back(shutdown_view(team.context().name, shutdown));
  view["shutdowns"] = std::move(shutdowns);
  json::array not_adopted;
  for (const auto& row : team.orders().not_adopted())
    not_adopted.push_back(json::object{{"member", row.member}, {"mode", row.subject}, {"sent_ms", row.sent_ms}});
  view["not_adopted"] = std::move(not_adopted);
  json::array phantoms;
  for (const auto& [inbox, phantom] : team.worker_boxes().phantoms())
    phantoms.push_back(json::object{{"inbox", inbox}, {"entries", phantom.entries}, {"unread", phantom.unread}});
  view["phantoms"] = std::move(phantoms);
  json::array unserved;
  for (const auto& [name, reason] : team.context().roster.unserved)
    unserved.push_back(json::object{{"member", clean(name)}, {"reason", clean(reason)}});
  view["unserved"] = std::move(unserved);
  if (team.tasks() != nullptr) {
    const auto tasks = team.tasks()->counts();
    view["tasks"] = tasks ? json::object{{"open", tasks->open},
                                         {"claimed", tasks->claimed},
                                         {"done", tasks->done},
                                         {"dead", tasks->dead}}
                          : json::object{{"problem", clean(tasks.error().message)}};
  }
  if (team.hosts() != nullptr) view["hosts"] = team.hosts()->told();
  if (!standing.may(handlers::Right::watch_lead)) return;
  const auto seen = team.watched();
  view["seen"] = json::object{{"consumed", seen.consumed},
                              {"waiting", seen.waiting},
                              {"oldest_waiting_ms", seen.oldest_waiting_ms},
                              {"longest_ms", seen.longest_ms}};
}

}  // namespace

json::object shutdown_view(std::string_view team, const handlers::Shutdown& row) {
  return {{"team", team},
          {"request_id", row.request_id},
          {"member", clean(row.member)},
          {"by", clean(row.by)},
          {"reason", clean(row.reason)},
          {"state", handlers::to_string(row.state)},
          {"open", handlers::is_open(row.state)},
          {"requested_ms", row.requested_ms},
          {"changed_ms", row.changed_ms},
          {"nudge_ms", row.nudge_ms},
          {"nudged_ms", row.nudged_ms},
          {"force_ms", row.force_ms},
          {"timeout_ms", row.timeout_ms},
          {"backend", clean(row.place.backend)},
          {"pane_id", clean(row.place.pane_id)},
          {"processes", numbers_of(row.place.processes)},
          {"left_alone", clean(row.place.left_alone)},
          {"answer", clean(row.answer)},
          {"tasks", clean(row.tasks)},
          {"detail", clean(row.detail)}};
}

json::object ruled_view(std::string_view team, const handlers::Ask& ask) {
  return {{"team", team},
          {"kind", handlers::to_string(ask.kind)},
          {"request_id", ask.request_id},
          {"member", clean(ask.asker)},
          {"subject", clean(handlers::subject_of(ask))},
          {"state", handlers::to_string(ask.state)},
          {"rule", clean(ask.rule)}};
}

json::object session_rule_view(const SessionRule& rule) {
  return {{"kind", rule.kind},
          {"action", rule.action},
          {"rule", clean(rule.rule)},
          {"by", clean(rule.by)},
          {"at_ms", rule.at_ms}};
}

json::object message_view(const Offered& message) {
  json::object view{
      {"message_key", message.key.value},  {"from", clean(message.from)},           {"color", clean(message.color)},
      {"summary", clean(message.summary)}, {"timestamp", clean(message.timestamp)}, {"type", clean(message.type)},
      {"text", clean(message.text)},       {"received_ms", message.received_ms},    {"attempts", message.attempts}};
  if (!message.request_id.empty()) view["request_id"] = message.request_id;
  return view;
}

json::object message_view(const MessageRow& row) {
  return {{"team", row.team},
          {"inbox", row.inbox},
          {"sender", clean(row.sender)},
          {"type", clean(row.type)},
          {"disposition", to_string(row.disposition)},
          {"code", row.code},
          {"reason", clean(row.reason)},
          {"message_key", row.key.value},
          {"request_id", clean(row.request_id)},
          {"received_ms", row.received_ms},
          {"delivery", to_string(row.delivery)},
          {"sink", row.sink},
          {"confirmed", to_string(row.confirmed)},
          {"offered_ms", row.offered_ms},
          {"delivered_ms", row.delivered_ms},
          {"attempts", row.attempts},
          {"priority", static_cast<int>(row.priority)},
          {"entry", clean(entry_text(row.message, row.raw))}};
}

json::object letter_view(const HostMailRow& row) {
  return {{"message_key", row.key.value},    {"team", row.team},         {"way", to_string(row.way)},
          {"host", clean(row.host)},         {"inbox", clean(row.inbox)}, {"sender", clean(row.sender)},
          {"type", clean(row.type)},         {"request_id", clean(row.request_id)},
          {"state", to_string(row.state)},   {"state_ms", row.state_ms}, {"created_ms", row.created_ms},
          {"attempts", row.attempts},        {"problem", clean(row.problem)}};
}

json::object lead_view(Team& team) {
  const auto& row = team.delivery().lead().row();
  json::object view{{"member", team.context().lead}, {"state", row.state}, {"since_ms", row.since_ms},
          {"until_ms", row.until_ms},    {"by", row.by},       {"session", clean(row.session)},
          {"pane", clean(row.pane)},     {"not_woken", clean(team.delivery().routes().why_not_woken(team.delivery().hook_offers().client()))}};
  if (const auto& live = team.lead_session())
    view["session_file"] = json::object{{"pid", live->process.pid},
                                        {"client", live->said.version},
                                        {"status", clean(live->said.status)},
                                        {"reads_inbox", handlers::reads_inbox(sight_of(*live, team.context().roster))}};
  return view;
}

/// The ways to the lead, in the order in which they are tried.
json::object delivery_view(Team& team) {
  json::array ways;
  const auto states = team.delivery().routes().ladder();
  const auto chosen = choose(states);
  for (const auto& state : states)
    ways.push_back(json::object{{"rung", config::to_string(state.way)},
                                 {"available", state.available},
                                 {"chosen", chosen == state.way},
                                 {"reason", clean(state.reason)}});
  return {{"via", std::move(ways)}, {"last_sink", team.delivery().routes().last_sink()}};
}

Result<json::object> team_view(Team& team, Services& services) {
  auto& context = team.context();
  TRY(const auto counts, services.ledger.deliveries().counts(context.name));
  TRY(const auto owed, services.ledger.outbox().owed(context.name));
  TRY(const auto quarantined, services.ledger.messages().quarantined_count(context.name));

  json::array rules;
  for (const auto& rule : context.rules.of_session()) rules.push_back(session_rule_view(rule));
  const auto open = team.asks().shown();
  const auto& locks = team.contention();
  const auto& inbox = team.inbox_report();
  const auto& roster = team.roster_report();
  const auto& compacted = team.housekeeping().compacted();
  json::object view{
      {"team", context.name},
      {"source", context.config.source},
      {"lead", lead_view(team)},
      {"inbox", json::object{{"path", team.inbox_path()},
                             {"state", inbox.state},
                             {"detail", clean(inbox.detail)},
                             {"compacted", compacted.entries},
                             {"compacted_ms", compacted.last_ms}}},
      {"roster", json::object{{"state", roster.state}, {"detail", clean(roster.detail)}}},
      {"members", members_view(team, services.clock.wall_ms())},
      {"asks", json::object{{"pending", open.size()}, {"oldest_ms", open.empty() ? 0 : open.front()->asked_ms},
                            {"oldest_subject", open.empty() ? "" : clean(handlers::subject_of(*open.front()))}}},
      {"chat", json::object{{"queued", counts.queued},
                            {"offered", counts.offered},
                            {"delivered", counts.delivered},
                            {"assumed", counts.assumed},
                            {"expired", counts.expired},
                            {"digest", counts.digest},
                            {"oldest_queued_ms", counts.oldest_queued_ms}}},
      {"delivery", delivery_view(team)},
      {"effects_owed", owed},
      {"quarantined", quarantined},
      {"locks", json::object{{"acquired", locks.acquired},
                             {"refused", locks.refused},
                             {"stale_taken", locks.stale_taken},
                             {"median_us", locks.median_us},
                             {"p99_us", locks.p99_us}}},
      {"rules", std::move(rules)}};
  const auto& tally = services.telemetry.tally(context.name);
  view["counted"] = counted_view(tally, context.lead);
  view["polls"] = json::object{{"last_ms", tally.polled_ms},
                               {"late", tally.late_polls},
                               {"late_ms", tally.late_ms},
                               {"latest_ms", tally.latest.count()}};
  if (!context.ledger_fault().empty()) view["ledger_fault"] = clean(context.ledger_fault());
  add_oddities(view, team);
  return view;
}

namespace {

/// Gathers what belongs to an id, each thing once, from whatever names it.
class Trace {
 public:
  Trace(Ledger& ledger, std::string kind, int limit) : ledger_(ledger), kind_(std::move(kind)), limit_(limit) {}

  /// `id` as the key of a message, or the beginning of one.
  Status add_messages(const std::string& id) {
    TRY(auto rows, ledger_.messages().like(id, limit_));
    for (const auto& row : rows) {
      messages_.push_back(message_view(row));
      TRY(auto kept, ledger_.history().of_message(row.key));
      TRY(add_history(life_of(row, std::move(kept))));
      if (row.request_id.empty()) continue;
      TRY(add_request(row.request_id, row.team));
    }
    TRY(auto letters, ledger_.host_mail().like(id, limit_));
    for (const auto& row : letters) {
      letters_.push_back(letter_view(row));
      TRY(auto kept, ledger_.history().of_message(row.key));
      TRY(add_history(life_of(row, std::move(kept))));
    }
    TRY(auto written, ledger_.outbox().like(id, limit_));
    for (const auto& row : written) {
      TRY(add_effect(row, effects_));
      TRY(add_history(ledger_.history().of_message(row.key)));
    }
    return Done{};
  }

  /// `id` as that of an ask or a shutdown, in one team or, with an empty name, in all.
  Status add_request(const std::string& id, const std::string& team) {
    TRY(auto letters, ledger_.host_mail().of_request(id, limit_));
    for (const auto& row : letters) {
      auto view = letter_view(row);
      if (std::ranges::find(letters_, json::value(view)) == letters_.end()) letters_.push_back(std::move(view));
    }
    TRY(auto requests, ledger_.asks().by_id(id));
    for (const auto& [name, request] : requests)
      if ((team.empty() || team == name) && (kind_.empty() || kind_ == to_string(request.kind)))
        TRY(add(name, id, request.asker, request_view(name, request), requests_));
    TRY(auto shutdowns, ledger_.shutdowns().by_id(id));
    for (const auto& [name, shutdown] : shutdowns)
      if (team.empty() || team == name)
        TRY(add(name, id, shutdown.member, shutdown_view(name, shutdown), shutdowns_));
    return Done{};
  }

  /// A key of which only the history is left.
  Status add_history_of(const std::string& key) { return add_history(ledger_.history().of_message({key})); }

  json::object take() {
    std::stable_sort(history_.begin(), history_.end(), [](const auto& a, const auto& b) { return a.at_ms < b.at_ms; });
    json::array timeline;
    for (const auto& row : history_) timeline.push_back(history_view(row));
    return {{"messages", std::move(messages_)},
            {"requests", std::move(requests_)},
            {"shutdowns", std::move(shutdowns_)},
            {"effects", std::move(effects_)},
            {"letters", std::move(letters_)},
            {"history", std::move(timeline)}};
  }

 private:
  Status add(const std::string& team, const std::string& id, const std::string& member, json::object view, json::array& to) {
    if (std::any_of(to.begin(), to.end(), [&](const auto& other) { return is_same(other.as_object(), view); }))
      return Done{};
    TRY(auto effects, ledger_.outbox().of_request(team, schema::inbox_name(member), id));
    json::array list;
    for (const auto& effect : effects)
      TRY(add_effect(effect, list));
    view["effects"] = std::move(list);
    to.push_back(std::move(view));
    return add_history(ledger_.history().of_request(team, id));
  }

  static bool is_same(const json::object& a, const json::object& b) {
    const auto kind = [](const json::object& view) { return view.contains("kind") ? view.at("kind") : nullptr; };
    return a.at("team") == b.at("team") && a.at("request_id") == b.at("request_id") && a.at("member") == b.at("member") && kind(a) == kind(b);
  }

  /// With the order that it carries, if it carries one.
  Status add_effect(const OutboxRow& row, json::array& to) {
    auto view = effect_view(row);
    TRY(auto orders, ledger_.orders().of_team(row.team));
    for (const auto& order : orders)
      if (order.key == row.key) view["order"] = order_view(order);
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
  std::string kind_;
  int limit_;
  json::array messages_, requests_, shutdowns_, effects_, letters_;
  std::vector<HistoryRow> history_;
};

}  // namespace

Result<json::object> trace_view(Ledger& ledger, const std::string& id, const std::string& kind, int limit) {
  Trace trace(ledger, kind, limit);
  TRY(trace.add_messages(id));
  TRY(trace.add_request(id, ""));
  TRY(trace.add_history_of(id));
  return trace.take();
}

}  // namespace inbox_poller::poller
