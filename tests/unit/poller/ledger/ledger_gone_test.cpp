// A ledger whose files are taken away while it is open: told before anything relies on it, saved, and found again.
#include <functional>
#include <map>

#include "ledger_support.hpp"

namespace inbox_poller::poller::ledger_test::ledger_gone_test {
namespace {

namespace fs = std::filesystem;

/// A ledger in a folder of its own, with the message "before" in it.
struct Open {
  TemporaryDirectory directory;
  std::string folder = directory.file("state");
  std::string path = folder + "/ledger.db";
  std::unique_ptr<Ledger> ledger;
  int told = 0;

  Open() {
    fs::create_directory(folder);
    fs::permissions(folder, fs::perms::owner_all);
    ledger = must(Ledger::open(path));
    ledger->on_gone([this] { ++told; });
    must(add("before"));
  }
  Status add(const std::string& key) {
    return ledger->transaction([&]() -> Status {
      auto added = ledger->messages().insert(message_row(key));
      return added ? Status(Done{}) : Status(added.error());
    });
  }
};

void replace(const std::string& path) {
  fs::copy_file(path, path + ".copy");
  fs::rename(path + ".copy", path);
}

const std::map<std::string, std::function<void(const Open&)>>& ways() {
  static const std::map<std::string, std::function<void(const Open&)>> all{
      {"the folder is removed", [](const Open& open) { fs::remove_all(open.folder); }},
      {"the folder is moved", [](const Open& open) { fs::rename(open.folder, open.folder + "-moved"); }},
      {"the file is removed", [](const Open& open) { fs::remove(open.path); }},
      {"a copy takes its place", [](const Open& open) { replace(open.path); }},
      {"the log is removed", [](const Open& open) { fs::remove(open.path + "-wal"); }},
      {"a copy takes the log's place", [](const Open& open) { replace(open.path + "-wal"); }},
      {"the log is cut", [](const Open& open) { fs::resize_file(open.path + "-wal", 100); }},
      {"the index is removed", [](const Open& open) { fs::remove(open.path + "-shm"); }},
      {"the lock is removed", [](const Open& open) { fs::remove(open.path + ".lock"); }}};
  return all;
}

}  // namespace

TEST_CASE("a transaction fails and writes nothing when the ledger was taken away") {
  for (const auto& [name, take] : ways()) {
    INFO(name);
    Open open;
    take(open);
    bool has_run = false;
    const auto done = open.ledger->transaction([&]() -> Status {
      has_run = true;
      return Done{};
    });
    CHECK(code_of(done) == "ledger.gone");
    CHECK_FALSE(has_run);
    CHECK(open.told == 1);
  }
}

TEST_CASE("a transaction fails when the ledger is taken away before its commit is relied on") {
  for (const auto& [name, take] : ways()) {
    INFO(name);
    Open open;
    const auto done = open.ledger->transaction([&, &take = take]() -> Status {
      must(open.ledger->messages().insert(message_row("within")));
      take(open);
      return Done{};
    });
    // What SQLite itself finds missing is an error of its own, and nothing was committed.
    if (code_of(done) != "ledger.io") CHECK(code_of(done) == "ledger.gone");
    CHECK(code_of(open.ledger->still_there()) == "ledger.gone");
  }
}

TEST_CASE("a hole in the log is never moved into the ledger") {
  Open open;
  for (int i = 0; i < 2500; ++i) must(open.add("more " + std::to_string(i)));  // enough for a checkpoint
  const auto was = read_file(open.path);
  const auto cut = open.ledger->transaction([&]() -> Status {
    must(open.ledger->messages().insert(message_row("within")));
    ways().at("the log is cut")(open);
    return Done{};
  });
  CHECK(code_of(cut) == "ledger.gone");
  for (int call = 0; call < 3; ++call) open.ledger->checkpoint_if_due();
  open.ledger.reset();
  CHECK((read_file(open.path) == was));
}

TEST_CASE("a backup or a VACUUM of somebody else shortens the files, and the ledger goes on") {
  Open open;
  for (int i = 0; i < 200; ++i) must(open.add("more " + std::to_string(i)));
  const auto [name, sql] = GENERATE(table<const char*, const char*>(
      {{"a truncating checkpoint", "PRAGMA wal_checkpoint(TRUNCATE)"},
       {"a restarting one", "PRAGMA wal_checkpoint(RESTART)"},
       {"a VACUUM", "DELETE FROM messages; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)"},
       {"a VACUUM that our own checkpoint moves", "DELETE FROM messages; VACUUM"}}));
  INFO(name);
  const auto was = fs::file_size(open.path) + fs::file_size(open.path + "-wal");
  sqlite3* other = nullptr;
  REQUIRE(sqlite3_open(open.path.c_str(), &other) == SQLITE_OK);
  REQUIRE(sqlite3_exec(other, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(other);
  must(open.ledger->still_there());
  must(open.add("after"));
  open.ledger->checkpoint_if_due();
  must(open.ledger->still_there());
  if (std::string(sql).find("TRUNCATE") != std::string::npos)
    CHECK(fs::file_size(open.path) + fs::file_size(open.path + "-wal") < was);
  CHECK(open.told == 0);
  open.ledger.reset();
  CHECK(*must(Ledger::open(open.path))->messages().known(message_row("after").key));
}

TEST_CASE("a ledger that was taken away stays gone when it is put back") {
  Open open;
  fs::rename(open.folder, open.folder + "-moved");
  CHECK(code_of(open.ledger->still_there()) == "ledger.gone");
  fs::rename(open.folder + "-moved", open.folder);
  CHECK(code_of(open.ledger->still_there()) == "ledger.gone");
  CHECK(code_of(open.add("after")) == "ledger.gone");
  CHECK(open.told == 1);
}

TEST_CASE("a ledger that was moved away and put back between two checks goes on") {
  Open open;
  fs::rename(open.folder, open.folder + "-moved");
  fs::rename(open.folder + "-moved", open.folder);
  must(open.add("after"));
}

TEST_CASE("a saved ledger is found at the next start with every row") {
  for (const std::string name :
       {"the folder is removed", "the folder is moved", "the file is removed", "the log is removed",
        "a copy takes the log's place", "the index is removed", "the lock is removed"}) {
    INFO(name);
    Open open;
    ways().at(name)(open);
    CHECK(code_of(open.ledger->still_there()) == "ledger.gone");
    const auto saved = must(open.ledger->save());
    CHECK(saved.next.find("start the daemon") != std::string::npos);
    open.ledger.reset();
    const auto again = must(Ledger::open(open.path));
    CHECK(again->was_saved() == (saved.path == open.path + ".saved"));
    CHECK_FALSE(again->is_new());
    CHECK(must(again->messages().known(named("before"))));
  }
}

TEST_CASE("an older ledger that is written over the one in use is not taken for a saved one, and can be used afterwards") {
  Open open;
  const auto outside = [&](const char* sql) {
    sqlite3* other = nullptr;
    REQUIRE(sqlite3_open(open.path.c_str(), &other) == SQLITE_OK);
    REQUIRE(sqlite3_exec(other, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(other);
  };
  outside("PRAGMA wal_checkpoint(TRUNCATE)");
  const auto backup = read_file(open.path);
  for (int i = 0; i < 2500; ++i) must(open.add("more " + std::to_string(i)));
  outside("PRAGMA wal_checkpoint(TRUNCATE)");
  for (int i = 0; i < 10; ++i) must(open.add("last " + std::to_string(i)));
  std::ofstream(open.path, std::ios::binary | std::ios::trunc) << backup;  // as `cp` does
  CHECK(code_of(open.ledger->still_there()) == "ledger.gone");
  const auto saved = open.ledger->save();
  REQUIRE_FALSE(saved);
  CHECK(saved.error().code == "ledger.damaged");
  CHECK_FALSE(fs::exists(open.path + ".saved"));
  open.ledger.reset();
  const auto again = must(Ledger::open(open.path));
  CHECK(must(again->messages().known(named("before"))));
}

TEST_CASE("a saved ledger beside another one is refused until a person decides") {
  Open open;
  replace(open.path);
  CHECK(code_of(open.ledger->still_there()) == "ledger.gone");
  must(open.ledger->save());
  open.ledger.reset();
  CHECK(code_of(Ledger::open(open.path)) == "ledger.saved");
  for (const char* part : {"", "-wal", "-shm"}) fs::remove(open.path + part);
  CHECK(must(must(Ledger::open(open.path))->messages().known(named("before"))));
}

TEST_CASE("closing a ledger that was taken away leaves what is at its path alone") {
  Open open;
  replace(open.path);
  write_file(open.path + "-wal", "of somebody else");
  CHECK(code_of(open.ledger->still_there()) == "ledger.gone");
  const auto before = read_file(open.path);
  open.ledger.reset();
  CHECK(read_file(open.path) == before);
  CHECK(fs::exists(open.path + "-wal"));
}

}  // namespace inbox_poller::poller::ledger_test::ledger_gone_test
