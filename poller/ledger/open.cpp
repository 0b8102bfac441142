// Opening of a ledger: its lock, its owner and permissions, its integrity and its format.
#include <sqlite3.h>

#include <cstdlib>
#include <filesystem>

#include "poller/ledger/ledger_impl.hpp"
#include "poller/ledger/tables.hpp"

namespace inbox_poller::poller {
namespace {

// fullfsync is for macOS, where fsync alone does not reach the disk. Temporary tables stay in memory, so that a full
// disk cannot fail a read. The size limit cuts the log after a long read by a person. The cache (16 MiB) keeps the
// pages of a burst until their delivery; checkpoint_if_due() releases it.
constexpr const char* settings = R"sql(
PRAGMA busy_timeout = 250;
PRAGMA synchronous = FULL;
PRAGMA fullfsync = 1;
PRAGMA checkpoint_fullfsync = 1;
PRAGMA trusted_schema = OFF;
PRAGMA cell_size_check = ON;
PRAGMA secure_delete = OFF;
PRAGMA temp_store = MEMORY;
PRAGMA journal_size_limit = 16777216;
PRAGMA cache_size = -16384;
)sql";

Status make_tables(Database& database) {
  std::string sql;
  for (const auto& table : described_tables()) sql += table.sql;
  sql += "PRAGMA application_id = " + std::to_string(ledger_application_id) + ";";
  sql += "PRAGMA user_version = " + std::to_string(ledger_format) + ";";
  return database.transaction([&] { return database.script(sql); });
}

// Built under another name and renamed when complete. After a crash in between there is no ledger, and the next start
// makes one.
Status create(const std::string& path) {
  const std::string draft = path + ".new";
  TRY(create_private_file(draft));
  {
    TRY(auto database, Database::open(draft));
    // Large pages, because each page that a commit changed costs two writes to the log, whatever its size.
    const auto first = "PRAGMA page_size = 8192; PRAGMA journal_mode = MEMORY;" + std::string(settings);
    TRY(database->script(first));
    TRY(make_tables(*database));
  }
  return rename_durably(draft, path);
}

constexpr const char* all_columns =
    "SELECT t.name || '.' || c.name AS value FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table'";

/// Returns the columns of this format, as a JSON list of `table.column`.
Result<std::string> columns_of_format() {
  static const auto columns = []() -> Result<std::string> {
    TRY(auto model, Database::open(":memory:"));
    TRY(make_tables(*model));
    return model->value<std::string>("SELECT json_group_array(value) FROM (" + std::string(all_columns) + ")");
  }();
  return columns;
}

// No sum and no index covers the names of columns, so each name must be there. Additional columns are allowed.
Status examine_columns(Database& database) {
  TRY(const auto wanted, columns_of_format());
  TRY(auto missing, database.value<std::string>(
      "SELECT value FROM json_each(?1) WHERE value NOT IN (" + std::string(all_columns) + ")", wanted));
  return missing.empty() ? Status(Done{}) : database.damaged("column " + missing + " is missing");
}

// A flipped bit in the number alone must not set a ledger aside, so the tables must have another format too.
Status examine_older(Database& database, int format) {
  TRY(const auto ours, columns_of_format());
  TRY(const auto differs, database.value<bool>(
      "WITH ours AS (SELECT value FROM json_each(?1)), theirs(value) AS (" + std::string(all_columns) + ") "
      "SELECT EXISTS (SELECT 1 FROM ours WHERE value NOT IN theirs) OR EXISTS (SELECT 1 FROM theirs WHERE value NOT IN "
      "ours AND substr(value, 1, instr(value, '.')) IN (SELECT substr(value, 1, instr(value, '.')) FROM ours))", ours));
  if (differs) return Done{};
  return database.damaged("its number says format " + std::to_string(format) + ", and its tables are of format " +
                          std::to_string(ledger_format));
}

/// Returns the fault that prevented integrity_check from reading a page, or 0. SQLite reports such a page as damaged.
int unreadable(std::string_view finding) {
  constexpr std::string_view before = "error code=";
  const auto at = finding.find(before);
  if (at == std::string_view::npos) return 0;
  const int code = std::atoi(std::string(finding.substr(at + before.size())).c_str());
  const int kind = code & 0xff;
  return kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB ? 0 : code;
}

// Returns the format of an undamaged ledger. integrity_check and not quick_check: a damaged index would hide a known
// message, and an unknown message is processed again.
Result<int> examine(Database& database) {
  TRY(auto id, database.value<int>("PRAGMA application_id"));
  if (id != ledger_application_id) {
    return Error{"ledger.foreign",
                 database.path() + ": is an SQLite database, but not a ledger of inbox-poller; choose another path"};
  }
  TRY(auto version, database.value<int>("PRAGMA user_version"));
  if (version > ledger_format) {
    return Error{"ledger.newer", database.path() + ": has format " + std::to_string(version) +
                                     ", this inbox-poller knows up to " + std::to_string(ledger_format) +
                                     "; install the newer inbox-poller again"};
  }
  TRY(auto finding, database.value<std::string>("PRAGMA integrity_check(1)"));
  if (version < 1) return database.damaged("its format is " + std::to_string(version));
  if (const int code = unreadable(finding); code != 0) return database.fault(code);
  if (finding != "ok") return database.damaged(finding);
  TRY(version == ledger_format ? examine_columns(database) : examine_older(database, version));
  return version;
}

Status use_write_ahead_log(Database& database) {
  TRY(auto mode, database.value<std::string>("PRAGMA journal_mode = WAL"));
  // SQLite makes the log and its index at the next read, and LedgerPlace must find them.
  if (mode == "wal") return database.run("PRAGMA user_version");
  return Error{"ledger.io", database.path() + ": this file system does not support a write-ahead log (got \"" + mode +
                                "\"); put the ledger on a local disk"};
}

Result<std::unique_ptr<Database>> open_file(const std::string& path) {
  TRY(auto database, Database::open(path));
  TRY(database->script(settings));
  return database;
}

// Returns the ledger's new name. All bytes stay: SQLite keeps a log with commits, and removes only an empty log.
Result<std::string> set_older_aside(std::unique_ptr<Database> database, int format) {
  const std::string path = database->path();
  std::error_code none;
  const auto log_bytes = std::filesystem::file_size(path + "-wal", none);
  if (!none && log_bytes > 0) database->leave_log_at_end();
  database.reset();
  return rename_ledger(path, path + ".format-" + std::to_string(format));
}

}  // namespace

