#include <algorithm>
#include <map>

#include "poller/cli/command.hpp"
#include "poller/cli/doctor/judge.hpp"
#include "poller/cli/printable.hpp"
#include "poller/cli/status_text.hpp"
#include "poller/mailbox/arrays/lock_decision.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

constexpr EpochMs unread_too_long_ms = 10 * 60'000;
constexpr EpochMs being_written_ms = 10'000;  // a younger file may be in the middle of a write
constexpr std::size_t many_read_entries = 1000;

std::string in_team(const TeamPlace& team, const std::string& command, const std::string& member = {}) {
  return "inbox-poller " + command + (member.empty() ? "" : ' ' + shell_word(member)) + " --team " + shell_word(team.name);
}

/// Says where to write a line of [team].
std::string about_team(const TeamPlace& team, const std::string& line) {
  return "write `" + line + "` under [team] in " +
         (team.config.source.empty() ? "a team file" : printable(team.config.source));
}

/// Returns "process 42" if the role was given up because of a living lead; empty otherwise.
std::string lead_in(const std::string& reason) {
  const std::string begin = "process ";
  if (!reason.starts_with(begin)) return {};
  const std::size_t end = reason.find_first_not_of("0123456789", begin.size());
  const std::string_view rest = std::string_view(reason).substr(std::min(end, reason.size()));
  const bool is_lead = end > begin.size() && (rest.starts_with(" says in the roster") || rest.starts_with(" (client ") ||
                                              rest.starts_with(" has the lead's session"));
  return is_lead ? reason.substr(0, end) : std::string();
}

EpochMs age_ms(const FileStat& stat, EpochMs now) { return now - stat.mtime_ns / 1'000'000; }

/// Explains why no client can read the file; empty when clients can.
Findings judge_shape(const TeamPlace& team, const InboxSight& inbox, EpochMs now) {
  const bool young = inbox.stat && age_ms(*inbox.stat, now) < being_written_ms;
  const std::string path = shell_word(inbox.path);
  switch (inbox.outcome) {
    case ReadOutcome::document:
      if (!inbox.bom) return {};
      return {{Severity::error, "inbox.bom", "the inbox begins with a byte order mark: clients do not read it",
               inbox.path, "sed -i '1s/^\\xEF\\xBB\\xBF//' " + path}};
    case ReadOutcome::missing:
    case ReadOutcome::lock_held: return {};
    case ReadOutcome::empty:
      return {{young ? Severity::note : Severity::error, "inbox.empty",
               "the inbox is empty, without even []: a writer is at work or died; clients do not repair it", inbox.path,
               young ? "" : "printf '[]' > " + path}};
    case ReadOutcome::torn:
      return {{young ? Severity::note : Severity::error, "inbox.torn",
               "no client reads the inbox: it " + without_path(inbox.detail, inbox.path), inbox.path,
               young ? "" : "keep a copy and repair it in an editor; or give its messages up: printf '[]' > " + path}};
    case ReadOutcome::not_regular:
      return {{Severity::error, "inbox.not_regular", "the inbox " + without_path(inbox.detail, inbox.path), inbox.path,
               "look at what it is, then remove it: ls -l " + path}};
    case ReadOutcome::too_large:
      return {{Severity::error, "inbox.too_large", "the inbox " + without_path(inbox.detail, inbox.path), inbox.path,
               "raise inbox_file under [limits] in " +
                   (team.config.source.empty() ? "a team file" : printable(team.config.source)) + ", then " +
                   in_team(team, "inbox clear", inbox.name)}};
    case ReadOutcome::fault: break;
  }
  return {{Severity::error, "inbox.fault", inbox.detail, inbox.path, "ls -l " + path}};
}

}  // namespace

