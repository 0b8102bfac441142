#include "poller/control/verbs.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <chrono>
#include <optional>

#include "poller/control/request.hpp"
#include "poller/control/views.hpp"
#include "poller/pause.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

using std::chrono::milliseconds;

constexpr int trace_limit = 50;
constexpr int quarantine_limit = 200;

}  // namespace

Verbs::Verbs(PollLoop& loop, Services& services, std::string ledger_path, Reload reload)
    : loop_(loop),
      services_(services),
      ledger_path_(std::move(ledger_path)),
      started_ms_(services.clock.wall_ms()),
      reload_(std::move(reload)) {}

asio::awaitable<json::object> Verbs::handle(json::object request, std::shared_ptr<ControlSession> session) {
  const auto verb = text(request, "verb");
  services_.telemetry.emit(Event::control_command, {{"type", verb}, {"by", text(request, "by")}});
  using Wait = asio::awaitable<Object> (Verbs::*)(TeamPtr, Object, SessionPtr);
  static constexpr std::pair<std::string_view, Wait> verbs[] = {{"recv", &Verbs::receive},
                                                                {"attach", &Verbs::attach},
                                                                {"judge", &Verbs::judge},
                                                                {"shutdown", &Verbs::shut_down}};
  if (verb == "hook") co_return hook(request, *session);
  if (verb == "shown") co_return shown(request, *session);
  if (verb == "worker_call") co_return co_await worker_call(std::move(request), std::move(session));
  for (const auto& [name, work] : verbs) {
    if (verb != name) continue;
    Object problem;
    const bool by_event = verb == "attach" && request.contains("event");
    auto team = by_event ? team_of_event(request, problem) : team_of(request, problem);
    if (!team) co_return problem;
    co_return co_await (this->*work)(std::move(team), std::move(request), std::move(session));
  }
  co_return handle_now(verb, request);
}

json::object Verbs::handle_now(std::string_view verb, const Object& request) {
  if (verb == "status") return status(request);
  if (verb == "pending") return pending(request);
  if (verb == "approve") return answer(request, true);
  if (verb == "deny") return answer(request, false);
  if (verb == "ack") return acknowledge(request);
  if (verb == "decisions") return decisions(request);
  if (verb == "trace") return trace(request);
  if (verb == "history") return history(request);
  if (verb == "quarantine") return quarantine(request);
  if (verb == "shutdowns") return shutdowns(request);
  if (verb == "reload") return reload();
  return handle_team(verb, request);
}

json::object Verbs::handle_team(std::string_view verb, const Object& request) {
  using Work = Object (Verbs::*)(Team&, const Object&);
  static constexpr std::pair<std::string_view, Work> verbs[] = {
      {"send", &Verbs::send},   {"broadcast", &Verbs::broadcast}, {"lead", &Verbs::lead},
      {"mode", &Verbs::mode},   {"allow", &Verbs::allow},         {"revoke", &Verbs::revoke},
      {"rules", &Verbs::rules}, {"resume", &Verbs::resume}};
  for (const auto& [name, work] : verbs) {
    if (verb != name) continue;
    Object problem;
    const auto team = team_of(request, problem);
    return team ? (this->*work)(*team, request) : problem;
  }
  return refuse("verb.unknown", "there is no verb \"" + std::string(verb) + "\"; docs/control.md lists them");
}

json::object Verbs::not_leader(Team& team, const std::string& what) {
  const auto& name = team.context().name;
  const auto& standing = team.standing();
  if (standing.stopped) return refuse("role.not_leader", "we have stopped in team " + name + ": " + standing.reason);
  const std::string why =
      standing.role == config::Role::front
          ? "another lead speaks to the workers of team " + name + " (role front): " + what + " is for it to do"
          : "team " + name + " is only observed (role observer), nothing is written to it: " + what +
                " is for its lead to do";
  return refuse("role.not_leader", why + (standing.reason.empty() ? "" : "; " + standing.reason));
}

json::object Verbs::no_such_mode(const std::string& name) {
  std::string modes;
  for (const auto mode : config::permission_modes) modes += (modes.empty() ? "" : ", ") + std::string(to_string(mode));
  return refuse("request.invalid", "\"" + name + "\" is no permission mode; modes are " + modes);
}

Verbs::TeamPtr Verbs::served(const std::string& name) const {
  const auto found = loop_.teams().find(name);
  return found == loop_.teams().end() || found->second->retired() ? nullptr : found->second;
}

std::vector<Verbs::TeamPtr> Verbs::all_served() const {
  std::vector<TeamPtr> teams;
  for (const auto& [name, team] : loop_.teams())
    if (!team->retired()) teams.push_back(team);
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
  std::string names;
  for (const auto& team : teams) names += (names.empty() ? "" : ", ") + team->context().name;
  if (names.empty()) {
    std::string waited;
    for (const auto& config : loop_.configs())
      waited += (waited.empty() ? "" : ", ") + config.team.root + "/" + config.team.name;
    problem = refuse("team.unknown", "no team is served yet; waiting for a config.json below " + waited);
  } else if (name.empty()) {
    problem = refuse("team.ambiguous", "several teams are served; say which with --team: " + names);
  } else {
    problem = refuse("team.unknown", "no team called \"" + name + "\" is served; served: " + names);
  }
  return nullptr;
}

