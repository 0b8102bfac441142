#include <set>

#include "ledger_support.hpp"

namespace inbox_poller::poller::ledger_test::ledger_plans_test {
namespace {

/// Every statement that the connection runs while this lives.
class StatementLog {
 public:
  explicit StatementLog(sqlite3* connection) : connection_(connection) {
    sqlite3_trace_v2(connection_, SQLITE_TRACE_STMT, &record, this);
  }
  ~StatementLog() { sqlite3_trace_v2(connection_, 0, nullptr, nullptr); }
  StatementLog(const StatementLog&) = delete;
  StatementLog& operator=(const StatementLog&) = delete;
  [[nodiscard]] const std::set<std::string>& statements() const { return statements_; }

 private:
  static int record(unsigned, void* self, void* statement, void*) {
    static_cast<StatementLog*>(self)->statements_.insert(sqlite3_sql(static_cast<sqlite3_stmt*>(statement)));
    return 0;
  }
  sqlite3* connection_;
  std::set<std::string> statements_;
};

std::vector<std::string> plan_of(sqlite3* connection, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  REQUIRE(sqlite3_prepare_v2(connection, ("EXPLAIN QUERY PLAN " + sql).c_str(), -1, &statement, nullptr) == SQLITE_OK);
  std::vector<std::string> steps;
  while (sqlite3_step(statement) == SQLITE_ROW) {
    steps.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(statement, 3)));
  }
  sqlite3_finalize(statement);
  return steps;
}

bool starts_with(const std::string& text, std::string_view beginning) {
  return text.compare(0, beginning.size(), beginning) == 0;
}

/// A walk over a whole table, except over the list of ids we gave ourselves and the one-row table of the tick counter.
bool is_full_scan(const std::string& step) {
  return starts_with(step, "SCAN ") && !starts_with(step, "SCAN json_each") && !starts_with(step, "SCAN daemon") &&
         !starts_with(step, "SCAN (subquery");  // of rows that an index found
}

void use_everything(Ledger& ledger) {
  must(ledger.transaction([&]() -> Status {
    const long long id = must(ledger.messages().insert(chat_row("k1")));
    must(ledger.messages().known(named("k1")));
    must(ledger.messages().find(named("k1")));
    must(ledger.messages().like("6", 10));
    must(ledger.messages().quarantined("red", 10));
    must(ledger.deliveries().ready_messages("red", 0, 10));
    must(ledger.deliveries().ready_messages("red", 0, 10, DeliveryTable::Overdue{1, 1}));
    must(ledger.deliveries().queued("red", 10, 1));
    must(ledger.deliveries().digest_material("red", 10));
    must(ledger.deliveries().anything_queued("red"));
    must(ledger.messages().about("red", "ann", "r-1", "permission_requested"));
    must(ledger.requests().decisions("red", 0, 10));
    must(ledger.requests().decisions("", 0, 10));
    must(ledger.deliveries().mark_offered({id}, "recv", 1));
    must(ledger.deliveries().requeue("red", {id}));
    must(ledger.deliveries().requeue_all_offered());
    must(ledger.deliveries().mark_delivered({id}, 1));
    must(ledger.deliveries().mark_expired({id}, 1));
    must(ledger.deliveries().counts("red"));
    must(ledger.requests().put("red", request_row("r-1", handlers::RequestState::pending)));
    must(ledger.requests().find("red", {handlers::RequestKind::permission, "ann", "r-1"}));
    must(ledger.requests().by_id("r-1"));
    must(ledger.requests().open("red"));
    must(ledger.requests().open_count("red", "ann"));
    must(ledger.requests().plan_count("red", "ann", "hash"));
    must(ledger.outbox().enqueue(outbox_row("ann", "reply", "r-1")));
    for (const auto& row : must(ledger.outbox().due("red", 1000, 10))) must(ledger.outbox().behind(row, 10));
    must(ledger.outbox().of_request("red", "r-1"));
    must(ledger.outbox().written("red"));
    must(ledger.outbox().set(1, EffectState::done, 1, 0, ""));
    must(ledger.outbox().resend(must(ledger.outbox().of_request("red", "r-1")), 1));
    must(ledger.outbox().owed("red"));
    must(ledger.members().put({"red", "ann", true, {}, "", "", 1}));
    must(ledger.members().of_team("red"));
    must(ledger.rules().add({0, "red", "s", handlers::RuleKind::permission, "allow", "Bash", "mona", 1}));
    must(ledger.rules().of_team("red"));
    must(ledger.rules().remove(1));
    must(ledger.outbox().wrote(named("key of reply")));
    must(ledger.outbox().like("6b", 10));
    must(ledger.shutdowns().put("red", shutdown_row("shutdown-1@ann", handlers::ShutdownState::requested)));
    must(ledger.shutdowns().find("red", "shutdown-1@ann"));
    must(ledger.shutdowns().open("red"));
    must(ledger.shutdowns().latest("red", 10));
    must(ledger.shutdowns().by_id("shutdown-1@ann"));
    must(ledger.orders().add(order_row("ann", "config plan")));
    must(ledger.orders().set(1, handlers::OrderState::applied, 2));
    must(ledger.orders().of_team("red"));
    must(ledger.leads().put("red", {handlers::LeadState::idle, 1, 0}));
    must(ledger.leads().find("red"));
    must(ledger.next_batch());
    must(ledger.history().add({1, "red", named("k1").value, "r-1", "message.accepted", ""}));
    must(ledger.history().of_message(named("k1")));
    must(ledger.history().of_request("red", "r-1"));
    must(ledger.prune("red", 0, [](const schema::MessageKey&) { return true; }));
    return Done{};
  }));
}

}  // namespace

