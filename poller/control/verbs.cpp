#include "poller/control/verbs.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <optional>
#include <span>
#include <tuple>

#include "poller/control/client.hpp"
#include "poller/control/request.hpp"
#include "poller/control/shorten.hpp"
#include "poller/control/views.hpp"
#include "schema/codec.hpp"
#include "schema/nearest.hpp"
#include "schema/operations/field_name.hpp"

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

constexpr int trace_limit = 50;
constexpr int most_reused = 100;                 // rejected messages that `pending` reads
constexpr EpochMs reused_shown_ms = 3'600'000;  // how long a reused id is shown

// Fields that a lead's tool may set; others are a person's decision and are left out.
template <auto... fields>
constexpr auto said_by_lead = std::array{operations::name_of<fields>()...};

constexpr auto lead_looks = said_by_lead<&arguments::Envelope::verb>;
constexpr auto lead_allows = said_by_lead<&arguments::Approve::ids, &arguments::Approve::kind,
                                          &arguments::Approve::message_key, &arguments::Approve::note>;
constexpr auto lead_denies = said_by_lead<&arguments::Deny::ids, &arguments::Deny::kind, &arguments::Deny::message_key,
                                          &arguments::Deny::reason>;
constexpr auto lead_ends = said_by_lead<&arguments::Shutdown::member, &arguments::Shutdown::reason>;

/// Derives the request and the answer type from a verb's function.
template <class>
struct Form;
template <class T>
struct Form<Result<T>> {
  using Answer = T;
  static constexpr bool waits = false;
};
template <class T>
struct Form<asio::awaitable<Result<T>>> : Form<Result<T>> {
  static constexpr bool waits = true;
};
template <class Returns, class... Takes>
struct Form<Returns (Verbs::*)(Takes...)> : Form<Returns> {
  using First = std::tuple_element_t<0, std::tuple<std::decay_t<Takes>...>>;
  static constexpr bool of_team = std::is_same_v<First, Team> || std::is_same_v<First, std::shared_ptr<Team>>;
  using Request = std::tuple_element_t<of_team ? 1 : 0, std::tuple<std::decay_t<Takes>...>>;
};

/// Refuses a text that is more than words to a worker's client.
Status are_words(std::string_view text) {
  const auto payload = schema::decode_payload(text);
  if (std::holds_alternative<schema::PlainText>(payload)) return Done{};
  return Error{"message.control", "a worker's client may act on a text of the type \"" + std::string(schema::type_name(payload)) +
                                      "\" instead of showing it. Orders and answers have commands of their own: approve, "
                                      "deny, mode, allow, shutdown. Send words, or leave \"type\" out"};
}

}  // namespace

Verbs::Verbs(PollLoop& loop, Runtime& services, std::string ledger_path, Reload reload)
    : loop_(loop),
      services_(services),
      ledger_path_(std::move(ledger_path)),
      started_ms_(services.clock.wall_ms()),
      reload_(std::move(reload)) {}

struct Verbs::Verb {
  std::string_view name;
  asio::awaitable<Result<Object>> (*run)(Verbs&, const Verb&, Object request, SessionPtr);
  std::span<const std::string_view> lead_says = {};  // empty: not available to a lead's tools
  // Right that the verb needs in the team, whatever our role, and its name in the refusal.
  std::optional<handlers::Right> right = {};
  std::string_view deed = {};
};

/// Calls the function of a verb. `list` is a member of its answer. If it is empty and the named team is not served, the
/// answer is an error about the team. Rows of a formerly served team are shown; an unknown name is a typing error.
template <auto work, auto list>
struct Verbs::Row {
  using Its = Form<decltype(work)>;
  using Request = typename Its::Request;
  static_assert(std::is_same_v<typename Its::Answer, typename Request::Answer>);

