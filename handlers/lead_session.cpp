#include "handlers/lead_session.hpp"

#include <algorithm>

namespace inbox_poller::handlers {
namespace {

using schema::HookEvent;

bool is_workers(const TeamView& view, const HookEvent& event, std::string_view pane) {
  const auto& members = view.roster.members;
  return std::any_of(members.begin(), members.end(), [&](const schema::Member& member) {
    return member.name != view.lead &&
           (member.session_id == event.session_id || (!pane.empty() && member.tmux_pane_id == pane));
  });
}

/// Returns true if the event starts a successor of the lead's session. `/clear`, `/resume` and others continue under a
/// new id, which the roster lacks. The start is the lead's in the lead's pane or, if no session is live, in the lead's
/// directory. A plain start never is, because a client that the lead runs shares its pane and directory.
bool succeeds(const TeamView& view, const LiveLead& live, const HookEvent& event, std::string_view pane) {
  static constexpr std::string_view sources[] = {"clear", "resume", "compact", "fork"};
  if (event.name != "SessionStart" ||
      std::find(std::begin(sources), std::end(sources), event.source) == std::end(sources))
    return false;
  if (!pane.empty() && !live.pane.empty()) return pane == live.pane;
  const auto* lead = view.roster.find(view.lead);
  return live.session.empty() && lead != nullptr && lead->cwd == event.cwd;
}

/// Returns true if an unknown session may be the lead's: any session in the lead's pane, or an interactive session in
/// the lead's directory (any directory if the roster has none). A `claude -p` outside of that pane is no lead.
bool may_be_first(const TeamView& view, const HookEvent& event, std::string_view pane, schema::ClientMode mode) {
  const auto* lead = view.roster.find(view.lead);
  if (lead != nullptr && !pane.empty() && lead->tmux_pane_id == pane) return true;
  return mode == schema::ClientMode::interactive && (lead == nullptr || lead->cwd.empty() || lead->cwd == event.cwd);
}

}  // namespace

bool begins(const HookEvent& event) { return event.name == "SessionStart" || event.name == "UserPromptSubmit"; }

std::string why_foreign(const HookEvent& event, std::string_view pane, schema::ClientMode mode, const LiveLead& live,
                        const TeamView& view) {
  const std::string_view known = view.roster.lead_session_id;
  if (event.session_id.empty()) return "the event names no session";
  if (event.session_id == live.session) return {};
  if (event.session_id == known) {
    const bool late = event.name == "SessionEnd" && !live.session.empty();
    return late ? "the lead goes on as session " + std::string(live.session) : std::string();
  }
  if (!is_workers(view, event, pane)) {
    if (known.empty() && live.session.empty() && begins(event) && may_be_first(view, event, pane, mode)) return {};
    if (succeeds(view, live, event, pane)) return {};
  }
  const std::string lead(live.session.empty() ? known : live.session);
  return "session " + event.session_id + " is not the lead's of team " + std::string(view.team) +
         (lead.empty() ? ", and its event does not make it so"
                       : ", which is " + lead + "; to take its place: `inbox-poller lead offline`, then /clear here");
}

}  // namespace inbox_poller::handlers
