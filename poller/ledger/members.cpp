// What we know of a team beside its messages: members, the session's rules, the lead.
#include "poller/ledger/leads.hpp"
#include "poller/ledger/members.hpp"
#include "poller/ledger/row_sum.hpp"
#include "poller/ledger/sqlite.hpp"

namespace inbox_poller::poller {
namespace {

// A row of format 1 has no task and keeps the sum that was made without one.
long long sum_of(const MemberRow& row) {
  const auto present = row.present ? 1 : 0;
  return row.task.empty() ? row_sum(row.team, row.name, present, row.state, row.detail, row.last_seen_ms)
                          : row_sum(row.team, row.name, present, row.state, row.detail, row.last_seen_ms, row.task);
}

long long sum_of(const SessionRule& row) {
  return row_sum(row.team, row.session, row.kind, row.action, row.rule, row.by, row.at_ms);
}

// Likewise, what format 2 did not know.
long long sum_of(std::string_view team, const LeadRow& row) {
  const bool is_plain = row.by.empty() && row.session.empty() && row.pane.empty();
  return is_plain ? row_sum(team, row.state, row.since_ms, row.until_ms)
                  : row_sum(team, row.state, row.since_ms, row.until_ms, row.by, row.session, row.pane);
}

long long sum_of(std::string_view team, const RosterRow& row) {
  return row_sum(team, row.bytes, static_cast<long long>(row.file), row.seen_ms);
}

Result<MemberRow> read_member(const Database& database, const Statement& from) {
  MemberRow row;
  long long sum = 0;
  from.read(row.team, row.name, row.present, row.state, row.detail, row.task, row.last_seen_ms, sum);
  if (sum != sum_of(row))
    return database.damaged("member " + row.name + " of team " + row.team + " is not as it was written");
  return row;
}

Result<SessionRule> read_rule(const Database& database, const Statement& from) {
  SessionRule row;
  long long sum = 0;
  from.read(row.id, row.team, row.session, row.kind, row.action, row.rule, row.by, row.at_ms, sum);
  if (sum != sum_of(row))
    return database.damaged("session rule " + std::to_string(row.id) + " is not as it was written");
  return row;
}

}  // namespace

Status MemberTable::put(const MemberRow& row) {
  return database_.run(
      "INSERT INTO members (team, name, present, state, detail, task, last_seen_ms, sum) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) "
      "ON CONFLICT (team, name) DO UPDATE SET present = excluded.present, state = excluded.state, "
      "detail = excluded.detail, task = excluded.task, last_seen_ms = excluded.last_seen_ms, sum = excluded.sum",
      row.team, row.name, row.present ? 1 : 0, row.state, row.detail, row.task, row.last_seen_ms, sum_of(row));
}

Result<std::vector<MemberRow>> MemberTable::of_team(std::string_view team) {
  return all_rows(database_.query("SELECT team, name, present, state, detail, task, last_seen_ms, sum FROM members "
                                 "WHERE team = ?1 ORDER BY name",
                                 team),
                  read_member, database_);
}

Result<long long> RuleTable::add(const SessionRule& row) {
  // The same rule again changes nothing; the update that is none makes SQLite return the id that it has.
  return database_.value<long long>(
      "INSERT INTO rules (team, session, kind, action, rule, by, at_ms, sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) "
      "ON CONFLICT (team, session, kind, action, rule) DO UPDATE SET id = id RETURNING id",
      row.team, row.session, row.kind, row.action, row.rule, row.by, row.at_ms, sum_of(row));
}

Status RuleTable::remove(long long id) { return database_.run("DELETE FROM rules WHERE id = ?1", id); }

Result<std::vector<SessionRule>> RuleTable::of_team(std::string_view team) {
  return all_rows(
      database_.query(
          "SELECT id, team, session, kind, action, rule, by, at_ms, sum FROM rules WHERE team = ?1 ORDER BY id", team),
      read_rule, database_);
}

Status LeadTable::put(std::string_view team, const LeadRow& row) {
  return database_.run(
      "INSERT INTO lead (team, state, since_ms, until_ms, by, session, pane, sum) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) "
      "ON CONFLICT (team) DO UPDATE SET state = excluded.state, since_ms = excluded.since_ms, "
      "until_ms = excluded.until_ms, by = excluded.by, session = excluded.session, pane = excluded.pane, "
      "sum = excluded.sum",
      team, row.state, row.since_ms, row.until_ms, row.by, row.session, row.pane, sum_of(team, row));
}

Result<std::optional<LeadRow>> LeadTable::find(std::string_view team) {
  Statement rows =
      database_.query("SELECT state, since_ms, until_ms, by, session, pane, sum FROM lead WHERE team = ?1", team);
  auto found = rows.next();
  if (!found) return found.error();
  if (!*found) return std::optional<LeadRow>();
  LeadRow row;
  long long sum = 0;
  rows.read(row.state, row.since_ms, row.until_ms, row.by, row.session, row.pane, sum);
  if (sum != sum_of(team, row))
    return database_.damaged("the lead's state in team " + std::string(team) + " is not as it was written");
  return std::optional(row);
}

Status RosterTable::put(std::string_view team, const RosterRow& row) {
  return database_.run(
      "INSERT INTO rosters (team, bytes, file, seen_ms, sum) VALUES (?1, ?2, ?3, ?4, ?5) "
      "ON CONFLICT (team) DO UPDATE SET bytes = excluded.bytes, file = excluded.file, seen_ms = excluded.seen_ms, "
      "sum = excluded.sum",
      team, Blob{row.bytes}, static_cast<long long>(row.file), row.seen_ms, sum_of(team, row));
}

Result<std::optional<RosterRow>> RosterTable::find(std::string_view team) {
  Statement rows = database_.query("SELECT bytes, file, seen_ms, sum FROM rosters WHERE team = ?1", team);
  auto found = rows.next();
  if (!found) return found.error();
  if (!*found) return std::optional<RosterRow>();
  RosterRow row;
  long long file = 0;
  long long sum = 0;
  rows.read(row.bytes, file, row.seen_ms, sum);
  row.file = static_cast<std::uint64_t>(file);
  if (sum != sum_of(team, row))
    return database_.damaged("the roster of team " + std::string(team) + " is not as it was written");
  return std::optional(std::move(row));
}

}  // namespace inbox_poller::poller
