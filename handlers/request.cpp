#include "handlers/request.hpp"

#include <algorithm>

#include "handlers/outgoing.hpp"
#include "handlers/request_kind.hpp"
#include "handlers/text.hpp"

namespace inbox_poller::handlers {

namespace {

Post post_for(const Request& decided, std::string_view part, std::string_view text, const TeamView& view) {
  const std::string origin = digest_of({view.team, to_string(decided.kind), decided.request_id, decided.asker,
                                          decided.content_hash, to_string(decided.state), part});
  return post_of({view.lead, decided.asker, text, origin, decided.decided_ms}, view);
}

}  // namespace

std::string reason_of(const config::Verdict& verdict) {
  const std::string why = one_line(verdict.reason, 300);
  if (verdict.action != config::Action::deny) return why;
  return "Denied: " + why + (verdict.rule.empty() ? "" : " (rule " + verdict.rule + ")");
}

Grant plain_grant(const Request& request, const TeamView& view) {
  return {request.body, std::min(config::PermissionMode::standard, view.config.plans.ceiling)};
}

Post reply_to(const Request& decided, const Grant& grant, const TeamView& view) {
  return post_for(decided, "answer", traits_of(decided.kind).answer(decided, grant), view);
}

Post note_to(const Request& decided, std::string_view words, const TeamView& view) {
  // The words follow a fixed beginning, so that they can never be read as a control message.
  const std::string kind(to_string(decided.kind));
  const std::string text = "Note on your " + kind + " request " + decided.request_id + ": " + std::string(words);
  return post_for(decided, "note", text, view);
}

}  // namespace inbox_poller::handlers
