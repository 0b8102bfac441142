// The control socket's server against real sockets: framing, limits, hostile and careless peers, whose socket file it
// is.
#include "poller/control/server.hpp"

#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <boost/json.hpp>
#include <fstream>

#include "poller/control/answer_room.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/poller/control/control_fixture.hpp"

namespace inbox_poller::control_server_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::poller::testing;

namespace {

std::string echo(int n) { return R"({"verb":"echo","n":)" + std::to_string(n) + "}\n"; }
std::string echoed(int n) { return R"({"ok":true,"echo":)" + std::to_string(n) + "}"; }

std::string code_of(const std::string& line) {
  boost::system::error_code problem;
  const boost::json::value value = boost::json::parse(line, problem);
  if (problem || !value.is_object() || !value.get_object().contains("code")) return line;
  return std::string(value.at("code").as_string());
}

unsigned mode_of(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 ? info.st_mode & 07777U : 0U;
}

std::string bind_problem(const std::string& path) {
  boost::asio::io_context context;
  auto server = ControlServer::bind(context.get_executor(), path, {});
  return server ? "" : server.error().code + ": " + server.error().message;
}

/// Leaves a socket file behind on which nobody listens, as a killed daemon does.
void leave_stale_socket(const std::string& path) {
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto address = control_address(path);
  REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) == 0);
}

}  // namespace

TEST_CASE("one line in, one line out, in order, also when the bytes come one by one") {
  const TempDir dir;
  ServerThread server(dir / "s");
  Peer peer(dir / "s");
  for (const char byte : echo(1)) REQUIRE(peer.send({&byte, 1}));
  CHECK(peer.line() == echoed(1));
  REQUIRE(peer.send(echo(2) + "  " + echo(3).substr(0, 5)));
  REQUIRE(peer.send(echo(3).substr(5)));
  CHECK(peer.line() == echoed(2));
  CHECK(peer.line() == echoed(3));
}

TEST_CASE("a thousand requests sent at once are answered in order") {
  const TempDir dir;
  ServerThread server(dir / "s");
  Peer peer(dir / "s");
  std::thread sender([&] {
    std::string all;
    for (int n = 0; n < 1000; ++n) all += echo(n);
    peer.send(all);
  });
  for (int n = 0; n < 1000; ++n) REQUIRE(peer.line() == echoed(n));
  sender.join();
}

TEST_CASE("requests are carried out although their sender left without waiting for the answers") {
  const TempDir dir;
  ServerThread server(dir / "s");
  Peer peer(dir / "s");
  std::string all;
  for (int n = 0; n < 100; ++n) all += echo(n);
  REQUIRE(peer.send(all));
  peer.close();
  CHECK(eventually([&] { return server.handled == 100; }));
}

TEST_CASE("a peer that only closes its sending side still gets its answers") {
  const TempDir dir;
  ServerThread server(dir / "s");
  Peer peer(dir / "s");
  REQUIRE(peer.send(echo(1) + echo(2)));
  peer.close_sending();
  CHECK(peer.line() == echoed(1));
  CHECK(peer.line() == echoed(2));
  CHECK(peer.line() == "(end)");
}

TEST_CASE("what is not a JSON object is refused by name and the connection goes on") {
  const TempDir dir;
  ServerThread server(dir / "s");
  Peer peer(dir / "s");
  const std::vector<std::string> garbage = {"hello",
                                            "",
                                            "[1]",
                                            "{\"verb\":",
                                            "null",
                                            std::string("\0\xff\x1b", 3),
                                            "{} {}",
                                            std::string(5000, '['),
                                            R"({"verb":"\ud800"})"};
  for (const std::string& line : garbage) {
    INFO(line);
    REQUIRE(peer.send(line + "\n"));
    CHECK(code_of(peer.line()) == "request.invalid");
  }
  REQUIRE(peer.send(echo(7)));
  CHECK(peer.line() == echoed(7));
  CHECK(server.handled == 1);
}

