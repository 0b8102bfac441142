// The verbs `approve` and `deny`: which ask is meant, and a person's answer to it.
#include <algorithm>
#include <boost/json/array.hpp>
#include <functional>
#include <set>
#include <tuple>

#include "handlers/like.hpp"
#include "handlers/subject.hpp"
#include "poller/control/request.hpp"
#include "poller/control/verbs.hpp"
#include "poller/control/views.hpp"
#include "schema/json_scan.hpp"

namespace inbox_poller::poller {
namespace json = boost::json;
namespace {

constexpr std::size_t shortest_beginning = 4;  // of an id
constexpr EpochMs remembered_ms = 3'600'000;   // how long somebody may have a list before them
constexpr int most_remembered = 1000;
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

Result<Found> Verbs::asks_beginning(const std::string& id, const Object& request, bool decided_too) {
  Found found;
  if (id.size() < shortest_beginning) return found;
  const auto wanted = text(request, "team");
  const auto kind = text(request, "kind");
  const auto add = [&](const std::string& team, const handlers::Ask& ask) {
    const bool begins = (ask.request_id != id && ask.request_id.starts_with(id)) ||
                        (ask.message.value != id && ask.message.value.starts_with(id));
    if (begins && (kind.empty() || kind == to_string(ask.kind))) found.emplace_back(team, ask);
  };
  for (const auto& team : all_served(wanted))
    for (const auto& ask : team->asks().open()) add(team->context().name, ask);
  if (!decided_too) return found;
  const auto decided =
      services_.ledger.asks().decisions(wanted, services_.clock.wall_ms() - remembered_ms, most_remembered);
  if (!decided) return decided.error();
  for (const auto& [team, ask] : *decided) add(team, ask);
  return found;
}

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
  // Of a team that nobody serves now nothing can be answered: its ask is meant only where there is no other.
  const auto is_served = [&](const auto& item) { return served(item.first) != nullptr; };
  if (std::any_of(found->begin(), found->end(), is_served)) std::erase_if(*found, std::not_fn(is_served));
  const bool by_key = !text(request, "message_key").empty();
  auto longer = by_key ? Result<Found>(Found{}) : asks_beginning(id, request, found->empty());
  if (!longer) return longer.error();
  if (found->empty() && longer->size() == 1) return std::move(longer->front());
  if (found->empty() && longer->size() > 1)
    return Error{"request.ambiguous", "several asks begin with \"" + id + "\"; give more of it: " + described(*longer)};
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
  // Whoever chose this id may have seen the beginning of another, older ask's in a list.
  for (auto& [team, ask] : *longer)
    if (handlers::is_open(ask.state) && ask.asked_ms < found->front().second.asked_ms)
      found->emplace_back(team, std::move(ask));
  if (found->size() > 1)
    return Error{"request.ambiguous", "\"" + id +
                                          "\" is one ask's id and the beginning of an older one's; give the "
                                          "key of the one that is meant: " +
                                          described(*found)};
  return std::move(found->front());
}

json::object Verbs::which(const Object& request) {
  const auto one_of = [&](std::string_view id) {
    return ask_of({{"id", id}, {"team", text(request, "team")}, {"kind", text(request, "kind")}});
  };
  json::array asks;
  if (const auto id = text(request, "like"); !id.empty()) {
    const auto like = one_of(id);
    if (!like) return refuse(like.error());
    const auto team = served(like->first);
    if (!team) return refuse("team.unknown", "team \"" + like->first + "\" is not served now");
    const auto view = team->context().view();
    const auto made = handlers::rule_like(like->second, view);
    if (const auto* none = std::get_if<handlers::NotTaken>(&made)) return refuse(error_of(*none));
    const auto& rule = std::get<handlers::NewRule>(made);
    for (const auto& ask : team->asks().open())
      if (ask.kind == like->second.kind && handlers::covers(rule, ask, team->asks().folder_of(ask), view))
        asks.push_back(open_ask_view(*team, ask));
    return {{"ok", true}, {"rule", schema::make_parsable(rule.text)}, {"asks", std::move(asks)}};
  }
  std::set<std::tuple<std::string, handlers::AskKind, std::string>> taken;  // one that is named twice is one
  const auto* ids = request.if_contains("ids");
  if (ids == nullptr || !ids->is_array()) return refuse("request.invalid", "`ids` must be a list, or `like` an id");
  for (const auto& id : ids->get_array()) {
    const auto found = one_of(id.is_string() ? std::string_view(id.get_string()) : std::string_view());
    if (!found) return refuse(found.error());
    const auto& [name, ask] = *found;
    const auto team = served(name);
    if (!team || !handlers::is_open(ask.state))
      return refuse("request.already_decided", std::string(to_string(ask.kind)) + " request " + ask.request_id +
                                                   " of " + ask.asker + " is not open any more: nothing was answered");
    if (taken.emplace(name, ask.kind, ask.request_id).second) asks.push_back(open_ask_view(*team, ask));
  }
  return {{"ok", true}, {"asks", std::move(asks)}};
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
  if (!taken.rule_added.empty()) {
    reply["rule_added"] = taken.rule_added;
    json::array by_it;
    for (const auto& one : team->asks().judge_again()) by_it.push_back(ruled_view(team_name, one));
    reply["answered"] = std::move(by_it);
  }
  return reply;
}

}  // namespace inbox_poller::poller
