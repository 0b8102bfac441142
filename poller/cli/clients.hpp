// The agent clients on this machine, and their versions: a settings file has to be one that each of them reads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schema/client_version.hpp"

namespace inbox_poller::poller::cli {

struct Client {
  std::string path;  // of its program; "process 42" of one that runs
  std::optional<schema::ClientVersion> version;
  std::string problem;  // why the version is not known
};
/// "client 2.1.50 (/usr/bin/claude)".
std::string to_string(const Client&);

/// Runs PROGRAM --version, for at most ten seconds.
Client ask_client(const std::string& program);

/// Every program called `claude` in PATH, each once however many links lead to it, at most eight, asked beside each
/// other; then each other version of which a session runs, by the files that clients keep of them.
std::vector<Client> find_clients();

/// What settings that all of them read may hold: the oldest counts, and an unknown one or none as the oldest we know.
schema::ClientVersion oldest_of(const std::vector<Client>&);

}  // namespace inbox_poller::poller::cli
