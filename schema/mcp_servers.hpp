// InboxPoller's servers of the model context protocol in a client's settings file, added and removed by changing only
// their own bytes. A server is InboxPoller's if its command is the program, by its name, with "mcp" as first argument.
// Source: the clients' public settings reference.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/error.hpp"

namespace inbox_poller::schema {

/// The path to the object of servers, such as {"mcpServers"} or {"projects", "/repo", "mcpServers"}.
using ServersPlace = std::vector<std::string>;

struct McpServer {
  std::string name;
  std::string command;
  std::vector<std::string> arguments;
};
bool is_ours(const McpServer&);

/// Returns the settings with this server, which replaces an InboxPoller server of the same name. Returns the same bytes
/// if it is there. Errors: "settings.syntax" with the line, "settings.unusable" if another program's server has this
/// name.
Result<std::string> with_server(const std::optional<std::string>& settings, const ServersPlace&, const McpServer&);

/// Returns the settings without InboxPoller's server of this name; nothing if the file never had other contents.
Result<std::optional<std::string>> without_server(std::string_view settings, const ServersPlace&,
                                                  std::string_view name);

/// Returns the servers at this place. Error: "settings.syntax".
Result<std::vector<McpServer>> servers_in(std::string_view settings, const ServersPlace&);
/// Returns the directories in the settings' "projects".
std::vector<std::string> projects_in(std::string_view settings);

}  // namespace inbox_poller::schema
