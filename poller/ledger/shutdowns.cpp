// The SQL of this file repeats the open states of handlers::is_open; a test compares both.
#include "poller/ledger/shutdowns.hpp"

#include <charconv>
#include <tuple>

#include "poller/ledger/tables.hpp"

namespace inbox_poller::poller {

using handlers::ProcessRef;
using handlers::Shutdown;
using handlers::ShutdownState;

namespace {

std::string process_text(const ProcessRef& process) {
  return process == ProcessRef{} ? "" : std::to_string(process.pid) + ':' + process.started;
}

std::string process_text(const std::vector<ProcessRef>& processes) {
  std::string text;
  for (const auto& process : processes) text += (text.empty() ? "" : " ") + process_text(process);
  return text;
}

/// Parses a list of processes; nullopt for another text.
std::optional<std::vector<ProcessRef>> parse_processes(std::string_view text) {
  std::vector<ProcessRef> processes;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(' '));
    text.remove_prefix(one.size() == text.size() ? one.size() : one.size() + 1);
    ProcessRef process;
    const auto [end, problem] = std::from_chars(one.data(), one.data() + one.size(), process.pid);
    if (problem != std::errc() || end == one.data() + one.size() || *end != ':') return std::nullopt;
    process.started.assign(end + 1, one.data() + one.size());
    processes.push_back(std::move(process));
  }
  return processes;
}

}  // namespace

/// Stored as "pid:started pid:started".
template <>
struct Cell<std::vector<ProcessRef>> : Cell<std::string> {
  static void bind(Statement& to, int index, const std::vector<ProcessRef>& processes) {
    to.bind(index, process_text(processes));
  }
  static bool read(const Statement& from, int column, std::vector<ProcessRef>& processes) {
    std::string text;
    from.get(column, text);
    auto parsed = parse_processes(text);
    if (parsed) processes = std::move(*parsed);
    return parsed.has_value();
  }
  static void add(RowHash& hash, const std::vector<ProcessRef>& processes) { hash.add(process_text(processes)); }
};

/// Stored as "pid:started", or empty for no process.
template <>
struct Cell<ProcessRef> : Cell<std::string> {
  static void bind(Statement& to, int index, const ProcessRef& process) { to.bind(index, process_text(process)); }
  static bool read(const Statement& from, int column, ProcessRef& process) {
    std::vector<ProcessRef> all;
    if (!Cell<std::vector<ProcessRef>>::read(from, column, all) || all.size() > 1) return false;
    process = all.empty() ? ProcessRef{} : std::move(all.front());
    return true;
  }
  static void add(RowHash& hash, const ProcessRef& process) { hash.add(process_text(process)); }
};

// The sum covers all columns, because a changed process number would send a signal to another process.
const Table<ShutdownRow>& shutdowns_table() {
  using R = ShutdownRow;
  using S = Shutdown;
  using P = decltype(S::place);
  constexpr auto it = &R::shutdown;
  constexpr auto place = &S::place;
  static const Table<R> table(
      "shutdowns",
      {number<&R::id>("id"), fixed<&R::team>("team"), fixed<it, &S::request_id>("request_id"),
       fixed<it, &S::member>("member"), fixed<it, &S::agent_id>("agent_id"), fixed<it, &S::joined_ms>("joined_ms"),
       fixed<it, &S::by>("requested_by"), fixed<it, &S::reason>("reason"), changing<it, &S::state>("state"),
       fixed<it, &S::requested_ms>("requested_ms"),
       changing<it, &S::remind_ms>("remind_ms"), changing<it, &S::reminded_ms>("reminded_ms"),
       changing<it, &S::force_ms>("force_ms"), changing<it, &S::timeout_ms>("timeout_ms"),
       changing<it, &S::changed_ms>("changed_ms"), changing<it, &S::term_ms>("term_ms"),
       changing<it, &S::kill_ms>("kill_ms"), fixed<it, place, &P::backend>("backend"),
       fixed<it, place, &P::pane_id>("pane_id"), fixed<it, place, &P::server>("server"),
       fixed<it, place, &P::pane>("pane"), fixed<it, place, &P::processes>("processes"),
       fixed<it, place, &P::left_alone>("left_alone"), changing<it, &S::survivors>("survivors"),
       changing<it, &S::answer>("answer"), changing<it, &S::tasks>("tasks"), changing<it, &S::detail>("detail")},
      "team, request_id",
      {"shutdowns_id ON shutdowns (request_id)",
       "shutdowns_open ON shutdowns (team) "
       "WHERE state IN ('requested', 'approved', 'forced', 'process_gone', 'pane_gone')",
       "shutdowns_team ON shutdowns (team)"},
      [](const R& row) { return "shutdown " + row.shutdown.request_id + " of team " + row.team; });
  return table;
}

const Table<OrderRow>& orders_table() {
  using O = OrderRow;
  static const Table<O> table(
      "orders",
      {number<&O::id>("id"), fixed<&O::team>("team"), fixed<&O::member>("member"), fixed<&O::joined_ms>("joined_ms"),
       fixed<&O::kind>("kind"), fixed<&O::subject>("subject"), fixed<&O::origin>("origin"),
       fixed<&O::by>("requested_by"), fixed<&O::key>("key"), fixed<&O::sent_ms>("sent_ms"),
       changing<&O::state>("state"), changing<&O::state_ms>("state_ms")},
      "team, member, joined_ms, kind, origin", {}, [](const O& row) { return "order " + std::to_string(row.id); });
  return table;
}

