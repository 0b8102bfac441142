#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "ledger_support.hpp"
#include "poller/ledger/tables.hpp"

namespace inbox_poller::poller::ledger_test::ledger_file_test {
namespace {

namespace fs = std::filesystem;

mode_t mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return status.st_mode & 07777U;
}

/// A ledger with one message, closed.
std::string closed_ledger(const TemporaryDirectory& directory) {
  const std::string path = directory.file("ledger.db");
  must(must(Ledger::open(path))->messages().insert(message_row("k1")));
  return path;
}

/// A closed ledger of an older format: its outbox has a column that today's has not.
std::string older_ledger(const TemporaryDirectory& directory, int format) {
  const std::string path = closed_ledger(directory);
  REQUIRE(Operator(path).run("ALTER TABLE outbox ADD COLUMN former TEXT; PRAGMA user_version = " +
                             std::to_string(format)) == SQLITE_OK);
  return path;
}

/// The same as a killed daemon leaves it: a second message is in the log only.
std::string older_with_log(const TemporaryDirectory& directory) {
  const std::string path = older_ledger(directory, 1);
  fs::create_directory(directory.file("kept"));
  const std::string kept = directory.file("kept/ledger.db");
  {
    Operator daemon(path);
    REQUIRE(daemon.run("PRAGMA wal_autocheckpoint = 0; INSERT INTO messages SELECT 2, x'02', team, inbox, sender, type, "
                       "disposition, code, reason, request_id, received_ms, batch, from_id, timestamp, summary, color, "
                       "msg_id, text, raw, checksum FROM messages") == SQLITE_OK);
    for (const char* part : {"", "-wal", "-shm"}) fs::copy_file(path + part, kept + part);
  }
  for (const char* part : {"", "-wal", "-shm"}) {
    fs::remove(path + part);
    fs::rename(kept + part, path + part);
    REQUIRE(::chmod((path + part).c_str(), 0600) == 0);
  }
  return path;
}

/// The name that a ledger of this format gets.
std::string aside_of(const TemporaryDirectory& directory, int format) {
  return fs::canonical(directory.file(".")).string() + "/ledger.db.format-" + std::to_string(format);
}

std::string message_of(const Result<std::unique_ptr<Ledger>>& result) {
  return result.ok() ? "" : result.error().message;
}

}  // namespace

TEST_CASE("a new ledger is private whatever the umask, and so is everything beside it") {
  for (const mode_t mask : {0000U, 0022U, 0777U}) {
    TemporaryDirectory directory;
    const mode_t before = ::umask(mask);
    auto ledger = Ledger::open(directory.file("ledger.db"));
    ::umask(before);
    must(must(std::move(ledger))->messages().insert(message_row("k1")));
    CHECK(mode_of(directory.file("ledger.db")) == 0600);
    auto again = must(Ledger::open(directory.file("ledger.db")));
    must(again->messages().insert(message_row("k2")));
    CHECK(mode_of(directory.file("ledger.db-wal")) == 0600);
    CHECK(mode_of(directory.file("ledger.db-shm")) == 0600);
    CHECK((mode_of(directory.file("ledger.db.lock")) & 0177U) == 0);
    CHECK_FALSE(fs::exists(directory.file("ledger.db.new")));
  }
}

TEST_CASE("what was committed is there after the ledger was closed and opened again") {
  TemporaryDirectory directory;
  const std::string path = closed_ledger(directory);
  CHECK(must(must(Ledger::open(path))->next_batch()) == 1);
  auto ledger = must(Ledger::open(path));
  CHECK(must(ledger->messages().known(named("k1"))));
  CHECK(must(ledger->next_batch()) == 2);
}

TEST_CASE("the ledger is durable and readable as promised: WAL, FULL, its own id and version") {
  TemporaryDirectory directory;
  ConnectionSpy spy;
  auto ledger = must(Ledger::open(directory.file("ledger.db")));
  const auto pragma = [&](const std::string& name) {
    std::string value;
    const auto take = [](void* into, int, char** columns, char**) {
      *static_cast<std::string*>(into) = columns[0];
      return 0;
    };
    sqlite3_exec(ConnectionSpy::connection(), ("PRAGMA " + name).c_str(), take, &value, nullptr);
    return value;
  };
  CHECK(pragma("journal_mode") == "wal");
  CHECK(pragma("synchronous") == "2");
  CHECK(pragma("fullfsync") == "1");
  CHECK(pragma("checkpoint_fullfsync") == "1");
  CHECK(pragma("application_id") == std::to_string(ledger_application_id));
  CHECK(pragma("user_version") == std::to_string(ledger_format));
}