  static asio::awaitable<Result<Object>> run(Verbs& verbs, const Verb& verb, Object said, SessionPtr session) {
    auto request = operations::decode<Request>(said);
    TeamPtr team;
    if constexpr (Its::of_team) {
      CO_TRY(team, team_for(verbs, verb, request));
    }
    if (const Status fits = check(request); !fits) co_return fits.error();
    if constexpr (Its::waits && Its::of_team) {
      auto working = (verbs.*work)(std::move(team), std::move(request), std::move(session));
      CO_TRY(const auto answer, co_await std::move(working));
      co_return done(answer);
    } else if constexpr (Its::waits) {
      auto working = (verbs.*work)(std::move(request), std::move(session));
      CO_TRY(const auto answer, co_await std::move(working));
      co_return done(answer);
    } else if constexpr (std::is_same_v<typename Its::Answer, Done>) {
      CO_TRY((verbs.*work)(request, *session));
      co_return Object{{"ok", true}};
    } else {
      CO_TRY(const auto answer, call(verbs, team, request, *session));
      if constexpr (!std::is_null_pointer_v<decltype(list)>) {
        if ((answer.*list).empty() && !request.team.empty()) CO_TRY(verbs.team_of(request.team));
      }
      Object told = done(answer);
      // A hook has a session, and its mail is never cut.
      if constexpr (!requires { (verbs.*work)(request, *session); })
        shorten(told, max_answer_bytes - (std::size_t{1} << 20));
      co_return told;
    }
  }

  static Result<TeamPtr> team_named_by(const Verbs& verbs, const Request& request) {
    if constexpr (std::is_base_of_v<arguments::Heard, Request>) {
      if (!request.event.is_null()) {
        TRY(const auto event, event_of(request));
        return verbs.team_of_event(event, request);
      }
    }
    return verbs.team_of(request.team);
  }

  /// Finds the request's team and checks our right to the verb.
  static Result<TeamPtr> team_for(const Verbs& verbs, const Verb& verb, const Request& request) {
    TRY(auto team, team_named_by(verbs, request));
    if (verb.right && !team->context().membership.may(*verb.right)) return not_leader(*team, std::string(verb.deed));
    return team;
  }

  static Status check(const Request& request) {
    if constexpr (requires { Request::need; }) {
      if (!arguments::on_wire(request).contains(Request::need.field))
        return Error{"request.invalid", std::string(Request::need.why)};
    }
    if constexpr (requires { request.kind; }) {
      if (const auto& kind = request.kind.bytes; !kind.empty() && !schema::parse<handlers::RequestKind>(kind))
        return Error{"request.invalid", "\"" + kind + "\" is not a kind of request; use permission, sandbox, plan or stop"};
    }
    return Done{};
  }

  static Result<typename Its::Answer> call(Verbs& verbs, const TeamPtr& team, const Request& request, ControlSession& session) {
    if constexpr (Its::of_team)
      return (verbs.*work)(*team, request);
    else if constexpr (requires { (verbs.*work)(request, session); })
      return (verbs.*work)(request, session);
    else
      return (verbs.*work)(request);
  }

  static constexpr Verb of(std::span<const std::string_view> lead_says = {}) { return {Request::verb, &run, lead_says}; }
  static constexpr Verb needs(handlers::Right right, std::string_view deed, std::span<const std::string_view> lead_says = {}) {
    return {Request::verb, &run, lead_says, right, deed};
  }
};

const Verbs::Verb* Verbs::find(std::string_view name) {
  using handlers::Right;
  static constexpr std::string_view writing = "writing to its workers";
  static constexpr Verb table[] = {
      Row<&Verbs::status, &operations::Status::teams>::of(lead_looks),
      Row<&Verbs::pending, &operations::Pending::requests>::of(lead_looks),
      Row<&Verbs::approve>::of(lead_allows),
      Row<&Verbs::deny>::of(lead_denies),
      Row<&Verbs::resolve>::of(),
      Row<&Verbs::send>::needs(Right::write, writing),
      Row<&Verbs::broadcast>::needs(Right::write, writing),
      Row<&Verbs::lead>::of(),
      Row<&Verbs::attach>::of(),
      Row<&Verbs::hook>::of(),
      Row<&Verbs::shown>::of(),
      Row<&Verbs::worker_call>::of(),
      Row<&Verbs::worker_turn>::of(),
      Row<&Verbs::evaluate>::of(),
      Row<&Verbs::decisions, &operations::Decisions::decisions>::of(),
      Row<&Verbs::receive>::of(),
      Row<&Verbs::acknowledge>::of(),
      Row<&Verbs::trace>::of(),
      Row<&Verbs::history, &operations::History::messages>::of(),
      Row<&Verbs::shut_down>::needs(Right::shut_down, "ending a worker", lead_ends),
      Row<&Verbs::shutdowns, &operations::Shutdowns::shutdowns>::of(),
      Row<&Verbs::mode>::needs(Right::order, "setting a mode"),
      Row<&Verbs::assign>::needs(Right::order, "assigning a task"),
      Row<&Verbs::allow>::needs(Right::keep_rules, "allowing something"),
      Row<&Verbs::revoke>::of(),
      Row<&Verbs::rules>::of(),
      Row<&Verbs::dry_run>::of(),
      Row<&Verbs::suggest_rules>::of(),
      Row<&Verbs::reload>::of(),
      Row<&Verbs::resume>::of(),
      Row<&Verbs::wait>::of(),
      Row<&Verbs::changes>::of(),
      Row<&Verbs::quarantine, &operations::Quarantine::entries>::of(),
  };
  const auto* found =
      std::find_if(std::begin(table), std::end(table), [&](const Verb& one) { return one.name == name; });
  return found == std::end(table) ? nullptr : found;
}

