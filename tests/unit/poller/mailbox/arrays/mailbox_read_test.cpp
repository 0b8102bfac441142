// Looking at and reading inboxes: what is a document, what is named otherwise, and what a glance can promise.
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "poller/mailbox/arrays/inbox_file.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/mailbox_setting.hpp"
#include "tests/unit/poller/run_awaitable.hpp"

namespace inbox_poller::mailbox_read_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

TEST_CASE("an inbox that is an array is a document, whatever its spelling") {
  MailboxSetting at;
  const auto [bytes, entries] = GENERATE(table<std::string, std::size_t>({
      {"[]", 0},
      {" [ ]\n", 0},
      {inbox_of({entry("one"), entry("two")}), 2},
      {inbox_of({entry("one")}) + "\n", 1},
      {"\xEF\xBB\xBF" + inbox_of({entry("BOM")}), 1},
      {"[\r\n  {\r\n \"from\": \"a\",\r\n \"text\": \"CRLF\",\r\n \"read\": false\r\n }\r\n]\r\n", 1},
      {R"([{"from":"a","text":"compact","read":false},null,7])", 3},
  }));
  at.put(bytes);
  const ReadResult read = at.read();
  CHECK(read.outcome == ReadOutcome::document);
  CHECK(read.document.entries().size() == entries);
  CHECK(read.document.bytes() == bytes);
}

TEST_CASE("an inbox that is no array is named, never taken for an empty one") {
  MailboxSetting at;
  const std::string whole = inbox_of({entry("one"), entry("two")});
  const auto [bytes, outcome] = GENERATE_REF(table<std::string, ReadOutcome>({
      {"", ReadOutcome::empty},
      {" \r\n\t", ReadOutcome::empty},
      {"\xEF\xBB\xBF\n", ReadOutcome::empty},
      {whole.substr(0, whole.size() - 5), ReadOutcome::torn},
      {"{}", ReadOutcome::torn},
      {"[][]", ReadOutcome::torn},
      {"null", ReadOutcome::torn},
      {std::string(100, '\0'), ReadOutcome::torn},
  }));
  at.put(bytes);
  for (const ReadMode mode : {ReadMode::unlocked, ReadMode::under_lock}) {
    const ReadResult read = at.mailbox.read(at.lead, mode);
    CHECK(read.outcome == outcome);
    if (outcome == ReadOutcome::torn) {
      CHECK_THAT(read.detail, Contains(at.inbox().string()) && Contains("at byte"));
    }
  }
  CHECK(at.bytes() == bytes);
  CHECK(at.litter().empty());
}

TEST_CASE("of a torn inbox the complete entries and the bytes are handed over") {
  MailboxSetting at;
  const std::string whole = inbox_of({entry("one"), entry("two"), entry("three")});
  at.put(whole.substr(0, whole.find("three")));
  const ReadResult read = at.read();
  CHECK(read.outcome == ReadOutcome::torn);
  CHECK(read.document.entries().size() == 2);
  CHECK(read.document.bytes() == at.bytes());
}

TEST_CASE("what is not a regular file is named and not opened") {
  MailboxSetting at;
  std::string kind;
  SECTION("a FIFO") {
    REQUIRE(::mkfifo(at.inbox().c_str(), 0600) == 0);
    kind = "FIFO";
  }
  SECTION("a socket") {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = at.inbox().string();
    REQUIRE(path.size() < sizeof address.sun_path);
    std::strcpy(address.sun_path, path.c_str());
    const Fd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
    REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    kind = "socket";
  }
  SECTION("a folder") {
    fs::create_directory(at.inbox());
    kind = "folder";
  }
  SECTION("a link to a good inbox") {
    spill(at.folder() / "other.json", inbox_of({entry("one")}));
    fs::create_symlink("other.json", at.inbox());
    kind = "symbolic link";
  }
  at.files.before(Call::open_read, [](const std::string& name) { FAIL("opened " + name); });
  for (const ReadMode mode : {ReadMode::unlocked, ReadMode::under_lock}) {
    const ReadResult read = at.mailbox.read(at.lead, mode);
    CHECK(read.outcome == ReadOutcome::not_regular);
    CHECK_THAT(read.detail, Contains(kind));
  }
  CHECK(at.mailbox.glance(at.lead).glance == Glance::changed);
}

TEST_CASE("a file that becomes a link between the look and the opening is not followed") {
  MailboxSetting at;
  at.put("[]");
  spill(at.scratch.path("secret"), "[]");
  at.files.once_before(Call::open_read, ".json", [&] {
    fs::remove(at.inbox());
    fs::create_symlink(at.scratch.path("secret"), at.inbox());
  });
  CHECK(at.read().outcome == ReadOutcome::not_regular);
}

