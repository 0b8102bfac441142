// For tests of the control socket: a folder that is removed again, a server in a thread of its own, and a peer that
// sends and reads raw bytes.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "poller/control/client.hpp"
#include "poller/control/server.hpp"
#include "tests/support/patience.hpp"

namespace inbox_poller::poller::testing {

using namespace std::chrono_literals;

class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "control-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

template <class Condition>
bool eventually(Condition condition) {
  return test::holds_at_last(condition);
}

inline std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/dev/fd")) ++count;
  return count;
}

/// A peer without manners: raw bytes out, lines in.
class Peer {
 public:
  explicit Peer(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const auto address = control_address(path);
    if (!address || ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0)
      throw std::runtime_error("cannot connect to " + path);
  }
  /// False when the other side is gone.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count < 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }
  /// The next line, "(end)" when the connection has ended, "(nothing)" when neither came in time.
  std::string line(std::chrono::milliseconds limit = test::wait_limit()) {
    const auto until = std::chrono::steady_clock::now() + limit;  // clock: the safety net itself
    for (;;) {
      if (const auto end = received_.find('\n'); end != std::string::npos) {
        std::string result = received_.substr(0, end);
        received_.erase(0, end + 1);
        return result;
      }
      // clock: the safety net itself
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
      pollfd wait{.fd = fd_.get(), .events = POLLIN, .revents = 0};
      if (left <= 0 || ::poll(&wait, 1, static_cast<int>(left)) <= 0) return "(nothing)";
      char chunk[4096];
      const ssize_t count = ::recv(fd_.get(), chunk, sizeof chunk, 0);
      if (count <= 0) return "(end)";
      received_.append(chunk, static_cast<std::size_t>(count));
    }
  }
  /// Waits until there is something to read, and reads nothing.
  bool has_bytes() {
    pollfd wait{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    return ::poll(&wait, 1, static_cast<int>(test::wait_limit().count())) == 1;
  }
  void close() { fd_ = Fd(); }
  void close_sending() { ::shutdown(fd_.get(), SHUT_WR); }

 private:
  Fd fd_;
  std::string received_;
};

/// A server whose handler answers `{"ok":true,"echo":N}` to `{"verb":"echo","n":N}`, waits for the peer's end on
/// "wait", throws on "throw", and answers with too much on "huge"; or one with a handler of the test's own.
/// As the daemon has them, for a machine that takes its time: where a limit is the subject the test sets it.
inline ControlLimits unhurried() {
  ControlLimits limits;
  limits.half_line = limits.write = std::chrono::minutes(10);
  return limits;
}

class ServerThread {
 public:
  explicit ServerThread(const std::string& path, ControlLimits limits = unhurried(), ControlServer::Handler handler = {})
      : path_(path) {
    if (!handler)
      handler = [this](boost::json::object request, std::shared_ptr<ControlSession> session) {
        return handle(std::move(request), std::move(session));
      };
    auto report = [this](const Error& problem) {
      const std::lock_guard lock(mutex_);
      problems_.push_back(problem.code);
    };
    auto server = ControlServer::bind(context_.get_executor(), path, std::move(handler), report, limits);
    if (!server) throw std::runtime_error(server.error().code + ": " + server.error().message);
    server_ = std::move(*server);
    boost::asio::co_spawn(context_, server_->serve(), [this](std::exception_ptr) { served_ = true; });
    thread_ = std::thread([this] { context_.run(); });
  }
  ServerThread(const ServerThread&) = delete;
  ServerThread& operator=(const ServerThread&) = delete;
  ~ServerThread() {
    stop();
    thread_.join();
  }

  void stop() {
    boost::asio::post(context_, [this] { server_->stop(); });
  }
  [[nodiscard]] bool served() const { return served_; }
  [[nodiscard]] std::vector<std::string> problems() const {
    const std::lock_guard lock(mutex_);
    return problems_;
  }

  std::atomic<int> handled = 0;
  std::atomic<int> waiting = 0;
  std::atomic<int> given_back = 0;  // how often an on_close ran

 private:
  boost::asio::awaitable<boost::json::object> handle(boost::json::object request,
                                                     std::shared_ptr<ControlSession> session) {
    ++handled;
    const std::string verb(request.at("verb").as_string());
    if (verb == "throw") throw std::runtime_error("broken");
    if (verb == "huge") co_return boost::json::object{{"ok", true}, {"text", std::string(max_answer_bytes, 'x')}};
    if (verb == "large") co_return boost::json::object{{"ok", true}, {"text", std::string(max_answer_bytes / 2, 'x')}};
    if (verb == "wait") {
      session->on_close.emplace_back([this] { ++given_back; });
      ++waiting;
      boost::asio::steady_timer timer(context_);
      while (!session->closed) {
        timer.expires_after(2ms);
        co_await timer.async_wait(boost::asio::use_awaitable);
      }
      --waiting;
    }
    co_return boost::json::object{{"ok", true}, {"echo", request.contains("n") ? request.at("n") : nullptr}};
  }

  std::string path_;
  boost::asio::io_context context_{1};
  std::unique_ptr<ControlServer> server_;
  std::atomic<bool> served_ = false;
  mutable std::mutex mutex_;
  std::vector<std::string> problems_;
  std::thread thread_;
};

}  // namespace inbox_poller::poller::testing
