// A Redis of this process's own, on a Unix socket in a folder that goes with it; each test takes a team nobody else has.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "poller/broker/redis_caller.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch.hpp"

namespace inbox_poller::test {

class RedisServer {
 public:
  explicit RedisServer(std::vector<std::string> settings = {"--appendonly", "yes", "--appendfsync", "no"})
      : settings_(std::move(settings)) {
    start();
  }
  ~RedisServer() { kill(); }
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  /// False where there is no redis-server, or the program was built without it: the tests of this file say nothing then.
  [[nodiscard]] bool runs() const { return runs_; }
  [[nodiscard]] config::RedisAddress address(const std::string& team, const std::string& more = "") const {
    auto address = config::parse_redis_address("redis+unix://" + scratch_.path("s").string() + more + "#" + team);
    REQUIRE(address.ok());
    return *address;
  }

  void start() {
    const char* named = std::getenv("INBOX_POLLER_REDIS_SERVER");  // another version, or valkey-server
    const std::string program = named && *named ? named : "redis-server";
    std::vector<std::string> words{program, "--port", "0", "--unixsocket", scratch_.path("s").string(), "--dir",
                                   scratch_.path().string(), "--save", "", "--logfile", scratch_.path("log").string()};
    words.insert(words.end(), settings_.begin(), settings_.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::execvp(arguments[0], arguments.data());
      ::_exit(127);
    }
    poller::RedisCaller redis(address("t", "?accept_risks=redis-not-durable"), std::chrono::seconds(2));
    for (int i = 0; i < 200 && !runs_; ++i) {
      runs_ = redis.call(poller::RedisCommand{"PING"}).ok();
      if (::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
      if (pid_ < 0) break;
    }
    const char* ci = std::getenv("CI");
    if (pid_ < 0 && (program != "redis-server" || std::string_view(ci ? ci : "") == "true")) {
      FAIL(program << " did not start; run deploy/install-deps test, or name another one in INBOX_POLLER_REDIS_SERVER");
    }
  }
  void kill() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    pid_ = -1;
    runs_ = false;
  }

 private:
  ScratchDir scratch_;
  std::vector<std::string> settings_;
  pid_t pid_ = -1;
  bool runs_ = false;
};

/// One for all tests of a process.
inline RedisServer& shared_redis() {
  static RedisServer server;
  return server;
}

inline std::string fresh_team() {
  static int count = 0;
  return "t" + std::to_string(++count);
}

}  // namespace inbox_poller::test
