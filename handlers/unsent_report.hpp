// Texts that a worker wrote at the end of its turn and did not send: which are kept, and what the lead gets of them.
// Clients show such a text in the worker's own session only. Pure. Source: docs/adr/0070.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "handlers/handler.hpp"
#include "handlers/receive.hpp"
#include "schema/hook_event.hpp"

namespace inbox_poller::handlers {

/// The message type of a kept text. No worker can write a message of this type.
inline constexpr std::string_view unsent_type = "unsent_report";
inline constexpr std::string_view unsent_reason = "was written at the end of a turn, and not sent";
inline constexpr std::string_view unsent_summary = "written by the worker, not sent";

/// Returns true for the type of an accepted message that the model of a worker writes to the lead. False for the
/// reports and requests that its client writes without it.
bool is_said_to_lead(std::string_view type);

/// Identifies the turn that this Stop event ends, together with the event's text.
struct TurnId {
  std::string value;
  bool is_exact = false;  // false: a later turn of the session with the same text has the same id
};
TurnId turn_of(const schema::HookEvent&);

/// The end of a worker's turn.
struct EndedTurn {
  std::string_view text;    // the last one of the turn
  bool went_wrong = false;  // the text is the client's, about an error
  bool has_told = false;    // the worker has sent the lead something in this turn
};
/// Returns how the text reaches the lead; nothing if the text is not kept. Lane::none: kept for people only, because
/// the lead consumes its inbox itself. A text without room among the chat is summed up.
std::optional<Lane> judge(const EndedTurn&, const Arrival&, const TeamView&);

/// The part of a kept text that the lead gets, between InboxPoller's own lines.
struct ShownReport {
  std::string before;  // "[not sent: …]"
  std::string text;
  std::string after;  // the note about a cut; empty if the text is whole
};
/// `whole`: all of the text up to `most` bytes; otherwise its first lines. `key`: of the message.
ShownReport shown_report(std::string_view text, std::string_view key, bool whole, std::size_t most);

/// Returns "wrote 2345 bytes at the end of a turn and did not send them: inbox-poller history 0f3a9c21".
std::string unsent_note(std::size_t bytes, std::string_view key);

}  // namespace inbox_poller::handlers
