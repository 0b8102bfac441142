// The tables of a team's members, session rules, lead and roster.
#include "poller/ledger/members.hpp"

#include "poller/ledger/leads.hpp"
#include "poller/ledger/tables.hpp"

namespace inbox_poller::poller {

const Table<MemberRow>& members_table() {
  using M = MemberRow;
  static const Table<M> table(
      "members",
      {fixed<&M::team>("team"), fixed<&M::name>("name"), changing<&M::present>("present"), changing<&M::state>("state"),
       changing<&M::detail>("detail"), changing<&M::task>("task"), changing<&M::last_seen_ms>("last_seen_ms"),
       changing<&M::has_told>("has_told"), changing<&M::turn>("turn"), changing<&M::unsent>("unsent")},
      "team, name", {}, [](const M& row) { return "member " + row.name + " of team " + row.team; });
  return table;
}

const Table<SessionRule>& rules_table() {
  using R = SessionRule;
  static const Table<R> table(
      "rules",
      {number<&R::id>("id"), fixed<&R::team>("team"), fixed<&R::session>("session"),
       fixed<&R::kind>("kind"),
       one_of(fixed<&R::action>("action"), {"'allow'", "'deny'"}), fixed<&R::rule>("rule"), fixed<&R::by>("given_by"),
       fixed<&R::at_ms>("at_ms")},
      "team, session, kind, action, rule", {},
      [](const R& row) { return "session rule " + std::to_string(row.id); });
  return table;
}

const Table<TeamLeadRow>& leads_table() {
  using T = TeamLeadRow;
  constexpr auto lead = &T::lead;
  static const Table<T> table(
      "leads",
      {fixed<&T::team>("team"), changing<lead, &LeadRow::state>("state"),
       changing<lead, &LeadRow::since_ms>("since_ms"), changing<lead, &LeadRow::until_ms>("until_ms"),
       changing<lead, &LeadRow::by>("reported_by"), changing<lead, &LeadRow::session>("session"),
       changing<lead, &LeadRow::pane>("pane")},
      "team", {}, [](const T& row) { return "the lead's state in team " + row.team; });
  return table;
}

const Table<TeamRosterRow>& rosters_table() {
  using T = TeamRosterRow;
  constexpr auto roster = &T::roster;
  static const Table<T> table(
      "rosters",
      {fixed<&T::team>("team"), column_as<BytesCell, roster, &RosterRow::bytes>(Part::changing, "content"),
       changing<roster, &RosterRow::file>("inode"), changing<roster, &RosterRow::seen_ms>("seen_ms")},
      "team", {}, [](const T& row) { return "the roster of team " + row.team; });
  return table;
}

Status MemberTable::put(const MemberRow& row) { return members_table().put(database_, row); }

Result<std::vector<MemberRow>> MemberTable::of_team(std::string_view team) {
  static const std::string sql = members_table().select() + "WHERE team = ?1 ORDER BY name";
  return members_table().all(database_, database_.query(sql, team));
}

Result<long long> RuleTable::add(const SessionRule& row) {
  auto added = rules_table().insert_new(database_, row);
  if (!added || database_.changes() > 0) return added;
  return database_.value<long long>(
      "SELECT id FROM rules WHERE team = ?1 AND session = ?2 AND kind = ?3 AND action = ?4 AND rule = ?5", row.team,
      row.session, to_string(row.kind), row.action, row.rule);
}

Status RuleTable::remove(long long id) { return database_.run("DELETE FROM rules WHERE id = ?1", id); }

Result<std::vector<SessionRule>> RuleTable::of_team(std::string_view team) {
  static const std::string sql = rules_table().select() + "WHERE team = ?1 ORDER BY id";
  return rules_table().all(database_, database_.query(sql, team));
}

Status LeadTable::put(std::string_view team, const LeadRow& row) {
  return leads_table().put(database_, {std::string(team), row});
}

Result<std::optional<LeadRow>> LeadTable::find(std::string_view team) {
  static const std::string sql = leads_table().select() + "WHERE team = ?1";
  TRY(auto row, leads_table().first(database_, database_.query(sql, team)));
  return row ? std::optional(std::move(row->lead)) : std::nullopt;
}

Status RosterTable::put(std::string_view team, const RosterRow& row) {
  return rosters_table().put(database_, {std::string(team), row});
}

Result<std::optional<RosterRow>> RosterTable::find(std::string_view team) {
  static const std::string sql = rosters_table().select() + "WHERE team = ?1";
  TRY(auto row, rosters_table().first(database_, database_.query(sql, team)));
  return row ? std::optional(std::move(row->roster)) : std::nullopt;
}

}  // namespace inbox_poller::poller