Findings judge_roster(const TeamPlace& team, const TeamSight& sight) {
  Findings findings;
  const std::string path = team.folder() + "/config.json";
  if (!schema::is_found_by_old_clients(team.name))
    findings.push_back({Severity::warning, "team.name",
                        "workers of client 2.1.50 look for the team under a lower-case name and lose their permission "
                        "requests without a word",
                        team.folder(), "name the next team with a-z, 0-9 and - only"});
  if (!sight.roster) {
    const Error& error = sight.roster.error();
    if (error.code == "roster.missing") {
      std::size_t unread = 0;
      for (const InboxSight& inbox : sight.inboxes) unread += inbox.unread;
      findings.push_back({Severity::warning, "team.ghost",
                          "the folder has inboxes and no config.json: what a team leaves that ended badly (" +
                              std::to_string(unread) + " unread entries)",
                          team.folder(), "look inside, then: rm -r " + shell_word(team.folder())});
    } else {
      // The rest of this message applies to its observer; only the daemon saw the earlier roster.
      const std::string what =
          error.code == "roster.empty" || error.code == "roster.lost" ? error.message.substr(0, error.message.find("; ")) : error.message;
      findings.push_back(
          {Severity::error, "roster.unreadable", what, path,
           error.code.starts_with("roster.")
               ? "a client that dies while it writes leaves 0 bytes: as leader a running daemon puts back "
                 "what it last saw, after 3 s; else restore the file, or end the team"
               : "ls -ld " + shell_word(team.folder()) + ' ' + shell_word(path)});
    }
    return findings;
  }
  const std::string& configured = team.config.team.lead;
  if (!configured.empty() && configured != sight.roster->lead_name())
    findings.push_back({Severity::warning, "roster.lead",
                        "the roster's lead is " + sight.roster->lead_name() + ", the team file says " + configured +
                            ": workers ignore answers in another name than the lead's",
                        path, about_team(team, "lead = \"" + sight.roster->lead_name() + "\"")});
  for (const schema::Unreachable& member : sight.roster->unreachable)
    findings.push_back({Severity::error, "member.unreachable",
                        member.name + " cannot be answered: " + member.reason + ". Its requests wait without end",
                        path, "start this worker again under a name of letters, digits, '-' and '_'"});
  findings.push_back({Severity::ok, "roster",
                      std::to_string(sight.roster->members.size()) + " members, " +
                          std::to_string(sight.inboxes.size()) + (sight.inboxes.size() == 1 ? " inbox" : " inboxes"),
                      path, ""});
  return findings;
}

Findings judge_inbox(const TeamPlace& team, const InboxSight& inbox, EpochMs now) {
  Findings findings = judge_shape(team, inbox, now);
  const auto add = [&](Severity severity, const char* check, const std::string& what, const std::string& mend) {
    findings.push_back({severity, check, what, inbox.path, mend});
  };
  if (inbox.stat)
    for (Finding& finding : judge_time(inbox.path, *inbox.stat, now)) findings.push_back(std::move(finding));
  const std::uint64_t limit = team.config.limits.inbox_file.count;
  if (inbox.outcome == ReadOutcome::document && inbox.stat && inbox.stat->size > limit / 2)
    add(Severity::warning, "inbox.large",
        "the inbox has " + std::to_string(inbox.stat->size) + " bytes; over " + std::to_string(limit) +
            " it is not read any more",
        in_team(team, "inbox clear", inbox.name));
  if (const std::size_t read = inbox.entries - inbox.unread; read > many_read_entries)
    add(Severity::warning, "inbox.long",
        "the inbox has " + std::to_string(read) + " entries that are read; every writer rewrites them all",
        in_team(team, "inbox clear", inbox.name));
  if (inbox.bad > 0)
    add(Severity::warning, "inbox.bad_entries",
        "the inbox has " + std::to_string(inbox.bad) + " entries of wrong types; older clients may stop at one",
        in_team(team, "inbox show", inbox.name) + " --full");
  if (inbox.whose == Whose::nobody) {
    add(Severity::warning, "inbox.orphaned",
        "the inbox belongs to no member, or its name is misspelled (" + std::to_string(inbox.unread) + " unread entries)",
        "if they were meant for the lead: " + about_team(team, "aliases = [\"" + inbox.name + "\"]"));
  } else if (inbox.outcome == ReadOutcome::document && inbox.oldest_unread_ms != 0 &&
             now - inbox.oldest_unread_ms > unread_too_long_ms) {
    add(Severity::warning, "inbox.unread",
        std::to_string(inbox.unread) + " entries of " + inbox.name + " are unread, the oldest for " +
            span_text(now - inbox.oldest_unread_ms) + ": busy, or not reading any more",
        in_team(team, "inbox unread", inbox.name));
  }
  return findings;
}

Findings judge_lock(const LockSight& lock, EpochMs now) {
  const EpochMs age = age_ms(lock.stat, now);
  const std::string word = shell_word(lock.path);
  const auto found = [&](Severity severity, const char* check, const std::string& what, const std::string& mend) {
    return Findings{{severity, check, what, lock.path, mend}};
  };
  if (lock.stat.kind == FileKind::regular)
    return found(age < std::chrono::milliseconds(foreign_stale_after).count() ? Severity::note : Severity::error,
                 "lock.file",
                 "the lock is a file, " + span_text(age) + " old; clients lock with a folder and cannot write past it",
                 "if no tool uses it: rm " + word);
  if (lock.stat.kind != FileKind::directory)
    return found(Severity::error, "lock.foreign", "something else is in a lock's place; no client can write past it",
                 "look at what it is, then: rm " + word);
  if (!lock.empty)
    return found(Severity::error, "lock.not_empty", "the lock folder is not empty: no client can take it over",
                 "look at what is inside, then: rm -r " + word);
  const EpochMs stale = std::chrono::milliseconds(stale_after).count();
  if (age < -stale)
    return found(Severity::error, "lock.future",
                 "the lock is from " + span_text(-age) + " in the future; until then no client counts it as abandoned",
                 "rmdir " + word);
  if (age > stale)
    return found(Severity::warning, "lock.abandoned",
                 "the lock was not touched for " + span_text(age) + ": its holder died", "rmdir " + word);
  return {};
}

