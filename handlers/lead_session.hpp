// Which session of the client is the lead's, going by what its hooks tell: the one that the roster names, and the one
// that is live, that is, was heard last. Pure. Source: docs/reference/control.md, the verb `hook`.
#pragma once

#include <string>
#include <string_view>

#include "handlers/handler.hpp"
#include "schema/client_version.hpp"
#include "schema/hook_event.hpp"

namespace inbox_poller::handlers {

/// The session that was heard last, and the tmux pane it lives in; each empty where there is none.
struct LiveLead {
  std::string_view session;
  std::string_view pane;
};

/// True for events with which a session, or a turn of it, begins.
bool begins(const schema::HookEvent&);

/// Why this is no event of the team's lead; empty when it is one. Where neither roster nor ear knows a session, the
/// first that may be it and starts or gets a prompt is it, until it ends. `pane`: where the hook ran, "%3"; or empty.
std::string why_foreign(const schema::HookEvent&, std::string_view pane, schema::ClientMode, const LiveLead&,
                        const TeamView&);

}  // namespace inbox_poller::handlers
