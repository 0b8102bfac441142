#include "poller/cli/top/rows.hpp"

#include <algorithm>
#include <boost/algorithm/string/join.hpp>
#include <boost/json.hpp>

#include "poller/cli/command.hpp"
#include "poller/cli/explain.hpp"
#include "poller/cli/printable.hpp"
#include "poller/cli/request_card.hpp"
#include "poller/cli/status_text.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

struct PageText {
  std::string_view name;
  Part part;
  std::initializer_list<const char*> words;  // fields for the filter
};
const PageText page_texts[] = {
    {"requests", Part::requests, {"request_id", "team", "member", "kind", "subject", "message_key"}},
    {"teams", Part::status, {"team", "role"}},
    {"workers", Part::status, {"team", "member", "doing", "task", "detail", "mode"}},
    {"chat", Part::chat, {"team", "sender", "type", "text", "delivery", "message_key"}},
    {"log", Part::decisions, {"team", "member", "kind", "state", "decided_by", "subject", "rule", "request_id"}}};

const PageText& text_on(TopPage page) { return page_texts[static_cast<std::size_t>(page)]; }

std::string list_of_words(const std::vector<std::string>& words) { return or_dash(boost::join(words, ", ")); }

std::string workers_on(const TeamLine& line) {
  std::vector<std::string> words;
  for (const auto& [doing, count] : line.workers)
    if (doing != "gone") words.push_back(std::to_string(count) + ' ' + printable(doing));
  return list_of_words(words);
}

std::string row_id(const operations::OpenRequest& request) { return request_identity(request); }
std::string row_id(const operations::Team& team) { return team.team.bytes; }
std::string row_id(const WorkerShown& worker) { return worker.team.bytes + '\n' + worker.member.member.bytes; }
std::string row_id(const operations::SaidMessage& message) { return message.team.bytes + '\n' + message.message_key.bytes; }
std::string row_id(const operations::Request& request) {
  return request.team.bytes + '\n' + request.kind.bytes + '\n' + request.member.bytes + '\n' +
         request.request_id.bytes + '\n' + request.message_key.bytes;
}

/// Builds a row. `fields`: the encoded record.
ListRow row_of(TopPage page, const json::object& fields, Shown shown) {
  ListRow row;
  for (const char* name : text_on(page).words) row.words += folded(text_of(fields, name)) + '\n';
  row.id = std::visit([](const auto& record) { return row_id(record); }, shown);
  row.shown = std::move(shown);
  return row;
}

template <class Record>
void add_rows(std::vector<ListRow>& rows, TopPage page, const std::vector<Record>& records) {
  for (const auto& record : records) rows.push_back(row_of(page, operations::encode(record), record));
}

/// Formats all fields of a record, a line each.
std::string fields_text(const json::object& object) {
  std::string text;
  for (const auto& [name, value] : object) {
    const std::string title = "  " + printable(std::string(name)) + ": ";
    if (name.ends_with("_ms") && value.is_int64())
      text += title + (value.get_int64() == 0 ? "-" : time_text(value.get_int64())) + '\n';
    else if (value.is_string())
      text += title + printable(std::string(value.get_string())) + '\n';
    else
      text += title + printable(json::serialize(value)) + '\n';
  }
  return text;
}

}  // namespace

std::string_view name_of(TopPage page) { return text_on(page).name; }
Part part_on(TopPage page) { return text_on(page).part; }

std::vector<ListRow> rows_of(TopPage page, const Known& known) {
  std::vector<ListRow> rows;
  if (page == TopPage::requests) {
    auto requests = known.requests.requests;
    std::ranges::stable_sort(requests, {}, &operations::OpenRequest::asked_ms);
    add_rows(rows, page, requests);
  }
  if (page == TopPage::teams) add_rows(rows, page, known.status.teams);
  if (page == TopPage::workers)
    for (const auto& team : known.status.teams)
      for (const auto& member : team.members) {
        if (!member.present) continue;
        json::object fields = operations::encode(member);
        fields["team"] = team.team.bytes;
        rows.push_back(row_of(page, fields, WorkerShown{team.team, member}));
      }
  if (page == TopPage::chat) {
    auto messages = known.chat.messages;
    std::ranges::reverse(messages);  // newest first
    add_rows(rows, page, messages);
  }
  if (page == TopPage::log) add_rows(rows, page, known.decisions.decisions);
  return rows;
}

Row heads_of(TopPage page) {
  switch (page) {
    case TopPage::requests: return {"ID", "LEFT", "TEAM", "MEMBER", "KIND", "SUBJECT"};
    case TopPage::teams: return {"TEAM", "ROLE", "LEAD", "OPEN", "CHAT", "WORKERS", "TROUBLE"};
    case TopPage::workers: return {"NAME", "TEAM", "DOING", "SEEN", "MODE", "TASK"};
    case TopPage::chat: return {"AGE", "TEAM", "FROM", "STATE", "TEXT"};
    case TopPage::log: break;
  }
  return {"AGE", "TEAM", "MEMBER", "KIND", "STATE", "BY", "SUBJECT"};
}

