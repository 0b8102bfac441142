// The verb `hook`: what a hook of the lead's session tells, and what it is answered. Sources: docs/wire.md W25;
// docs/control.md.
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <set>

#include "handlers/hook_proof.hpp"
#include "handlers/lead_permission.hpp"
#include "handlers/lead_session.hpp"
#include "handlers/text.hpp"
#include "poller/control/request.hpp"
#include "poller/control/verbs.hpp"
#include "schema/client_version.hpp"
#include "schema/hook_event.hpp"
#include "schema/ids.hpp"
#include "schema/printable.hpp"

namespace inbox_poller::poller {
namespace json = boost::json;
namespace {

using handlers::HookWay;
using schema::HookEvent;

constexpr std::string_view foreign_session = "lead.foreign_session";
constexpr int most_held = 6;      // Stops in a row; the client overrides the eighth, and what it was told would be lost
constexpr int most_pointers = 3;  // at the same message, unless a person is there
constexpr int names_looked_at = 1000;

/// `%3`; anything else counts as not given.
std::string pane_of(const json::object& request) {
  auto pane = text(request, "pane");
  return schema::is_pane_id(pane) ? pane : std::string();
}

bool tells_of_worker(const HookEvent& event) { return event.name == "TeammateIdle" || event.name == "TaskCompleted"; }

/// How its client runs, as the hook's environment tells.
schema::ClientMode mode_of(const json::object& request) {
  return schema::parse<schema::ClientMode>(text(request, "mode")).value_or(schema::ClientMode::unknown);
}

/// Why this tells of no worker of the team, in whichever session: a session of the client may be the worker's own.
std::string not_its_worker(Team& team, const HookEvent& event, bool team_is_served) {
  const auto& context = team.context();
  const auto known = context.members.find(std::string(schema::bare_name(event.teammate_name)));
  const bool other = team_is_served && event.team_name != context.name;
  if (!other && known != context.members.end() && known->second.present && known->first != context.lead) return {};
  return "\"" + event.teammate_name + "\" is no worker of team " + context.name;
}

Result<HookEvent> event_of(const json::object& request) {
  const auto* event = request.if_contains("event");
  if (event == nullptr || !(event->is_object() || event->is_string()))
    return Error{"request.invalid", "`event` must be the hook's input: the JSON object, or its text"};
  return schema::decode_hook_event(event->is_string() ? std::string(event->get_string()) : json::serialize(*event));
}

/// "2 messages from your team are waiting, from ada, bob. …"; empty when none is.
std::string backlog(const TeamContext& context) {
  const auto counts = context.ledger.deliveries().counts(context.name);
  const auto rows = context.ledger.deliveries().queued_before(context.name, context.clock.wall_ms(), names_looked_at);
  if (!counts || !rows || counts->queued == 0) return {};
  std::set<std::string> names;
  for (const auto& row : *rows)
    if (row.priority != Priority::digest && schema::is_valid_name(row.sender)) names.insert(row.sender);
  std::string from;
  for (const auto& name : names)
    if (from.size() < 500) from += (from.empty() ? ", from " : ", ") + name;
  return std::to_string(counts->queued) + (counts->queued == 1 ? " message" : " messages") + " for the lead of team " +
         schema::printable(context.name) + " waiting in inbox-poller" + from +
         ". This prints them: inbox-poller recv --even-busy --team " + schema::shell_word(context.name);
}

/// False: an event of a tool may be a subagent's, and nothing in it says so.
bool names_subagents(Delivery& delivery) {
  return schema::can(delivery.hook_offers().version(), schema::Ability::names_subagents);
}

/// One event of a lead's session on its way through.
class Reaction {
 public:
  Reaction(std::shared_ptr<Team> team, const HookEvent& event, const json::object& request,
           std::map<std::string, int>& held)
      : team_(std::move(team)),
        delivery_(team_->delivery()),
        event_(event),
        lead_{event.session_id, pane_of(request)},
        mode_(mode_of(request)),
        held_(held) {}

  [[nodiscard]] const std::string& output() const { return output_; }
  /// The messages in it.
  std::optional<HookOffer>& handed_out() { return handed_out_; }

