// Our servers of the model context protocol in a client's settings file, put in and taken out by changing only their
// own bytes. Ours are those whose command is our program, by its name, with "mcp" as its first argument. Source: the
// clients' public settings reference.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/error.hpp"

namespace inbox_poller::schema {

/// The way to the object of servers, such as {"mcpServers"} or {"projects", "/repo", "mcpServers"}.
using ServersPlace = std::vector<std::string>;

struct McpServer {
  std::string name;
  std::string command;
  std::vector<std::string> arguments;
};
bool is_ours(const McpServer&);

/// The settings with this server; one of ours of the same name is replaced. Nothing changes when it is there already.
/// Errors "settings.syntax" with the line, "settings.unusable" for another's server of this name.
Result<std::string> with_server(const std::optional<std::string>& settings, const ServersPlace&, const McpServer&);

/// The settings without our server of this name; none when nothing else was ever in the file.
Result<std::optional<std::string>> without_server(std::string_view settings, const ServersPlace&,
                                                  std::string_view name);

/// Those that stand at this place. Error "settings.syntax".
Result<std::vector<McpServer>> servers_in(std::string_view settings, const ServersPlace&);
/// The folders that the settings say something about ("projects").
std::vector<std::string> projects_in(std::string_view settings);

}  // namespace inbox_poller::schema
