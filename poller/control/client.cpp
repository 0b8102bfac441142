#include "poller/control/client.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <cstring>

namespace inbox_poller::poller {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

Error fault(std::string_view code, std::string message) { return {std::string(code), std::move(message)}; }

/// A socket that no child inherits and that never raises SIGPIPE where send() has no flag for that.
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

#ifdef MSG_NOSIGNAL
constexpr int send_flags = MSG_NOSIGNAL;
#else
constexpr int send_flags = 0;  // SO_NOSIGPIPE is set instead
#endif

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

Result<ControlClient> ControlClient::connect(const std::string& path, milliseconds limit) {
  Result<sockaddr_un> address = control_address(path);
  if (!address) return address.error();
  Fd socket = make_socket();
  if (socket.get() < 0) return io_error(errno, "opening a socket for", path);

  // A full backlog makes connect() wait; this bounds it.
  const timeval most{.tv_sec = limit.count() / 1000,
                     .tv_usec = static_cast<decltype(timeval::tv_usec)>(limit.count() % 1000 * 1000)};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
    if (errno == ENOENT || errno == ECONNREFUSED || errno == ENOTDIR)
      return fault(code::no_daemon, "no daemon answers on " + path);
    if (errno == EAGAIN) return fault(code::timeout, "the daemon on " + path + " did not take the connection in time");
    return io_error(errno, "connecting to", path);
  }
  // Whoever else listens there could say yes in our daemon's name.
  if (peer_uid(socket.get()) != ::geteuid())
    return fault(code::foreign_peer, "what listens on " + path + " belongs to another user: give --socket PATH");
  const int flags = ::fcntl(socket.get(), F_GETFL);
  if (flags < 0 || ::fcntl(socket.get(), F_SETFL, flags | O_NONBLOCK) != 0)
    return io_error(errno, "setting up the connection to", path);
  return ControlClient(std::move(socket), path);
}

Result<boost::json::object> ControlClient::call(const boost::json::object& request, Patience patience) {
  Deadline deadline;
  if (patience) deadline = steady_clock::now() + *patience;
  if (Status posted = post(request); !posted.ok()) return posted.error();
  const Status sent = send_all(deadline);
  Result<std::string> answer = read_line(deadline);
  if (!answer) return sent.ok() ? answer.error() : sent.error();
  return parsed(*answer);
}

Status ControlClient::post(const boost::json::object& request) {
  const std::string line = boost::json::serialize(request);
  if (line.size() > max_request_bytes)
    return fault(code::request_too_long, "the request is " + std::to_string(line.size()) +
                                             " bytes long, the daemon takes " + std::to_string(max_request_bytes));
  unsent_ += line + '\n';
  // A refusal sent before all of the request was taken (the daemon is busy) is still an answer: read it, whatever
  // became of the sending.
  static_cast<void>(flush());
  return Done{};
}

Result<std::optional<boost::json::object>> ControlClient::take() {
  const Status sent = flush();
  const Result<std::optional<std::string>> line = next_line();
  if (!line) return sent.ok() ? line.error() : sent.error();
  if (!*line) return std::optional<boost::json::object>();
  Result<boost::json::object> answer = parsed(**line);
  if (!answer) return answer.error();
  return std::optional(*std::move(answer));
}

Result<boost::json::object> ControlClient::parsed(std::string_view line) const {
  boost::json::parse_options options;
  options.allow_invalid_utf8 = true;  // paths may hold any byte
  boost::system::error_code problem;
  boost::json::value value = boost::json::parse(line, problem, {}, options);
  if (problem || !value.is_object()) return broken("answered with something that is not a JSON object");
  return std::move(value.get_object());
}

Error ControlClient::broken(std::string_view what) const {
  return fault(code::broken, "the daemon on " + path_ + " " + std::string(what));
}

Status ControlClient::wait_for(short events, Deadline deadline) const {
  for (;;) {
    int timeout = -1;
    if (deadline) {
      // Rounded up, so that the last wait does not become a busy one.
      const auto left = std::chrono::ceil<milliseconds>(*deadline - steady_clock::now()).count();
      if (left <= 0) return fault(code::timeout, "the daemon on " + path_ + " did not answer in time");
      timeout = static_cast<int>(std::min<long long>(left, 1'000'000));
    }
    pollfd descriptor{.fd = socket_.get(), .events = events, .revents = 0};
    const int ready = ::poll(&descriptor, 1, timeout);
    if (ready > 0) return Done{};
    if (ready < 0 && errno != EINTR) return io_error(errno, "waiting for", path_);
  }
}

Status ControlClient::flush() {
  while (!unsent_.empty()) {
    const ssize_t count = ::send(socket_.get(), unsent_.data(), unsent_.size(), send_flags);
    if (count >= 0) {
      unsent_.erase(0, static_cast<std::size_t>(count));
    } else if (errno == EPIPE || errno == ECONNRESET) {
      return broken("closed the connection");
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return Done{};
    } else if (errno != EINTR) {
      return io_error(errno, "sending to", path_);
    }
  }
  return Done{};
}

Status ControlClient::send_all(Deadline deadline) {
  for (;;) {
    if (Status sent = flush(); !sent.ok() || unsent_.empty()) return sent;
    if (Status waited = wait_for(POLLOUT, deadline); !waited.ok()) return waited;
  }
}

Result<std::string> ControlClient::read_line(Deadline deadline) {
  for (;;) {
    Result<std::optional<std::string>> line = next_line();
    if (!line) return line.error();
    if (*line) return **std::move(line);
    if (Status waited = wait_for(POLLIN, deadline); !waited.ok()) return waited.error();
  }
}

Result<std::optional<std::string>> ControlClient::next_line() {
  for (;;) {
    if (const std::size_t end = received_.find('\n', searched_); end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      searched_ = 0;
      return std::optional(std::move(line));
    }
    searched_ = received_.size();
    if (searched_ > max_answer_bytes) return broken("answered with more than 16 MiB");

    char chunk[16384];
    const ssize_t count = ::recv(socket_.get(), chunk, sizeof chunk, 0);
    if (count > 0) {
      received_.append(chunk, static_cast<std::size_t>(count));
    } else if (count == 0 || errno == ECONNRESET) {
      return broken("closed the connection without an answer");
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return std::optional<std::string>();
    } else if (errno != EINTR) {
      return io_error(errno, "reading from", path_);
    }
  }
}

}  // namespace inbox_poller::poller
