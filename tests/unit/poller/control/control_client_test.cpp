// The control socket's client: what it says when the other side is missing, silent, broken or does not speak our
// protocol.
#include "poller/control/client.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/support/catch.hpp"
#include "tests/unit/poller/control/control_fixture.hpp"

namespace inbox_poller::control_client_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::poller::testing;

namespace {

/// Accepts one connection, reads what comes, answers with fixed bytes and closes; or stays silent.
class FixedServer {
 public:
  FixedServer(const std::string& path, std::string answer, bool close_after = true)
      : listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const auto address = control_address(path);
    REQUIRE(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) == 0);
    REQUIRE(::listen(listener_.get(), 1) == 0);
    thread_ = std::thread([this, answer = std::move(answer), close_after] {
      Fd peer(::accept(listener_.get(), nullptr, nullptr));
      char chunk[4096];
      if (::recv(peer.get(), chunk, sizeof chunk, 0) < 0) return;
      std::string_view left = answer;
      while (!left.empty()) {
        const ssize_t count = ::send(peer.get(), left.data(), left.size(), MSG_NOSIGNAL);
        if (count < 0) return;
        left.remove_prefix(static_cast<std::size_t>(count));
      }
      if (!close_after) (void)::recv(peer.get(), chunk, sizeof chunk, 0);
    });
  }
  ~FixedServer() { thread_.join(); }

 private:
  Fd listener_;
  std::thread thread_;
};

std::string problem_with(const std::string& answer, bool close_after = true,
                         std::chrono::milliseconds patience = 200ms) {
  const TempDir dir;
  FixedServer server(dir / "s", answer, close_after);
  auto client = ControlClient::connect(dir / "s");
  REQUIRE(client);
  auto result = client->call({{"verb", "status"}}, patience);
  return result ? "" : result.error().code;
}

}  // namespace

TEST_CASE("no socket, a stale socket and a missing folder all mean that no daemon runs") {
  const TempDir dir;
  { ServerThread server(dir / "s"); }
  for (const std::string& path : {dir / "s", dir / "no/such/folder", dir / "none"}) {
    auto client = ControlClient::connect(path);
    REQUIRE_FALSE(client);
    CHECK(client.error().code == code::no_daemon);
    CHECK(client.error().message.find(path) != std::string::npos);
  }
}

TEST_CASE("a path that is too long is another problem than a daemon that is not there") {
  auto client = ControlClient::connect("/tmp/" + std::string(200, 'x'));
  REQUIRE_FALSE(client);
  CHECK(client.error().code == code::bad_path);
}

TEST_CASE("a socket that this user may not use is another problem than a daemon that is not there") {
  const TempDir dir;
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto address = control_address(dir / "s");
  REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) == 0);
  ::chmod((dir / "s").c_str(), 0);
  ::chmod(dir.path().c_str(), 0755);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(2);  // root may use every socket
    const auto client = ControlClient::connect(dir / "s");
    ::_exit(!client && client.error().code == "io.EACCES" ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("a process without descriptors is told so, and not ended by an exception") {
  const TempDir dir;
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const int next = ::dup(0);
  REQUIRE(next >= 0);
  ::close(next);
  std::vector<std::string> codes;
  for (unsigned more = 0; more < 8; ++more) {
    rlimit few = before;
    few.rlim_cur = static_cast<rlim_t>(next) + more;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    std::string code;
    try {
      const auto client = ControlClient::connect(dir / "none");
      code = client ? "" : client.error().code;
    } catch (const std::exception& problem) {
      code = std::string("exception: ") + problem.what();
    }
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
    codes.push_back(code);
  }
  CHECK(codes.front() == "io.EMFILE");
  CHECK(codes.back() == "control.no_daemon");
  for (const auto& code : codes) CHECK((code == "io.EMFILE" || code == "control.no_daemon"));
}

TEST_CASE("one connection carries several requests") {
  const TempDir dir;
  ServerThread server(dir / "s");
  auto client = ControlClient::connect(dir / "s");
  REQUIRE(client);
  for (int n = 0; n < 3; ++n) {
    auto answer = client->call({{"verb", "echo"}, {"n", n}});
    REQUIRE(answer);
    CHECK(answer->at("echo") == n);
  }
}

TEST_CASE("a request over the limit is not even sent") {
  const TempDir dir;
  ServerThread server(dir / "s");
  auto client = ControlClient::connect(dir / "s");
  REQUIRE(client);
  auto answer = client->call({{"verb", "echo"}, {"text", std::string(max_request_bytes, 'x')}});
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == code::request_too_long);
  CHECK(server.handled == 0);
}

TEST_CASE("a silent daemon runs out of patience, a broken one is called broken") {
  CHECK(problem_with("", false) == code::timeout);
  CHECK(problem_with("{\"ok\":tr", false) == code::timeout);
  CHECK(problem_with("", false, 0ms) == code::timeout);  // over before the first operation began
  CHECK(problem_with("") == code::broken);
  CHECK(problem_with("{\"ok\":tr") == code::broken);
  CHECK(problem_with("HTTP/1.1 400 Bad Request\n") == code::broken);
  CHECK(problem_with("[]\n") == code::broken);
  CHECK(problem_with("{\"ok\":true}\n").empty());
  CHECK(problem_with("{\"path\":\"\xff\"}\n").empty());  // a path may hold any byte
}

TEST_CASE("an answer without an end is not collected for ever") {
  CHECK(problem_with(std::string(max_answer_bytes + 100'000, 'x'), true, 30s) == code::broken);
}

TEST_CASE("a refusal that came before the request was sent is read") {
  const TempDir dir;
  ControlLimits none;
  none.connections = 0;
  ServerThread server(dir / "s", none);
  auto client = ControlClient::connect(dir / "s");
  REQUIRE(client);
  REQUIRE(eventually([&] { return !server.problems().empty(); }));
  std::this_thread::sleep_for(20ms);  // clock: either order has to end alike; mostly the server's end is closed: sending fails now
  auto answer = client->call({{"verb", "echo"}});
  REQUIRE(answer);
  CHECK(answer->at("code") == "control.busy");
}

}  // namespace inbox_poller::control_client_test
