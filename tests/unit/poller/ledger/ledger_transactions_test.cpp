#include <sys/resource.h>

#include <csignal>
#include <stdexcept>

#include "ledger_support.hpp"

namespace inbox_poller::poller::ledger_test::ledger_transactions_test {
namespace {

Status accept(Ledger& ledger, const std::string& key) {
  auto inserted = ledger.messages().insert(message_row(key));
  if (!inserted) return inserted.error();
  return Done{};
}

/// Limits how large a file of this process may grow, as a full disk would.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit limit{bytes, before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

}  // namespace

TEST_CASE("a transaction is there as a whole or not at all") {
  auto ledger = in_memory();
  must(ledger->transaction([&] { return accept(*ledger, "kept"); }));
  const auto failed = ledger->transaction([&]() -> Status {
    must(accept(*ledger, "dropped"));
    return Error{"test.failed", "the work failed"};
  });
  CHECK(code_of(failed) == "test.failed");
  CHECK(must(ledger->messages().known(named("kept"))));
  CHECK_FALSE(must(ledger->messages().known(named("dropped"))));
}

TEST_CASE("an exception rolls back and goes on to the caller - the ledger stays usable") {
  auto ledger = in_memory();
  const auto throwing = [&]() -> Status {
    must(accept(*ledger, "dropped"));
    throw std::runtime_error("oops");
  };
  CHECK_THROWS_AS(static_cast<void>(ledger->transaction(throwing).ok()), std::runtime_error);
  CHECK_FALSE(must(ledger->messages().known(named("dropped"))));
  must(ledger->transaction([&] { return accept(*ledger, "kept"); }));
  CHECK(must(ledger->messages().known(named("kept"))));
}

TEST_CASE("a transaction inside a transaction is refused, and the outer one decides for itself") {
  auto ledger = in_memory();
  must(ledger->transaction([&]() -> Status {
    must(accept(*ledger, "outer"));
    CHECK(code_of(ledger->transaction([&] { return accept(*ledger, "inner"); })) == "ledger.sql");
    return Done{};
  }));
  CHECK(must(ledger->messages().known(named("outer"))));
  CHECK_FALSE(must(ledger->messages().known(named("inner"))));
}

TEST_CASE("a ledger that reached its size limit says so, loses nothing, and goes on when there is room again") {
  TemporaryDirectory directory;
  ConnectionSpy spy;
  auto ledger = must(Ledger::open(directory.file("ledger.db")));
  sqlite3* connection = ConnectionSpy::connection();
  must(accept(*ledger, "before"));
  REQUIRE(sqlite3_exec(connection, "PRAGMA max_page_count = 1", nullptr, nullptr, nullptr) == SQLITE_OK);
  int accepted = 0;
  const auto flood = [&]() -> Status {
    while (accepted < 1000) {
      MessageRow row = message_row("flood " + std::to_string(accepted));
      row.message.text = std::string(20000, 'x');
      auto inserted = ledger->messages().insert(row);
      if (!inserted) return inserted.error();
      ++accepted;
    }
    return Done{};
  };
  const auto failed = ledger->transaction(flood);
  CHECK(code_of(failed) == "ledger.full");
  CHECK(failed.error().message.find(directory.file("ledger.db")) != std::string::npos);
  CHECK_FALSE(must(ledger->messages().known(named("flood 0"))));
  CHECK(must(ledger->messages().known(named("before"))));

  REQUIRE(sqlite3_exec(connection, "PRAGMA max_page_count = 1000000", nullptr, nullptr, nullptr) == SQLITE_OK);
  accepted = 990;
  must(ledger->transaction(flood));
  CHECK(must(ledger->messages().known(named("flood 999"))));
}

TEST_CASE("the count of queued chat is right also after a transaction that SQLite undid by itself, as the disk was full") {
  TemporaryDirectory directory;
  ConnectionSpy spy;
  auto ledger = must(Ledger::open(directory.file("ledger.db")));
  const auto id = must(ledger->messages().insert(chat_row("first", 1)));
  REQUIRE(must(ledger->deliveries().queued_count("red")) == 1);
  REQUIRE(sqlite3_exec(ConnectionSpy::connection(), "PRAGMA max_page_count = 1", nullptr, nullptr, nullptr) == SQLITE_OK);
  const auto failed = ledger->transaction([&]() -> Status {
    must(ledger->deliveries().mark_delivered({id}, 1));
    for (int i = 0;; ++i) {
      auto row = chat_row(std::to_string(i), 1);
      row.message.text = std::string(20000, 'x');
      if (auto inserted = ledger->messages().insert(row); !inserted) return inserted.error();
    }
  });
  REQUIRE(code_of(failed) == "ledger.full");
  CHECK(must(ledger->deliveries().queued_count("red")) == 1);
}

TEST_CASE("the write-ahead log is emptied when there is time, and by a commit only when it is much longer") {
  TemporaryDirectory directory;
  const std::string path = directory.file("ledger.db");
  auto ledger = must(Ledger::open(path));
  const auto log_size = [&] { return std::filesystem::file_size(path + "-wal"); };
  int accepted = 0;
  const auto accept_one = [&] { must(accept(*ledger, std::string(2000, 'x') + std::to_string(++accepted))); };
  constexpr std::uintmax_t page = 8192 + 24;

  const auto before = std::filesystem::file_size(path);
  while (log_size() < 550 * page) accept_one();
  ledger->checkpoint_if_due();
  CHECK(std::filesystem::file_size(path) == before);  // there is more to come, so nobody has to wait for it so far
  ledger->checkpoint_if_due();
  CHECK(std::filesystem::file_size(path) > before);
  const auto used = log_size();
  for (int i = 0; i < 20; ++i) accept_one();
  CHECK(log_size() == used);  // written from its beginning again
  const auto moved = std::filesystem::file_size(path);
  ledger->checkpoint_if_due();
  CHECK(std::filesystem::file_size(path) == moved);  // too little to be worth it

  while (log_size() < 2050 * page) accept_one();
  ledger->checkpoint_if_due();  // more comes and comes
  CHECK(std::filesystem::file_size(path) > moved);

  for (int i = 0; i < 3000; ++i) accept_one();  // nobody has time
  CHECK(log_size() < 4050 * page);
  ledger.reset();
  ledger = must(Ledger::open(path));
  CHECK(must(ledger->messages().known(named(std::string(2000, 'x') + std::to_string(accepted)))));
}

TEST_CASE(
    "a disk that takes only a part of the commit: the transaction is not there, and the next one works when space "
    "returns") {
  TemporaryDirectory directory;
  const std::string path = directory.file("ledger.db");
  auto ledger = must(Ledger::open(path));
  must(accept(*ledger, "before"));
  const auto size = std::filesystem::file_size(path + "-wal");
  {
    FileSizeLimit limit(size + 5000);  // the first page fits, the rest does not
    const auto failed = ledger->transaction([&]() -> Status {
      must(accept(*ledger, "lost 1"));
      must(ledger->history().add({1, "red", named("lost 1").value, "", "message.accepted", ""}));
      return Done{};
    });
    CHECK(code_of(failed) == "ledger.io");
    CHECK(must(ledger->messages().known(named("before"))));
    CHECK_FALSE(must(ledger->messages().known(named("lost 1"))));
  }
  must(ledger->transaction([&] { return accept(*ledger, "after"); }));
  ledger.reset();
  ledger = must(Ledger::open(path));
  CHECK(must(ledger->messages().known(named("before"))));
  CHECK_FALSE(must(ledger->messages().known(named("lost 1"))));
  CHECK(must(ledger->messages().known(named("after"))));
}

TEST_CASE("after SQLite rolled back under us, nothing of the rest of the work is written on its own") {
  TemporaryDirectory directory;
  ConnectionSpy spy;
  auto ledger = must(Ledger::open(directory.file("ledger.db")));
  const auto done = ledger->transaction([&]() -> Status {
    must(accept(*ledger, "first"));
    REQUIRE(sqlite3_exec(ConnectionSpy::connection(), "ROLLBACK", nullptr, nullptr, nullptr) == SQLITE_OK);
    CHECK(code_of(accept(*ledger, "second")) == "ledger.io");
    return Done{};  // a caller that looks away
  });
  CHECK(code_of(done) == "ledger.io");
  CHECK_FALSE(must(ledger->messages().known(named("first"))));
  CHECK_FALSE(must(ledger->messages().known(named("second"))));
}

TEST_CASE("a reader, however long it reads, does not hold up a commit, and sees the state it began with") {
  TemporaryDirectory directory;
  const std::string path = directory.file("ledger.db");
  auto ledger = must(Ledger::open(path));
  must(accept(*ledger, "1"));
  Operator reader(path);
  REQUIRE(reader.run("BEGIN") == SQLITE_OK);
  CHECK(reader.number("SELECT count(*) FROM messages") == 1);
  must(ledger->transaction([&] { return accept(*ledger, "2"); }));
  CHECK(reader.number("SELECT count(*) FROM messages") == 1);
  REQUIRE(reader.run("COMMIT") == SQLITE_OK);
  CHECK(reader.number("SELECT count(*) FROM messages") == 2);
}

TEST_CASE("a reader sees nothing of a transaction that is not committed") {
  TemporaryDirectory directory;
  const std::string path = directory.file("ledger.db");
  auto ledger = must(Ledger::open(path));
  Operator reader(path);
  must(ledger->transaction([&]() -> Status {
    must(accept(*ledger, "1"));
    CHECK(reader.number("SELECT count(*) FROM messages") == 0);
    return Done{};
  }));
  CHECK(reader.number("SELECT count(*) FROM messages") == 1);
}

TEST_CASE("an operator who holds the write lock makes us wait for a moment and say so, no more") {
  TemporaryDirectory directory;
  const std::string path = directory.file("ledger.db");
  auto ledger = must(Ledger::open(path));
  Operator writer(path);
  REQUIRE(writer.run("BEGIN IMMEDIATE") == SQLITE_OK);
  CHECK(code_of(ledger->transaction([&] { return accept(*ledger, "1"); })) == "ledger.busy");
  REQUIRE(writer.run("ROLLBACK") == SQLITE_OK);
  must(ledger->transaction([&] { return accept(*ledger, "1"); }));
}

TEST_CASE("states that do not exist cannot be written, not even by hand") {
  TemporaryDirectory directory;
  const std::string path = directory.file("ledger.db");
  auto ledger = must(Ledger::open(path));
  must(ledger->messages().insert(chat_row("1")));
  must(ledger->outbox().enqueue(outbox_row("ann", "reply")));
  must(ledger->requests().put("red", request_row("r-1", handlers::RequestState::pending)));
  Operator hand(path);
  CHECK(hand.run("UPDATE deliveries SET state = 'lost'") == SQLITE_CONSTRAINT);
  CHECK(hand.run("UPDATE outbox SET state = 'maybe'") == SQLITE_CONSTRAINT);
  CHECK(hand.run("UPDATE requests SET state = 'allowed'") == SQLITE_CONSTRAINT);
  must(ledger->shutdowns().put("red", shutdown_row("shutdown-1@ann", handlers::ShutdownState::requested)));
  must(ledger->orders().add(order_row("ann", "config plan")));
  CHECK(hand.run("UPDATE shutdowns SET state = 'killed'") == SQLITE_CONSTRAINT);
  CHECK(hand.run("UPDATE orders SET state = 'obeyed'") == SQLITE_CONSTRAINT);
  CHECK(hand.run("UPDATE orders SET kind = 'wish'") == SQLITE_CONSTRAINT);
}

TEST_CASE("a row whose bytes changed under us is an error that names it, never another answer") {
  TemporaryDirectory directory;
  const std::string path = directory.file("ledger.db");
  auto ledger = must(Ledger::open(path));
  must(accept(*ledger, "1"));
  must(ledger->outbox().enqueue(outbox_row("ann", "denied", "r-1")));
  must(ledger->requests().put("red", request_row("r-1", handlers::RequestState::denied)));
  must(ledger->rules().add({0, "red", "s", handlers::RuleKind::permission, "deny", "Bash", "mona", 5}));
  must(ledger->leads().put("red", {handlers::LeadState::busy, 1, 2}));
  must(ledger->members().put({"red", "ann", true, handlers::WorkerReport::idle, "", "", 1}));
  must(ledger->shutdowns().put("red", shutdown_row("shutdown-1@ann", handlers::ShutdownState::requested)));
  must(ledger->orders().add(order_row("ann", "config plan")));
  must(ledger->history().add({1, "red", named("1").value, "", "message.accepted", ""}));
  Operator hand(path);
  REQUIRE(
      hand.run(
          "UPDATE messages SET text = '0'; UPDATE outbox SET text = '0'; UPDATE requests SET state = 'approved';"
          "UPDATE rules SET action = 'allow'; UPDATE leads SET state = 'idle'; UPDATE members SET present = 0;"
          "UPDATE history SET event = 'x'; UPDATE shutdowns SET processes = '1:1'; UPDATE orders SET state = "
          "'applied'") == SQLITE_OK);
  CHECK(code_of(ledger->messages().find(named("1"))) == "ledger.damaged");
  CHECK(code_of(ledger->outbox().due("red", 1000, 1)) == "ledger.damaged");
  CHECK(code_of(ledger->requests().find("red", {handlers::RequestKind::permission, "ann", "r-1"})) == "ledger.damaged");
  CHECK(code_of(ledger->requests().by_id("r-1")) == "ledger.damaged");
  CHECK(code_of(ledger->rules().of_team("red")) == "ledger.damaged");
  CHECK(code_of(ledger->leads().find("red")) == "ledger.damaged");
  CHECK(code_of(ledger->members().of_team("red")) == "ledger.damaged");
  CHECK(code_of(ledger->history().of_message(named("1"))) == "ledger.damaged");
  CHECK(code_of(ledger->shutdowns().find("red", "shutdown-1@ann")) == "ledger.damaged");
  CHECK(code_of(ledger->shutdowns().open("red")) == "ledger.damaged");
  CHECK(code_of(ledger->orders().of_team("red")) == "ledger.damaged");
  CHECK(code_of(ledger->orders().set(1, handlers::OrderState::applied, 2)) == "ledger.damaged");
  // A decision is not made on top of a damaged one either.
  CHECK(code_of(ledger->requests().put("red", request_row("r-1", handlers::RequestState::denied))) == "ledger.damaged");
}

}  // namespace inbox_poller::poller::ledger_test::ledger_transactions_test
