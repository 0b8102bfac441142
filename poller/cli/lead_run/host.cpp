#include "poller/cli/lead_run/host.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "schema/ids.hpp"

namespace inbox_poller::poller::cli {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t longest_line = std::size_t{16} << 20;
constexpr std::size_t most_buffered = std::size_t{1} << 20;  // then its writer waits
constexpr std::size_t one_write = 4096;                      // what a pipe takes without blocking once poll() says so
constexpr milliseconds first_pause{100};
constexpr milliseconds longest_pause{1000};
constexpr milliseconds last_words{2000};
constexpr int could_not_start = 1;  // as at the first start
constexpr SteadyTime never = SteadyTime::max();

SteadyTime now() { return std::chrono::steady_clock::now(); }

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return "exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

LeadHost::LeadHost(LeadRunOptions options, std::string socket, std::string team, DaemonLink::Tell tell)
    : options_(std::move(options)),
      tell_(tell),
      signals_({SIGCHLD, SIGTERM, SIGINT, SIGHUP}),
      link_(std::move(socket), std::move(team), std::move(tell)),
      command_(options_.argv),
      from_child_(longest_line),
      from_input_(longest_line) {
  if (!options_.prompts) link_.expect_no_prompts();
}

Result<int> LeadHost::run() {
  if (auto started = start(); !started.ok()) return started.error();
  while (!done()) {
    wait();
    take_signals();
    start_again();
    read_child(false);
    reap();
    tell_deaf();
    read_input();
    write_child();
    step_link();  // behind all that leaves something to be told
    write_output();
  }
  return *exit_code_;
}

/// True when the program has ended for good and everything is said.
bool LeadHost::done() {
  if (!exit_code_) return false;
  if (!leave_at_) leave_at_ = now() + last_words;
  const bool late = now() >= *leave_at_;
  return (late || link_.settled()) && (output_.empty() || !output_open_ || (late && leaving_));
}

void LeadHost::wait() {
  std::vector<pollfd> descriptors;
  const auto add = [&](int fd, short events) { descriptors.push_back({.fd = fd, .events = events, .revents = 0}); };
  add(signals_.descriptor(), POLLIN);
  if (child_ && child_->output.get() >= 0 && output_.size() < most_buffered) add(child_->output.get(), POLLIN);
  if (child_ && child_->input.get() >= 0 && !to_child_.empty()) add(child_->input.get(), POLLOUT);
  if (input_open_ && to_child_bytes_ < most_buffered && !exit_code_) add(STDIN_FILENO, POLLIN);
  if (output_open_ && !output_.empty()) add(STDOUT_FILENO, POLLOUT);
  auto wake = link_.watch(descriptors);
  if (start_at_) wake = std::min(wake, *start_at_);
  if (deaf_at_) wake = std::min(wake, *deaf_at_);
  if (leave_at_ && now() < *leave_at_) wake = std::min(wake, *leave_at_);
  int timeout = -1;
  if (wake != never)
    timeout = static_cast<int>(std::clamp<long long>(std::chrono::ceil<milliseconds>(wake - now()).count(), 0, 60'000));
  ::poll(descriptors.data(), descriptors.size(), timeout);
}

// --- the program's life ---

Status LeadHost::start() {
  auto started = start_companion(command_);
  if (!started) return started.error();
  child_ = *std::move(started);
  run_ = schema::uuid_from(std::to_string(::getpid()) + " " + std::to_string(++runs_) + " " +
                           std::to_string(SystemClock().wall_ms()))
             .substr(0, 8);
  in_turn_ = false;
  if (std::exchange(mid_line_, false)) output_ += '\n';  // what the last one left must not spoil its first line
  link_.report("stream_opens", session_);
  return Done{};
}

void LeadHost::start_again() {
  if (!start_at_ || *start_at_ > now()) return;
  start_at_.reset();
  const auto started = start();
  if (started.ok()) return;
  fail(could_not_start, started.error().message);
  if (exit_code_) tell_(started.error().message);
}

/// One that lives on without its input is told of; one that is ending closes it too.
void LeadHost::tell_deaf() {
  if (!deaf_at_ || *deaf_at_ > now()) return;
  deaf_at_.reset();
  if (!leaving_) tell_("the lead has closed its standard input: until it is started again it gets no messages");
}

void LeadHost::take_signals() {
  for (const int signal : signals_.take())
    if (signal != SIGCHLD) stop(signal);
}

/// Passes the signal on; the program is to end, and gets nothing more from us.
void LeadHost::stop(int signal) {
  leaving_ = true;
  if (child_ && ::kill(-child_->pid, signal) != 0) ::kill(child_->pid, signal);
  if (start_at_) {  // it would have been started again
    start_at_.reset();
    exit_code_ = 128 + signal;
  }
  if (drop_ours() && under_way_) give_back();
}

void LeadHost::give_back() {
  link_.give_back();
  under_way_.reset();
}

void LeadHost::reap() {
  if (!child_) return;
  int status = 0;
  if (::waitpid(child_->pid, &status, WNOHANG) != child_->pid) return;
  read_child(true);  // its last words may say that it took a message
  ended(status);
}

void LeadHost::ended(int status) {
  child_.reset();
  deaf_at_.reset();
  from_child_.clear();
  front_written_ = 0;  // the next one gets a line of somebody else's whole
  drop_ours();
  link_.withdraw_all();
  if (under_way_) give_back();  // it may have read them: they come again, and say so
  link_.report("stream_closes", session_);
  const bool failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  if (failed)
    fail(code, "the lead ended with " + how_it_ended(status));
  else
    exit_code_ = code;
}

/// Arranges for another start, or lets this be the end.
void LeadHost::fail(int code, const std::string& why) {
  if (leaving_ || failures_ >= options_.restarts) {
    exit_code_ = code;
    return;
  }
  start_at_ = now() + std::min(first_pause * (1 << std::min(failures_, 4)), longest_pause);
  ++failures_;
  tell_(why + "; starting it again (" + std::to_string(failures_) + " of " + std::to_string(options_.restarts) +
        " in a row)");
  command_ = options_.argv;
  if (!options_.lines && options_.resume && !session_.empty()) {
    command_.emplace_back("--resume");
    command_.push_back(session_);
  }
}

// --- bytes ---

void LeadHost::read_child(bool at_its_end) {
  if (!child_ || child_->output.get() < 0) return;
  std::array<char, 65536> buffer;
  // Not for ever: what it left running may go on writing. More than a pipe holds, so that nothing of its own is missed.
  for (int reads = 0; reads < (at_its_end ? 64 : 1); ++reads) {
    if (!at_its_end && output_.size() >= most_buffered) return;
    const auto count = ::read(child_->output.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) child_->output = Fd();
    if (count <= 0) return;
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
    output_ += bytes;
    mid_line_ = bytes.back() != '\n';
    if (options_.lines) continue;
    from_child_.feed(bytes, [this](std::string_view line) { take_line(line); });
    if (from_child_.take_left_out() > 0)
      tell_("a line of the lead is longer than 16 MiB: it was passed through, and not understood");
  }
}

void LeadHost::read_input() {
  if (!input_open_ || exit_code_ || to_child_bytes_ >= most_buffered) return;
  pollfd ready{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  if (::poll(&ready, 1, 0) <= 0) return;  // it may be a terminal's, which we leave as it is
  std::array<char, 65536> buffer;
  const auto count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count <= 0) {
    input_open_ = false;
    if (const auto rest = from_input_.take_rest(); !rest.empty()) pass_on(rest);
  } else {
    from_input_.feed({buffer.data(), static_cast<std::size_t>(count)},
                     [this](std::string_view line) { pass_on(line); });
  }
  if (from_input_.take_left_out() > 0) tell_("a line of the input is longer than 16 MiB and was left out");
}

void LeadHost::pass_on(std::string_view line) {
  // First answer wins: ours would be the second.
  if (!options_.lines)
    if (const auto id = schema::answered_request(line); !id.empty()) link_.withdraw(run_ + "-" + id);
  put(std::string(line) + '\n', false);
}

void LeadHost::put(std::string line, bool ours) {
  to_child_bytes_ += line.size();
  to_child_.push_back({std::move(line), ours});
}

/// Takes back what it has not begun to get from us; true when there was something.
bool LeadHost::drop_ours() {
  const auto begun = to_child_.begin() + (front_written_ > 0 ? 1 : 0);
  for (auto line = begun; line != to_child_.end(); ++line)
    if (line->ours) to_child_bytes_ -= line->text.size();
  const auto kept = std::remove_if(begun, to_child_.end(), [](const Line& line) { return line.ours; });
  const bool dropped = kept != to_child_.end();
  to_child_.erase(kept, to_child_.end());
  return dropped;
}

void LeadHost::write_child() {
  while (child_ && child_->input.get() >= 0 && !to_child_.empty()) {
    const auto& line = to_child_.front();
    const auto rest = std::string_view(line.text).substr(front_written_);
    const auto count = ::write(child_->input.get(), rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) {  // it reads no more, so nothing can reach it
      child_->input = Fd();
      deaf_at_ = now() + last_words;
      if (under_way_) give_back();
      return;
    }
    front_written_ += static_cast<std::size_t>(count);
    if (front_written_ < line.text.size()) continue;
    front_written_ = 0;
    to_child_bytes_ -= line.text.size();
    to_child_.pop_front();
  }
  if (child_ && to_child_.empty()) all_written();
}

void LeadHost::write_output() {
  while (output_open_ && !output_.empty()) {
    pollfd ready{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
    if (::poll(&ready, 1, 0) <= 0) return;
    const auto count = ::write(STDOUT_FILENO, output_.data(), std::min(output_.size(), one_write));
    if (count >= 0) {
      output_.erase(0, static_cast<std::size_t>(count));
    } else if (errno == EAGAIN || errno == EINTR) {
      return;
    } else {  // nobody reads it: the program itself would have got SIGPIPE
      output_open_ = false;
      tell_("the output was closed; ending the lead");
      stop(SIGTERM);
    }
  }
  if (!output_open_) output_.clear();
}

}  // namespace inbox_poller::poller::cli
