#include "handlers/shutdown.hpp"

#include <algorithm>

#include "handlers/orders.hpp"
#include "handlers/outgoing.hpp"
#include "handlers/text.hpp"
#include "schema/codec.hpp"

namespace inbox_poller::handlers {

std::optional<ShutdownState> transition(ShutdownState state, ShutdownEvent event) {
  using S = ShutdownState;
  using Next = std::optional<ShutdownState>;
  switch (event) {
    // An approval counts while the worker may still live: also after force or a timeout.
    case ShutdownEvent::worker_approves:
      return state == S::requested || state == S::forced || state == S::timed_out ? Next(S::approved) : std::nullopt;
    // A rejection after the timeout counts too. An approval cannot be taken back, and force needs none.
    case ShutdownEvent::worker_rejects:
      return state == S::requested || state == S::timed_out ? Next(S::rejected) : std::nullopt;
    case ShutdownEvent::force_is_due: return state == S::requested ? Next(S::forced) : std::nullopt;
    // Also without an answer: a worker that died or was stopped by hand still needs the cleanup.
    case ShutdownEvent::process_ends:
      return state == S::requested || state == S::approved || state == S::forced ? Next(S::process_gone) : std::nullopt;
    case ShutdownEvent::pane_closes: return state == S::process_gone ? Next(S::pane_gone) : std::nullopt;
    case ShutdownEvent::traces_removed: return state == S::pane_gone ? Next(S::cleaned) : std::nullopt;
    case ShutdownEvent::time_passes: return is_open(state) ? Next(S::timed_out) : std::nullopt;
  }
  return std::nullopt;
}

bool is_open(ShutdownState state) {
  return state != ShutdownState::cleaned && state != ShutdownState::rejected && state != ShutdownState::timed_out;
}

namespace {

constexpr NextStep wait{};
constexpr std::string_view reminder_begin = "Reminder: shutdown request ";
constexpr NextStep advance(ShutdownEvent event) { return {ShutdownStep::advance, event}; }

/// One shutdown and its evidence at one time.
struct Situation {
  const Shutdown& shutdown;
  const ShutdownSight& sight;
  const config::ShutdownSettings& settings;
  EpochMs now_ms;

  [[nodiscard]] bool past(EpochMs from_ms, config::Duration span) const { return now_ms >= from_ms + span.count(); }
  [[nodiscard]] bool is_due(EpochMs at_ms) const { return at_ms != 0 && now_ms >= at_ms; }
  /// A mark from an earlier state does not count in this one.
  [[nodiscard]] bool done_here(EpochMs at_ms) const { return at_ms != 0 && at_ms >= shutdown.changed_ms; }

  /// Ends what still lives: patience, TERM, KILL, timeout. Time does not run out before KILL was tried, so that a
  /// daemon that was away for long does not give up at its first check.
  [[nodiscard]] NextStep insist(config::Duration patience) const {
    if (!done_here(shutdown.term_ms))
      return {past(shutdown.changed_ms, patience) ? ShutdownStep::terminate : ShutdownStep::wait, {}};
    if (!done_here(shutdown.kill_ms))
      return {past(shutdown.term_ms, settings.grace) ? ShutdownStep::kill : ShutdownStep::wait, {}};
    return past(shutdown.changed_ms, settings.timeout) ? advance(ShutdownEvent::time_passes) : wait;
  }

  [[nodiscard]] NextStep requested() const {
    const WorkerPlace& place = shutdown.place;
    // Without a recorded process, the end of the pane counts; without either, the end is not visible.
    const bool unseen = place.processes.empty();
    const bool gone = sight.ended.value_or(unseen ? !place.pane_id.empty() && !sight.pane : !sight.process);
    if (gone) return advance(ShutdownEvent::process_ends);
    if (is_due(shutdown.force_ms)) return advance(ShutdownEvent::force_is_due);
    if (is_due(shutdown.timeout_ms)) return advance(ShutdownEvent::time_passes);
    if (is_due(shutdown.remind_ms) && shutdown.reminded_ms == 0) return {ShutdownStep::remind, {}};
    return wait;
  }

  /// Approved or forced: a worker that agreed has the grace to end by itself.
  [[nodiscard]] NextStep ending() const {
    const config::Duration patience = shutdown.state == ShutdownState::forced ? config::Duration(0) : settings.grace;
    // The worker lives inside another process, where nothing can be signaled, and reports its own end.
    if (sight.ended && !*sight.ended)
      return past(shutdown.changed_ms, settings.timeout) ? advance(ShutdownEvent::time_passes) : wait;
    if (sight.ended) return advance(ShutdownEvent::process_ends);
    const bool unseen = shutdown.place.processes.empty();
    if (!unseen && sight.process) return insist(patience);
    // Nothing to signal, but the open pane shows that the worker may still run.
    if (unseen && sight.pane && !past(shutdown.changed_ms, patience)) return wait;
    return advance(ShutdownEvent::process_ends);
  }

