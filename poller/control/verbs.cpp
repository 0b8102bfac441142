#include "poller/control/verbs.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <optional>
#include <span>
#include <variant>

#include "poller/control/request.hpp"
#include "poller/control/views.hpp"
#include "schema/nearest.hpp"
#include "schema/operations/order.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

constexpr int trace_limit = 50;
constexpr int quarantine_limit = 200;
constexpr int most_reused = 100;                 // refused messages that `pending` looks at
constexpr EpochMs reused_shown_ms = 3'600'000;  // how long it tells of a reused id

/// What we may not do however we stand in a team, and what it is called where that is refused.
struct Deed {
  std::optional<handlers::Right> right;
  std::string_view name;
};
constexpr Deed writing{handlers::Right::write, "writing to its workers"};

/// A text that a verb cannot do without, and what is said where it is missing.
struct Field {
  std::string_view name;
  std::string_view missing;
};
constexpr Field body{"text", "there is no text to send"};
constexpr Field traced{"id", "`id` must be a message key, the beginning of one, or a request id"};

// What a lead's tool may say (poller/cli/mcp/tools.cpp). All else is a person's to say, and is left out.
constexpr std::string_view lead_looks[] = {"verb"};
constexpr std::string_view lead_allows[] = {"verb", "id", "kind", "message_key", "note"};
constexpr std::string_view lead_denies[] = {"verb", "id", "kind", "message_key", "reason"};
constexpr std::string_view lead_ends[] = {"verb", "member", "reason"};

}  // namespace

Verbs::Verbs(PollLoop& loop, Services& services, std::string ledger_path, Reload reload)
    : loop_(loop),
      services_(services),
      ledger_path_(std::move(ledger_path)),
      started_ms_(services.clock.wall_ms()),
      reload_(std::move(reload)) {}

struct Verbs::Verb {
  using Plain = Object (Verbs::*)(const Object&);
  using OfConnection = Object (Verbs::*)(const Object&, ControlSession&);
  using OfTeam = Object (Verbs::*)(Team&, const Object&);
  using Waits = asio::awaitable<Object> (Verbs::*)(Object, SessionPtr);
  using OfTeamWaits = asio::awaitable<Object> (Verbs::*)(TeamPtr, Object, SessionPtr);

  std::string_view name;
  std::variant<Plain, OfConnection, OfTeam, Waits, OfTeamWaits> work;
  Deed deed = {};
  Field field = {};
  bool has_kind = false;  // `kind` is a kind of ask
  bool by_event = false;  // its team is the one whose lead `event` is of
  // The answer's list. Where it is empty and `team` names none that is served, the answer is that: rows of a team that
  // was served once are shown, a name that nothing is known of is a slip.
  std::string_view list = {};
  std::span<const std::string_view> lead_says = {};  // empty: no tool of a lead's
};

