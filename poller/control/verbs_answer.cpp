// The verbs `approve` and `deny`: which ask is meant, and a person's answer to it.
#include <algorithm>

#include "handlers/subject.hpp"
#include "poller/control/request.hpp"
#include "poller/control/verbs.hpp"
#include "schema/json_scan.hpp"

namespace inbox_poller::poller {
namespace json = boost::json;
namespace {

constexpr int most_alike = 50;  // messages of which the same identity was repeated

using Found = std::vector<std::pair<std::string, handlers::Ask>>;

std::string described(const Found& found) {
  std::string text;
  for (const auto& [team, ask] : found)
    text += (text.empty() ? "" : "; ") + std::string(to_string(ask.kind)) + " of " + ask.asker + " in team " + team +
            " (" + std::string(to_string(ask.state)) + ", key " + ask.message.value + ")";
  return text;
}

/// Of asks with one id, the open one, unless somebody could mean one that was decided since the open one came: whoever
/// chose that id for it may have waited for just that.
void prefer_open(Found& found) {
  const auto is_open = [](const auto& one) { return handlers::is_open(one.second.state); };
  const auto open = std::find_if(found.begin(), found.end(), is_open);
  if (open == found.end() || std::count_if(found.begin(), found.end(), is_open) != 1) return;
  const EpochMs asked = open->second.asked_ms;
  if (std::any_of(found.begin(), found.end(),
                  [&](const auto& one) { return !is_open(one) && one.second.decided_ms <= asked; }))
    return;
  found = {*open};
}

}  // namespace

Result<std::pair<std::string, handlers::Ask>> Verbs::ask_of(const Object& request) {
  const auto id = text(request, "id");
  const auto wanted = text(request, "team");
  const auto kind = text(request, "kind");
  // A message key is a hash: nobody can give an ask an id that is another's key.
  auto id_of_key = id;
  if (const auto rows = services_.ledger.messages().like(id, most_alike); rows.ok() && !id.empty()) {
    for (const auto& row : *rows)
      if (row.key.value == id && !row.request_id.empty()) id_of_key = row.request_id;
  }
  auto found = services_.ledger.asks().by_id(id_of_key);
  if (!found) return found.error();
  if (id_of_key != id) std::erase_if(*found, [&](const auto& item) { return item.second.message.value != id; });
  std::erase_if(*found, [&](const auto& item) { return !wanted.empty() && item.first != wanted; });
  std::erase_if(*found, [&](const auto& item) { return !kind.empty() && to_string(item.second.kind) != kind; });
  if (found->empty())
    return Error{"request.unknown", "no " + (kind.empty() ? "" : kind + " ") + "ask with the id \"" + id +
                                        "\" was ever received; `inbox-poller pending` shows the open ones"};
  if (const auto key = text(request, "message_key"); !key.empty()) {
    std::erase_if(*found, [&](const auto& item) { return item.second.message.value != key; });
    if (found->empty())
      return Error{"request.changed", "the ask with the id \"" + id + "\" is not the one that was shown; look again"};
  }
  if (found->size() > 1) prefer_open(*found);
  if (found->size() > 1)
    return Error{"request.ambiguous",
                 "several asks have this id; say which with --kind and --team, or give its key "
                 "instead of the id: " +
                     described(*found)};
  return std::move(found->front());
}

json::object Verbs::answer(const Object& request, bool approve) {
  auto found = ask_of(request);
  if (!found) return refuse(found.error());
  const auto& [team_name, ask] = *found;
  const auto team = served(team_name);
  if (!team)
    return refuse("team.unknown", "team \"" + team_name + "\" is not served now, so its worker cannot be answered");

  handlers::Answer answer;
  answer.event = approve ? handlers::AskEvent::person_approves : handlers::AskEvent::person_denies;
  answer.by = text(request, "by");
  answer.reason = text(request, approve ? "note" : "reason");
  answer.updated_input = text(request, "input");
  if (const auto mode = text(request, "mode"); !mode.empty()) {
    answer.mode = schema::parse<config::PermissionMode>(mode);
    if (!answer.mode) return no_such_mode(mode);
  }
  auto outcome = team->asks().answer(ask, answer, flag(request, "always"));
  if (const auto* refused = std::get_if<Asks::Refusal>(&outcome)) return refuse(refused->code, refused->message);
  const auto& taken = std::get<Asks::Taken>(outcome);
  team->poke();
  Object reply{{"ok", true},
               {"team", team_name},
               {"kind", to_string(taken.request.kind)},
               {"request_id", taken.request.request_id},
               {"state", to_string(taken.request.state)},
               {"asker", taken.request.asker},
               {"subject", schema::make_parsable(handlers::subject_of(taken.request))}};
  if (!taken.rule_added.empty()) reply["rule_added"] = taken.rule_added;
  return reply;
}

}  // namespace inbox_poller::poller