TEST_CASE("a line of exactly 64 KiB is taken, one byte more is refused and closes the connection") {
  constexpr std::size_t most = std::size_t{64} << 10;  // docs/reference/control.md
  const TempDir dir;
  ServerThread server(dir / "s");
  std::string request = R"({"verb":"echo","n":1,"fill":""})";
  request.insert(request.size() - 2, std::string(most - request.size(), 'x'));

  Peer exact(dir / "s");
  REQUIRE(exact.send(request + "\n" + echo(2)));
  CHECK(exact.line() == echoed(1));
  CHECK(exact.line() == echoed(2));

  Peer longer(dir / "s");
  longer.send(" " + request + "\n");
  CHECK(code_of(longer.line()) == "request.too_long");
  CHECK(longer.line() == "(end)");

  Peer endless(dir / "s");
  const std::string block(most, 'x');
  while (endless.send(block)) continue;
  CHECK(code_of(endless.line()) == "request.too_long");
}

TEST_CASE("an answer over 16 MiB is replaced by a refusal, a large one below it arrives whole") {
  const TempDir dir;
  ServerThread server(dir / "s");
  auto client = ControlClient::connect(dir / "s");
  REQUIRE(client);
  auto answer = client->call({{"verb", "huge"}}, test::wait_limit());
  REQUIRE(answer);
  CHECK(answer->at("code") == "answer.too_long");
  answer = client->call({{"verb", "large"}}, test::wait_limit());
  REQUIRE(answer);
  CHECK(answer->at("text").as_string().size() == max_answer_bytes / 2);
}

TEST_CASE("half a line is waited for only so long, however slowly it grows") {
  const TempDir dir;
  ControlLimits limits;
  limits.half_line = 150ms;
  ServerThread server(dir / "s", limits);
  Peer peer(dir / "s");
  const auto begin = std::chrono::steady_clock::now();  // clock: a lower bound; a slow machine only adds to it
  CHECK(eventually([&] { return !peer.send("x"); }));
  CHECK(std::chrono::steady_clock::now() - begin > 140ms);  // clock: a lower bound; a slow machine only adds to it
}

TEST_CASE("a connection without requests is closed after a while, one that waits for its answer is not") {
  const TempDir dir;
  ControlLimits limits;
  limits.idle = 100ms;
  ServerThread server(dir / "s", limits);
  Peer idle(dir / "s");
  Peer waiting(dir / "s");
  REQUIRE(waiting.send("{\"verb\":\"wait\"}\n"));
  CHECK(idle.line() == "(end)");
  CHECK(waiting.line(300ms) == "(nothing)");  // clock: more time finds more; it has nothing to say at any time
  CHECK(server.waiting == 1);
}

TEST_CASE("a peer that does not take its answer is cut off") {
  const TempDir dir;
  ControlLimits limits;
  limits.write = 100ms;
  ServerThread server(dir / "s", limits);
  Peer peer(dir / "s");
  REQUIRE(peer.send("{\"verb\":\"wait\"}\n"));
  REQUIRE(eventually([&] { return server.waiting == 1; }));
  Peer lazy(dir / "s");
  REQUIRE(lazy.send("{\"verb\":\"large\"}\n"));
  CHECK(eventually([&] { return !lazy.send("\n"); }));
  CHECK(server.waiting == 1);
}

TEST_CASE("answers that wait to be read have a room of their own: the oldest makes room for the next") {
  using Clock = AnswerRoom::Clock;
  AnswerRoom room(100, 1s);
  const Clock::time_point start{};
  std::string ended;
  const auto take = [&](const char* name, std::size_t bytes, Clock::duration at) {
    return room.take(bytes, start + at, [&ended, name] { ended += name; });
  };
  CHECK_FALSE(take("-", 101, 0s).has_value());
  REQUIRE(take("a", 60, 0s));
  const auto b = take("b", 40, 500ms);
  REQUIRE(b);
  CHECK_FALSE(take("c", 1, 999ms).has_value());  // they are still in their time
  CHECK_FALSE(take("c", 61, 1s).has_value());    // a alone is not enough, so it stays
  CHECK(ended.empty());
  REQUIRE(take("c", 60, 1s));
  CHECK(ended == "a");
  room.release(*b);
  CHECK(room.taken() == 60);
  REQUIRE(take("d", 40, 1500ms));
  CHECK(ended == "a");
  REQUIRE(take("e", 100, 3s));
  CHECK(ended == "acd");
}

