#include "poller/cli/survey.hpp"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <cmath>

#include "poller/mailbox/arrays/arrays_mailbox.hpp"
#include "poller/mailbox/arrays/array_entry.hpp"

namespace inbox_poller::poller::cli {

namespace {

constexpr std::chrono::milliseconds between_readings{50};
constexpr std::string_view inbox_suffix = ".json";
constexpr std::string_view lock_suffix = ".json.lock";

void count_entries(const InboxDocument& document, InboxSight& sight) {
  sight.bom = document.bytes().starts_with("\xEF\xBB\xBF");
  sight.entries = document.entries().size();
  for (const InboxEntry& entry : document.entries()) {
    const Result<schema::Message> envelope = decode_entry(document.entry_bytes(entry));
    if (!envelope) ++sight.bad;
    if (entry.read == ReadFlag::read) continue;
    ++sight.unread;
    const auto at = envelope ? parse_timestamp(envelope->timestamp) : std::nullopt;
    if (at && (sight.oldest_unread_ms == 0 || *at < sight.oldest_unread_ms)) sight.oldest_unread_ms = *at;
  }
}

}  // namespace

void wait_here(std::chrono::milliseconds duration) {
  boost::asio::io_context context;
  boost::asio::steady_timer(context, duration).wait();
}

config::TeamConfig any_team(std::string root, const config::Environment& environment) {
  std::vector<std::string> none;
  config::TeamConfig config = config::parse_team("[team]\nname = \"*\"\n", "", environment, none, none).config;
  if (!root.empty()) config.team.root = std::move(root);
  return config;
}

Result<std::vector<TeamPlace>> find_teams(FileSystem& files, const config::TeamConfig& config) {
  std::vector<std::string> names{config.team.name};
  if (config.team.is_glob()) {
    TRY(const auto root, files.open_dir(absolute, config.team.root));
    TRY(auto found, files.list(root));
    names = std::move(found);
    std::erase_if(names, [&](const std::string& name) {
      return !schema::is_valid_name(name) || !config.team.claims(name);
    });
    std::sort(names.begin(), names.end());
  }
  std::vector<TeamPlace> places;
  for (const std::string& name : names) {
    TeamPlace place{name, config};
    const auto is_absent = [&](const char* part) {
      const auto stat = files.stat_at(absolute, place.folder() + part);
      return !stat && (is_errno(stat.error(), ENOENT) || is_errno(stat.error(), ENOTDIR));
    };
    if (!is_absent("/config.json") || !is_absent("/inboxes")) places.push_back(std::move(place));
  }
  return places;
}

Whose whose_inbox(const std::string& inbox, const config::TeamConfig& config, const std::string& lead,
                  const Result<schema::Roster>& roster) {
  const auto named_in = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), inbox) != names.end();
  };
  if (inbox == lead) return Whose::lead;
  const auto is_its = [&](const schema::Member& member) { return schema::inbox_name(member.name) == inbox; };
  if (roster && std::any_of(roster->members.begin(), roster->members.end(), is_its)) return Whose::member;
  if (named_in(config.team.aliases)) return Whose::alias;
  if (named_in(config.delivery.allowed_senders)) return Whose::sender;
  return roster ? Whose::nobody : Whose::unknown;
}

std::string lead_of(const config::TeamConfig& config, const Result<schema::Roster>& roster) {
  if (!config.team.lead.empty()) return config.team.lead;
  return roster ? roster->lead_name() : schema::Roster().lead_name();
}

ReadResult read_calmly(ArrayInboxes& mailbox, const std::string& inbox, const Wait& wait, int readings) {
  for (;; --readings) {
    ReadResult result = mailbox.read(inbox, ReadMode::unlocked);
    const bool may_pass = result.outcome == ReadOutcome::torn || result.outcome == ReadOutcome::empty;
    if (!may_pass || readings == 1) return result;
    wait(between_readings);
  }
}

