// Agent clients on this machine and their versions. A settings file must be readable by the oldest of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schema/client_version.hpp"

namespace inbox_poller::poller::cli {

struct Client {
  std::string path;  // of the program; "process 42" for a running session
  std::optional<schema::ClientVersion> version;
  std::string problem;  // why the version is unknown
};
/// Returns a text such as "client 2.1.50 (/usr/bin/claude)".
std::string to_string(const Client&);

/// Runs `PROGRAM --version`, at most ten seconds. Blocks the calling thread.
Client ask_client(const std::string& program);

/// Finds each program named `claude` in PATH, at most eight, links to the same file once, and runs them concurrently.
/// Adds one entry for each further version of a running session, from the clients' session files.
std::vector<Client> find_clients();

/// Returns the oldest version; an unknown version, or an empty list, counts as the oldest supported client.
schema::ClientVersion oldest_of(const std::vector<Client>&);

}  // namespace inbox_poller::poller::cli
