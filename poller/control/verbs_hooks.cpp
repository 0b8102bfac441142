// The verb `hook`: evaluates an event from a hook of the lead's session, and answers it. Sources:
// docs/reference/wire.md W25; docs/reference/control.md.
#include <algorithm>
#include <boost/json/serialize.hpp>
#include <set>

#include "handlers/hook_policy.hpp"
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

using handlers::OfferingHook;
using schema::HookEvent;

constexpr std::string_view foreign_session = "lead.foreign_session";
constexpr int names_looked_at = 1000;

/// Returns a pane id such as `%3`; any other text counts as missing.
std::string pane_of(const arguments::Heard& request) {
  return schema::is_pane_id(request.pane) ? request.pane : std::string();
}

/// Returns the mode of the hook's client, from the hook's environment.
schema::ClientMode mode_of(const arguments::Heard& request) {
  return schema::parse<schema::ClientMode>(request.mode.bytes).value_or(schema::ClientMode::unknown);
}

/// Checks that the event is about a worker of this team, in any session, because the session may be the worker's own.
std::string not_its_worker(Team& team, const HookEvent& event, bool team_is_served) {
  const auto& context = team.context();
  const auto known = context.members.find(std::string(schema::bare_name(event.teammate_name)));
  const bool present = known != context.members.end() && known->second.present && known->first != context.lead;
  return handlers::why_no_worker_of(event, context.name, present, team_is_served && event.team_name != context.name);
}

/// Describes the number of waiting messages in a line; empty when there are none.
std::string backlog(const TeamState& context) {
  const auto counts = context.ledger.deliveries().counts(context.name);
  const auto rows = context.ledger.deliveries().queued(context.name, names_looked_at);
  if (!counts || !rows || counts->queued == 0) return {};
  std::set<std::string> senders;
  for (const auto& row : *rows)
    if (row.priority != Priority::digest && schema::is_valid_name(row.sender)) senders.insert(row.sender);
  return handlers::backlog_line(context.name, counts->queued, senders);
}

/// False if a tool event may come from a subagent without naming it. The present event may be the first with the
/// version.
bool names_subagents(Delivery& delivery) {
  return schema::can(delivery.hook_offers().version(), schema::Ability::names_subagents);
}

/// State of one event of a lead's session while it is handled.
class HookResult {
 public:
  HookResult(std::shared_ptr<Team> team, const HookEvent& event, const arguments::Heard& request,
             std::map<std::string, int>& held)
      : team_(std::move(team)),
        delivery_(team_->delivery()),
        event_(event),
        lead_{event.session_id, pane_of(request)},
        mode_(mode_of(request)),
        held_(held) {}

  [[nodiscard]] const std::string& output() const { return output_; }
  /// The leased messages in it.
  std::optional<HookOffer>& handed_out() { return handed_out_; }

  /// Applies the reaction that handlers/hook_policy.hpp selects.
  void react() {
    const auto found = held_.find(event_.session_id);
    const int held = found == held_.end() ? 0 : found->second;
    const auto plan = handlers::plan_of(
        event_, {delivery_.lead().state(), held, mode_, names_subagents(delivery_), hook_is_first()});
    if (plan.lets_go) held_.erase(event_.session_id);
    report(plan.told);
    if (plan.confirms_prompt) delivery_.prompt_seen(event_.prompt);
    auto text = plan.offers ? hand_over(*plan.offers, plan.ignore_busy) : std::string();
    report(text.empty() ? plan.nothing_left : plan.handed_over);
    if (plan.offers == OfferingHook::stop && !text.empty()) {
      held_[event_.session_id] = held + 1;
      output_ = schema::hook_continue(
          text, schema::can(delivery_.hook_offers().version(), schema::Ability::takes_stop_context));
      return;
    }
    if (plan.nothing_left) held_.erase(event_.session_id);
    if (plan.backlog) text = backlog(team_->context());
    if (!text.empty()) output_ = schema::hook_context(event_.name, text);
  }

  void permission() {
    auto& context = team_->context();
    if (!context.config.lead.permissions || event_.tool_name.empty() || event_.tool_input.empty()) return;
    const auto verdict = handlers::judge_lead(event_.tool_name, event_.tool_input, event_.cwd, context.view());
    context.telemetry.emit(Event::lead_permission, {{"team", context.name},
                                                    {"type", event_.tool_name},
                                                    {"action", std::string(config::to_string(verdict.action))},
                                                    {"rule", verdict.rule}});
    if (verdict.action == config::Action::allow) output_ = schema::hook_allow(event_.tool_input);
    if (verdict.action == config::Action::deny)
      output_ = schema::hook_deny("denied by the rule " + handlers::one_line(verdict.rule) + " of inbox-poller" +
                                  (verdict.reason.empty() ? "" : ": " + handlers::one_line(verdict.reason)));
  }