Findings judge_members(const TeamPlace& team, const std::vector<MemberSight>& members) {
  Findings findings;
  const std::string path = team.folder() + "/config.json";
  std::map<std::string, std::string> owners;  // name by pane
  for (const MemberSight& member : members) {
    const auto add = [&](Severity severity, const char* check, const std::string& what, const std::string& mend) {
      findings.push_back({severity, check, what, path, mend});
    };
    const std::string mend = in_team(team, "shutdown", member.name) + " --force";
    const std::string pane = "the pane of " + member.name + " (" + member.pane_id + ") ";
    switch (member.pane) {
      case PaneState::none: continue;
      case PaneState::unknown: break;
      case PaneState::gone:
        add(Severity::warning, "member.pane_gone", pane + "is not there any more, and it is still a member",
            mend + "; where that says that its process N lives: kill N, then the same again");
        break;
      case PaneState::dead:
        add(Severity::warning, "member.process_gone", pane + "is still open, but its process has ended", mend);
        break;
      case PaneState::there:
        if (!member.process)
          add(Severity::note, "member.process_unseen",
              pane + "runs no process that names this agent: its client may have ended", mend);
        break;
    }
    const auto [owner, alone] = owners.emplace(member.pane_id, member.name);
    if (!alone)
      add(Severity::warning, "member.same_pane",
          owner->second + " and " + member.name + " have the same pane " + member.pane_id +
              ": at least one of them has gone, and closing the pane ends the other",
          "inbox-poller status, then shut down the one that is silent");
  }
  return findings;
}

Findings judge_lead_process(const TeamPlace& team, const schema::LeadProcess& lead, handlers::LeadProcessState state) {
  using handlers::LeadProcessState;
  const std::string path = team.folder() + "/config.json";
  const std::string process = "process " + std::to_string(lead.pid) + " says it leads the team and ";
  const bool leads = rights_of(handlers::effective_role(team.config.team.role), handlers::Right::take);
  if (state == LeadProcessState::elsewhere && leads)
    return {{Severity::warning, "lead.elsewhere",
             process + "is not to be seen from here (" + printable(lead.pid_space) +
                 "): if it lives, it reads the lead's "
                 "inbox too",
             path, "look where it runs; if it lives: " + about_team(team, "role = \"observer\"")}};
  if (state == LeadProcessState::lives && leads)
    return {{Severity::warning, "lead.alive",
             process + "lives: it reads the lead's inbox itself, so a leader beside it stops (on_competing_consumer)", path,
             "end it, then " + in_team(team, "resume") + "; or " + about_team(team, "role = \"observer\"") +
                 " (\"interceptor\" where the workers' answers count)"}};
  if (state == LeadProcessState::gone && !leads)
    return {{Severity::warning, "lead.gone", process + "has ended: no program takes the messages for the lead", path,
             "start the lead again, or " + about_team(team, "role = \"leader\"")}};
  return {};
}

Findings judge_lead_session(const TeamPlace& team, const std::string& who, bool reads_inbox) {
  const std::string path = team.folder() + "/config.json";
  const bool leads = rights_of(handlers::effective_role(team.config.team.role), handlers::Right::take);
  if (!reads_inbox || !leads) return {{Severity::ok, "lead.session", "the lead's session lives: " + who, path, ""}};
  return {{Severity::warning, "lead.alive",
           who + " has the lead's session and made this team: it reads the lead's inbox itself, so a leader beside it "
                 "stops (on_competing_consumer)", path,
           "end it, then " + in_team(team, "resume") + "; or " + about_team(team, "role = \"observer\"") +
               " (\"interceptor\" where the workers' answers count)"}};
}

Findings judge_answers(const TeamPlace& team, const std::vector<WorkerAnswers>& workers) {
  Findings findings;
  const std::string path = team.folder() + "/config.json";
  std::string counted;
  for (const WorkerAnswers& worker : workers) {
    if (worker.authority.counts()) {
      counted += (counted.empty() ? "" : ", ") + printable(worker.name);
      continue;
    }
    const bool writes = rights_of(handlers::effective_role(team.config.team.role), handlers::Right::write);
    findings.push_back({writes ? Severity::warning : Severity::note, "answers.verified",
                        handlers::verifies(printable(worker.name), worker.authority), path,
                        handlers::answered_instead(shell_word(worker.name))});
  }
  if (!counted.empty())
    findings.push_back({Severity::ok, "answers.count", "answers of ours count with " + counted, path, ""});
  return findings;
}

