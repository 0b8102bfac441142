// The SQL of this file repeats the open states of handlers::is_open; a test compares both.
#include "poller/ledger/requests.hpp"

#include "poller/ledger/tables.hpp"

namespace inbox_poller::poller {

using handlers::Request;
using handlers::RequestState;

const Table<RequestRow>& requests_table() {
  using A = RequestRow;
  using R = Request;
  constexpr auto request = &A::request;
  static const Table<A> table(
      "requests",
      {number<&A::id>("id"), fixed<&A::team>("team"), fixed<request, &R::kind>("kind"),
       fixed<request, &R::request_id>("request_id"), fixed<request, &R::asker>("asker"),
       fixed<request, &R::content_hash>("content_hash"), changing<request, &R::subject>("subject"),
       column_as<BytesCell, request, &R::body>(Part::changing, "body"),
       changing<request, &R::description>("description"),
       column_as<BytesCell, request, &R::suggestions>(Part::changing, "suggestions"),
       changing<request, &R::state>("state"), changing<request, &R::asked_ms>("asked_ms"),
       fixed<request, &R::joined_ms>("joined_ms"), changing<request, &R::deadline_ms>("deadline_ms"),
       changing<request, &R::decided_ms>("decided_ms"), changing<request, &R::decided_by>("decided_by"),
       changing<request, &R::rule>("rule"), changing<request, &R::reason>("reason"),
       changing<request, &R::message>("message_key")},
      "team, kind, asker, request_id",
      {"requests_id ON requests (request_id, team)",
       "requests_open ON requests (team, asker) WHERE state IN ('received', 'pending')",
       "requests_plans ON requests (team, asker, content_hash) WHERE kind = 'plan'",
       "requests_decided ON requests (decided_ms) WHERE decided_ms > 0"},
      [](const A& row) {
        return "ask " + row.request.request_id + " of " + row.request.asker + " in team " + row.team;
      });
  return table;
}

namespace {

using Named = std::pair<std::string, Request>;

Result<Named> read_named(const Database& database, const Statement& from) {
  RequestRow row;
  TRY(requests_table().read_into(database, from, row));
  return Named(std::move(row.team), std::move(row.request));
}

Result<Request> read_request(const Database& database, const Statement& from) {
  TRY(auto named, read_named(database, from));
  return std::move(named.second);
}

// An open request may be rewritten in its state, for example to set a deadline. Any other change needs an event that
// leads from one state to the other.
bool may_follow(RequestState before, RequestState after) {
  return before == after ? handlers::is_open(before) : one_event_leads<handlers::RequestEvent>(before, after);
}

Status may_replace(const Request& recorded, const Request& request) {
  const std::string what = std::string(to_string(request.kind)) + " request " + request.request_id + " of " + request.asker;
  if (recorded.content_hash != request.content_hash)
    return Error{"ledger.final", what + " was recorded with other content, and stays as it is"};
  if (!may_follow(recorded.state, request.state))
    return Error{"ledger.final", what + " is " + std::string(to_string(recorded.state)) + " and cannot become " +
                                     std::string(to_string(request.state))};
  return Done{};
}

}  // namespace

Result<std::optional<Request>> RequestTable::find(std::string_view team, const handlers::RequestName& name) {
  // Without the plus SQLite compares the value with the conditions of the indexes, and so prepares it for each value.
  static const std::string sql =
      requests_table().select() + "WHERE team = ?1 AND kind = +?2 AND asker = ?3 AND request_id = ?4";
  return first_row<Request>(database_.query(sql, team, to_string(name.kind), name.asker, name.request_id), read_request, database_);
}

Result<std::vector<Named>> RequestTable::by_id(std::string_view id) {
  static const std::string sql = requests_table().select() + "WHERE request_id = ?1 ORDER BY id";
  return all_rows<Named>(database_.query(sql, id), read_named, database_);
}

Status RequestTable::put(std::string_view team, const Request& row) {
  TRY(auto recorded, find(team, name_of(row)));
  if (recorded) {
    TRY(may_replace(*recorded, row));
  }
  return requests_table().put(database_, {0, std::string(team), row});
}

Result<std::vector<Named>> RequestTable::decisions(std::string_view team, EpochMs since_ms, int limit) {
  // The unary plus makes SQLite use the index on the time of decision, which gives the order.
  const std::string sql = requests_table().select() + (team.empty() ? "WHERE ?1 = '' AND" : "WHERE +team = ?1 AND") +
                          " decided_ms > 0 AND decided_ms >= ?2 ORDER BY decided_ms DESC, id DESC LIMIT ?3";
  return all_rows<Named>(database_.query(sql, team, since_ms, limit), read_named, database_);
}

Result<std::vector<Request>> RequestTable::open(std::string_view team) {
  static const std::string sql =
      requests_table().select() + "WHERE team = ?1 AND state IN ('received', 'pending') ORDER BY id";
  return all_rows<Request>(database_.query(sql, team), read_request, database_);
}

Result<std::uint32_t> RequestTable::open_count(std::string_view team, std::string_view asker) {
  TRY(auto count, database_.value<long long>(
      "SELECT count(*) FROM requests WHERE team = ?1 AND asker = ?2 AND state IN ('received', 'pending')", team, asker));
  return static_cast<std::uint32_t>(count);
}

Result<std::uint32_t> RequestTable::plan_count(std::string_view team, std::string_view asker, std::string_view content_hash) {
  TRY(auto count, database_.value<long long>(
      "SELECT count(*) FROM requests WHERE team = ?1 AND asker = ?2 AND content_hash = ?3 AND kind = 'plan'", team,
      asker, content_hash));
  return static_cast<std::uint32_t>(count);
}

}  // namespace inbox_poller::poller
