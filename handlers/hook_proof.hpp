// The proofs that a hook's output reached the model: one table, also in docs/reference/hooks.md. A hook's output is
// only offered; that the client ran the hook proves nothing about the model. Source: docs/adr/0021.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "schema/hook_event.hpp"
#include "schema/names.hpp"

namespace inbox_poller::handlers {

/// The hook that offers messages.
enum class OfferingHook {
  prompt,  // UserPromptSubmit: with a person's prompt
  tool,    // PostToolUse: between two tools
  stop,    // Stop: the turn continues with the messages
  wait,    // `hook wait`: wakes an idle session
};
BOOST_DESCRIBE_ENUM(OfferingHook, prompt, tool, stop, wait)
inline std::string_view to_string(OfferingHook hook) { return schema::name_of(hook); }

/// A later event of the same session.
enum class HookSign {
  prompt,   // UserPromptSubmit
  tool,     // PreToolUse, PostToolUse
  stop,     // Stop
  held,     // Stop of a turn that went on after a Stop
  failure,  // StopFailure, or Stop after an error text of the client ("API Error: …")
  idle,     // Notification of the idle prompt
  end,      // SessionEnd, a session that replaces it, or SessionStart (not after a compaction)
};
BOOST_DESCRIBE_ENUM(HookSign, prompt, tool, stop, held, failure, idle, end)
inline std::string_view to_string(HookSign sign) { return schema::name_of(sign); }
/// Returns the sign that an event is; empty for events without evidence.
std::optional<HookSign> sign_of(const schema::HookEvent&);

/// Evidence from the session's transcript about the text.
enum class Transcript {
  has,     // given to the model, which answered
  given,   // in the conversation; an interruption before the answer may remove it
  lacks,   // complete, without the text
  silent,  // unreadable, or the client does not record everything
};
BOOST_DESCRIBE_ENUM(Transcript, has, given, lacks, silent)
inline std::string_view to_string(Transcript transcript) { return schema::name_of(transcript); }

enum class Proof {
  open,    // no evidence yet
  proven,  // the model has the text
  back,    // the turn passed without the text: requeued as a possible repeat
};
BOOST_DESCRIBE_ENUM(Proof, open, proven, back)
inline std::string_view to_string(Proof proof) { return schema::name_of(proof); }

/// Returns false if this hook's output does not reach the model. No messages are offered by that hook.
bool reaches_model(OfferingHook, schema::ClientMode);

/// Data that the lead's client gives to its hooks.
struct ClientSight {
  schema::ClientMode mode = schema::ClientMode::unknown;
  std::string version;    // empty: unknown
  bool attended = false;  // reported by the client itself
};
/// Returns why a waiting hook cannot wake an idle session of such a client and must not run; empty if it can.
std::string why_not_woken(const ClientSight&);

Proof judge_proof(OfferingHook, HookSign, Transcript);

}  // namespace inbox_poller::handlers