Result<std::unique_ptr<Ledger>> Ledger::open(const std::string& given) {
  const bool in_memory = given == ":memory:";
  std::string path = given;
  bool is_new = false;
  bool was_saved = false;
  LedgerLock lock;
  if (!in_memory) {
    TRY(auto resolved, resolved_path(given));
    path = resolved;
    TRY(auto taken, LedgerLock::take(path));
    lock = std::move(taken);
    TRY(auto saved, saved_ledger_waits(path));
    was_saved = saved;
    if (was_saved)
      TRY(rename_durably(saved_ledger(path), path));
    TRY(auto exists, ledger_exists(path));
    is_new = !exists;
    if (is_new) {
      TRY(create(path));
    }
  }
  TRY(auto database, open_file(path));
  std::optional<SetAsideLedger> older;
  if (!in_memory) {
    TRY(const int format, examine(*database));
    if (format != ledger_format) {
      TRY(auto aside, set_older_aside(std::move(database), format));
      if (auto made = create(path); !made)
        return in_context("after the ledger of format " + std::to_string(format) + " was renamed to " + aside,
                          made.error());
      TRY(auto begun, open_file(path));
      database = std::move(begun);
      older = SetAsideLedger{std::move(aside), "it has format " + std::to_string(format) + ", and this inbox-poller uses format " +
                                                  std::to_string(ledger_format)};
    }
    TRY(use_write_ahead_log(*database));
  } else {
    TRY(make_tables(*database));
  }
  auto impl = std::make_unique<Impl>(std::move(lock), std::move(database));
  impl->is_new = is_new || older;
  impl->was_saved = was_saved && !older;
  impl->older = std::move(older);
  if (!in_memory) {
    TRY(auto place, LedgerPlace::remember(path));
    TRY(impl->database->keep_to(std::move(place)));
  }
  return std::unique_ptr<Ledger>(new Ledger(std::move(impl)));
}

Result<std::string> Ledger::set_aside(const std::string& path, EpochMs now_ms) {
  return set_ledger_aside(path, now_ms);
}

}  // namespace inbox_poller::poller