TEST_CASE("long answers that nobody reads do not keep others from theirs, and take no more than their room") {
  const TempDir dir;
  ControlLimits limits;
  limits.unread = max_answer_bytes + 1000;  // one large answer and a half
  limits.unread_for = 100ms;
  ServerThread server(dir / "s", limits);
  std::vector<std::unique_ptr<Peer>> lazy;
  for (int i = 0; i < 4; ++i) {
    lazy.push_back(std::make_unique<Peer>(dir / "s"));
    REQUIRE(lazy.back()->send("{\"verb\":\"large\"}\n"));
    REQUIRE(lazy.back()->has_bytes());  // its answer has room, and nobody is cut off for it later
    std::this_thread::sleep_for(150ms);  // clock: longer than unread_for; more time does no harm
  }
  for (int i = 0; i < 3; ++i) {
    auto client = ControlClient::connect(dir / "s");
    REQUIRE(client);
    const auto answer = client->call({{"verb", "large"}}, test::wait_limit());
    REQUIRE(answer);
    CHECK(answer->at("text").as_string().size() == max_answer_bytes / 2);
    CHECK(client->call({{"verb", "echo"}, {"n", 1}})->at("echo") == 1);
  }
  // Cut off, not served later: what was not read is gone.
  CHECK(eventually([&] { return !lazy.front()->send("\n"); }));
}

TEST_CASE("who finds no room for a long answer is told so, and the connection ends") {
  const TempDir dir;
  ControlLimits limits;
  limits.unread = max_answer_bytes / 2 + 1000;
  limits.unread_for = 1h;
  ServerThread server(dir / "s", limits);
  Peer lazy(dir / "s");
  REQUIRE(lazy.send("{\"verb\":\"large\"}\n"));
  REQUIRE(eventually([&] { return server.handled == 1; }));
  Peer late(dir / "s");
  REQUIRE(late.send("{\"verb\":\"large\"}\n{\"verb\":\"echo\",\"n\":1}\n"));
  CHECK(code_of(late.line()) == "control.busy");
  CHECK(late.line() == echoed(1));
  CHECK(late.line() == "(end)");
  Peer brief(dir / "s");
  REQUIRE(brief.send("{\"verb\":\"echo\",\"n\":1}\n"));
  CHECK(brief.line().find("\"echo\":1") != std::string::npos);
}

TEST_CASE("connections over which something is asked or lent never give way, and the next ones are told to try again") {
  const TempDir dir;
  ControlLimits limits;
  limits.connections = 4;
  ServerThread server(dir / "s", limits);
  std::vector<std::unique_ptr<Peer>> waiting;
  for (int n = 0; n < 4; ++n) {
    waiting.push_back(std::make_unique<Peer>(dir / "s"));
    REQUIRE(waiting.back()->send("{\"verb\":\"wait\"}\n"));
  }
  REQUIRE(eventually([&] { return server.waiting == 4; }));
  for (int n = 0; n < 3; ++n) {
    Peer late(dir / "s");
    CHECK(code_of(late.line()) == "control.busy");
  }
  CHECK(server.waiting == 4);
  CHECK(server.given_back == 0);
  waiting.pop_back();
  CHECK(eventually([&] {
    Peer late(dir / "s");
    late.send(echo(2));
    return late.line() == echoed(2);
  }));
}

TEST_CASE("when the peer goes while a handler waits, the handler learns it and what was lent is given back once") {
  const TempDir dir;
  ServerThread server(dir / "s");
  Peer peer(dir / "s");
  REQUIRE(peer.send("{\"verb\":\"wait\"}\n"));
  REQUIRE(eventually([&] { return server.waiting == 1; }));
  CHECK(server.given_back == 0);
  peer.close();
  CHECK(eventually([&] { return server.given_back == 1; }));
  CHECK(server.waiting == 0);
  server.stop();
  CHECK(eventually([&] { return server.served(); }));
  CHECK(server.given_back == 1);
}

