#include "poller/ledger/sqlite.hpp"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "poller/ledger/ledger_file.hpp"
#include "poller/ledger/row_hash.hpp"

namespace inbox_poller::poller {

namespace {
constexpr int many_pages = 500;  // in the write-ahead log, of 8 KiB; as many bytes as SQLite's default limit

/// Returns the areas of a team's state that show this table; none if only `trace` and `history` show it.
Areas areas_of_table(std::string_view table) {
  if (table == "messages" || table == "deliveries") return only(Area::chat);
  if (table == "requests") return only(Area::requests) | only(Area::workers);  // the worker of a request waits
  if (table == "members" || table == "rosters" || table == "orders") return only(Area::workers);
  if (table == "outbox")
    return only(Area::teams) | only(Area::workers);  // pending replies; a worker with a reply is busy
  if (table == "rules" || table == "leads" || table == "node_mail") return only(Area::teams);
  return table == "shutdowns" ? only(Area::shutdowns) : 0;
}

/// Returns the least size of a log with that many pages, by SQLite's documented format.
off_t bytes_of_log(int pages, off_t page_size) {
  constexpr off_t head = 32;
  constexpr off_t page_head = 24;  // the first four bytes are the page's number
  return pages == 0 ? 0 : head + pages * (page_head + page_size);
}
}  // namespace

// Statement

Statement::Statement(Statement&& other) noexcept
    : database_(other.database_),
      statement_(std::exchange(other.statement_, nullptr)),
      problem_(std::move(other.problem_)) {}

Statement::~Statement() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

Result<bool> Statement::next() {
  if (problem_) return *problem_;
  const int result = sqlite3_step(statement_);
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  return database_->fault(result);
}

void Statement::check_bound(int result) {
  if (result != SQLITE_OK && !problem_) problem_ = database_->fault(result);
}

void Statement::refuse(std::string_view why) {
  if (!problem_)
    problem_ = Error{"ledger.sql", database_->path() + ": " + std::string(why) + "; this is a mistake of ours"};
}

// Values are copied, because a Statement outlives the caller's temporaries.
void Statement::bind(int index, long long value) {
  if (statement_ != nullptr) check_bound(sqlite3_bind_int64(statement_, index, value));
}

void Statement::bind_text(int index, std::string_view text, bool is_kept) {
  if (statement_ == nullptr) return;
  const char* bytes = text.data() == nullptr ? "" : text.data();
  const auto owner = is_kept ? SQLITE_STATIC : SQLITE_TRANSIENT;
  check_bound(sqlite3_bind_text64(statement_, index, bytes, text.size(), owner, SQLITE_UTF8));
}

void Statement::bind_blob(int index, std::string_view blob, bool is_kept) {
  if (statement_ == nullptr) return;
  const char* bytes = blob.data() == nullptr ? "" : blob.data();
  check_bound(sqlite3_bind_blob64(statement_, index, bytes, blob.size(), is_kept ? SQLITE_STATIC : SQLITE_TRANSIENT));
}

void Statement::get(int column, std::string& value) const {
  // column_blob returns the stored bytes of TEXT and BLOB, without a conversion that could stop at a NUL.
  const void* bytes = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  value.assign(bytes == nullptr ? "" : static_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

// Database

Result<std::unique_ptr<Database>> Database::open(const std::string& path) {
  // SQLite's count of its memory is not used, and costs a lock for each allocation. The call fails once SQLite runs.
  [[maybe_unused]] static const int uncounted = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  std::unique_ptr<Database> database(new Database(path));
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE;
  if (const int result = sqlite3_open_v2(path.c_str(), &database->handle_, flags, nullptr); result != SQLITE_OK)
    return database->fault(result);
  sqlite3_wal_hook(database->handle_, committed, database.get());
  sqlite3_update_hook(database->handle_, written, database.get());
  return database;
}

Database::~Database() {
  cache_.clear();
  // Otherwise SQLite would move the log into a file that is not at its path, and remove the log of another file.
  if (gone_ && (place_.is_cut() || !place_.has_main_file())) leave_log_at_end();
  sqlite3_close(handle_);
}

std::size_t Database::Hash::operator()(std::string_view sql) const {
  RowHash hash;
  hash.add(sql);
  return static_cast<std::size_t>(hash.value());
}

Statement Database::prepare(std::string_view sql) {
  if (in_transaction_ && sqlite3_get_autocommit(handle_) != 0)
    return {*this, nullptr, Error{"ledger.io", path_ + ": the transaction was rolled back after an earlier error"}};
  if (const auto known = cache_.find(sql); known != cache_.end()) return {*this, known->second.get(), std::nullopt};
  sqlite3_stmt* statement = nullptr;
  const int result = sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                                        &statement, nullptr);
  if (result != SQLITE_OK) return {*this, nullptr, fault(result)};
  cache_.emplace(sql, statement);
  return {*this, statement, std::nullopt};
}

Status Database::run(Statement statement) {
  while (true) {
    TRY(auto row, statement.next());
    if (!row) return Done{};
  }
}

Status Database::script(const std::string& sql) {
  if (const int result = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr); result != SQLITE_OK)
    return fault(result);
  return Done{};
}

Status Database::transaction(const std::function<Status()>& work) {
  if (in_transaction_)
    return Error{"ledger.sql", path_ + ": a transaction inside a transaction; this is a mistake of ours"};
  TRY(still_there());
  TRY(run("BEGIN IMMEDIATE"));
  struct Guard {
    Database& database;
    bool is_committed = false;
    ~Guard() {
      database.in_transaction_ = false;
      if (is_committed) return;
      ++database.chat_changes_;  // the chat in memory was counted with what is undone
      // After some faults, a full disk among them, SQLite has rolled back already, and a second ROLLBACK would fail.
      if (sqlite3_get_autocommit(database.handle_) == 0) sqlite3_exec(database.handle_, "ROLLBACK", nullptr, nullptr, nullptr);
    }
  } guard{*this};
  in_transaction_ = true;
  touched_ = 0;
  TRY(work());
  auto committed = commit();
  guard.is_committed = committed.ok();
  if (committed && told_) told_(touched_);
  return committed;
}

/// Commits, and treats any failed check after the commit as final: memory would not know the committed rows.
Status Database::commit() {
  TRY(run("COMMIT"));
  if (auto there = still_there(); !there) return give_up(there.error());
  return Done{};
}

Status Database::attempt(const std::function<Status()>& work, Status& outcome) {
  TRY(run("SAVEPOINT attempt"));
  outcome = work();
  // A fault such as a full disk may have rolled back the transaction. Later writes would then be committed one by one.
  if (sqlite3_get_autocommit(handle_) != 0) return outcome ? Status(fault(SQLITE_ABORT)) : outcome;
  if (!outcome) {
    ++chat_changes_;
    TRY(run("ROLLBACK TO attempt"));
  }
  return run("RELEASE attempt");
}

// the files at the path

Status Database::keep_to(LedgerPlace place) {
  TRY(auto size, value<long long>("PRAGMA page_size"));
  page_size_ = size;
  place_ = std::move(place);
  int moved = 0;  // between the opening and LedgerPlace::remember()
  const int asked = sqlite3_file_control(handle_, nullptr, SQLITE_FCNTL_HAS_MOVED, &moved);
  if (asked == SQLITE_OK && moved != 0) return give_up({"", path_ + ": was replaced while it was opened; start again"});
  return still_there();
}

Status Database::still_there() {
  if (gone_) return *gone_;
  auto there = place_.examine(log_bytes_);
  if (!there && place_.is_cut() && is_shortened_in_order()) {
    log_bytes_ = 0;
    place_.forget_sizes();
    there = place_.examine(log_bytes_);
  }
  return there || there.error().code != "ledger.gone" ? there : give_up(there.error());
}

/// Returns true if SQLite itself shortened the files over another connection, by a checkpoint or a VACUUM. Then the
/// ledger has all its pages, and the log has all pages that its index names.
bool Database::is_shortened_in_order() {
  const auto pages = value<long long>("PRAGMA page_count");
  if (!pages || !place_.has_bytes(*pages * page_size_, 0)) return false;
  int in_log = 0;  // a checkpoint of a log with a hole is an error and moves nothing
  const int done = sqlite3_wal_checkpoint_v2(handle_, nullptr, SQLITE_CHECKPOINT_PASSIVE, &in_log, nullptr);
  return done == SQLITE_OK && place_.has_bytes(*pages * page_size_, bytes_of_log(in_log, page_size_));
}

Status Database::give_up(const Error& gone) {
  if (gone_) return *gone_;
  gone_ = Error{"ledger.gone", gone.message};
  if (on_gone_) on_gone_();
  return *gone_;
}

Result<std::string> Database::save() {
  // An older ledger that was written over this one does not fit the log. What we know of it is not all.
  TRY(const auto finding, value<std::string>("PRAGMA integrity_check(1)"));
  if (finding != "ok") {
    const std::string rest = path_ + ".partial";
    const auto kept = copy_to(rest);
    set_log_aside();
    return Error{"ledger.damaged", path_ + ": another ledger was written over it (" + finding + ")" +
                                       (kept ? "; what can still be read is in " + rest : "")};
  }
  if (!place_.is_cut() && place_.has_main_file()) {
    if (place_.has_another_log()) set_log_aside();
    if (sqlite3_wal_checkpoint_v2(handle_, nullptr, SQLITE_CHECKPOINT_FULL, nullptr, nullptr) == SQLITE_OK)
      return path_;
  }
  const std::string saved = saved_ledger(path_);
  TRY(copy_to(saved));
  if (::access(path_.c_str(), F_OK) != 0) set_log_aside();  // its rows are in the copy
  return saved;
}

/// Renames the log, because the next start would replay it into the ledger at the path.
void Database::set_log_aside() { static_cast<void>(rename_durably(path_ + "-wal", path_ + "-wal.other")); }

Status Database::copy_to(const std::string& path) {
  const std::string draft = path + ".new";
  const auto clear = [&] {
    for (const auto& left : {draft, draft + "-journal"}) std::remove(left.c_str());
  };
  clear();
  auto made = create_private_file(draft);
  if (made) made = run("VACUUM INTO ?1", draft);
  if (made) made = sync_file(draft);
  if (made) made = rename_durably(draft, path);
  if (!made) clear();
  return made;
}

void Database::leave_log_at_end() { sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr); }

