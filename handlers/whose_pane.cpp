#include "handlers/whose_pane.hpp"

#include "handlers/text.hpp"

namespace inbox_poller::handlers {

std::string left_alone(const schema::Member& member, bool names_pane, const schema::Roster& roster) {
  const std::string& id = member.tmux_pane_id;
  if (member.backend_type == "in-process" || id == "in-process")
    return "it runs inside the lead's own program (backend in-process)";
  if (!member.backend_type.empty() && member.backend_type != "tmux")
    return "panes of the backend " + member.backend_type + " are not ours to close";
  if (!names_pane) return "the roster names no tmux pane for it";
  for (const auto& other : roster.members)
    if (other.name != member.name && other.tmux_pane_id == id)
      return "the roster gives its pane " + id + " to " + other.name + " as well";
  return {};
}

PaneOwner owner_of(const schema::Member& member, const std::vector<PaneProcess>& processes, EpochMs started_ms) {
  const std::string& id = member.tmux_pane_id;
  PaneOwner owner;
  std::string another;
  for (const PaneProcess& one : processes) {
    if (one.ours) return {"the pane " + id + " is the one that this program runs in", {}};
    if (one.leads) return {"the pane " + id + " is the lead's own", {}};
    if (!one.agent_id.empty() && one.agent_id == member.agent_id) owner.worker.push_back(one.process);
    else if (!one.agent_id.empty()) another = one.agent_id;
  }
  const EpochMs later = started_ms - member.joined_at_ms;
  const bool began_with_it = started_ms != 0 && -joining_ms <= later && later <= later_ms;
  if (owner.worker.empty() && !another.empty())
    owner.left_alone = "the pane " + id + " has a process of " + shown(another) + " and none that names the worker";
  else if (owner.worker.empty() && !began_with_it)
    owner.left_alone = "the pane " + id + " did not begin when the worker joined and nothing in it names the "
                                          "worker, so it may be another person's";
  return owner;
}

std::optional<NotTaken> no_beginning(std::string_view member, bool force, const AnswerAuthority& authority,
                                     const WorkerPlace& place, long long living) {
  if (authority.counts() && !force) return std::nullopt;
  const std::string name(member);
  const bool can_end = !place.pane_id.empty() || !place.processes.empty();
  const bool lives_elsewhere = !can_end && living != 0;
  const std::string not_recorded = "nothing of " + name + " is on record that may be ended: " + place.left_alone +
                                   "; its process " + std::to_string(living) + " lives";
  if (!force)
    return NotTaken{"worker.verifies_lead",
                    name + " would not obey: it takes requests to shut down from its own lead only (" +
                        authority.reason + "). Let the lead end it, or: inbox-poller shutdown " + name +
                        " --force, which " +
                        (can_end           ? "ends " + named(place) + " without asking it"
                         : lives_elsewhere ? "comes after its end, since " + not_recorded
                                           : "takes it out of the team")};
  if (!lives_elsewhere) return std::nullopt;
  return NotTaken{"shutdown.nothing_recorded",
                  not_recorded + ". End that yourself, then say this again to clean up after it"};
}

NotTaken only_by_itself(std::string_view member) {
  const std::string name(member);
  return {"shutdown.nothing_recorded", name + " lives inside another process, and nothing of it can be ended from outside: "
                                       "it ends by itself, when it has read the request. Ask it: inbox-poller shutdown " + name};
}

}  // namespace inbox_poller::handlers
