#include "poller/context/team_state.hpp"

#include <algorithm>


namespace inbox_poller::poller {
namespace {

constexpr std::chrono::seconds departure_grace{60};
constexpr std::chrono::hours recent{24};
constexpr int most_recent = 1000;

}  // namespace

TeamState::TeamState(std::string team_name, const config::TeamConfig& team_config, std::string home_dir,
                         Ledger& the_ledger, Telemetry& the_telemetry, const Clock& the_clock)
    : name(std::move(team_name)),
      config(team_config),
      membership{handlers::effective_role(team_config.team.role), {}},
      home(std::move(home_dir)),
      ledger(the_ledger),
      telemetry(the_telemetry),
      clock(the_clock),
      lead(team_config.team.lead) {}

void TeamState::reconfigure(const config::TeamConfig& fresh) {
  config = fresh;
  rules.rebuild();
}

Status TeamState::restore() {
  TRY(auto rows, ledger.members().of_team(name));
  for (auto& row : rows) {
    if (!row.present) former_members_.push_back(row.name);
    members[row.name] = std::move(row);
  }
  TRY(auto all, ledger.rules().of_team(name));
  rules.restore(std::move(all));
  return Done{};
}

Status TeamState::adopt(schema::Roster fresh) {
  lead = config.team.lead.empty() ? fresh.lead_name() : config.team.lead;
  auto others = config.team.aliases;
  others.push_back(lead);
  fresh.part_inboxes(others);
  for (const auto& unreachable : fresh.unreachable) {
    if (std::find(roster.unreachable.begin(), roster.unreachable.end(), unreachable) == roster.unreachable.end())
      telemetry.emit(Event::member_unreachable, {{"team", name}, {"member", unreachable.name}, {"reason", unreachable.reason}});
  }
  if (!fresh.ignored.empty() && fresh.ignored != roster.ignored)
    telemetry.emit(Event::roster_ignored, {{"team", name}, {"reason", fresh.ignored + "; that counts as absent"}});
  const bool new_session = roster.lead_session_id != fresh.lead_session_id;
  for (const auto& member : fresh.members) {
    const auto* before = roster.find(member.name);
    if (before != nullptr && before->mode != member.mode)
      telemetry.emit(Event::roster_mode,
                     {{"team", name}, {"member", member.name}, {"old", before->mode}, {"new", member.mode}});
  }
  roster = std::move(fresh);
  if (new_session) rules.rebuild();  // a person's rule holds for the session it was given in
  // Now, because the commit below may fail: who left just now is no stranger.
  former_members_.clear();
  for (const auto& [member_name, row] : members)
    if (roster.find(member_name) == nullptr) former_members_.push_back(member_name);
  std::vector<MemberRow> changed;
  for (const auto& member : roster.members) {
    absent_since_.erase(member.name);
    const auto known = members.find(member.name);
    if (known != members.end() && known->second.present) continue;
    MemberRow row = known != members.end() ? known->second : MemberRow{};
    row.team = name;
    row.name = member.name;
    row.present = true;
    changed.push_back(std::move(row));
  }
  for (const auto& [member_name, row] : members) {
    if (!row.present || roster.find(member_name) != nullptr) continue;
    absent_since_.emplace(member_name, clock.steady());
    changed.push_back(row);
    changed.back().present = false;
  }
  if (changed.empty()) return Done{};
  return commit([&](Tx& tx) {  // on failure the next scan finds it again
    for (const auto& row : changed) {
      tx.log(Event::roster_changed, {{"team", name}, {"member", row.name}, {"state", row.present ? "member" : "left"}});
      tx.keep(ledger.members().put(row));
    }
    tx.then([&] {
      for (auto& row : changed) members[row.name] = row;
    });
  });
}

std::string TeamState::owner_of(const std::string& inbox) const {
  const auto known = members.find(inbox);
  if (known != members.end() && known->second.present) return inbox;
  std::string owner = inbox;
  for (const auto& [member_name, row] : members) {
    const bool is_better = row.present || (known == members.end() && owner == inbox);
    if (is_better && schema::inbox_name(member_name) == inbox) owner = member_name;
  }
  return owner;
}

bool TeamState::has_left(const std::string& member) const {
  const auto known = members.find(member);
  if (known == members.end() || known->second.present || roster.find(member) != nullptr) return false;
  const auto since = absent_since_.find(member);
  return since == absent_since_.end() || clock.steady() - since->second > departure_grace;
}

WorkerProcesses::Sight TeamState::sight_of(const std::string& member) const {
  const auto* listed = roster.find(member);
  if (workers == nullptr) return {};
  // Known, and unlisted while the roster cannot be read: its process still shows the key. A stranger costs no search.
  if (listed == nullptr && !members.contains(member)) return {};
  if (listed == nullptr) return workers->look(member + "@" + name, clock.system_ms());
  return workers->look(listed->agent_id, listed->joined_at_ms);
}

handlers::AnswerAuthority TeamState::answer_authority(const std::string& member) const {
  if (member == lead) return {};  // its own prompts are answered at its session
  if (!roster.own_lead_only.empty()) return {handlers::Answers::verified, roster.own_lead_only};
  if (workers == nullptr || !config.team.facts().verifies) return {};
  return handlers::authority_of(sight_of(member).process, roster.lead_process.has_value());
}

void TeamState::warn_of(const std::string& member, const handlers::AnswerAuthority& authority) {
  const auto* listed = roster.find(member);
  if (authority.counts() || listed == nullptr) return;
  if (std::exchange(told_of_[member], listed->joined_at_ms) == listed->joined_at_ms) return;
  telemetry.emit(Event::worker_verifies_lead,
                 {{"team", name},
                  {"member", member},
                  {"evidence", std::string(handlers::to_string(authority.answers))},
                  {"reason", handlers::verifies(member, authority) + ". " + handlers::answered_instead(member)}});
}

handlers::TeamView TeamState::view() const {
  return {config, roster, name, lead, rules.permissions(), rules.hosts(), former_members_, home, membership};
}

Status TeamState::commit(Work work, CommitAs as) {
  Unit unit(*this, std::move(work), as);
  commit_together(ledger, {&unit, 1});
  return unit.status;
}

Status TeamState::may_commit() const {
  if (guard)
    if (auto may = guard(); !may) return Error{"cluster.no_lease", may.error().message};
  return Done{};
}

void TeamState::heard_of_ledger(const Status& last) {
  if (!last && !last.error().code.starts_with("ledger.")) return;  // the work itself refused: no lease, no such rule
  if (!last) {
    // A ledger that is gone is logged once for all teams. A read of it fails with an error of its own.
    const Status there = ledger.still_there();
    if (ledger_fault_.empty() && (there || there.error().code != "ledger.gone"))
      telemetry.emit(Event::ledger_fault,
                     {{"team", name}, {"code", last.error().code}, {"reason", last.error().message}});
    ledger_fault_ = last.error().message;
    return;
  }
  if (!ledger_fault_.empty()) telemetry.emit(Event::ledger_recovered, {{"team", name}});
  ledger_fault_.clear();
}

Result<std::vector<std::pair<std::string, handlers::Request>>> TeamState::recent_decisions() {
  const auto span = std::chrono::duration_cast<std::chrono::milliseconds>(recent);
  return ledger.requests().decisions(name, clock.wall_ms() - span.count(), most_recent);
}

}  // namespace inbox_poller::poller