const Verbs::Verb* Verbs::find(std::string_view name) {
  static constexpr Verb table[] = {
      {.name = "status", .work = &Verbs::status, .list = "teams", .lead_says = lead_looks},
      {.name = "pending", .work = &Verbs::pending, .list = "asks", .lead_says = lead_looks},
      {.name = "approve", .work = &Verbs::approve, .has_kind = true, .lead_says = lead_allows},
      {.name = "deny", .work = &Verbs::deny, .has_kind = true, .lead_says = lead_denies},
      {.name = "which", .work = &Verbs::which, .has_kind = true},
      {.name = "send", .work = &Verbs::send, .deed = writing, .field = body},
      {.name = "broadcast", .work = &Verbs::broadcast, .deed = writing, .field = body},
      {.name = "lead", .work = &Verbs::lead},
      {.name = "attach", .work = &Verbs::attach, .by_event = true},
      {.name = "hook", .work = &Verbs::hook},
      {.name = "shown", .work = &Verbs::shown},
      {.name = "worker_call", .work = &Verbs::worker_call},
      {.name = "judge", .work = &Verbs::judge},
      {.name = "decisions", .work = &Verbs::decisions, .list = "decisions"},
      {.name = "recv", .work = &Verbs::receive},
      {.name = "ack", .work = &Verbs::acknowledge},
      {.name = "trace", .work = &Verbs::trace, .field = traced, .has_kind = true},
      {.name = "history", .work = &Verbs::history, .list = "messages"},
      {.name = "shutdown",
       .work = &Verbs::shut_down,
       .deed = {handlers::Right::shut_down, "ending a worker"},
       .lead_says = lead_ends},
      {.name = "shutdowns", .work = &Verbs::shutdowns, .list = "shutdowns"},
      {.name = "mode", .work = &Verbs::mode, .deed = {handlers::Right::order, "setting a mode"}},
      {.name = "assign", .work = &Verbs::assign, .deed = {handlers::Right::order, "assigning a task"}},
      {.name = "allow", .work = &Verbs::allow, .deed = {handlers::Right::keep_rules, "allowing something"}},
      {.name = "revoke", .work = &Verbs::revoke},
      {.name = "rules", .work = &Verbs::rules},
      {.name = "try", .work = &Verbs::try_rules},
      {.name = "suggest", .work = &Verbs::suggest},
      {.name = "reload", .work = &Verbs::reload},
      {.name = "resume", .work = &Verbs::resume},
      {.name = "wait", .work = &Verbs::wait},
      {.name = "changes", .work = &Verbs::changes},
      {.name = "quarantine", .work = &Verbs::quarantine, .list = "entries"},
  };
  const auto* found =
      std::find_if(std::begin(table), std::end(table), [&](const Verb& one) { return one.name == name; });
  return found == std::end(table) ? nullptr : found;
}

asio::awaitable<json::object> Verbs::handle(json::object request, std::shared_ptr<ControlSession> session) {
  const auto name = text(request, "verb");
  services_.telemetry.emit(Event::control_command, {{"type", name}, {"by", text(request, "by")}});
  const Verb* verb = find(name);
  if (verb == nullptr)
    co_return refuse("verb.unknown", "there is no verb \"" + name + "\"; docs/control.md lists them");
  Object problem;
  if (flag(request, "tools")) problem = as_the_lead(*verb, request);
  if (!problem.empty()) co_return problem;
  auto team = team_for(*verb, request, problem);
  if (!problem.empty()) co_return problem;
  if (!verb->field.name.empty() && text(request, verb->field.name).empty())
    co_return refuse("request.invalid", std::string(verb->field.missing));
  if (const auto kind = text(request, "kind");
      verb->has_kind && !kind.empty() && !schema::parse<handlers::AskKind>(kind))
    co_return refuse("request.invalid",
                     "\"" + kind + "\" is no kind of ask; kinds are permission, sandbox, plan and stop");
  if (const auto* work = std::get_if<Verb::Waits>(&verb->work))
    co_return co_await (this->**work)(std::move(request), std::move(session));
  if (const auto* work = std::get_if<Verb::OfTeamWaits>(&verb->work))
    co_return co_await (this->**work)(std::move(team), std::move(request), std::move(session));
  Object answer;
  if (const auto* work = std::get_if<Verb::OfConnection>(&verb->work)) answer = (this->**work)(request, *session);
  if (const auto* work = std::get_if<Verb::OfTeam>(&verb->work)) answer = (this->**work)(*team, request);
  if (const auto* work = std::get_if<Verb::Plain>(&verb->work)) answer = (this->**work)(request);
  const auto* list = answer.if_contains(verb->list);
  if (list != nullptr && list->as_array().empty() && !text(request, "team").empty() && !team_of(request, problem))
    co_return problem;
  co_return answer;
}

