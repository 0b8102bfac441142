#include "config/load.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "config/load_section.hpp"
#include "config/text.hpp"
#include "config/trust.hpp"

namespace inbox_poller::config {
namespace {

constexpr off_t largest_file = 1 << 20;

/// Reads a file. One descriptor is checked and read, so that the file cannot be exchanged between.
std::optional<std::string> read_file(const std::string& path, std::vector<std::string>& problems) {
  const auto give_up = [&](const std::string& problem) {
    problems.push_back(problem);
    return std::nullopt;
  };
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return give_up(path + ": cannot be opened: " + std::strerror(errno));
  struct Closer {
    int descriptor;
    ~Closer() { close(descriptor); }
  } const closer{descriptor};
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return give_up(path + ": cannot be examined: " + std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return give_up(path + ": is not a regular file");
  if (status.st_size > largest_file) return give_up(path + ": is larger than 1 MiB");
  const auto distrusted = [&](const struct stat& seen) {
    return distrust(path, seen.st_uid, seen.st_mode, Trust::to_us, geteuid());
  };
  if (const auto reason = distrusted(status)) return give_up(reason->told(path));
  struct stat name {};  // a link's owner can change its target
  if (lstat(path.c_str(), &name) != 0) return give_up(path + ": cannot be examined: " + std::strerror(errno));
  if (const auto reason = distrusted(name)) return give_up(reason->told(path));
  if (const auto reason = distrust_above(path)) return give_up(*reason);
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = read(descriptor, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return give_up(path + ": cannot be read: " + std::strerror(errno));
    if (count == 0) return give_up(path + ": changed while it was read; try again");
    done += static_cast<std::size_t>(count);
  }
  return text;
}

bool is_team_file(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".toml") && !name.starts_with('.');
}

/// Returns the TOML files of a directory, by name.
std::vector<std::string> files_of(const std::string& folder, std::vector<std::string>& problems) {
  std::vector<std::string> files;
  std::error_code failure;
  for (std::filesystem::directory_iterator it(folder, failure), end; !failure && it != end; it.increment(failure)) {
    if (is_team_file(it->path())) files.push_back(it->path().string());
  }
  if (failure) {
    problems.push_back(folder + ": cannot be listed: " + failure.message() +
                       "; make it, with one TOML file for each team");
  } else if (files.empty()) {
    problems.push_back(folder + ": holds no team file; write one, such as " + folder + "/my-team.toml");
  }
  std::ranges::sort(files);
  return files;
}

/// Returns an XDG directory by the specification: a relative path does not count.
std::string xdg(const std::string& value, const std::string& home, std::string_view below_home) {
  if (value.starts_with('/')) return value;
  return home.empty() ? "" : home + std::string(below_home);
}

void read_daemon(const toml::table& document, const Environment& environment, Complaints& complaints, Loaded& loaded) {
  Section top(document, "", complaints, loaded.daemon_settings);
  DaemonConfig& to = loaded.daemon;
  const std::string state = xdg(environment.xdg_state_home, environment.home, "/.local/state");
  if (!state.empty()) to.state_dir = state + "/inbox-poller";
  top.path("state_dir", to.state_dir, environment.home);
  if (to.state_dir.empty())
    top.reject("state_dir", "cannot be chosen by default, because neither XDG_STATE_HOME nor HOME is set; write it");
  const std::string runtime = xdg(environment.xdg_runtime_dir, "", "");
  to.socket = (runtime.empty() ? to.state_dir : runtime + "/inbox-poller") + "/control.sock";
  top.path("socket", to.socket, environment.home);
  constexpr std::size_t longest = sizeof(sockaddr_un::sun_path) - 1;
  if (to.socket.size() > longest) {
    top.reject("socket", "is " + std::to_string(to.socket.size()) + " characters long; a socket's path may have " +
                             std::to_string(longest));
  }
  top.finish({"log"});
  Section log(document, "log", complaints, loaded.daemon_settings);
  log.choice("level", to.log.level);
  log.choice("format", to.log.format);
  log.path("file", to.log.file, environment.home);
  log.finish();
}

void load_daemon(const std::string& file, const Environment& environment, Loaded& loaded) {
  Complaints complaints{file.empty() ? "daemon.toml" : file, loaded.problems};
  toml::table document;
  if (!file.empty()) {
    const auto text = read_file(file, loaded.problems);
    if (!text) return;
    const std::size_t before = loaded.problems.size();
    document = parse_toml(*text, complaints);
    if (loaded.problems.size() != before) return;
  }
  read_daemon(document, environment, complaints, loaded);
}

/// Returns the base directory; empty if the environment names no place.
std::string default_folder(const Environment& environment) {
  const std::string base = xdg(environment.xdg_config_home, environment.home, "/.config");
  return base.empty() ? "" : base + "/inbox-poller";
}

/// Returns the default file; empty if it does not exist.
std::string default_daemon_file(const std::string& folder) {
  const std::string file = folder + "/daemon.toml";
  return !folder.empty() && access(file.c_str(), F_OK) == 0 ? file : "";
}

/// Refuses two files for one team or one mailbox: they would answer the same request twice, or divide the mail.
void find_double_claims(Loaded& loaded) {
  for (std::size_t i = 0; i < loaded.teams.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const TeamSettings& one = loaded.teams[j].config.team;
      const TeamSettings& two = loaded.teams[i].config.team;
      if (one.name.empty() || two.name.empty()) continue;
      const bool meet = wildcard_match(one.name, two.name) || wildcard_match(two.name, one.name);
      const bool same_team = one.root == two.root && meet;
      const bool same_mail = two.backend != Backend::claude_code && one.backend == two.backend &&
                             one.folder == two.folder && one.redis == two.redis && one.lead == two.lead;
      if (!same_team && !same_mail) continue;
      loaded.problems.push_back(loaded.teams[i].config.source + ": team.name = " + toml_text(two.name) + " and " +
                                loaded.teams[j].config.source + ": team.name = " + toml_text(one.name) + " claim " +
                                (same_team ? "the same team below " + two.root : "the same mailbox") +
                                "; each team needs exactly one file");
    }
  }
}

/// Adds a team that observes every team of the default root.
void observe_all(const std::string& folder, const Environment& environment, Loaded& loaded) {
  loaded.unconfigured = true;
  loaded.teams.push_back(parse_team("[team]\nname = \"*\"\nrole = \"observer\"\n", "the built-in team file",
                                    environment, loaded.problems, loaded.warnings));
  loaded.warnings.push_back("nothing is configured: every team below " + loaded.teams.back().config.team.root +
                            " is observed, and nothing is written to any; `inbox-poller init` writes a team file into " +
                            folder);
}

}  // namespace

