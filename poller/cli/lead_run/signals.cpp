#include "poller/cli/lead_run/signals.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace inbox_poller::poller::cli {
namespace {

volatile sig_atomic_t pipe_end = -1;

void note(int number) {
  const int before = errno;
  const auto byte = static_cast<unsigned char>(number);
  static_cast<void>(!::write(pipe_end, &byte, 1));  // full: there is enough to be read already
  errno = before;
}

Fd non_blocking(int descriptor) {
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  ::fcntl(descriptor, F_SETFL, O_NONBLOCK);
  return Fd(descriptor);
}

}  // namespace

Signals::Signals(const std::vector<int>& numbers) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe(ends.data()) != 0) return;  // then they do what they do by default
  read_end_ = non_blocking(ends[0]);
  write_end_ = non_blocking(ends[1]);
  pipe_end = ends[1];
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int number : numbers) {
    struct sigaction before {};
    if (::sigaction(number, nullptr, &before) != 0 || (before.sa_handler == SIG_IGN && number != SIGCHLD)) continue;
    ::sigaction(number, &action, nullptr);
    before_.emplace_back(number, before);
    sigset_t mine;
    sigemptyset(&mine);
    sigaddset(&mine, number);
    ::pthread_sigmask(SIG_UNBLOCK, &mine, nullptr);  // who started us may have blocked it; then we would wait for ever
  }
}

Signals::~Signals() {
  for (const auto& [number, before] : before_) ::sigaction(number, &before, nullptr);
  pipe_end = -1;
}

std::vector<int> Signals::take() {
  std::vector<int> numbers;
  std::array<unsigned char, 64> buffer{};
  for (;;) {
    const auto count = ::read(read_end_.get(), buffer.data(), buffer.size());
    if (count <= 0) return numbers;
    numbers.insert(numbers.end(), buffer.begin(), buffer.begin() + count);
  }
}

}  // namespace inbox_poller::poller::cli