Verbs::TeamPtr Verbs::team_for(const Verb& verb, const Object& request, Object& problem) const {
  const bool is_of_team =
      std::holds_alternative<Verb::OfTeam>(verb.work) || std::holds_alternative<Verb::OfTeamWaits>(verb.work);
  if (!is_of_team) return nullptr;
  const bool by_event = verb.by_event && request.contains("event");
  auto team = by_event ? team_of_event(request, problem) : team_of(request, problem);
  if (team && verb.deed.right && !team->context().standing.may(*verb.deed.right))
    problem = not_leader(*team, std::string(verb.deed.name));
  return team;
}

json::object Verbs::as_the_lead(const Verb& verb, Object& request) const {
  if (verb.lead_says.empty())
    return refuse("lead.no_tools", "\"" + std::string(verb.name) + "\" is no tool of a lead's; docs/mcp.md lists them");
  Object problem;
  const auto team = team_of(request, problem);
  if (!team) return problem;
  const auto& context = team->context();
  if (!context.config.lead.mcp_tools)
    return refuse("lead.no_tools", "team " + context.name + " gives its lead no tools for this: it is for a person. Who "
                                   "wants otherwise writes `mcp_tools = true` under [lead] in " + context.config.source);
  Object said{{"team", context.name}, {"by", context.lead}};
  for (const auto name : verb.lead_says)
    if (const auto* value = request.if_contains(name)) said.insert_or_assign(name, *value);
  request = std::move(said);
  return {};
}

json::object Verbs::not_leader(Team& team, const std::string& what) {
  const auto& name = team.context().name;
  const auto& standing = team.context().standing;
  if (standing.stance == handlers::Stance::stopped)
    return refuse("role.not_leader", "we have stopped in team " + name + ": " + standing.reason);
  const bool is_elsewhere = standing.stance == handlers::Stance::satellite || standing.stance == handlers::Stance::standby;
  const std::string why =
      is_elsewhere ? "team " + name + " is not led from this host: " + what + " is for the host that leads"
      : standing.stance == handlers::Stance::front
          ? "another lead speaks to the workers of team " + name + " (role front): " + what + " is for it to do"
          : "team " + name + " is only observed (role observer), nothing is written to it: " + what +
                " is for its lead to do";
  return refuse("role.not_leader", why + (standing.reason.empty() ? "" : "; " + standing.reason));
}

json::object Verbs::no_such_mode(const std::string& name) {
  std::string modes;
  for (const auto mode : schema::values<config::PermissionMode>)
    modes += (modes.empty() ? "" : ", ") + std::string(to_string(mode));
  return refuse("request.invalid", "\"" + name + "\" is no permission mode; modes are " + modes);
}

Verbs::TeamPtr Verbs::served(const std::string& name) const {
  const auto found = loop_.teams().find(name);
  return found == loop_.teams().end() || found->second->retired() ? nullptr : found->second;
}

std::vector<Verbs::TeamPtr> Verbs::all_served(const std::string& wanted) const {
  std::vector<TeamPtr> teams;
  for (const auto& [name, team] : loop_.teams())
    if (!team->retired() && (wanted.empty() || wanted == name)) teams.push_back(team);
  return teams;
}

Verbs::TeamPtr Verbs::team_of(const Object& request, Object& problem) const {
  const auto name = text(request, "team");
  const auto teams = all_served();
  if (!name.empty()) {
    if (auto found = served(name)) return found;
  } else if (teams.size() == 1) {
    return teams.front();
  }
  std::vector<std::string> known;
  for (const auto& team : teams) known.push_back(team->context().name);
  std::string names;
  for (const auto& one : known) names += (names.empty() ? "" : ", ") + one;
  std::string awaited;
  for (const auto& config : loop_.configs())
    if (name.empty() || config.team.claims(name))
      awaited += (awaited.empty() ? "" : ", ") + config.team.team_folder(name.empty() ? config.team.name : name);
  if (name.empty() && !names.empty()) {
    problem = refuse("team.ambiguous", "several teams are served; say which with --team: " + names);
  } else if (!awaited.empty()) {
    problem = refuse("team.absent", (name.empty() ? "no team is served yet" : "team \"" + name + "\" is not there yet") +
                                        "; waiting for a config.json below " + awaited + schema::did_you_mean(name, known));
  } else {
    problem = refuse("team.unknown", (name.empty() ? "no team" : "no team called \"" + name + "\"") + " is served; served: " +
                                         (names.empty() ? "none" : names) + schema::did_you_mean(name, known));
  }
  return nullptr;
}

