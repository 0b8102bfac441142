// What wakes a poll early, on real folders: which changes give a hint and which do not, folders that are replaced, and
// that nothing is kept of what is forgotten. Where folders cannot be watched, only that this is said.
#include "poller/folder_watch.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>

#include "poller/pause.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch.hpp"

namespace inbox_poller::test::folder_watch_test {
namespace {

namespace asio = boost::asio;
using namespace poller;
using std::chrono::milliseconds;

#ifdef __linux__

struct Watched {
  ScratchDir scratch;
  asio::io_context context;
  std::unique_ptr<FolderWatch> watch = make_folder_watch(context.get_executor());
  std::string folder = scratch.path("inboxes").string();
  int hints = 0;

  Watched() {
    ::mkdir(folder.c_str(), 0700);
    REQUIRE(*watch->watch(folder, [this] { ++hints; }) == Watching::yes);
  }
  void write(const std::string& name) const { std::ofstream(folder + "/" + name) << "[]"; }
  int hints_now() {
    if (context.stopped()) context.restart();
    context.poll();  // a change is with the kernel when the call that made it returns
    return std::exchange(hints, 0);
  }
};

TEST_CASE("an inbox that is written in place or replaced gives a hint") {
  Watched watched;
  watched.write("lead.json");
  CHECK(watched.hints_now() == 1);
  watched.write("lead.json.new");
  CHECK(watched.hints_now() == 0);  // not an inbox yet
  std::rename((watched.folder + "/lead.json.new").c_str(), (watched.folder + "/lead.json").c_str());
  CHECK(watched.hints_now() == 1);
}

TEST_CASE("locks and names that are no inboxes give none") {
  Watched watched;
  ::mkdir((watched.folder + "/lead.json.lock").c_str(), 0700);
  ::rmdir((watched.folder + "/lead.json.lock").c_str());
  watched.write("notes.txt");
  watched.write(".lead.json.ip-1-1.tmp");
  ::unlink((watched.folder + "/notes.txt").c_str());
  CHECK(watched.hints_now() == 0);
}

TEST_CASE("a file that leaves a folder, and the folder's own end, give a hint where they are wanted") {
  Watched watched;
  const std::string file = watched.folder + "/config.json", away = watched.scratch.path("away").string();
  watched.write("config.json");
  CHECK(watched.hints_now() == 1);
  std::rename(file.c_str(), (away + ".json").c_str());
  CHECK(watched.hints_now() == 0);
  REQUIRE(watched.watch->watch(watched.folder, [&] { ++watched.hints; }, Hints::of_all).ok());
  watched.write("config.json");
  CHECK(watched.hints_now() == 1);
  ::mkdir((watched.folder + "/config.json.lock").c_str(), 0700);
  ::rmdir((watched.folder + "/config.json.lock").c_str());
  CHECK(watched.hints_now() == 0);
  std::rename(file.c_str(), (away + ".json").c_str());
  CHECK(watched.hints_now() == 1);
  std::rename(watched.folder.c_str(), away.c_str());
  CHECK(watched.hints_now() == 1);
  std::rename(away.c_str(), watched.folder.c_str());
  CHECK(watched.hints_now() == 1);
  ::rmdir(watched.folder.c_str());
  CHECK(watched.hints_now() == 1);
}

TEST_CASE("a folder that took the place of another is watched from the next call on, and the old one no longer") {
  Watched watched;
  const std::string old = watched.scratch.path("old").string();
  std::rename(watched.folder.c_str(), old.c_str());
  ::mkdir(watched.folder.c_str(), 0700);
  watched.write("lead.json");
  CHECK(watched.hints_now() == 0);
  REQUIRE(watched.watch->watch(watched.folder, [&] { ++watched.hints; }).ok());
  watched.write("lead.json");
  CHECK(watched.hints_now() == 1);
  std::ofstream(old + "/lead.json") << "[]";
  CHECK(watched.hints_now() == 0);
}

TEST_CASE("a folder that is gone, a link, or no folder cannot be watched, and it is said why") {
  Watched watched;
  ::rmdir(watched.folder.c_str());
  const auto gone = watched.watch->watch(watched.folder, [] {});
  REQUIRE(gone.ok());
  CHECK(*gone == Watching::no_folder);
  ::symlink("/tmp", watched.folder.c_str());
  CHECK_FALSE(watched.watch->watch(watched.folder, [] {}).ok());
  ::unlink(watched.folder.c_str());
  std::ofstream(watched.folder) << "x";
  const auto file = watched.watch->watch(watched.folder, [] {});
  REQUIRE_FALSE(file.ok());
  CHECK(file.error().message.find(watched.folder) != std::string::npos);
}

TEST_CASE(
    "watching the same folder again changes nothing, and what is forgotten gives no hint and keeps nobody waiting") {
  Watched watched;
  for (int i = 0; i < 3; ++i) REQUIRE(watched.watch->watch(watched.folder, [&] { ++watched.hints; }).ok());
  watched.write("lead.json");
  CHECK(watched.hints_now() == 1);
  watched.watch->forget(watched.folder);
  watched.write("lead.json");
  CHECK(watched.hints_now() == 0);
  CHECK(watched.context.stopped());  // no work is left, so the daemon can end
}

TEST_CASE("a flood of changes that outruns the queue is a hint as well") {
  Watched watched;
  int queue = 0;
  std::ifstream("/proc/sys/fs/inotify/max_queued_events") >> queue;
  for (int i = 0; i < queue + 1000; ++i) {
    // Equal changes in a row are one for the kernel; two in turn are not.
    watched.write(i % 2 == 0 ? "ada.json" : "bob.json");
  }
  CHECK(watched.hints_now() > 0);
}

#else

TEST_CASE("where folders are not watched it is said what that means") {
  asio::io_context context;
  const auto watched = make_folder_watch(context.get_executor())->watch("/tmp", [] {});
  REQUIRE_FALSE(watched.ok());
  CHECK(watched.error().message.find("poll interval") != std::string::npos);
}

#endif

TEST_CASE("a local folder is on no network file system") { CHECK(network_file_system("/").empty()); }

TEST_CASE("a signal wakes all who wait, and is not missed between a look and the wait") {
  asio::io_context context;
  Signal signal;
  int woken = 0;
  const auto waiter = [&](std::uint64_t seen) -> asio::awaitable<void> {
    co_await signal.wait(seen, std::chrono::minutes(10));
    ++woken;
  };
  const auto seen = signal.count();
  for (int i = 0; i < 3; ++i)
    asio::co_spawn(context, waiter(seen), [](std::exception_ptr thrown) { CHECK(thrown == nullptr); });
  context.poll();
  CHECK(woken == 0);
  signal.raise();
  context.run();
  CHECK(woken == 3);
  context.restart();
  asio::co_spawn(context, waiter(seen),
                 [](std::exception_ptr thrown) { CHECK(thrown == nullptr); });  // raised since it looked
  context.run();
  CHECK(woken == 4);
}

TEST_CASE("a signal that nobody raises is waited for as long as was said, or a tenth less") {
  asio::io_context context;
  Signal signal;
  bool over = false;
  const auto waiter = [&]() -> asio::awaitable<void> {
    co_await signal.wait(signal.count(), milliseconds(30));
    over = true;
  };
  const auto started = std::chrono::steady_clock::now();  // clock: a lower bound; a slow machine only adds to it
  asio::co_spawn(context, waiter(), [](std::exception_ptr thrown) { CHECK(thrown == nullptr); });
  context.run();
  CHECK(over);
  CHECK(std::chrono::steady_clock::now() - started >= milliseconds(27));  // clock: a lower bound, see above
}

}  // namespace
}  // namespace inbox_poller::test::folder_watch_test
