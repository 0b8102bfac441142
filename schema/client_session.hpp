// A live session as its client describes it: sessions/<pid>.json in the client's configuration directory, from 2.1.139
// on. A hint only: the client rewrites the file in place and leaves it behind when killed, and the fields differ
// between versions. The reader is tolerant: a field of another type counts as absent. Sources: runs of 2.1.139 to
// 2.1.331 (docs/reference/clients.md, "Sessions that live").
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace inbox_poller::schema {

struct ClientSession {
  long long pid = 0;
  std::string session_id;
  std::string started;     // procStart: the start of the process, in the system's own units
  std::string version;     // "2.1.220"; empty if invalid
  std::string entrypoint;  // cli, sdk-cli, …
  std::string status;      // idle, busy, waiting, …; empty: absent, as from a session without a screen
  long long updated_ms = 0;
  bool operator==(const ClientSession&) const = default;
};

/// Reads one file. Returns nothing if the text is not an object or names no process.
std::optional<ClientSession> decode_client_session(std::string_view bytes);

/// Returns 42 for "42.json" and 0 for every other name. Other files there (keys, partial files) must not be read.
long long pid_of_session_file(std::string_view name);

}  // namespace inbox_poller::schema