json::object Verbs::status(const Object& request) {
  operations::Status status{.version = INBOX_POLLER_VERSION,
                            .pid = ::getpid(),
                            .started_ms = started_ms_,
                            .ledger = ledger_path_,
                            .configuration = {operations::texts_of(sources_.files), sources_.dir, sources_.daemon_file},
                            .teams = {}};
  for (const auto& team : all_served(text(request, "team"))) {
    auto view = team_view(*team, services_);
    if (!view) return refuse(view.error());
    status.teams.push_back(std::move(*view));
  }
  return done(status);
}

json::object Verbs::pending(const Object& request) {
  operations::Pending pending;
  for (const auto& team : all_served(text(request, "team")))
    for (const auto* ask : team->asks().shown()) pending.asks.push_back(open_ask_view(*team, *ask));
  // Asks that came under an id of another one, and were denied in words: a person is to know.
  const auto kept = services_.ledger.messages().quarantined(text(request, "team"), most_reused);
  if (!kept) return refuse(kept.error());
  for (const auto& row : *kept)
    if (row.code == "request.id_reused" && row.received_ms > services_.clock.wall_ms() - reused_shown_ms)
      pending.reused_ids.push_back({row.team, row.sender, row.request_id, row.key.value, row.received_ms, row.reason});
  return done(pending);
}

json::object Verbs::send(Team& team, const Object& request) {
  const auto member = text(request, "member");
  const auto key = team.send(member, text(request, "text"), text(request, "summary"));
  if (!key) return refuse(key.error());
  return done(operations::Sent{member, key->value});
}

json::object Verbs::broadcast(Team& team, const Object& request) {
  operations::Broadcast all;
  for (const auto& member : team.context().roster.members) {
    if (member.name == team.context().lead) continue;
    const auto key = team.send(member.name, text(request, "text"), text(request, "summary"), true);
    if (!key) return refuse(key.error());
    all.sent.push_back({member.name, key->value});
  }
  return done(all);
}

json::object Verbs::trace(const Object& request) {
  const auto id = text(request, "id");
  auto view = trace_view(services_.ledger, id, text(request, "kind"), trace_limit);
  if (!view) return refuse(view.error());
  if (view->messages.empty() && view->requests.empty() && view->shutdowns.empty() && view->effects.empty() &&
      view->letters.empty() && view->history.empty())
    return refuse("request.unknown", "nothing with the id \"" + id + "\" is in the ledger");
  return done(*view);
}

json::object Verbs::reload(const Object&) {
  const auto report = reload_();
  if (!report) return refuse(report.error());
  using operations::texts_of;
  operations::Reloaded reloaded{texts_of(report->added), texts_of(report->removed), texts_of(report->changed),
                                texts_of(report->restart), {}};
  for (const auto& [team, ask] : report->answered) reloaded.answered.push_back(ruled_view(team, ask));
  return done(reloaded);
}

json::object Verbs::quarantine(const Object& request) {
  const auto rows = services_.ledger.messages().quarantined(text(request, "team"), limit_of(request, quarantine_limit));
  if (!rows) return refuse(rows.error());
  operations::Quarantine quarantine;
  for (const auto& row : *rows) quarantine.entries.push_back(message_view(row));
  const auto copies = services_.quarantine.list();
  if (!copies) return refuse(copies.error());
  for (const auto& copy : *copies)
    quarantine.files.push_back({copy.path, operations::number_of(copy.size), copy.modified_ms});
  return done(quarantine);
}

}  // namespace inbox_poller::poller
