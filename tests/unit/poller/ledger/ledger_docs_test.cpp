// What docs/reference/ledger.md says of the tables, and that its queries run.
#include <vector>

#include "ledger_support.hpp"
#include "poller/ledger/tables.hpp"

namespace inbox_poller::poller::ledger_test::ledger_docs_test {
namespace {

std::string page() { return read_file((std::filesystem::path(INBOX_POLLER_SOURCE) / "docs/reference/ledger.md").string()); }

/// The texts between ```sql and ```.
std::vector<std::string> blocks(const std::string& text) {
  std::vector<std::string> found;
  for (std::size_t at = text.find("```sql\n"); at != std::string::npos; at = text.find("```sql\n", at)) {
    at += 7;
    found.push_back(text.substr(at, text.find("```", at) - at));
  }
  return found;
}

bool is_query(const std::string& block) { return block.starts_with("SELECT"); }

}  // namespace

TEST_CASE("docs/reference/ledger.md shows every table and view as they are made, and no other") {
  const auto text = page();
  std::string made;
  for (const auto& table : described_tables()) made += table.sql;
  std::string shown;
  for (const auto& block : blocks(text))
    if (!is_query(block)) shown += block;
  CHECK(shown == made);
}

TEST_CASE("every query of docs/reference/ledger.md runs, and finds something in a ledger that has something of everything") {
  TemporaryDirectory directory;
  const std::string path = directory.file("ledger.db");
  auto ledger = must(Ledger::open(path));
  must(ledger->messages().insert(chat_row("k1")));
  MessageRow shown = chat_row("k2");
  shown.key = {"9181534d" + std::string(24, '0') + "-2"};
  must(ledger->messages().insert(shown));
  MessageRow bad = message_row("k3", Disposition::malformed);
  bad.raw = "[7]";
  must(ledger->messages().insert(bad));
  must(ledger->outbox().enqueue(outbox_row("ann", "reply")));
  auto request = request_row("perm-1", handlers::RequestState::denied);
  request.decided_ms = 5;
  must(ledger->requests().put("red", request));
  must(ledger->history().add({1, "red", shown.key.value, "perm-1", "message.accepted", ""}));
  Operator reader(path);
  int queries = 0;
  for (const auto& block : blocks(page())) {
    if (!is_query(block)) continue;
    ++queries;
    INFO(block);
    CHECK(reader.number("SELECT count(*) FROM (" + block.substr(0, block.rfind(';')) + ")") > 0);
  }
  CHECK(queries >= 8);
}

TEST_CASE("the views show keys as everybody else writes them") {
  TemporaryDirectory directory;
  const std::string path = directory.file("ledger.db");
  auto ledger = must(Ledger::open(path));
  const schema::MessageKey key{"00ff" + std::string(28, '7')};
  for (const std::size_t occurrence : {0U, 1U, 12U}) {
    MessageRow row = chat_row("k");
    row.key = schema::with_occurrence(key, occurrence);
    must(ledger->messages().insert(row));
    CHECK(Operator(path).number("SELECT count(*) FROM messages_view WHERE key = '" + row.key.value + "' AND delivery = 'queued'") ==
          1);
  }
}

TEST_CASE("a key is sixteen bytes and the number of the repetition, there and back, and nothing else is a key") {
  for (const std::size_t occurrence : {0U, 1U, 9U, 10U, 4'000'000'000U}) {
    const auto key = schema::with_occurrence(schema::make_message_key({"t", "i"}, "ann", "t", "text", 0), occurrence);
    const auto bytes = key_bytes(key.value);
    REQUIRE(bytes.has_value());
    CHECK(bytes->size() == (occurrence == 0 ? 16 : 16 + std::to_string(occurrence).size()));
    CHECK(key_text(*bytes) == key.value);
  }
  const std::string digits(32, 'a');
  for (const auto& none : {std::string("k1"), digits.substr(1), digits + "0", digits + "-", digits + "-0", digits + "-01",
                           digits + "-x", "A" + digits.substr(1), digits + "-" + std::string(21, '1')})
    CHECK_FALSE(key_bytes(none).has_value());
  CHECK(key_bytes("") == "");
  for (const auto& none : {std::string(15, 'x'), std::string(16, 'x') + "0", std::string(16, 'x') + "-"})
    CHECK_FALSE(key_text(none).has_value());
  auto ledger = in_memory();
  MessageRow row = chat_row("k");
  row.key = {"no key"};
  CHECK(code_of(ledger->messages().insert(row)) == "ledger.sql");
  CHECK_FALSE(must(ledger->messages().known(row.key)));
  CHECK_FALSE(must(ledger->outbox().wrote(row.key)));
  CHECK(must(ledger->history().of_message(row.key)).empty());
}

}  // namespace inbox_poller::poller::ledger_test::ledger_docs_test
