// Client of the control socket: one request out, one answer in, over a connection that stays open. Simple programs use
// call(), which blocks; programs with their own event loop use ask(). The daemon uses it only to check for another
// daemon on its socket. The header also has what both sides share: frame limits and the address of a path. Source:
// docs/reference/control.md.
#pragma once

#include <sys/types.h>
#include <sys/un.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json/object.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "poller/filesystem.hpp"
#include "schema/error.hpp"

namespace inbox_poller::poller {

inline constexpr std::size_t max_request_bytes = std::size_t{64} << 10;  // one line, without its newline
inline constexpr std::size_t max_answer_bytes = std::size_t{16} << 20;

/// Error codes of the client itself. A refusal by the daemon is an answer, not one of these errors.
namespace code {
inline constexpr std::string_view no_daemon = "control.no_daemon";  // no socket at this path, or no listener on it
inline constexpr std::string_view bad_path = "control.bad_path";    // not usable as the address of a Unix socket
inline constexpr std::string_view timeout = "control.timeout";
inline constexpr std::string_view broken = "control.broken";              // connection closed early, or not our
                                                                          // protocol
inline constexpr std::string_view foreign_peer = "control.foreign_peer";  // the server belongs to another user
inline constexpr std::string_view request_too_long = "request.too_long";
}  // namespace code

/// Returns the user id of the peer of a connected Unix socket, from the kernel; empty when unknown.
std::optional<uid_t> peer_uid(int socket);

/// Converts a path to a socket address. Error: `control.bad_path` when the path is empty or too long for this system.
Result<sockaddr_un> control_address(const std::string& path);

/// Handle of a connection; copies share it. The connection closes with the last copy; a request under way keeps it
/// open.
class ControlClient {
 public:
  using Patience = std::optional<std::chrono::milliseconds>;  // empty: unlimited

  /// Connects to the daemon. Error: `control.no_daemon` when no daemon listens there. `limit` bounds the wait for a
  /// daemon that accepts no connection.
  static Result<ControlClient> connect(const std::string& path,
                                       std::chrono::milliseconds limit = std::chrono::seconds(5));
  /// Connects for a program with its own event loop; `loop` must outlive the client.
  static Result<ControlClient> connect(boost::asio::io_context& loop, const std::string& path,
                                       std::chrono::milliseconds limit);

  /// Sends one request and returns its answer, which may be `{"ok": false, …}`. After an error the connection is
  /// unusable. Only one call at a time.
  [[nodiscard]] boost::asio::awaitable<Result<boost::json::object>> ask(boost::json::object request) const;
  /// Sends one request and blocks until its answer; for clients without their own event loop.
  Result<boost::json::object> call(boost::json::object request, Patience patience = std::chrono::seconds(30));
  /// Sends a message that has no answer. Bytes that the socket does not accept at once are lost.
  void tell(const boost::json::object& request);

  /// Calls `ended` once when the server closes or sends unrequested bytes; the next ask() ends this watch.
  void watch(std::function<void()> ended);
  /// Closes the connection; a pending ask() or watch() ends with an error or without a call.
  void close();

 private:
  struct Connection;
  explicit ControlClient(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}
  static Result<ControlClient> connect(std::unique_ptr<boost::asio::io_context> own, boost::asio::io_context& loop,
                                       const std::string& path, std::chrono::milliseconds limit);

  std::shared_ptr<Connection> connection_;
};

}  // namespace inbox_poller::poller
