#include "poller/cluster/cluster_roster.hpp"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "handlers/nodes.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::poller {
namespace {

constexpr std::size_t most_members = 1000;  // of one node
constexpr std::size_t longest_value = 4096;
constexpr std::size_t most_told_names = 10'000;  // limit of the names that a hostile leader may invent

std::string text_of(const boost::json::object& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  const auto* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr || text->size() > longest_value ? std::string() : std::string(*text);
}

/// Clears the fields that name resources of another node.
schema::Member elsewhere(schema::Member member) {
  member.tmux_pane_id.clear();
  member.backend_type.clear();
  member.session_id.clear();
  member.worktree_path.clear();
  return member;
}

std::string entry_of(const schema::Member& member) {
  boost::json::object entry;
  entry["agentId"] = member.agent_id;
  entry["name"] = member.name;
  if (!member.agent_type.empty()) entry["agentType"] = member.agent_type;
  if (!member.model.empty()) entry["model"] = member.model;
  if (!member.color.empty()) entry["color"] = member.color;
  entry["joinedAt"] = member.joined_at_ms;
  entry["tmuxPaneId"] = "";
  entry["cwd"] = member.cwd;
  entry["subscriptions"] = boost::json::array();
  return boost::json::serialize(entry);
}

}  // namespace

std::map<std::string, schema::Member> told_members(const config::ClusterSettings& settings, const std::string& node,
                                                   const boost::json::array& told, const std::string& lead) {
  std::map<std::string, schema::Member> members;
  for (const auto& one : told) {
    const auto* object = one.if_object();
    if (object == nullptr || members.size() == most_members) continue;
    schema::Member member;
    member.name = text_of(*object, "name");
    member.agent_id = text_of(*object, "agentId");
    member.agent_type = text_of(*object, "agentType");
    member.model = text_of(*object, "model");
    member.color = text_of(*object, "color");
    member.cwd = text_of(*object, "cwd");
    member.mode = text_of(*object, "mode");
    if (const auto* joined = object->if_contains("joinedAt"); joined != nullptr && joined->is_int64())
      member.joined_at_ms = std::max<std::int64_t>(0, joined->get_int64());
    if (const auto* active = object->if_contains("isActive"); active != nullptr && active->is_bool())
      member.is_active = active->get_bool();
    const bool is_its = member.name == lead
                            ? std::ranges::find(settings.leads, node) != settings.leads.end()
                            : handlers::node_of(settings, member.name) == node;
    if (!schema::is_valid_name(member.name) || !is_its) continue;
    if (schema::bare_name(member.agent_id) != member.name) member.agent_id.clear();
    members[member.name] = std::move(member);
  }
  return members;
}

bool ClusterRoster::roster_changed() {
  const bool changed = local_.roster_changed();
  return changed || read_ != state_.roster_version || leads_ != state_.leading();
}

Result<schema::Roster> ClusterRoster::roster() {
  TRY(auto roster, local_.roster());
  if (std::exchange(told_as_, local_.roster_copy().bytes) != local_.roster_copy().bytes) ++version_;
  read_ = state_.roster_version;
  leads_ = state_.leading();
  const auto lead = state_.context.config.team.lead.empty() ? roster.lead_name() : state_.context.config.team.lead;
  const auto is_elsewhere = [&](const std::string& name) {
    return handlers::is_elsewhere(state_.settings, name, lead, leads_);
  };
  here_.clear();
  for (auto& member : roster.members) {
    if (is_elsewhere(member.name))
      member = elsewhere(std::move(member));
    else
      here_.push_back(member);
  }
  const auto put = [&](schema::Member member) {
    const auto same = std::ranges::find(roster.members, member.name, &schema::Member::name);
    if (same != roster.members.end() && member.name == lead) member.cwd = same->cwd;  // hooks tell of the client here
    (same == roster.members.end() ? roster.members.emplace_back() : *same) = std::move(member);
  };
  for (const auto& [node, seen] : state_.seen)
    for (const auto& [name, member] : seen.members)
      if (node != state_.settings.node && is_elsewhere(name) && (name != lead || seen.leads)) put(member);
  for (const auto& [node, names] : state_.settings.members) {
    if (node == state_.settings.node) continue;
    for (const auto& name : names) {
      if (roster.find(name) != nullptr) continue;
      schema::Member member;  // no heartbeat yet; without a folder no path rule allows it anything
      member.name = name;
      member.agent_id = name + "@" + state_.context.name;
      roster.members.push_back(std::move(member));
    }
  }
  std::erase_if(roster.members, [&](const schema::Member& member) {
    return is_elsewhere(member.name) && state_.is_removed(member.name, member.joined_at_ms);
  });
  return roster;
}