TEST_CASE("what was lent is given back when the peer goes after its answer") {
  const TempDir dir;
  std::atomic<int> order = 0;
  auto lend = [&](boost::json::object,
                  std::shared_ptr<ControlSession> session) -> boost::asio::awaitable<boost::json::object> {
    session->on_close.emplace_back([&] { order = order * 10 + 1; });
    session->on_close.emplace_back([] { throw std::runtime_error("one that fails does not hinder the next"); });
    session->on_close.emplace_back([&] { order = order * 10 + 2; });
    co_return boost::json::object{{"ok", true}};
  };
  ServerThread server(dir / "s", unhurried(), lend);
  Peer peer(dir / "s");
  REQUIRE(peer.send("{}\n"));
  CHECK(peer.line() == R"({"ok":true})");
  CHECK(order == 0);
  peer.close();
  CHECK(eventually([&] { return order == 12; }));
  CHECK(server.problems() == std::vector<std::string>{"control.exception"});
}

TEST_CASE("a handler that throws is reported, its client is told, and the connection goes on") {
  const TempDir dir;
  ServerThread server(dir / "s");
  Peer peer(dir / "s");
  REQUIRE(peer.send("{\"verb\":\"throw\"}\n" + echo(1)));
  CHECK(code_of(peer.line()) == "control.exception");
  CHECK(peer.line() == echoed(1));
  CHECK(server.problems() == std::vector<std::string>{"control.exception"});
}

TEST_CASE("of many connections those that have been idle for the longest time give way") {
  const TempDir dir;
  ServerThread server(dir / "s");
  std::vector<std::unique_ptr<Peer>> peers;
  for (int n = 0; n < 160; ++n) peers.push_back(std::make_unique<Peer>(dir / "s"));
  std::string served;
  std::string expected;
  for (std::size_t n = 0; n < peers.size(); ++n) {
    if (n >= 32) peers[n]->send(echo(1));
    const std::string answer = peers[n]->line();
    served += answer == echoed(1) ? 's' : code_of(answer) == "control.busy" ? 'b' : '?';
    expected += n < 32 ? 'b' : 's';
  }
  CHECK(served == expected);
  CHECK(server.problems() == std::vector<std::string>{"control.busy"});  // said once, not 32 times
  // The one that has asked something since is not the next to go; the others are.
  Peer one_more(dir / "s");
  one_more.send(echo(3));
  CHECK(one_more.line() == echoed(3));
  CHECK(code_of(peers[32]->line()) == "control.busy");
  peers[33]->send(echo(4));
  CHECK(peers[33]->line() == echoed(4));

  peers.clear();
  CHECK(eventually([&] {
    Peer late(dir / "s");
    late.send(echo(2));
    return late.line() == echoed(2);
  }));
}

TEST_CASE("who has asked something keeps its place before those that never have, however old it is") {
  const TempDir dir;
  ServerThread server(dir / "s");
  Peer first(dir / "s");
  first.send(echo(1));
  CHECK(first.line() == echoed(1));
  std::vector<std::unique_ptr<Peer>> peers;
  for (int n = 0; n < 300; ++n) peers.push_back(std::make_unique<Peer>(dir / "s"));
  CHECK(code_of(peers[100]->line()) == "control.busy");
  first.send(echo(2));
  CHECK(first.line() == echoed(2));
}

TEST_CASE("connecting and going away a thousand times leaves no descriptor open") {
  const TempDir dir;
  ServerThread server(dir / "s");
  const auto ack = [&] {
    Peer peer(dir / "s");
    peer.send(echo(1));
    peer.line();
  };
  ack();
  std::this_thread::sleep_for(50ms);  // clock: the server closes its end; one that is still open only weakens the check
  const std::size_t before = open_descriptors();
  for (int n = 0; n < 1000; ++n) {
    Peer peer(dir / "s");
    if (n % 3 == 0) peer.send(echo(n));
    if (n % 3 == 1) peer.send("{\"ver");
  }
  ack();
  CHECK(eventually([&] { return open_descriptors() <= before; }));
}