std::string team_folder(const Environment& environment) {
  const std::string base = default_folder(environment);
  return base.empty() ? "" : base + "/teams.d";
}

bool holds_team_files(const std::string& folder) {
  std::error_code failure;
  const std::filesystem::directory_iterator files(folder, failure);
  return failure ? failure != std::errc::no_such_file_or_directory  // load() reports an unreadable directory
                 : std::any_of(begin(files), end(files), [](const auto& file) { return is_team_file(file.path()); });
}

bool is_unconfigured(const Sources& sources, const Environment& environment) {
  return sources.files.empty() && sources.dir.empty() && !holds_team_files(team_folder(environment));
}

Environment Environment::from_process() {
  const auto get = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  return {get("HOME"), get("CLAUDE_CONFIG_DIR"), get("XDG_CONFIG_HOME"), get("XDG_STATE_HOME"), get("XDG_RUNTIME_DIR")};
}

Loaded load(const Sources& sources, const Environment& environment) {
  Loaded loaded;
  std::vector<std::string> files = sources.files;
  std::string dir = sources.dir;
  const std::string base = default_folder(environment);
  if (files.empty() && dir.empty()) {
    if (base.empty()) {
      loaded.problems.push_back(
          "no configuration is named, and neither XDG_CONFIG_HOME nor HOME is set; use --config FILE");
      return loaded;
    }
    dir = team_folder(environment);
  }
  const bool unconfigured = is_unconfigured(sources, environment);
  if (!dir.empty() && !unconfigured) {
    const auto found = files_of(dir, loaded.problems);
    files.insert(files.end(), found.begin(), found.end());
  }
  // Read by default whatever teams are named, because a client without a team file must find the same socket.
  const bool by_default = sources.daemon_file.empty() && !base.empty();
  load_daemon(by_default ? default_daemon_file(base) : sources.daemon_file, environment, loaded);
  for (const std::string& file : files) {
    const auto text = read_file(file, loaded.problems);
    if (text) loaded.teams.push_back(parse_team(*text, file, environment, loaded.problems, loaded.warnings));
  }
  if (unconfigured) observe_all(dir, environment, loaded);
  find_double_claims(loaded);
  return loaded;
}

Loaded load_daemon_settings(const Environment& environment, const std::string& file) {
  Loaded loaded;
  load_daemon(file.empty() ? default_daemon_file(default_folder(environment)) : file, environment, loaded);
  return loaded;
}

}  // namespace inbox_poller::config