  /// Events that are not known: nothing.
  void react() {
    using Work = void (Reaction::*)();
    static constexpr std::pair<std::string_view, Work> events[] = {
        {"SessionStart", &Reaction::starts},  {"UserPromptSubmit", &Reaction::prompted},
        {"PreToolUse", &Reaction::uses_tool}, {"PostToolUse", &Reaction::used_tool},
        {"Stop", &Reaction::stops},           {"StopFailure", &Reaction::fails},
        {"SessionEnd", &Reaction::ends},      {"Notification", &Reaction::notifies}};
    for (const auto& [name, work] : events)
      if (event_.name == name) (this->*work)();
  }

  void permission() {
    auto& context = team_->context();
    if (!context.config.lead.permissions || event_.tool_name.empty() || event_.tool_input.empty()) return;
    const auto verdict = handlers::judge_lead(event_.tool_name, event_.tool_input, event_.cwd, context.view());
    context.telemetry.emit(Event::lead_permission, {{"team", context.name},
                                                    {"type", event_.tool_name},
                                                    {"new", std::string(config::to_string(verdict.action))},
                                                    {"rule", verdict.rule}});
    if (verdict.action == config::Action::allow) output_ = schema::hook_allow(event_.tool_input);
    if (verdict.action == config::Action::deny)
      output_ = schema::hook_deny("denied by the rule " + handlers::one_line(verdict.rule) + " of inbox-poller" +
                                  (verdict.reason.empty() ? "" : ": " + handlers::one_line(verdict.reason)));
  }

 private:
  void report(LeadEvent event) {
    const bool tells_who = handlers::begins(event_) || delivery_.lead().row().session.empty();
    static_cast<void>(delivery_.lead().report(event, std::nullopt, tells_who ? &lead_ : nullptr));
    if (delivery_.lead().state() == LeadState::idle) team_->poke();
  }

  void starts() {
    // The client compacts in the middle of a turn too.
    const bool goes_on = event_.source == "compact" && delivery_.lead().state() == LeadState::busy;
    report(goes_on ? LeadEvent::tool_used : LeadEvent::session_starts);
    if (!may_speak()) return;
    if (const auto text = backlog(team_->context()); !text.empty()) output_ = schema::hook_context(event_.name, text);
  }

  void prompted() {
    held_.erase(event_.session_id);
    report(LeadEvent::prompt_submitted);
    delivery_.prompt_seen(event_.prompt);
    add_context(HookWay::prompt, true);
  }

  void uses_tool() { report(LeadEvent::tool_used); }

  void used_tool() {
    report(LeadEvent::tool_used);
    // A subagent's context is not the lead's.
    if (names_subagents(delivery_)) add_context(HookWay::tool, false);
  }

  void stops() {
    if (handlers::sign_of(event_) == handlers::HookSign::failure) return fails();
    const auto found = held_.find(event_.session_id);
    const int held = found == held_.end() ? 0 : found->second;
    // Held by somebody else, or by us before a restart: how often is not known, so it is let go.
    const bool is_others = event_.stop_hook_active && held == 0;
    std::string text;
    if (held < most_held && !is_others) {
      // A turn has been running until now, whatever we presumed.
      if (delivery_.lead().state() != LeadState::busy) report(LeadEvent::tool_used);
      text = hand_over(HookWay::stop, true);
    }
    if (text.empty()) {
      held_.erase(event_.session_id);
      report(LeadEvent::turn_stops);
      return;
    }
    held_[event_.session_id] = held + 1;
    report(LeadEvent::turn_continues);
    output_ = schema::hook_continue(
        text, schema::can(delivery_.hook_offers().version(), schema::Ability::takes_stop_context));
  }

  void fails() {
    held_.erase(event_.session_id);
    report(LeadEvent::turn_fails);
  }

  /// Also with the reasons `clear` and `resume`: what goes on then starts anew in a moment, under another id.
  void ends() {
    held_.erase(event_.session_id);
    report(LeadEvent::session_ends);
  }

  /// A person interrupted the turn, perhaps: no event tells that.
  void notifies() {
    const bool is_idle = handlers::sign_of(event_) == handlers::HookSign::idle;
    if (is_idle && delivery_.lead().state() == LeadState::busy) report(LeadEvent::prompt_waits);
  }

  /// False where another way, above the hooks, has the lead's messages.
  [[nodiscard]] bool may_speak() const {
    for (const auto& state : delivery_.routes().ladder()) {
      if (state.way == config::Way::hook) return true;
      if (state.available) return false;
    }
    return false;
  }