namespace {

std::string age(long long since_ms, long long now) { return span_text(now - since_ms); }

/// Returns the time left in one unit, such as "9m"; the last two minutes in seconds.
std::string left_text(long long deadline_ms, long long now) {
  constexpr long long in_seconds = 120;
  if (deadline_ms == 0) return "-";
  const long long seconds = std::max((deadline_ms - now) / 1000, 0LL);
  if (seconds < in_seconds) return std::to_string(seconds) + 's';
  const std::string whole = span_text(deadline_ms - now);
  return whole.substr(0, whole.find(' '));
}

Row cells(const operations::OpenRequest& request, long long now) {
  return {printable(request.request_id), left_text(request.deadline_ms, now),
          printable(request.team),       printable(request.member),
          printable(request.kind),       printable(request.subject)};
}

Row cells(const operations::Team& team, long long now) {
  const TeamLine line = team_line(team);
  return {line.team,
          line.role.empty() ? "leader" : line.role,
          printable(team.lead.state),
          aged(line.requests, line.oldest_request_ms, now),
          aged(line.chat, line.oldest_chat_ms, now),
          workers_on(line),
          list_of_words(line.trouble)};
}

Row cells(const WorkerShown& worker, long long now) {
  const auto& member = worker.member;
  return {printable(member.member),        printable(worker.team),
          printable(member.doing),         member.last_seen_ms == 0 ? "-" : age(member.last_seen_ms, now),
          or_dash(printable(member.mode)), or_dash(printable(member.task.empty() ? member.detail : member.task))};
}

Row cells(const operations::SaidMessage& message, long long now) {
  const std::string subject = printable(message.subject);
  return {age(message.received_ms, now), printable(message.team), printable(message.sender),
          printable(message.delivery == "none" ? message.disposition : message.delivery),
          subject.empty() ? printable(message.text) : subject};
}

Row cells(const operations::Request& request, long long now) {
  return {age(request.decided_ms, now), printable(request.team),  printable(request.member),
          printable(request.kind),      printable(request.state), printable(request.decided_by),
          printable(request.subject)};
}

Tint tint(const operations::OpenRequest& request, long long now) {
  constexpr long long soon_ms = 120'000, very_soon_ms = 30'000;
  const long long left = request.deadline_ms == 0 ? soon_ms : request.deadline_ms - now;
  return left < very_soon_ms ? Tint::bad : left < soon_ms ? Tint::warn : Tint::none;
}

Tint tint(const operations::Team& team, long long) {
  const TeamLine line = team_line(team);
  return !line.trouble.empty() ? Tint::bad : line.requests > 0 ? Tint::warn : Tint::none;
}

Tint tint(const WorkerShown& worker, long long) {
  const std::string& doing = worker.member.doing.bytes;
  return doing == "failed" || doing == "unresponsive" ? Tint::bad
         : doing == "waiting"                         ? Tint::warn
         : doing == "busy"                            ? Tint::good
                                                      : Tint::none;
}

Tint tint(const operations::SaidMessage& message, long long) {
  return message.delivery == "expired" ? Tint::bad : message.delivery == "queued" ? Tint::warn : Tint::none;
}

Tint tint(const operations::Request& request, long long) {
  return request.state == "approved" ? Tint::good : request.state == "denied" ? Tint::bad : Tint::warn;
}

std::string behind(const operations::OpenRequest& request) {
  return request_name(request) + request_text(request, time_text(request.asked_ms)) + '\n';
}
std::string behind(const operations::Team& team) { return fields_text(operations::encode(team)); }
std::string behind(const WorkerShown& worker) {
  return "  team: " + printable(worker.team) + '\n' + fields_text(operations::encode(worker.member));
}
std::string behind(const operations::SaidMessage& message) {
  json::object rest = operations::encode(message);
  rest.erase("text");
  return printable_block(message.text, "    | ") + fields_text(rest);
}
std::string behind(const operations::Request& request) {
  return request_name(request) + ' ' + request_sentence(request) + '\n' +
         request_text({request, {}, {}, {}, {}, {}}, time_text(request.asked_ms)) + '\n';
}

}  // namespace

Row cells_of(const Shown& shown, long long now) {
  return std::visit([&](const auto& record) { return cells(record, now); }, shown);
}

Tint tint_of(const Shown& shown, long long now) {
  return std::visit([&](const auto& record) { return tint(record, now); }, shown);
}

std::string deadline_text(const operations::Request& request, long long now) {
  return request.deadline_ms == 0 ? "waits for the lead that reads this inbox"
                                  : "denied in " + span_text(request.deadline_ms - now) + " unless answered";
}

std::string text_behind(const Shown& shown) {
  return std::visit([](const auto& record) { return behind(record); }, shown);
}

}  // namespace inbox_poller::poller::cli
