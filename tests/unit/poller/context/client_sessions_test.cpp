// The files that clients keep of their sessions, checked against real processes: this one, and none.
#include "poller/context/client_sessions.hpp"

#include <unistd.h>

#include "tests/support/catch.hpp"
#include "tests/support/faulty_filesystem.hpp"
#include "tests/support/scratch.hpp"

namespace inbox_poller::client_sessions_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::test;

namespace fs = std::filesystem;

namespace {

constexpr long long nobody = 0x7ffffff0;  // beyond any pid_max

struct Sessions {
  ScratchDir scratch;
  PosixFileSystem real;
  FaultyFileSystem files{real};
  SystemProcesses processes;
  ManualClock clock;
  std::string folder = scratch.path("sessions").string();
  SessionWatch watch{files, processes, clock, folder};

  Sessions() { fs::create_directory(folder); }

  /// When this process began, as clients write it.
  std::string mark() {
    const auto started = processes.identify(::getpid())->started;
    return started.substr(0, started.find('@'));
  }
  std::string text(const std::string& session, const std::string& status = "idle", long long pid = ::getpid(),
                   const std::string& started = "") {
    return "{\"pid\":" + std::to_string(pid) + ",\"sessionId\":\"" + session + "\",\"procStart\":\"" +
           (started.empty() ? mark() : started) + R"(","version":"2.1.220","entrypoint":"cli","status":")" + status + "\"}";
  }
  void write(const std::string& contents, const std::string& name = std::to_string(::getpid()) + ".json") {
    std::ofstream(fs::path(folder) / name, std::ios::binary) << contents;
  }
  /// Everything was written long ago.
  void ack() { clock.advance(std::chrono::minutes(1)); }
};

}  // namespace

TEST_CASE("a session lives while exactly the process that its file names does") {
  Sessions at;
  if (at.mark().find_first_not_of("0123456789") != std::string::npos) return;  // no such starts on this system
  at.write(at.text("s"));
  at.write(at.text("dead", "idle", nobody), std::to_string(nobody) + ".json");
  const auto live = live_sessions(at.files, at.processes, at.folder);
  REQUIRE(live.size() == 1);
  CHECK(live[0].said.session_id == "s");
  CHECK(live[0].process.pid == ::getpid());
  CHECK(live[0].began_ms > 0);
  at.write(at.text("s", "idle", ::getpid(), "7"));  // its number is somebody else's by now
  CHECK(live_sessions(at.files, at.processes, at.folder).empty());
  at.write(at.text("s", "idle", ::getpid(), "Wed Nov 25 14:00:00 2026"));  // cannot be compared
  CHECK(live_sessions(at.files, at.processes, at.folder).empty());
}

TEST_CASE("links, other files and large ones are left alone, and so is a folder that is none") {
  Sessions at;
  const std::string own = std::to_string(::getpid());
  at.write(at.text("s"), "elsewhere");
  fs::create_symlink(fs::path(at.folder) / "elsewhere", fs::path(at.folder) / (own + ".json"));
  at.write(at.text("s"), own + ".json.tmp");
  at.write(at.text("s"), own + ".9f.key");
  std::vector<std::string> opened;
  at.files.before(Call::open_read, [&](const std::string& name) { opened.push_back(name); });
  CHECK(live_sessions(at.files, at.processes, at.folder).empty());
  CHECK(opened == std::vector<std::string>{own + ".json"});  // and that is a link
  fs::remove(fs::path(at.folder) / (own + ".json"));
  at.write(at.text("s") + std::string(70'000, ' '));
  CHECK(live_sessions(at.files, at.processes, at.folder).empty());
  fs::remove(fs::path(at.folder) / (own + ".json"));
  fs::create_directory(fs::path(at.folder) / (own + ".json"));
  CHECK(live_sessions(at.files, at.processes, at.folder).empty());
  const auto link = at.scratch.path("link").string();
  fs::create_directory_symlink(at.folder, link);
  CHECK(live_sessions(at.files, at.processes, link).empty());
  CHECK(live_sessions(at.files, at.processes, at.scratch.path("none").string()).empty());
}

TEST_CASE("one session is followed through its file, and its process through other sessions") {
  Sessions at;
  CHECK_FALSE(at.watch.look("s"));
  at.write(at.text("s", "idle"));
  REQUIRE(at.watch.look("s"));
  CHECK(at.watch.live()->said.status == "idle");
  CHECK_FALSE(at.watch.look("s"));
  at.write(at.text("s", "busy"));
  REQUIRE(at.watch.look("s"));
  CHECK(at.watch.live()->said.status == "busy");
  at.write("{\"pid\":");  // in the middle of a write
  CHECK_FALSE(at.watch.look("s"));
  CHECK(at.watch.live());
  at.write(at.text("after-clear", "idle"));
  REQUIRE(at.watch.look("s"));
  CHECK(at.watch.live()->said.session_id == "after-clear");
  CHECK(at.watch.look("other"));  // another lead is looked for anew
  CHECK_FALSE(at.watch.live());
  CHECK_FALSE(at.watch.look(""));
  at.write(at.text("s", "idle"));
  REQUIRE(at.watch.look("s"));
  fs::remove_all(at.folder);
  CHECK(at.watch.look("s"));
  CHECK_FALSE(at.watch.live());
}

TEST_CASE("at rest a look is one stat, whether the session is there, another one is, or no folder") {
  Sessions at;
  int stats = 0, others = 0;
  at.files.before(Call::stat_at, [&](const std::string&) { ++stats; });
  for (const auto call : {Call::open_dir, Call::open_read, Call::list, Call::read_at})
    at.files.before(call, [&](const std::string&) { ++others; });
  const auto costs = [&](const std::string& session) {
    for (int i = 0; i < 3; ++i) static_cast<void>(at.watch.look(session));
    stats = others = 0;
    for (int i = 0; i < 10; ++i) static_cast<void>(at.watch.look(session));
    return std::pair(stats, others);
  };
  at.write(at.text("s"));
  at.ack();
  CHECK(costs("s") == std::pair(10, 0));
  CHECK(costs("nobody's") == std::pair(10, 0));
  fs::remove_all(at.folder);
  CHECK(costs("s") == std::pair(0, 0));  // looked for once a second
  CHECK(costs("") == std::pair(0, 0));
}

}  // namespace inbox_poller::client_sessions_test
