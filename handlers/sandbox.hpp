// A worker's sandbox asks to reach a host. Judged on the canonical spelling; the answer repeats the asker's own
// spelling, since that is what the worker waits for. Source: docs/reference/wire.md W18.
#pragma once

#include <string>
#include <string_view>

#include "handlers/ask_kind.hpp"

namespace inbox_poller::handlers {

/// The ask without asker and times. Its hash covers the canonical host, or the bytes of what is no plain host.
Ask draft_of(const schema::SandboxPermissionRequest&);

config::Verdict judge(const schema::SandboxPermissionRequest&, std::string_view asker, const TeamView&,
                      const AskView&);

std::string sandbox_answer(const Ask& decided);
std::string sandbox_card(const Ask&, std::string_view before);
/// What a person said about a host holds for equal asks of the session, both ways.
RuleOfAnswer sandbox_rule(const Ask&, const Answer&, bool always, const TeamView&);

}  // namespace inbox_poller::handlers
