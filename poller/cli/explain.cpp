#include "poller/cli/explain.hpp"

#include <algorithm>
#include <utility>

#include "poller/cli/command.hpp"
#include "poller/cli/nodes_text.hpp"
#include "poller/cli/printable.hpp"
#include "schema/secrets.hpp"

namespace inbox_poller::poller::cli {

namespace {

/// Returns "; " and the advice; empty without advice.
std::string behind(std::string_view advice) { return advice.empty() ? "" : "; " + std::string(advice); }

/// Describes the event of the daemon's table that set the lead's state.
std::string told_by(const std::string& event) {
  using namespace std::string_view_literals;
  static constexpr std::pair<std::string_view, std::string_view> table[] = {
      {"reports_busy"sv, "it was said so"sv},
      {"reports_idle"sv, "it was said so"sv},
      {"reports_offline"sv, "it was said so"sv},
      {"session_starts"sv, "its session started"sv},
      {"prompt_submitted"sv, "a prompt was submitted"sv},
      {"tool_used"sv, "it used a tool"sv},
      {"turn_stops"sv, "its turn ended"sv},
      {"turn_continues"sv, "its turn went on with messages"sv},
      {"turn_fails"sv, "its turn failed"sv},
      {"turn_interrupted"sv, "a person interrupted its turn"sv},
      {"prompt_waits"sv, "its prompt waits for a person"sv},
      {"session_ends"sv, "its session ended"sv},
      {"stream_opens"sv, "it was started"sv},
      {"stream_works"sv, "its output shows work"sv},
      {"stream_result"sv, "its turn ended"sv},
      {"stream_closes"sv, "its output ended"sv},
      {"session_works"sv, "its session's file shows work"sv},
      {"session_rests"sv, "its session's file shows none"sv},
      {"batch_pushed"sv, "messages were handed over, presumed to begin a turn"sv},
      {"busy_limit_passes"sv, "nothing said that its turn ended, and the time limit passed"sv},
      {"disconnects"sv, "who held its end went away"sv},
  };
  for (const auto& [known, words] : table)
    if (known == event) return std::string(words);
  return printable(event);
}

/// Explains why a message is still queued.
std::string waiting_sentence(const operations::Message& message, const operations::Team* team) {
  if (message.priority == 0) return "waits to be summed up with others, in a digest for the lead";
  if (team != nullptr && (team->lead.state == "busy" || team->lead.state == "offline"))
    return "waits for the lead: " + lead_sentence(team->lead);
  const std::string ladder = team == nullptr ? "" : methods_sentence(team->delivery);
  if (!ladder.empty()) return "waits for the lead, which is idle; the way to it: " + ladder;
  return "waits for the lead: it is delivered when the lead is idle (`inbox-poller lead` tells) and a program receives";
}

std::string delivery_sentence(const operations::Message& message, const operations::Team* team) {
  const std::string& state = message.delivery.bytes;
  const std::string method = printable(message.method);
  const long long attempts = message.attempts;
  const std::string again = attempts > 1 ? " (attempt " + std::to_string(attempts) + ')' : "";
  if (state == "queued")
    return waiting_sentence(message, team) +
           (attempts > 0 ? "; it was handed out before, through " + method + ", and not acknowledged" : "");
  if (state == "offered")
    return "was handed out through " + method + ' ' + ago(message.offered_ms) + " and is not acknowledged yet" + again +
           "; it comes again if that does not happen";
  if (state == "delivered") {
    const std::string& confirmed = message.confirmed.bytes;
    if (method == "digest") return "was summed up in a digest for the lead " + ago(message.delivered_ms);
    return "was delivered through " + method + ' ' + ago(message.delivered_ms) + again +
           (confirmed == "acknowledged" ? ", acknowledged"
            : confirmed == "assumed"    ? ", assumed: nothing comes back from there that tells"
                                        : "");
  }
  if (state == "expired")
    return "was given up " + ago(message.delivered_ms) + again +
           ": it waited for longer than delivery.expire_after, or was pointless by then, as the history tells";
  const std::string reason = printable(message.reason);
  return "is not for delivery" + (reason.empty() ? "" : ": it " + reason);
}

/// Formats a state. "answered_elsewhere" stays one word, because --json and the log use that name.
std::string words(std::string state) {
  if (state != "answered_elsewhere") std::replace(state.begin(), state.end(), '_', ' ');
  return printable(state);
}

std::string moments_of(const operations::Shutdown& shutdown) {
  const long long now = now_ms();
  std::string text;
  if (const long long at = shutdown.reminded_ms; at != 0)
    text += "; reminded " + ago(at);
  else if (const long long due = shutdown.remind_ms; due > now)
    text += "; reminded in " + span_text(due - now);
  if (const long long at = shutdown.force_ms; at > now)
    text += "; goes on without its consent in " + span_text(at - now);
  if (const long long at = shutdown.timeout_ms; at > now) text += "; given up in " + span_text(at - now);
  return text;
}

/// Returns the pane that a shutdown will close, or why it closes none.
std::string pane_of(const operations::Shutdown& shutdown) {
  if (const std::string pane = printable(shutdown.pane_id); !pane.empty()) return "; closes the pane " + pane;
  const std::string why = printable(shutdown.left_alone);
  return why.empty() ? "" : "; will close no pane: " + why;
}

}  // namespace

std::string_view advice_for(std::string_view code) {
  using namespace std::string_view_literals;
  static constexpr std::pair<std::string_view, std::string_view> table[] = {
      {"sender.stranger"sv,
       "only members of the team are obeyed: if its chat is welcome, name it under [delivery] senders"sv},
      {"sender.own_name"sv,
       "only InboxPoller writes in the lead's name to the lead: find out who can write to the inbox (`inbox-poller doctor`)"sv},
      {"sender.disagrees"sv,
       "a worker speaks only for itself: the one it names has to send the message, under its own name"sv},
      {"payload.malformed"sv,
       "`inbox-poller quarantine --json` has the bytes: the sender has to send it again in a known form"sv},
      {"payload.unknown"sv, "[delivery] unknown = \"deliver\" lets the lead read types that we do not know"sv},
      {"request.id_reused"sv,
       "the first request of that id stands: the worker has to ask again under an id of its own"sv},
      {"shutdown.never_requested"sv,
       "nothing was ended: to end that worker, ask it with `inbox-poller shutdown NAME`"sv},
      {"shutdown.other_worker"sv,
       "nothing was ended: only the worker that was asked can agree; `inbox-poller shutdowns` shows who was"sv},
      {"shutdown.already_answered"sv,
       "the first answer stands; `inbox-poller shutdowns` shows what became of it, and you can ask again"sv},
      {"role.left"sv, "it is the business of the lead that consumes this inbox"sv},
      {"entry.syntax"sv, "the entry stays in the file; its writer has to write JSON"sv},
      {"entry.not_object"sv, "the entry stays in the file; its writer has to write an object"sv},
      {"entry.field"sv,
       "the entry stays in the file; its writer has to give `from`, `text` and `timestamp` as strings"sv},
  };
  for (const auto& [known, advice] : table)
    if (known == code) return advice;
  if (code.starts_with("direction."))
    return "nothing was changed by it; ask the sender, with `inbox-poller send`, what it wanted to achieve";
  return {};
}

std::string lead_sentence(const operations::Lead& lead) {
  std::string text = printable(lead.member) + " is " + printable(lead.state);
  if (const long long since = lead.since_ms; since != 0) text += " for " + span_text(now_ms() - since);
  if (const std::string& by = lead.by.bytes; !by.empty()) text += " (" + told_by(by) + ')';
  if (const long long until = lead.until_ms; until != 0)
    text += ", the report runs out in " + span_text(until - now_ms());
  if (const auto& file = lead.session_file)
    text += "; its client " + printable(file->client) + " lives, process " + std::to_string(file->pid) +
            (file->reads_inbox ? ", and reads its inbox itself" : "");
  if (const std::string why = printable(lead.not_woken); !why.empty()) text += "; idle, it is not woken: " + why;
  return text;
}

std::string methods_sentence(const operations::Delivery& delivery) {
  if (delivery.methods.empty()) return {};
  std::string used = "nothing is available";
  std::string passed;
  for (const auto& way : delivery.methods) {
    if (way.chosen) {
      used = printable(way.method);
      break;
    }
    passed += (passed.empty() ? "" : "; ") + printable(way.method) + ": " + printable(way.reason);
  }
  return used + (passed.empty() ? "" : " (" + passed + ')');
}

std::string message_sentence(const operations::SaidMessage& message) {
  const auto& mail = message.node_message;
  if (mail && (message.disposition == "relayed" || mail->direction == "out")) return node_message_sentence(*mail);
  return message_sentence(message, nullptr);
}

std::string message_sentence(const operations::Message& message, const operations::Team* team) {
  const std::string& disposition = message.disposition.bytes;
  const std::string& code = message.code.bytes;
  const std::string request = printable(message.request_id);
  const std::string reason = printable(message.reason);
  if (code == "role.between") return "was " + reason;
  if (code == "role.left") return "was left alone; " + std::string(advice_for(code));
  if (disposition == "chat") return delivery_sentence(message, team);
  if (disposition == "control")
    return "is a control message" + (request.empty() ? "" : " of request " + request) + (reason.empty() ? "" : ": " + reason);
  if (disposition == "status") {
    const bool shown = message.delivery != "none";
    return "changed the worker's state" + (shown ? " and " + delivery_sentence(message, team) : "");
  }
  if (disposition == "duplicate")
    return "repeats one that is known already" + (reason.empty() ? "" : ": " + reason) + "; the first one counts";
  const std::string why = reason + " (" + printable(code) + ')' + behind(advice_for(code));
  return disposition == "malformed" ? "could not be read: " + why : "was not obeyed: " + why;
}

std::string request_sentence(const operations::Request& request) {
  const std::string& state = request.state.bytes;
  std::string text = "is " + words(state);
  if (state == "pending" || state == "received") {
    const long long deadline = request.deadline_ms;
    text += deadline == 0 ? ": waits for the lead that consumes this inbox; `inbox-poller pending` tells whether you may answer"
                          : ": waits for a person, denied in " + span_text(deadline - now_ms()) +
                                " (inbox-poller approve or deny " + printable(shell_word(request.member.bytes + '/' + request.request_id.bytes)) + ')';
  } else {
    if (const std::string by = printable(request.decided_by); !by.empty()) text += " by " + by;
    if (const std::string rule = printable(request.rule); !rule.empty()) text += " (" + rule + ')';
    if (const long long at = request.decided_ms; at != 0) text += ' ' + ago(at);
  }
  // The reason may quote a command with a secret. request_content() shows the whole request to those who need it.
  std::string reason = printable(schema::mask_secrets(request.reason.bytes));
  while (reason.ends_with('.')) reason.pop_back();
  if (!reason.empty()) text += ": " + reason;
  if (state == "withdrawn") text += "; the worker does not wait for an answer any more";
  if (state == "expired")
    text +=
        std::string(reason.empty() ? "; no answer came in time, so it was denied" : "") + "; the worker may ask again";
  return text;
}

std::string effect_sentence(const operations::Effect& effect) {
  const std::string& state = effect.state.bytes;
  const std::string inbox = printable(effect.inbox);
  const std::string problem = printable(effect.last_problem);
  const long long attempts = effect.attempts;
  std::string text = words(state);
  if (state == "pending" && attempts == 0) {
    text += ": will be written at the next poll";
  } else if (state == "pending") {
    text += ", attempt " + std::to_string(attempts) + (problem.empty() ? "" : ", last problem: " + problem) +
            "; tried again in " + span_text(effect.next_ms - now_ms());
  } else if (state == "written") {
    text += ", and " + inbox + " has not taken it yet";
  } else if (state == "done") {
    text += ": " + inbox + " has taken it, or will not any more";
  } else if (state == "dead") {
    text += ": given up after " + std::to_string(attempts) + " attempts" +
            (problem.empty() ? "" : ", last problem: " + problem) +
            "; `inbox-poller doctor` names the command that repairs the inbox, then the worker has to ask again";
  }
  if (!effect.order) return text;
  const auto& order = *effect.order;
  const std::string what = printable(order.kind) + ' ' + printable(order.subject);
  const std::string& order_state = order.state.bytes;
  text += "; " + what;
  if (order_state == "superseded") return text + " was superseded by a newer order for the same worker";
  if (order_state == "applied") return text + " was applied";
  if (order_state == "not_applied")
    return text +
           " was not applied: the roster does not show it, newest clients ignore such a message; set it in the "
           "worker's own session";
  return text + (order.kind == "mode" ? " is not applied yet" : " was sent");
}

std::string shutdown_sentence(const operations::Shutdown& shutdown) {
  const std::string& state = shutdown.state.bytes;
  const std::string member = printable(shutdown.member);
  const std::string detail = printable(shutdown.detail);
  const std::string command = "inbox-poller shutdown " + printable(shell_word(shutdown.member.bytes));
  if (shutdown.open)
    return "is " + words(state) + (detail.empty() ? "" : ": " + detail) + moments_of(shutdown) + pane_of(shutdown);
  if (state == "cleaned") {
    std::string text = "is done: " + member + " has ended";
    if (const std::string tasks = printable(shutdown.tasks); !tasks.empty()) text += "; tasks given back: " + tasks;
    if (const std::string why = printable(shutdown.left_alone); !why.empty()) text += "; no pane was closed: " + why;
    return text;
  }
  if (state == "rejected") {
    const std::string answer = printable(shutdown.answer);
    return "was rejected by " + member + (answer.empty() ? "" : ": " + answer) +
           "; it goes on working, and may be asked again: " + command;
  }
  return "is " + words(state) + (detail.empty() ? "" : ": " + detail) +
         "; a late approval still counts, otherwise: " + command + " --force-after 1s";
}

}  // namespace inbox_poller::poller::cli