TEST_CASE("a file over the limit is not read") {
  MailboxSetting at;
  at.put("[");
  fs::resize_file(at.inbox(), 100'000'000);
  at.files.before(Call::read_at, [](const std::string& name) { FAIL("read " + name); });
  const ReadResult read = at.read();
  CHECK(read.outcome == ReadOutcome::too_large);
  CHECK_THAT(read.detail, Contains("100000000") && Contains("67108864"));
}

TEST_CASE("a file that cannot be read is a fault that says why") {
  MailboxSetting at;
  at.put("[]");
  at.files.set({Call::open_read, 1, EACCES, false});
  const ReadResult read = at.read();
  CHECK(read.outcome == ReadOutcome::fault);
  CHECK_THAT(read.detail, Contains("Permission denied"));
}

TEST_CASE("a file that moves while it is read is torn") {
  MailboxSetting at;
  at.put(inbox_of({entry("one")}));
  SECTION("rewritten in place with the same length") {
    at.files.once_before(Call::stat, "team-lead.json", [&] { at.put(inbox_of({entry("two")})); });
  }
  SECTION("truncated by a writer at work") {
    at.files.once_before(Call::read_at, "team-lead.json", [&] { at.put(""); });
  }
  CHECK(at.read().outcome == ReadOutcome::torn);
}

TEST_CASE("a file replaced by rename while it is read gives the old contents whole, and the next glance says changed") {
  MailboxSetting at;
  at.put(inbox_of({entry("one")}));
  at.ack();
  at.files.once_before(Call::read_at, "team-lead.json", [&] { replace(at.inbox(), inbox_of({entry("two")})); });
  // The old inode lost its name meanwhile, which its change time tells.
  CHECK(at.read().outcome == ReadOutcome::torn);
  CHECK(at.mailbox.glance(at.lead).glance == Glance::changed);
}

TEST_CASE("missing folders and files are missing, and appear when they appear") {
  MailboxSetting at;
  CHECK(at.mailbox.glance(at.lead).glance == Glance::missing);
  CHECK(at.read().outcome == ReadOutcome::missing);
  fs::remove_all(at.team());
  CHECK(at.mailbox.glance(at.lead).glance == Glance::missing);
  CHECK(at.read().outcome == ReadOutcome::missing);
  CHECK(at.mailbox.glances()->empty());
  CHECK(at.port.roster().error().code == "roster.missing");
  fs::create_directories(at.folder());
  at.put("[]");
  CHECK(at.mailbox.glance(at.lead).glance == Glance::changed);
  CHECK(at.read().outcome == ReadOutcome::document);
}

TEST_CASE("a glance says unchanged only after a document was read that is old enough to be told from the next") {
  MailboxSetting at;
  at.put(inbox_of({entry("one")}));
  const auto glance = [&] { return at.mailbox.glance(at.lead).glance; };
  CHECK(glance() == Glance::changed);
  REQUIRE(at.read().outcome == ReadOutcome::document);
  CHECK(glance() == Glance::changed);  // a second write in the same tick would look the same
  at.ack();
  CHECK(glance() == Glance::changed);  // and might have happened since that read
  REQUIRE(at.read().outcome == ReadOutcome::document);
  CHECK(glance() == Glance::unchanged);
  CHECK(at.mailbox.glance(at.lead).size == at.bytes().size());

  SECTION("a rewrite in place is seen") { at.put(inbox_of({entry("two")})); }
  SECTION("a rename is seen") { replace(at.inbox(), inbox_of({entry("one")})); }
  SECTION("a rewrite with its old mtime put back is seen") {
    const auto mtime = fs::last_write_time(at.inbox());
    at.put(inbox_of({entry("two")}));
    fs::last_write_time(at.inbox(), mtime);
  }
  SECTION("a read that found no document is forgotten") {
    at.files.set({Call::open_read, 1, EIO, false});
    CHECK(at.read().outcome == ReadOutcome::fault);
  }
  SECTION("a file that was gone in between is new") {
    const fs::path aside = at.folder() / "aside";
    fs::rename(at.inbox(), aside);
    CHECK(glance() == Glance::missing);
    fs::rename(aside, at.inbox());
  }
  CHECK(glance() == Glance::changed);
}

TEST_CASE("a wall clock behind the file's time stamps costs a read, never messages") {
  MailboxSetting at;
  at.put("[]");
  at.clock.jump_wall(-1h);
  const auto glance_after_reading = [&] {
    REQUIRE(at.read().outcome == ReadOutcome::document);
    return at.mailbox.glance(at.lead).glance;
  };
  CHECK(glance_after_reading() == Glance::changed);
  at.clock.advance(99ms);
  CHECK(glance_after_reading() == Glance::changed);
  at.clock.advance(1ms);
  // By the clock that nobody sets it has been there for longer than its stamps need to tell it from the next.
  CHECK(glance_after_reading() == Glance::unchanged);
}

