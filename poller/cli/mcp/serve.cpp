#include "poller/cli/mcp/serve.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#ifdef __linux__
#include <linux/sockios.h>
#endif

#include "poller/cli/lead_run/line_cutter.hpp"
#include "poller/cli/loop.hpp"
#include "poller/cli/printable.hpp"

namespace inbox_poller::poller::cli::mcp {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr std::size_t one_write = PIPE_BUF;  // bytes that a writable pipe takes without blocking
constexpr std::size_t one_read = std::size_t{64} << 10;
constexpr std::size_t most_unwritten = std::size_t{1} << 20;  // bytes; then reading pauses until the client reads
constexpr milliseconds last_calls{1000};                      // for calls that still run at the end of the input
constexpr milliseconds death_shows{250};                      // files close shortly before a dying parent is gone
constexpr milliseconds look{10};

/// Bytes written to this pipe or socket and not yet read at its other end; 0 if unknown.
std::size_t unread_behind(int descriptor) {
  int count = 0;
#ifdef __linux__
  struct stat file {};
  if (::fstat(descriptor, &file) != 0) return 0;
  const unsigned long question = S_ISSOCK(file.st_mode) ? SIOCOUTQ : FIONREAD;
  if (::ioctl(descriptor, question, &count) != 0 || count < 0) return 0;
  if (count > 0 && S_ISSOCK(file.st_mode)) return most_unwritten;  // the count includes the kernel's overhead
#else
  static_cast<void>(descriptor);
#endif
  return static_cast<std::size_t>(count);
}

/// True if the other end of this socket closed with unread bytes; never for a pipe.
bool broke_off(int descriptor) {
  int problem = 0;
  socklen_t size = sizeof problem;
  return ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &problem, &size) == 0 && problem != 0;
}

class Process : private Wire {
 public:
  Process(Context& context, asio::io_context& loop, Backend& backend, Server::Settings settings)
      : context_(context),
        loop_(loop),
        server_(loop, backend, *this, std::move(settings)),
        parent_(::getppid()),
        signals_(loop, {SIGINT, SIGTERM, SIGHUP}, [this](int) { end(ExitCode::done, false); }),
        input_(loop, context.console.in(), Descriptor::Kind::wait_read, [this] { read(); }),
        input_gone_(loop, context.console.in(), Descriptor::Kind::wait_error, [this] { input_is_gone(); }),
        reader_gone_(loop, context.console.out(), Descriptor::Kind::wait_error, [this] { reader_is_gone(); }),
        writable_(loop, context.console.out(), Descriptor::Kind::wait_write, [this] { write_some(); }),
        timer_(loop) {}

  ExitCode run(const std::function<void(Server&)>& began) {
    if (began) began(server_);
    reader_gone_.await();
    input_.await();
    loop_.run();
    loop_.restart();
    while (!server_.idle() && loop_.poll() > 0) {  // canceled calls still use the mailbox, so they must end before it
    }
    return exit_code_;
  }

 private:
  void write(std::string line) override {
    out_ += line;
    if (!std::exchange(writes_, true)) write_some();
  }

  std::uint64_t read_by_client() override {
    if (broke_off(context_.console.out())) broken_ = true;
    if (broken_) return 0;
    const std::uint64_t unread = unread_behind(context_.console.out());
    return sent_ - std::min<std::uint64_t>(sent_, unread);
  }

  [[nodiscard]] bool is_full() const override { return out_.size() - out_sent_ >= most_unwritten; }

  [[nodiscard]] bool has_reader() const {
    pollfd other_end{.fd = context_.console.out(), .events = 0, .revents = 0};
    return ::poll(&other_end, 1, 0) == 0 || (other_end.revents & (POLLERR | POLLHUP | POLLNVAL)) == 0;
  }

  [[nodiscard]] bool takes_more() const {
    pollfd room{.fd = context_.console.out(), .events = POLLOUT, .revents = 0};
    return ::poll(&room, 1, 0) > 0;
  }

