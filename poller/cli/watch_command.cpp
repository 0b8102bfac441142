// `pending --watch` on its terminal: draws, reads keys, asks the daemon; what all that means is watch.cpp's business.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "poller/cli/change_watch.hpp"
#include "poller/cli/loop.hpp"
#include "poller/cli/watch.hpp"

namespace inbox_poller::poller::cli {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr milliseconds renew_every{5000};  // what changes is told
constexpr milliseconds draw_every{1000};
constexpr milliseconds escape_decides{50};
constexpr milliseconds daemon_patience{5000};

class Screen {
 public:
  Screen(Context& context, std::string socket)
      : context_(context),
        signals_(loop_, {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH}, [this](int number) { obey(number); }),
        input_(loop_, context.console.in(), Descriptor::Kind::wait_read, [this] { read_keys(); }),
        terminal_(context.console.in(), context.console.out()),
        watch_(user_name()),
        changes_(loop_, std::move(socket), [this] { is_stale_ = true; }) {
    changes_.start();
  }

  ExitCode run(const Result<boost::json::object>& first) {
    watch_.listed(first, now_ms());
    auto look_at = steady_clock::now() + renew_every;
    for (;;) {
      bool asked = false;
      for (auto request = watch_.take_request(); request; request = watch_.take_request()) {
        watch_.answered(*request, ask(request->verb, request->fields), now_ms());
        asked = true;
      }
      if (asked || std::exchange(is_stale_, false) || steady_clock::now() >= look_at) {
        watch_.listed(ask("pending", {}), now_ms());
        look_at = steady_clock::now() + renew_every;
        if (watch_.waits()) continue;
      }
      if (!draw()) return ExitCode::failed;
      if (watch_.over()) return ExitCode::done;
      if (const auto left = wait(look_at)) return *left;
    }
  }

 private:
  Result<boost::json::object> ask(const std::string& verb, boost::json::object fields) {
    Result<ControlClient> client = context_.connect();
    if (!client) return client.error();
    return context_.ask(*client, verb, std::move(fields), daemon_patience);
  }

  bool draw() {
    ScreenSize size = terminal_.size();
    --size.columns;  // what clears the rest of a full line takes its last character along on some terminals
    const Watch::Frame frame = watch_.frame(size, now_ms());
    std::string text = "\x1b[H";
    for (std::size_t i = 0; i < frame.lines.size(); ++i) {
      const Watch::Line& line = frame.lines[i];
      text += (i == 0 ? "" : "\r\n") + (line.stands_out ? context_.console.bold(line.text) : line.text) + "\x1b[K";
    }
    text += "\x1b[J";
    if (text != on_it_ && !context_.console.write(text).ok()) return false;
    on_it_ = std::move(text);
    if (frame.shows != shows_) {  // what was typed before was meant for another ask
      terminal_.drop_typed();
      keys_.clear();
    }
    shows_ = frame.shows;
    return true;
  }

  /// Until there is a key, a signal or it is time to look again; an exit code when it is over.
  std::optional<ExitCode> wait(steady_clock::time_point look_at) {
    if (keys_.undecided()) look_at = std::min(look_at, steady_clock::now() + escape_decides);
    input_.await();
    // Once a second at least: a deadline comes nearer.
    const bool undecided = keys_.undecided();
    if (loop_.run_one_until(std::min(look_at, steady_clock::now() + draw_every)) == 0 && undecided) press(keys_.settle());
    return left_;
  }

  void read_keys() {
    char bytes[256];
    const ssize_t count = ::read(context_.console.in(), bytes, sizeof bytes);
    if (count > 0) {
      press(keys_.feed(std::string_view(bytes, static_cast<std::size_t>(count))));
    } else if (count == 0 || (errno != EINTR && errno != EAGAIN)) {
      left_ = ExitCode::failed;  // the terminal is gone
    }
  }

  /// One after the other. When one of them brings another ask or page, the rest is dropped: whoever typed it had not
  /// seen that yet.
  void press(const std::vector<Key>& keys) {
    const std::string before = shows_;
    for (const Key& key : keys) {
      watch_.press(key, now_ms());
      if (watch_.waits() || watch_.over() || !draw() || shows_ != before) return;
    }
  }

  void obey(int number) {
    if (number == SIGTSTP) {
      terminal_.leave();
      ::kill(::getpid(), SIGSTOP);
    } else if (number != SIGCONT && number != SIGWINCH) {
      left_ = ExitCode::done;
      return;
    }
    if (number != SIGWINCH) terminal_.enter();  // a shell may have changed it meanwhile
    on_it_.clear();
  }

  Context& context_;
  boost::asio::io_context loop_{1};
  Signals signals_;
  Descriptor input_;
  Terminal terminal_;
  Watch watch_;
  KeyReader keys_;
  std::string on_it_;  // what was drawn last
  std::string shows_;
  std::optional<ExitCode> left_;
  bool is_stale_ = false;
  ChangeWatch changes_;
};

}  // namespace

ExitCode watch(Context& context) {
  if (context.json || !Terminal::usable(context.console.in(), context.console.out())) {
    context.console.complain(
        "pending --watch talks to a person at a terminal; for a program there is `inbox-poller pending --json`");
    return ExitCode::usage;
  }
  const auto first = context.ask("pending");
  if (!first) return context.fail(first.error());
  const auto socket = context.socket_path();
  if (!socket) return context.fail(socket.error());
  return Screen(context, *socket).run(first);
}

}  // namespace inbox_poller::poller::cli
