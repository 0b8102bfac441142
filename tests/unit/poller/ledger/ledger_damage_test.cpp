#include <algorithm>
#include <cstdlib>
#include <map>

#include "ledger_support.hpp"
#include "tests/support/portion.hpp"

namespace inbox_poller::poller::ledger_test::ledger_damage_test {
namespace {

namespace fs = std::filesystem;

constexpr int requests = 12;

std::string key(const char* what, int i) { return std::string(what) + " " + std::to_string(i); }

/// A ledger with something in every table, closed, as bytes.
std::string sound_ledger(const std::string& path) {
  auto ledger = must(Ledger::open(path));
  must(ledger->transaction([&]() -> Status {
    for (int i = 0; i < requests; ++i) {
      must(ledger->next_batch());
      must(ledger->messages().insert(chat_row(key("chat", i))));
      MessageRow refused = message_row(key("refused", i), Disposition::rejected);
      refused.code = "sender.stranger";
      must(ledger->messages().insert(refused));
      must(ledger->requests().put("red", request_row(key("request", i), i % 2 == 0 ? handlers::RequestState::denied
                                                                            : handlers::RequestState::pending)));
      must(ledger->outbox().enqueue(outbox_row("ann", key("denied", i), key("request", i))));
      must(ledger->history().add({1, "red", named(key("chat", i)).value, key("request", i), "message.accepted", "detail"}));
      must(
          ledger->shutdowns().put("red", shutdown_row(key("shutdown", i), i % 2 == 0 ? handlers::ShutdownState::requested
                                                                                  : handlers::ShutdownState::cleaned)));
      must(ledger->orders().add(order_row("ann", key("command", i))));
    }
    must(ledger->rules().add({0, "red", "s", handlers::RuleKind::permission, "deny", "Bash(rm:*)", "mona", 5}));
    must(ledger->rules().add({0, "red", "s", handlers::RuleKind::team, "allow", "Edit(//repo/**)", "mona", 5}));
    must(ledger->members().put({"red", "ann", true, handlers::WorkerReport::idle, "", "3", 1}));
    must(ledger->leads().put("red", {handlers::LeadState::busy, 1, 2}));
    must(ledger->rosters().put("red", {R"({"members":[{"name":"ann"}]})", 7, 1}));
    return Done{};
  }));
  ledger.reset();
  REQUIRE_FALSE(fs::exists(path + "-wal"));
  return read_file(path);
}

/// One read of the ledger: what it answered, or that it failed.
template <class T, class Show>
void tell(std::map<std::string, std::string>& answers, const std::string& question, const Result<T>& result,
          Show show) {
  answers[question] = result.ok() ? show(*result) : "error";
}

/// Everything that decides something, asked of the ledger in every way it can be asked.
std::map<std::string, std::string> read_everything(Ledger& ledger) {
  std::map<std::string, std::string> answers;
  const auto message = [](const MessageRow& row) {
    return row.key.value + row.team + row.inbox + row.sender + row.message.from + row.message.text + row.raw + row.code + row.message.timestamp + row.type +
           row.reason + std::string(to_string(row.disposition)) + std::string(to_string(row.delivery)) +
           std::to_string(row.batch);
  };
  const auto request = [](const handlers::Request& row) {
    return row.request_id + row.asker + row.content_hash + row.subject + row.body + std::string(to_string(row.state)) +
           std::to_string(row.deadline_ms) + row.message.value;
  };
  const auto effect = [](const OutboxRow& row) {
    return row.team + row.inbox + row.key.value + row.message.text + row.message.id + row.request_id + std::string(to_string(row.state));
  };
  const auto shutdown = [](const handlers::Shutdown& row) {
    std::string text = row.request_id + row.member + row.agent_id + std::string(to_string(row.state)) +
                       std::to_string(row.force_ms) + std::to_string(row.timeout_ms) + std::to_string(row.term_ms) +
                       row.place.backend + row.place.pane_id + row.place.left_alone + row.answer;
    for (const auto& process : {row.place.server, row.place.pane})
      text += std::to_string(process.pid) + process.started;
    for (const auto* processes : {&row.place.processes, &row.survivors})
      for (const auto& process : *processes) text += std::to_string(process.pid) + process.started;
    return text;
  };
  const auto list = [](auto show) {
    return [show](const auto& rows) {
      std::string text;
      for (const auto& row : rows) text += show(row) + "\n";
      return text;
    };
  };
  const auto maybe = [](auto show) {
    return [show](const auto& row) { return row ? show(*row) : std::string("none"); };
  };
  const auto number = [](auto value) { return std::to_string(value); };
  for (int i = 0; i < requests; ++i) {
    tell(answers, key("known", i), ledger.messages().known(named(key("chat", i))), number);
    tell(answers, key("message", i), ledger.messages().find(named(key("chat", i))), maybe(message));
    tell(answers, key("request", i),
         ledger.requests().find("red", {handlers::RequestKind::permission, "ann", key("request", i)}), maybe(request));
    tell(answers, key("by id", i), ledger.requests().by_id(key("request", i)),
         list([&](const auto& pair) { return pair.first + request(pair.second); }));
    tell(answers, key("replies", i), ledger.outbox().of_request("red", key("request", i)), list(effect));
    tell(answers, key("wrote", i), ledger.outbox().wrote(named("key of " + key("denied", i))), number);
    tell(answers, key("shutdown", i), ledger.shutdowns().find("red", key("shutdown", i)), maybe(shutdown));
  }
  tell(answers, "quarantined", ledger.messages().quarantined("red", 100), list(message));
  tell(answers, "offerable", ledger.deliveries().ready_messages("red", 5000, 100), list(message));
  tell(answers, "open", ledger.requests().open("red"), list(request));
  tell(answers, "open shutdowns", ledger.shutdowns().open("red"), list(shutdown));
  tell(answers, "shutdowns", ledger.shutdowns().latest("red", 100), list(shutdown));
  tell(answers, "orders", ledger.orders().of_team("red"), list([](const OrderRow& row) {
         return row.member + std::to_string(row.joined_ms) + row.subject + row.origin + std::string(to_string(row.kind)) + std::string(to_string(row.state));
       }));
  tell(answers, "open count", ledger.requests().open_count("red", "ann"), number);
  tell(answers, "owed", ledger.outbox().owed("red"), number);
  tell(answers, "rules", ledger.rules().of_team("red"),
       list([](const SessionRule& row) { return std::string(to_string(row.kind)) + row.action + row.rule + row.by; }));
  tell(answers, "lead", ledger.leads().find("red"),
       maybe([](const LeadRow& row) { return std::string(to_string(row.state)) + std::to_string(row.until_ms); }));
  tell(answers, "roster", ledger.rosters().find("red"),
       maybe([](const RosterRow& row) { return row.bytes + std::to_string(row.file); }));
  tell(answers, "members", ledger.members().of_team("red"),
       list([](const MemberRow& row) { return row.name + std::string(to_string(row.state)) + row.task; }));
  tell(answers, "history", ledger.history().of_request("red", "request 1"),
       list([](const HistoryRow& row) { return row.event; }));
  return answers;
}

}  // namespace

TEST_CASE("one flipped bit anywhere in the ledger: refused at open, or every read is an error or right") {
  TemporaryDirectory directory;
  const std::string path = directory.file("ledger.db");
  const std::string sound = sound_ledger(path);
  const auto expected = read_everything(*must(Ledger::open(path)));
  for (const auto& [question, answer] : expected) CHECK(answer != "error");

  // The stride has no factor in common with the page size: over the file, every offset in a page and every bit gets its
  // turn.
  const std::size_t stride = inbox_poller::test::is_long_form() ? 211 : 1'699;
  std::size_t refused = 0;
  std::size_t read_errors = 0;
  for (std::size_t at = 0; at < sound.size(); at += stride) {
    std::string damaged = sound;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at / stride % 8)));
    for (const char* beside : {"-wal", "-shm"}) fs::remove(path + beside);
    write_file(path, damaged);
    auto ledger = Ledger::open(path);
    if (!ledger) {
      ++refused;
      continue;
    }
    const auto answers = read_everything(**ledger);
    const auto errors =
        std::count_if(answers.begin(), answers.end(), [](const auto& pair) { return pair.second == "error"; });
    read_errors += static_cast<std::size_t>(errors);
    for (const auto& [question, answer] : answers) {
      if (answer == "error" || answer == expected.at(question)) continue;
      // What chat waits for is asked in SQL, which knows no sums; the reply it waits for does, and stops us in the same
      // tick.
      if (question == "offerable" && errors > 0) continue;
      FAIL_CHECK("byte " << at << ": " << question << " became " << answer);
    }
  }
  CHECK(refused > 0);
  CHECK(read_errors > 0);
}

