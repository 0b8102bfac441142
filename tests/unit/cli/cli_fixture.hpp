// For tests of the command line: runs one command in this process against a server that records what it was asked.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "poller/cli/command.hpp"
#include "tests/unit/poller/control/control_fixture.hpp"

namespace inbox_poller::poller::testing {

/// The present of the commands, for texts that tell of a time.
struct StoppedClock {
  StoppedClock() { cli::stop_clock(cli::now_ms()); }
  ~StoppedClock() { cli::stop_clock(0); }
  StoppedClock(const StoppedClock&) = delete;
  StoppedClock& operator=(const StoppedClock&) = delete;
};

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Runs one command line. `out` may name another file to write to, such as /dev/full.
inline Outcome run_cli(const TempDir& dir, const std::vector<std::string>& arguments, const std::string& input = "",
                       std::string out = "", const cli::RunDaemon& run_daemon = {}) {
  if (out.empty()) out = dir / "out";
  std::ofstream(dir / "in", std::ios::binary) << input;
  const Fd in_fd(::open((dir / "in").c_str(), O_RDONLY | O_CLOEXEC));
  const Fd out_fd(::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const Fd err_fd(::open((dir / "err").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  cli::Console console(in_fd.get(), out_fd.get(), err_fd.get());
  Outcome outcome;
  outcome.code = cli::run_command_line(arguments, console, run_daemon);
  if (out == dir / "out") outcome.out = content_of(out);
  outcome.err = content_of(dir / "err");
  return outcome;
}

/// A daemon that gives prepared answers by verb and keeps the requests.
class FakeDaemon {
 public:
  explicit FakeDaemon(const std::string& path)
      : server_(path, {}, [this](boost::json::object request, std::shared_ptr<ControlSession> session) {
          return handle(std::move(request), std::move(session));
        }) {}

  /// The answer to a verb, `"ok": true` added; a refusal when it has a code.
  void prepare(const std::string& verb, boost::json::object answer) {
    const std::lock_guard lock(mutex_);
    answer.emplace("ok", !answer.contains("code"));
    answers_[verb] = std::move(answer);
  }
  std::vector<boost::json::object> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  /// How many connections the requests came over.
  std::size_t sessions() const {
    const std::lock_guard lock(mutex_);
    return sessions_.size();
  }

 private:
  boost::asio::awaitable<boost::json::object> handle(boost::json::object request,
                                                     std::shared_ptr<ControlSession> session) {
    std::string verb(request.at("verb").as_string());
    std::optional<boost::json::object> answer;
    {
      const std::lock_guard lock(mutex_);
      sessions_.insert(session);
      if (const auto found = answers_.find(verb); found != answers_.end()) answer = found->second;
      requests_.push_back(std::move(request));
    }
    while (!answer && !session->closed) {  // not prepared: never answered
      boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, 2ms);
      co_await timer.async_wait(boost::asio::use_awaitable);
    }
    co_return answer.value_or(boost::json::object{});
  }

  mutable std::mutex mutex_;
  std::map<std::string, boost::json::object> answers_;
  std::vector<boost::json::object> requests_;
  std::set<std::shared_ptr<ControlSession>> sessions_;  // kept, so that none is reused
  ServerThread server_;
};

/// Sets a variable of the environment and puts it back.
class EnvironmentVariable {
 public:
  EnvironmentVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;
  ~EnvironmentVariable() {
    if (before_)
      ::setenv(name_, before_->c_str(), 1);
    else
      ::unsetenv(name_);
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace inbox_poller::poller::testing
