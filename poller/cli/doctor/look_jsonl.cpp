// Examination of a JSONL team: its folder, its roster, and the lines that stop every reader.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "poller/cli/doctor/look.hpp"
#include "poller/mailbox/jsonl/line.hpp"
#include "poller/mailbox/jsonl/team_texts.hpp"
#include "schema/printable.hpp"

namespace inbox_poller::poller::cli {
namespace {

constexpr std::string_view inbox_suffix = ".jsonl";
constexpr EpochMs roster_settles_ms = 10'000;  // a younger roster may be in the middle of a write

/// Reads a file through a mapping, which inotify does not report: a read is the proof that a message was taken (adr 80).
/// The kernel copies, into a pipe, because a file that becomes shorter meanwhile would end this process. Errors: `io.*`.
Result<std::string> read_unseen(const File& file) {
  const auto size = static_cast<std::size_t>(file.stat.size);
  if (size == 0) return std::string();
  auto* const mapped = static_cast<char*>(::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.fd.get(), 0));
  int ends[2];
  if (mapped == MAP_FAILED || ::pipe(ends) != 0) return io_error(errno, "mapping", file.path);
  const Fd out(ends[0]), in(ends[1]);
  std::string bytes(size, '\0');
  std::size_t have = 0;
  for (ssize_t count = 1; have < size && count > 0; have += static_cast<std::size_t>(std::max<ssize_t>(count, 0))) {
    count = ::write(in.get(), mapped + have, std::min<std::size_t>(size - have, PIPE_BUF));
    if (count > 0) count = ::read(out.get(), bytes.data() + have, static_cast<std::size_t>(count));
  }
  ::munmap(mapped, size);
  bytes.resize(have);
  return bytes;
}

/// Reports the lines that stop all readers of the inbox, present and later ones.
void look_at_lines(const std::string& path, std::string_view bytes, Findings& findings) {
  std::size_t number = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
    ++number;
    if (const std::string why = why_readers_end(bytes.substr(at, end - at)); !why.empty())
      findings.push_back({Severity::warning, "line.unreadable",
                          "readers end at this line, and so does every later one: " + why,
                          path + ":" + std::to_string(number), "remove the line while no program writes"});
    at = end + 1;
  }
}

/// Reports roster members that cannot be served.
void look_at_roster(const World& world, const Directory& team, Findings& findings) {
  const auto file = world.files.open_read(team, "config.json");
  const auto bytes = file ? read_all(world.files, *file) : Result<std::string>(file.error());
  const auto roster = bytes ? decode_jsonl_roster(*bytes) : Result<schema::Roster>(bytes.error());
  if (!roster) {
    const bool is_old = file ? world.clock.wall_ms() - file->stat.mtime_ns / 1'000'000 > roster_settles_ms
                             : !is_errno(file.error(), ENOENT);
    if (is_old)
      findings.push_back({Severity::error, "roster.unreadable", schema::printable(roster.error().message),
                          team.path + "/config.json", "repair the file, or start the team's program again"});
    return;
  }
  for (const auto& [name, reason] : roster->unreachable)
    findings.push_back({Severity::error, "member.unreachable",
                        schema::printable(name) + " cannot be answered: " + schema::printable(reason),
                        team.path + "/config.json", "start it again under another name"});
}

}  // namespace

Section examine_jsonl(const World& world, const config::TeamConfig& config) {
  Section section{config.team.name, config.team.name, {}};
  Findings& findings = section.findings;
  const std::string path = config.team.team_folder(config.team.name);
  const auto team = open_dir_below(world.files, path);
  if (!team) {
    const bool missing = is_errno(team.error(), ENOENT);
    findings.push_back({missing ? Severity::note : Severity::error, missing ? "team.none" : team.error().code,
                        missing ? "the team does not exist yet" : team.error().message, path,
                        "check folder under [team] in " + schema::printable(config.source)});
    return section;
  }
  if (config.team.members.empty() && !world.files.stat_at(*team, "config.json"))
    findings.push_back({Severity::note, "roster.missing", "the roster is missing: the team's program has not started, or keeps no roster",
                        path + "/config.json", "for a program that keeps none: members = [...] under [team]"});
  if (config.team.members.empty()) look_at_roster(world, *team, findings);
  const std::string inboxes = config.team.inbox_folder(config.team.name);
  const auto folder = open_dir_below(world.files, inboxes);
  const auto names = folder ? world.files.list(*folder) : Result<std::vector<std::string>>(folder.error());
  if (!names) {
    const bool missing = is_errno(names.error(), ENOENT);
    findings.push_back({missing ? Severity::note : Severity::error, missing ? "inbox.none" : names.error().code,
                        missing ? "there are no inboxes (yet), so none was examined" : names.error().message, inboxes, ""});
    return section;
  }
  std::size_t looked_at = 0;
  for (const std::string& name : *names) {
    if (!std::string_view(name).ends_with(inbox_suffix)) continue;
    if (!schema::is_valid_name(name.substr(0, name.size() - inbox_suffix.size())))
      findings.push_back({Severity::note, "inbox.name", "is the inbox of a name that is not served", inboxes + "/" + name, ""});
    const auto file = world.files.open_read(*folder, name);
    const auto bytes = file && file->stat.size <= config.limits.inbox_file.count
                           ? read_unseen(*file)
                           : Result<std::string>(file ? Error{"inbox.too_large", "larger than limits.inbox_file"} : file.error());
    const std::string place = inboxes + "/" + schema::printable(name);
    if (!file || !bytes) {
      findings.push_back({Severity::warning, "inbox.unexamined",
                          "was not examined: " + schema::printable((file ? bytes.error() : file.error()).message), place, ""});
      continue;
    }
    look_at_lines(place, *bytes, findings);
    ++looked_at;
  }
  findings.push_back({Severity::ok, "inbox.lines", std::to_string(looked_at) + " inboxes were read", inboxes, ""});
  return section;
}

}  // namespace inbox_poller::poller::cli
