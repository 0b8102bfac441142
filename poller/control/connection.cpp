#include "poller/control/connection.hpp"

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/json.hpp>
#include <utility>

#include "schema/envelope.hpp"
#include "schema/printable.hpp"

namespace inbox_poller::poller {

namespace asio = boost::asio;
using asio::steady_timer;
using boost::system::error_code;

namespace {

/// Returns the process id of the peer, from the kernel; 0 when unknown.
long long peer_pid(int socket) {
#ifdef SO_PEERCRED
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
#else
  pid_t pid = 0;
  socklen_t size = sizeof pid;
  return ::getsockopt(socket, SOL_LOCAL, LOCAL_PEERPID, &pid, &size) == 0 ? pid : 0;
#endif
}

}  // namespace

boost::json::object refusal(std::string_view code, std::string_view message) {
  return {{"ok", false}, {"code", code}, {"message", message}};
}

namespace {

/// Answers up to this size do not use the memory budget: all connections' together are small.
constexpr std::size_t short_answer = 64 * 1024;

std::string as_line(const boost::json::object& answer) {
  std::string line = schema::printable_json(schema::strict_json(answer));  // readers may print it or split it at other
                                                                           // line separators
  if (line.size() > max_answer_bytes)
    line = boost::json::serialize(refusal("answer.too_long", "the answer is longer than 16 MiB: ask for less"));
  return line;
}

}  // namespace

ControlConnection::ControlConnection(Socket socket, const ControlServer::Handler& handler,
                                     const ControlServer::Report& report, const ControlLimits& limits, AnswerRoom& room)
    : socket_(std::move(socket)),
      handler_(handler),
      report_(report),
      limits_(limits),
      answer_room_(room),
      arrival_(socket_.get_executor()),
      room_(socket_.get_executor()),
      write_limit_(socket_.get_executor()) {
  session_->peer = peer_pid(socket_.native_handle());
}

void ControlConnection::start(std::function<void()> ended) {
  ended_ = std::move(ended);
  auto reader_ended = [self = shared_from_this()](std::exception_ptr exception) {
    if (exception) self->report_exception(exception);
    self->peer_is_gone();
  };
  auto answerer_ended = [self = shared_from_this()](std::exception_ptr exception) { self->end(exception); };
  asio::co_spawn(socket_.get_executor(), read(), std::move(reader_ended));
  asio::co_spawn(socket_.get_executor(), answer_all(), std::move(answerer_ended));
}

void ControlConnection::stop() {
  stopping_ = true;
  session_->close();
  arrival_.cancel();
}

std::optional<ControlConnection::Idle> ControlConnection::idle() const {
  error_code ignored;
  const bool has_session = !session_->method.empty() || session_->leased || session_->hook || !session_->on_close.empty();
  if (answering_ || received_.ready() || has_session || stopping_ || no_more_) return std::nullopt;
  Idle idle = idle_;
  idle.has_unread = socket_.available(ignored) > 0;
  return idle;
}

void ControlConnection::give_way() {
  const std::string line = as_line(refusal("control.busy", "other connections needed the place of this idle one: try again")) + '\n';
  error_code ignored;
  socket_.non_blocking(true, ignored);
  socket_.write_some(asio::buffer(line), ignored);
  stop();
}

// Awaited calls below take only named values: g++ 12 destroys some temporaries of a co_await expression twice.

asio::awaitable<void> ControlConnection::read() {
  char chunk[4096];
  for (;;) {
    while (received_.room() == 0 && socket_.is_open()) {
      error_code canceled;
      room_.expires_at(steady_timer::time_point::max());
      co_await room_.async_wait(asio::redirect_error(asio::use_awaitable, canceled));
    }
    const std::size_t room = std::min(sizeof chunk, received_.room());
    error_code problem;
    const std::size_t count =
        co_await socket_.async_read_some(asio::buffer(chunk, room), asio::redirect_error(asio::use_awaitable, problem));
    if (problem) co_return;  // end of file, reset, or closed by us
    received_.add({chunk, count});
    arrival_.cancel();
  }
}

asio::awaitable<void> ControlConnection::answer_all() {
  while (co_await await_line()) {
    const std::optional<std::string> line = received_.take();
    if (!line) {
      std::string too_long = as_line(refusal(code::request_too_long, "a request may be 64 KiB long: closing"));
      co_await write(std::move(too_long));
      co_return;
    }
    room_.cancel();
    answering_ = true;
    co_await answer(*line);
    answering_ = false;
    idle_ = {.has_asked = true};
  }
}

/// True when a line is complete or over the limit; false when the connection must end.
asio::awaitable<bool> ControlConnection::await_line() {
  const auto idle_until = steady_timer::clock_type::now() + limits_.idle;
  std::optional<steady_timer::time_point> line_until;
  for (;;) {
    if (stopping_) co_return false;
    if (received_.ready()) co_return true;
    if (no_more_ || leaving_) co_return false;
    // Count from the first byte, so that slow single bytes do not extend the limit.
    if (!received_.empty() && !line_until) line_until = steady_timer::clock_type::now() + limits_.half_line;
    error_code canceled;
    arrival_.expires_at(line_until.value_or(idle_until));
    co_await arrival_.async_wait(asio::redirect_error(asio::use_awaitable, canceled));
    if (!canceled) co_return false;
  }
}

asio::awaitable<void> ControlConnection::answer(std::string_view line) {
  std::optional<boost::json::object> request = parse_request(line);
  std::string answer_line;
  std::exception_ptr exception;
  if (request) {
    try {
      const boost::json::object answer = co_await handler_(std::move(*request), session_);
      answer_line = as_line(answer);  // frees the object, several times as large, before any wait
    } catch (...) {
      exception = std::current_exception();
    }
  } else {
    answer_line = as_line(refusal("request.invalid", "a request is one JSON object on one line"));
  }
  if (exception) {
    report_exception(exception);
    answer_line =
        as_line(refusal("control.exception", "the daemon failed while it carried this out; its log says more"));
  }
  co_await write(std::move(answer_line));
}

asio::awaitable<void> ControlConnection::write(std::string line) {
  if (mute_) co_return;
  if (line.size() <= short_answer) {
    co_await write_out(std::move(line));
    co_return;
  }
  bool given_up = false;
  std::function<void()> give_up = [this, &given_up] {
    error_code ignored;
    given_up = true;
    socket_.close(ignored);
  };
  const auto ticket = answer_room_.take(line.size(), AnswerRoom::Clock::now(), std::move(give_up));
  if (!ticket) {
    leaving_ = true;  // the leased messages are returned at the end
    line = as_line(refusal("control.busy", "other clients have not read their long answers yet: try again"));
  }
  std::exception_ptr exception;
  try {
    co_await write_out(std::move(line));
  } catch (...) {
    exception = std::current_exception();
  }
  if (ticket && !given_up) answer_room_.release(*ticket);  // also after an exception, unless give_up voided it
  if (exception) std::rethrow_exception(exception);
}

/// Writes nothing after a failure: the peer is gone, and Asio would wait for a readiness that never comes.
asio::awaitable<void> ControlConnection::write_out(std::string line) {
  line += '\n';
  auto give_up = [self = shared_from_this()](const error_code& canceled) {
    error_code ignored;
    if (!canceled) self->socket_.close(ignored);
  };
  write_limit_.expires_after(limits_.write);
  write_limit_.async_wait(std::move(give_up));
  error_code problem;
  co_await asio::async_write(socket_, asio::buffer(line), asio::redirect_error(asio::use_awaitable, problem));
  write_limit_.cancel();
  mute_ = problem.failed();
}

void ControlConnection::peer_is_gone() {
  no_more_ = true;
  session_->close();
  arrival_.cancel();
}

void ControlConnection::end(std::exception_ptr exception) {
  if (exception) report_exception(exception);
  session_->close();
  error_code ignored;
  socket_.close(ignored);
  room_.cancel();
  for (const std::function<void()>& release : std::exchange(session_->on_close, {})) {
    try {
      release();
    } catch (...) {
      report_exception(std::current_exception());
    }
  }
  std::exchange(ended_, {})();
}

void ControlConnection::report_exception(std::exception_ptr exception) const {
  if (!report_) return;
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& e) {
    report_({"control.exception", e.what()});
  } catch (...) {
    report_({"control.exception", "an exception that is not a std::exception"});
  }
}

}  // namespace inbox_poller::poller
