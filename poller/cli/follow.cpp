#include "poller/cli/follow.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <csignal>
#include <deque>
#include <optional>

#include "poller/cli/lead_run/line_cutter.hpp"
#include "poller/cli/lead_run/signals.hpp"
#include "poller/cli/printable.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr std::size_t most_held = 1000;   // not acknowledged yet; then we ask for no more
constexpr std::size_t longest_key = 256;  // of a line on the standard input
constexpr std::size_t one_write = 512;    // POSIX: a pipe that takes anything takes so much without blocking
constexpr milliseconds one_wait = std::chrono::hours(1);
constexpr milliseconds look_again{250};

/// A daemon that starts, or whose disk is full for a while, may answer so: worth trying again once we were served.
bool may_pass(const std::string& code) {
  return code == "team.unknown" || code.starts_with("control.") || code.starts_with("ledger.");
}

class Follower {
 public:
  Follower(Context& context, const FollowOptions& options)
      : context_(context),
        options_(options),
        team_(context.team),
        after_(options.after),
        signals_({SIGINT, SIGTERM, SIGHUP}) {}

  ExitCode run() {
    for (;;) {
      if (!mail_ && steady_clock::now() >= again_at_) connect();
      if (mail_) ask();
      if (!over_ && !input_open_ && taken_.empty() && telling_.empty()) over_ = ExitCode::done;
      if (over_) return *over_;
      wait();
    }
  }

 private:
  enum class Mail { attaching, ready, receiving };

  json::object request(std::string_view verb) const {
    json::object request{{"verb", verb}};
    if (!team_.empty()) request["team"] = team_;
    return request;
  }

  void connect() {
    Result<std::string> path = context_.socket_path();
    if (!path) return lose(path.error());
    Result<ControlClient> client =
        served_ ? ControlClient::connect(*path, std::chrono::seconds(1)) : context_.connect();
    if (!client) return lose(client.error());
    mail_.emplace(std::move(*client));
    json::object attach = request("attach");
    attach["rung"] = "socket";
    state_ = Mail::attaching;
    if (Status posted = mail_->post(attach); !posted.ok()) lose(posted.error());
  }

  /// What can be asked now. More messages only when all that was taken is recorded: what the last connection was lent
  /// must not come again over this one.
  void ask() {
    if (state_ == Mail::attaching) return;
    if (!taken_.empty() && !side_) tell();
    const bool settled = taken_.empty() && telling_.empty();
    if (!mail_ || state_ != Mail::ready || !settled || !out_.empty() || !input_open_ || held_.size() >= most_held)
      return;
    json::object recv = request("recv");
    recv["max"] = std::min<std::size_t>(static_cast<std::size_t>(options_.max), most_held - held_.size());
    recv["wait_ms"] = one_wait.count();
    recv["even_busy"] = options_.even_busy;
    if (!after_.empty()) recv["acked"] = after_;
    state_ = Mail::receiving;
    if (Status posted = mail_->post(recv); !posted.ok()) lose(posted.error());
  }

  /// Acknowledges over a connection of its own: on the other one it would wait behind a waiting recv.
  void tell() {
    Result<std::string> path = context_.socket_path();
    if (!path) return lose(path.error());
    Result<ControlClient> client = ControlClient::connect(*path, std::chrono::seconds(1));
    if (!client) return lose(client.error());
    side_.emplace(std::move(*client));
    while (!taken_.empty() && telling_.size() < most_held) {
      telling_.push_back(std::move(taken_.front()));
      taken_.pop_front();
    }
    json::object ack = request("ack");
    ack["keys"] = json::array(telling_.begin(), telling_.end());
    if (Status posted = side_->post(ack); !posted.ok()) lose(posted.error());
  }

  /// The daemon went away, or cannot serve us now. What it was not told is told to the next one first.
  void lose(const Error& why) {
    mail_.reset();
    side_.reset();
    taken_.insert(taken_.begin(), telling_.begin(), telling_.end());
    if (!telling_.empty()) told_before_ = true;
    telling_.clear();
    if (!served_ || !may_pass(why.code)) {
      over_ = context_.fail(why);
      return;
    }
    if (!waiting_) context_.console.complain(printable(why.message) + "; waiting until it serves us again");
    waiting_ = true;
    again_at_ = steady_clock::now() + look_again;
  }