TEST_CASE(
    "no statement of the ledger walks over a whole table, and chat and replies are found in order without sorting") {
  TemporaryDirectory directory;
  ConnectionSpy spy;
  auto ledger = must(Ledger::open(directory.file("ledger.db")));
  StatementLog log(ConnectionSpy::connection());
  use_everything(*ledger);
  CHECK(log.statements().size() >= 50);  // BEGIN, COMMIT and at least one statement for every function

  Operator other(directory.file("ledger.db"));
  for (const auto& sql : log.statements()) {
    if (sql == "BEGIN IMMEDIATE" || sql == "COMMIT") continue;
    INFO(sql);
    for (const auto& step : plan_of(other.connection(), sql)) {
      INFO(step);
      CHECK_FALSE(is_full_scan(step));
      if (starts_with(sql, "SELECT count(*)") && starts_with(step, "SEARCH"))
        CHECK(step.find("INDEX ") != std::string::npos);
      for (const std::string wide : {"SEARCH messages", "SEARCH deliveries"})
        if (starts_with(sql, "SELECT count(*)") && starts_with(step, wide))
          CHECK(step.find("USING COVERING INDEX") != std::string::npos);
      if (sql.find("LIMIT ?3") != std::string::npos) CHECK(step.find("TEMP B-TREE") == std::string::npos);
    }
  }
}

