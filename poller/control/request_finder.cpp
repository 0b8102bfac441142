#include "poller/control/request_finder.hpp"

#include <algorithm>
#include <span>

namespace inbox_poller::poller {
namespace {

using Found = RequestFinder::Found;

constexpr std::size_t shortest_beginning = 4;  // of an id
constexpr EpochMs remembered_ms = 3'600'000;   // time that a person may have a list in view
constexpr int most_remembered = 1000;
constexpr std::size_t most_described = 5;
constexpr int most_alike = 50;  // messages that repeat the same id

/// Lists candidates, open ones first, one a line.
std::string described(std::vector<Found> found) {
  std::stable_partition(found.begin(), found.end(), [](const Found& one) { return handlers::is_open(one.second.state); });
  std::string text;
  for (const auto& [team, request] : std::span(found).first(std::min(found.size(), most_described)))
    text += "\n  " + std::string(to_string(request.kind)) + " of " + request.asker + " in team " + team + " (" + request.asker +
            "/" + request.request_id + ", " + std::string(to_string(request.state)) + ", key " + request.message.value + ")";
  if (found.size() > most_described)
    text += "\n  and " + std::to_string(found.size() - most_described) + " more; `inbox-poller pending --list` shows the open ones";
  return text;
}

/// Selects the open request among those with one id. An exception is a request decided within the hour before the open
/// one arrived. The new asker may have chosen its id for a person who still means the old one.
void prefer_open(std::vector<Found>& found) {
  const auto is_open = [](const auto& one) { return handlers::is_open(one.second.state); };
  const auto open = std::find_if(found.begin(), found.end(), is_open);
  if (open == found.end() || std::count_if(found.begin(), found.end(), is_open) != 1) return;
  const EpochMs asked = open->second.asked_ms;
  if (std::any_of(found.begin(), found.end(),
                  [&](const auto& one) {
                    const EpochMs decided = one.second.decided_ms;
                    return !is_open(one) && decided <= asked && decided >= asked - remembered_ms;
                  }))
    return;
  found = {*open};
}

}  // namespace

RequestFinder::RequestFinder(std::vector<std::shared_ptr<Team>> served, Ledger& ledger, EpochMs now, Of of)
    : served_(std::move(served)), ledger_(ledger), now_(now), of_(std::move(of)) {}

bool RequestFinder::is_served(const std::string& team) const {
  return std::any_of(served_.begin(), served_.end(), [&](const auto& one) { return one->context().name == team; });
}

const std::map<std::string, std::vector<Found>, std::less<>>& RequestFinder::shown() {
  if (shown_) return *shown_;
  shown_.emplace();
  for (const auto& team : served_) {
    if (!of_.team.empty() && of_.team != team->context().name) continue;
    for (const auto* request : team->requests().oldest_first()) {
      if (!of_.kind.empty() && of_.kind != to_string(request->kind)) continue;
      const auto& key = request->message.value;
      (*shown_)[key.empty() ? request->request_id : key].emplace_back(team->context().name, *request);
    }
  }
  return *shown_;
}

Result<std::vector<Found>> RequestFinder::beginning(const std::string& id, bool decided_too) {
  std::vector<Found> found;
  if (id.size() < shortest_beginning) return found;
  const auto add = [&](const std::string& team, const handlers::Request& request) {
    const bool begins = (request.request_id != id && request.request_id.starts_with(id)) ||
                        (request.message.value != id && request.message.value.starts_with(id));
    if (begins && (of_.kind.empty() || of_.kind == to_string(request.kind))) found.emplace_back(team, request);
  };
  for (const auto& team : served_)
    if (of_.team.empty() || of_.team == team->context().name)
      for (const auto* request : team->requests().oldest_first()) add(team->context().name, *request);
  if (!decided_too) return found;
  if (!decided_) {
    TRY(auto decided, ledger_.requests().decisions(of_.team, now_ - remembered_ms, most_remembered));
    decided_ = std::move(decided);
  }
  for (const auto& [team, request] : *decided_) add(team, request);
  return found;
}

Result<std::vector<Found>> RequestFinder::whole(const std::string& id) {
  // A message key is a hash, so no request can have the id of another one's key.
  auto id_of_key = id;
  if (const auto rows = ledger_.messages().like(id, most_alike); rows.ok() && !id.empty()) {
    for (const auto& row : *rows)
      if (row.key.value == id && !row.request_id.empty()) id_of_key = row.request_id;
  }
  auto found = ledger_.requests().by_id(id_of_key);
  if (!found) return found;
  // WORKER/ID: a request id has no slash before an '@'.
  if (const auto slash = id.find('/'); found->empty() && slash != std::string::npos) {
    found = ledger_.requests().by_id(id.substr(slash + 1));
    if (!found) return found;
    std::erase_if(*found, [&](const auto& item) { return item.second.asker != id.substr(0, slash); });
  }
  if (id_of_key != id) std::erase_if(*found, [&](const auto& item) { return item.second.message.value != id; });
  std::erase_if(*found, [&](const auto& item) { return !of_.team.empty() && item.first != of_.team; });
  std::erase_if(*found, [&](const auto& item) { return !of_.kind.empty() && to_string(item.second.kind) != of_.kind; });
  // Requests of unreachable teams cannot be answered; they are meant only if there is no other.
  const auto served = [&](const auto& item) { return is_served(item.first); };
  if (std::any_of(found->begin(), found->end(), served)) std::erase_if(*found, std::not_fn(served));
  return found;
}

bool RequestFinder::went_elsewhere(const std::string& id) {
  for (const auto& mails : {ledger_.node_mail().of_request(id, most_alike), ledger_.node_mail().like(id, most_alike)})
    if (mails && std::ranges::any_of(*mails, [](const NodeMailRow& one) {
          return one.direction == MailDirection::out && one.node == lead_address;
        }))
      return true;
  return false;
}

Result<Found> RequestFinder::find(const std::string& id) {
  if (of_.shown)
    if (const auto open = shown().find(id); open != shown().end() && open->second.size() == 1)
      return open->second.front();
  TRY(auto found, whole(id));
  const bool is_whole = of_.shown || !of_.message_key.empty();
  TRY(auto longer, is_whole ? Result<std::vector<Found>>(std::vector<Found>{}) : beginning(id, found.empty()));
  if (found.empty() && longer.size() > 1) prefer_open(longer);
  if (found.empty() && longer.size() == 1) return std::move(longer.front());
  if (found.empty() && longer.size() > 1)
    return Error{"request.ambiguous",
                 "several requests begin with \"" + id + "\"; give more of it: " + described(longer)};
  if (found.empty() && went_elsewhere(id))
    return Error{"role.not_leader", "the request \"" + id + "\" went to the node that leads, and is answered there: `inbox-poller nodes`"};
  if (found.empty() && !of_.team.empty() && !is_served(of_.team))
    return Error{"team.unknown", "team \"" + of_.team + "\" is not served; `inbox-poller status` names those that are"};
  if (found.empty())
    return Error{"request.unknown",
                 (id.size() < shortest_beginning && of_.kind.empty()
                      ? "\"" + id + "\" is no whole id, and too short for the beginning of one (at least 4 characters)"
                      : "no " + (of_.kind.empty() ? "" : of_.kind + " ") + "request with the id \"" + id + "\" was ever received") +
                     "; `inbox-poller pending --list` shows the open ones"};
  if (const auto& key = of_.message_key; !key.empty()) {
    std::erase_if(found, [&](const auto& item) { return item.second.message.value != key; });
    if (found.empty())
      return Error{"request.changed",
                   "the request with the id \"" + id + "\" is not the one that was shown; look again"};
  }
  if (found.size() > 1) prefer_open(found);
  if (found.size() > 1)
    return Error{"request.ambiguous",
                 "several requests have this id; say which as WORKER/ID, with --kind and --team, or by its key: " +
                     described(found)};
  // A person may have seen this id as the prefix of an older request's id in a list.
  for (auto& [team, request] : longer)
    if (handlers::is_open(request.state) && request.asked_ms < found.front().second.asked_ms)
      found.emplace_back(team, std::move(request));
  if (found.size() > 1)
    return Error{"request.ambiguous", "\"" + id +
                                          "\" is one request's id and the beginning of an older one's; give the "
                                          "key of the one that is meant: " +
                                          described(found)};
  return std::move(found.front());
}

}  // namespace inbox_poller::poller