asio::awaitable<json::object> Verbs::handle(json::object request, std::shared_ptr<ControlSession> session) {
  const auto envelope = operations::decode<arguments::Envelope>(request);
  services_.telemetry.emit(Event::control_command, {{"type", envelope.verb}, {"by", envelope.by}});
  const Verb* verb = find(envelope.verb);
  if (verb == nullptr)
    co_return refuse("verb.unknown", "verb \"" + envelope.verb + "\" does not exist; docs/reference/control.md lists all verbs");
  if (envelope.tools) {
    auto said = as_the_lead(*verb, request);
    if (!said) co_return refuse(said.error());
    request = *std::move(said);
  }
  auto running = verb->run(*this, *verb, std::move(request), std::move(session));
  auto answer = co_await std::move(running);
  co_return answer ? *std::move(answer) : refuse(answer.error());
}

Result<json::object> Verbs::as_the_lead(const Verb& verb, const Object& request) const {
  if (verb.lead_says.empty())
    return Error{"lead.no_tools", "\"" + std::string(verb.name) + "\" is not a tool of a lead; docs/reference/mcp.md lists them"};
  const auto* named = request.if_contains("team");
  TRY(const auto team, team_of(named != nullptr && named->is_string() ? std::string(named->get_string()) : ""));
  const auto& context = team->context();
  if (!context.config.lead.mcp_tools)
    return Error{"lead.no_tools", "team " + context.name + " gives its lead no tools for this: it is for a person. Who "
                                  "wants otherwise writes `mcp_tools = true` under [lead] in " + context.config.source};
  Object said{{"team", context.name}, {"by", context.lead}};
  for (const auto name : verb.lead_says)
    if (const auto* value = request.if_contains(name)) said.insert_or_assign(name, *value);
  if (const auto* ids = said.if_contains(operations::name_of<&arguments::Verdict::ids>()))
    if (!ids->is_array() || ids->get_array().size() != 1)
      return Error{"request.invalid", "a tool of the lead's answers one request at a time"};
  return said;
}

Error Verbs::not_leader(Team& team, const std::string& what) {
  const auto& name = team.context().name;
  const auto& membership = team.context().membership;
  if (membership.role == handlers::EffectiveRole::paused)
    return Error{"role.not_leader", "InboxPoller is paused in team " + name + ": " + membership.reason};
  const bool is_elsewhere =
      membership.role == handlers::EffectiveRole::follower || membership.role == handlers::EffectiveRole::standby;
  const std::string why =
      is_elsewhere ? "team " + name + " is not led from this node: " + what + " is for the node that leads"
      : membership.role == handlers::EffectiveRole::interceptor
          ? "another lead speaks to the workers of team " + name + " (role interceptor): " + what + " is for it to do"
          : "team " + name + " is only observed (role observer), nothing is written to it: " + what +
                " is for its lead to do";
  return Error{"role.not_leader", why + (membership.reason.empty() ? "" : "; " + membership.reason)};
}