TEST_CASE("what becomes of a batch is written by the ids of its rows, however much is in the same state") {
  TemporaryDirectory directory;
  ConnectionSpy spy;
  auto ledger = must(Ledger::open(directory.file("ledger.db")));
  const long long id = must(ledger->messages().insert(chat_row("k1")));
  StatementLog log(ConnectionSpy::connection());
  auto& deliveries = ledger->deliveries();
  must(deliveries.mark_offered({id}, "recv", 1));
  must(deliveries.return_unseen({id}));
  must(deliveries.mark_offered({id}, "recv", 1));
  must(deliveries.requeue("red", {id}));
  must(deliveries.mark_delivered({id}, 1));
  must(deliveries.mark_expired({id}, 1));
  must(deliveries.mark_offered({id, id + 1, id + 2}, "recv", 1));
  must(deliveries.mark_delivered({id, id + 1, id + 2}, 1));
  must(deliveries.mark_offered({id, id + 2}, "recv", 1));
  must(deliveries.mark_delivered({id, id + 2}, 1));
  Operator other(directory.file("ledger.db"));
  int updates = 0;
  for (const auto& sql : log.statements()) {
    if (!starts_with(sql, "UPDATE deliveries")) continue;
    ++updates;
    INFO(sql);
    const auto steps = plan_of(other.connection(), sql);
    REQUIRE_FALSE(steps.empty());
    const bool by_bounds = sql.find("BETWEEN") != std::string::npos;
    CHECK(steps.front() == "SEARCH deliveries USING INTEGER PRIMARY KEY (" +
                               std::string(by_bounds ? "rowid>? AND rowid<?" : "rowid=?") + ")");
  }
  CHECK(updates == 9);
}

TEST_CASE("a full scan would be noticed") {
  TemporaryDirectory directory;
  must(Ledger::open(directory.file("ledger.db")));
  Operator other(directory.file("ledger.db"));
  CHECK(is_full_scan(plan_of(other.connection(), "SELECT * FROM messages WHERE sender = ?1").at(0)));
}

TEST_CASE("between nodes what waits is found without what was put or is there, and what is to be told without what was") {
  TemporaryDirectory directory;
  ConnectionSpy spy;
  auto ledger = must(Ledger::open(directory.file("ledger.db")));
  must(ledger->node_mail().prepare());
  StatementLog log(ConnectionSpy::connection());
  auto& mail = ledger->node_mail();
  must(mail.streams("red", true));
  must(mail.waiting("red", "@h2", true, 10));
  must(mail.after("red", "@h2", 10));
  must(mail.unheard("red", 1));
  must(mail.is_handed_over("red", "h2", 1));
  must(mail.settled_elsewhere("red", "h2", 1, 4, 1));
  must(mail.to_file("red", 10));
  must(mail.for_lead("red", "h2", 0, 10));
  must(mail.nodes_with_mail_for_lead("red"));
  must(mail.queued("red", MailDirection::out));
  must(mail.untold("red", "h2", 10));
  must(mail.nodes_to_tell("red"));
  must(mail.last_number("red", "h2", true));
  must(mail.heard("red", {"@h2", true, NodeMailState::there, {}}, {named("k1").value}, 1));
  must(mail.sent("red", "bob", named("k1")));
  must(mail.set("red", {1}, NodeMailState::put, 1));
  must(mail.tell({1}, 1));
  must(mail.unsent_orders("red"));
  Operator other(directory.file("ledger.db"));
  CHECK(log.statements().size() >= 16);
  for (const auto& sql : log.statements()) {
    INFO(sql);
    std::string plan;
    for (const auto& step : plan_of(other.connection(), sql)) plan += step + "; ";
    INFO(plan);
    const bool by_state = plan.find("node_mail_moving (team=? AND direction=? AND state=?") != std::string::npos;
    const bool by_number = plan.find("node_mail_number (team=? AND direction=? AND node=? AND lead=?") != std::string::npos;
    const bool by_key = plan.find("sqlite_autoindex_node_mail_1 (key=?") != std::string::npos;
    const bool by_id = starts_with(plan, "SEARCH node_mail USING INTEGER PRIMARY KEY (rowid=?)");
    const bool by_few = plan.find("node_mail_untold (team=?") != std::string::npos ||
                        plan.find("node_mail_handed_over (team=? AND node=? AND number") != std::string::npos;
    CHECK((by_state || by_number || by_key || by_id || by_few));
    if (sql.find("ORDER BY number") != std::string::npos || sql.find("told < 2") != std::string::npos)
      CHECK(plan.find("TEMP B-TREE") == std::string::npos);
  }
}

}  // namespace inbox_poller::poller::ledger_test::ledger_plans_test
