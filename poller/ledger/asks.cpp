// The SQL of this file repeats the open states of handlers::is_open; a test compares both.
#include "poller/ledger/asks.hpp"

#include "poller/ledger/tables.hpp"

namespace inbox_poller::poller {

using handlers::Ask;
using handlers::AskEvent;
using handlers::AskKind;
using handlers::AskState;

const Table<AskRow>& asks_table() {
  using A = AskRow;
  using R = Ask;
  constexpr auto ask = &A::request;
  static const Table<A> table(
      "asks",
      {number<&A::id>("id"), fixed<&A::team>("team"), fixed<ask, &R::kind>("kind"),
       fixed<ask, &R::request_id>("request_id"), fixed<ask, &R::asker>("asker"),
       fixed<ask, &R::content_hash>("content_hash"), changing<ask, &R::subject>("subject"),
       column_as<BytesCell, ask, &R::body>(Part::changing, "body"), changing<ask, &R::description>("description"),
       column_as<BytesCell, ask, &R::suggestions>(Part::changing, "suggestions"), changing<ask, &R::state>("state"),
       changing<ask, &R::asked_ms>("asked_ms"), changing<ask, &R::deadline_ms>("deadline_ms"),
       changing<ask, &R::decided_ms>("decided_ms"), changing<ask, &R::decided_by>("decided_by"),
       changing<ask, &R::rule>("rule"), changing<ask, &R::reason>("reason"),
       changing<ask, &R::message>("message_key")},
      "team, kind, asker, request_id",
      {"asks_id ON asks (request_id, team)", "asks_open ON asks (team, asker) WHERE state IN ('received', 'pending')",
       "asks_plans ON asks (team, asker, content_hash) WHERE kind = 'plan'",
       "asks_decided ON asks (decided_ms) WHERE decided_ms > 0"},
      [](const A& row) { return "ask " + row.request.request_id + " of " + row.request.asker + " in team " + row.team; });
  return table;
}

namespace {

using Named = std::pair<std::string, Ask>;

Result<Ask> read_ask(const Database& database, const Statement& from) {
  AskRow row;
  TRY(asks_table().read_into(database, from, row));
  return std::move(row.request);
}

Result<Named> read_named(const Database& database, const Statement& from) {
  AskRow row;
  TRY(asks_table().read_into(database, from, row));
  return Named(std::move(row.team), std::move(row.request));
}

// An open request may be rewritten in its state, for example to set a deadline. Any other change needs an event that
// leads from one state to the other.
bool may_follow(AskState before, AskState after) {
  if (before == after) return handlers::is_open(before);
  for (const auto event : {AskEvent::rule_allows, AskEvent::rule_denies, AskEvent::rule_asks,
                           AskEvent::person_approves, AskEvent::person_denies, AskEvent::deadline_passes,
                           AskEvent::asker_leaves, AskEvent::answered_by_other}) {
    if (handlers::transition(before, event) == after) return true;
  }
  return false;
}

Status may_replace(const Ask& recorded, const Ask& request) {
  const std::string what = std::string(to_string(request.kind)) + " request " + request.request_id + " of " + request.asker;
  if (recorded.content_hash != request.content_hash) {
    return Error{"ledger.final", what + " was recorded with other content, and stays as it is"};
  }
  if (!may_follow(recorded.state, request.state)) {
    return Error{"ledger.final", what + " is " + std::string(to_string(recorded.state)) + " and cannot become " +
                                     std::string(to_string(request.state))};
  }
  return Done{};
}

}  // namespace

Result<std::optional<Ask>> AskTable::find(std::string_view team, const handlers::AskName& name) {
  static const std::string sql = asks_table().select() + "WHERE team = ?1 AND kind = ?2 AND asker = ?3 AND request_id = ?4";
  return first_row<Ask>(database_.query(sql, team, to_string(name.kind), name.asker, name.request_id), read_ask, database_);
}

Result<std::vector<Named>> AskTable::by_id(std::string_view id) {
  static const std::string sql = asks_table().select() + "WHERE request_id = ?1 ORDER BY id";
  return all_rows<Named>(database_.query(sql, id), read_named, database_);
}

Status AskTable::put(std::string_view team, const Ask& row) {
  TRY(auto recorded, find(team, name_of(row)));
  if (recorded) {
    TRY(may_replace(*recorded, row));
  }
  return asks_table().put(database_, {0, std::string(team), row});
}

Result<std::vector<Named>> AskTable::decisions(std::string_view team, EpochMs since_ms, int limit) {
  // The unary plus makes SQLite use the index on the time of decision, which gives the order.
  const std::string sql = asks_table().select() + (team.empty() ? "WHERE ?1 = '' AND" : "WHERE +team = ?1 AND") +
                          " decided_ms > 0 AND decided_ms >= ?2 ORDER BY decided_ms DESC, id DESC LIMIT ?3";
  return all_rows<Named>(database_.query(sql, team, since_ms, limit), read_named, database_);
}

Result<std::vector<Ask>> AskTable::open(std::string_view team) {
  static const std::string sql =
      asks_table().select() + "WHERE team = ?1 AND state IN ('received', 'pending') ORDER BY id";
  return all_rows<Ask>(database_.query(sql, team), read_ask, database_);
}

Result<std::uint32_t> AskTable::open_count(std::string_view team, std::string_view asker) {
  TRY(auto count, database_.value<long long>(
      "SELECT count(*) FROM asks WHERE team = ?1 AND asker = ?2 AND state IN ('received', 'pending')", team, asker));
  return static_cast<std::uint32_t>(count);
}

Result<std::uint32_t> AskTable::plan_count(std::string_view team, std::string_view asker, std::string_view content_hash) {
  TRY(auto count, database_.value<long long>(
      "SELECT count(*) FROM asks WHERE team = ?1 AND asker = ?2 AND content_hash = ?3 AND kind = 'plan'", team,
      asker, content_hash));
  return static_cast<std::uint32_t>(count);
}

}  // namespace inbox_poller::poller
