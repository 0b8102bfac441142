#include "poller/context/client_sessions.hpp"

#include <algorithm>

namespace inbox_poller::poller {

namespace {

constexpr std::size_t most_files = 1000;
constexpr std::uint64_t most_of_file = std::uint64_t{64} << 10;
constexpr std::chrono::seconds alive_for{5};  // a killed client leaves its file unchanged
constexpr std::chrono::seconds folder_every{1};  // the text of an error is a sixth of an idle poll

/// Reads a session file; empty unless the process that it names lives.
std::optional<LiveSession> read_live(FileSystem& files, Processes& processes, const Directory& folder,
                                     const std::string& name) {
  const long long pid = schema::pid_of_session_file(name);
  if (pid == 0) return std::nullopt;
  const auto file = files.open_read(folder, name);
  if (!file || file->stat.size > most_of_file) return std::nullopt;
  const auto bytes = read_all(files, *file);
  auto said = bytes ? schema::decode_client_session(*bytes) : std::nullopt;
  if (!said || said->pid != pid) return std::nullopt;
  const auto process = processes.identify(pid);
  if (!process || !began_at(*process, said->started).value_or(false)) return std::nullopt;
  return LiveSession{*std::move(said), *process, processes.started_ms(*process)};
}

/// Returns the first matching session, or all.
template <class Wanted>
std::vector<LiveSession> read_folder(FileSystem& files, Processes& processes, const std::string& folder,
                                     const Wanted& wanted) {
  std::vector<LiveSession> found;
  const auto directory = files.open_dir(absolute, folder);
  auto names = directory ? files.list(*directory) : Result<std::vector<std::string>>(directory.error());
  if (!names) return found;
  std::erase_if(*names, [](const std::string& name) { return schema::pid_of_session_file(name) == 0; });
  std::sort(names->begin(), names->end());
  if (names->size() > most_files) names->resize(most_files);
  for (const auto& name : *names) {
    auto live = read_live(files, processes, *directory, name);
    if (live && wanted(*live)) found.push_back(*std::move(live));
  }
  return found;
}

}  // namespace

std::vector<LiveSession> live_sessions(FileSystem& files, Processes& processes, const std::string& folder) {
  auto found = read_folder(files, processes, folder, [](const LiveSession&) { return true; });
  std::ranges::sort(found, {}, [](const LiveSession& one) { return one.process.pid; });
  return found;
}

handlers::LeadSessionSight sight_of(const LiveSession& live, const schema::Roster& roster) {
  return {schema::client_mode(live.said.entrypoint, ""), live.began_ms, roster.made_ms};
}

std::string claim_of(const LiveSession& live) {
  return "lead-session:" + std::to_string(live.process.pid) + ":" + live.process.started;
}

std::string words_of(const LiveSession& live) {
  return "process " + std::to_string(live.process.pid) +
         (live.said.version.empty() ? "" : " (client " + live.said.version + ")");
}

bool SessionWatch::look(const std::string& session_id) {
  if (folder_.empty()) return false;
  const bool other = std::exchange(wanted_, session_id) != session_id;
  if (other) seen_.reset();
  if (wanted_.empty()) return set(std::nullopt);
  return live_ && !other ? follow() : find();
}

bool SessionWatch::follow() {
  const auto pid = live_->process.pid;
  const auto stat = files_.stat_at(absolute, path_of(pid));
  const auto now = clock_.steady();
  const bool must_live = now - alive_at_ >= alive_for;
  if (must_live) alive_at_ = now;
  if (stat && seen_ == version_of(*stat) && (!must_live || processes_.is_alive(live_->process))) return false;
  const auto folder = files_.open_dir(absolute, folder_);
  auto again = stat && folder ? read_live(files_, processes_, *folder, std::to_string(pid) + ".json") : std::nullopt;
  if (stat && !again && processes_.is_alive(live_->process)) return false;  // in the middle of a write
  seen_.reset();
  if (!again || again->process.started != live_->process.started) return find();
  if (const auto version = version_of(*stat); is_settled(version, clock_.wall_ms())) seen_ = version;
  return set(std::move(again));
}

bool SessionWatch::find() {
  if (no_folder_at_ && clock_.steady() - *no_folder_at_ < folder_every) return false;
  no_folder_at_.reset();
  const auto stat = files_.stat_at(absolute, folder_);
  if (!stat || stat->kind != FileKind::directory) {
    no_folder_at_ = clock_.steady();
    seen_.reset();
    return set(std::nullopt);
  }
  const auto version = version_of(*stat);
  if (!live_ && seen_ == version) return false;
  seen_.reset();
  auto found = read_folder(files_, processes_, folder_,
                           [this](const LiveSession& one) { return one.said.session_id == wanted_; });
  // Compare the folder's version only from its next check on.
  if (found.empty() && is_settled(version, clock_.wall_ms())) seen_ = version;
  alive_at_ = clock_.steady();
  return set(found.empty() ? std::nullopt : std::optional(std::move(found.front())));
}

bool SessionWatch::set(std::optional<LiveSession> live) {
  const bool same = live_.has_value() == live.has_value() &&
                    (!live || (live_->said == live->said && live_->process.started == live->process.started));
  live_ = std::move(live);
  return !same;
}

}  // namespace inbox_poller::poller
