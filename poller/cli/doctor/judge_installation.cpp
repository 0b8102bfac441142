#include <algorithm>
#include <cstdio>

#include "poller/cli/command.hpp"
#include "poller/cli/doctor/judge.hpp"
#include "poller/cli/printable.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
constexpr std::uint64_t scarce_bytes = 256 * mebibyte;  // room for four inboxes of the largest size
constexpr std::uint64_t no_bytes = 16 * mebibyte;       // the SQLite log alone may grow to this size
constexpr std::uint64_t scarce_inodes = 1000;
constexpr EpochMs future_tolerance_ms = 60'000;  // clocks of network file systems differ

std::string octal(unsigned mode) {
  char text[8];
  std::snprintf(text, sizeof text, "%04o", mode);
  return text;
}

}  // namespace

Findings judge_configuration(const config::Loaded& loaded, bool unconfigured, const std::string& places,
                             bool of_daemon) {
  if (unconfigured && loaded.problems.empty())
    return {{Severity::note, "config.none", "no team is configured: `inbox-poller run` would only watch what is there", places,
             "inbox-poller init"}};
  Findings findings;
  for (const std::string& problem : loaded.problems)
    findings.push_back({Severity::error, "config.problem", problem, "",
                        std::string("edit the file, then: inbox-poller ") + (of_daemon ? "reload" : "check-config")});
  const auto is_slip = [&](const std::string& warning) {
    return std::ranges::any_of(loaded.teams, [&](const config::LoadedTeam& team) {
      return std::ranges::find(team.slips, warning) != team.slips.end();
    });
  };
  const auto slips = std::ranges::count_if(loaded.warnings, is_slip);
  for (const std::string& warning : loaded.warnings) {
    const bool slip = is_slip(warning);
    findings.push_back({slip ? Severity::warning : Severity::note, slip ? "config.slip" : "config.warning", warning, "",
                        slip ? "change the line; docs/reference/rules.md says what each form means" : ""});
  }
  if (loaded.problems.empty())
    findings.push_back(
        {Severity::ok, "config",
         (of_daemon ? "configuration of the running daemon: " : "configuration: ") +
             std::to_string(loaded.teams.size()) + (loaded.teams.size() == 1 ? " team file" : " team files") +
             (slips == 0 ? ", none with a mistake" : ", read; " + std::to_string(slips) + " to change, see above"),
         places, ""});
  return findings;
}

Findings judge_writable(const std::string& path, const FileStat& stat, unsigned uid, Closed closed) {
  if (uid != stat.uid || uid == 0) return {};  // another owner is an error of its own, and nothing is closed to root
  const bool is_private = closed == Closed::to_readers, is_folder = stat.kind == FileKind::directory;
  const unsigned needed = is_folder ? 0300U : is_private && stat.kind == FileKind::regular ? 0200U : 0U;
  if ((stat.mode & needed) == needed) return {};
  return {{Severity::error, "access.closed", "nothing can be written here (mode " + octal(stat.mode) + ")", path,
           (is_private ? "chmod u+rwX,go= " : "chmod u+rwX ") + shell_word(path)}};
}

Findings judge_access(const std::string& path, const FileStat& stat, unsigned uid, Closed closed) {
  const std::string shut = "chmod go-rwx " + shell_word(path);
  if (const auto wrong = distrust(stat, path, config::Trust::on_the_way, uid))
    return {{Severity::error, wrong->owner ? "access.owner" : "access.writable", wrong->why, path,
             !wrong->owner && closed == Closed::to_readers ? shut : wrong->mend}};
  if (Findings shut_to_us = judge_writable(path, stat, uid, closed); !shut_to_us.empty()) return shut_to_us;
  if (closed == Closed::to_readers && (stat.mode & 077U) != 0)
    return {{Severity::warning, "access.readable", "others may read it (mode " + octal(stat.mode) + ")", path, shut}};
  return {};
}

Findings judge_ledger(const std::string& path, const Result<LedgerReport>& report) {
  if (!report) {
    const std::string& code = report.error().code;
    const bool is_older = code == "ledger.older";
    return {{is_older ? Severity::warning : Severity::error, code, report.error().message, path,
             code == "ledger.damaged"              ? "inbox-poller run --new-ledger"
             : is_older || code == "ledger.saved" ? "inbox-poller run"
                                                   : ""}};
  }
  if (!report->exists)
    return {
        {Severity::note, "ledger.none", "the ledger does not exist yet; the daemon creates it at its first start", path, ""}};
  if (report->finding != "ok")
    return {{Severity::error, "ledger.damaged", "the ledger is damaged: " + report->finding, path,
             "keep a copy, then: inbox-poller run --new-ledger"}};
  return {{Severity::ok, "ledger", "ledger: sound, format " + std::to_string(report->format), path, ""}};
}

Findings judge_daemon(const Result<operations::Status>& status, const std::string& socket, bool wanted) {
  if (!status) {
    if (status.error().code != code::no_daemon)
      return {{Severity::error, status.error().code, status.error().message, socket, ""}};
    if (!wanted) return {{Severity::note, "daemon.none", "no daemon runs", socket, "inbox-poller run"}};
    return {{Severity::warning, "daemon.none", "teams are configured and no daemon runs: their requests are not answered",
             socket, "inbox-poller run"}};
  }
  const std::string version = status->version.bytes;
  if (version != INBOX_POLLER_VERSION)
    return {{Severity::warning, "daemon.version",
             "the daemon is version " + version + ", this program is " INBOX_POLLER_VERSION, socket,
             "stop the daemon and start it again"}};
  return {{Severity::ok, "daemon",
           "daemon: version " + version + ", process " + std::to_string(status->pid) + ", running for " +
               span_text(now_ms() - status->started_ms),
           socket, ""}};
}

Findings judge_space(const std::string& path, const Space& space) {
  Findings findings;
  if (space.free_bytes < scarce_bytes)
    findings.push_back({space.free_bytes < no_bytes ? Severity::error : Severity::warning, "disk.space",
                        "only " + std::to_string(space.free_bytes / mebibyte) + " MiB are free on its disk", path,
                        "make room on the disk: df -h " + shell_word(path)});
  if (space.inodes != 0 && space.free_inodes < scarce_inodes)
    findings.push_back({space.free_inodes == 0 ? Severity::error : Severity::warning, "disk.inodes",
                        "only " + std::to_string(space.free_inodes) + " more files can be made on its disk", path,
                        "remove files on the disk: df -i " + shell_word(path)});
  return findings;
}

Findings judge_time(const std::string& path, const FileStat& stat, EpochMs now) {
  const EpochMs ahead = stat.mtime_ns / 1'000'000 - now;
  if (ahead <= future_tolerance_ms) return {};
  return {{Severity::warning, "clock.future",
           "the file was changed " + span_text(ahead) + " from now: the clock was set back, or a program set its time",
           path, "check the clock (date), then: touch " + shell_word(path)}};
}

}  // namespace inbox_poller::poller::cli
