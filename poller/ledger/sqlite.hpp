// A thin RAII layer over libsqlite3: one connection, its prepared statements, typed binding and reading, faults as
// Error. What it is not: a query builder, or safe to share between threads; and it never throws for what SQLite
// reports. Invariants: a statement is reset and forgets its values when its lease ends; once a transaction was rolled
// back under us (SQLite does that on a full disk), nothing runs until transaction() has returned. Error codes:
// ledger.full, ledger.io, ledger.busy, ledger.damaged, ledger.sql (a mistake of ours).
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

/// Bytes to be bound as BLOB. Anything else textual is bound as TEXT; neither loses a byte (NUL, invalid UTF-8).
struct Blob {
  std::string_view bytes;
};

class Database;

/// One use of a prepared statement, its values already bound. Ends when it goes out of scope.
class Statement {
 public:
  Statement(Statement&& other) noexcept;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  /// Steps. True: a row is there to be read. A fault of preparing or binding comes out here, too.
  Result<bool> next();

  /// Reads the row's columns from the first on; valid after next() said true.
  template <class... T>
  void read(T&... fields) const {
    int column = 0;
    (get(column++, fields), ...);
  }

  // One value at a time: parameters count from 1, columns from 0.
  void bind(int index, long long value);
  void bind(int index, std::string_view text);
  void bind(int index, Blob blob);
  /// Likewise, without a copy: whoever binds it keeps the bytes until the statement has run.
  void bind_kept(int index, std::string_view text);
  void bind_kept(int index, Blob blob);
  /// A value that must not be bound: next() fails, "ledger.sql".
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

  Database* database_;
  sqlite3_stmt* statement_;
  std::optional<Error> problem_;
};

class Database {
 public:
  /// Opens an existing file (or ":memory:"). No symbolic link may be on the path.
  static Result<std::unique_ptr<Database>> open(const std::string& path);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  /// A lease on the prepared statement for `sql`, with the values bound in order. At most one lease per text at a time.
  template <class... T>
  Statement query(std::string_view sql, const T&... values) {
    Statement statement = prepare(sql);
    int index = 0;
    (statement.bind(++index, values), ...);
    return statement;
  }

  /// Runs a statement whose rows, if any, do not matter.
  template <class... T>
  Status run(std::string_view sql, const T&... values) {
    return run(query(sql, values...));
  }
  static Status run(Statement statement);

  /// The first column of the first row; 0 or empty when there is none.
  template <class T, class... Values>
  Result<T> value(std::string_view sql, const Values&... values) {
    Statement statement = query(sql, values...);
    TRY(auto row, statement.next());
    T field{};
    if (row) statement.read(field);
    return field;
  }

  /// Several statements in one text, not cached: schema and settings.
  Status script(const std::string& sql);

  /// BEGIN IMMEDIATE, `work`, COMMIT. Rolls back when `work` fails or throws, or the commit fails. Nesting is refused.
  /// A success means that the file at the path had the rows: still_there() is asked before, and after the commit.
  Status transaction(const std::function<Status()>& work);
  /// A savepoint in the open transaction around `work`. Fails when the transaction is lost.
  Status attempt(const std::function<Status()>& work, Status& outcome);
  [[nodiscard]] bool in_transaction() const { return in_transaction_; }

  /// Remembers which files are open, now that all of them are. Errors: as still_there().
  Status keep_to(LedgerPlace place);
  /// From now on `told` is called once, when the files are no longer there; perhaps within a transaction's end.
  void on_gone(std::function<void()> told) { on_gone_ = std::move(told); }
  /// Compares the files at the path with those that are open. "ledger.gone": they differ, which is final, and every
  /// later transaction fails with it; "ledger.io": that cannot be found out now, and is asked again.
  Status still_there();
  /// After "ledger.gone": puts what is open where a start finds it. Returns that place: the ledger's own path, when
  /// only a companion was taken away, or `<path>.saved`. Its folder must be there. Outside of a transaction.
  Result<std::string> save();
  /// Writes the whole database to a new file of its own, durably; a left-over of an earlier try goes.
  Status copy_to(const std::string& path);

  /// Makes the end of the connection leave the write-ahead log as it is, instead of moving it into the database.
  void leave_log_at_end();

  /// From now on each transaction that is committed tells the tables' sorts of change.
  void tell(std::function<void(Areas)> told);

  /// Moves what stands in the write-ahead log into the database when that is much and nothing was written since the last
  /// call, or when it is four times as much. Left alone, a commit does it when it is eight times as much, and whoever
  /// waits for that commit waits for it. Nothing written: the pages that a burst left in memory go, too.
  void checkpoint_if_due();

  [[nodiscard]] int changes() const { return sqlite3_changes(handle_); }
  /// Rows written over this connection so far, also those that were rolled back.
  [[nodiscard]] long long all_changes() const { return sqlite3_total_changes(handle_); }
  /// Another number once messages or their deliveries are others, also when they are as before by a rollback.
  [[nodiscard]] long long chat_changes() const { return chat_changes_; }
  [[nodiscard]] long long last_id() const { return sqlite3_last_insert_rowid(handle_); }
  [[nodiscard]] const std::string& path() const { return path_; }

  /// The fault that `result` (an extended result code) stands for, told with the file and what to do.
  [[nodiscard]] Error fault(int result) const;
  /// "ledger.damaged", with what was found and how to go on.
  [[nodiscard]] Error damaged(std::string_view finding) const;

 private:
  explicit Database(std::string path) : path_(std::move(path)) {}
  Statement prepare(std::string_view sql);
  void checkpoint();
  bool is_shortened_in_order();
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
  off_t log_bytes_ = 0;  // what the log had at least after the last commit
  LedgerPlace place_;
  std::optional<Error> gone_;
  std::function<void()> on_gone_;
  int changes_before_ = 0;  // when checkpoint_if_due() was last called
  std::function<void(Areas)> told_;
  Areas touched_ = 0;  // since the last commit
  long long chat_changes_ = 0;
  struct Hash {  // of statements, some of them long, for every use of one
    using is_transparent = void;
    std::size_t operator()(std::string_view sql) const;
  };
  std::unordered_map<std::string, std::unique_ptr<sqlite3_stmt, Finalize>, Hash, std::equal_to<>> cache_;
};

/// All rows of a statement, each made by `read`: Result<T>(const Database&, const Statement&).
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

/// The first row, if there is one.
template <class T, class Read>
Result<std::optional<T>> first_row(Statement statement, const Read& read, const Database& database) {
  TRY(auto more, statement.next());
  if (!more) return std::optional<T>();
  TRY(auto row, read(database, statement));
  return std::optional<T>(std::move(row));
}

}  // namespace inbox_poller::poller