TEST_CASE("a ledger opens whose lock a child of its dead owner holds for a moment") {
  TemporaryDirectory directory;
  const std::string path = directory.file("ledger.db");
  auto dead = must(Ledger::open(path));
  const pid_t child = ::fork();  // as between fork and exec, with all descriptors
  if (child == 0) {
    ::usleep(200'000);  // clock: the life of the child; the ledger is opened within it or behind it
    ::_exit(0);
  }
  dead.reset();
  must(Ledger::open(path));
  CHECK(::waitpid(child, nullptr, 0) == child);
}

TEST_CASE("a second daemon is refused, told which ledger and whose, and the first goes on") {
  TemporaryDirectory directory;
  const std::string path = directory.file("ledger.db");
  auto first = must(Ledger::open(path));
  const auto second = Ledger::open(path);
  CHECK(code_of(second) == "ledger.in_use");
  CHECK(message_of(second).find(path) != std::string::npos);
  CHECK(message_of(second).find("process " + std::to_string(::getpid())) != std::string::npos);
  CHECK(code_of(Ledger::set_aside(path, 0)) == "ledger.in_use");
  must(first->messages().insert(message_row("k1")));
  first.reset();
  CHECK(must(must(Ledger::open(path))->messages().known(named("k1"))));
}

TEST_CASE("a relative path and a link to the directory lead to the same ledger and the same lock") {
  TemporaryDirectory directory;
  fs::create_directory(directory.file("state"));
  fs::create_directory_symlink(directory.file("state"), directory.file("link"));
  auto ledger = must(Ledger::open(directory.file("state/ledger.db")));
  CHECK(code_of(Ledger::open(directory.file("link/ledger.db"))) == "ledger.in_use");
  CHECK(code_of(Ledger::open(directory.file("state/../state/ledger.db"))) == "ledger.in_use");
}

TEST_CASE("a link, a directory, a FIFO or a file that others may write is not taken for a ledger") {
  TemporaryDirectory directory;
  const std::string real = closed_ledger(directory);
  fs::create_symlink(real, directory.file("link.db"));
  CHECK(code_of(Ledger::open(directory.file("link.db"))) == "ledger.unsafe");
  fs::create_symlink(directory.file("nowhere"), directory.file("dangling.db"));
  CHECK(code_of(Ledger::open(directory.file("dangling.db"))) == "ledger.unsafe");
  CHECK_FALSE(fs::exists(directory.file("nowhere")));
  fs::create_directory(directory.file("directory.db"));
  CHECK(code_of(Ledger::open(directory.file("directory.db"))) == "ledger.unsafe");
  REQUIRE(::mkfifo(directory.file("fifo.db").c_str(), 0600) == 0);
  CHECK(code_of(Ledger::open(directory.file("fifo.db"))) == "ledger.unsafe");
  REQUIRE(::chmod(real.c_str(), 0620) == 0);
  CHECK(code_of(Ledger::open(real)) == "ledger.unsafe");
  CHECK(message_of(Ledger::open(real)).find("then: chmod 600 " + real) != std::string::npos);
}

TEST_CASE("what SQLite keeps beside a ledger is ours alone as well") {
  TemporaryDirectory directory;
  const std::string real = closed_ledger(directory);
  write_file(directory.file("victim"), "precious");
  for (const std::string part : {"-wal", "-shm", "-journal"}) {
    fs::create_symlink(directory.file("victim"), real + part);
    CHECK(code_of(Ledger::open(real)) == "ledger.unsafe");
    fs::remove(real + part);
    write_file(real + part, "");
    REQUIRE(::chmod((real + part).c_str(), 0602) == 0);
    CHECK(message_of(Ledger::open(real)).find("chmod 600 " + real + part) != std::string::npos);
    fs::remove(real + part);
  }
  CHECK(read_file(directory.file("victim")) == "precious");
  CHECK(must(must(Ledger::open(real))->messages().known(named("k1"))));
}

TEST_CASE("a ledger or a lock with a second name is refused, and not cut off") {
  TemporaryDirectory directory;
  const std::string real = closed_ledger(directory);
  fs::create_hard_link(real, directory.file("second.db"));
  CHECK(message_of(Ledger::open(real)).find("cp -p " + real + " " + real + ".copy && mv") != std::string::npos);
  fs::remove(directory.file("second.db"));
  write_file(directory.file("victim"), "precious");
  fs::remove(real + ".lock");
  fs::create_hard_link(directory.file("victim"), real + ".lock");
  CHECK(code_of(Ledger::open(real)) == "ledger.unsafe");
  CHECK(read_file(directory.file("victim")) == "precious");
}

TEST_CASE("a lock file that is a link or a FIFO is refused and not written to") {
  TemporaryDirectory directory;
  write_file(directory.file("victim"), "precious");
  fs::create_symlink(directory.file("victim"), directory.file("a.db.lock"));
  CHECK(code_of(Ledger::open(directory.file("a.db"))) == "ledger.io");
  CHECK(read_file(directory.file("victim")) == "precious");
  REQUIRE(::mkfifo(directory.file("b.db.lock").c_str(), 0600) == 0);
  CHECK(code_of(Ledger::open(directory.file("b.db"))) == "ledger.unsafe");
}

TEST_CASE("a directory that does not exist is named") {
  TemporaryDirectory directory;
  const auto opened = Ledger::open(directory.file("no/such/ledger.db"));
  CHECK(code_of(opened) == "ledger.io");
  CHECK(message_of(opened).find("no/such/ledger.db") != std::string::npos);
}

TEST_CASE("a file that is no ledger is refused with its name and the way out, and is not touched") {
  TemporaryDirectory directory;
  const std::string path = directory.file("ledger.db");
  for (const std::string& bytes :
       {std::string(), std::string("x"), std::string("not a database, but long enough ") + std::string(5000, 'x')}) {
    write_file(path, bytes);
    const auto opened = Ledger::open(path);
    CHECK(code_of(opened) == "ledger.damaged");
    CHECK(message_of(opened).find(path) != std::string::npos);
    CHECK(message_of(opened).find("inbox-poller run --new-ledger") != std::string::npos);
    CHECK(read_file(path) == bytes);
  }
}

TEST_CASE("another program's database is told from a damaged ledger") {
  TemporaryDirectory directory;
  const std::string path = directory.file("other.db");
  REQUIRE(Operator(path).run("CREATE TABLE bookmarks (url TEXT)") == SQLITE_OK);
  REQUIRE(::chmod(path.c_str(), 0600) == 0);
  CHECK(code_of(Ledger::open(path)) == "ledger.foreign");
}

TEST_CASE("open renames a ledger of an older format with its bytes kept and begins a new one") {
  for (int format = 1; format < ledger_format; ++format) {
    TemporaryDirectory directory;
    const std::string path = older_ledger(directory, format);
    const std::string bytes = read_file(path);
    {
      auto ledger = must(Ledger::open(path));
      REQUIRE(ledger->older().has_value());
      CHECK(ledger->older()->path == aside_of(directory, format));
      CHECK(ledger->older()->why == "it has format " + std::to_string(format) + ", and this inbox-poller uses format " +
                                        std::to_string(ledger_format));
      CHECK(ledger->is_new());
      CHECK_FALSE(must(ledger->messages().known(named("k1"))));
      must(ledger->messages().insert(message_row("k2")));
    }
    CHECK(read_file(aside_of(directory, format)) == bytes);
    CHECK(mode_of(aside_of(directory, format)) == 0600);
    CHECK_FALSE(fs::exists(aside_of(directory, format) + "-wal"));
    auto again = must(Ledger::open(path));
    CHECK_FALSE(again->older().has_value());
    CHECK(must(again->messages().known(named("k2"))));
  }
}

TEST_CASE("open renames the log and the index of an older ledger with it") {
  TemporaryDirectory directory;
  const std::string path = older_with_log(directory);
  const std::string bytes = read_file(path), log = read_file(path + "-wal");
  const std::string aside = must(Ledger::open(path))->older()->path;
  CHECK(read_file(aside) == bytes);
  CHECK(read_file(aside + "-wal") == log);
  CHECK(fs::exists(aside + "-shm"));
  CHECK(Operator(aside).number("SELECT count(*) FROM messages") == 2);  // one is in the log only
}

TEST_CASE("open does not overwrite an older ledger that was set aside before") {
  TemporaryDirectory directory;
  const std::string path = older_ledger(directory, 1);
  const std::string aside = must(Ledger::open(path))->older()->path;
  const std::string bytes = read_file(aside);
  for (const char* suffix : {"-2", "-3"}) {
    fs::remove(path);
    older_ledger(directory, 1);
    CHECK(must(Ledger::open(path))->older()->path == aside + suffix);
  }
  CHECK(read_file(aside) == bytes);
}

TEST_CASE("open refuses a ledger whose format alone is older, because its tables are not") {
  TemporaryDirectory directory;
  const std::string path = closed_ledger(directory);
  for (int format = 0; format < ledger_format; ++format) {
    REQUIRE(Operator(path).run("PRAGMA user_version = " + std::to_string(format)) == SQLITE_OK);
    CHECK(code_of(Ledger::open(path)) == "ledger.damaged");
  }
  REQUIRE(Operator(path).run("PRAGMA user_version = " + std::to_string(ledger_format)) == SQLITE_OK);
  CHECK(must(must(Ledger::open(path))->messages().known(named("k1"))));
}

TEST_CASE("open refuses a damaged ledger of an older format") {
  TemporaryDirectory directory;
  const std::string path = older_ledger(directory, 1);
  std::string bytes = read_file(path);
  std::fill(bytes.begin() + 8192, bytes.begin() + 16384, '\x5a');
  write_file(path, bytes);
  CHECK(code_of(Ledger::open(path)) == "ledger.damaged");
  CHECK(read_file(path) == bytes);
}

TEST_CASE("open begins again or refuses when a start died between the renames of an older ledger") {
  const std::vector<std::string> parts = {"", "-wal", "-shm"};
  for (std::size_t done = 0; done <= parts.size(); ++done) {
    INFO(done << " files renamed");
    TemporaryDirectory directory;
    const std::string path = older_with_log(directory);
    const std::string bytes = read_file(path), log = read_file(path + "-wal"), aside = aside_of(directory, 1);
    for (std::size_t i = 0; i < done; ++i) fs::rename(path + parts[i], aside + parts[i]);
    auto opened = Ledger::open(path);
    std::string log_at = aside + "-wal";
    if (done == 1) {
      CHECK(message_of(opened).find("run --new-ledger") != std::string::npos);
      CHECK(read_file(path + "-wal") == log);
      log_at = must(Ledger::set_aside(path, 0)) + "-wal";
      opened = Ledger::open(path);
    }
    auto ledger = must(std::move(opened));
    CHECK_FALSE(must(ledger->messages().known(named("k1"))));
    must(ledger->messages().insert(message_row("k1")));
    CHECK(read_file(aside) == bytes);
    CHECK(read_file(log_at) == log);
  }
}

TEST_CASE("a ledger of a newer format is left alone, with the advice to upgrade") {
  TemporaryDirectory directory;
  const std::string path = closed_ledger(directory);
  REQUIRE(Operator(path).run("PRAGMA user_version = 999") == SQLITE_OK);
  const std::string bytes = read_file(path);
  const auto opened = Ledger::open(path);
  CHECK(read_file(path) == bytes);
  CHECK(code_of(opened) == "ledger.newer");
  CHECK(message_of(opened).find("format 999") != std::string::npos);
  CHECK(message_of(opened).find("newer inbox-poller") != std::string::npos);
}

TEST_CASE("a ledger that went missing from beside its log is damage, not a new beginning") {
  TemporaryDirectory directory;
  const std::string path = directory.file("ledger.db");
  write_file(path + "-wal", "committed messages");
  CHECK(code_of(Ledger::open(path)) == "ledger.damaged");
  const std::string aside = must(Ledger::set_aside(path, 0));
  CHECK(read_file(aside + "-wal") == "committed messages");
  CHECK(must(Ledger::open(path)) != nullptr);
}

TEST_CASE("the left-over of an interrupted creation is replaced") {
  TemporaryDirectory directory;
  const std::string path = directory.file("ledger.db");
  write_file(path + ".new", "half a ledger");
  CHECK_FALSE(must(must(Ledger::open(path))->messages().known(named("k1"))));
}

TEST_CASE("a damaged ledger is set aside with its log under a dated name, which is never reused") {
  TemporaryDirectory directory;
  const std::string path = closed_ledger(directory);
  write_file(path + "-wal", "log");
  write_file(path + "-shm", "index");
  const std::string bytes = read_file(path);
  const std::string aside = must(Ledger::set_aside(path, 1770477646348));
  CHECK(aside == fs::canonical(directory.file(".")).string() + "/ledger.db.damaged-20260207T152046348Z");
  CHECK(read_file(aside) == bytes);
  CHECK(read_file(aside + "-wal") == "log");
  CHECK(read_file(aside + "-shm") == "index");
  CHECK_FALSE(fs::exists(path));

  closed_ledger(directory);
  const std::string second = must(Ledger::set_aside(path, 1770477646348));
  CHECK(second == aside + "-2");
  CHECK(read_file(aside) == bytes);
  CHECK(must(Ledger::set_aside(path, 1770477646348)).empty());
}

}  // namespace inbox_poller::poller::ledger_test::ledger_file_test
