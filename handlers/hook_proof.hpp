// What a hook's output proves, and what proves that it reached the model: one table (docs/reference/hooks.md shows it).
// What a hook printed is offered; that the client ran the hook says nothing about the model. Source: docs/adr/0021.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "schema/hook_event.hpp"
#include "schema/names.hpp"

namespace inbox_poller::handlers {

/// By which hook messages are handed over.
enum class HookWay {
  prompt,  // UserPromptSubmit: with what a person asks
  tool,    // PostToolUse: between two tools
  stop,    // Stop: the turn goes on with them
  wait,    // `hook wait`: an idle session is woken
};
BOOST_DESCRIBE_ENUM(HookWay, prompt, tool, stop, wait)
inline std::string_view to_string(HookWay way) { return schema::name_of(way); }

/// A later event of the same session.
enum class HookSign {
  prompt,   // UserPromptSubmit
  tool,     // PreToolUse, PostToolUse
  stop,     // Stop
  held,     // Stop of a turn that went on after a Stop
  failure,  // StopFailure, or Stop after a text of the client's own ("API Error: …")
  idle,     // Notification of the idle prompt
  end,      // SessionEnd, another session in its place, or SessionStart (not after a compaction)
};
BOOST_DESCRIBE_ENUM(HookSign, prompt, tool, stop, held, failure, idle, end)
inline std::string_view to_string(HookSign sign) { return schema::name_of(sign); }
/// Nothing for events that say nothing about it.
std::optional<HookSign> sign_of(const schema::HookEvent&);

/// What the session's transcript says of the text.
enum class Transcript {
  has,     // it was given to the model, which answered
  given,   // it stands in the conversation; an interruption before the answer may take it out again
  lacks,   // all is there that was given to the model, and not this
  silent,  // it cannot be read, or this client does not write everything into it
};
BOOST_DESCRIBE_ENUM(Transcript, has, given, lacks, silent)
inline std::string_view to_string(Transcript transcript) { return schema::name_of(transcript); }

enum class Proof {
  open,    // nothing is known yet
  proven,  // the model has it
  back,    // the turn passed without it: to the queue, as a possible repeat
};
BOOST_DESCRIBE_ENUM(Proof, open, proven, back)
inline std::string_view to_string(Proof proof) { return schema::name_of(proof); }

/// False: what this hook prints does not reach the model, so nothing is handed over by it.
bool reaches_model(HookWay, schema::ClientMode);

/// What the lead's client tells of itself with its hooks, as far as it does.
struct ClientSight {
  schema::ClientMode mode = schema::ClientMode::unknown;
  std::string version;    // empty: not known
  bool attended = false;  // it says so in so many words
};
/// Why an idle session of such a client is not woken by a hook beside it, and so must not have one; empty when it is.
std::string why_not_woken(const ClientSight&);

Proof judge_proof(HookWay, HookSign, Transcript);

}  // namespace inbox_poller::handlers
