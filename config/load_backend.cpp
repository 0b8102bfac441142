// The keys of [team] that depend on the mailbox system (team.backend), and what that system cannot carry.
#include "config/load_section.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::config {
namespace {

void read_members(Section& team, TeamSettings& to) {
  if (!team.is_written("members") || team.is_list("members")) {
    team.list("members", to.members, sender_name);
    return;
  }
  to.members = {""};
  team.text("members", to.members.front());
  if (to.members.front() != TeamSettings::anybody)
    team.reject("members", "is a list of names, or \"*\" for every name that has an inbox or writes to the lead");
}

void read_folder(Section& team, TeamSettings& to) {
  const std::string kind(to.facts().noun);
  while (to.folder.size() > 1 && to.folder.back() == '/') to.folder.pop_back();
  if (to.folder.empty()) team.reject("folder", "is missing; write the folder of the " + kind);
  if (to.is_glob())
    team.reject("name", "stands for many teams, but a " + kind + " is one folder; give it a name of its own");
}

void read_broker(Section& team, const std::string& written, TeamSettings& to) {
  if (to.is_glob())
    return team.reject("name", "stands for many teams, but team.redis_url names one; give it a name of its own");
  if (written.empty())
    return team.reject("redis_url", "is missing; write the address of the Redis, such as "
                                 "\"redis+unix:///run/redis/redis.sock\" or \"rediss://HOST:6379?ca=FILE\"");
  auto address = parse_redis_address(written);
  if (!address) return team.reject("redis_url", "is not the address of a Redis: " + address.error().message);
  to.redis = *std::move(address);
  if (to.redis.team.empty()) to.redis.team = to.name;
  if (!schema::is_valid_name(to.redis.team))
    team.reject("redis_url", "does not say what the team is called there, and \"" + to.name +
                              "\" (team.name) can be no name there: write it behind a #, as in " + to.redis.shown());
}

}  // namespace

Result<std::string> sender_name(const std::string& text) {
  if (schema::is_valid_name(text)) return text;
  return Error{"config.name", toml_text(text) + " is not a sender's name: letters, digits, '_' and '-', at most 64"};
}

void load_backend(Section& team, std::string_view home, TeamSettings& to) {
  std::string broker;
  team.path("folder", to.folder, home);
  team.text("redis_url", broker);
  read_members(team, to);
  const bool has_folder = to.backend == Backend::jsonl || to.backend == Backend::maildir;
  if (!has_folder && team.is_written("folder"))
    team.reject("folder", "is for backend = \"jsonl\" or \"maildir\" only");
  if (to.backend != Backend::redis && team.is_written("redis_url"))
    team.reject("redis_url", "is for backend = \"redis\" only; the Redis between the nodes of a team stands in [cluster]");
  if (to.backend == Backend::claude_code && team.is_written("members"))
    team.reject("members", "is for backend = \"jsonl\", \"maildir\" or \"redis\" only");
  if (has_folder) read_folder(team, to);
  if (to.backend == Backend::redis) read_broker(team, broker, to);
  if (to.facts().asks) return;
  const std::string kind = "a " + std::string(to.facts().noun);
  if (!schema::is_valid_name(to.lead) || to.lead == "tmp" || to.lead == "tasks")
    team.reject("lead", "must name the actor whose mail is delivered: in " + kind + " no actor leads by itself");
  if (to.role == Role::interceptor)
    team.reject("role",
                "is \"interceptor\", but " + kind + " has no requests that a rule could answer; use \"observer\"");
}

void tell_what_is_not_carried(const toml::table& document, Complaints& complaints, std::vector<std::string>& warnings,
                              LoadedTeam& out) {
  const Backend backend = out.config.team.backend;
  if (backend == Backend::claude_code) return;
  const auto section = [&](const char* name) { return Section(document, name, complaints, out.settings); };
  const bool letters = !facts_of(backend).asks;
  const std::string kind = letters ? "a " + std::string(facts_of(backend).noun) + " (team.backend) knows" : "JSONL teams (team.backend) know";
  const std::string here = " has no effect with team.backend = \"" + std::string(schema::name_of(backend)) + "\": ";
  const auto warn = [&](const std::string& what, const std::string& why) {
    warnings.push_back(complaints.file + ": " + what + here + why);
  };
  if (out.config.modes.on_join || !out.config.modes.members.empty())
    section("modes").reject("on_join", "cannot be carried out: " + kind + " no modes; leave it out");
  const std::vector<const char*> asked =
      letters ? std::vector<const char*>{"modes", "permissions", "sandbox", "plans", "shutdown"}
              : std::vector<const char*>{"modes", "permissions", "sandbox"};
  for (const char* name : asked)
    if (!section(name).keys().empty())
      warn("[" + std::string(name) + "]", letters ? "its actors neither ask nor obey" : "its workers ask for plans only");
  if (!letters && section("shutdown").is_written("force_after"))
    warn("shutdown.force_after", "its workers live inside another process, and nothing of theirs can be ended");
  if (!section("compaction").keys().empty())
    warn("[compaction]", backend == Backend::jsonl     ? "an inbox is empty when it has been read"
                         : backend == Backend::maildir ? "what was taken stays in cur/"
                                                           : "what was taken leaves the stream after a week");
}

}  // namespace inbox_poller::config