bool Verbs::is_unknown(const Object& request, Object& problem) const {
  return !text(request, "team").empty() && !team_of(request, problem);
}

json::object Verbs::status(const Object& request) {
  const auto wanted = text(request, "team");
  json::array teams;
  for (const auto& team : all_served()) {
    if (!wanted.empty() && wanted != team->context().name) continue;
    auto view = team_view(*team, services_);
    if (!view) return refuse(view.error());
    teams.push_back(std::move(*view));
  }
  if (!wanted.empty() && teams.empty()) {
    Object problem;
    static_cast<void>(team_of(request, problem));
    return problem;
  }
  return {{"ok", true},
          {"version", INBOX_POLLER_VERSION},
          {"pid", static_cast<std::int64_t>(::getpid())},
          {"started_ms", started_ms_},
          {"ledger", ledger_path_},
          {"teams", std::move(teams)}};
}

json::object Verbs::pending(const Object& request) {
  const auto wanted = text(request, "team");
  if (Object problem; is_unknown(request, problem)) return problem;
  json::array asks;
  for (const auto& team : all_served())
    if (wanted.empty() || wanted == team->context().name)
      for (const auto& ask : team->asks().open()) {
        asks.push_back(request_view(team->context().name, ask));
        add_worth(asks.back().as_object(), team->context().worth(ask.asker));
      }
  return {{"ok", true}, {"asks", std::move(asks)}};
}

json::object Verbs::send(Team& team, const Object& request) {
  if (team.standing().role == config::Role::observer) return not_leader(team, "writing to its workers");
  const auto to = text(request, "to");
  const auto body = text(request, "text");
  if (body.empty()) return refuse("request.invalid", "there is no text to send");
  const auto key = team.send(to, body, text(request, "summary"));
  if (!key) return refuse(key.error());
  return {{"ok", true}, {"to", to}, {"message_key", key->value}};
}

json::object Verbs::broadcast(Team& team, const Object& request) {
  if (team.standing().role == config::Role::observer) return not_leader(team, "writing to its workers");
  const auto body = text(request, "text");
  if (body.empty()) return refuse("request.invalid", "there is no text to send");
  json::array sent;
  for (const auto& member : team.context().roster.members) {
    if (member.name == team.context().lead) continue;
    const auto key = team.send(member.name, body, text(request, "summary"));
    if (!key) return refuse(key.error());
    sent.push_back(Object{{"to", member.name}, {"message_key", key->value}});
  }
  return {{"ok", true}, {"sent", std::move(sent)}};
}

json::object Verbs::trace(const Object& request) {
  const auto id = text(request, "id");
  if (id.empty()) return refuse("request.invalid", "`id` must be a message key, the beginning of one, or a request id");
  const auto kind = text(request, "kind");
  if (!kind.empty() && !handlers::parse_request_kind(kind))
    return refuse("request.invalid", "\"" + kind + "\" is no kind of ask; kinds are permission, sandbox, plan and stop");
  auto view = trace_view(services_.ledger, id, kind, trace_limit);
  if (!view) return refuse(view.error());
  const auto nothing = [&](std::string_view list) { return view->at(list).as_array().empty(); };
  if (nothing("messages") && nothing("requests") && nothing("shutdowns") && nothing("effects") && nothing("history"))
    return refuse("request.unknown", "nothing with the id \"" + id + "\" is in the ledger");
  view->emplace("ok", true);
  return std::move(*view);
}

json::object Verbs::reload() {
  const auto report = reload_();
  if (!report) return refuse(report.error());
  const auto list = [](const std::vector<std::string>& names) { return json::array(names.begin(), names.end()); };
  return {{"ok", true},
          {"added", list(report->added)},
          {"removed", list(report->removed)},
          {"changed", list(report->changed)},
          {"restart", list(report->restart)}};
}

json::object Verbs::quarantine(const Object& request) {
  const auto limit =
      static_cast<int>(std::clamp<long long>(number(request, "limit").value_or(quarantine_limit), 1, 10'000));
  const auto rows = services_.ledger.quarantined(text(request, "team"), limit);
  if (!rows) return refuse(rows.error());
  json::array entries;
  for (const auto& row : *rows) entries.push_back(message_view(row));
  if (Object problem; entries.empty() && is_unknown(request, problem)) return problem;
  const auto copies = services_.quarantine.list();
  if (!copies) return refuse(copies.error());
  json::array kept;
  for (const auto& copy : *copies)
    kept.push_back(Object{{"path", copy.path}, {"size", copy.size}, {"modified_ms", copy.modified_ms}});
  return {{"ok", true}, {"entries", std::move(entries)}, {"files", std::move(kept)}};
}

}  // namespace inbox_poller::poller
