#include "poller/control/server.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>
#include <cerrno>
#include <set>
#include <utility>

#include "poller/control/connection.hpp"

namespace inbox_poller::poller {

namespace {

namespace asio = boost::asio;
using asio::local::stream_protocol;
using boost::system::error_code;

/// Children of the daemon must not inherit its sockets; Asio 1.81 leaves them open across exec.
void close_on_exec(int fd) { ::fcntl(fd, F_SETFD, FD_CLOEXEC); }

Error from(const error_code& problem, std::string_view action, const std::string& path) {
  return io_error(problem.value(), action, path);
}

/// Prepares the folder and removes a stale socket. While the returned folder is held, other daemons cannot do the same.
/// Without this lock, another daemon's socket could be removed between our check and our bind.
Result<Directory> prepare(const std::string& path) {
  TRY(control_address(path));
  const std::size_t slash = path.rfind('/');
  if (path.front() != '/' || slash + 1 == path.size())
    return Error{std::string(code::bad_path), "control socket " + path + ": give an absolute path that names a file"};
  PosixFileSystem files;
  auto folder = ensure_private_dir(files, path.substr(0, slash == 0 ? 1 : slash));
  if (!folder) return in_context("control socket " + path, folder.error());
  if (::flock(folder->fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return io_error(errno, "locking the folder of control socket", path);
    return Error{"control.in_use", "control socket " + path + ": another daemon is starting in this folder: try again"};
  }

  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) {
    if (errno == ENOENT) return folder;
    return io_error(errno, "looking at control socket", path);
  }
  if (!S_ISSOCK(found.st_mode))
    return Error{std::string(code::bad_path),
                 "control socket " + path + ": something else has this name: move it away or give --socket PATH"};
  const Result<ControlClient> other = ControlClient::connect(path);
  if (other) return Error{"control.in_use", "control socket " + path + ": another daemon answers on it"};
  if (other.error().code != code::no_daemon) return in_context("control socket " + path, other.error());
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return io_error(errno, "removing stale control socket", path);
  return folder;
}

class Server final : public ControlServer {
 public:
  Server(const asio::any_io_executor& executor, std::string path, Handler handler, Report report,
         const ControlLimits& limits)
      : path_(std::move(path)),
        handler_(std::move(handler)),
        report_(std::move(report)),
        limits_(limits),
        answer_room_(limits.unread, limits.unread_for),
        acceptor_(executor),
        pause_(executor) {}

  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() override { close(); }

  Status listen();
  asio::awaitable<void> serve() override;
  void keep_place() override;
  void stop() override;

 private:
  void admit(stream_protocol::socket peer);
  bool make_room();
  void refuse(stream_protocol::socket peer, std::string_view code, std::string_view message);
  void report(std::string code, std::string message) const;
  void close();

