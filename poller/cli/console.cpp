#include "poller/cli/console.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>

namespace inbox_poller::poller::cli {

namespace {

Error system_error(const char* code, std::string_view doing) {
  return {code, std::string(doing) + ": " + std::strerror(errno)};
}

bool wants_color(int fd) {
  const char* refused = std::getenv("NO_COLOR");
  const char* kind = std::getenv("TERM");
  return ::isatty(fd) != 0 && (refused == nullptr || *refused == '\0') && kind != nullptr &&
         std::string_view(kind) != "dumb";
}

}  // namespace

Status write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {  // another process made the terminal non-blocking
      pollfd wait{.fd = fd, .events = POLLOUT, .revents = 0};
      ::poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      return system_error("io.write", "writing the result");
    }
  }
  return Done{};
}

Console::Console(int in, int out, int err)
    : in_(in), out_(out), err_(err), terminal_(::isatty(out) != 0), color_(wants_color(out)) {}

Status Console::write(std::string_view text) { return write_all(out_, text); }

Status Console::sync() {
  if (::fsync(out_) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS) return Done{};  // pipe, terminal
  return system_error("io.write", "bringing the result to the disk");
}

void Console::complain(std::string_view text) { explain("inbox-poller: " + std::string(text) + '\n'); }

void Console::explain(std::string_view text) { static_cast<void>(write_all(err_, text).ok()); }

Status Console::write_error(std::string_view text) { return write_all(err_, text); }

Result<Console::Beginning> Console::read_beginning(std::size_t most, std::chrono::milliseconds within) {
  const auto until = std::chrono::steady_clock::now() + within;
  Beginning beginning;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
    pollfd input{.fd = in_, .events = POLLIN, .revents = 0};
    const int ready = left > 0 ? ::poll(&input, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return system_error("io.read", "waiting for the input");
    if (ready == 0) return Error{"input.open", "the input did not end in time"};
    char chunk[16384];
    const ssize_t count = ::read(in_, chunk, sizeof chunk);
    if (count == 0) return beginning;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("io.read", "reading the input");
    const auto size = static_cast<std::size_t>(count);
    const std::size_t kept = std::min(size, most - beginning.text.size());
    beginning.text.append(chunk, kept);
    beginning.is_cut = beginning.is_cut || kept < size;
  }
}

Result<std::string> Console::read_all(std::size_t most) {
  std::string text;
  for (;;) {
    char chunk[16384];
    const ssize_t count = ::read(in_, chunk, sizeof chunk);
    if (count == 0) return text;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("io.read", "reading the input");
    text.append(chunk, static_cast<std::size_t>(count));
    if (text.size() > most)
      return Error{"request.too_long", "the input is longer than " + std::to_string(most) + " bytes"};
  }
}

Result<std::string> Console::read_line() {
  char line[256];
  ssize_t count = 0;
  do count = ::read(in_, line, sizeof line);
  while (count < 0 && errno == EINTR);
  if (count <= 0) return Error{"input.ended", "the input ended"};
  return std::string(line, std::find(line, line + count, '\n'));
}

bool Console::confirm(std::string_view question) {
  if (::isatty(in_) == 0) return false;
  explain(std::string(question) + " [y/N] ");
  const auto answer = read_line();
  return answer && (answer->starts_with('y') || answer->starts_with('Y'));
}

int Console::columns() const {
  winsize size{};
  return terminal_ && ::ioctl(out_, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string Console::fit(std::string text) const {
  const int most = columns();
  if (most == 0) return text;
  std::string out;
  for (const std::string& line : wrapped(text, std::numeric_limits<int>::max(), "")) {
    const bool command = line.starts_with("    inbox-poller ");
    for (const std::string& part : command ? std::vector{line} : wrapped(line, most, goes_on)) out += part + '\n';
    if (line.empty()) out += '\n';
  }
  return out;
}

std::string Console::painted(std::string_view attributes, std::string_view text) const {
  if (!color_) return std::string(text);
  return "\x1b[" + std::string(attributes) + 'm' + std::string(text) + "\x1b[0m";
}

std::string span_text(long long ms) {
  const long long seconds = std::max(ms, 0LL) / 1000;
  const auto pair = [](long long big, const char* big_unit, long long small, const char* small_unit) {
    return std::to_string(big) + big_unit + (small > 0 ? ' ' + std::to_string(small) + small_unit : std::string());
  };
  if (seconds < 60) return std::to_string(seconds) + 's';
  if (seconds < 3600) return pair(seconds / 60, "m", seconds < 600 ? seconds % 60 : 0, "s");
  if (seconds < 86400) return pair(seconds / 3600, "h", seconds / 60 % 60, "m");
  return pair(seconds / 86400, "d", seconds / 3600 % 24, "h");
}

namespace {

std::string local_time(long long epoch_ms, const char* format) {
  const auto seconds = static_cast<std::time_t>(epoch_ms / 1000);
  std::tm local{};
  char text[32] = "?";
  if (::localtime_r(&seconds, &local) != nullptr) std::strftime(text, sizeof text, format, &local);
  return text;
}

}  // namespace

std::string time_text(long long epoch_ms) { return local_time(epoch_ms, "%Y-%m-%d %H:%M:%S"); }

std::string brief_time_text(long long epoch_ms, long long now_ms) {
  const std::string day = local_time(epoch_ms, "%Y-%m-%d");
  const std::string today = local_time(now_ms, "%Y-%m-%d");
  if (day == today) return local_time(epoch_ms, "%H:%M:%S");
  return day.substr(0, 4) == today.substr(0, 4) ? local_time(epoch_ms, "%m-%d %H:%M") : day;
}

}  // namespace inbox_poller::poller::cli
