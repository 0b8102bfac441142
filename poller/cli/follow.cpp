#include "poller/cli/follow.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <csignal>

#include "poller/cli/lead_run/line_cutter.hpp"
#include "poller/cli/loop.hpp"
#include "poller/cli/mail_stream.hpp"
#include "poller/cli/printable.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

constexpr std::size_t most_held = 1000;   // unacknowledged messages; at this limit no more are requested
constexpr std::size_t longest_key = 256;  // bytes of a line on standard input
constexpr std::size_t one_write = 512;    // POSIX: a pipe reported as writable takes this many bytes without blocking

/// True for errors that may pass, as from a starting daemon or a full disk; after a first success they are retried.
bool may_pass(const std::string& code) {
  return code.empty() || code == "team.unknown" || code == "team.absent" || code.starts_with("control.") || code.starts_with("ledger.");
}

class Follower : private MailReader {
 public:
  Follower(Context& context, const FollowOptions& options, std::string socket)
      : context_(context),
        options_(options),
        mail_(loop_, {std::move(socket), context.team, "socket", options.ignore_busy, options.after}, *this),
        signals_(loop_, {SIGINT, SIGTERM, SIGHUP}, [this](int) { leave(); }),
        reader_gone_(loop_, context.console.out(), Descriptor::Kind::wait_error,
                     [this] { reader_is_gone("the reader of the output is gone"); }),
        writable_(loop_, context.console.out(), Descriptor::Kind::wait_write, [this] { write(); }),
        input_(loop_, context.console.in(), Descriptor::Kind::wait_read, [this] { read_keys(); }) {}

  ExitCode run() {
    mail_.start();
    reader_gone_.await();
    if (options_.acks) input_.await();
    loop_.run();
    return exit_code_;
  }

 private:
  void end(ExitCode code) {
    exit_code_ = code;
    loop_.stop();
  }

  void leave() {
    if (const auto count = mail_.unacknowledged(); count > 0)
      context_.console.complain("left before " + std::to_string(count) +
                                " acknowledgments were taken: those messages may come again");
    end(ExitCode::done);
  }

  void reader_is_gone(const std::string& why) {
    context_.console.complain(why + "; what was not acknowledged will come again");
    end(ExitCode::failed);
  }

  [[nodiscard]] std::size_t room() const override {
    if (!out_.empty() || !input_open_) return 0;
    return std::min<std::size_t>(static_cast<std::size_t>(options_.max), most_held - held_.size());
  }

  void attached(const json::object& answer) override {
    if (std::exchange(daemon_, Daemon::there) == Daemon::away) context_.console.complain("the daemon serves us again");
    if (raw_text_of(answer, "lead_state") == "offline" && !options_.ignore_busy)
      context_.console.complain("the lead has gone, so messages wait; when it is back: inbox-poller lead idle");
  }

  bool lost(const Error& why, std::chrono::milliseconds) override {
    if (daemon_ == Daemon::never_there && why.code == "team.absent") {
      if (!std::exchange(waits_for_team_, true)) context_.console.complain(printable(why.message));
      return true;
    }
    if (daemon_ == Daemon::never_there || !may_pass(why.code)) {
      end(context_.fail(Context::advised(why)));
      return false;
    }
    if (!why.message.empty() && std::exchange(daemon_, Daemon::away) == Daemon::there)
      context_.console.complain(printable(why.message) + "; waiting until it serves us again");
    return true;
  }

  void received(const json::object& answer) override {
    const auto messages = objects_of(answer, "messages");
    for (const json::object* message : messages) {
      std::string key = raw_text_of(*message, "message_key");
      // A repeated message keeps its first place; its reader saw the same messages before it.
      if (std::find(held_.begin(), held_.end(), key) == held_.end()) held_.push_back(std::move(key));
    }
    if (messages.empty()) return;
    out_ = received_text(context_, options_.json, answer);
    writable_.await();
  }

  void told(bool all) override {
    if (!all) context_.console.complain("not all of what was written out could be acknowledged: it may come again");
    end_with_input();
  }

  void end_with_input() {
    if (!input_open_ && mail_.unacknowledged() == 0) end(ExitCode::done);
  }

  void write() {
    const std::size_t count = std::min(out_.size() - written_, one_write);
    if (Status written = context_.console.write(std::string_view(out_).substr(written_, count)); !written.ok())
      return reader_is_gone(written.error().message);
    written_ += count;
    if (written_ < out_.size()) return writable_.await();
    if (Status synced = context_.console.sync(); !synced.ok()) return reader_is_gone(synced.error().message);
    out_.clear();
    written_ = 0;
    if (!options_.acks) mail_.acknowledge(std::exchange(held_, {}));
    mail_.wake();
  }

  void read_keys() {
    char bytes[4096];
    const ssize_t count = ::read(context_.console.in(), bytes, sizeof bytes);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return input_.await();
    if (count > 0) {
      keys_.feed(std::string_view(bytes, static_cast<std::size_t>(count)), [&](std::string_view line) { take(line); });
      input_.await();
    } else {
      input_open_ = false;
      take(keys_.take_rest());
    }
    if (keys_.take_left_out() > 0)
      context_.console.complain("a line on the input is too long for a message key: ignored");
    end_with_input();
  }

  /// Acknowledges the message with this key and all messages delivered before it.
  void take(std::string_view line) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (line.empty()) return;
    const auto found = std::find(held_.begin(), held_.end(), line);
    if (found == held_.end())
      return context_.console.complain(printable(line) + ": no message with this key waits for an acknowledgment here");
    mail_.acknowledge({held_.begin(), found + 1});
    held_.erase(held_.begin(), found + 1);
  }

  Context& context_;
  const FollowOptions& options_;
  boost::asio::io_context loop_{1};
  MailStream mail_;
  Signals signals_;
  Descriptor reader_gone_, writable_, input_;
  ExitCode exit_code_ = ExitCode::failed;

  enum class Daemon { never_there, there, away } daemon_ = Daemon::never_there;
  bool waits_for_team_ = false;  // and reported it
  std::string out_;  // bytes that are being written
  std::size_t written_ = 0;
  std::vector<std::string> held_;  // keys of delivered messages without an acknowledgment, in that order
  LineCutter keys_{longest_key};
  bool input_open_ = true;
};

}  // namespace

std::string received_text(const Context& context, bool json, const json::object& answer) {
  if (!json) {
    const std::string block = raw_text_of(answer, "block");
    return context.console.out_is_terminal() ? printable_block(block, "") : block + '\n';
  }
  std::string lines;
  for (const json::object* message : objects_of(answer, "messages"))
    lines += printable_json(json::serialize(*message)) + '\n';
  return lines;
}

ExitCode follow(Context& context, const FollowOptions& options) {
  const Result<std::string> socket = context.socket_path();
  if (!socket) return context.fail(socket.error());
  return Follower(context, options, *socket).run();
}

}  // namespace inbox_poller::poller::cli