std::vector<WorkerAnswers> workers_of(const schema::Roster& roster, const config::TeamConfig& config,
                                      WorkerProcesses& processes) {
  const std::string lead = lead_of(config, roster);
  std::vector<WorkerAnswers> workers;
  for (const schema::Member& member : roster.members) {
    if (member.name == lead) continue;
    const auto sight = processes.look(member.agent_id, 0);
    workers.push_back({member.name, handlers::authority_of(sight.process, roster.lead_process.has_value())});
  }
  return workers;
}

std::optional<LockSight> look_at_lock(FileSystem& files, const Directory& at, const std::string& name) {
  const Result<FileStat> stat = files.stat_at(at, name);
  if (!stat) return std::nullopt;
  LockSight sight{at.path + "/" + name, *stat, true};
  if (stat->kind == FileKind::directory) {
    const Result<Directory> folder = files.open_dir(at, name);
    const auto names = folder ? files.list(*folder) : Result<std::vector<std::string>>(folder.error());
    sight.empty = !names || names->empty();
  }
  return sight;
}

TeamSight look_at_team(FileSystem& files, const Clock& clock, const TeamPlace& place, const Wait& wait) {
  ArraysMailbox mailbox(files, clock, settings_of(place.config, place.name));
  Result<schema::Roster> roster = mailbox.roster();
  const std::string lead = lead_of(place.config, roster);
  TeamSight sight{std::move(roster), lead, {}, {}, std::nullopt};
  if (const Result<Directory> team = files.open_dir(absolute, place.folder())) {
    if (auto lock = look_at_lock(files, *team, "config.json.lock")) sight.locks.push_back(*std::move(lock));
  }
  const Result<Directory> folder = files.open_dir(absolute, place.folder() + "/inboxes");
  auto names = folder ? files.list(*folder) : Result<std::vector<std::string>>(folder.error());
  if (!names) {
    if (!is_errno(names.error(), ENOENT)) sight.problem = names.error();
    return sight;
  }
  std::sort(names->begin(), names->end());
  for (const std::string& name : *names) {
    if (name.ends_with(lock_suffix))
      if (auto lock = look_at_lock(files, *folder, name)) sight.locks.push_back(*std::move(lock));
    if (!name.ends_with(inbox_suffix)) continue;
    InboxSight inbox;
    inbox.name = name.substr(0, name.size() - inbox_suffix.size());
    if (!schema::is_inbox_name(inbox.name)) continue;
    inbox.path = folder->path + "/" + name;
    inbox.whose = whose_inbox(inbox.name, place.config, sight.lead, sight.roster);
    if (const Result<FileStat> stat = files.stat_at(*folder, name)) inbox.stat = *stat;
    const ReadResult read = read_calmly(mailbox.inboxes(), inbox.name, wait);
    inbox.outcome = read.outcome;
    inbox.detail = read.detail;
    count_entries(read.document, inbox);
    sight.inboxes.push_back(std::move(inbox));
  }
  return sight;
}

std::optional<EpochMs> parse_timestamp(std::string_view text) {
  const std::string copy(text);
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  int hour = 0;
  int minute = 0;
  double second = 0;
  int length = 0;
  if (std::sscanf(copy.c_str(), "%4d-%2u-%2u%*1[T ]%2d:%2d:%9lf%n", &year, &month, &day, &hour, &minute, &second,
                  &length) != 6)
    return std::nullopt;
  int zone_hour = 0;
  int zone_minute = 0;
  const char* zone = copy.c_str() + length;
  if (*zone == '+' || *zone == '-') {
    if (std::sscanf(zone + 1, "%2d:%2d", &zone_hour, &zone_minute) != 2) return std::nullopt;
    if (*zone == '-') zone_hour = -zone_hour, zone_minute = -zone_minute;
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (!date.ok() || hour < 0 || hour > 23 || minute < 0 || minute > 59 || !(second >= 0 && second < 61))
    return std::nullopt;
  const auto instant = std::chrono::sys_days(date).time_since_epoch() + std::chrono::hours(hour - zone_hour) +
                       std::chrono::minutes(minute - zone_minute);
  return std::chrono::duration_cast<std::chrono::milliseconds>(instant).count() +
         std::llround(second * 1000);
}

}  // namespace inbox_poller::poller::cli
