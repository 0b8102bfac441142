#include "poller/cli/lead_run/supervisor.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "poller/cli/command.hpp"

namespace inbox_poller::poller::cli {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t longest_line = std::size_t{16} << 20;
constexpr std::size_t most_buffered = std::size_t{1} << 20;  // bytes; then the writer waits
constexpr std::size_t one_write = 4096;                      // bytes that a writable pipe takes without blocking
constexpr std::size_t most_messages = 20;                    // a batch
constexpr milliseconds first_pause{100};
constexpr milliseconds longest_pause{1000};
constexpr milliseconds last_words{2000};
/// Losses shorter than this are not reported: a restart, or a connection that the daemon has not seen closing yet.
constexpr milliseconds unremarkable{500};
constexpr int could_not_start = 1;  // as at the first start

SteadyTime now() { return std::chrono::steady_clock::now(); }

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return "exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

LeadSupervisor::LeadSupervisor(LeadRunOptions options, const std::string& socket, std::string team, Tell tell)
    : options_(std::move(options)),
      tell_(std::move(tell)),
      alarm_(loop_),
      mail_(loop_, {socket, std::move(team), "stdin", false, {}}, *this),
      judge_(loop_, socket,
             [this](const Judgment& judgment) {
               talk_.answer(judgment);
               go_on();
             }),
      talk_(options_, mail_, judge_, [this](std::string line) { to_child_.put(std::move(line), true); }, tell_),
      signals_(loop_, {SIGCHLD, SIGTERM, SIGINT, SIGHUP}, [this](int signal) { obey(signal); }),
      from_child_(longest_line),
      input_{{loop_, STDIN_FILENO, Descriptor::Kind::wait_read, [this] { read_input(); }}, LineCutter(longest_line)},
      output_{{loop_, STDOUT_FILENO, Descriptor::Kind::wait_write, [this] { write_output(); }}, {}} {
  life_.command = options_.argv;
}

Result<int> LeadSupervisor::run() {
  std::signal(SIGTTIN, SIG_IGN);  // in the background a key press would stop us, and the mail with us
  TRY(start());
  mail_.start();
  go_on();
  loop_.run();
  return *life_.exit_code;
}

void LeadSupervisor::go_on() {
  start_again();
  tell_deaf();
  talk_.look(now());
  write_child();
  if (takes_batches() && batch_) {
    talk_.deliver(*std::exchange(batch_, std::nullopt));
    write_child();
  }
  mail_.wake();
  done() ? loop_.stop() : wait();
}

/// True when the program has ended for good and all is sent. Late reports are dropped; late output only while leaving.
bool LeadSupervisor::done() {
  if (!life_.exit_code) return false;
  if (!life_.leave_at) life_.leave_at = now() + last_words;
  const bool late = now() >= *life_.leave_at;
  return (late || mail_.settled()) && (output_.bytes.empty() || !output_.open || (late && life_.leaving));
}

void LeadSupervisor::wait() {
  if (child_ && child_->process.output.get() >= 0 && output_.bytes.size() < most_buffered) child_->heard.await();
  if (child_ && child_->process.input.get() >= 0 && !to_child_.empty()) child_->fed.await();
  if (input_.open && to_child_.bytes() < most_buffered && !life_.exit_code) input_.ready.await();
  if (output_.open && !output_.bytes.empty()) output_.ready.await();
  auto wake = SteadyTime::max();
  for (const auto& moment : {life_.start_at, life_.deaf_at, life_.leave_at, talk_.wakes_at()})
    if (moment && *moment > now()) wake = std::min(wake, *moment);
  alarm_.expires_at(wake);
  alarm_.async_wait([this](const boost::system::error_code& canceled) {
    if (!canceled) go_on();
  });
}

// --- The daemon

bool LeadSupervisor::takes_batches() const {
  return child_ && child_->process.input.get() >= 0 && !life_.leaving && !talk_.under_way() &&
         !talk_.rests(now());
}

std::size_t LeadSupervisor::room() const { return takes_batches() && !batch_ ? most_messages : 0; }

void LeadSupervisor::attached(const boost::json::object& answer) {
  if (std::exchange(life_.said_lost, false)) tell_("the daemon serves the lead again");
  const bool permissions = flag_of(answer, "permissions");
  if (permissions && !options_.prompts && !std::exchange(life_.said_no_prompts, true))
    tell_(
        "[lead] permissions is set, and the lead was started without --permission-prompt-tool stdio: it decides by "
        "itself without asking; start it again");
  judge_.served(raw_text_of(answer, "team"), permissions);
}

void LeadSupervisor::received(const boost::json::object& answer) {
  if (objects_of(answer, "messages").empty()) return;
  batch_ = batch_of(answer);
  go_on();
}

bool LeadSupervisor::lost(const Error& why, milliseconds since) {
  judge_.lost();
  batch_.reset();  // the daemon delivers it again
  if (!life_.said_lost && !why.message.empty() && since >= unremarkable) {
    life_.said_lost = true;
    tell_(why.message + "; the lead goes on, and gets its messages when that has changed");
  }
  go_on();  // done() may be true now
  return true;
}

void LeadSupervisor::told(bool) { go_on(); }

// --- The program's life

Status LeadSupervisor::start() {
  TRY(auto started, start_companion(life_.command));
  const int output = started.output.get();
  const int input = started.input.get();
  child_.reset(new Child{std::move(started),
                         {loop_, output, Descriptor::Kind::wait_read, [this] { read_child(false); }},
                         {loop_, input, Descriptor::Kind::wait_write, [this] { go_on(); }}});
  if (std::exchange(output_.mid_line, false)) output_.bytes += '\n';  // ends an incomplete line of the last program
  talk_.begins();
  return Done{};
}

void LeadSupervisor::start_again() {
  if (!life_.start_at || *life_.start_at > now()) return;
  life_.start_at.reset();
  const auto started = start();
  if (started.ok()) return;
  fail(could_not_start, started.error().message);
  if (life_.exit_code) tell_(started.error().message);
}

/// Reports a program that lives on without its input. The delay excludes a program that is just ending.
void LeadSupervisor::tell_deaf() {
  if (!life_.deaf_at || *life_.deaf_at > now()) return;
  life_.deaf_at.reset();
  if (!life_.leaving) tell_("the lead has closed its standard input: until it is started again it gets no messages");
}

void LeadSupervisor::obey(int signal) {
  signal == SIGCHLD ? reap() : stop(signal);
  go_on();
}

/// Passes the signal on. The program gets no more messages.
void LeadSupervisor::stop(int signal) {
  life_.leaving = true;
  if (child_ && ::kill(-child_->process.pid, signal) != 0) ::kill(child_->process.pid, signal);
  if (life_.start_at) {  // a restart was scheduled
    life_.start_at.reset();
    life_.exit_code = 128 + signal;
  }
  if (to_child_.drop_ours() && talk_.under_way()) talk_.requeue();
}

void LeadSupervisor::reap() {
  if (!child_) return;
  int status = 0;
  if (::waitpid(child_->process.pid, &status, WNOHANG) != child_->process.pid) return;
  read_child(true);  // its last output may prove that it received a message
  ended(status);
}

void LeadSupervisor::ended(int status) {
  child_.reset();
  life_.deaf_at.reset();
  from_child_.clear();
  to_child_.begin_again();
  to_child_.drop_ours();
  talk_.ends();
  const bool failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  if (failed)
    fail(code, "the lead ended with " + how_it_ended(status));
  else
    life_.exit_code = code;
}

/// Schedules a restart, or ends the run.
void LeadSupervisor::fail(int code, const std::string& why) {
  if (life_.leaving || life_.failures >= options_.restarts) {
    life_.exit_code = code;
    return;
  }
  life_.start_at = now() + std::min(first_pause * (1 << std::min(life_.failures, 4)), longest_pause);
  ++life_.failures;
  tell_(why + "; starting it again (" + std::to_string(life_.failures) + " of " + std::to_string(options_.restarts) +
        " in a row)");
  life_.command = options_.argv;
  if (!options_.lines && options_.resume && !talk_.session().empty()) {
    life_.command.emplace_back("--resume");
    life_.command.push_back(talk_.session());
  }
}

// --- Bytes

void LeadSupervisor::read_child(bool at_its_end) {
  if (!child_ || child_->process.output.get() < 0) return;
  std::array<char, 65536> buffer;
  // Bounded, because a descendant may go on writing; 64 reads are more than a pipe holds.
  for (int reads = 0; reads < (at_its_end ? 64 : 1); ++reads) {
    if (!at_its_end && output_.bytes.size() >= most_buffered) break;
    const auto count = ::read(child_->process.output.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) child_->process.output = Fd();
    if (count <= 0) break;
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
    if (output_.open) output_.bytes += bytes;
    output_.mid_line = bytes.back() != '\n';
    if (options_.lines) continue;
    from_child_.feed(bytes, [this](std::string_view line) { talk_.heard(line); });
    if (talk_.take_turn_ended()) life_.failures = 0;
    if (from_child_.take_left_out() > 0)
      tell_("a line of the lead is longer than 16 MiB: it was passed through, and not understood");
  }
  if (!at_its_end) go_on();
}

void LeadSupervisor::read_input() {
  if (!input_.open || life_.exit_code || to_child_.bytes() >= most_buffered) return;
  std::array<char, 65536> buffer;
  const auto count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
  if (count > 0) {
    input_.lines.feed({buffer.data(), static_cast<std::size_t>(count)},
                      [this](std::string_view line) { pass_on(line); });
  } else if (count == 0 || (errno != EINTR && errno != EAGAIN)) {
    input_.open = false;
    if (const auto rest = input_.lines.take_rest(); !rest.empty()) pass_on(rest);
  }
  if (input_.lines.take_left_out() > 0) tell_("a line of the input is longer than 16 MiB and was left out");
  go_on();
}

void LeadSupervisor::pass_on(std::string_view line) {
  talk_.passed_on(line);
  to_child_.put(std::string(line) + '\n', false);
}

void LeadSupervisor::write_child() {
  if (!child_ || child_->process.input.get() < 0) return;
  switch (to_child_.write(child_->process.input.get())) {
    case ChildInput::Outcome::full: return;
    case ChildInput::Outcome::written:
      talk_.all_written();
      if (talk_.take_turn_ended()) life_.failures = 0;
      if (life_.leaving) child_->close_input();
      return;
    case ChildInput::Outcome::refused:  // it has closed its input
      child_->close_input();
      life_.deaf_at = now() + last_words;
      if (talk_.under_way()) talk_.requeue();
  }
}

void LeadSupervisor::write_output() {
  if (!output_.open || output_.bytes.empty()) return;
  const auto count = ::write(STDOUT_FILENO, output_.bytes.data(), std::min(output_.bytes.size(), one_write));
  if (count >= 0) {
    output_.bytes.erase(0, static_cast<std::size_t>(count));
  } else if (errno != EAGAIN && errno != EINTR) {  // no reader; the program itself would have got SIGPIPE
    output_.open = false;
    output_.bytes.clear();
    tell_("the output was closed; ending the lead");
    stop(SIGTERM);
  }
  go_on();
}

void ChildInput::put(std::string line, bool ours) {
  bytes_ += line.size();
  lines_.push_back({std::move(line), ours});
}

bool ChildInput::drop_ours() {
  const auto begun = lines_.begin() + (front_written_ > 0 ? 1 : 0);
  for (auto line = begun; line != lines_.end(); ++line)
    if (line->ours) bytes_ -= line->text.size();
  const auto kept = std::remove_if(begun, lines_.end(), [](const Line& line) { return line.ours; });
  const bool dropped = kept != lines_.end();
  lines_.erase(kept, lines_.end());
  return dropped;
}

ChildInput::Outcome ChildInput::write(int descriptor) {
  while (!lines_.empty()) {
    const auto& text = lines_.front().text;
    const auto count = ::write(descriptor, text.data() + front_written_, text.size() - front_written_);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN ? Outcome::full : Outcome::refused;
    front_written_ += static_cast<std::size_t>(count);
    if (front_written_ < text.size()) continue;
    front_written_ = 0;
    bytes_ -= text.size();
    lines_.pop_front();
  }
  return Outcome::written;
}

}  // namespace inbox_poller::poller::cli
