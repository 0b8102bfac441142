// The control socket's client: one request out, one answer in, over a connection that stays open. A program that does
// one thing and leaves calls and waits; one with a loop of its own asks in a coroutine. The daemon never uses it except
// to see whether somebody answers on its socket already. It is also where both sides get what they must agree on: the
// frame limits and how a path becomes an address. Source: docs/reference/control.md.
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

/// A handle: copies are the same connection, which closes with the last of them, and with the request under way.
class ControlClient {
 public:
  using Patience = std::optional<std::chrono::milliseconds>;  // none: for ever

  /// Connects, or says `control.no_daemon` when nobody answers there. `limit` is for a daemon that takes none.
  static Result<ControlClient> connect(const std::string& path,
                                       std::chrono::milliseconds limit = std::chrono::seconds(5));
  /// The same for a program with a loop of its own, which must outlive it.
  static Result<ControlClient> connect(boost::asio::io_context& loop, const std::string& path,
                                       std::chrono::milliseconds limit);

  /// Sends one request and reads its answer, which may still be `{"ok": false, …}`. After a fault the connection is of
  /// no use. Not beside another one.
  [[nodiscard]] boost::asio::awaitable<Result<boost::json::object>> ask(boost::json::object request) const;
  /// The same, waited for here: without a loop of the program's own.
  Result<boost::json::object> call(boost::json::object request, Patience patience = std::chrono::seconds(30));
  /// Says what needs no answer. What is not taken at once is lost.
  void tell(const boost::json::object& request);

  /// Calls `ended` once when the other side closes or speaks unasked; the next ask() ends that watch.
  void watch(std::function<void()> ended);
  /// Whoever asks or watches gets an error, or nothing.
  void close();

 private:
  struct Connection;
  explicit ControlClient(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}
  static Result<ControlClient> connect(std::unique_ptr<boost::asio::io_context> own, boost::asio::io_context& loop,
                                       const std::string& path, std::chrono::milliseconds limit);

  std::shared_ptr<Connection> connection_;
};

}  // namespace inbox_poller::poller
