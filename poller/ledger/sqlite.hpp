// A thin RAII layer over libsqlite3: one connection, its prepared statements, typed binding and reading. It is not a
// query builder, not safe for several threads, and never throws for an error of SQLite. Invariants: the destructor of a
// Statement resets it and clears its values. After SQLite rolled a transaction back (it does on a full disk), no
// statement runs until transaction() returns. Errors: "ledger.full", "ledger.io", "ledger.busy", "ledger.damaged",
// "ledger.sql" (a defect of the program).
#pragma once

#include <sqlite3.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "poller/changes.hpp"
#include "poller/ledger/ledger_place.hpp"
#include "schema/error.hpp"

namespace inbox_poller::poller {

/// Bytes to bind as BLOB. Other strings are bound as TEXT. Both keep all bytes, such as NUL and invalid UTF-8.
struct Blob {
  std::string_view bytes;
};

class Database;

/// One use of a prepared statement, with bound values. It must not outlive its Database.
class Statement {
 public:
  Statement(Statement&& other) noexcept;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  /// Steps to the next row. True if there is a row to read. Returns errors of preparing and binding too.
  Result<bool> next();

  /// Reads the row's first columns, in order; valid after next() returned true.
  template <class... T>
  void read(T&... fields) const {
    int column = 0;
    (get(column++, fields), ...);
  }

  // Single values: parameters count from 1, columns from 0.
  void bind(int index, long long value);
  void bind(int index, std::string_view text) { bind_text(index, text, false); }
  void bind(int index, Blob blob) { bind_blob(index, blob.bytes, false); }
  /// Binds without a copy; the bytes must stay valid until the statement has run.
  void bind_kept(int index, std::string_view text) { bind_text(index, text, true); }
  void bind_kept(int index, Blob blob) { bind_blob(index, blob.bytes, true); }
  /// Makes next() fail with "ledger.sql", because a value must not be bound.
  void refuse(std::string_view why);
  [[nodiscard]] bool is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  void get(int column, long long& value) const { value = sqlite3_column_int64(statement_, column); }
  void get(int column, int& value) const { value = sqlite3_column_int(statement_, column); }
  void get(int column, bool& value) const { value = sqlite3_column_int(statement_, column) != 0; }
  void get(int column, std::string& value) const;

 private:
  friend class Database;
  Statement(Database& database, sqlite3_stmt* statement, std::optional<Error> problem)
      : database_(&database), statement_(statement), problem_(std::move(problem)) {}
  void check_bound(int result);
  void bind_text(int index, std::string_view text, bool is_kept);
  void bind_blob(int index, std::string_view blob, bool is_kept);

  Database* database_;
  sqlite3_stmt* statement_;
  std::optional<Error> problem_;
};

/// A connection and its prepared statements. One thread only.
class Database {
 public:
  /// Opens an existing file (or ":memory:"). The path must contain no symbolic link.
  static Result<std::unique_ptr<Database>> open(const std::string& path);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  /// Prepares `sql`, or reuses its prepared statement, and binds the values in order. At most one Statement of the same
  /// text may exist at a time.
  template <class... T>
  Statement query(std::string_view sql, const T&... values) {
    Statement statement = prepare(sql);
    int index = 0;
    (statement.bind(++index, values), ...);
    return statement;
  }

  /// Runs a statement and ignores its rows.
  template <class... T>
  Status run(std::string_view sql, const T&... values) {
    return run(query(sql, values...));
  }
  static Status run(Statement statement);

  /// Returns the first column of the first row; 0 or empty if there is no row.
  template <class T, class... Values>
  Result<T> value(std::string_view sql, const Values&... values) {
    Statement statement = query(sql, values...);
    TRY(auto row, statement.next());
    T field{};
    if (row) statement.read(field);
    return field;
  }

  /// Runs several statements of one text, such as schema and settings, without caching them.
  Status script(const std::string& sql);

  /// Runs `work` between BEGIN IMMEDIATE and COMMIT. Rolls back if `work` fails or throws, or the commit fails. A
  /// nested call fails. still_there() runs before and after, so a success means that the file at the path has the rows.
  Status transaction(const std::function<Status()>& work);
  /// Runs `work` in a savepoint of the open transaction. Fails if the transaction is lost.
  Status attempt(const std::function<Status()>& work, Status& outcome);
  [[nodiscard]] bool in_transaction() const { return in_transaction_; }