  std::string path_;
  Handler handler_;
  Report report_;
  ControlLimits limits_;
  AnswerRoom answer_room_;  // outlives the connections
  stream_protocol::acceptor acceptor_;
  struct stat bound_ {};      // identity of our file at path_, so that another program's file is never removed
  asio::steady_timer pause_;  // serve() waits here to accept again, or for the last connection
  std::set<std::shared_ptr<ControlConnection>> connections_;
  ino_t in_the_way_ = 0;      // inode at path_ that is not ours and was not replaced
  bool is_displaced_ = false;  // path_ has no socket of ours, and that is reported
  bool busy_ = false;  // reported; reset when half of the places are free again
};

Status Server::listen() {
  error_code problem;
  stream_protocol::acceptor fresh(acceptor_.get_executor());
  fresh.open(stream_protocol(), problem);
  if (problem) return from(problem, "opening control socket", path_);
  close_on_exec(fresh.native_handle());
  fresh.bind(stream_protocol::endpoint(path_), problem);
  if (problem) return from(problem, "binding control socket", path_);
  // No client can connect before listen(), so the mode is set in time.
  if (::chmod(path_.c_str(), S_IRUSR | S_IWUSR) != 0 || ::lstat(path_.c_str(), &bound_) != 0)
    return io_error(errno, "setting the mode of control socket", path_);
  fresh.listen(asio::socket_base::max_listen_connections, problem);
  if (problem) return from(problem, "listening on control socket", path_);
  acceptor_ = std::move(fresh);
  return Done{};
}

void Server::keep_place() {
  if (!acceptor_.is_open()) return;
  struct stat now {};
  const bool there = ::lstat(path_.c_str(), &now) == 0;
  if (there && now.st_ino == bound_.st_ino && now.st_dev == bound_.st_dev) return;
  if (there && is_displaced_ && now.st_ino == in_the_way_) return;  // already tried
  in_the_way_ = there ? now.st_ino : 0;
  const Result<Directory> locked_folder = prepare(path_);
  const Status listening = locked_folder ? listen() : Status(locked_folder.error());
  if (listening) {
    is_displaced_ = false;
    return report("control.replaced", "control socket " + path_ + " was removed or replaced; a new one listens there");
  }
  if (!std::exchange(is_displaced_, true))
    report(listening.error().code, "no command reaches this daemon: " + listening.error().message);
}

asio::awaitable<void> Server::serve() {
  error_code last;
  while (acceptor_.is_open()) {
    error_code problem;
    stream_protocol::socket peer(acceptor_.get_executor());
    co_await acceptor_.async_accept(peer, asio::redirect_error(asio::use_awaitable, problem));
    if (!problem) admit(std::move(peer));
    if (problem && problem != asio::error::operation_aborted && acceptor_.is_open()) {
      // Most likely no file descriptors are left. The client stays in the backlog; accept again a little later.
      if (problem != last) report("control.accept", "accepting on " + path_ + ": " + problem.message());
      error_code canceled;
      pause_.expires_after(std::chrono::milliseconds(100));
      co_await pause_.async_wait(asio::redirect_error(asio::use_awaitable, canceled));
    }
    last = problem;
  }
  while (!connections_.empty()) {
    error_code canceled;
    pause_.expires_at(asio::steady_timer::time_point::max());
    co_await pause_.async_wait(asio::redirect_error(asio::use_awaitable, canceled));
  }
}

void Server::admit(stream_protocol::socket peer) {
  close_on_exec(peer.native_handle());
  const std::optional<uid_t> uid = peer_uid(peer.native_handle());
  if (uid != ::geteuid()) {
    report(std::string(code::foreign_peer),
           "refused a connection of user id " + (uid ? std::to_string(*uid) : "unknown"));
    return refuse(std::move(peer), code::foreign_peer, "this socket serves only the user the daemon runs as");
  }
  const bool is_full = connections_.size() >= limits_.connections;
  if (is_full && !std::exchange(busy_, true))
    report("control.busy", std::to_string(limits_.connections) + " connections are open: idle ones are closed, then more are refused");
  if (is_full && !make_room())
    return refuse(std::move(peer), "control.busy", "the daemon has as many connections as it takes: try again");
  if (connections_.size() < limits_.connections / 2) busy_ = false;  // a single free place does not end the overload
  auto connection = std::make_shared<ControlConnection>(std::move(peer), handler_, report_, limits_, answer_room_);
  connections_.insert(connection);
  auto forget = [this, weak = std::weak_ptr(connection)] {
    connections_.erase(weak.lock());
    if (connections_.empty()) pause_.cancel();
  };
  connection->start(std::move(forget));
}

/// Closes the most idle connection; false when none is idle.
bool Server::make_room() {
  const std::shared_ptr<ControlConnection>* oldest = nullptr;
  for (const auto& one : connections_)
    if (one->idle() && (oldest == nullptr || *one->idle() < *(*oldest)->idle())) oldest = &one;
  if (oldest != nullptr) (*oldest)->give_way();
  return oldest != nullptr;
}

/// Sends one line if the peer takes it at once, then drops the connection.
void Server::refuse(stream_protocol::socket peer, std::string_view code, std::string_view message) {
  const std::string line = boost::json::serialize(refusal(code, message)) + '\n';
  error_code ignored;
  peer.non_blocking(true, ignored);
  peer.write_some(asio::buffer(line), ignored);
}

void Server::report(std::string code, std::string message) const {
  if (report_) report_({std::move(code), std::move(message)});
}

void Server::stop() {
  close();
  pause_.cancel();
  for (const auto& connection : connections_) connection->stop();
}

void Server::close() {
  if (!acceptor_.is_open()) return;
  struct stat now {};
  if (::lstat(path_.c_str(), &now) == 0 && now.st_ino == bound_.st_ino && now.st_dev == bound_.st_dev)
    ::unlink(path_.c_str());
  error_code ignored;
  acceptor_.close(ignored);
}

}  // namespace

Result<std::unique_ptr<ControlServer>> ControlServer::bind(asio::any_io_executor executor, const std::string& path,
                                                           Handler handler, Report report, ControlLimits limits) {
  TRY(const auto locked_folder, prepare(path));  // held until we listen
  auto server = std::make_unique<Server>(executor, path, std::move(handler), std::move(report), limits);
  TRY(server->listen());
  return std::unique_ptr<ControlServer>(std::move(server));
}

}  // namespace inbox_poller::poller