const operations::Team* served_in(const operations::Status& status, const std::string& team) {
  const auto found = std::ranges::find(status.teams, team, [](const auto& one) { return one.team.bytes; });
  return found == status.teams.end() ? nullptr : &*found;
}

Findings judge_standing(const TeamPlace& team, const operations::Status& status, bool has_roster, bool lead_has_ended) {
  const auto* served = served_in(status, team.name);
  if (served == nullptr) {
    if (!has_roster || team.config.source.empty()) return {};
    return {{Severity::warning, "daemon.not_serving", "the daemon does not serve this team", team.folder(),
             "inbox-poller reload"}};
  }
  const std::string& role = served->role.bytes;
  if (role.empty() || role == config::to_string(team.config.team.role) || role == "standby") return {};  // judge_nodes
  if (team.config.source.empty()) return {};  // no file names a role: the daemon observes
  const bool stopped = role == "paused";
  const std::string& reason = served->role_reason.bytes;
  if (reason.empty())  // no reason: the daemon has an older or no file
    return {{Severity::warning, "daemon.role",
             "the daemon is " + role + " here, and the file says " + std::string(config::to_string(team.config.team.role)) +
                 ": the file is newer",
             team.folder(), "inbox-poller reload"}};
  const std::string lead = lead_in(reason);
  const bool ended = lead_has_ended && !lead.empty();
  return {{stopped ? Severity::error : Severity::warning, stopped ? "daemon.paused" : "daemon.role",
           "the daemon is " + role + " here, configured as " + std::string(config::to_string(team.config.team.role)) +
               ": " + reason + (ended ? "; it has ended since" : ""),
           team.folder(), (lead.empty() || ended ? "" : "end " + lead + ", then ") + in_team(team, "resume")}};
}

Findings judge_wake(const TeamPlace& team, const operations::Status& status) {
  const auto* served = served_in(status, team.name);
  if (served == nullptr) return {};
  const auto& methods = served->delivery.methods;
  const auto is_available = [](const auto& way) { return way.available; };
  const bool is_woken = served->lead.not_woken.empty();
  if (is_woken && served->lead.state == "idle" && served->chat.queued > 0 &&
      std::ranges::none_of(methods, is_available))
    return {{Severity::warning, "delivery.none",
             std::to_string(served->chat.queued) + " messages wait for the idle lead, and no delivery method is available",
             team.folder(), in_team(team, "status --long") + " names the reason of each"}};
  const auto goes_elsewhere = [](const auto& way) { return way.available && way.method != "hook"; };
  if (is_woken || std::ranges::any_of(methods, goes_elsewhere)) return {};
  return {{Severity::warning, "lead.not_woken",
           "when it is idle the lead is not woken, its mail waits for its next turn: " + served->lead.not_woken.bytes,
           team.folder(), "or write another way behind \"hook\", such as \"tmux\", into delivery.methods"}};
}

Findings judge_polls(const TeamPlace& team, const operations::Status& status) {
  const auto* served = served_in(status, team.name);
  const std::string late = served == nullptr ? "" : late_polls_text(*served);
  if (late.empty()) return {};
  return {{Severity::warning, "daemon.polls_late", late, team.folder(),
           "look what else the machine does; or raise poll_interval under [team]"}};
}

Findings judge_served(const TeamPlace& team, const operations::Status& status, bool has_roster, bool lead_has_ended,
                      EpochMs now) {
  Findings findings = judge_standing(team, status, has_roster, lead_has_ended);
  add(findings, judge_wake(team, status));
  add(findings, judge_polls(team, status));
  add(findings, judge_nodes(team, status, now));
  if (const auto* served = served_in(status, team.name); served != nullptr && served->ledger_fault)
    findings.push_back(
        {Severity::error, "daemon.commit",
         "the last commit failed, so nothing is taken and no request is answered: " + printable(served->ledger_fault),
         team.folder(), "see to the disk; the daemon goes on at the next commit that works"});
  return findings;
}

Findings judge_taken(const TeamPlace& team, const operations::Status& status) {
  const auto* served = served_in(status, team.name);
  if (served == nullptr) return {};
  const bool is_roster = has_bad_roster(*served);
  if (!is_roster && !has_bad_inbox(*served)) return {};
  return {{Severity::error, "daemon.not_taken", printable(is_roster ? served->roster.detail : served->inbox.detail),
           team.folder(), in_team(team, "status --long") + "; docs/reference/mailboxes.md, \"A lead over it\""}};
}

Findings judge_leftovers(const std::string& path, std::size_t files) {
  if (files == 0) return {};
  return {{Severity::note, "team.permission_files",
           std::to_string(files) + " files of the permission exchange that came before the mailbox; no client reads them",
           path, "rm -r " + shell_word(path)}};
}

}  // namespace inbox_poller::poller::cli
