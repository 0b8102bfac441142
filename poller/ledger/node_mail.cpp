#include "poller/ledger/node_mail.hpp"

#include <algorithm>

#include "poller/ledger/tables.hpp"
#include "schema/json_scan.hpp"

namespace inbox_poller::poller {
namespace {

const std::string host_scope = "node ";  // not the beginning of an inbox's name
constexpr std::size_t put_together = std::size_t{16} << 20;  // bytes; the message that exceeds the limit is included

// Narrow, because each step of a message rewrites its row. The bytes are in node_entries.
const Table<NodeMailRow>& mail_table() {
  using H = NodeMailRow;
  static const Table<H> table(
      "node_mail",
      {number<&H::id>("id"), fixed<&H::team>("team"), fixed<&H::direction>("direction"), fixed<&H::node>("node"),
       fixed<&H::inbox>("inbox"), fixed<&H::key>("key"), fixed<&H::sender>("sender"), fixed<&H::type>("type"),
       fixed<&H::request_id>("request_id"),
       fixed<&H::lead>("lead"), fixed<&H::final>("final"), fixed<&H::number>("number"),
       fixed<&H::created_ms>("created_ms"), loose<&H::state>("state"), loose<&H::state_ms>("state_ms"),
       loose<&H::attempts>("attempts"), loose<&H::told>("told"), loose<&H::problem>("problem"),
       fixed<&H::joined_ms>("joined_ms"), fixed<&H::unproven>("unproven")},
      "key, team, direction, node, inbox",
      {"node_mail_request ON node_mail (request_id) WHERE request_id <> ''",
       ("node_mail_moving ON node_mail (team, direction, state, node, number, lead, created_ms) WHERE state IN ('waiting', "
        "'put', 'there')"),
       "node_mail_number ON node_mail (team, direction, node, lead, number)",
       "node_mail_handed_over ON node_mail (team, node, number) WHERE direction = 'in' AND state = 'there' AND attempts > 0",
       ("node_mail_untold ON node_mail (team, node) WHERE direction = 'in' AND told < 2 AND (told < 1 OR state IN ('read', "
        "'rejected'))"),
       "node_mail_answer ON node_mail (team, inbox, request_id) WHERE final = 1"},
      [](const H& row) { return "letter " + std::to_string(row.id) + " between nodes"; });
  return table;
}

const Table<NodeMailRow>& entries_table() {
  using H = NodeMailRow;
  static const Table<H> table("node_entries",
                              {fixed<&H::id>("mail_id"), column_as<BytesCell, &H::entry>(Part::fixed, "entry")}, "mail_id", {},
                              [](const H& row) { return "the bytes of letter " + std::to_string(row.id) + " between nodes"; });
  return table;
}

const Table<NodePlaceRow>& places_table() {
  using P = NodePlaceRow;
  static const Table<P> table("node_places",
                              {fixed<&P::team>("team"), changing<&P::epoch>("epoch"), changing<&P::place>("place"),
                               changing<&P::leader>("leader")},
                              "team", {}, [](const P& row) { return "what is known of the nodes of team " + row.team; });
  return table;
}

const Table<NodeRemovedRow>& removed_table() {
  using R = NodeRemovedRow;
  static const Table<R> table(
      "node_removed", {fixed<&R::team>("team"), fixed<&R::member>("member"), changing<&R::joined_ms>("joined_ms")},
      "team, member", {}, [](const R& row) { return "that " + row.member + " was taken out of team " + row.team; });
  return table;
}

/// Statements with a condition on `node_mail AS m`: for messages with their bytes, and without.
std::string where(std::string_view condition) {
  return "SELECT " + mail_table().list("m") + ", " + entries_table().list("e") +
         " FROM node_mail AS m CROSS JOIN node_entries AS e ON e.mail_id = m.id WHERE " + std::string(condition);
}
std::string narrow_where(std::string_view condition) {
  return "SELECT " + mail_table().list("m") + " FROM node_mail AS m WHERE " + std::string(condition);
}

Result<NodeMailRow> read_whole(const Database& database, const Statement& from) {
  NodeMailRow row;
  TRY(mail_table().read_into(database, from, row));
  TRY(entries_table().read_into(database, from, row, mail_table().width()));
  return row;
}

template <class... Values>
Result<std::vector<NodeMailRow>> rows(Database& database, const std::string& sql, const Values&... values) {
  return all_rows<NodeMailRow>(database.query(sql, values...), read_whole, database);
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

schema::MessageKey journal_key(const NodeMailRow& row) {
  if (!row.unproven) return row.key;
  return schema::make_message_key({row.team, host_scope + row.node}, row.sender, {}, row.key.value, 0);
}

Status NodeMailTable::prepare() {
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

Result<bool> NodeMailTable::add(NodeMailRow row) {
  if (row.direction == MailDirection::out) {
    TRY(auto last, database_.value<long long>(
        "SELECT max(number) FROM (SELECT max(number) AS number FROM node_mail WHERE team = ?1 AND direction = 'out' AND "
        "node = ?2 AND lead = 0 UNION ALL SELECT max(number) FROM node_mail WHERE team = ?1 AND direction = 'out' AND "
        "node = ?2 AND lead = 1)", row.team, row.node));
    row.number = last + 1;
  }
  row.state_ms = row.created_ms;
  TRY(const auto added, mail_table().insert_new(database_, row));
  if (database_.changes() == 0) return false;
  row.id = added;
  TRY(entries_table().insert(database_, row));
  return true;
}

Result<std::optional<NodeMailRow>> NodeMailTable::find(std::string_view team, MailDirection direction, std::string_view node,
                                                       std::string_view inbox, const schema::MessageKey& key) {
  static const std::string sql = narrow_where("team = ?1 AND direction = ?2 AND node = ?3 AND inbox = ?4 AND key = ?5");
  const auto bytes = key_bytes(key.value);
  if (!bytes) return std::optional<NodeMailRow>();
  return mail_table().first(database_, database_.query(sql, team, to_string(direction), node, inbox, Blob{*bytes}));
}

Result<std::optional<NodeMailRow>> NodeMailTable::sent(std::string_view team, std::string_view inbox,
                                                       const schema::MessageKey& key) {
  static const std::string sql = narrow_where("key = ?3 AND team = ?1 AND direction = 'out' AND +inbox = ?2");
  const auto bytes = key_bytes(key.value);
  if (!bytes) return std::optional<NodeMailRow>();
  return mail_table().first(database_, database_.query(sql, team, inbox, Blob{*bytes}));
}

Result<std::vector<NodeMailRow>> NodeMailTable::latest(const MessageTable::Wanted& wanted, int limit) {
  static const std::string sql = where(
      "(?1 = '' OR team = ?1) AND (?2 = '' OR sender = ?2) AND (?3 = '' OR type = ?3) AND created_ms >= ?4 "
      "ORDER BY id DESC LIMIT ?5");
  if (!prepared_) return std::vector<NodeMailRow>();
  auto found = rows(database_, sql, wanted.team, wanted.sender, wanted.type, wanted.since_ms, limit);
  if (found) std::ranges::reverse(*found);
  return found;
}

Result<std::vector<NodeMailRow>> NodeMailTable::like(std::string_view prefix, int limit) {
  static const std::string sql = where("key >= ?1 AND key < ?2 ORDER BY key LIMIT ?3");
  const auto range = key_range(prefix);
  if (!prepared_ || !range) return std::vector<NodeMailRow>();
  return rows(database_, sql, Blob{range->first}, Blob{range->second}, limit);
}

Result<std::vector<NodeMailRow>> NodeMailTable::of_request(std::string_view request_id, int limit) {
  static const std::string sql = where("request_id = ?1 AND request_id <> '' ORDER BY id LIMIT ?2");
  if (!prepared_) return std::vector<NodeMailRow>();
  return rows(database_, sql, request_id, limit);
}

// The unary plus makes SQLite find the rows by their few ids, and not by an index on the team.

Status NodeMailTable::set(std::string_view team, const std::vector<long long>& ids, NodeMailState state, EpochMs now,
                          std::string_view problem) {
  return database_.run(
      "UPDATE node_mail SET state = ?2, state_ms = ?3, problem = ?4 WHERE +team = ?1 AND id IN (SELECT value FROM "
      "json_each(?5)) AND (?2 <> 'put' OR state = 'waiting')", team, to_string(state), now, problem, json_list(ids));
}

// out

Result<std::vector<std::string>> NodeMailTable::streams(std::string_view team, bool leading) {
  return names(database_,
               "SELECT DISTINCT node FROM node_mail WHERE team = ?1 AND direction = 'out' AND state = 'waiting' AND state IN "
               "('waiting', 'put', 'there') AND (?2 OR NOT lead)", team, leading ? 1 : 0);
}

Result<std::vector<NodeMailRow>> NodeMailTable::waiting(std::string_view team, std::string_view stream, bool leading,
                                                        int limit) {
  static const std::string sql = where(
      "team = ?1 AND direction = 'out' AND node = ?2 AND state = 'waiting' AND state IN ('waiting', 'put', 'there') "
      "AND (?3 OR NOT lead) ORDER BY number LIMIT ?4");
  Statement from = database_.query(sql, team, stream, leading ? 1 : 0, limit);
  std::vector<NodeMailRow> waiting;
  for (std::size_t bytes = 0; bytes < put_together;) {
    TRY(const auto found, from.next());
    if (!found) break;
    TRY(auto row, read_whole(database_, from));
    bytes += row.entry.size();
    waiting.push_back(std::move(row));
  }
  return waiting;
}

Result<std::vector<NodeMailRow>> NodeMailTable::unsent_orders(std::string_view team) {
  static const std::string sql = narrow_where(
      "team = ?1 AND direction = 'out' AND lead AND NOT final AND state = 'waiting' AND state IN ('waiting', 'put', 'there')");
  return mail_table().all(database_, database_.query(sql, team));
}

Result<long long> NodeMailTable::after(std::string_view team, std::string_view stream, long long number) {
  // A new leader lacks the messages that the old leader has not settled. Later ones must wait for them.
  return database_.value<long long>(
      "SELECT max(number) FROM (SELECT max(number) AS number FROM node_mail WHERE team = ?1 AND direction = 'out' AND node = ?2 "
      "AND state = 'put' AND state IN ('waiting', 'put', 'there') AND number < ?3 UNION ALL SELECT max(number) FROM "
      "node_mail WHERE team = ?1 AND direction = 'out' AND node = ?2 AND ?2 = 'lead' AND state = 'there' AND state IN "
      "('waiting', 'put', 'there') AND number < ?3)", team, stream, number);
}

Status NodeMailTable::heard(std::string_view team, const NodeWord& word, const std::vector<std::string>& keys, EpochMs now) {
  for (const auto& key : keys)
    if (const auto bytes = key_bytes(key)) {
      TRY(database_.run(
          "UPDATE node_mail SET state = ?5, state_ms = ?6, problem = ?7 WHERE key = ?1 AND team = ?2 AND direction = 'out' AND "
          "(node = ?3 OR (?4 AND node = 'lead')) AND (state IN ('waiting', 'put') OR (state = 'there' AND ?5 <> 'there'))",
          Blob{*bytes}, team, word.stream, word.leads ? 1 : 0, to_string(word.state), now, word.problem));
    }
  return Done{};
}

Status NodeMailTable::put_again(std::string_view team, std::string_view stream, EpochMs now) {
  return database_.run(
      "UPDATE node_mail SET state = 'waiting', state_ms = ?3, attempts = attempts + 1 WHERE team = ?1 AND direction = 'out' "
      "AND node = ?2 AND state = 'put' AND state IN ('waiting', 'put', 'there')", team, stream, now);
}

Result<std::vector<std::string>> NodeMailTable::unheard(std::string_view team, EpochMs now) {
  return names(database_,
               "SELECT DISTINCT node FROM node_mail WHERE team = ?1 AND direction = 'out' AND state = 'put' AND state IN "
               "('waiting', 'put', 'there') AND (state_ms + 15000 * (1 + min(attempts, 20)) < ?2 OR state_ms > ?2)",
               team, now);
}

Status NodeMailTable::put_all_again(std::string_view team, bool lead, EpochMs now) {
  return database_.run(
      "UPDATE node_mail SET state_ms = ?3, attempts = 1, state = CASE WHEN ?2 AND node = 'lead' AND EXISTS (SELECT 1 "
      "FROM requests WHERE requests.team = ?1 AND asker = sender AND requests.request_id = node_mail.request_id AND "
      "requests.state IN ('approved', 'denied', 'expired')) THEN 'read' ELSE 'waiting' END WHERE team = ?1 AND "
      "direction = 'out' AND state IN ('waiting', 'put', 'there') AND (state = 'put' OR (?2 AND node = 'lead' AND "
      "state = 'there'))",
      team, lead ? 1 : 0, now);
}

// in

Result<long long> NodeMailTable::last_number(std::string_view team, std::string_view node, bool for_lead) {
  return database_.value<long long>(
      "SELECT max(number) FROM node_mail WHERE team = ?1 AND direction = 'in' AND node = ?2 AND lead = ?3", team, node,
      for_lead ? 1 : 0);
}

Result<bool> NodeMailTable::is_handed_over(std::string_view team, std::string_view node, long long last) {
  return database_.value<bool>(
      "SELECT 1 FROM node_mail WHERE team = ?1 AND node = ?2 AND number <= ?3 AND direction = 'in' AND state = 'there' AND "
      "attempts > 0 LIMIT 1", team, node, last);
}

Status NodeMailTable::settled_elsewhere(std::string_view team, std::string_view node, long long after, long long before,
                                        EpochMs now) {
  return database_.run(
      "UPDATE node_mail SET state = 'read', state_ms = ?5, told = 2 WHERE team = ?1 AND node = ?2 AND number > ?3 AND "
      "number < ?4 AND direction = 'in' AND state = 'there' AND attempts > 0", team, node, after, before, now);
}

Result<std::vector<NodeMailRow>> NodeMailTable::to_file(std::string_view team, int limit,
                                                          const std::set<std::string>& without) {
  static const std::string sql = where(
      "id IN (SELECT id FROM node_mail WHERE team = ?1 AND direction = 'in' AND state = 'waiting' AND state IN ('waiting', 'put', "
      "'there') AND NOT lead AND inbox NOT IN (SELECT value FROM json_each(?2)) ORDER BY id LIMIT ?3) ORDER BY id");
  std::string names;
  for (const auto& name : without) names += (names.empty() ? "" : ",") + schema::quote(name);
  return rows(database_, sql, team, '[' + names + ']', limit);
}

Result<std::vector<NodeMailRow>> NodeMailTable::filed(std::string_view team) {
  static const std::string sql = where(
      "team = ?1 AND direction = 'in' AND state = 'there' AND state IN ('waiting', 'put', 'there') AND NOT lead ORDER BY id");
  return rows(database_, sql, team);
}

Result<std::vector<NodeMailRow>> NodeMailTable::for_lead(std::string_view team, std::string_view node, long long behind,
                                                         int limit) {
  static const std::string sql = where(
      "id IN (SELECT id FROM node_mail WHERE team = ?1 AND direction = 'in' AND node = ?2 AND state = 'waiting' AND state IN "
      "('waiting', 'put', 'there') AND lead AND id > ?3 ORDER BY id LIMIT ?4) ORDER BY id");
  return rows(database_, sql, team, node, behind, limit);
}

Result<std::vector<std::string>> NodeMailTable::nodes_with_mail_for_lead(std::string_view team) {
  return names(database_,
               "SELECT DISTINCT node FROM node_mail WHERE team = ?1 AND direction = 'in' AND state = 'waiting' AND state IN "
               "('waiting', 'put', 'there') AND lead", team);
}

Result<std::optional<NodeMailRow>> NodeMailTable::answer_to(std::string_view team, std::string_view inbox,
                                                            std::string_view request_id) {
  static const std::string sql = where(
      "team = ?1 AND inbox = ?2 AND request_id = ?3 AND final = 1 AND direction = 'in' AND state <> 'rejected' ORDER BY id LIMIT 1");
  if (!prepared_) return std::optional<NodeMailRow>();
  return first_row<NodeMailRow>(database_.query(sql, team, inbox, request_id), read_whole, database_);
}

Status NodeMailTable::file_answer_again(std::string_view team, std::string_view inbox, std::string_view request_id,
                                        EpochMs now) {
  TRY(const auto answer, answer_to(team, inbox, request_id));
  if (!answer || answer->state != NodeMailState::read) return Done{};
  return set(team, {answer->id}, NodeMailState::waiting, now);
}

Status NodeMailTable::settle_of_lead(std::string_view team, EpochMs now) {
  return database_.run(
      "UPDATE node_mail AS h SET state = 'read', state_ms = ?2 WHERE h.team = ?1 AND h.direction = 'in' AND h.lead AND "
      "h.state = 'there' AND h.attempts = 0 AND h.state IN ('waiting', 'put', 'there') AND NOT EXISTS (SELECT 1 FROM messages AS m JOIN "
      "deliveries AS d ON d.message = m.id WHERE m.key = h.key AND d.state IN ('queued', 'offered')) AND NOT EXISTS "
      "(SELECT 1 FROM requests AS a WHERE a.team = h.team AND a.request_id = h.request_id AND h.request_id <> '' AND "
      "a.state IN ('received', 'pending')) AND NOT EXISTS (SELECT 1 FROM node_mail AS r WHERE r.request_id = h.request_id AND "
      "r.request_id <> '' AND r.team = h.team AND r.direction = 'out' AND r.final AND r.inbox = h.sender AND r.state IN ('waiting', "
      "'put')) AND NOT EXISTS (SELECT 1 FROM outbox AS o WHERE o.team = h.team AND o.request_id = h.request_id AND "
      "h.request_id <> '' AND o.state = 'pending')", team, now);
}

Result<std::vector<NodeMailRow>> NodeMailTable::unrecorded_ends(std::string_view team, std::string_view type, int limit) {
  static const std::string sql = narrow_where(
      "m.team = ?1 AND direction = 'in' AND m.state = 'waiting' AND m.state IN ('waiting', 'put', 'there') AND NOT lead AND type = "
      "?2 AND m.request_id <> '' AND NOT EXISTS (SELECT 1 FROM shutdowns AS s WHERE s.team = m.team AND s.request_id = "
      "m.request_id) ORDER BY m.id LIMIT ?3");
  return mail_table().all(database_, database_.query(sql, team, type, limit));
}

Status NodeMailTable::hand_over(std::string_view team) {
  return database_.run(
      "UPDATE node_mail SET state = 'there', attempts = 1 WHERE team = ?1 AND direction = 'in' AND lead AND state IN "
      "('waiting', 'there') AND state IN ('waiting', 'put', 'there')", team);
}

Status NodeMailTable::take_up(long long id, NodeMailState state, EpochMs now) {
  return database_.run("UPDATE node_mail SET state = ?2, state_ms = ?3, attempts = 0 WHERE id = ?1", id, to_string(state), now);
}

Result<std::vector<NodeMailRow>> NodeMailTable::untold(std::string_view team, std::string_view node, int limit) {
  static const std::string sql = narrow_where(
      "team = ?1 AND node = ?2 AND direction = 'in' AND told < 2 AND (told < 1 OR state IN ('read', 'rejected')) AND NOT "
      "(state = 'there' AND attempts > 0) ORDER BY id LIMIT ?3");
  return mail_table().all(database_, database_.query(sql, team, node, limit));
}

Result<std::vector<std::string>> NodeMailTable::nodes_to_tell(std::string_view team) {
  return names(database_,
               "SELECT DISTINCT node FROM node_mail INDEXED BY node_mail_untold WHERE team = ?1 AND direction = 'in' AND told < 2 AND (told < 1 OR state IN "
               "('read', 'rejected')) AND NOT (state = 'there' AND attempts > 0)", team);
}

Status NodeMailTable::tell(const std::vector<long long>& ids, int told) {
  return database_.run("UPDATE node_mail SET told = ?2 WHERE id IN (SELECT value FROM json_each(?1))", json_list(ids), told);
}

Status NodeMailTable::tell_all_again(std::string_view team) {
  return database_.run("UPDATE node_mail SET told = 0 WHERE team = ?1 AND direction = 'in'", team);
}

Result<std::vector<NodeMailCount>> NodeMailTable::counts(std::string_view team) {
  return all_rows<NodeMailCount>(
      database_.query("SELECT direction, node, sum(state = 'waiting'), sum(state = 'put'), sum(state = 'there'), "
                      "coalesce(min(iif(state IN ('waiting', 'put'), created_ms, NULL)), 0) FROM node_mail WHERE team = ?1 "
                      "AND state IN ('waiting', 'put', 'there') GROUP BY direction, node ORDER BY direction, node",
                      team),
      [](const Database& database, const Statement& from) -> Result<NodeMailCount> {
        NodeMailCount count;
        std::string direction;
        from.read(direction, count.node, count.waiting, count.put, count.there, count.oldest_ms);
        if (!parse_one_of(direction, count.direction)) return database.damaged("a letter between nodes goes no direction that there is");
        return count;
      },
      database_);
}

Result<long long> NodeMailTable::queued(std::string_view team, MailDirection direction, std::string_view node) {
  return database_.value<long long>(
      "SELECT count(*) FROM node_mail WHERE team = ?1 AND direction = ?2 AND state IN ('waiting', 'put') AND state IN "
      "('waiting', 'put', 'there') AND (?3 = '' OR node = ?3)", team, to_string(direction), node);
}

Result<NodePlaceRow> NodeMailTable::place(std::string_view team) {
  static const std::string sql = places_table().select() + "WHERE team = ?1";
  TRY(auto found, places_table().first(database_, database_.query(sql, team)));
  NodePlaceRow none;
  none.team = team;
  return found ? *std::move(found) : none;
}

Status NodeMailTable::set_place(const NodePlaceRow& row) { return places_table().put(database_, row); }

Result<std::vector<NodeRemovedRow>> NodeMailTable::removed(std::string_view team) {
  static const std::string sql = removed_table().select() + "WHERE team = ?1";
  return removed_table().all(database_, database_.query(sql, team));
}

Status NodeMailTable::set_removed(const NodeRemovedRow& row) { return removed_table().put(database_, row); }

Status NodeMailTable::prune(std::string_view team, EpochMs before) {
  const auto gone = database_.run(
      "DELETE FROM node_mail AS h WHERE team = ?1 AND state IN ('read', 'rejected') AND state_ms < ?2 AND number < (SELECT "
      "max(number) FROM node_mail WHERE team = h.team AND direction = h.direction AND node = h.node AND lead = h.lead)",
      team, before);
  if (!gone || database_.changes() == 0) return gone;
  return database_.run("DELETE FROM node_entries WHERE mail_id NOT IN (SELECT id FROM node_mail)");
}

}  // namespace inbox_poller::poller
