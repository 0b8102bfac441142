// A request of a worker's sandbox to reach a domain. Judged in the canonical spelling. The answer repeats the worker's
// own spelling, for which the worker waits. Source: docs/reference/wire.md W18.
#pragma once

#include <string>
#include <string_view>

#include "handlers/request_kind.hpp"

namespace inbox_poller::handlers {

/// Returns the request without worker and times. Its hash covers the canonical domain, or the bytes of an invalid one.
Request draft_of(const schema::SandboxPermissionRequest&);

config::Verdict judge(const schema::SandboxPermissionRequest&, std::string_view asker, const TeamView&,
                      const RequestView&);

std::string sandbox_answer(const Request& decided);
std::string sandbox_card(const Request&, std::string_view before);
/// Returns the rule of a person's answer, which holds for equal requests of the session, allowed or denied.
RuleOfAnswer sandbox_rule(const Request&, const Answer&, bool always, const TeamView&);

}  // namespace inbox_poller::handlers