// notification of changes

void Database::tell(std::function<void(Areas)> told) { told_ = std::move(told); }

void Database::written(void* database, int /*what*/, const char* /*schema*/, const char* table, sqlite3_int64 /*row*/) {
  auto& self = *static_cast<Database*>(database);
  const auto areas = areas_of_table(table);
  self.touched_ |= areas;
  if (areas == only(Area::chat)) ++self.chat_changes_;
}

// the write-ahead log

int Database::committed(void* database, sqlite3* /*handle*/, const char* /*schema*/, int pages_in_log) {
  auto& self = *static_cast<Database*>(database);
  if (pages_in_log > self.pages_in_log_ && self.is_hole(self.pages_in_log_)) self.place_.found_hole();
  self.pages_in_log_ = pages_in_log;
  self.log_bytes_ = bytes_of_log(pages_in_log, self.page_size_);
  if (pages_in_log >= 8 * many_pages) self.checkpoint();
  return SQLITE_OK;  // the commit is done, even if the checkpoint failed
}

/// Returns true if the log's last page before this commit has lost its number: the log was cut between our look and the
/// commit, which its size cannot show. SQLite's own descriptor reads it.
bool Database::is_hole(int page) const {
  sqlite3_file* log = nullptr;
  if (page == 0 || sqlite3_file_control(handle_, nullptr, SQLITE_FCNTL_JOURNAL_POINTER, &log) != SQLITE_OK)
    return false;
  std::uint32_t number = 0;
  const int read = log->pMethods->xRead(log, &number, sizeof(number), bytes_of_log(page - 1, page_size_));
  return read == SQLITE_OK && number == 0;
}

