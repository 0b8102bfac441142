#include "handlers/permission.hpp"

#include "handlers/change.hpp"
#include "handlers/outgoing.hpp"
#include "handlers/request.hpp"
#include "schema/codec.hpp"
#include "schema/json_scan.hpp"
#include "schema/printable.hpp"

namespace inbox_poller::handlers {

namespace {

config::Verdict judge_from(std::string_view cwd, const Call& call, const TeamView& view) {
  // The default action is for requests; here it would decide calls that the client never asks about.
  return config::judge_tool(view.rules, call.tool, call.input, {std::string(cwd), std::string(view.home)},
                            config::Action::ask);
}

/// Returns true if the call names all its paths from the root, so that the session's directory does not matter. A
/// command may have paths in its words, whatever other members the input has.
bool is_absolute(const Call& call) {
  if (schema::find_member(call.input, "command")) return false;
  bool any = false;
  for (const auto* name : {"file_path", "notebook_path", "path"}) {
    const auto value = schema::find_member(call.input, name);
    if (!value) continue;
    if (!schema::decode_string(*value).value_or("").starts_with('/')) return false;
    any = true;
  }
  return any;
}

/// Judges a call of a session that left its initial directory, from which the rules' relative paths start. A denial for
/// either directory denies; if a relative path matters, nothing is allowed.
config::Verdict judge_moved(config::Verdict verdict, const Call& call, const TeamView& view) {
  auto here = judge_from(call.cwd, call, view);
  if (here.action == config::Action::deny && verdict.action != config::Action::deny) return here;
  if (is_absolute(call)) return verdict;
  if (here.action < verdict.action) verdict = std::move(here);
  const bool matters = judge_from("", call, view).action != config::Action::allow;
  if (verdict.action == config::Action::allow && matters) verdict.action = config::Action::ask;
  return verdict;
}

std::string decoded(std::string_view json) { return schema::decode_string(json).value_or(std::string(json)); }

}  // namespace

Request draft_of(const schema::PermissionRequest& asked) {
  Request request;
  request.kind = RequestKind::permission;
  request.request_id = asked.request_id;
  request.content_hash = digest_of({asked.tool_name, asked.input});
  request.subject = asked.tool_name;
  request.body = asked.input;
  request.description = asked.description;
  request.suggestions = asked.permission_suggestions;
  return request;
}

config::Verdict judge(const schema::PermissionRequest& asked, std::string_view asker, const TeamView& view,
                      const RequestView&) {
  const schema::Member* member = view.roster.find(asker);
  const config::RuleContext context{member ? member->cwd : std::string(), std::string(view.home)};
  return config::judge_tool(view.rules, asked.tool_name, asked.input, context, view.config.permissions.default_action);
}

std::optional<Request> judge(const Call& call, std::string_view request_id, std::string_view asker,
                             const TeamView& view, EpochMs now_ms) {
  const schema::Member* member = view.roster.find(asker);
  const std::string begun_in = member != nullptr ? member->cwd : std::string();
  config::Verdict verdict = judge_from(begun_in, call, view);
  if (call.cwd != begun_in) verdict = judge_moved(std::move(verdict), call, view);
  const bool allows = verdict.action == config::Action::allow;
  if (verdict.action == config::Action::ask || (allows && call.planning)) return std::nullopt;
  Request request;
  request.request_id = request_id;
  request.asker = asker;
  request.content_hash = digest_of({call.tool, call.input});
  request.subject = call.tool;
  request.body = call.input;
  request.state = transition(request.state, allows ? RequestEvent::rule_allows : RequestEvent::rule_denies).value();
  request.asked_ms = request.decided_ms = now_ms;
  request.decided_by = by_hook;
  request.rule = verdict.rule;
  request.reason = reason_of(verdict);
  return request;
}

std::string permission_answer(const Request& decided, std::string_view input) {
  return schema::encode(schema::PermissionResponse{.request_id = decided.request_id,
                                                   .allowed = decided.state == RequestState::approved,
                                                   .updated_input = std::string(input),
                                                   .permission_updates = "[]",
                                                   .error = decided.reason});
}

bool is_sendable_input(std::string_view input) {
  if (!schema::scan_object(input)) return false;
  Request probe;
  probe.request_id = "probe";
  probe.state = RequestState::approved;
  const schema::Payload read_back = schema::decode_payload(permission_answer(probe, input));
  return std::holds_alternative<schema::PermissionResponse>(read_back);
}

std::string input_text(std::string_view tool, std::string_view input, std::string_view before,
                       std::string_view before_value) {
  const auto members = schema::scan_object(input);
  if (!members) return schema::printable_block(input, before_value);
  // Write's content is all new and reads better without signs. MultiEdit has more members than its texts.
  const auto changes = tool == "Write" ? std::nullopt : changes_of(tool, input);
  std::string text;
  for (const schema::MemberSpan& member : *members) {
    const std::string name = decoded(member.key.of(input));
    if (changes && tool == "Edit" && (name == "new_string" || name == "old_string")) continue;
    text += std::string(before) + schema::printable(name) + ":\n";
    text += schema::printable_block(decoded(member.value.of(input)), before_value);
  }
  for (const Replacement& change : changes.value_or(std::vector<Replacement>()))
    text += std::string(before) + "the change, line by line (\"-\" goes, \"+\" comes):\n" +
            change_text(change, before_value);
  return text.empty() ? std::string(before) + "(no input)\n" : text;
}

std::string permission_card(const Request& request, std::string_view before) {
  return std::string(before) + schema::printable(request.subject) + "\n" +
         input_text(request.subject, request.body, before, std::string(before) + "    ");
}

std::vector<config::PartVerdict> parts_of(const Request& request, std::string_view cwd, const TeamView& view) {
  if (request.kind != RequestKind::permission) return {};
  return config::judge_parts(view.rules, request.subject, request.body, {std::string(cwd), std::string(view.home)});
}

std::string parts_text(const std::vector<config::PartVerdict>& parts, std::string_view before) {
  if (parts.size() < 2) return {};  // the reason already says so
  std::string text;
  for (const config::PartVerdict& part : parts)
    text += std::string(before) + (part.missing.empty() ? "covered      " : "NOT COVERED  ") +
            schema::printable(part.part) + (part.missing.empty() ? "  by " + schema::printable(part.rule) : "") + "\n";
  return text;
}

RuleOfAnswer permission_rule(const Request& request, const Answer& answer, bool always, const TeamView& view) {
  if (!always || answer.event != RequestEvent::person_approves) return std::nullopt;
  const schema::Member* member = view.roster.find(request.asker);
  const auto& allowed = answer.updated_input.empty() ? request.body : answer.updated_input;
  auto safe =
      config::rule_for_call(request.subject, allowed, {member ? member->cwd : std::string(), std::string(view.home)});
  if (safe) return NewRule{RuleKind::permission, *std::move(safe)};
  return NotTaken{"rule.none_safe",
                  "no rule covers exactly this call, so --always is not possible for it: approve it without "
                  "--always, or write a rule under [permissions] allow in " +
                      view.config.source};
}

std::string call_request_id(std::string_view from, std::string_view call, int round) {
  return std::string(from) + "-" + std::string(call) + (round == 1 ? "" : "+" + std::to_string(round));
}

}  // namespace inbox_poller::handlers