Error Verbs::no_such_mode(const std::string& name) {
  std::string modes;
  std::vector<std::string> names;
  for (const auto mode : schema::values<config::PermissionMode>) {
    names.emplace_back(to_string(mode));
    modes += (modes.empty() ? "" : ", ") + names.back();
  }
  return Error{"request.invalid", "MODE: unknown permission mode \"" + name + '"' + schema::did_you_mean(name, names) +
                                      " (" + modes + ")"};
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

Result<Verbs::TeamPtr> Verbs::team_of(const std::string& name) const {
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
  if (name.empty() && !names.empty())
    return Error{"team.ambiguous", "several teams are served; say which with --team: " + names};
  const std::string meant = schema::did_you_mean(name, known);
  if (!awaited.empty())
    return Error{"team.absent", (name.empty() ? "no team is served yet" : "team \"" + name + "\" is not there yet") + meant +
                                    (meant.empty() ? "; the daemon" : " The daemon") + " waits for a config.json below " + awaited};
  if (name.empty()) return Error{"team.unknown", "no team is served"};
  return Error{"team.unknown", "team \"" + name + "\" is not served" + meant + (meant.empty() ? "; served" : " Served") + " are: " +
                                   (names.empty() ? "none" : names)};
}

Result<operations::Status> Verbs::status(const arguments::Status& request) {
  operations::Status status{.version = INBOX_POLLER_VERSION,
                            .pid = ::getpid(),
                            .started_ms = started_ms_,
                            .ledger = ledger_path_,
                            .configuration = {operations::texts_of(sources_.files), sources_.dir, sources_.daemon_file},
                            .teams = {}};
  for (const auto& team : all_served(request.team)) {
    TRY(auto view, team_view(*team, services_));
    status.teams.push_back(std::move(view));
  }
  return status;
}

Result<operations::Pending> Verbs::pending(const arguments::Pending& request) {
  operations::Pending pending;
  for (const auto& team : all_served(request.team))
    for (const auto* one : team->requests().shown()) pending.requests.push_back(open_request_view(*team, *one));
  // Show requests that reused another one's id and were denied by a text, because a person must know.
  TRY(const auto kept, services_.ledger.messages().quarantined(request.team, most_reused));
  for (const auto& row : kept)
    if (row.code == "request.id_reused" && row.received_ms > services_.clock.wall_ms() - reused_shown_ms)
      pending.reused_ids.push_back({row.team, row.sender, row.request_id, row.key.value, row.received_ms, row.reason});
  return pending;
}

Result<operations::Sent> Verbs::send(Team& team, const arguments::Send& request) {
  TRY(are_words(request.text));
  TRY(const auto key, team.send(request.member, request.text, request.summary));
  return operations::Sent{request.member, key.value};
}

Result<operations::Broadcast> Verbs::broadcast(Team& team, const arguments::Broadcast& request) {
  TRY(are_words(request.text));
  operations::Broadcast all;
  for (const auto& member : team.context().roster.members) {
    if (member.name == team.context().lead) continue;
    TRY(const auto key, team.send(member.name, request.text, request.summary, true));
    all.sent.push_back({member.name, key.value});
  }
  return all;
}

Result<operations::Trace> Verbs::trace(const arguments::Trace& request) {
  TRY(auto view, trace_view(services_.ledger, request.id, request.kind.bytes, trace_limit));
  if (view.messages.empty() && view.requests.empty() && view.shutdowns.empty() && view.effects.empty() &&
      view.node_messages.empty() && view.history.empty())
    return Error{"request.unknown", "nothing with the id \"" + request.id + "\" is in the ledger"};
  return view;
}

Result<operations::Reloaded> Verbs::reload(const arguments::Reload&) {
  TRY(const auto report, reload_());
  using operations::texts_of;
  operations::Reloaded reloaded{texts_of(report.added), texts_of(report.removed), texts_of(report.changed),
                                texts_of(report.restart), texts_of(report.warnings), {}};
  for (const auto& [team, request] : report.answered) reloaded.answered.push_back(ruled_view(team, request));
  return reloaded;
}

Result<operations::Quarantine> Verbs::quarantine(const arguments::Quarantine& request) {
  TRY(const auto rows, services_.ledger.messages().quarantined(request.team, limit_of(request)));
  operations::Quarantine quarantine;
  for (const auto& row : rows) quarantine.entries.push_back(message_view(row));
  TRY(const auto copies, services_.quarantine.list());
  for (const auto& copy : copies)
    quarantine.files.push_back({copy.path, operations::number_of(copy.size), copy.modified_ms});
  return quarantine;
}

}  // namespace inbox_poller::poller