TEST_CASE("the time for which a version is known begins anew with each version, and after a failed read") {
  MailboxSetting at;
  at.put(inbox_of({entry("one")}));
  at.clock.jump_wall(-1h);
  REQUIRE(at.read().outcome == ReadOutcome::document);
  at.clock.advance(500ms);
  SECTION("another version") { replace(at.inbox(), inbox_of({entry("two")})); }
  SECTION("a fault") {
    at.files.set({Call::open_read, 1, EIO, false});
    CHECK(at.read().outcome == ReadOutcome::fault);
  }
  REQUIRE(at.read().outcome == ReadOutcome::document);
  CHECK(at.mailbox.glance(at.lead).glance == Glance::changed);
}

TEST_CASE("coarse stamps need two seconds, fine ones a tenth of one") {
  constexpr std::int64_t second = 1'000'000'000;
  const FileVersion fine{1, 1, 10, second, second + 123'456};
  const FileVersion coarse{1, 1, 10, second, second + 120'000'000};
  CHECK_FALSE(is_settled(fine, 99ms));
  CHECK(is_settled(fine, 100ms));
  CHECK_FALSE(is_settled(coarse, 1h));
  CHECK_FALSE(is_settled(coarse, EpochMs{1120 + 1999}));
  CHECK(is_settled(coarse, EpochMs{1120 + 2000}));
}

TEST_CASE("reading under the lock takes it once, and meets a peer's as an outcome") {
  MailboxSetting at;
  at.put("[]");
  bool locked = false;
  at.files.before(Call::read_at, [&](const std::string&) { locked = fs::is_directory(at.lock()); });
  CHECK(at.mailbox.read(at.lead, ReadMode::under_lock).outcome == ReadOutcome::document);
  CHECK(locked);
  CHECK_FALSE(fs::exists(at.lock()));
  fs::create_directory(at.lock());
  CHECK(at.mailbox.read(at.lead, ReadMode::under_lock).outcome == ReadOutcome::lock_held);
  CHECK(at.read().outcome == ReadOutcome::document);  // an unlocked read is not kept out
  CHECK(fs::is_directory(at.lock()));
}

TEST_CASE("folders that others may write to, and links, are refused with what to do") {
  MailboxSetting at;
  at.put(inbox_of({entry("one")}));
  std::string hint;
  SECTION("team folder writable by the group") {
    REQUIRE(::chmod(at.team().c_str(), 0770) == 0);
    hint = "chmod go-w " + at.team().string();
  }
  SECTION("inbox folder writable by all") {
    REQUIRE(::chmod(at.folder().c_str(), 0757) == 0);
    hint = "chmod go-w " + at.folder().string();
  }
  SECTION("team folder is a link") {
    fs::rename(at.team(), at.scratch.path("real"));
    fs::create_directory_symlink("real", at.team());
    hint = "symbolic link";
  }
  SECTION("inbox folder is a link") {
    fs::rename(at.folder(), at.scratch.path("real"));
    fs::create_directory_symlink(at.scratch.path("real"), at.folder());
    hint = "symbolic link";
  }
  const std::string before = at.bytes();
  CHECK(at.mailbox.glance(at.lead).glance == Glance::changed);
  const ReadResult read = at.read();
  CHECK(read.outcome == ReadOutcome::fault);
  CHECK_THAT(read.detail, Contains(hint));
  const WriteResult appended = at.append(entry("two"));
  CHECK(appended.outcome == WriteOutcome::refused);
  CHECK_THAT(appended.detail, Contains(hint));
  const auto document = poller::InboxDocument::scan(before, {"team", at.lead});
  CHECK(at.mailbox.mark_read(at.lead, document, std::vector<std::size_t>{0}).outcome == WriteOutcome::refused);
  REQUIRE_FALSE(at.mailbox.glances().ok());
  CHECK_THAT(at.mailbox.glances().error().message, Contains(hint));
  CHECK(at.bytes() == before);
}

TEST_CASE("inboxes are the files with valid names, sorted - locks, temporary files and odd names are not") {
  MailboxSetting at;
  fs::create_directory(at.lock());
  for (const char* name : {"worker-2.json", "Worker_1.json", "team-lead.json", "a.b.json", "-x.json", ".hidden.json",
                           "notes.txt", ".json", "worker-2.json.tmp.0badcafe", "team-lead.json.corrupt-1"}) {
    spill(at.folder() / name, "[]");
  }
  std::vector<std::string> names;
  const auto found = at.mailbox.glances();
  REQUIRE(found);
  for (const InboxGlance& one : *found) names.push_back(one.inbox);
  CHECK(names == std::vector<std::string>{"-x", "Worker_1", "team-lead", "worker-2"});
}

TEST_CASE("names that could lead out of the folder are refused everywhere") {
  MailboxSetting at;
  spill(at.scratch.path("outside.json"), inbox_of({entry("one")}));
  for (const std::string name : {"../../outside", "", ".", "a/b", "a.b", "x\ny"}) {
    CAPTURE(name);
    CHECK(at.mailbox.glance(name).glance == Glance::missing);
    CHECK(at.mailbox.read(name, ReadMode::unlocked).outcome == ReadOutcome::fault);
    const auto document = poller::InboxDocument::scan(inbox_of({entry("one")}), {"team", name});
    CHECK(at.mailbox.mark_read(name, document, std::vector<std::size_t>{0}).outcome == WriteOutcome::refused);
    AppendReceipt receipt;
    CHECK(at.mailbox.append(name, entry("x"), receipt).outcome == WriteOutcome::refused);
    CHECK(at.mailbox.remove(name, document, std::vector<std::size_t>{0}).outcome == WriteOutcome::refused);
  }
  CHECK(slurp(at.scratch.path("outside.json")) == inbox_of({entry("one")}));
}

TEST_CASE("the roster is read from config.json, with or without inboxes beside it") {
  MailboxSetting at;
  fs::remove_all(at.folder());
  CHECK(at.port.roster().error().code == "roster.missing");
  const fs::path path = at.team() / "config.json";
  spill(path,
        R"({"name":"team","leadAgentId":"team-lead@team","members":[{"name":"worker-1","agentId":"worker-1@team"}]})");
  const Result<schema::Roster> roster = at.port.roster();
  REQUIRE(roster.ok());
  CHECK(roster->find("worker-1") != nullptr);

  spill(path, R"({"name":"te)");
  REQUIRE_FALSE(at.port.roster().ok());
  CHECK_THAT(at.port.roster().error().message, Contains(path.string()));
  fs::remove(path);
  fs::create_directory(path);
  CHECK(at.port.roster().error().code == "roster.unreadable");
}

TEST_CASE("temporary files of dead processes are removed at the start, everything else stays") {
  MailboxSetting at;
  const std::string self = std::to_string(::getpid());
  const std::string parent = std::to_string(::getppid());
  const std::vector<std::string> ours = {".team-lead.json.ip-" + self + "-1.tmp", ".w.json.ip-2147483646-12.tmp"};
  const std::vector<std::string> not_ours = {".team-lead.json.ip-" + parent + "-1.tmp",  // a live process
                                             ".team-lead.json.ip-2147483646-1.tmp.bak",
                                             "team-lead.json.ip-2147483646-1.tmp",
                                             ".json.ip-2147483646-1.tmp",
                                             ".a.b.json.ip-2147483646-1.tmp",
                                             ".w.json.ip-2147483646.tmp",
                                             ".w.json.ip--1.tmp",
                                             ".w.json.ip-0-1.tmp",
                                             ".w.json.ip-02147483646-1.tmp",
                                             "worker.json.tmp.0badcafe"};
  for (const std::string& name : ours) spill(at.folder() / name, "x");
  for (const std::string& name : not_ours) spill(at.folder() / name, "x");
  REQUIRE(at.mailbox.glances().ok());
  for (const std::string& name : ours) CHECK_FALSE(fs::exists(at.folder() / name));
  for (const std::string& name : not_ours) {
    CAPTURE(name);
    CHECK(fs::exists(at.folder() / name));
  }
}

TEST_CASE("a file that was taken away was consumed by nobody: what follows is a first reading") {
  MailboxSetting at;
  const auto look = [&] {
    auto batch = test::run_awaitable(at.port.receive(at.lead, Access::observe, 100));
    std::vector<Ack> left(batch.taken.size(), Ack::skip);
    static_cast<void>(test::run_awaitable(at.port.ack(at.lead, std::move(left))));
    return batch;
  };
  at.put(inbox_of({entry("a", "true"), entry("b")}));
  look();
  std::filesystem::remove(at.inbox());
  CHECK(look().state == BoxState::missing);
  at.put(inbox_of({entry("c", "true"), entry("b", "true")}));
  const auto batch = look();
  CHECK(batch.taken.size() == 2);
  CHECK(batch.signs.empty());
}

}  // namespace inbox_poller::mailbox_read_test