namespace {

using Named = std::pair<std::string, Shutdown>;

Result<Named> read_named(const Database& database, const Statement& from) {
  ShutdownRow row;
  TRY(shutdowns_table().read_into(database, from, row));
  return Named(std::move(row.team), std::move(row.shutdown));
}

Result<Shutdown> read_shutdown(const Database& database, const Statement& from) {
  TRY(auto named, read_named(database, from));
  return std::move(named.second);
}

bool may_follow(ShutdownState before, ShutdownState after) {
  return before == after || one_event_leads<handlers::ShutdownEvent>(before, after);
}

auto what_stays(const Shutdown& row) {
  const auto& place = row.place;
  return std::tie(row.member, row.agent_id, row.joined_ms, row.by, row.reason, row.requested_ms, place.backend,
                  place.pane_id, place.server, place.pane, place.processes, place.left_alone);
}

Status may_replace(const Shutdown& recorded, const Shutdown& row) {
  if (what_stays(recorded) != what_stays(row))
    return Error{"ledger.final",
                 "shutdown " + row.request_id + " was recorded with another worker or place, and stays as it is"};
  if (!may_follow(recorded.state, row.state))
    return Error{"ledger.final", "shutdown " + row.request_id + " is " + std::string(to_string(recorded.state)) +
                                     " and cannot become " + std::string(to_string(row.state))};
  return Done{};
}

/// Returns true if each list can be parsed again, which a start mark with a space prevents.
bool is_writable(const Shutdown& row) {
  for (const auto* list : {&row.place.processes, &row.survivors})
    if (parse_processes(process_text(*list)) != *list) return false;
  for (const auto* one : {&row.place.server, &row.place.pane})
    if (parse_processes(process_text(*one)) != std::vector(*one == ProcessRef{} ? 0 : 1, *one)) return false;
  return true;
}

std::string shutdowns_where(std::string_view condition) {
  return shutdowns_table().select() + "WHERE " + std::string(condition);
}

}  // namespace

Status ShutdownTable::put(std::string_view team, const Shutdown& row) {
  if (!is_writable(row))
    return Error{"ledger.sql", database_.path() + ": a process of shutdown " + row.request_id + " cannot be written"};
  TRY(auto recorded, find(team, row.request_id));
  if (recorded) {
    TRY(may_replace(*recorded, row));
  }
  return shutdowns_table().put(database_, {0, std::string(team), row});
}

Result<std::optional<Shutdown>> ShutdownTable::find(std::string_view team, std::string_view request_id) {
  static const std::string sql = shutdowns_where("team = ?1 AND request_id = ?2");
  return first_row<Shutdown>(database_.query(sql, team, request_id), read_shutdown, database_);
}

Result<std::vector<Shutdown>> ShutdownTable::open(std::string_view team) {
  static const std::string sql = shutdowns_where(
      "team = ?1 AND state IN ('requested', 'approved', 'forced', 'process_gone', 'pane_gone') ORDER BY id");
  return all_rows<Shutdown>(database_.query(sql, team), read_shutdown, database_);
}

Result<std::vector<Shutdown>> ShutdownTable::latest(std::string_view team, int limit) {
  static const std::string sql = shutdowns_where("team = ?1 ORDER BY id DESC LIMIT ?2");
  return all_rows<Shutdown>(database_.query(sql, team, limit), read_shutdown, database_);
}

Result<bool> ShutdownTable::is_over(std::string_view team, std::string_view request_id) {
  TRY(const auto known, find(team, request_id));
  return known && !handlers::is_open(known->state);
}

Result<std::vector<Named>> ShutdownTable::by_id(std::string_view request_id) {
  static const std::string sql = shutdowns_where("request_id = ?1 ORDER BY id");
  return all_rows<Named>(database_.query(sql, request_id), read_named, database_);
}

Result<std::optional<long long>> OrderTable::add(const OrderRow& row) {
  TRY(const auto added, orders_table().insert_new(database_, row));
  return database_.changes() > 0 ? std::optional(added) : std::nullopt;
}

Status OrderTable::set(long long id, handlers::OrderState state, EpochMs at_ms) {
  static const std::string sql = orders_table().select() + "WHERE id = ?1";
  TRY(auto found, orders_table().first(database_, database_.query(sql, id)));
  if (!found) return Error{"ledger.sql", database_.path() + ": order " + std::to_string(id) + " does not exist"};
  OrderRow& row = *found;
  row.state = state;
  row.state_ms = at_ms;
  return orders_table().move(database_, row);
}

Result<std::vector<OrderRow>> OrderTable::of_team(std::string_view team) {
  static const std::string sql = orders_table().select() + "WHERE team = ?1 ORDER BY id";
  return orders_table().all(database_, database_.query(sql, team));
}

}  // namespace inbox_poller::poller
