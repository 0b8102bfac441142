#include "poller/cluster/heartbeat.hpp"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "handlers/text.hpp"
#include "poller/cluster/cluster_roster.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::poller {
namespace json = boost::json;
namespace {

constexpr std::size_t most_removed_told = 1000;
constexpr std::size_t longest_id = 200;
constexpr std::size_t longest_text = 1000;

long long number_in(const json::object& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

std::string text_in(const json::object& object, std::string_view name, std::size_t limit = longest_text) {
  const auto* value = object.if_contains(name);
  const auto* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string() : handlers::one_line(std::string_view(*text), limit);
}

bool is_true(const json::object& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  return value != nullptr && value->is_bool() && value->get_bool();
}

json::array list_in(const json::object& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  const auto* list = value == nullptr ? nullptr : value->if_array();
  return list == nullptr ? json::array() : *list;
}

json::array told(const std::vector<NodeEnd>& ends) {
  json::array list;
  for (const auto& one : ends) {
    if (list.size() == most_ends) break;
    list.push_back({{"request_id", one.request_id},
                    {"member", one.member},
                    {"state", one.state},
                    {"by", one.by},
                    {"reason", one.reason.substr(0, longest_text)},
                    {"tasks", one.tasks.substr(0, longest_text)},
                    {"detail", one.detail.substr(0, longest_text)},
                    {"joinedAt", one.joined_ms}});
  }
  return list;
}

std::vector<NodeEnd> read_ends(const json::array& list) {
  std::vector<NodeEnd> ends;
  for (const auto& one : list) {
    const auto* object = one.if_object();
    if (object == nullptr || ends.size() == most_ends) continue;
    NodeEnd end{text_in(*object, "request_id", longest_id), text_in(*object, "member", longest_id),
                text_in(*object, "state", longest_id),      text_in(*object, "by", longest_id),
                text_in(*object, "reason"),                 text_in(*object, "tasks"),
                text_in(*object, "detail"),                 number_in(*object, "joinedAt")};
    if (!end.request_id.empty() && schema::is_valid_name(end.member)) ends.push_back(std::move(end));
  }
  return ends;
}

}  // namespace

std::string beat_text(const NodeState& state, const SeenHost& own, json::array members) {
  json::array removed;
  if (own.leads)
    for (const auto& [name, joined] : state.removed)
      if (removed.size() < most_removed_told) removed.push_back({{"name", name}, {"joinedAt", joined}});
  return json::serialize(json::object{{"version", own.version},
                                      {"leads", own.leads},
                                      {"epoch", own.epoch},
                                      {"queued", own.queued},
                                      {"oldest_ms", own.oldest_ms},
                                      {"told_ms", own.told_ms},
                                      {"members", std::move(members)},
                                      {"orders", told(own.leads ? state.orders : std::vector<NodeEnd>())},
                                      {"removed", std::move(removed)},
                                      {"ends", told(state.ends)}});
}

std::optional<SeenHost> read_beat(const config::ClusterSettings& settings, const std::string& node, std::string_view told,
                                  const std::string& lead) {
  if (told.size() > longest_beat || !schema::is_valid_name(node)) return std::nullopt;
  boost::system::error_code problem;
  const auto parsed = json::parse(told, problem);
  const auto* object = problem ? nullptr : parsed.if_object();
  if (object == nullptr) return std::nullopt;
  SeenHost seen;
  seen.version = text_in(*object, "version", 64);
  seen.leads = is_true(*object, "leads");
  seen.queued = number_in(*object, "queued");
  seen.oldest_ms = number_in(*object, "oldest_ms");
  seen.told_ms = number_in(*object, "told_ms");
  seen.members = told_members(settings, node, list_in(*object, "members"), lead);
  seen.ends = read_ends(list_in(*object, "ends"));
  std::erase_if(seen.ends, [&](const NodeEnd& end) { return handlers::node_of(settings, end.member) != node; });
  if (!seen.leads || std::ranges::find(settings.leads, node) == settings.leads.end()) return seen;
  seen.epoch = number_in(*object, "epoch");
  seen.orders = read_ends(list_in(*object, "orders"));
  for (const auto& one : list_in(*object, "removed")) {
    const auto* entry = one.if_object();
    if (entry == nullptr || seen.removed.size() == most_removed_told) continue;
    if (auto name = text_in(*entry, "name", longest_id); schema::is_valid_name(name))
      seen.removed[std::move(name)] = number_in(*entry, "joinedAt");
  }
  return seen;
}

}  // namespace inbox_poller::poller
