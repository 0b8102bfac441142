// The control socket's client: one request out, one answer in, over a connection that stays open. Synchronous, for
// programs that do one thing and leave; the daemon never uses it except to see whether somebody answers on its socket
// already. It is also where both sides get what they must agree on: the frame limits and how a path becomes an address.
// Source: docs/control.md.
#pragma once

#include <sys/un.h>

#include <boost/json/object.hpp>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "poller/filesystem.hpp"
#include "schema/error.hpp"

namespace inbox_poller::poller {

inline constexpr std::size_t max_request_bytes = std::size_t{64} << 10;  // one line, without its newline
inline constexpr std::size_t max_answer_bytes = std::size_t{16} << 20;

/// The codes of a client's own faults; a refusal by the daemon is not one of them, but an answer.
namespace code {
inline constexpr std::string_view no_daemon = "control.no_daemon";  // no socket there, or nobody listens on it
inline constexpr std::string_view bad_path = "control.bad_path";    // not usable as the address of a Unix socket
inline constexpr std::string_view timeout = "control.timeout";
inline constexpr std::string_view broken = "control.broken";  // closed in between, or not our protocol
inline constexpr std::string_view request_too_long = "request.too_long";
}  // namespace code

/// The address of a control socket; `control.bad_path` when the path is empty or longer than this system takes.
Result<sockaddr_un> control_address(const std::string& path);

class ControlClient {
 public:
  using Patience = std::optional<std::chrono::milliseconds>;  // none: for ever

  /// Connects, or says `control.no_daemon` when nobody answers there.
  static Result<ControlClient> connect(const std::string& path);

  /// Sends one request and reads its answer, which may still be `{"ok": false, …}`. After a fault the connection is of
  /// no use.
  Result<boost::json::object> call(const boost::json::object& request, Patience patience = std::chrono::seconds(30));

 private:
  using Deadline = std::optional<std::chrono::steady_clock::time_point>;

  ControlClient(Fd socket, std::string path) : socket_(std::move(socket)), path_(std::move(path)) {}
  [[nodiscard]] Status wait_for(short events, Deadline deadline) const;
  [[nodiscard]] Status send_line(std::string_view line, Deadline deadline) const;
  Result<std::string> read_line(Deadline deadline);
  [[nodiscard]] Error broken(std::string_view what) const;

  Fd socket_;
  std::string path_;
  std::string received_;  // behind the last line
};

}  // namespace inbox_poller::poller
