#include "poller/context/message_life.hpp"

#include <algorithm>
#include <utility>

#include "handlers/subject.hpp"
#include "schema/json_scan.hpp"

namespace inbox_poller::poller {
namespace {

/// Fields of all delivery events.
Fields on_its_way(const MessageRow& row) {
  Fields fields;
  fields.reserve(6);
  fields.emplace_back("team", row.team);
  fields.emplace_back("message_key", row.key.value);
  fields.emplace_back("from", row.sender);
  fields.emplace_back("method", row.method);
  return fields;
}

/// Fields of all events that accept a message.
template <class Row>
Fields who_and_what(const Row& row) {
  Fields fields;
  fields.reserve(9);  // thousands of these are made at once
  fields.emplace_back("team", row.team);
  fields.emplace_back("inbox", row.inbox);
  fields.emplace_back("from", row.sender);
  fields.emplace_back("type", row.type);
  fields.emplace_back("message_key", row.key.value);
  if (!row.request_id.empty()) fields.emplace_back("request_id", row.request_id);
  return fields;
}

auto lines_of(const std::vector<HistoryRow>& lines, Event event) {
  return std::count_if(lines.begin(), lines.end(),
                       [&](const HistoryRow& line) { return line.event == event_name(event); });
}

}  // namespace

Fields accepted_fields(const MessageRow& row) {
  auto fields = who_and_what(row);
  fields.emplace_back("disposition", std::string(row.delivery == DeliveryState::none ? to_string(row.disposition)
                                                                             : to_string(DeliveryState::queued)));
  if (!row.code.empty()) fields.emplace_back("code", row.code);
  if (!row.reason.empty()) fields.emplace_back("reason", row.reason);
  return fields;
}

Fields offered_fields(const MessageRow& row) {
  auto fields = on_its_way(row);
  fields.emplace_back("attempts", std::to_string(row.attempts));
  return fields;
}

Fields delivered_fields(const MessageRow& row) {
  auto fields = on_its_way(row);
  fields.emplace_back("confirmed", std::string(to_string(row.confirmed)));
  fields.emplace_back("latency_ms", std::to_string(std::max<EpochMs>(0, row.delivered_ms - row.received_ms)));
  return fields;
}

Event letter_event(const NodeMailRow& row) {
  return row.direction == MailDirection::out ? Event::replication_queued : Event::replication_received;
}

Fields letter_fields(const NodeMailRow& row) {
  auto fields = who_and_what(row);
  fields.emplace_back(row.direction == MailDirection::out ? "stream" : "node", row.node);
  return fields;
}

Fields request_fields(const std::string& team, const handlers::Request& request, std::string_view before) {
  return {{"team", team},
          {"request_id", request.request_id},
          {"message_key", request.message.value},
          {"type", std::string(handlers::to_string(request.kind))},
          {"from", request.asker},
          {"subject", handlers::subject_of(request)},
          {"old", std::string(before)},
          {"new", std::string(handlers::to_string(request.state))},
          {"by", request.decided_by},
          {"rule", request.rule},
          {"reason", request.reason}};
}

std::string entry_text(const schema::Message& message, const std::string& raw) {
  if (!raw.empty()) return raw;
  std::string text = "{\n  \"from\": " + schema::quote(message.from);
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) text.append(",\n  \"").append(name).append("\": ").append(schema::quote(value));
  };
  text += ",\n  \"text\": " + schema::quote(message.text);
  add("summary", message.summary);
  add("timestamp", message.timestamp);
  add("color", message.color);
  add("id", message.id);
  return text + "\n}";
}

HistoryRow offered_line(const MessageRow& row) {
  return history_line(Event::delivery_offered, offered_fields(row), row.offered_ms);
}

Status requeue_leased(Ledger& ledger) {
  return ledger.transaction([&]() -> Status {
    TRY(const auto offered, ledger.deliveries().offered(""));
    for (const auto& row : offered) TRY(ledger.history().add(offered_line(row)));
    return ledger.deliveries().requeue_all_offered();
  });
}

std::vector<HistoryRow> life_of(const MessageRow& row, std::vector<HistoryRow> kept) {
  auto lines = std::move(kept);
  const auto add = [&](HistoryRow line) {
    const auto later =
        std::find_if(lines.begin(), lines.end(), [&](const HistoryRow& other) { return other.at_ms > line.at_ms; });
    lines.insert(later, std::move(line));
  };
  // Every other way of acceptance has a reason, and a line.
  const bool as_it_was = row.request_id.empty() && row.reason.empty();
  if (as_it_was && lines_of(lines, Event::message_accepted) == 0)
    lines.insert(lines.begin(), history_line(Event::message_accepted, accepted_fields(row), row.received_ms));
  if (lines_of(lines, Event::delivery_offered) < row.attempts) add(offered_line(row));
  if (row.delivery == DeliveryState::delivered && lines_of(lines, Event::delivery_delivered) == 0)
    add(history_line(Event::delivery_delivered, delivered_fields(row), row.delivered_ms));
  return lines;
}

std::vector<HistoryRow> life_of(const NodeMailRow& row, std::vector<HistoryRow> kept) {
  // A message that was rejected on arrival has a history line.
  const bool was_refused = row.direction == MailDirection::out ? row.type == "malformed" : row.state == NodeMailState::rejected;
  if (row.request_id.empty() && !was_refused && lines_of(kept, letter_event(row)) == 0)
    kept.insert(kept.begin(), history_line(letter_event(row), letter_fields(row), row.created_ms));
  return kept;
}

}  // namespace inbox_poller::poller
