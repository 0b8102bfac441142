#include "poller/delivery/sinks.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>

#include "poller/filesystem.hpp"
#include "schema/envelope.hpp"
#include "schema/json_scan.hpp"
#include "schema/teammate_message.hpp"

extern char** environ;  // NOLINT: POSIX declares it nowhere

namespace inbox_poller::poller {
namespace asio = boost::asio;
namespace {

std::string cut(std::string text, std::size_t limit) {
  if (text.size() <= limit) return text;
  std::size_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // not inside a UTF-8 sequence
  const auto whole = text.size();
  text.resize(end);
  return text + "\n[cut: " + std::to_string(end) + " of " + std::to_string(whole) +
         " bytes shown; the whole message is in the ledger: inbox-poller trace]";
}

/// A child with the read end of a pipe as its standard input and nothing else of ours.
struct Child {
  pid_t pid = -1;
  Fd input;
};

Status start(const std::vector<std::string>& arguments, const std::string& team, Child& child) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return io_error(errno, "making a pipe for", arguments[0]);
  const Fd read_end(ends[0]);
  child.input = Fd(ends[1]);
  for (const int fd : ends) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, read_end.get(), STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);  // its own group, so that a time-out ends its children too
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);

  std::vector<char*> argv;
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::string variable = "INBOX_POLLER_TEAM=" + team;
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  environment.push_back(variable.data());
  environment.push_back(nullptr);

  const int failed = posix_spawn(&child.pid, argv[0], &actions, &attributes, argv.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return io_error(failed, "starting", arguments[0]);
  return Done{};
}

/// Writes what fits; closes the pipe when all is written or the child stopped reading.
void feed(Fd& pipe, std::string_view& rest) {
  while (pipe.get() >= 0) {
    if (rest.empty()) return static_cast<void>(pipe = Fd());
    const auto n = ::write(pipe.get(), rest.data(), rest.size());
    if (n > 0) {
      rest.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN || errno == EINTR) {
      return;
    } else {
      pipe = Fd();
    }
  }
}

Status judge_exit(const std::string& program, int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return Done{};
  const auto how = WIFEXITED(status) ? "exit code " + std::to_string(WEXITSTATUS(status))
                                     : "signal " + std::to_string(WTERMSIG(status));
  return Error{"sink.exec",
               "delivery.exec: " + program + " ended with " + how + ": the batch is kept and offered again"};
}

}  // namespace

OutgoingMessage outgoing(const MessageRow& row, const schema::Roster& roster, config::Bytes limit) {
  OutgoingMessage message;
  message.id = row.id;
  message.key = row.key;
  message.from = row.sender;
  message.timestamp = row.timestamp;
  message.type = row.type;
  message.received_ms = row.received_ms;
  message.attempts = row.attempts;
  if (const auto envelope = schema::decode_envelope(row.entry)) {
    message.summary = envelope->summary.value_or("");
    message.text = cut(envelope->text, static_cast<std::size_t>(limit.count));
  }
  if (const auto* member = roster.find(row.sender)) message.color = member->color;
  return message;
}

std::string json_line(const OutgoingMessage& m) {
  using schema::quote;
  return "{\"message_key\":" + quote(m.key.value) + ",\"from\":" + quote(m.from) + ",\"color\":" + quote(m.color) +
         ",\"summary\":" + quote(m.summary) + ",\"timestamp\":" + quote(m.timestamp) + ",\"type\":" + quote(m.type) +
         ",\"text\":" + quote(m.text) + ",\"received_ms\":" + std::to_string(m.received_ms) +
         ",\"attempts\":" + std::to_string(m.attempts) + "}";
}

std::string block(const std::vector<OutgoingMessage>& messages) {
  std::vector<schema::TeammateMessage> blocks;
  blocks.reserve(messages.size());
  for (const auto& message : messages) {
    std::string text = message.text;
    if (message.attempts > 1) text = "[may be a repeat: message " + message.key.value + " was offered before]\n" + text;
    blocks.push_back({message.from, message.color, message.summary, std::move(text)});
  }
  return schema::render(blocks);
}

asio::awaitable<Status> deliver_exec(const config::ExecSink& sink, const std::string& team, std::string input) {
  Child child;
  if (auto started = start(sink.argv, team, child); !started) co_return started.error();
  asio::steady_timer timer(co_await asio::this_coro::executor);
  const auto deadline = std::chrono::steady_clock::now() + sink.timeout;
  std::string_view rest = input;
  bool killed = false;
  for (;;) {
    feed(child.input, rest);
    int status = 0;
    if (::waitpid(child.pid, &status, WNOHANG) == child.pid) {
      if (!killed) co_return judge_exit(sink.argv[0], status);
      co_return Error{"sink.exec", "delivery.exec: " + sink.argv[0] + " took longer than " +
                                       std::to_string(sink.timeout.count()) + " ms and was ended: the batch is kept"};
    }
    if (!killed && std::chrono::steady_clock::now() >= deadline) {
      ::kill(-child.pid, SIGKILL);
      killed = true;
    }
    timer.expires_after(std::chrono::milliseconds(10));
    co_await timer.async_wait(asio::use_awaitable);
  }
}

Status deliver_file(FileSystem& files, const std::string& path, const std::vector<OutgoingMessage>& messages) {
  const auto file = files.open_append(absolute, path);
  if (!file) return in_context("delivery.file", file.error());
  // Starts a line of its own even where an earlier batch broke off half way.
  std::string lines = file->stat.size == 0 ? "" : "\n";
  for (const auto& message : messages) lines += json_line(message) + "\n";
  if (auto written = files.append(*file, lines); !written) return in_context("delivery.file", written.error());
  if (auto synced = files.sync(*file); !synced) return in_context("delivery.file", synced.error());
  return Done{};
}

}  // namespace inbox_poller::poller
