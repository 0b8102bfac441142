// How a ledger comes to be open: owned, private, whole, ours, and of our version.
#include <sqlite3.h>

#include <cstdlib>

#include "poller/ledger/ledger_impl.hpp"
#include "poller/ledger/old_formats.hpp"
#include "poller/ledger/tables.hpp"
#include "poller/ledger/take_over.hpp"

namespace inbox_poller::poller {
namespace {

// fullfsync is for macOS, where fsync alone does not reach the disk; elsewhere it changes nothing. Temporary tables
// stay in memory so that a full disk cannot fail a read. The size limit cuts the log back after an operator's long read
// held it up. The cache (16 MiB) holds what a burst wrote until it is handed over; checkpoint_if_due() gives it back.
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

// Built beside its place and renamed when complete: after a crash in here there is still no ledger, and the next start
// makes one.
Status create(const std::string& path) {
  const std::string draft = path + ".new";
  TRY(create_private_file(draft));
  {
    TRY(auto database, Database::open(draft));
    // Each page that a commit changed is two writes to its log, whatever the page's size.
    const auto first = "PRAGMA page_size = 8192; PRAGMA journal_mode = MEMORY;" + std::string(settings);
    TRY(database->script(first));
    TRY(make_tables(*database));
  }
  return rename_durably(draft, path);
}

// The columns' names have no sum and no index: each must be there under the name that its format gave it. More may be
// there.
Status examine_columns(Database& database, int version) {
  TRY(auto model, Database::open(":memory:"));
  TRY(version == ledger_format ? make_tables(*model) : make_old_tables(*model, version));
  const std::string columns = "FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table'";
  TRY(auto wanted, model->value<std::string>("SELECT json_group_array(t.name || '.' || c.name) " + columns));
  TRY(auto missing, database.value<std::string>(
      "SELECT value FROM json_each(?1) WHERE value NOT IN (SELECT t.name || '.' || c.name " + columns + ")", wanted));
  return missing.empty() ? Status(Done{}) : database.damaged("it has no column " + missing);
}

/// The fault that kept integrity_check from reading a page, which it tells as if the page were damaged; 0: it read all.
int unreadable(std::string_view finding) {
  constexpr std::string_view before = "error code=";
  const auto at = finding.find(before);
  if (at == std::string_view::npos) return 0;
  const int code = std::atoi(std::string(finding.substr(at + before.size())).c_str());
  const int kind = code & 0xff;
  return kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB ? 0 : code;
}

// Is it ours, may we touch it, is it whole. integrity_check rather than quick_check: a damaged index would hide a known
// message, and a message that is not known is judged again.
Status examine(Database& database) {
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
  if (version > static_cast<int>(old_formats.size()) && version < ledger_format) {
    return Error{"ledger.unreleased", database.path() + ": has format " + std::to_string(version) +
                                          ", which no release ever wrote and this inbox-poller does not read; start it "
                                          "with --new-ledger, which sets that one aside"};
  }
  TRY(auto finding, database.value<std::string>("PRAGMA integrity_check(1)"));
  if (version < 1) return database.damaged("its format is " + std::to_string(version));
  if (const int code = unreadable(finding); code != 0) return database.fault(code);
  if (finding != "ok") return database.damaged(finding);
  return examine_columns(database, version);
}

Status use_write_ahead_log(Database& database) {
  TRY(auto mode, database.value<std::string>("PRAGMA journal_mode = WAL"));
  if (mode == "wal") return Done{};
  return Error{"ledger.io", database.path() + ": this file system does not support a write-ahead log (got \"" + mode +
                                "\"); put the ledger on a local disk"};
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
  TRY(auto opened, Database::open(path));
  auto impl = std::make_unique<Impl>(std::move(lock), std::move(opened));
  Database& database = *impl->database;
  TRY(database.script(settings));
  if (!in_memory) {
    TRY(examine(database));
    TRY(use_write_ahead_log(database));
  }
  TRY(const auto version, database.value<int>("PRAGMA user_version"));
  if (in_memory) {
    TRY(make_tables(database));
  } else if (version < ledger_format) {
    TRY(auto taken, take_over(database, version));
    impl->taken_over = TakenOver{version, std::move(taken)};
  }
  impl->is_new = is_new;
  impl->was_saved = was_saved;
  if (!in_memory) {
    TRY(auto place, LedgerPlace::remember(path));
    TRY(database.keep_to(std::move(place)));
  }
  return std::unique_ptr<Ledger>(new Ledger(std::move(impl)));
}

Result<std::string> Ledger::set_aside(const std::string& path, EpochMs now_ms) {
  return set_ledger_aside(path, now_ms);
}

}  // namespace inbox_poller::poller
