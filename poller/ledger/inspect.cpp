#include "poller/ledger/inspect.hpp"

#include <sqlite3.h>

#include <filesystem>
#include <memory>
#include <string_view>

#include "poller/ledger/ledger_file.hpp"
#include "poller/ledger/tables.hpp"

namespace inbox_poller::poller {
namespace {

struct Close {
  void operator()(sqlite3* handle) const { sqlite3_close(handle); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

std::string as_uri(std::string_view path, bool immutable) {
  std::string uri = "file:";
  for (const char c : path) uri += c == '%' ? "%25" : c == '?' ? "%3f" : c == '#' ? "%23" : std::string(1, c);
  return uri + (immutable ? "?immutable=1" : "");
}

Result<std::string> value_of(sqlite3* database, const std::string& path, const char* sql) {
  sqlite3_stmt* prepared = nullptr;
  int result = sqlite3_prepare_v2(database, sql, -1, &prepared, nullptr);
  const std::unique_ptr<sqlite3_stmt, Close> statement(prepared);
  if (result == SQLITE_OK) result = sqlite3_step(prepared);
  if (result != SQLITE_ROW) return Error{"ledger.io", path + ": " + sqlite3_errmsg(database)};
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(prepared, 0));
  return std::string(text == nullptr ? "" : text);
}

}  // namespace

Status told_if_saved(const std::string& path) {
  TRY(const auto saved, saved_ledger_waits(path));
  if (!saved) return Done{};
  return Error{"ledger.saved", path + " was taken away while the daemon used it; what it held is in " + saved_ledger(path) +
                                   ", and the next `inbox-poller run` goes on with it"};
}

Result<LedgerReport> inspect_ledger(const std::string& given) {
  TRY(const auto path, resolved_path(given));
  TRY(told_if_saved(path));
  TRY(const auto exists, ledger_exists(path));
  if (!exists) return LedgerReport{};
  // A closed ledger has no log. Without `immutable` SQLite would create one, and leave it there.
  std::error_code ignored;
  const bool closed = !std::filesystem::exists(path + "-wal", ignored);
  sqlite3* handle = nullptr;
  const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW;
  const int opened = sqlite3_open_v2(as_uri(path, closed).c_str(), &handle, flags, nullptr);
  const std::unique_ptr<sqlite3, Close> database(handle);
  if (opened != SQLITE_OK) return Error{"ledger.io", path + ": " + sqlite3_errstr(opened)};
  sqlite3_busy_timeout(handle, 1000);

  TRY(const auto id, value_of(handle, path, "PRAGMA application_id"));
  if (id != std::to_string(ledger_application_id))
    return Error{"ledger.foreign", path + ": is an SQLite database, but not a ledger of inbox-poller"};
  TRY(const auto format, value_of(handle, path, "PRAGMA user_version"));
  LedgerReport report{true, std::stoi("0" + format), {}};
  if (report.format > ledger_format)
    return Error{"ledger.newer", path + ": has format " + format + ", this inbox-poller knows up to " +
                                     std::to_string(ledger_format)};
  if (report.format < 1)
    return Error{"ledger.damaged", path + ": its format is " + (format.empty() ? "empty" : format) +
                                       "; the daemon sets it aside when it is started with --new-ledger"};
  if (report.format < ledger_format)
    return Error{"ledger.older", path + ": has format " + format + ", and this inbox-poller uses format " +
                                     std::to_string(ledger_format) +
                                     "; the daemon sets it aside at its next start and begins a new ledger"};
  TRY(auto finding, value_of(handle, path, "PRAGMA quick_check(1)"));
  report.finding = std::move(finding);
  return report;
}

}  // namespace inbox_poller::poller