  void write_some() {
    while (out_sent_ < out_.size() && takes_more()) {
      const std::string_view next = std::string_view(out_).substr(out_sent_, one_write);
      if (const Status done = context_.console.write(next); !done.ok()) return reader_is_gone();
      out_sent_ += next.size();
      sent_ += next.size();
    }
    if (out_sent_ == out_.size()) {
      out_.clear();
      out_sent_ = 0;
      writes_ = false;
    } else {
      if (out_sent_ > most_unwritten) out_.erase(0, std::exchange(out_sent_, 0));
      writable_.await();
    }
    if (rests_ && !is_full()) {
      rests_ = false;
      input_.await();
    }
  }

  void read() {
    std::array<char, one_read> bytes;
    const ssize_t count = ::read(context_.console.in(), bytes.data(), bytes.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return input_.await();
    if (count <= 0) {
      if (const std::string rest = lines_.take_rest(); !rest.empty()) server_.hear(rest);
      tell_left_out();
      return input_ended();
    }
    const std::string_view read(bytes.data(), static_cast<std::size_t>(count));
    lines_.feed(read, [this](std::string_view line) {
      tell_left_out();
      server_.hear(line);
    });
    tell_left_out();
    if (ending_) return;
    if (!is_full()) return input_.await();
    rests_ = true;
    if (!std::exchange(watches_input_, true)) input_gone_.await();
  }

  void tell_left_out() {
    for (std::size_t count = lines_.take_left_out(); count > 0; --count) server_.hear_too_long();
  }

  /// Handles the end of the input while reading is paused.
  void input_is_gone() {
    watches_input_ = false;
    if (rests_) input_ended();
  }

  void input_ended() {
    if (std::exchange(ending_, true)) return;
    ended_at_ = steady_clock::now();
    server_.input_ended();
    finish();
  }

  /// Waits up to a second for running calls and unwritten output. A dying client looks like one that ends the
  /// conversation, but a moment later the parent is gone. With a wrapper that outlives the client, at least the output
  /// has no reader.
  void finish() {
    const auto passed = steady_clock::now() - ended_at_;
    const bool all_said = server_.idle() && out_.empty();
    if ((all_said || passed > last_calls) && (!server_.holds() || passed > death_shows))
      return end(ExitCode::done, has_reader() && ::getppid() == parent_);
    timer_.expires_after(look);
    timer_.async_wait([this](const boost::system::error_code& problem) {
      if (!problem) finish();
    });
  }

  /// Handles an output without a reader.
  void reader_is_gone() {
    broken_ = broken_ || !out_.empty();
    if (ending_) return end(ExitCode::done, false);
    input_ended();
  }

  void end(ExitCode code, bool lives) {
    exit_code_ = code;
    server_.leave(lives);
    input_.close();
    loop_.stop();
  }

  Context& context_;
  asio::io_context& loop_;
  Server server_;
  const pid_t parent_;
  Signals signals_;
  Descriptor input_, input_gone_, reader_gone_, writable_;
  asio::steady_timer timer_;
  LineCutter lines_{longest_line};
  std::string out_;            // not yet written
  std::size_t out_sent_ = 0;   // of out_
  std::uint64_t sent_ = 0;     // in total
  bool writes_ = false;
  bool rests_ = false;         // reading is paused
  bool watches_input_ = false;
  bool broken_ = false;        // written bytes may be unread
  bool ending_ = false;
  steady_clock::time_point ended_at_{};
  ExitCode exit_code_ = ExitCode::failed;
};

}  // namespace

ExitCode serve(Context& context, asio::io_context& loop, Backend& backend, Server::Settings settings,
               const std::function<void(Server&)>& began) {
  settings.complain = [&context](const std::string& what) { context.console.complain(printable(what)); };
  if (::isatty(context.console.in()) != 0)
    context.console.complain(
        "this is a server that an assistant's client starts and talks to; `inbox-poller mcp install` puts it into the "
        "client's settings. Ctrl-D ends it");
  return Process(context, loop, backend, std::move(settings)).run(began);
}

}  // namespace inbox_poller::poller::cli::mcp
