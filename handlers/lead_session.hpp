// Which client session is the lead's, by its hooks: the one that the roster names, and the live one, whose event was
// last. Pure. Source: docs/reference/control.md, the verb `hook`.
#pragma once

#include <string>
#include <string_view>

#include "handlers/handler.hpp"
#include "schema/client_version.hpp"
#include "schema/hook_event.hpp"

namespace inbox_poller::handlers {

/// The session of the last event and its tmux pane; each empty if unknown.
struct LiveLead {
  std::string_view session;
  std::string_view pane;
};

/// Returns true for events that begin a session or a turn.
bool begins(const schema::HookEvent&);

/// Returns why the event is not of the team's lead; empty if it is. If no roster or earlier event shows a session, the
/// first plausible one that starts or gets a prompt is the lead's, until it ends. `pane`: where the hook ran, "%3", or
/// empty.
std::string why_foreign(const schema::HookEvent&, std::string_view pane, schema::ClientMode, const LiveLead&,
                        const TeamView&);

}  // namespace inbox_poller::handlers
