// The control socket's client: one request out, one answer in, over a connection that stays open. Synchronous, for
// programs that do one thing and leave, or in two steps for a program with a loop of its own; the daemon never uses it
// except to see whether somebody answers on its socket already. It is also where both sides get what they must agree
// on: the frame limits and how a path becomes an address. Source: docs/control.md.
#pragma once

#include <sys/types.h>
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
inline constexpr std::string_view broken = "control.broken";              // closed in between, or not our protocol
inline constexpr std::string_view foreign_peer = "control.foreign_peer";  // of another user
inline constexpr std::string_view request_too_long = "request.too_long";
}  // namespace code

/// Who is at the other end of a connected Unix socket, as the kernel knows it.
std::optional<uid_t> peer_uid(int socket);

/// The address of a control socket; `control.bad_path` when the path is empty or longer than this system takes.
Result<sockaddr_un> control_address(const std::string& path);

class ControlClient {
 public:
  using Patience = std::optional<std::chrono::milliseconds>;  // none: for ever

  /// Connects, or says `control.no_daemon` when nobody answers there. `limit` is for a daemon that takes none.
  static Result<ControlClient> connect(const std::string& path,
                                       std::chrono::milliseconds limit = std::chrono::seconds(5));

  /// Sends one request and reads its answer, which may still be `{"ok": false, …}`. After a fault the connection is of
  /// no use.
  Result<boost::json::object> call(const boost::json::object& request, Patience patience = std::chrono::seconds(30));

  /// The two halves of call(), without waiting. Between them, wait until descriptor() is readable, or writable while
  /// there is something unsent(), and take() again.
  Status post(const boost::json::object& request);
  Result<std::optional<boost::json::object>> take();
  [[nodiscard]] int descriptor() const { return socket_.get(); }
  [[nodiscard]] bool unsent() const { return !unsent_.empty(); }

 private:
  using Deadline = std::optional<std::chrono::steady_clock::time_point>;

  ControlClient(Fd socket, std::string path) : socket_(std::move(socket)), path_(std::move(path)) {}
  [[nodiscard]] Status wait_for(short events, Deadline deadline) const;
  /// Sends what is taken at once.
  Status flush();
  [[nodiscard]] Status send_all(Deadline deadline);
  Result<std::string> read_line(Deadline deadline);
  /// A line that has arrived; none when the rest of it has not.
  Result<std::optional<std::string>> next_line();
  [[nodiscard]] Result<boost::json::object> parsed(std::string_view line) const;
  [[nodiscard]] Error broken(std::string_view what) const;

  Fd socket_;
  std::string path_;
  std::string unsent_;
  std::string received_;      // behind the last line
  std::size_t searched_ = 0;  // so much of it holds no newline
};

}  // namespace inbox_poller::poller