 private:
  void report(const std::optional<LeadEvent>& event) {
    if (!event) return;
    const bool tells_who = handlers::begins(event_) || delivery_.lead().row().session.empty();
    static_cast<void>(delivery_.lead().report(*event, std::nullopt, tells_who ? &lead_ : nullptr));
    if (delivery_.lead().state() == LeadState::idle) team_->wake();
  }

  /// False if a delivery method before the hooks has the lead's messages.
  [[nodiscard]] bool hook_is_first() const {
    for (const auto& state : delivery_.routes().methods()) {
      if (state.method == config::DeliveryMethod::hook) return true;
      if (state.available) return false;
    }
    return false;
  }

  /// Leases messages and returns their text; empty when there are none. A ledger fault is logged at its source.
  std::string hand_over(OfferingHook hook, bool ignore_busy) {
    const auto& context = team_->context();
    FetchOptions fetch;
    fetch.method = config::DeliveryMethod::hook;
    fetch.receiver = config::to_string(fetch.method);
    fetch.max = context.config.delivery.batch;
    fetch.ignore_busy = ignore_busy;
    fetch.most_text = schema::longest_hook_text - schema::handed_over("").size();
    const auto messages = delivery_.offer(fetch);
    if (!messages || messages->empty()) return {};
    auto offer = hook_offer(*team_, hook, event_.session_id, *messages);
    offer.prompt = event_.prompt;
    if (offer.text.size() > schema::longest_hook_text) {
      const auto& first = messages->front();
      delivery_.requeue(*messages, "too long for a hook");
      if (!handlers::is_pointed_at(event_, first.attempts)) return {};
      return schema::pointer_to(first.from, first.text.size(), context.name);
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

/// Handles the end of a turn that was to continue with messages: its client never got them.
void turn_ended_after_all(Team& team) {
  if (team.delivery().lead().row().by == to_string(LeadEvent::turn_continues))
    static_cast<void>(team.delivery().lead().report(LeadEvent::turn_stops));
}

}  // namespace

Result<HookEvent> event_of(const arguments::Heard& request) {
  const auto& event = request.event;
  if (!event.is_object() && !event.is_string())
    return Error{"request.invalid", "`event` must be the hook's input: the JSON object, or its text"};
  return schema::decode_hook_event(event.is_string() ? std::string(event.get_string()) : json::serialize(event));
}

Result<Verbs::TeamPtr> Verbs::team_of_event(const HookEvent& event, const arguments::Heard& request) const {
  auto candidates = all_served();
  if (candidates.size() < 2 || !request.team.empty()) {
    TRY(auto named, team_of(request.team));
    candidates = {std::move(named)};
  }
  std::vector<TeamPtr> its;
  std::string why;
  for (const auto& team : candidates) {
    const auto& live = team->delivery().lead().row();
    why = handlers::tells_of_worker(event) ? not_its_worker(*team, event, served(event.team_name) != nullptr)
                                           : handlers::why_foreign(event, pane_of(request), mode_of(request),
                                                                   {live.session, live.pane}, team->context().view());
    if (why.empty()) its.push_back(team);
  }
  if (its.size() == 1) return its.front();
  if (candidates.size() > 1) why = "session " + event.session_id + " is the lead's of none of the teams served";
  if (its.empty()) return Error{std::string(foreign_session), why};
  return Error{"team.ambiguous", "the event may be of several teams' leads; say which with --team"};
}

Result<operations::HookAnswer> Verbs::hook(const arguments::Hook& request, ControlSession& session) {
  operations::HookAnswer answer;
  TRY(const auto event, event_of(request));
  const auto found = team_of_event(event, request);
  if (!found && found.error().code != foreign_session) return found.error();
  if (!found) {
    answer.ignored = found.error().message;
    return answer;
  }
  const auto& team = *found;
  if (handlers::tells_of_worker(event)) {
    const bool idle = event.name == "TeammateIdle";
    const auto task = event.task_subject.empty() ? event.task_id : event.task_id + ": " + event.task_subject;
    TRY(team->heard_of(std::string(schema::bare_name(event.teammate_name)),
                       idle ? handlers::WorkerReport::idle : handlers::WorkerReport::completed,
                       idle ? "" : handlers::one_line(task)));
    return answer;
  }
  const bool is_leads_own = event.agent_id.empty();
  if (is_leads_own) {
    auto& delivery = team->delivery();
    delivery.hook_offers().client_says(mode_of(request), request.client, request.attended);
    delivery.heard(event, handlers::sign_of(event) != handlers::HookSign::tool || names_subagents(delivery));
  }
  HookResult reaction(team, event, request, held_stops_);
  if (event.name == "PermissionRequest")
    reaction.permission();
  else if (is_leads_own)
    reaction.react();
  else
    answer.ignored = "an event of a subagent";
  if (!reaction.output().empty()) answer.output = reaction.output();
  if (auto& out = reaction.handed_out()) {
    for (const auto& message : out->messages) answer.keys.emplace_back(message.key.value);
    hold_for_hook(team, session, *std::move(out));
  }
  return answer;
}

HookOffer hook_offer(Team& team, OfferingHook hook, const std::string& session,
                     const std::vector<LeasedMessage>& messages) {
  HookOffer offer;
  offer.hook = hook;
  offer.session = session;
  offer.text = schema::handed_over(block(messages));
  offer.place = team.delivery().hook_offers().place();
  offer.at = team.context().clock.steady();
  for (const auto& message : messages) {
    LeasedMessage& kept = offer.messages.emplace_back();
    kept.id = message.id;
    kept.key = message.key;
    kept.from = message.from;
  }
  return offer;
}

void Verbs::hold_for_hook(const TeamPtr& team, ControlSession& session, HookOffer offer) {
  if (!session.hook) session.hook = std::make_shared<HookTalk>();
  const auto& talk = session.hook;
  if (const auto old = std::exchange(talk->out, std::nullopt))
    if (const auto of = talk->team.lock()) of->delivery().requeue(old->messages, "another batch was asked for");
  talk->team = team;
  talk->out = std::move(offer);
  session.on_close.push_back([team, talk] {
    if (talk->team.lock() != team) return;  // another team has it now
    const auto out = std::exchange(talk->out, std::nullopt);
    if (!out) return;
    const auto row = team->context().ledger.messages().find(out->messages.front().key);
    const bool lost = row && *row && (*row)->delivery == DeliveryState::offered;
    team->delivery().requeue(out->messages, "the hook did not say whether it printed them");
    if (lost) turn_ended_after_all(*team);
  });
}

Status Verbs::shown(const arguments::Shown& request, ControlSession& session) {
  auto out = session.hook ? std::exchange(session.hook->out, std::nullopt) : std::nullopt;
  const auto team = session.hook ? session.hook->team.lock() : nullptr;
  if (!out || !team) return Done{};
  if (request.printed) {
    team->delivery().printed(*std::move(out));
  } else {
    team->delivery().return_unseen(out->messages, "the hook's time was over before it printed them");
    turn_ended_after_all(*team);
  }
  return Done{};
}

Status Verbs::attach_hook(const TeamPtr& team, const arguments::Attach& request, const SessionPtr& session) {
  if (session->hook && session->hook->out)
    return Error{"request.invalid", "say first (`shown`) whether what was handed out over this connection was printed"};
  auto& delivery = team->delivery();
  auto talk = std::make_shared<HookTalk>();
  talk->team = team;
  talk->session = delivery.lead().row().session;
  TRY(const auto event, !request.event.is_null() ? event_of(request) : Result<HookEvent>(HookEvent{}));
  auto& holder = waiting_[team->context().name];
  const auto held_by = delivery.routes().is_attached(config::DeliveryMethod::hook) ? holder.lock() : nullptr;
  if (!event.session_id.empty()) {
    talk->session = event.session_id;
    delivery.hook_offers().client_says(mode_of(request), request.client, request.attended);
    delivery.heard(event, false);  // the other hook of this event reports its meaning
    if (auto why = handlers::why_not_woken(delivery.hook_offers().client()); !why.empty()) return Error{"lead.not_woken", std::move(why)};
  }
  if (delivery.routes().is_attached(config::DeliveryMethod::hook)) {
    const auto& live = delivery.lead().row().session;
    if (!held_by || !handlers::gives_way(held_by->session, talk->session, event, live))
      return Error{"lead.attached",
                   "another process holds the lead's hook in team " + team->context().name + "; there can be one"};
    held_by->replaced = true;
    delivery.routes().detach(config::DeliveryMethod::hook);
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