  void add_context(HookWay way, bool even_busy) {
    if (const auto text = hand_over(way, even_busy); !text.empty()) output_ = schema::hook_context(event_.name, text);
  }

  /// Lends out what may go now, as one text; empty when there is nothing. A ledger's fault is told where it is met.
  std::string hand_over(HookWay way, bool even_busy) {
    const auto& context = team_->context();
    if (!handlers::reaches_model(way, mode_)) return {};
    Take take;
    take.way = config::Way::hook;
    take.sink = config::to_string(take.way);
    take.max = context.config.delivery.batch;
    take.even_busy = even_busy;
    take.most_text = schema::longest_hook_text - schema::handed_over("").size();
    const auto messages = delivery_.offer(take);
    if (!messages || messages->empty()) return {};
    auto offer = hook_offer(*team_, way, event_.session_id, *messages);
    if (offer.text.size() > schema::longest_hook_text) {
      const auto& first = messages->front();
      delivery_.give_back(*messages, "too long for a hook");
      const bool again = first.attempts > most_pointers && event_.name != "UserPromptSubmit";
      return again ? std::string() : schema::pointer_to(first.from, first.text.size(), context.name);
    }
    auto text = offer.text;
    handed_out_ = std::move(offer);
    return text;
  }

  std::shared_ptr<Team> team_;
  Delivery& delivery_;
  const HookEvent& event_;
  const LeadSession lead_;
  const schema::ClientMode mode_;
  std::map<std::string, int>& held_;
  std::string output_;
  std::optional<HookOffer> handed_out_;
};

/// A turn that was to go on with messages has ended: its client never got them.
void turn_ended_after_all(Team& team) {
  if (team.delivery().lead().row().by == to_string(LeadEvent::turn_continues))
    static_cast<void>(team.delivery().lead().report(LeadEvent::turn_stops));
}

}  // namespace

Verbs::TeamPtr Verbs::team_of_event(const Object& request, Object& problem) const {
  const auto event = event_of(request);
  if (!event) {
    problem = refuse(event.error());
    return nullptr;
  }
  auto candidates = all_served();
  if (candidates.size() < 2 || !text(request, "team").empty()) {
    auto named = team_of(request, problem);
    if (!named) return nullptr;
    candidates = {std::move(named)};
  }
  std::vector<TeamPtr> its;
  std::string why;
  for (const auto& team : candidates) {
    const auto& live = team->delivery().lead().row();
    why = tells_of_worker(*event) ? not_its_worker(*team, *event, served(event->team_name) != nullptr)
                                  : handlers::why_foreign(*event, pane_of(request), mode_of(request),
                                                          {live.session, live.pane}, team->context().view());
    if (why.empty()) its.push_back(team);
  }
  if (its.size() == 1) return its.front();
  if (candidates.size() > 1) why = "session " + event->session_id + " is the lead's of none of the teams served";
  problem = its.empty() ? refuse(std::string(foreign_session), why)
                        : refuse("team.ambiguous", "the event may be of several teams' leads; say which with --team");
  return nullptr;
}

json::object Verbs::hook(const Object& request, ControlSession& session) {
  Object answer{{"ok", true}, {"keys", json::array()}};
  Object problem;
  auto team = team_of_event(request, problem);
  if (!team) {
    if (text(problem, "code") != foreign_session) return problem;
    answer["ignored"] = problem["message"];
    return answer;
  }
  const auto event = event_of(request);
  if (!event) return refuse(event.error());
  if (tells_of_worker(*event)) {
    const bool idle = event->name == "TeammateIdle";
    const auto task = event->task_subject.empty() ? event->task_id : event->task_id + ": " + event->task_subject;
    const auto heard = team->heard_of(std::string(schema::bare_name(event->teammate_name)), idle ? "idle" : "completed",
                                      idle ? "" : handlers::one_line(task));
    return heard ? answer : refuse(heard.error());
  }
  if (event->agent_id.empty()) {
    auto& delivery = team->delivery();
    delivery.hook_offers().client_says(mode_of(request), text(request, "client"), flag(request, "attended"));
    const bool counts = handlers::sign_of(*event) != handlers::HookSign::tool || names_subagents(delivery);
    delivery.heard(*event, counts);
  }
  Reaction reaction(team, *event, request, held_stops_);
  if (event->name == "PermissionRequest")
    reaction.permission();
  else if (event->agent_id.empty())
    reaction.react();
  else
    answer["ignored"] = "an event of a subagent";
  if (!reaction.output().empty()) answer["output"] = reaction.output();
  if (auto& out = reaction.handed_out()) {
    for (const auto& message : out->messages) answer["keys"].as_array().emplace_back(message.key.value);
    lend_to_hook(team, session, *std::move(out));
  }
  return answer;
}

HookOffer hook_offer(Team& team, HookWay way, const std::string& session,
                     const std::vector<Offered>& messages) {
  HookOffer offer;
  offer.way = way;
  offer.session = session;
  offer.text = schema::handed_over(block(messages));
  offer.place = team.delivery().hook_offers().place();
  offer.at = team.context().clock.steady();
  for (const auto& message : messages) {
    Offered& kept = offer.messages.emplace_back();
    kept.id = message.id;
    kept.key = message.key;
    kept.from = message.from;
  }
  return offer;
}

void Verbs::lend_to_hook(const TeamPtr& team, ControlSession& session, HookOffer offer) {
  if (!session.hook) session.hook = std::make_shared<HookTalk>();
  const auto& talk = session.hook;
  if (const auto old = std::exchange(talk->out, std::nullopt))
    if (const auto of = talk->team.lock()) of->delivery().give_back(old->messages, "another batch was asked for");
  talk->team = team;
  talk->out = std::move(offer);
  session.on_close.push_back([team, talk] {
    if (talk->team.lock() != team) return;  // it is another team's by now
    const auto out = std::exchange(talk->out, std::nullopt);
    if (!out) return;
    const auto row = team->context().ledger.messages().find(out->messages.front().key);
    const bool lost = row && *row && (*row)->delivery == DeliveryState::offered;
    team->delivery().give_back(out->messages, "the hook did not say whether it printed them");
    if (lost) turn_ended_after_all(*team);
  });
}

json::object Verbs::shown(const Object& request, ControlSession& session) {
  auto out = session.hook ? std::exchange(session.hook->out, std::nullopt) : std::nullopt;
  const auto team = session.hook ? session.hook->team.lock() : nullptr;
  if (!out || !team) return {{"ok", true}};
  if (flag(request, "printed")) {
    team->delivery().printed(*std::move(out));
  } else {
    team->delivery().unoffer(out->messages, "the hook's time was over before it printed them");
    turn_ended_after_all(*team);
  }
  return {{"ok", true}};
}

Status Verbs::attach_hook(const TeamPtr& team, const Object& request, const SessionPtr& session) {
  if (session->hook && session->hook->out)
    return Error{"request.invalid", "say first (`shown`) whether what was handed out over this connection was printed"};
  auto& delivery = team->delivery();
  auto talk = std::make_shared<HookTalk>();
  talk->team = team;
  talk->session = delivery.lead().row().session;
  TRY(const auto event, request.contains("event") ? event_of(request) : Result<HookEvent>(HookEvent{}));
  auto& holder = waiting_[team->context().name];
  const auto held_by = delivery.routes().is_attached(config::Way::hook) ? holder.lock() : nullptr;
  if (!event.session_id.empty()) {
    talk->session = event.session_id;
    delivery.hook_offers().client_says(mode_of(request), text(request, "client"), flag(request, "attended"));
    delivery.heard(event, false);  // the other hook of this event tells what it means
    if (auto why = handlers::why_not_woken(delivery.hook_offers().client()); !why.empty()) return Error{"lead.not_woken", std::move(why)};
  }
  if (delivery.routes().is_attached(config::Way::hook)) {
    const auto& live = delivery.lead().row().session;
    const bool is_newer = held_by && held_by->session != talk->session &&
                          (handlers::begins(event) || talk->session == live || held_by->session != live);
    if (!is_newer)
      return Error{"lead.attached",
                   "another process holds the lead's hook in team " + team->context().name + "; there can be one"};
    held_by->replaced = true;
    delivery.routes().detach(config::Way::hook);
  }
  if (event.name == "Stop" && delivery.lead().state() == LeadState::busy &&
      delivery.lead().row().by != to_string(LeadEvent::turn_continues)) {
    talk->ended = team->context().clock.steady();
    talk->heard = delivery.lead().reports();
  }
  holder = talk;
  session->hook = std::move(talk);
  return Done{};
}

}  // namespace inbox_poller::poller