TEST_CASE("a ledger with a column of another name is refused as damaged, whatever its format") {
  TemporaryDirectory directory;
  const std::string path = directory.file("ledger.db");
  sound_ledger(path);
  {
    Operator person(path);
    REQUIRE(person.run("CREATE TABLE notes (text); CREATE VIEW late AS SELECT * FROM outbox") == SQLITE_OK);
  }
  CHECK(Ledger::open(path).ok());  // what a person adds is no damage
  {
    Operator flips(path);
    REQUIRE(
        flips.run(
            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'last_problem', 'last_probleo') "
            "WHERE name = 'outbox'") == SQLITE_OK);
  }
  const auto refused = Ledger::open(path);
  REQUIRE(code_of(refused) == "ledger.damaged");
  CHECK(refused.error().message.find("outbox.last_problem") != std::string::npos);
}

TEST_CASE("a ledger cut off anywhere is refused or reads right, and never crashes") {
  TemporaryDirectory directory;
  const std::string path = directory.file("ledger.db");
  const std::string sound = sound_ledger(path);
  const auto expected = read_everything(*must(Ledger::open(path)));
  for (std::size_t size = 0; size < sound.size(); size += 1021) {
    write_file(path, sound.substr(0, size));
    INFO("cut off after " << size << " bytes");
    if (auto ledger = Ledger::open(path))
      CHECK(read_everything(**ledger) == expected);  // its last page is a free one, and need not be whole
    else
      CHECK(ledger.error().code == "ledger.damaged");
    for (const char* beside : {"-wal", "-shm"}) fs::remove(path + beside);
  }
}

}  // namespace inbox_poller::poller::ledger_test::ledger_damage_test
