// The floor: what no poller that keeps its promise can go below. For every message it is told of (by the writer itself,
// over a FIFO: the best of all watchers) it reads the whole file, commits one row to SQLite (WAL, synchronous=FULL:
// what "accepted" has to mean, and the same library the product uses, so that the difference is the product's own
// work), and writes one line to the consumer's Unix socket. It parses nothing, remembers nothing, marks nothing.
//
//   bench_floor serve  --notify FIFO --inbox FILE --consumer SOCKET --db FILE    until the FIFO has no writer any more
//   bench_floor read   --path FILE --times N      only the plain read of a file
//   bench_floor look   --root FOLDER --times N    each TEAM/inboxes/*.json below it is looked at, every 500 ms, N times
//   bench_floor sync   --path FILE --times N      512 bytes appended and fdatasync, for orientation
//
// A negative number -N in the FIFO means: N messages at once, all in the file; one transaction, one write.
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <vector>

#include "tests/bench/stamps.hpp"

namespace inbox_poller::bench {
namespace {

namespace json = boost::json;

/// The buffer is kept: a poller would keep it, too.
class File {
 public:
  std::string_view read(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) give_up("cannot read " + path);
    const off_t size = ::lseek(file, 0, SEEK_END);
    if (buffer_.size() < static_cast<std::size_t>(size)) buffer_.resize(static_cast<std::size_t>(size) * 2);
    std::size_t have = 0;
    while (have < static_cast<std::size_t>(size)) {
      const ssize_t count =
          ::pread(file, buffer_.data() + have, static_cast<std::size_t>(size) - have, static_cast<off_t>(have));
      if (count <= 0) break;
      have += static_cast<std::size_t>(count);
    }
    ::close(file);
    return {buffer_.data(), have};
  }

 private:
  std::vector<char> buffer_;
};

class Rows {
 public:
  explicit Rows(const std::string& path) {
    if (sqlite3_open(path.c_str(), &database_) != SQLITE_OK) give_up("cannot open " + path);
    run("PRAGMA journal_mode=WAL");
    run("PRAGMA synchronous=FULL");
    run("CREATE TABLE IF NOT EXISTS message (id INTEGER PRIMARY KEY, entry BLOB NOT NULL)");
    if (sqlite3_prepare_v2(database_, "INSERT INTO message (entry) VALUES (?1)", -1, &insert_, nullptr) != SQLITE_OK)
      give_up("cannot prepare");
  }
  ~Rows() {
    sqlite3_finalize(insert_);
    sqlite3_close(database_);
  }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  void commit(const std::vector<std::string_view>& entries) {
    run("BEGIN IMMEDIATE");
    for (const std::string_view entry : entries) {
      sqlite3_bind_blob(insert_, 1, entry.data(), static_cast<int>(entry.size()), SQLITE_STATIC);
      if (sqlite3_step(insert_) != SQLITE_DONE) give_up("cannot insert");
      sqlite3_reset(insert_);
    }
    run("COMMIT");
  }

 private:
  void run(const char* sql) {
    if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
      give_up(std::string(sql) + ": " + sqlite3_errmsg(database_));
  }
  sqlite3* database_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
};

int connect_to(const std::string& path) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  for (int tries = 0; tries < 6000; ++tries) {  // the consumer may be started after us
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return socket;
    const timespec pause{0, 10'000'000};
    ::nanosleep(&pause, nullptr);
  }
  give_up("cannot connect to " + path);
}

void send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) give_up("the consumer has left");
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

/// The text that begins at `at`, up to its closing quote: the load generator's texts need no escape.
std::string_view text_at(std::string_view bytes, std::size_t at) { return bytes.substr(at, bytes.find('"', at) - at); }

/// All messages in the file, or the one with this id.
std::vector<std::string_view> wanted_of(std::string_view bytes, std::int64_t bell) {
  std::vector<std::string_view> wanted;
  if (bell >= 0) {
    const std::size_t at = bytes.rfind("\"bench " + std::to_string(bell) + " ");
    if (at == std::string_view::npos) return {};
    return {text_at(bytes, at + 1)};
  }
  for (std::size_t at = bytes.find("\"bench "); at != std::string_view::npos; at = bytes.find("\"bench ", at + 1))
    wanted.push_back(text_at(bytes, at + 1));
  return wanted;
}

