// What the ledger's tests share: a directory of one's own, rows with sensible defaults, and a hand on the ledger's
// connection.
#pragma once

#include <sqlite3.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "poller/ledger/ledger.hpp"
#include "tests/support/catch.hpp"

namespace inbox_poller::poller::ledger_test {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "ledger-test-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// The value; a fault fails the test with its own words.
template <class T>
T must(Result<T> result) {
  if (!result) FAIL(result.error().code << ": " << result.error().message);
  return *std::move(result);
}

template <class T>
std::string code_of(const Result<T>& result) {
  return result.ok() ? "ok" : result.error().code;
}

inline std::unique_ptr<Ledger> in_memory() { return must(Ledger::open(":memory:")); }

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// A key that is known by a name: its letters as digits, or, when it is too long for that, its hash.
inline schema::MessageKey named(std::string_view name) {
  if (name.size() > 16) return {schema::content_hash(name).substr(0, 32)};
  std::string digits;
  for (const unsigned char c : name) {
    digits += "0123456789abcdef"[c / 16];
    digits += "0123456789abcdef"[c % 16];
  }
  digits.resize(32, '0');
  return {digits};
}

/// The short name of a key.
inline std::string name_of(const schema::MessageKey& key) {
  std::string name;
  for (std::size_t i = 0; i + 1 < 32; i += 2) name += static_cast<char>(std::stoi(key.value.substr(i, 2), nullptr, 16));
  return name.substr(0, name.find('\0'));
}

inline MessageRow message_row(const std::string& key, Disposition disposition = Disposition::control) {
  MessageRow row;
  row.team = "red";
  row.inbox = "team-lead";
  row.key = named(key);
  row.sender = "ann";
  row.type = "text";
  row.message = {"ann", "hello", "", "2026-02-07T15:20:46.348Z", "", ""};
  row.disposition = disposition;
  row.received_ms = 1000;
  row.batch = 1;
  return row;
}

inline MessageRow chat_row(const std::string& key, long long batch = 1) {
  MessageRow row = message_row(key, Disposition::chat);
  row.batch = batch;
  row.delivery = DeliveryState::queued;
  return row;
}

inline OutboxRow outbox_row(const std::string& inbox, const std::string& text, const std::string& request_id = "") {
  OutboxRow row;
  row.team = "red";
  row.batch = 1;
  row.inbox = inbox;
  row.key = named("key of " + text);
  row.message.text = text;
  row.request_id = request_id;
  row.created_ms = 1000;
  row.next_ms = 1000;
  return row;
}

inline handlers::Request request_row(const std::string& id, handlers::RequestState state) {
  handlers::Request row;
  row.request_id = id;
  row.asker = "ann";
  row.content_hash = "hash of " + id;
  row.subject = "Bash";
  row.body = R"({"command":"ls"})";
  row.state = state;
  row.asked_ms = 1000;
  row.message = named("message of " + id);
  return row;
}

/// A shutdown with something in every column.
inline handlers::Shutdown shutdown_row(const std::string& id, handlers::ShutdownState state) {
  handlers::Shutdown row;
  row.request_id = id;
  row.member = "ann";
  row.agent_id = "ann@red";
  row.by = "mona";
  row.reason = "done for today";
  row.state = state;
  row.requested_ms = 1000;
  row.remind_ms = 1020;
  row.reminded_ms = 1021;
  row.force_ms = 1060;
  row.timeout_ms = 1600;
  row.changed_ms = 1000;
  row.term_ms = 1005;
  row.kill_ms = 1010;
  row.place = {"tmux", "%7", {100, "11"}, {200, "22"}, {{300, "33"}, {301, "34"}}, ""};
  row.survivors = {{301, "34"}};
  row.answer = "not yet";
  row.tasks = "1 \"Parse\"";
  row.detail = "waits for its answer";
  return row;
}

inline OrderRow order_row(const std::string& member, const std::string& origin) {
  return {0, "red", member, 500, handlers::OrderKind::mode, "plan", origin, "mona", named("key of " + origin), 1000, handlers::OrderState::sent, 1000};
}

/// While it lives, remembers the last connection that anything in this process opened.
class ConnectionSpy {
 public:
  ConnectionSpy() {
    last() = nullptr;
    sqlite3_auto_extension(hook());
  }
  ~ConnectionSpy() { sqlite3_cancel_auto_extension(hook()); }
  ConnectionSpy(const ConnectionSpy&) = delete;
  ConnectionSpy& operator=(const ConnectionSpy&) = delete;
  [[nodiscard]] static sqlite3* connection() { return last(); }

 private:
  static sqlite3*& last() {
    static sqlite3* connection = nullptr;
    return connection;
  }
  static int remember(sqlite3* connection, char**, const void*) {
    // A model in memory, with which a file's columns are compared, comes after the file.
    const bool is_model = last() != nullptr && *sqlite3_db_filename(connection, "main") == '\0';
    if (!is_model) last() = connection;
    return SQLITE_OK;
  }
  // SQLite declares extension entry points as void(*)() and calls them by their real type.
  static void (*hook())() { return reinterpret_cast<void (*)()>(&remember); }
};

/// A second connection, as an operator's `sqlite3` would be.
class Operator {
 public:
  explicit Operator(const std::string& path) { REQUIRE(sqlite3_open(path.c_str(), &connection_) == SQLITE_OK); }
  ~Operator() { sqlite3_close(connection_); }
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;
  int run(const std::string& sql) { return sqlite3_exec(connection_, sql.c_str(), nullptr, nullptr, nullptr); }
  long long number(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    REQUIRE(sqlite3_prepare_v2(connection_, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK);
    REQUIRE(sqlite3_step(statement) == SQLITE_ROW);
    const long long value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
  }
  sqlite3* connection() { return connection_; }

 private:
  sqlite3* connection_ = nullptr;
};

}  // namespace inbox_poller::poller::ledger_test