  [[nodiscard]] NextStep closing() const {
    if (!shutdown.place.pane_id.empty() && settings.close_panes && sight.pane) {
      return past(shutdown.changed_ms, settings.timeout) ? advance(ShutdownEvent::time_passes)
                                                         : NextStep{ShutdownStep::close_pane, {}};
    }
    if (!shutdown.survivors.empty() && sight.survivors) return insist(settings.grace);
    return advance(ShutdownEvent::pane_closes);
  }
};

}  // namespace

NextStep next_step(const Shutdown& shutdown, const ShutdownSight& sight, const config::ShutdownSettings& settings,
                   EpochMs now_ms) {
  const Situation situation{shutdown, sight, settings, now_ms};
  switch (shutdown.state) {
    case ShutdownState::requested: return situation.requested();
    case ShutdownState::approved:
    case ShutdownState::forced: return situation.ending();
    case ShutdownState::process_gone: return situation.closing();
    // Changes the team's files. An error is reported and retried until it works.
    case ShutdownState::pane_gone: return {ShutdownStep::remove_traces, ShutdownEvent::traces_removed};
    case ShutdownState::cleaned:
    case ShutdownState::rejected:
    case ShutdownState::timed_out: return wait;
  }
  return wait;
}

std::variant<ShutdownDraft, NotTaken> draft_shutdown(const ShutdownOrder& order, const TeamView& view, EpochMs now_ms) {
  if (auto problem = why_no_worker(order.member, view)) return *std::move(problem);
  const auto& facts = view.config.team.facts();
  if (!facts.asks) return *why_not_carried("orders to end", view);
  const auto after = [now_ms](config::Duration span) { return now_ms + span.count(); };
  Shutdown shutdown;
  shutdown.request_id = "shutdown-" + std::to_string(now_ms) + "@" + schema::inbox_name(order.member);
  if (facts.short_ids) shutdown.request_id = digest_of({view.team, shutdown.request_id}).substr(0, 8);
  shutdown.member = order.member;
  shutdown.agent_id = view.roster.find(order.member)->agent_id;
  shutdown.joined_ms = view.roster.find(order.member)->joined_at_ms;
  shutdown.by = order.by;
  shutdown.reason = order.reason;
  shutdown.requested_ms = shutdown.changed_ms = now_ms;
  if (order.force) {
    shutdown.force_ms = now_ms;
  } else {
    if (order.remind_after > config::Duration(0)) shutdown.remind_ms = after(order.remind_after);
    if (order.force_after && facts.ends_by_force) shutdown.force_ms = after(*order.force_after);
  }
  // A force time after the timeout still applies.
  shutdown.timeout_ms = std::max(after(view.config.shutdown.timeout), shutdown.force_ms);
  shutdown.place = order.place;
  if (order.force) {
    shutdown.detail = "is ended without being asked: " + named(order.place);
    return ShutdownDraft{std::move(shutdown), std::nullopt};
  }
  shutdown.detail = "waits for the worker's answer";
  const std::string text = schema::encode(schema::ShutdownRequest{.request_id = shutdown.request_id,
                                                                  .from = std::string(view.lead),
                                                                  .reason = order.reason,
                                                                  .timestamp = schema::iso_timestamp(now_ms)});
  Post request = order_to(shutdown.member, text, shutdown.request_id, view, now_ms);
  return ShutdownDraft{std::move(shutdown), std::move(request)};
}

std::string waiting_for(const Shutdown& shutdown) {
  switch (shutdown.state) {
    case ShutdownState::requested: return "waits for the worker's answer";
    case ShutdownState::approved: return "the worker agreed; waits for its process to end";
    case ShutdownState::forced: return "the worker did not agree in time, or was not asked; its process is ended";
    case ShutdownState::process_gone: return "its process has ended; its pane is closed";
    case ShutdownState::pane_gone: return "its traces are removed";
    case ShutdownState::cleaned:
    case ShutdownState::rejected:
    case ShutdownState::timed_out: return shutdown.place.left_alone;
  }
  return {};
}

std::string given_up(ShutdownState state) {
  switch (state) {
    case ShutdownState::requested: return "the worker did not answer";
    case ShutdownState::approved:
    case ShutdownState::forced: return "its process survived TERM and KILL";
    case ShutdownState::process_gone: return "its pane could not be closed, or what it had started did not end";
    case ShutdownState::pane_gone: return "its traces could not be removed";
    case ShutdownState::cleaned:
    case ShutdownState::rejected:
    case ShutdownState::timed_out: return {};
  }
  return {};
}

std::string named(const WorkerPlace& place) {
  std::string text = place.pane_id.empty() ? "" : "its pane " + place.pane_id;
  for (const auto& process : place.processes) {
    text += &process != &place.processes.front() ? ", " : text.empty() ? "its process " : " and its process ";
    text += std::to_string(process.pid);
  }
  return text.empty() ? "nothing of it is on record" : text;
}

Post reminder_of(const Shutdown& shutdown, const TeamView& view, EpochMs now_ms) {
  // Models often say "ok" and continue, but the client ends only by its tool. The text begins with a word, so that it
  // can never be read as a control message.
  const std::string text =
      std::string(reminder_begin) + shutdown.request_id +
      " still waits for your answer. Words alone do not answer it. Use the SendMessage tool with a "
      "shutdown_response: request_id \"" +
      shutdown.request_id + "\", and approve true to stop now, or approve false with your reason.";
  return order_to(shutdown.member, text, shutdown.request_id + " reminder", view, now_ms);
}

std::string reminded_order(std::string_view text) {
  if (!text.starts_with(reminder_begin)) return "";
  text.remove_prefix(reminder_begin.size());
  return std::string(text.substr(0, text.find(' ')));
}

Notice end_notice(const Shutdown& shutdown, const TeamView& view, EpochMs now_ms) {
  const auto notice = [&](const std::string& text) {
    return notice_of(text, {to_string(shutdown.state), shutdown.request_id}, view, now_ms);
  };
  // Not a teammate_terminated, because no worker has ended.
  if (shutdown.state == ShutdownState::timed_out) {
    return notice("The shutdown of " + shutdown.member + " (" + shutdown.request_id + ") was given up: " +
                  (shutdown.detail.empty() ? "it did not come to an end in time" : shutdown.detail) + ".");
  }
  std::string message = shutdown.member + " has shut down.";
  if (!shutdown.tasks.empty()) message += " Unfinished tasks were given back: " + shutdown.tasks + ".";
  if (!shutdown.place.left_alone.empty()) message += " No pane was closed: " + shutdown.place.left_alone;
  if (!message.ends_with('.')) message += '.';
  return notice(schema::encode(schema::TeammateTerminated{message}));
}

namespace {

/// Accepts the answer, or refuses it if it does not apply in the present state. The message's pane and backend are
/// ignored: only the recorded place is closed (WorkerPlace).
Outcome take_answer(std::string_view type, const std::string& id, std::string_view words, ShutdownEvent event,
                    const Incoming& incoming, const Shutdown* known) {
  const std::string_view sender = schema::bare_name(incoming.message.from);
  const auto refused = [&](std::string code, const std::string& why) {
    return Refused{"shutdown." + std::move(code), std::string(type) + " from " + shown(sender) + ": " + why};
  };
  if (!known) return refused("never_requested", "we never sent a shutdown request " + id);
  if (known->member != sender)
    return refused("other_worker", "shutdown request " + id + " was sent to " + known->member);
  if (!transition(known->state, event)) {
    std::string state(to_string(known->state));
    std::replace(state.begin(), state.end(), '_', ' ');
    return refused("already_answered", "shutdown request " + id + " (" + state + " since " +
                                           schema::iso_timestamp(known->changed_ms) + ") takes no such answer now");
  }
  return ShutdownAnswered{id, event == ShutdownEvent::worker_approves, one_line(words, 1000)};
}

}  // namespace

Outcome answer_shutdown(const schema::ShutdownApproved& answer, const Incoming& incoming, const Shutdown* known) {
  return take_answer(answer.type, answer.request_id, {}, ShutdownEvent::worker_approves, incoming, known);
}

Outcome answer_shutdown(const schema::ShutdownRejected& answer, const Incoming& incoming, const Shutdown* known) {
  return take_answer(answer.type, answer.request_id, answer.reason, ShutdownEvent::worker_rejects, incoming, known);
}

std::optional<Shutdown> after_answer(Shutdown shutdown, const ShutdownAnswered& answer, EpochMs now_ms) {
  const auto next =
      transition(shutdown.state, answer.approved ? ShutdownEvent::worker_approves : ShutdownEvent::worker_rejects);
  if (!next) return std::nullopt;
  shutdown.state = *next;
  shutdown.changed_ms = now_ms;
  shutdown.answer = answer.answer;
  shutdown.detail.clear();
  return shutdown;
}

}  // namespace inbox_poller::handlers
