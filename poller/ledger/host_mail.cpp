#include "poller/ledger/host_mail.hpp"

#include <algorithm>

#include "poller/ledger/tables.hpp"
#include "schema/json_scan.hpp"

namespace inbox_poller::poller {
namespace {

const std::string host_scope = "host ";  // not the beginning of an inbox's name
constexpr std::size_t put_together = std::size_t{16} << 20;  // bytes; the message that exceeds the limit is included

// Narrow, because each step of a message rewrites its row. The bytes are in host_entries.
const Table<HostMailRow>& mail_table() {
  using H = HostMailRow;
  static const Table<H> table(
      "host_mail",
      {number<&H::id>("id"), fixed<&H::team>("team"), fixed<&H::way>("way"), fixed<&H::host>("host"),
       fixed<&H::inbox>("inbox"), fixed<&H::key>("key"), fixed<&H::sender>("sender"), fixed<&H::type>("type"),
       fixed<&H::request_id>("request_id"),
       fixed<&H::lead>("lead"), fixed<&H::final>("final"), fixed<&H::number>("number"),
       fixed<&H::created_ms>("created_ms"), loose<&H::state>("state"), loose<&H::state_ms>("state_ms"),
       loose<&H::attempts>("attempts"), loose<&H::told>("told"), loose<&H::problem>("problem"),
       fixed<&H::unproven>("unproven")},
      "key, team, way, host, inbox",
      {"host_mail_request ON host_mail (request_id) WHERE request_id <> ''",
       ("host_mail_moving ON host_mail (team, way, state, host, number, lead, created_ms) WHERE state IN ('waiting', "
        "'put', 'there')"),
       "host_mail_number ON host_mail (team, way, host, lead, number)",
       ("host_mail_untold ON host_mail (team, host) WHERE way = 'in' AND told < 2 AND (told < 1 OR state IN ('read', "
        "'refused'))"),
       "host_mail_answer ON host_mail (team, inbox, request_id) WHERE final = 1"},
      [](const H& row) { return "letter " + std::to_string(row.id) + " between hosts"; });
  return table;
}

const Table<HostMailRow>& entries_table() {
  using H = HostMailRow;
  static const Table<H> table("host_entries",
                              {fixed<&H::id>("letter"), column_as<BytesCell, &H::entry>(Part::fixed, "entry")}, "letter", {},
                              [](const H& row) { return "the bytes of letter " + std::to_string(row.id) + " between hosts"; });
  return table;
}

const Table<HostPlaceRow>& places_table() {
  using P = HostPlaceRow;
  static const Table<P> table("host_places",
                              {fixed<&P::team>("team"), changing<&P::epoch>("epoch"), changing<&P::place>("place"),
                               changing<&P::leader>("leader")},
                              "team", {}, [](const P& row) { return "what is known of the hosts of team " + row.team; });
  return table;
}

const Table<HostRemovedRow>& removed_table() {
  using R = HostRemovedRow;
  static const Table<R> table(
      "host_removed", {fixed<&R::team>("team"), fixed<&R::member>("member"), changing<&R::joined_ms>("joined_ms")},
      "team, member", {}, [](const R& row) { return "that " + row.member + " was taken out of team " + row.team; });
  return table;
}

/// Statements with a condition on `host_mail AS m`: for messages with their bytes, and without.
std::string where(std::string_view condition) {
  return "SELECT " + mail_table().list("m") + ", " + entries_table().list("e") +
         " FROM host_mail AS m CROSS JOIN host_entries AS e ON e.letter = m.id WHERE " + std::string(condition);
}
std::string narrow_where(std::string_view condition) {
  return "SELECT " + mail_table().list("m") + " FROM host_mail AS m WHERE " + std::string(condition);
}

Result<HostMailRow> read_whole(const Database& database, const Statement& from) {
  HostMailRow row;
  TRY(mail_table().read_into(database, from, row));
  TRY(entries_table().read_into(database, from, row, mail_table().width()));
  return row;
}

template <class... Values>
Result<std::vector<HostMailRow>> rows(Database& database, const std::string& sql, const Values&... values) {
  return all_rows<HostMailRow>(database.query(sql, values...), read_whole, database);
}

template <class... Values>
Result<std::vector<std::string>> names(Database& database, const std::string& sql, const Values&... values) {
  return all_rows<std::string>(
      database.query(sql, values...),
      [](const Database&, const Statement& from) -> Result<std::string> {
        std::string name;
        from.read(name);
        return name;
      },
      database);
}

}  // namespace

schema::MessageKey journal_key(const HostMailRow& row) {
  if (!row.unproven) return row.key;
  return schema::make_message_key({row.team, host_scope + row.host}, row.sender, {}, row.key.value, 0);
}

Status HostMailTable::prepare() {
  const auto made = database_.transaction([&]() -> Status {
    for (const auto& text : {mail_table().text(), entries_table().text(), places_table().text(), removed_table().text()}) {
      TRY(const auto found, database_.value<long long>(
          "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1", text.name));
      if (found != 0) continue;
      TRY(database_.script(text.sql));
    }
    return Done{};
  });
  prepared_ = made.ok();
  return made;
}

Result<bool> HostMailTable::add(HostMailRow row) {
  if (row.way == HostWay::out) {
    TRY(auto last, database_.value<long long>(
        "SELECT max(number) FROM (SELECT max(number) AS number FROM host_mail WHERE team = ?1 AND way = 'out' AND "
        "host = ?2 AND lead = 0 UNION ALL SELECT max(number) FROM host_mail WHERE team = ?1 AND way = 'out' AND "
        "host = ?2 AND lead = 1)",
        row.team, row.host));
    row.number = last + 1;
  }
  row.state_ms = row.created_ms;
  TRY(const auto added, mail_table().insert_new(database_, row));
  if (database_.changes() == 0) return false;
  row.id = added;
  TRY(entries_table().insert(database_, row));
  return true;
}

Result<std::optional<HostMailRow>> HostMailTable::find(std::string_view team, HostWay way, std::string_view host,
                                                       std::string_view inbox, const schema::MessageKey& key) {
  static const std::string sql = narrow_where("team = ?1 AND way = ?2 AND host = ?3 AND inbox = ?4 AND key = ?5");
  const auto bytes = key_bytes(key.value);
  if (!bytes) return std::optional<HostMailRow>();
  return mail_table().first(database_, database_.query(sql, team, to_string(way), host, inbox, Blob{*bytes}));
}

Result<std::optional<HostMailRow>> HostMailTable::sent(std::string_view team, std::string_view inbox,
                                                       const schema::MessageKey& key) {
  static const std::string sql = narrow_where("key = ?3 AND team = ?1 AND way = 'out' AND +inbox = ?2");
  const auto bytes = key_bytes(key.value);
  if (!bytes) return std::optional<HostMailRow>();
  return mail_table().first(database_, database_.query(sql, team, inbox, Blob{*bytes}));
}

Result<std::vector<HostMailRow>> HostMailTable::latest(const MessageTable::Wanted& wanted, int limit) {
  static const std::string sql = where(
      "(?1 = '' OR team = ?1) AND (?2 = '' OR sender = ?2) AND (?3 = '' OR type = ?3) AND created_ms >= ?4 "
      "ORDER BY id DESC LIMIT ?5");
  if (!prepared_) return std::vector<HostMailRow>();
  auto found = rows(database_, sql, wanted.team, wanted.sender, wanted.type, wanted.since_ms, limit);
  if (found) std::ranges::reverse(*found);
  return found;
}

Result<std::vector<HostMailRow>> HostMailTable::like(std::string_view prefix, int limit) {
  static const std::string sql = where("key >= ?1 AND key < ?2 ORDER BY key LIMIT ?3");
  const auto range = key_range(prefix);
  if (!prepared_ || !range) return std::vector<HostMailRow>();
  return rows(database_, sql, Blob{range->first}, Blob{range->second}, limit);
}

Result<std::vector<HostMailRow>> HostMailTable::of_request(std::string_view request_id, int limit) {
  static const std::string sql = where("request_id = ?1 AND request_id <> '' ORDER BY id LIMIT ?2");
  if (!prepared_) return std::vector<HostMailRow>();
  return rows(database_, sql, request_id, limit);
}

// The unary plus makes SQLite find the rows by their few ids, and not by an index on the team.

Status HostMailTable::set(std::string_view team, const std::vector<long long>& ids, HostMailState state, EpochMs now,
                          std::string_view problem) {
  return database_.run(
      "UPDATE host_mail SET state = ?2, state_ms = ?3, problem = ?4 WHERE +team = ?1 AND id IN (SELECT value FROM "
      "json_each(?5)) AND (?2 <> 'put' OR state = 'waiting')",
      team, to_string(state), now, problem, json_list(ids));
}

// out

Result<std::vector<std::string>> HostMailTable::streams(std::string_view team, bool leading) {
  return names(database_,
               "SELECT DISTINCT host FROM host_mail WHERE team = ?1 AND way = 'out' AND state = 'waiting' AND state IN "
               "('waiting', 'put', 'there') AND (?2 OR NOT lead)",
               team, leading ? 1 : 0);
}

Result<std::vector<HostMailRow>> HostMailTable::waiting(std::string_view team, std::string_view stream, bool leading,
                                                        int limit) {
  static const std::string sql = where(
      "team = ?1 AND way = 'out' AND host = ?2 AND state = 'waiting' AND state IN ('waiting', 'put', 'there') "
      "AND (?3 OR NOT lead) ORDER BY number LIMIT ?4");
  Statement from = database_.query(sql, team, stream, leading ? 1 : 0, limit);
  std::vector<HostMailRow> waiting;
  for (std::size_t bytes = 0; bytes < put_together;) {
    TRY(const auto found, from.next());
    if (!found) break;
    TRY(auto row, read_whole(database_, from));
    bytes += row.entry.size();
    waiting.push_back(std::move(row));
  }
  return waiting;
}

Result<long long> HostMailTable::after(std::string_view team, std::string_view stream, long long number) {
  // A new leader lacks the messages that the old leader has not settled. Later ones must wait for them.
  return database_.value<long long>(
      "SELECT max(number) FROM (SELECT max(number) AS number FROM host_mail WHERE team = ?1 AND way = 'out' AND host = ?2 "
      "AND state = 'put' AND state IN ('waiting', 'put', 'there') AND number < ?3 UNION ALL SELECT max(number) FROM "
      "host_mail WHERE team = ?1 AND way = 'out' AND host = ?2 AND ?2 = 'lead' AND state = 'there' AND state IN "
      "('waiting', 'put', 'there') AND number < ?3)",
      team, stream, number);
}

Status HostMailTable::heard(std::string_view team, const HostWord& word, const std::vector<std::string>& keys, EpochMs now) {
  for (const auto& key : keys)
    if (const auto bytes = key_bytes(key)) {
      TRY(database_.run(
          "UPDATE host_mail SET state = ?5, state_ms = ?6, problem = ?7 WHERE key = ?1 AND team = ?2 AND way = 'out' AND "
          "(host = ?3 OR (?4 AND host = 'lead')) AND (state IN ('waiting', 'put') OR (state = 'there' AND ?5 <> 'there'))",
          Blob{*bytes}, team, word.stream, word.leads ? 1 : 0, to_string(word.state), now, word.problem));
    }
  return Done{};
}

Status HostMailTable::put_again(std::string_view team, std::string_view stream, EpochMs now) {
  return database_.run(
      "UPDATE host_mail SET state = 'waiting', state_ms = ?3, attempts = attempts + 1 WHERE team = ?1 AND way = 'out' "
      "AND host = ?2 AND state = 'put' AND state IN ('waiting', 'put', 'there')",
      team, stream, now);
}

Result<std::vector<std::string>> HostMailTable::unheard(std::string_view team, EpochMs before) {
  return names(database_,
               "SELECT DISTINCT host FROM host_mail WHERE team = ?1 AND way = 'out' AND state = 'put' AND state IN "
               "('waiting', 'put', 'there') AND state_ms + 15000 * min(attempts, 20) < ?2",
               team, before);
}

Status HostMailTable::put_all_again(std::string_view team, bool lead, EpochMs now) {
  return database_.run(
      "UPDATE host_mail SET state = 'waiting', state_ms = ?3, attempts = attempts + 1 WHERE team = ?1 AND way = 'out' "
      "AND state IN ('waiting', 'put', 'there') AND (state = 'put' OR (?2 AND host = 'lead' AND state = 'there'))",
      team, lead ? 1 : 0, now);
}

// in

Result<long long> HostMailTable::last_number(std::string_view team, std::string_view host, bool for_lead) {
  return database_.value<long long>(
      "SELECT max(number) FROM host_mail WHERE team = ?1 AND way = 'in' AND host = ?2 AND lead = ?3", team, host,
      for_lead ? 1 : 0);
}

Result<std::vector<HostMailRow>> HostMailTable::to_file(std::string_view team, int limit,
                                                          const std::set<std::string>& without) {
  static const std::string sql = where(
      "id IN (SELECT id FROM host_mail WHERE team = ?1 AND way = 'in' AND state = 'waiting' AND state IN ('waiting', 'put', "
      "'there') AND NOT lead AND inbox NOT IN (SELECT value FROM json_each(?2)) ORDER BY id LIMIT ?3) ORDER BY id");
  std::string names;
  for (const auto& name : without) names += (names.empty() ? "" : ",") + schema::quote(name);
  return rows(database_, sql, team, '[' + names + ']', limit);
}

Result<std::vector<HostMailRow>> HostMailTable::filed(std::string_view team) {
  static const std::string sql = where(
      "team = ?1 AND way = 'in' AND state = 'there' AND state IN ('waiting', 'put', 'there') AND NOT lead ORDER BY id");
  return rows(database_, sql, team);
}

Result<std::vector<HostMailRow>> HostMailTable::for_lead(std::string_view team, std::string_view host, long long behind,
                                                         int limit) {
  static const std::string sql = where(
      "id IN (SELECT id FROM host_mail WHERE team = ?1 AND way = 'in' AND host = ?2 AND state = 'waiting' AND state IN "
      "('waiting', 'put', 'there') AND lead AND id > ?3 ORDER BY id LIMIT ?4) ORDER BY id");
  return rows(database_, sql, team, host, behind, limit);
}

Result<std::vector<std::string>> HostMailTable::hosts_with_mail_for_lead(std::string_view team) {
  return names(database_,
               "SELECT DISTINCT host FROM host_mail WHERE team = ?1 AND way = 'in' AND state = 'waiting' AND state IN "
               "('waiting', 'put', 'there') AND lead",
               team);
}

Result<std::optional<HostMailRow>> HostMailTable::answer_to(std::string_view team, std::string_view inbox,
                                                            std::string_view request_id) {
  static const std::string sql = where(
      "team = ?1 AND inbox = ?2 AND request_id = ?3 AND final = 1 AND way = 'in' AND state <> 'refused' ORDER BY id LIMIT 1");
  if (!prepared_) return std::optional<HostMailRow>();
  return first_row<HostMailRow>(database_.query(sql, team, inbox, request_id), read_whole, database_);
}

Status HostMailTable::settle_of_lead(std::string_view team, EpochMs now) {
  return database_.run(
      "UPDATE host_mail AS h SET state = 'read', state_ms = ?2 WHERE h.team = ?1 AND h.way = 'in' AND h.lead AND "
      "h.state = 'there' AND h.attempts = 0 AND h.state IN ('waiting', 'put', 'there') AND NOT EXISTS (SELECT 1 FROM messages AS m JOIN "
      "deliveries AS d ON d.message = m.id WHERE m.key = h.key AND d.state IN ('queued', 'offered')) AND NOT EXISTS "
      "(SELECT 1 FROM requests AS a WHERE a.team = h.team AND a.request_id = h.request_id AND h.request_id <> '' AND "
      "a.state IN ('received', 'pending')) AND NOT EXISTS (SELECT 1 FROM host_mail AS r WHERE r.request_id = h.request_id AND "
      "r.request_id <> '' AND r.team = h.team AND r.way = 'out' AND r.final AND r.inbox = h.sender AND r.state IN ('waiting', "
      "'put')) AND NOT EXISTS (SELECT 1 FROM outbox AS o WHERE o.team = h.team AND o.request_id = h.request_id AND "
      "h.request_id <> '' AND o.state = 'pending')",
      team, now);
}

Result<std::vector<HostMailRow>> HostMailTable::unrecorded_ends(std::string_view team, std::string_view type, int limit) {
  static const std::string sql = narrow_where(
      "m.team = ?1 AND way = 'in' AND m.state = 'waiting' AND m.state IN ('waiting', 'put', 'there') AND NOT lead AND type = "
      "?2 AND m.request_id <> '' AND NOT EXISTS (SELECT 1 FROM shutdowns AS s WHERE s.team = m.team AND s.request_id = "
      "m.request_id) ORDER BY m.id LIMIT ?3");
  return mail_table().all(database_, database_.query(sql, team, type, limit));
}

Status HostMailTable::hand_over(std::string_view team) {
  return database_.run(
      "UPDATE host_mail SET state = 'there', attempts = 1 WHERE team = ?1 AND way = 'in' AND lead AND state IN "
      "('waiting', 'there') AND state IN ('waiting', 'put', 'there')",
      team);
}

Status HostMailTable::take_up(long long id, HostMailState state, EpochMs now) {
  return database_.run("UPDATE host_mail SET state = ?2, state_ms = ?3, attempts = 0 WHERE id = ?1", id, to_string(state), now);
}

Result<std::vector<HostMailRow>> HostMailTable::untold(std::string_view team, std::string_view host, int limit) {
  static const std::string sql = narrow_where(
      "team = ?1 AND host = ?2 AND way = 'in' AND told < 2 AND (told < 1 OR state IN ('read', 'refused')) ORDER BY id LIMIT ?3");
  return mail_table().all(database_, database_.query(sql, team, host, limit));
}

Result<std::vector<std::string>> HostMailTable::hosts_to_tell(std::string_view team) {
  return names(database_,
               "SELECT DISTINCT host FROM host_mail INDEXED BY host_mail_untold WHERE team = ?1 AND way = 'in' AND told < 2 AND (told < 1 OR state IN "
               "('read', 'refused'))",
               team);
}

Status HostMailTable::tell(const std::vector<long long>& ids, int told) {
  return database_.run("UPDATE host_mail SET told = ?2 WHERE id IN (SELECT value FROM json_each(?1))", json_list(ids), told);
}

Status HostMailTable::tell_again(std::string_view team, const std::vector<long long>& ids) {
  return database_.run("UPDATE host_mail SET told = 0 WHERE +team = ?1 AND id IN (SELECT value FROM json_each(?2))", team,
                       json_list(ids));
}

Status HostMailTable::tell_all_again(std::string_view team) {
  return database_.run("UPDATE host_mail SET told = 0 WHERE team = ?1 AND way = 'in'", team);
}

Result<std::vector<HostMailCount>> HostMailTable::counts(std::string_view team) {
  return all_rows<HostMailCount>(
      database_.query("SELECT way, host, sum(state = 'waiting'), sum(state = 'put'), sum(state = 'there'), "
                      "coalesce(min(iif(state IN ('waiting', 'put'), created_ms, NULL)), 0) FROM host_mail WHERE team = ?1 "
                      "AND state IN ('waiting', 'put', 'there') GROUP BY way, host ORDER BY way, host",
                      team),
      [](const Database& database, const Statement& from) -> Result<HostMailCount> {
        HostMailCount count;
        std::string way;
        from.read(way, count.host, count.waiting, count.put, count.there, count.oldest_ms);
        if (!parse_one_of(way, count.way)) return database.damaged("a letter between hosts goes no way that there is");
        return count;
      },
      database_);
}

Result<long long> HostMailTable::queued(std::string_view team, HostWay way, std::string_view host) {
  return database_.value<long long>(
      "SELECT count(*) FROM host_mail WHERE team = ?1 AND way = ?2 AND state IN ('waiting', 'put') AND state IN "
      "('waiting', 'put', 'there') AND (?3 = '' OR host = ?3)",
      team, to_string(way), host);
}

Result<HostPlaceRow> HostMailTable::place(std::string_view team) {
  static const std::string sql = places_table().select() + "WHERE team = ?1";
  TRY(auto found, places_table().first(database_, database_.query(sql, team)));
  HostPlaceRow none;
  none.team = team;
  return found ? *std::move(found) : none;
}

Status HostMailTable::set_place(const HostPlaceRow& row) { return places_table().put(database_, row); }

Result<std::vector<HostRemovedRow>> HostMailTable::removed(std::string_view team) {
  static const std::string sql = removed_table().select() + "WHERE team = ?1";
  return removed_table().all(database_, database_.query(sql, team));
}

Status HostMailTable::set_removed(const HostRemovedRow& row) { return removed_table().put(database_, row); }

Status HostMailTable::prune(std::string_view team, EpochMs before) {
  const auto gone = database_.run(
      "DELETE FROM host_mail AS h WHERE team = ?1 AND state IN ('read', 'refused') AND state_ms < ?2 AND number < (SELECT "
      "max(number) FROM host_mail WHERE team = h.team AND way = h.way AND host = h.host AND lead = h.lead)",
      team, before);
  if (!gone || database_.changes() == 0) return gone;
  return database_.run("DELETE FROM host_entries WHERE letter NOT IN (SELECT id FROM host_mail)");
}

}  // namespace inbox_poller::poller