void ClusterRoster::mirror() {
  const auto entries = schema::member_entries(local_.roster_copy().bytes);
  if (!entries) return;
  for (const auto& [node, seen] : state_.seen) {
    if (node == state_.settings.node) continue;
    for (const auto& [name, member] : seen.members) {
      const bool known = std::ranges::any_of(*entries, [&, &wanted = name](const auto& entry) { return entry.first == wanted; });
      if (known || state_.is_removed(name, member.joined_at_ms) || !state_.is_elsewhere(name)) continue;
      auto whole = member;
      if (whole.agent_id.empty()) whole.agent_id = name + "@" + state_.context.name;
      static_cast<void>(local_.add_member(name, entry_of(whole)));  // retried at the next heartbeat
    }
  }
}

boost::json::array ClusterRoster::own_members() const {
  boost::json::array members;
  for (const auto& member : here_) {
    if (state_.is_elsewhere(member.name) || members.size() == most_members) continue;
    members.push_back({{"name", member.name},
                       {"agentId", member.agent_id},
                       {"agentType", member.agent_type},
                       {"model", member.model},
                       {"color", member.color},
                       {"cwd", member.cwd},
                       {"mode", member.mode},
                       {"joinedAt", member.joined_at_ms},
                       {"isActive", member.is_active}});
  }
  return members;
}

WriteReceipt ClusterRoster::remove_member(const std::string& name) {
  auto removed = local_.remove_member(name);
  if (!state_.is_elsewhere(name) || (removed.put != WriteStatus::done && removed.put != WriteStatus::unchanged)) return removed;
  // The member's own node may still list it, and other programs of this node must know of the removal.
  const auto* member = state_.context.roster.find(name);
  if (auto kept = remember({{name, member == nullptr ? 0 : member->joined_at_ms}}); !kept)
    return {WriteStatus::fault, kept.error().message};
  return removed;
}

Status ClusterRoster::remember(const Removed& removed) {
  auto& context = state_.context;
  const auto keep = [&](Tx& tx) {
    for (const auto& [name, joined] : removed) tx.keep(tx.ledger.node_mail().set_removed({context.name, name, joined}));
    tx.then([&] {
      for (const auto& [name, joined] : removed) state_.removed[name] = joined;
      ++state_.roster_version;
      ++state_.telling;
    });
  };
  return context.commit(keep, CommitAs::fact);
}

void ClusterRoster::take_out(const Removed& told) {
  Removed fresh;
  for (const auto& [name, joined] : told)
    if (state_.is_elsewhere(name) && name != state_.context.lead && !state_.is_removed(name, joined)) fresh[name] = joined;
  const bool too_many = state_.removed.size() + fresh.size() > most_told_names;
  if (fresh.empty() || too_many || !remember(fresh)) return;  // the next heartbeat repeats it
  const auto entries = schema::member_entries(local_.roster_copy().bytes);
  for (const auto& [name, joined] : fresh) {
    const bool listed = entries && std::ranges::any_of(*entries, [&, &wanted = name](const auto& one) { return one.first == wanted; });
    if (listed) static_cast<void>(local_.remove_member(name));
  }
}

}  // namespace inbox_poller::poller
