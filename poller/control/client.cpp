#include "poller/control/client.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/json.hpp>
#include <cerrno>
#include <cstring>


namespace inbox_poller::poller {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

using std::chrono::milliseconds;

Error fault(std::string_view code, std::string message) { return {std::string(code), std::move(message)}; }

/// Opens a socket that no child inherits and that never raises SIGPIPE where send() has no flag for that.
Fd make_socket() {
#ifdef SOCK_CLOEXEC
  return Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
#else
  Fd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  const int on = 1;
  ::fcntl(socket.get(), F_SETFD, FD_CLOEXEC);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
  return socket;
#endif
}

}  // namespace

std::optional<uid_t> peer_uid(int socket) {
#ifdef SO_PEERCRED
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer.uid;
#else
  uid_t uid = 0;
  gid_t gid = 0;
  if (::getpeereid(socket, &uid, &gid) != 0) return std::nullopt;
  return uid;
#endif
}

Result<sockaddr_un> control_address(const std::string& path) {
  sockaddr_un address{};
  constexpr std::size_t most = sizeof(address.sun_path) - 1;
  if (path.empty() || path.find('\0') != std::string::npos)
    return fault(code::bad_path, "the control socket's path is empty or holds a NUL byte: give one with --socket PATH");
  if (path.size() > most)
    return fault(code::bad_path, "control socket " + path + ": the path is " + std::to_string(path.size()) +
                                     " bytes long, a Unix socket's may be " + std::to_string(most) +
                                     ": set XDG_RUNTIME_DIR to a short folder or give --socket PATH");
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

struct ControlClient::Connection {
  std::unique_ptr<asio::io_context> own;  // destroyed last
  asio::local::stream_protocol::socket socket;
  std::string path;
  std::string unsent;
  std::string received;  // bytes after the last line

  [[nodiscard]] Error broken(std::string_view what) const {
    return fault(code::broken, "the daemon on " + path + " " + std::string(what));
  }
  [[nodiscard]] Error fault_of(const error_code& problem, const char* doing) const {
    if (problem == asio::error::not_found) return broken("answered with more than 16 MiB");
    if (problem == asio::error::eof || problem == asio::error::connection_reset ||
        problem == asio::error::broken_pipe || problem == asio::error::operation_aborted ||
        problem == asio::error::bad_descriptor)
      return broken("closed the connection without an answer");
    return io_error(problem.value(), doing, path);
  }
  [[nodiscard]] Result<boost::json::object> parsed(std::string_view line) const {
    boost::json::parse_options options;
    options.allow_invalid_utf8 = true;  // paths may hold any byte
    error_code problem;
    boost::json::value value = boost::json::parse(line, problem, {}, options);
    if (problem || !value.is_object()) return broken("answered with something that is not a JSON object");
    return std::move(value.get_object());
  }
};

Result<ControlClient> ControlClient::connect(const std::string& path, milliseconds limit) {
  try {
    auto own = std::make_unique<asio::io_context>(1);
    auto& loop = *own;
    return connect(std::move(own), loop, path, limit);
  } catch (const boost::system::system_error& problem) {  // no file descriptor is left for it
    return io_error(problem.code().value(), "opening a socket for", path);
  }
}

Result<ControlClient> ControlClient::connect(asio::io_context& loop, const std::string& path, milliseconds limit) {
  return connect(nullptr, loop, path, limit);
}

Result<ControlClient> ControlClient::connect(std::unique_ptr<asio::io_context> own, asio::io_context& loop,
                                             const std::string& path, milliseconds limit) {
  Result<sockaddr_un> address = control_address(path);
  if (!address) return address.error();
  const Fd fd = make_socket();
  if (fd.get() < 0) return io_error(errno, "opening a socket for", path);

  // A full backlog makes connect() wait, which Asio takes for connected; this bounds it.
  const timeval most{.tv_sec = limit.count() / 1000,
                     .tv_usec = static_cast<decltype(timeval::tv_usec)>(limit.count() % 1000 * 1000)};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
  int failed = 0;
  do {
    failed = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address);
  } while (failed != 0 && errno == EINTR);
  if (failed != 0) {
    if (errno == ENOENT || errno == ECONNREFUSED || errno == ENOTDIR)
      return fault(code::no_daemon, "no daemon answers on " + path);
    if (errno == EAGAIN) return fault(code::timeout, "the daemon on " + path + " did not take the connection in time");
    return io_error(errno, "connecting to", path);
  }
  // Another user's listener could answer in our daemon's name.
  if (peer_uid(fd.get()) != ::geteuid())
    return fault(code::foreign_peer, "what listens on " + path + " belongs to another user: give --socket PATH");
  asio::local::stream_protocol::socket socket(loop);
  error_code problem;
  socket.assign(asio::local::stream_protocol(), ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0), problem);
  if (!problem) socket.non_blocking(true, problem);
  if (problem) return io_error(problem.value(), "setting up the connection to", path);
  return ControlClient(
      std::shared_ptr<Connection>(new Connection{std::move(own), std::move(socket), path, {}, {}}));
}

