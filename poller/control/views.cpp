#include "poller/control/views.hpp"

#include <algorithm>
#include <boost/json/array.hpp>

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

}  // namespace

json::object request_view(std::string_view team, const handlers::Request& request) {
  return {{"team", team},
          {"kind", handlers::to_string(request.kind)},
          {"request_id", request.request_id},
          {"asker", clean(request.asker)},
          {"subject", clean(request.subject)},
          {"body", clean(request.body)},
          {"description", clean(request.description)},
          {"suggestions", clean(request.suggestions)},
          {"state", handlers::to_string(request.state)},
          {"asked_ms", request.asked_ms},
          {"deadline_ms", request.deadline_ms},
          {"decided_ms", request.decided_ms},
          {"decided_by", clean(request.decided_by)},
          {"rule", clean(request.rule)},
          {"reason", clean(request.reason)},
          {"message_key", request.message.value}};
}

json::object message_view(const OutgoingMessage& message) {
  return {{"message_key", message.key.value},  {"from", clean(message.from)},           {"color", clean(message.color)},
          {"summary", clean(message.summary)}, {"timestamp", clean(message.timestamp)}, {"type", clean(message.type)},
          {"text", clean(message.text)},       {"received_ms", message.received_ms},    {"attempts", message.attempts}};
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
          {"offered_ms", row.offered_ms},
          {"delivered_ms", row.delivered_ms},
          {"attempts", row.attempts},
          {"entry", clean(row.entry)}};
}

json::object lead_view(Team& team) {
  const auto& row = team.courier().lead_row();
  return {{"name", team.context().lead}, {"state", row.state}, {"since_ms", row.since_ms}, {"until_ms", row.until_ms}};
}

Result<json::object> team_view(Team& team, Services& services) {
  auto& context = team.context();
  const auto counts = services.ledger.chat_counts(context.name);
  if (!counts) return counts.error();
  const auto owed = services.ledger.owed(context.name);
  if (!owed) return owed.error();
  const auto quarantined = services.ledger.quarantined_count(context.name);
  if (!quarantined) return quarantined.error();

  json::array members;
  for (const auto& [name, member] : context.members) {
    if (name == context.lead) continue;
    members.push_back(json::object{{"name", name},
                                   {"present", member.present},
                                   {"state", clean(member.state)},
                                   {"detail", clean(member.detail)},
                                   {"last_seen_ms", member.last_seen_ms},
                                   {"pending", team.asks().pending_of(name)}});
  }
  json::array rules;
  for (const auto& rule : context.session_rules())
    rules.push_back(json::object{{"kind", rule.kind},
                                 {"action", rule.action},
                                 {"rule", clean(rule.rule)},
                                 {"by", clean(rule.by)},
                                 {"at_ms", rule.at_ms}});
  const auto open = team.asks().open();
  const auto& locks = team.locks();
  const auto& inbox = team.inbox_report();
  return json::object{
      {"team", context.name},
      {"source", context.config.source},
      {"lead", lead_view(team)},
      {"inbox", json::object{{"path", team.inbox_path()}, {"state", inbox.state}, {"detail", clean(inbox.detail)}}},
      {"members", std::move(members)},
      {"asks", json::object{{"pending", open.size()}, {"oldest_ms", open.empty() ? 0 : open.front().asked_ms}}},
      {"chat", json::object{{"queued", counts->queued},
                            {"offered", counts->offered},
                            {"delivered", counts->delivered},
                            {"oldest_queued_ms", counts->oldest_queued_ms}}},
      {"effects_owed", *owed},
      {"quarantined", *quarantined},
      {"locks", json::object{{"acquired", locks.acquired},
                             {"refused", locks.refused},
                             {"stale_taken", locks.stale_taken},
                             {"median_us", locks.median_us},
                             {"p99_us", locks.p99_us}}},
      {"rules", std::move(rules)}};
}

Result<json::object> trace_view(Ledger& ledger, const std::string& id, int limit) {
  std::vector<HistoryRow> history;
  const auto gather = [&](Result<std::vector<HistoryRow>> rows) -> Status {
    if (!rows) return rows.error();
    for (auto& row : *rows) history.push_back(std::move(row));
    return Done{};
  };
  json::array messages;
  auto rows = ledger.messages_like(id, limit);
  if (!rows) return rows.error();
  auto requests = ledger.requests_by_id(id);
  if (!requests) return requests.error();
  for (const auto& row : *rows) {
    messages.push_back(message_view(row));
    if (auto got = gather(ledger.history_of_message(row.key)); !got) return got.error();
    if (row.request_id.empty()) continue;
    auto more = ledger.requests_by_id(row.request_id);
    if (!more) return more.error();
    for (auto& item : *more)
      if (item.first == row.team) requests->push_back(std::move(item));
  }
  json::array asks;
  for (const auto& [team, request] : *requests) {
    auto view = request_view(team, request);
    auto effects = ledger.outbox_of_request(team, request.request_id);
    if (!effects) return effects.error();
    json::array list;
    for (const auto& effect : *effects)
      list.push_back(json::object{{"inbox", effect.inbox},
                                  {"state", to_string(effect.state)},
                                  {"attempts", effect.attempts},
                                  {"last_problem", clean(effect.last_problem)},
                                  {"message_key", effect.key.value},
                                  {"entry", clean(effect.entry)}});
    view["effects"] = std::move(list);
    asks.push_back(std::move(view));
    if (auto got = gather(ledger.history_of_request(team, request.request_id)); !got) return got.error();
  }
  if (rows->empty() && requests->empty())  // an effect's own key (a `send`) has only a history
    if (auto got = gather(ledger.history_of_message({id})); !got) return got.error();

  const auto key = [](const HistoryRow& row) {
    return std::tie(row.at_ms, row.team, row.message_key, row.request_id, row.event, row.detail);
  };
  std::stable_sort(history.begin(), history.end(), [](const auto& a, const auto& b) { return a.at_ms < b.at_ms; });
  json::array timeline;
  std::vector<HistoryRow> told;
  for (const auto& row : history) {
    if (std::any_of(told.begin(), told.end(), [&](const auto& other) { return key(other) == key(row); })) continue;
    told.push_back(row);
    timeline.push_back(history_view(row));
  }
  return json::object{
      {"messages", std::move(messages)}, {"requests", std::move(asks)}, {"history", std::move(timeline)}};
}

}  // namespace inbox_poller::poller