TEST_CASE("stop ends idle and waiting connections, removes the socket, and serve returns") {
  const TempDir dir;
  ServerThread server(dir / "s");
  Peer idle(dir / "s");
  Peer waiting(dir / "s");
  REQUIRE(waiting.send("{\"verb\":\"wait\",\"n\":4}\n"));
  REQUIRE(eventually([&] { return server.waiting == 1; }));
  server.stop();
  CHECK(waiting.line() == echoed(4));  // what is being answered is answered
  CHECK(waiting.line() == "(end)");
  CHECK(idle.line() == "(end)");
  CHECK(eventually([&] { return server.served(); }));
  CHECK_FALSE(std::filesystem::exists(dir / "s"));
}

TEST_CASE("the socket is 0600 in a folder that is made 0700, whatever the umask") {
  const TempDir dir;
  const mode_t before = ::umask(0);
  const std::string path = dir / "deep/er/control.sock";
  ServerThread server(path);
  ::umask(before);
  CHECK(mode_of(path) == 0600);
  CHECK(mode_of(dir / "deep/er") == 0700);
  CHECK(mode_of(dir / "deep") == 0700);
}

TEST_CASE("a stale socket is replaced, one that answers is not, and other files are left alone") {
  const TempDir dir;
  leave_stale_socket(dir / "stale");
  {
    ServerThread server(dir / "stale");
    Peer peer(dir / "stale");
    peer.send(echo(1));
    CHECK(peer.line() == echoed(1));

    CHECK(bind_problem(dir / "stale").rfind("control.in_use: ", 0) == 0);
    Peer again(dir / "stale");
    again.send(echo(2));
    CHECK(again.line() == echoed(2));
  }
  std::ofstream(dir / "file") << "precious";
  CHECK(bind_problem(dir / "file").rfind("control.bad_path: ", 0) == 0);
  CHECK(std::filesystem::file_size(dir / "file") == 8);
  std::filesystem::create_symlink(dir / "nowhere", dir / "link");
  CHECK(bind_problem(dir / "link").rfind("control.bad_path: ", 0) == 0);
  CHECK(std::filesystem::is_symlink(dir / "link"));
}

TEST_CASE("a socket that another put in our place is not removed at the end") {
  const TempDir dir;
  {
    ServerThread server(dir / "s");
    std::filesystem::rename(dir / "s", dir / "moved");
    leave_stale_socket(dir / "s");
  }
  CHECK(std::filesystem::exists(dir / "s"));
}

TEST_CASE("a path that no socket can have is refused with its length and a way out") {
  const TempDir dir;
  const std::string path = dir / std::string(120, 'x');
  const std::string problem = bind_problem(path);
  CHECK(problem.find(std::to_string(path.size()) + " bytes") != std::string::npos);
  CHECK(problem.find("XDG_RUNTIME_DIR") != std::string::npos);
  CHECK(problem.find("--socket") != std::string::npos);
  CHECK(bind_problem("").rfind("control.bad_path", 0) == 0);
  CHECK(bind_problem("relative.sock").rfind("control.bad_path", 0) == 0);
  CHECK(bind_problem(dir.path() + "/").rfind("control.bad_path", 0) == 0);
}

TEST_CASE("a folder that others may write to is refused") {
  const TempDir dir;
  std::filesystem::create_directory(dir / "open");
  ::chmod((dir / "open").c_str(), 0777);
  CHECK(bind_problem(dir / "open/s").rfind("dir.untrusted", 0) == 0);
}

TEST_CASE("another user's connection is refused by name even where the file modes would let it in") {
  if (::geteuid() != 0) {
    WARN("SKIPPED: only root can become another user");
    return;
  }
  const TempDir dir;
  ServerThread server(dir / "s");
  ::chmod(dir.path().c_str(), 0755);
  ::chmod((dir / "s").c_str(), 0666);
  const pid_t child = ::fork();
  if (child == 0) {
    // Only async-signal-safe calls from here: the parent has threads.
    if (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(2);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    const auto address = control_address(dir / "s");
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) ::_exit(3);
    char answer[512] = {};
    if (::read(fd, answer, sizeof answer - 1) <= 0) ::_exit(4);
    ::_exit(std::string_view(answer).find("control.foreign_peer") != std::string_view::npos ? 0 : 5);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(server.problems() == std::vector<std::string>{"control.foreign_peer"});
  CHECK(server.handled == 0);
}

}  // namespace inbox_poller::control_server_test
