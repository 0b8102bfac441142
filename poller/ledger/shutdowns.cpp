// Shutdowns and orders: what the lead's side began by itself, each once and moving forward only.
// The open states stand in the SQL as they are in handlers::is_open; a test holds the two together.
#include <charconv>
#include <initializer_list>
#include <tuple>

#include "poller/ledger/row_sum.hpp"
#include "poller/ledger/shutdowns.hpp"
#include "poller/ledger/sqlite.hpp"

namespace inbox_poller::poller {
namespace {

using handlers::ProcessRef;
using handlers::Shutdown;
using handlers::ShutdownEvent;
using handlers::ShutdownState;

std::string process_text(const ProcessRef& process) {
  return process == ProcessRef{} ? "" : std::to_string(process.pid) + ':' + process.started;
}

std::string process_text(const std::vector<ProcessRef>& processes) {
  std::string text;
  for (const auto& process : processes) text += (text.empty() ? "" : " ") + process_text(process);
  return text;
}

/// Empty when the text is no list of processes.
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

bool parse_process(std::string_view text, ProcessRef& into) {
  auto processes = parse_processes(text);
  if (!processes || processes->size() > 1) return false;
  into = processes->empty() ? ProcessRef{} : std::move(processes->front());
  return true;
}

bool parse_processes(std::string_view text, std::vector<ProcessRef>& into) {
  auto processes = parse_processes(text);
  if (!processes) return false;
  into = *std::move(processes);
  return true;
}

struct ShutdownRow {
  std::string team;
  Shutdown shutdown;
};

const std::string shutdown_columns =
    "team, request_id, member, agent_id, by, reason, state, requested_ms, nudge_ms, nudged_ms, force_ms, timeout_ms, "
    "changed_ms, term_ms, kill_ms, backend, pane_id, server, pane, processes, left_alone, survivors, answer, tasks, "
    "detail, sum";
const std::string select_shutdowns = "SELECT " + shutdown_columns + " FROM shutdowns ";

/// Over all of the row: a changed number among the processes would signal somebody else.
long long sum_of(std::string_view team, const Shutdown& row) {
  const auto& place = row.place;
  return row_sum(team, row.request_id, row.member, row.agent_id, row.by, row.reason, to_string(row.state),
                 row.requested_ms, row.nudge_ms, row.nudged_ms, row.force_ms, row.timeout_ms, row.changed_ms,
                 row.term_ms, row.kill_ms, place.backend, place.pane_id, process_text(place.server),
                 process_text(place.pane), process_text(place.processes), place.left_alone, process_text(row.survivors),
                 row.answer, row.tasks, row.detail);
}

Result<ShutdownRow> read_row(const Database& database, const Statement& from) {
  ShutdownRow found;
  Shutdown& row = found.shutdown;
  auto& place = row.place;
  std::string state, server, pane, processes, survivors;
  long long sum = 0;
  from.read(found.team, row.request_id, row.member, row.agent_id, row.by, row.reason, state, row.requested_ms,
            row.nudge_ms, row.nudged_ms, row.force_ms, row.timeout_ms, row.changed_ms, row.term_ms, row.kill_ms,
            place.backend, place.pane_id, server, pane, processes, place.left_alone, survivors, row.answer, row.tasks,
            row.detail, sum);
  const auto known = handlers::parse_shutdown_state(state);
  if (known && parse_process(server, place.server) && parse_process(pane, place.pane) &&
      parse_processes(processes, place.processes) && parse_processes(survivors, row.survivors)) {
    row.state = *known;
    if (sum == sum_of(found.team, row)) return found;
  }
  return database.damaged("shutdown " + row.request_id + " of team " + found.team + " is not as it was written");
}

Result<Shutdown> read_shutdown(const Database& database, const Statement& from) {
  auto row = read_row(database, from);
  if (!row) return row.error();
  return std::move(row->shutdown);
}

Result<std::pair<std::string, Shutdown>> read_named(const Database& database, const Statement& from) {
  auto row = read_row(database, from);
  if (!row) return row.error();
  return std::pair(std::move(row->team), std::move(row->shutdown));
}

bool may_follow(ShutdownState before, ShutdownState after) {
  if (before == after) return true;
  for (const auto event : {ShutdownEvent::worker_approves, ShutdownEvent::worker_rejects, ShutdownEvent::force_is_due,
                           ShutdownEvent::process_ends, ShutdownEvent::pane_closes, ShutdownEvent::traces_removed,
                           ShutdownEvent::time_passes}) {
    if (handlers::transition(before, event) == after) return true;
  }
  return false;
}

auto what_stays(const Shutdown& row) {
  const auto& place = row.place;
  return std::tie(row.member, row.agent_id, row.by, row.reason, row.requested_ms, place.backend, place.pane_id,
                  place.server, place.pane, place.processes, place.left_alone);
}

Status may_replace(const Shutdown& recorded, const Shutdown& row) {
  if (what_stays(recorded) != what_stays(row)) {
    return Error{"ledger.final",
                 "shutdown " + row.request_id + " was recorded with another worker or place, and stays as it is"};
  }
  if (!may_follow(recorded.state, row.state)) {
    return Error{"ledger.final", "shutdown " + row.request_id + " is " + std::string(to_string(recorded.state)) +
                                     " and cannot become " + std::string(to_string(row.state))};
  }
  return Done{};
}

/// True when every list is read as it is written: a start mark has no spaces.
bool is_writable(const Shutdown& row) {
  for (const auto* list : {&row.place.processes, &row.survivors})
    if (parse_processes(process_text(*list)) != *list) return false;
  ProcessRef read;
  for (const auto* one : {&row.place.server, &row.place.pane})
    if (!parse_process(process_text(*one), read) || read != *one) return false;
  return true;
}

const std::string select_orders =
    "SELECT id, team, member, joined_ms, kind, subject, origin, by, key, sent_ms, state, state_ms, sum FROM orders ";

long long sum_of(const OrderRow& row) {
  return row_sum(row.team, row.member, row.joined_ms, row.kind, row.subject, row.origin, row.by, row.key.value,
                 row.sent_ms, row.state, row.state_ms);
}

Result<OrderRow> read_order(const Database& database, const Statement& from) {
  OrderRow row;
  long long sum = 0;
  from.read(row.id, row.team, row.member, row.joined_ms, row.kind, row.subject, row.origin, row.by, row.key.value,
            row.sent_ms, row.state, row.state_ms, sum);
  if (sum != sum_of(row)) return database.damaged("order " + std::to_string(row.id) + " is not as it was written");
  return row;
}

}  // namespace

Status ShutdownTable::put(std::string_view team, const Shutdown& row) {
  if (!is_writable(row))
    return Error{"ledger.sql", database_.path() + ": a process of shutdown " + row.request_id + " cannot be written"};
  auto recorded = find(team, row.request_id);
  if (!recorded) return recorded.error();
  if (*recorded) {
    if (auto allowed = may_replace(**recorded, row); !allowed) return allowed;
  }
  const auto& place = row.place;
  return database_.run(
      "INSERT INTO shutdowns (" + shutdown_columns +
          ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, "
          "?22, ?23, ?24, ?25, ?26) "
          "ON CONFLICT (team, request_id) DO UPDATE SET state = excluded.state, nudge_ms = excluded.nudge_ms, "
          "nudged_ms = excluded.nudged_ms, force_ms = excluded.force_ms, timeout_ms = excluded.timeout_ms, "
          "changed_ms = excluded.changed_ms, term_ms = excluded.term_ms, kill_ms = excluded.kill_ms, "
          "survivors = excluded.survivors, answer = excluded.answer, tasks = excluded.tasks, "
          "detail = excluded.detail, sum = excluded.sum",
      team, row.request_id, row.member, row.agent_id, row.by, row.reason, to_string(row.state), row.requested_ms,
      row.nudge_ms, row.nudged_ms, row.force_ms, row.timeout_ms, row.changed_ms, row.term_ms, row.kill_ms,
      place.backend, place.pane_id, process_text(place.server), process_text(place.pane), process_text(place.processes),
      place.left_alone, process_text(row.survivors), row.answer, row.tasks, row.detail, sum_of(team, row));
}

Result<std::optional<Shutdown>> ShutdownTable::find(std::string_view team, std::string_view request_id) {
  return first_row(database_.query(select_shutdowns + "WHERE team = ?1 AND request_id = ?2", team, request_id),
                   read_shutdown, database_);
}

Result<std::vector<Shutdown>> ShutdownTable::open(std::string_view team) {
  const std::string sql =
      select_shutdowns +
      "WHERE team = ?1 AND state IN ('requested', 'approved', 'forced', 'process_gone', 'pane_gone') ORDER BY id";
  return all_rows(database_.query(sql, team), read_shutdown, database_);
}

Result<std::vector<Shutdown>> ShutdownTable::latest(std::string_view team, int limit) {
  return all_rows(database_.query(select_shutdowns + "WHERE team = ?1 ORDER BY id DESC LIMIT ?2", team, limit),
                  read_shutdown, database_);
}

Result<std::vector<std::pair<std::string, Shutdown>>> ShutdownTable::by_id(std::string_view request_id) {
  return all_rows(database_.query(select_shutdowns + "WHERE request_id = ?1 ORDER BY id", request_id), read_named,
                  database_);
}

Result<std::optional<long long>> OrderTable::add(const OrderRow& row) {
  auto added = database_.run(
      "INSERT INTO orders (team, member, joined_ms, kind, subject, origin, by, key, sent_ms, state, state_ms, sum) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) "
      "ON CONFLICT (team, member, joined_ms, kind, origin) DO NOTHING",
      row.team, row.member, row.joined_ms, row.kind, row.subject, row.origin, row.by, row.key.value, row.sent_ms,
      row.state, row.state_ms, sum_of(row));
  if (!added) return added.error();
  return database_.changes() > 0 ? std::optional(database_.last_id()) : std::nullopt;
}

Status OrderTable::set(long long id, std::string_view state, EpochMs at_ms) {
  auto found = first_row(database_.query(select_orders + "WHERE id = ?1", id), read_order, database_);
  if (!found) return found.error();
  if (!*found) return Error{"ledger.sql", database_.path() + ": there is no order " + std::to_string(id)};
  OrderRow& row = **found;
  row.state = state;
  row.state_ms = at_ms;
  return database_.run("UPDATE orders SET state = ?2, state_ms = ?3, sum = ?4 WHERE id = ?1", id, state, at_ms,
                      sum_of(row));
}

Result<std::vector<OrderRow>> OrderTable::of_team(std::string_view team) {
  return all_rows(database_.query(select_orders + "WHERE team = ?1 ORDER BY id", team), read_order, database_);
}

}  // namespace inbox_poller::poller
