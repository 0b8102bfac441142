// What a client says of a session of its own while it lives: sessions/<pid>.json in its configuration folder, from
// 2.1.139 on. A hint and no more: it is written in place at every change, stays behind when its client is killed, and its
// fields come and go with versions. So the reader is tolerant: a field of another kind counts as not said. Sources: runs
// of 2.1.139 to 2.1.331 (docs/reference/clients.md, "Sessions that live").
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace inbox_poller::schema {

struct ClientSession {
  long long pid = 0;
  std::string session_id;
  std::string started;     // procStart: the process's start, in the system's own count
  std::string version;     // "2.1.220"; empty for what is no version
  std::string entrypoint;  // cli, sdk-cli, …
  std::string status;      // idle, busy, waiting, …; empty: not said, as by a session without a screen
  long long updated_ms = 0;
  bool operator==(const ClientSession&) const = default;
};

/// Reads one file. None for what is no object, or names no process.
std::optional<ClientSession> decode_client_session(std::string_view bytes);

/// 42 for "42.json"; 0 for every other name. What else lies there (keys, halves of files) is not ours to read.
long long pid_of_session_file(std::string_view name);

}  // namespace inbox_poller::schema
