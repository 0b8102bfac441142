// [cluster]: a team on several nodes.
#include <algorithm>
#include <array>
#include <map>

#include "config/load_section.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::config {
namespace {

constexpr std::array<std::string_view, 3> schemes{"redis+unix:///", "redis://", "rediss://"};

Result<std::string> host_name(const std::string& text) {
  if (schema::is_valid_name(text)) return text;
  return Error{"config.name", toml_text(text) + " is not a node's name: letters, digits, '_' and '-', at most 64"};
}

Result<std::string> member_name(const std::string& text) {
  if (schema::is_valid_name(text)) return text;
  return Error{"config.name", toml_text(text) + " is not a member's name: letters, digits, '_' and '-', at most 64"};
}

bool has(const std::vector<std::string>& list, const std::string& text) {
  return std::ranges::find(list, text) != list.end();
}

struct ClusterReader {
  Section section;
  Section members;
  const TeamSettings& team;
  ClusterSettings& to;

  void name(std::string_view key, std::string& value, std::string_view what) {
    section.text(key, value);
    if (value.empty())
      section.reject(key, "is missing; write " + std::string(what));
    else if (!schema::is_valid_name(value))
      section.reject(key, "cannot be a name: use letters, digits, '_' and '-', at most 64 characters");
  }

  void read_engine() {
    section.text("redis_url", to.redis_url);
    const bool known = std::ranges::any_of(schemes, [&](std::string_view scheme) { return to.redis_url.starts_with(scheme); });
    if (to.redis_url.empty())
      section.reject("redis_url", "is missing; write the address of the Redis between the nodes, such as "
                               "\"redis+unix:///run/redis/redis.sock\" or \"rediss://redis:6379\"");
    else if (to.redis_url.find('@') != std::string::npos)  // not repeated: it may contain a password
      section.reject("redis_url", "has a user or a password in it; write the password into the file that cluster.secret names");
    else if (!known)
      section.reject("redis_url", "is not the address of a Redis; it begins with \"redis+unix:///\", \"redis://\" or \"rediss://\"");
  }

  void read_members() {
    std::map<std::string, std::string> places;
    for (const auto key : members.keys()) {
      const std::string node(key);
      std::vector<std::string> names;
      members.list(key, names, member_name);
      if (!schema::is_valid_name(node))
        members.reject(key, "cannot be a node's name: use letters, digits, '_' and '-', at most 64 characters");
      for (const auto& one : names) {
        const bool is_lead = one == (team.lead.empty() ? "team-lead" : team.lead);
        if (is_lead) members.reject(key, "names the lead, " + toml_text(one) + ": it is on whichever node leads (cluster.leaders)");
        const auto [place, is_new] = places.emplace(one, node);
        if (!is_new) members.reject(key, "names " + toml_text(one) + ", who lives on " + toml_text(place->second) + " already");
      }
      to.members.emplace_back(node, std::move(names));
    }
    members.finish();
  }

  void check_roles() {
    const bool leads = has(to.leads, to.node);
    if (to.leads.empty()) section.reject("leaders", "is missing; name the nodes that may lead, such as [\"h1\"]");
    if (team.role == Role::leader && !to.leads.empty() && !leads)
      section.reject("leaders", "does not name this node, " + toml_text(to.node) +
                                  "; name it, or write team.role = \"follower\"");
    if (team.role == Role::follower && leads)
      section.reject("leaders", "names this node, " + toml_text(to.node) +
                                  ", which is a follower (team.role); leave it out, or write team.role = \"leader\"");
    if (team.role != Role::leader && team.role != Role::follower)
      section.reject("redis_url", "is for team.role = \"leader\" and \"follower\" only");
    if (team.backend != Backend::claude_code)
      section.reject("redis_url", "is for team.backend = \"claude-code\" only");
    if (team.is_glob()) section.reject("id", "is one team's, but team.name stands for many; name the team");
  }

  void read(std::string_view home) {
    read_engine();
    name("id", to.id, "a name for the team in the Redis, the same on all of its nodes");
    name("node", to.node, "this machine's name among the nodes");
    section.path("secret", to.secret, home);
    section.path("ca", to.ca, home);
    section.list("leaders", to.leads, host_name);
    section.count("queued", to.queued, 100, 1'000'000);
    read_members();
    check_roles();
    section.finish({"members"});
  }
};

}  // namespace

void load_cluster(const toml::table& document, std::string_view home, Complaints& complaints, LoadedTeam& out) {
  Section section(document, "cluster", complaints, out.settings);
  Section members(document, "cluster.members", complaints, out.settings);
  if (document.contains("cluster"))
    return ClusterReader{section, members, out.config.team, out.config.cluster}.read(home);
  if (out.config.team.role == Role::follower)
    section.reject("redis_url", "is missing: a follower (team.role) carries the mail of this node to the one that leads");
}

}  // namespace inbox_poller::config
