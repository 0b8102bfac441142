// Check of this program's servers in the clients' settings: whether the named program exists. A client whose server
// cannot start continues without its tools, and reports that in a place few people read.
#include <algorithm>
#include <set>

#include "poller/cli/doctor/look.hpp"
#include "poller/cli/mcp/servers.hpp"
#include "poller/cli/printable.hpp"
#include "poller/cli/settings_file.hpp"

namespace inbox_poller::poller::cli {

namespace {

struct Place {
  std::string scope;
  std::string folder;  // where to run the command
  McpPlace place;
};

bool is_there(FileSystem& files, const std::string& program) {
  constexpr unsigned may_be_run = 0111;
  const auto file = files.open_read(absolute, program);  // follows links
  return file && (file->stat.mode & may_be_run) != 0;
}

Finding judge(FileSystem& files, const Place& at, const schema::McpServer& server) {
  const std::string path = at.place.file.string();
  if (server.command.starts_with('/') && !is_there(files, server.command))
    return {Severity::error, "mcp.program",
            "the server " + printable(server.name) + " points at a program that is gone: " + printable(server.command), path,
            (at.folder.empty() ? "" : "cd " + shell_word(at.folder) + " && ") + "inbox-poller mcp install --scope " +
                at.scope + (server.name == "inbox-poller" ? "" : " --name " + shell_word(server.name)) +
                ", with --root and --actor or --team as before"};
  if (!server.command.starts_with('/'))
    return {Severity::note, "mcp.unexamined",
            "the server " + printable(server.name) + " names " + printable(server.command) +
                " without a path: which program a client starts was not examined", path, ""};
  return {Severity::ok, "mcp.program", "the program of the server " + printable(server.name) + " is there", path, ""};
}

}  // namespace

Findings examine_mcp_servers(const World& world, const std::set<std::string>& folders) {
  Findings findings;
  std::vector<Place> places;
  if (const auto user = mcp_place("user")) {
    places.push_back({"user", "", *user});
    const auto settings = read_settings(world.files, user->file);
    if (settings && settings->text)
      for (const std::string& folder : schema::projects_in(*settings->text))
        places.push_back({"local", folder, {user->file, {"projects", folder, "mcpServers"}}});
  }
  for (const std::string& folder : folders)
    if (folder.starts_with('/'))
      places.push_back({"project", folder, {std::filesystem::path(folder) / ".mcp.json", {"mcpServers"}}});
  for (const Place& at : places) {
    const auto settings = read_settings(world.files, at.place.file);
    if (!settings || !settings->text) continue;
    const auto servers = schema::servers_in(*settings->text, at.place.keys);
    if (!servers) {
      const std::string what = "its servers cannot be looked at: " + servers.error().message;
      const bool told = std::any_of(findings.begin(), findings.end(), [&](const Finding& one) { return one.what == what; });
      if (!told) findings.push_back({Severity::note, "mcp.syntax", what, at.place.file.string(), ""});
      continue;
    }
    for (const schema::McpServer& server : *servers)
      if (schema::is_ours(server)) findings.push_back(judge(world.files, at, server));
  }
  return findings;
}

}  // namespace inbox_poller::poller::cli
