#include "handlers/hook_proof.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "schema/client_version.hpp"

namespace inbox_poller::handlers {

using schema::ClientMode;

namespace {

/// Returns true for an error text of the client in the model's place. A client before 2.1.78 has no StopFailure and
/// runs Stop.
bool tells_of_failure(std::string_view last_message) {
  static constexpr std::string_view texts[] = {"API Error", "Credit balance is too low", "Invalid API key",
                                               "Prompt is too long", "Request timed out"};
  return std::any_of(std::begin(texts), std::end(texts),
                     [&](std::string_view text) { return last_message.starts_with(text); });
}

}  // namespace

std::optional<HookSign> sign_of(const schema::HookEvent& event) {
  if (event.name == "Stop" && tells_of_failure(event.last_assistant_message)) return HookSign::failure;
  if (event.name == "Stop") return event.stop_hook_active ? HookSign::held : HookSign::stop;
  // A killed client ran no SessionEnd. The resumed session lacks the last output of its hooks.
  if (event.name == "SessionStart") return event.source == "compact" ? std::nullopt : std::optional(HookSign::end);
  if (event.name == "Notification")
    return event.notification_type == "idle_prompt" ? std::optional(HookSign::idle) : std::nullopt;
  static constexpr std::pair<std::string_view, HookSign> signs[] = {{"UserPromptSubmit", HookSign::prompt},
                                                                    {"PreToolUse", HookSign::tool},
                                                                    {"PostToolUse", HookSign::tool},
                                                                    {"StopFailure", HookSign::failure},
                                                                    {"SessionEnd", HookSign::end}};
  for (const auto& [name, sign] : signs)
    if (event.name == name) return sign;
  return std::nullopt;
}

bool reaches_model(OfferingHook hook, ClientMode mode) {
  // Under -p the client waits for such a hook instead of running it in the background, and drops its output.
  return hook != OfferingHook::wait || mode == ClientMode::interactive;
}

std::string why_not_woken(const ClientSight& client) {
  using schema::Ability;
  if (!reaches_model(OfferingHook::wait, client.mode))
    return "no person is at the client (-p, an SDK): the output of a hook outside of a turn reaches no model";
  if (client.attended || schema::can(client.version, Ability::is_woken)) return {};
  const std::string first = schema::to_string(schema::since(Ability::is_woken));
  if (!client.version.empty())
    return "client " + client.version + " waits for a hook beside its session instead of being woken by it; update it to " +
           first + " or later";
  return "the client's version is not known before its first turn has ended, and one before " + first +
         " waits for a hook beside its session";
}

namespace {

/// Returns true if this next hook of the turn proves the delivery. For sessions without a readable transcript.
bool follows_from(OfferingHook hook, HookSign sign) {
  switch (hook) {
    // The model answered the prompt, so it uses a tool or ends the turn.
    case OfferingHook::prompt: return sign == HookSign::tool || sign == HookSign::stop || sign == HookSign::held;
    // Another tool may be one of several that the model requested at once, before this.
    case OfferingHook::tool: return sign == HookSign::stop || sign == HookSign::held;
    case OfferingHook::stop: return sign == HookSign::tool || sign == HookSign::held;
    // The session's next event may have other reasons.
    case OfferingHook::wait: return false;
  }
  std::abort();
}

}  // namespace

Proof judge_proof(OfferingHook hook, HookSign sign, Transcript transcript) {
  if (transcript == Transcript::has) return Proof::proven;
  if (sign == HookSign::end) return Proof::back;
  if (transcript == Transcript::given) {
    if (sign == HookSign::tool || sign == HookSign::stop || sign == HookSign::held) return Proof::proven;
    // A person's Escape moves the prompt back into the composer, and removes the added text from the conversation.
    const bool is_undone = sign != HookSign::failure && (hook == OfferingHook::prompt || hook == OfferingHook::wait);
    return is_undone ? Proof::back : Proof::open;
  }
  if (transcript == Transcript::silent && follows_from(hook, sign)) return Proof::proven;
  if (sign == HookSign::tool) return Proof::open;
  // The text that wakes a session waits for the running turn.
  if (hook == OfferingHook::wait && (sign == HookSign::prompt || transcript == Transcript::silent)) return Proof::open;
  return Proof::back;
}

}  // namespace inbox_poller::handlers