  void wait() {
    const int ours = context_.console.out();
    std::vector<pollfd> wanted{{signals_.descriptor(), POLLIN, 0},
                               {ours, static_cast<short>(out_.empty() ? 0 : POLLOUT), 0},
                               {options_.acks && input_open_ ? context_.console.in() : -1, POLLIN, 0},
                               {side_ ? side_->descriptor() : -1, events_of(side_), 0},
                               {mail_ ? mail_->descriptor() : -1, events_of(mail_), 0}};
    int timeout = -1;
    if (!mail_) {
      const auto left = std::chrono::ceil<milliseconds>(again_at_ - steady_clock::now()).count();
      timeout = static_cast<int>(std::clamp<long long>(left, 0, 1000));
    }
    if (::poll(wanted.data(), static_cast<nfds_t>(wanted.size()), timeout) < 0)
      return;  // a signal: looked at next time
    if (wanted[0].revents != 0 && !signals_.take().empty()) return leave();
    if ((wanted[1].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0)
      return reader_is_gone("nobody reads the output any more");
    if (wanted[1].revents != 0) write();
    if (wanted[2].revents != 0) read_keys();
    if (wanted[3].revents != 0 && side_) read_side();
    if (wanted[4].revents != 0 && mail_) read_mail();
  }

  static short events_of(const std::optional<ControlClient>& client) {
    return static_cast<short>(client && client->unsent() ? POLLIN | POLLOUT : POLLIN);
  }

  void leave() {
    if (!taken_.empty() || !telling_.empty())
      context_.console.complain("left before " + std::to_string(taken_.size() + telling_.size()) +
                                " acknowledgements were taken: those messages may come again");
    over_ = ExitCode::done;
  }

  void reader_is_gone(const std::string& why) {
    context_.console.complain(why + "; what was not acknowledged will come again");
    over_ = ExitCode::failed;
  }

  void write() {
    const std::size_t count = std::min(out_.size() - written_, one_write);
    if (Status written = context_.console.write(std::string_view(out_).substr(written_, count)); !written.ok())
      return reader_is_gone(written.error().message);
    written_ += count;
    if (written_ < out_.size()) return;
    if (Status synced = context_.console.sync(); !synced.ok()) return reader_is_gone(synced.error().message);
    out_.clear();
    written_ = 0;
    if (options_.acks) return;
    taken_.insert(taken_.end(), held_.begin(), held_.end());
    held_.clear();
  }

  void read_keys() {
    char bytes[4096];
    const ssize_t count = ::read(context_.console.in(), bytes, sizeof bytes);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (count > 0) {
      keys_.feed(std::string_view(bytes, static_cast<std::size_t>(count)), [&](std::string_view line) { take(line); });
    } else {
      input_open_ = false;
      take(keys_.take_rest());
    }
    if (keys_.take_left_out() > 0)
      context_.console.complain("a line on the input is too long for a message key: ignored");
  }

  /// The message with this key, and all that were handed out before it, have arrived.
  void take(std::string_view line) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (line.empty()) return;
    const auto found = std::find(held_.begin(), held_.end(), line);
    if (found == held_.end())
      return context_.console.complain(printable(line) +
                                       ": no message with this key waits for an acknowledgement here");
    taken_.insert(taken_.end(), held_.begin(), found + 1);
    held_.erase(held_.begin(), found + 1);
  }

  void read_side() {
    Result<std::optional<json::object>> answer = side_->take();
    if (!answer) return lose(answer.error());
    if (!*answer) return;
    if (!flag_of(**answer, "ok")) return lose({raw_text_of(**answer, "code"), raw_text_of(**answer, "message")});
    // Told twice, they may be known already.
    if (number_of(**answer, "acknowledged") < static_cast<long long>(telling_.size()) && !told_before_)
      context_.console.complain("not all of what was written out could be acknowledged: it may come again");
    side_.reset();
    telling_.clear();
    told_before_ = false;
  }

  void read_mail() {
    Result<std::optional<json::object>> answer = mail_->take();
    if (!answer) return lose(answer.error());
    if (!*answer) return;
    if (!flag_of(**answer, "ok")) return lose({raw_text_of(**answer, "code"), raw_text_of(**answer, "message")});
    if (state_ == Mail::receiving) return received(**answer);
    state_ = Mail::ready;
    served_ = true;
    team_ = raw_text_of(**answer, "team");  // the same one after a restart, however many there are then
    if (waiting_) context_.console.complain("the daemon serves us again");
    waiting_ = false;
    if (raw_text_of(**answer, "lead_state") == "gone" && !options_.even_busy)
      context_.console.complain("the lead has gone, so messages wait; when it is back: inbox-poller lead idle");
  }

  void received(const json::object& answer) {
    state_ = Mail::ready;
    after_.clear();
    const auto messages = objects_of(answer, "messages");
    for (const json::object* message : messages) {
      std::string key = raw_text_of(*message, "message_key");
      // A repeat keeps its first place: what its reader may have seen by then is the same.
      if (std::find(held_.begin(), held_.end(), key) == held_.end()) held_.push_back(std::move(key));
    }
    if (!messages.empty()) out_ = received_text(context_, options_.json, answer);
  }

  Context& context_;
  const FollowOptions& options_;
  std::string team_;
  std::string after_;  // until the daemon was told
  Signals signals_;
  std::optional<ExitCode> over_;

  std::optional<ControlClient> mail_;  // stands at the rung; what it was given goes back when it closes
  Mail state_ = Mail::attaching;
  std::optional<ControlClient> side_;  // one acknowledgement
  bool served_ = false;                // once we were
  bool waiting_ = false;               // for the daemon, and that was said
  steady_clock::time_point again_at_{};

  std::string out_;  // being written
  std::size_t written_ = 0;
  std::vector<std::string> held_;     // handed out and not acknowledged, in that order
  std::deque<std::string> taken_;     // to be acknowledged
  std::vector<std::string> telling_;  // being acknowledged
  bool told_before_ = false;          // some of those that are to be told were told to a daemon that did not answer
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

ExitCode follow(Context& context, const FollowOptions& options) { return Follower(context, options).run(); }

}  // namespace inbox_poller::poller::cli