asio::awaitable<Result<boost::json::object>> ControlClient::ask(boost::json::object request) const {
  const auto connection = connection_;  // keeps it alive if all other copies go
  std::string line = boost::json::serialize(request);
  if (line.size() > max_request_bytes)
    co_return fault(code::request_too_long, "the request is " + std::to_string(line.size()) +
                                                " bytes long, the daemon takes " + std::to_string(max_request_bytes));
  error_code unsent;
  error_code unread;
  connection->socket.cancel(unsent);  // a watch
  connection->unsent += line + '\n';
  const auto sent = co_await asio::async_write(connection->socket, asio::buffer(connection->unsent),
                                               asio::redirect_error(asio::use_awaitable, unsent));
  connection->unsent.erase(0, sent);
  // A refusal that arrives before the whole request was sent (the daemon is busy) is still an answer. Read it even if
  // sending failed.
  auto room = asio::dynamic_buffer(connection->received, max_answer_bytes + 1);
  const auto length = co_await asio::async_read_until(connection->socket, std::move(room), '\n',
                                                      asio::redirect_error(asio::use_awaitable, unread));
  if (unread) co_return connection->fault_of(unsent ? unsent : unread, unsent ? "sending to" : "reading from");
  line = connection->received.substr(0, length - 1);
  connection->received.erase(0, length);
  co_return connection->parsed(line);
}

Result<boost::json::object> ControlClient::call(boost::json::object request, Patience patience) {
  auto& loop = *connection_->own;
  std::optional<Result<boost::json::object>> answer;
  const auto asked = [&]() -> asio::awaitable<void> { answer = co_await ask(std::move(request)); };
  asio::co_spawn(loop, asked(), [](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
  });
  loop.restart();
  patience ? loop.run_for(*patience) : loop.run();
  if (answer) return *std::move(answer);
  error_code ignored;
  connection_->socket.cancel(ignored);
  // The coroutine may be between two operations, where cancel() has no effect; its next read then ends at once.
  connection_->socket.shutdown(asio::socket_base::shutdown_receive, ignored);
  loop.restart();
  loop.run();
  return fault(code::timeout, "the daemon on " + connection_->path + " did not answer in time");
}

void ControlClient::tell(const boost::json::object& request) {
  connection_->unsent += boost::json::serialize(request) + '\n';
  error_code ignored;
  connection_->socket.write_some(asio::buffer(connection_->unsent), ignored);
}

void ControlClient::watch(std::function<void()> ended) {
  connection_->socket.async_wait(asio::socket_base::wait_read, [ended = std::move(ended)](const error_code& problem) {
    if (!problem) ended();
  });
}

void ControlClient::close() {
  error_code ignored;
  connection_->socket.close(ignored);
}

}  // namespace inbox_poller::poller