  /// Records which files are open. Call once all of them are. Errors: as still_there().
  Status keep_to(LedgerPlace place);
  /// Registers `told`, which is called once when the files differ. The call may come from the end of a transaction.
  void on_gone(std::function<void()> told) { on_gone_ = std::move(told); }
  /// Compares the files at the path with the open ones. Errors: "ledger.gone" (final, and the error of every later
  /// transaction), "ledger.io" (the files could not be compared now).
  Status still_there();
  /// Stores the open ledger where the next start finds it; call after "ledger.gone", outside of a transaction. Returns
  /// that path: the ledger's own if only a companion was taken away, or `<path>.saved`. The directory must exist.
  Result<std::string> save();
  /// Writes the whole database to a new, durable file. Replaces the rest of an earlier attempt.
  Status copy_to(const std::string& path);

  /// Makes the end of the connection keep the write-ahead log, instead of moving it into the database.
  void leave_log_at_end();

  /// Registers `told`, which is called after each commit with the areas of the written rows.
  void tell(std::function<void(Areas)> told);

  /// Moves a log of 500 pages into the database if no row was written since the last call. Moves a log of 2,000 pages
  /// in any case. A commit moves a log of 4,000 pages itself, and its caller waits. If no row was written, also
  /// releases the memory of SQLite's page cache.
  void checkpoint_if_due();

  [[nodiscard]] int changes() const { return sqlite3_changes(handle_); }
  /// Returns the number of rows written over this connection, including those that were rolled back.
  [[nodiscard]] long long all_changes() const { return sqlite3_total_changes(handle_); }
  /// Returns a counter that differs after each change of messages or deliveries, and after each rollback.
  [[nodiscard]] long long chat_changes() const { return chat_changes_; }
  [[nodiscard]] long long last_id() const { return sqlite3_last_insert_rowid(handle_); }
  [[nodiscard]] const std::string& path() const { return path_; }

  /// Returns the error for an extended result code, with the file and the remedy.
  [[nodiscard]] Error fault(int result) const;
  /// Returns "ledger.damaged", with the finding and the remedy.
  [[nodiscard]] Error damaged(std::string_view finding) const;

 private:
  explicit Database(std::string path) : path_(std::move(path)) {}
  Statement prepare(std::string_view sql);
  void checkpoint();
  bool is_shortened_in_order();
  [[nodiscard]] bool is_hole(int page) const;
  Status give_up(const Error& gone);
  Status commit();
  void set_log_aside();
  static int committed(void* database, sqlite3* handle, const char* schema, int pages_in_log);
  static void written(void* database, int what, const char* schema, const char* table, sqlite3_int64 row);

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };

  std::string path_;
  sqlite3* handle_ = nullptr;
  bool in_transaction_ = false;
  int pages_in_log_ = 0;
  off_t page_size_ = 0;
  off_t log_bytes_ = 0;  // least size of the log after the last commit
  LedgerPlace place_;
  std::optional<Error> gone_;
  std::function<void()> on_gone_;
  int changes_before_ = 0;  // at the last checkpoint_if_due()
  std::function<void(Areas)> told_;
  Areas touched_ = 0;  // since the last commit
  long long chat_changes_ = 0;
  struct Hash {  // fast, because each use of a statement hashes its text
    using is_transparent = void;
    std::size_t operator()(std::string_view sql) const;
  };
  std::unordered_map<std::string, std::unique_ptr<sqlite3_stmt, Finalize>, Hash, std::equal_to<>> cache_;
};

/// Returns all rows of a statement, each made by `read`: Result<T>(const Database&, const Statement&).
template <class T, class Read>
Result<std::vector<T>> all_rows(Statement statement, const Read& read, const Database& database) {
  std::vector<T> rows;
  while (true) {
    TRY(auto more, statement.next());
    if (!more) return rows;
    TRY(auto row, read(database, statement));
    rows.push_back(std::move(row));
  }
}

/// Returns the first row, or nullopt; `read` as for all_rows().
template <class T, class Read>
Result<std::optional<T>> first_row(Statement statement, const Read& read, const Database& database) {
  TRY(auto more, statement.next());
  if (!more) return std::optional<T>();
  TRY(auto row, read(database, statement));
  return std::optional<T>(std::move(row));
}

}  // namespace inbox_poller::poller