void Database::checkpoint_if_due() {
  if (in_transaction_) return;
  const bool rests = sqlite3_total_changes(handle_) == changes_before_;
  changes_before_ = sqlite3_total_changes(handle_);
  if (pages_in_log_ >= (rests ? 1 : 4) * many_pages) checkpoint();
  if (rests) sqlite3_db_release_memory(handle_);
}

/// Moves the log into the database. A failure loses nothing; a later call tries again.
void Database::checkpoint() {
  if (place_.is_cut()) return;  // it would move the hole
  pages_in_log_ = 0;
  sqlite3_wal_checkpoint_v2(handle_, nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
}

// faults

Error Database::fault(int result) const {
  const bool is_last = handle_ != nullptr && sqlite3_extended_errcode(handle_) == result;
  const std::string text = is_last ? sqlite3_errmsg(handle_) : sqlite3_errstr(result);
  const std::string said = " (SQLite: " + text + ", code " + std::to_string(result) + ")";
  switch (result & 0xff) {
    case SQLITE_FULL:
      return {"ledger.full", path_ + ": no room to write" + said +
                                 ". Free some space; messages stay unread in their inboxes until then, none is lost"};
    case SQLITE_IOERR:  // also a quota or a file size limit, because SQLite maps only ENOSPC to SQLITE_FULL
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_NOLFS:
    case SQLITE_PROTOCOL:
      return {"ledger.io", path_ + ": cannot be read or written" + said +
                               ". Check the disk, its quota and the permissions of its directory"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {"ledger.busy", path_ + ": another program holds the write lock" + said +
                                 ". It will be tried again; close any `sqlite3` that has an open transaction on it"};
    case SQLITE_NOMEM:
      return {"ledger.io", path_ + ": cannot be read or written" + said + ". Give the daemon more memory"};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return damaged(text);
    default: return {"ledger.sql", path_ + ": a statement failed" + said};
  }
}

Error Database::damaged(std::string_view finding) const {
  return {"ledger.damaged",
          path_ + " is damaged: " + std::string(finding) +
              ". Restore it from a copy, or start with an empty one: `inbox-poller run --new-ledger` sets it aside as " + path_ +
              ".damaged-<time> and begins an empty one"};
}

}  // namespace inbox_poller::poller
