#include "poller/cli/loop.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>

namespace inbox_poller::poller::cli {

namespace asio = boost::asio;
using boost::system::error_code;

struct Descriptor::State {
  asio::posix::stream_descriptor descriptor;
  Kind kind;
  std::function<void()> ready;
  bool waits = false;
  bool over = false;

  /// Checks again, because the data may be gone: typed input may have been discarded meanwhile.
  [[nodiscard]] bool is_ready() {
    if (kind == Kind::wait_error) return true;
    pollfd look{.fd = descriptor.native_handle(),
                .events = static_cast<short>(kind == Kind::wait_read ? POLLIN : POLLOUT),
                .revents = 0};
    return ::poll(&look, 1, 0) > 0;
  }
};

Descriptor::Descriptor(asio::io_context& loop, int descriptor, Kind kind, std::function<void()> ready)
    : state_(new State{asio::posix::stream_descriptor(loop), kind, std::move(ready)}) {
  error_code closed;  // a closed descriptor is never ready
  state_->descriptor.assign(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0), closed);
}

void Descriptor::close() {
  error_code ignored;
  state_->over = true;
  state_->descriptor.close(ignored);
}

void Descriptor::await() {
  if (!std::exchange(state_->waits, true)) wait(state_);
}

void Descriptor::wait(const std::shared_ptr<State>& state) {
  const int before = ::fcntl(state->descriptor.native_handle(), F_GETFL);
  state->descriptor.async_wait(state->kind, [state](const error_code& problem) {
    const bool always_ready = problem == asio::error::operation_not_supported && state->kind != Kind::wait_error;
    if (state->over || (problem && !always_ready)) return;
    if (!problem && !state->is_ready()) return wait(state);
    state->waits = false;
    state->ready();
  });
  // Asio sets O_NONBLOCK for the wait, which affects every process that shares the open file.
  if (before >= 0) ::fcntl(state->descriptor.native_handle(), F_SETFL, before);
}

Signals::Signals(asio::io_context& loop, std::initializer_list<int> numbers, std::function<void(int)> came)
    : set_(loop), came_(std::move(came)) {
  for (const int number : numbers) {
    struct sigaction before {};
    if (::sigaction(number, nullptr, &before) != 0 || (before.sa_handler == SIG_IGN && number != SIGCHLD)) continue;
    set_.add(number);
    sigset_t mine;
    sigemptyset(&mine);
    sigaddset(&mine, number);
    ::pthread_sigmask(SIG_UNBLOCK, &mine, nullptr);  // the parent may have blocked it, and then it would never arrive
  }
  listen();
}

void Signals::listen() {
  set_.async_wait([this](const error_code& problem, int number) {
    if (problem) return;
    came_(number);
    listen();
  });
}

}  // namespace inbox_poller::poller::cli
