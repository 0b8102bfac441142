// A ledger whose bytes were changed on the disk, with its write-ahead log: opening it never throws; a row is read as it
// was once written or not at all; damage within one sector is noticed or harmless; a damaged log loses the end of the
// history at most, never a part of its middle; and no decision becomes another one.
#include "poller/ledger/ledger.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "poller/ledger/inspect.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace inbox_poller::fuzz::of_ledger {

using namespace inbox_poller;
using namespace inbox_poller::poller;

namespace {

namespace fs = std::filesystem;
using handlers::RequestKind;
using handlers::RequestState;

constexpr int requests = 4;
constexpr std::size_t sector = 512;

/// Question to answer; a fault is "error".
using Answers = std::map<std::string, std::string>;

/// In memory where there is a place for that: a file is written for each input.
struct Folder {
  Folder() {
    std::error_code ignored;
    std::string name = (fs::is_directory("/dev/shm", ignored) ? "/dev/shm" : fs::temp_directory_path().string()) +
                       std::string("/fuzz-ledger-XXXXXX");
    EXPECT(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  [[nodiscard]] std::string file(const char* name) const { return (path / name).string(); }
  fs::path path;
};

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::string id(const char* what, int i) { return std::string(what) + "-" + std::to_string(i); }

schema::MessageKey key(const char* what, int i) { return {schema::content_hash(id(what, i)).substr(0, 32)}; }

handlers::Request request(int i, RequestState state) {
  handlers::Request row;
  row.request_id = id("request", i);
  row.asker = "ann";
  row.content_hash = id("hash", i);
  row.subject = "Bash";
  row.body = R"({"command":"ls"})";
  row.state = state;
  row.asked_ms = 1000;
  row.decided_ms = handlers::is_open(state) ? 0 : 2000;
  row.message = key("message", i);
  return row;
}

/// One tick's worth: a message, its request, the decision, the reply that is owed.
Status tick(Ledger& ledger, int i) {
  MessageRow message;
  message.team = "red";
  message.inbox = "team-lead";
  message.key = key("message", i);
  message.sender = "ann";
  message.type = "text";
  message.message = {"ann", "hello", "", "t", "", ""};
  message.disposition = i % 2 == 0 ? Disposition::control : Disposition::rejected;
  message.request_id = id("request", i);
  OutboxRow reply;
  reply.team = "red";
  reply.inbox = "ann";
  reply.key = key("reply", i);
  reply.message.text = id("denied", i);
  reply.request_id = id("request", i);
  handlers::Shutdown shutdown;
  shutdown.request_id = id("shutdown", i);
  shutdown.member = "ann";
  shutdown.place = {"tmux", "%7", {100, "11"}, {200, "22"}, {{300, "33"}}, ""};
  return ledger.transaction([&]() -> Status {
    if (auto done = ledger.next_batch(); !done) return done.error();
    if (auto done = ledger.messages().insert(message); !done) return done.error();
    if (auto done = ledger.requests().put("red", request(i, i % 2 == 0 ? RequestState::denied : RequestState::pending));
        !done)
      return done;
    if (auto done = ledger.outbox().enqueue(reply); !done) return done;
    if (auto done = ledger.shutdowns().put("red", shutdown); !done) return done;
    if (auto done = ledger.rules().add({0, "red", "s", handlers::RuleKind::permission, "deny", id("rule", i), "mona", 5}); !done)
      return done.error();
    if (auto done = ledger.members().put({"red", "ann", true, {}, id("detail", i), "", i}); !done) return done;
    return ledger.history().add({i, "red", key("message", i).value, id("request", i), "message.accepted", ""});
  });
}

std::string show(const MessageRow& row) {
  return row.key.value + "|" + row.sender + "|" + row.message.text + "|" + std::string(to_string(row.disposition));
}
std::string show(const handlers::Request& row) {
  return row.request_id + "|" + row.asker + "|" + row.content_hash + "|" + row.body + "|" +
         std::string(to_string(row.state)) + "|" + std::to_string(row.deadline_ms);
}
std::string show(const OutboxRow& row) {
  return row.key.value + "|" + row.inbox + "|" + row.message.text + "|" + std::string(to_string(row.state));
}
std::string show(const handlers::Shutdown& row) {
  std::string text = row.request_id + "|" + row.member + "|" + row.place.pane_id + "|" +
                     std::string(to_string(row.state)) + "|" + std::to_string(row.place.pane.pid);
  for (const auto& process : row.place.processes) text += "|" + std::to_string(process.pid) + process.started;
  return text;
}
std::string show(const SessionRule& row) {
  return std::string(to_string(row.kind)) + "|" + row.action + "|" + row.rule;
}
std::string show(const MemberRow& row) { return row.name + "|" + row.detail; }
std::string show(const HistoryRow& row) { return row.message_key + "|" + row.event; }

template <class T>
std::string told(const Result<std::optional<T>>& row) {
  return !row ? "error" : *row ? show(**row) : "none";
}
template <class T>
std::string told(const Result<std::vector<T>>& rows) {
  if (!rows) return "error";
  std::string text;
  for (const T& row : *rows) text += show(row) + "\n";
  return text;
}

Answers read_all(Ledger& ledger) {
  Answers answers;
  for (int i = 0; i < requests; ++i) {
    answers[id("message", i)] = told(ledger.messages().find(key("message", i)));
    answers[id("request", i)] = told(ledger.requests().find("red", {RequestKind::permission, "ann", id("request", i)}));
    answers[id("replies", i)] = told(ledger.outbox().of_request("red", id("request", i)));
    answers[id("shutdown", i)] = told(ledger.shutdowns().find("red", id("shutdown", i)));
    answers[id("history", i)] = told(ledger.history().of_request("red", id("request", i)));
  }
  answers["open"] = told(ledger.requests().open("red"));
  answers["refused"] = told(ledger.messages().quarantined("red", 100));
  answers["shutdowns"] = told(ledger.shutdowns().open("red"));
  answers["rules"] = told(ledger.rules().of_team("red"));
  answers["members"] = told(ledger.members().of_team("red"));
  return answers;
}

void put_lines(std::set<std::string>& lines, const std::string& text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.insert(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

/// A ledger of which the first half is in the file and the second half in the log, and all that was ever true of it.
struct Base {
  Folder folder;
  std::string path = folder.file("ledger.db");
  std::string database, log;
  std::vector<Answers> states;                  // after the file alone, and after each transaction of the log
  std::set<std::string> rows{"error", "none"};  // that were ever there

  Base() {
    for (int i = 0; i < requests; ++i) {
      auto ledger = i <= requests / 2 ? Ledger::open(path) : Result<std::unique_ptr<Ledger>>(std::move(kept));
      EXPECT(ledger.ok());
      if (i == requests / 2) remember(**ledger);
      EXPECT(tick(**ledger, i).ok());
      if (i < requests / 2) continue;
      remember(**ledger);
      kept = *std::move(ledger);
    }
    database = read_file(path);
    log = read_file(path + "-wal");
    kept.reset();
    EXPECT(!log.empty() && fs::remove(path));
  }

 private:
  void remember(Ledger& ledger) {
    states.push_back(read_all(ledger));
    for (const auto& [question, answer] : states.back()) put_lines(rows, answer);
  }
  std::unique_ptr<Ledger> kept;
};

/// The two files with the input's changes, and where these are.
struct Damage {
  std::string database, log;
  bool in_database = false, in_log = false;
  std::size_t sectors = 0;  // changed ones of the database
};

Damage damaged(const Base& base, const std::uint8_t* data, std::size_t size) {
  std::string bytes = base.database + base.log;
  for (; size >= 5; data += 5, size -= 5) {
    const std::size_t at = (data[1] + std::size_t{256} * data[2] + std::size_t{65536} * data[3]) % bytes.size();
    const std::size_t length = std::min<std::size_t>(data[0] < 0xC0 ? 1 : 1U << (data[0] % 10), bytes.size() - at);
    if (data[0] % 3 == 0)
      bytes[at] = static_cast<char>(bytes[at] ^ data[4]);
    else if (data[0] % 3 == 1)
      bytes.replace(at, length, length, static_cast<char>(data[4]));
    else
      bytes.replace(at, length, bytes.substr(std::size_t{data[4]} * sector % (bytes.size() - length), length));
  }
  Damage damage{bytes.substr(0, base.database.size()), bytes.substr(base.database.size())};
  if (size > 0) damage.log.resize(damage.log.size() * (data[0] + 1U) / 256);  // what is left over cuts the log off
  damage.in_log = damage.log != base.log;
  for (std::size_t at = 0; at < base.database.size(); at += sector)
    damage.sectors += damage.database.compare(at, sector, base.database, at, sector) != 0 ? 1 : 0;
  damage.in_database = damage.sectors > 0;
  return damage;
}

bool agrees(const Answers& answers, const Answers& state) {
  return std::all_of(answers.begin(), answers.end(),
                     [&](const auto& pair) { return pair.second == "error" || pair.second == state.at(pair.first); });
}

/// Whoever was denied is not allowed afterwards.
void check_decisions(Ledger& ledger) {
  for (int i = 0; i < requests; i += 2) {
    const auto recorded = ledger.requests().find("red", {RequestKind::permission, "ann", id("request", i)});
    if (recorded && !*recorded) continue;  // forgotten: check_answers() judges whether it may be
    EXPECT(!ledger.requests().put("red", request(i, RequestState::approved)).ok());
  }
}

void check_answers(const Base& base, const Damage& damage, const Answers& answers) {
  std::set<std::string> rows;
  for (const auto& [question, answer] : answers) put_lines(rows, answer);
  EXPECT(std::includes(base.rows.begin(), base.rows.end(), rows.begin(), rows.end()));
  if (!damage.in_log && damage.sectors <= 1) EXPECT(agrees(answers, base.states.back()));
  if (!damage.in_database)
    EXPECT(std::any_of(base.states.begin(), base.states.end(), [&](const auto& s) { return agrees(answers, s); }));
}

}  // namespace

int try_one(const std::uint8_t* data, std::size_t size) {
  static const Base base;
  const Damage damage = damaged(base, data, size);
  for (const char* part : {"-shm", "-journal"}) fs::remove(base.path + part);
  write_file(base.path, damage.database);
  write_file(base.path + "-wal", damage.log);
  static_cast<void>(inspect_ledger(base.path));
  auto ledger = Ledger::open(base.path);
  if (!ledger) {
    EXPECT(ledger.error().code.starts_with("ledger."));
    EXPECT(damage.in_database || damage.in_log);
    return 0;
  }
  check_answers(base, damage, read_all(**ledger));
  check_decisions(**ledger);
  return 0;
}

const Target registered("ledger", try_one);

}  // namespace inbox_poller::fuzz::of_ledger