json::object serve(const Options& options) {
  File file;
  Rows rows(options.text("db"));
  const int consumer = connect_to(options.text("consumer"));
  const int bells = ::open(options.text("notify").c_str(), O_RDONLY | O_CLOEXEC);
  json::array read, commit, send;
  std::int64_t bell = 0;
  while (::read(bells, &bell, sizeof bell) == sizeof bell) {
    const Nanoseconds begin = now_ns();
    std::vector<std::string_view> wanted;
    for (int tries = 0; wanted.empty(); ++tries) {  // again where the next writer is just writing in place
      if (tries == 100'000) give_up("message " + std::to_string(bell) + " is not in the file");
      wanted = wanted_of(file.read(options.text("inbox")), bell);
    }
    const Nanoseconds have = now_ns();
    rows.commit(wanted);
    const Nanoseconds safe = now_ns();
    std::string lines;
    for (const std::string_view text : wanted) lines += "{\"text\":\"" + std::string(text) + "\"}\n";
    send_all(consumer, lines);
    read.push_back(have - begin);
    commit.push_back(safe - have);
    send.push_back(now_ns() - safe);
  }
  return {{"read_ns", read}, {"commit_ns", commit}, {"send_ns", send}};
}

json::object read(const Options& options) {
  File file;
  json::array samples;  // CPU time: beside other work, the wall clock would measure that
  std::size_t bytes = 0;
  for (long n = 0; n < options.number("times"); ++n) {
    const Nanoseconds begin = read_clock(CLOCK_PROCESS_CPUTIME_ID);
    bytes = file.read(options.text("path")).size();
    samples.push_back(read_clock(CLOCK_PROCESS_CPUTIME_ID) - begin);
  }
  return {{"read_cpu_ns", samples}, {"bytes", bytes}};
}

/// Only the looks: every folder stays open, and nothing is compared.
json::object look(const Options& options) {
  std::vector<std::pair<int, std::string>> files;
  for (const auto& team : std::filesystem::directory_iterator(options.text("root"))) {
    const std::filesystem::path folder = team.path() / "inboxes";
    const int opened = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (const auto& file : std::filesystem::directory_iterator(folder))
      if (file.path().extension() == ".json") files.emplace_back(opened, file.path().filename());
  }
  const Nanoseconds begin = now_ns();
  const Nanoseconds cpu = read_clock(CLOCK_PROCESS_CPUTIME_ID);
  for (long n = 0; n < options.number("times"); ++n) {
    for (const auto& [folder, name] : files) {
      struct stat found {};
      if (::fstatat(folder, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) give_up("cannot look at " + name);
    }
    const timespec pause{0, 500'000'000};
    ::nanosleep(&pause, nullptr);
  }
  return {{"cpu_ns", read_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu}, {"ns", now_ns() - begin}, {"inboxes", files.size()}};
}

json::object sync(const Options& options) {
  const int file = ::open(options.text("path").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const std::string block(512, 'x');
  json::array samples;
  for (long n = 0; n < options.number("times"); ++n) {
    const Nanoseconds begin = now_ns();
    if (::write(file, block.data(), block.size()) != static_cast<ssize_t>(block.size()) || ::fdatasync(file) != 0)
      give_up("cannot write " + options.text("path"));
    samples.push_back(now_ns() - begin);
  }
  ::close(file);
  return {{"sync_ns", samples}};
}

}  // namespace
}  // namespace inbox_poller::bench

int main(int argc, char** argv) {
  using namespace inbox_poller::bench;
  const std::string kind = argc > 1 ? argv[1] : "";
  const Options options(argc, argv, 2);
  if (kind == "serve")
    std::cout << boost::json::serialize(serve(options)) << std::endl;
  else if (kind == "read")
    std::cout << boost::json::serialize(read(options)) << std::endl;
  else if (kind == "look")
    std::cout << boost::json::serialize(look(options)) << std::endl;
  else if (kind == "sync")
    std::cout << boost::json::serialize(sync(options)) << std::endl;
  else
    give_up("expected serve, read, look or sync, found \"" + kind + "\"");
  return 0;
}
