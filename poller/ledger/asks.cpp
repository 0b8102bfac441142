// Asks: each (team, kind, request id) once, moving forward only.
// The open states stand in the SQL as they are in handlers::is_open; a test holds the two together.
#include <initializer_list>

#include "poller/ledger/asks.hpp"
#include "poller/ledger/row_sum.hpp"
#include "poller/ledger/sqlite.hpp"

namespace inbox_poller::poller {
namespace {

using handlers::Request;
using handlers::RequestEvent;
using handlers::RequestState;

struct RequestRow {
  std::string team;
  Request request;
};

const std::string select_requests =
    "SELECT team, kind, request_id, asker, content_hash, subject, body, description, suggestions, state, asked_ms, "
    "deadline_ms, decided_ms, decided_by, rule, reason, message_key, sum FROM requests ";

long long sum_of(std::string_view team, const Request& request) {
  return row_sum(team, to_string(request.kind), request.request_id, request.asker, request.content_hash,
                 request.subject, request.body, request.description, request.suggestions, to_string(request.state),
                 request.asked_ms, request.deadline_ms, request.decided_ms, request.decided_by, request.rule,
                 request.reason, request.message.value);
}

Result<RequestRow> read_row(const Database& database, const Statement& from) {
  RequestRow row;
  Request& request = row.request;
  std::string kind;
  std::string state;
  long long sum = 0;
  from.read(row.team, kind, request.request_id, request.asker, request.content_hash, request.subject, request.body,
            request.description, request.suggestions, state, request.asked_ms, request.deadline_ms, request.decided_ms,
            request.decided_by, request.rule, request.reason, request.message.value, sum);
  const auto known_kind = handlers::parse_request_kind(kind);
  const auto known_state = handlers::parse_request_state(state);
  if (known_kind && known_state) {
    request.kind = *known_kind;
    request.state = *known_state;
    if (sum == sum_of(row.team, request)) return row;
  }
  return database.damaged("request " + request.request_id + " of team " + row.team + " is not as it was written");
}

Result<Request> read_request(const Database& database, const Statement& from) {
  auto row = read_row(database, from);
  if (!row) return row.error();
  return std::move(row->request);
}

Result<std::pair<std::string, Request>> read_named(const Database& database, const Statement& from) {
  auto row = read_row(database, from);
  if (!row) return row.error();
  return std::pair(std::move(row->team), std::move(row->request));
}

// Open asks may be written again as they are (a deadline is set); otherwise some event must lead from one state to the
// other.
bool may_follow(RequestState before, RequestState after) {
  if (before == after) return handlers::is_open(before);
  for (const auto event : {RequestEvent::rule_allows, RequestEvent::rule_denies, RequestEvent::rule_asks,
                           RequestEvent::person_approves, RequestEvent::person_denies, RequestEvent::deadline_passes,
                           RequestEvent::asker_leaves, RequestEvent::answered_by_other}) {
    if (handlers::transition(before, event) == after) return true;
  }
  return false;
}

Status may_replace(const Request& recorded, const Request& request) {
  const std::string what = std::string(to_string(request.kind)) + " request " + request.request_id;
  if (recorded.asker != request.asker || recorded.content_hash != request.content_hash) {
    return Error{"ledger.final", what + " was recorded with another asker or other content, and stays as it is"};
  }
  if (!may_follow(recorded.state, request.state)) {
    return Error{"ledger.final", what + " is " + std::string(to_string(recorded.state)) + " and cannot become " +
                                     std::string(to_string(request.state))};
  }
  return Done{};
}

}  // namespace

Result<std::optional<Request>> AskTable::find(std::string_view team, handlers::RequestKind kind, std::string_view id) {
  const std::string sql = select_requests + "WHERE team = ?1 AND kind = ?2 AND request_id = ?3";
  return first_row(database_.query(sql, team, to_string(kind), id), read_request, database_);
}

Result<std::vector<std::pair<std::string, Request>>> AskTable::by_id(std::string_view id) {
  return all_rows(database_.query(select_requests + "WHERE request_id = ?1 ORDER BY id", id), read_named, database_);
}

Status AskTable::put(std::string_view team, const Request& row) {
  auto recorded = find(team, row.kind, row.request_id);
  if (!recorded) return recorded.error();
  if (*recorded) {
    if (auto allowed = may_replace(**recorded, row); !allowed) return allowed;
  }
  return database_.run(
      "INSERT INTO requests (team, kind, request_id, asker, content_hash, subject, body, description, suggestions, "
      "state, "
      "asked_ms, deadline_ms, decided_ms, decided_by, rule, reason, message_key, sum) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18) "
      "ON CONFLICT (team, kind, request_id) DO UPDATE SET subject = excluded.subject, body = excluded.body, "
      "description = excluded.description, suggestions = excluded.suggestions, state = excluded.state, "
      "asked_ms = excluded.asked_ms, deadline_ms = excluded.deadline_ms, decided_ms = excluded.decided_ms, "
      "decided_by = excluded.decided_by, rule = excluded.rule, reason = excluded.reason, "
      "message_key = excluded.message_key, sum = excluded.sum",
      team, to_string(row.kind), row.request_id, row.asker, row.content_hash, row.subject, Blob{row.body},
      row.description, Blob{row.suggestions}, to_string(row.state), row.asked_ms, row.deadline_ms, row.decided_ms,
      row.decided_by, row.rule, row.reason, row.message.value, sum_of(team, row));
}

Result<std::vector<std::pair<std::string, Request>>> AskTable::decisions(std::string_view team, EpochMs since_ms,
                                                                       int limit) {
  // The plus keeps the index on the time of decision in use: it gives the order.
  const std::string sql = select_requests + (team.empty() ? "WHERE ?1 = '' AND" : "WHERE +team = ?1 AND") +
                          " decided_ms > 0 AND decided_ms >= ?2 ORDER BY decided_ms DESC, id DESC LIMIT ?3";
  return all_rows(database_.query(sql, team, since_ms, limit), read_named, database_);
}

Result<std::vector<Request>> AskTable::open(std::string_view team) {
  const std::string sql = select_requests + "WHERE team = ?1 AND state IN ('received', 'pending') ORDER BY id";
  return all_rows(database_.query(sql, team), read_request, database_);
}

Result<std::uint32_t> AskTable::open_count(std::string_view team, std::string_view asker) {
  auto count = database_.value<long long>(
      "SELECT count(*) FROM requests WHERE team = ?1 AND asker = ?2 AND state IN ('received', 'pending')", team, asker);
  if (!count) return count.error();
  return static_cast<std::uint32_t>(*count);
}

Result<std::uint32_t> AskTable::plan_count(std::string_view team, std::string_view asker, std::string_view content_hash) {
  auto count = database_.value<long long>(
      "SELECT count(*) FROM requests WHERE team = ?1 AND asker = ?2 AND content_hash = ?3 AND kind = 'plan'", team,
      asker, content_hash);
  if (!count) return count.error();
  return static_cast<std::uint32_t>(*count);
}

}  // namespace inbox_poller::poller
