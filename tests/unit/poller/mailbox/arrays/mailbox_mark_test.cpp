// Marking entries read: a few bytes under the lock, of exactly the entries that were meant, or nothing.
#include "tests/support/catch.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/mailbox_setting.hpp"

namespace inbox_poller::mailbox_mark_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

/// The entry number i, so long that two of them fill a sector and no flag lies across its end.
std::string half_a_sector(std::size_t i, const std::string& read = "false") {
  const std::string text = 'm' + std::to_string(i);
  const std::size_t separator = 4;  // of inbox_of()
  return entry(text + std::string(256 - separator - entry(text).size(), 'x'), read);
}

}  // namespace

TEST_CASE("marking flips the flags in place and leaves every other byte and the inode alone") {
  MailboxSetting at;
  at.put(inbox_of({entry("one"), entry("two"), entry("three", "true")}));
  const auto inode = at.real.stat_at(absolute, at.inbox().string())->ino;
  const WriteResult result = at.mark({0, 2});
  CHECK(result.outcome == WriteOutcome::done);
  CHECK(result.marked == 1);
  CHECK(result.detail.empty());
  CHECK(at.bytes() == inbox_of({entry("one", "true "), entry("two"), entry("three", "true")}));
  CHECK(at.real.stat_at(absolute, at.inbox().string())->ino == inode);
  CHECK(at.litter().empty());
}

TEST_CASE("bytes are only written while the lock is held, and nothing is synced") {
  MailboxSetting at;
  at.put(inbox_of({entry("one"), entry("two")}));
  int writes = 0;
  at.files.before(Call::write_at, [&](const std::string&) {
    ++writes;
    CHECK(fs::is_directory(at.lock()));
    CHECK(fs::is_empty(at.lock()));
  });
  at.files.before(Call::sync, [&](const std::string&) { FAIL("synced"); });
  CHECK(at.mark({0, 1}).outcome == WriteOutcome::done);
  CHECK(writes == 1);  // one for all that lies together
  CHECK(at.mailbox.contention().acquired == 1);
}

TEST_CASE("nothing to mark takes no lock") {
  MailboxSetting at;
  at.put(inbox_of({entry("one", "true")}));
  CHECK(at.mark({0, 99}).outcome == WriteOutcome::done);
  CHECK(at.mark({}).outcome == WriteOutcome::done);
  CHECK(at.mailbox.contention().acquired == 0);
}

TEST_CASE("many marks are made in batches, with the lock free in between") {
  MailboxSetting at;
  const std::size_t count = 260;
  std::vector<std::string> entries;
  std::vector<std::string> marked;
  std::vector<std::size_t> indexes;
  for (std::size_t i = 0; i < count; ++i) {
    entries.push_back(half_a_sector(i));
    marked.push_back(half_a_sector(i, "true "));
    indexes.push_back(i);
  }
  at.put(inbox_of(entries));
  const WriteResult result = at.mark(indexes);
  CHECK(result.outcome == WriteOutcome::done);
  CHECK(result.marked == count);
  CHECK(at.bytes() == inbox_of(marked));
  CHECK(at.mailbox.contention().acquired == 3);  // 128 + 128 + 4
}

TEST_CASE("flags across the end of a sector are set by replacement, once the others are set in place") {
  MailboxSetting at;
  std::vector<std::string> entries;
  std::vector<std::size_t> indexes;
  for (std::size_t i = 0; i < 3; ++i) {
    entries.push_back(half_a_sector(i));
    indexes.push_back(i);
  }
  entries[1].insert(entries[1].find("m1"), 5,
                    'y');  // the flag of entry 1, which ended with its sector, now begins in it
  at.put(inbox_of(entries));
  const WriteResult first = at.mark(indexes);
  CHECK(first.outcome == WriteOutcome::changed);  // read it again
  CHECK(first.marked == 2);
  CHECK(at.bytes().find(R"("read": false)") != std::string::npos);
  const WriteResult second = at.mark(indexes);
  CHECK(second.outcome == WriteOutcome::done);
  CHECK(second.marked == 1);
  CHECK(at.bytes().find("false") == std::string::npos);
}

TEST_CASE("large entries make smaller batches") {
  MailboxSetting at;
  std::vector<std::string> entries(3, entry(std::string(200'000, 'x')));
  at.put(inbox_of(entries));
  CHECK(at.mark({0, 1, 2}).outcome == WriteOutcome::done);
  CHECK(at.mailbox.contention().acquired == 2);  // two of them pass 256 KiB
}

TEST_CASE("a batch that meets a peer's lock says how far it came") {
  MailboxSetting at;
  std::vector<std::string> entries;
  std::vector<std::size_t> indexes;
  for (std::size_t i = 0; i < 200; ++i) {
    entries.push_back(half_a_sector(i));
    indexes.push_back(i);
  }
  at.put(inbox_of(entries));
  int attempts = 0;
  at.files.before(Call::mkdir_at, [&](const std::string&) {
    if (++attempts == 2) fs::create_directory(at.lock());
  });
  const WriteResult result = at.mark(indexes);
  CHECK(result.outcome == WriteOutcome::lock_held);
  CHECK(result.marked == 128);
}

TEST_CASE("entries appended since the reading do not disturb the marking") {
  MailboxSetting at;
  at.put(inbox_of({entry("one")}));
  const ReadResult read = at.read();
  SECTION("in place") { at.put(inbox_of({entry("one"), entry("two")})); }
  SECTION("by rename") { replace(at.inbox(), inbox_of({entry("one"), entry("two")})); }
  CHECK(at.mailbox.mark_read(at.lead, read.document, std::vector<std::size_t>{0}).outcome == WriteOutcome::done);
  CHECK(at.bytes() == inbox_of({entry("one", "true "), entry("two")}));
}

TEST_CASE("what a peer has rewritten since the reading is never marked by place") {
  MailboxSetting at;
  at.put(inbox_of({entry("one"), entry("two")}));
  const ReadResult read = at.read();
  const auto rewritten = GENERATE(inbox_of({entry("two")}),  // ours was removed, another stands in its place
                                  inbox_of({entry("xxx"), entry("two")}),  // same length, other text
                                  inbox_of({entry("one", "true"), entry("two")}), std::string("[]"), std::string());
  SECTION("before the lock") { at.put(rewritten); }
  SECTION("in place, before we open the file under the lock") {
    at.files.once_before(Call::open_update, ".json", [&] { at.put(rewritten); });
  }
  SECTION("by rename, before we open the file under the lock") {
    at.files.once_before(Call::open_update, ".json", [&] { replace(at.inbox(), rewritten); });
  }
  SECTION("in place, just before we compare") {
    at.files.once_before(Call::read_at, ".json", [&] { at.put(rewritten); });
  }
  const WriteResult result = at.mailbox.mark_read(at.lead, read.document, std::vector<std::size_t>{0, 1});
  CHECK(result.outcome == WriteOutcome::changed);
  CHECK(result.marked == 0);
  CHECK(at.bytes() == rewritten);
  CHECK(at.litter().empty());
}

TEST_CASE("an entry that somebody else has marked meanwhile is no difference") {
  MailboxSetting at;
  at.put(inbox_of({entry("one"), entry("two")}));
  const ReadResult read = at.read();
  at.put(inbox_of({entry("one", "true "), entry("two")}));
  const WriteResult result = at.mailbox.mark_read(at.lead, read.document, std::vector<std::size_t>{0, 1});
  CHECK(result.outcome == WriteOutcome::done);
  CHECK(result.marked == 1);
  CHECK(at.bytes() == inbox_of({entry("one", "true "), entry("two", "true ")}));
}

TEST_CASE("entries without the flag get it by replacement, once the others are set in place") {
  MailboxSetting at;
  at.put(inbox_of({entry("one", ""), entry("two"), entry("three", "\"no\""), entry("four")}));
  REQUIRE(::chmod(at.inbox().c_str(), 0640) == 0);
  CHECK(at.mark({0, 1, 2}).outcome == WriteOutcome::changed);  // by us: it has to be read again
  const WriteResult result = at.mark({0, 1, 2});
  CHECK(result.outcome == WriteOutcome::done);
  CHECK(result.marked == 2);
  CHECK(at.bytes() == inbox_of({entry("one", "true"), entry("two", "true "), entry("three", "true"), entry("four")}));
  CHECK(at.real.stat_at(absolute, at.inbox().string())->mode == 0640);
  CHECK(at.litter().empty());
}

TEST_CASE("entries that cannot carry a flag are left alone without an error") {
  MailboxSetting at;
  at.put("[null, 7]");
  const WriteResult result = at.mark({0, 1});
  CHECK(result.outcome == WriteOutcome::done);
  CHECK(result.marked == 0);
  CHECK(at.bytes() == "[null, 7]");
}

TEST_CASE("a replacement is not made over a file that changed in any way since the reading") {
  MailboxSetting at;
  at.put(inbox_of({entry("one", "")}));
  const ReadResult read = at.read();
  const std::string other = inbox_of({entry("two", "")});
  SECTION("before") { at.put(other); }
  SECTION("in place, between our copy and the lock") {
    at.files.once_before(Call::mkdir_at, ".lock", [&] { at.put(other); });
  }
  SECTION("by rename, between our copy and the lock") {
    at.files.once_before(Call::mkdir_at, ".lock", [&] { replace(at.inbox(), other); });
  }
  const WriteResult result = at.mailbox.mark_read(at.lead, read.document, std::vector<std::size_t>{0});
  CHECK(result.outcome == WriteOutcome::changed);
  CHECK(at.bytes() == other);
  CHECK(at.litter().empty());
}

TEST_CASE("a file with a second name is marked by replacement, so that the other name keeps its bytes") {
  MailboxSetting at;
  const std::string before = inbox_of({entry("one")});
  at.put(before);
  fs::create_hard_link(at.inbox(), at.scratch.path("backup"));
  const ReadResult read = at.read();
  SECTION("all the time") {
    CHECK(at.mailbox.mark_read(at.lead, read.document, std::vector<std::size_t>{0}).outcome == WriteOutcome::done);
    CHECK(at.bytes() == inbox_of({entry("one", "true ")}));
  }
  SECTION("since just now") {
    fs::remove(at.scratch.path("backup"));
    at.files.once_before(Call::open_update, ".json",
                         [&] { fs::create_hard_link(at.inbox(), at.scratch.path("backup")); });
    CHECK(at.mailbox.mark_read(at.lead, read.document, std::vector<std::size_t>{0}).outcome == WriteOutcome::changed);
  }
  CHECK(slurp(at.scratch.path("backup")) == before);
}

TEST_CASE("marking meets a held lock, a foreign lock, a missing file and a link as outcomes") {
  MailboxSetting at;
  at.put(inbox_of({entry("one")}));
  const ReadResult read = at.read();
  WriteOutcome expected = WriteOutcome::done;
  SECTION("held") {
    fs::create_directory(at.lock());
    expected = WriteOutcome::lock_held;
  }
  SECTION("foreign") {
    fs::create_symlink("x", at.lock());
    expected = WriteOutcome::lock_foreign;
  }
  SECTION("missing") {
    fs::remove(at.inbox());
    expected = WriteOutcome::missing;
  }
  SECTION("no team") {
    fs::remove_all(at.team());
    expected = WriteOutcome::missing;
  }
  SECTION("a link") {
    fs::rename(at.inbox(), at.folder() / "other");
    fs::create_symlink("other", at.inbox());
    expected = WriteOutcome::refused;
  }
  CHECK(at.mailbox.mark_read(at.lead, read.document, std::vector<std::size_t>{0}).outcome == expected);
}

TEST_CASE("a lock that was broken while we marked makes the caller look again") {
  MailboxSetting at;
  at.put(inbox_of({entry("one")}));
  at.files.once_before(Call::write_at, ".json", [&] { fs::remove(at.lock()); });
  const WriteResult result = at.mark({0});
  CHECK(result.outcome == WriteOutcome::changed);
  CHECK_THAT(result.detail, Contains("broken"));
}

TEST_CASE("nothing is marked when the lock or the file is no longer what it was at our look") {
  MailboxSetting at;
  at.put(inbox_of({entry("one"), entry("two"), entry("three")}));
  const ReadResult read = at.read();
  std::string there = at.bytes();
  std::function<void()> meanwhile;
  SECTION("the lock is gone: we were stopped for so long that it was abandoned") {
    meanwhile = [&] { fs::remove(at.lock()); };
  }
  SECTION("a peer without a lock has written") {
    there = inbox_of({entry("one"), entry("two", "true"), entry("three"), entry("four")});
    meanwhile = [&] { at.put(there); };
  }
  at.files.once_before(Call::read_at, ".json", [&] { at.files.once_before(Call::stat, ".json", meanwhile); });
  const WriteResult result = at.mailbox.mark_read(at.lead, read.document, std::vector<std::size_t>{0, 2});
  CHECK(result.outcome == WriteOutcome::changed);
  CHECK(result.marked == 0);
  CHECK(at.bytes() == there);
}

TEST_CASE("taking over an abandoned lock is told with the result") {
  MailboxSetting at;
  at.put(inbox_of({entry("one")}));
  fs::create_directory(at.lock());
  CHECK(at.mark({0}).outcome == WriteOutcome::lock_held);
  at.clock.advance(5s);
  CHECK(at.mark({0}).outcome == WriteOutcome::lock_held);
  at.clock.advance(5s);
  const WriteResult result = at.mark({0});
  CHECK(result.outcome == WriteOutcome::done);
  CHECK_THAT(result.detail, Contains("taken over"));
}

TEST_CASE("a file whose size moves while we mark makes the caller look again") {
  MailboxSetting at;
  at.put(inbox_of({entry("one")}));
  const ReadResult read = at.read();
  // The look after the last flag: an unlocked writer was at work.
  at.files.once_before(Call::stat, ".json", [&] { at.put(inbox_of({entry("one"), entry("two")})); });
  const WriteResult result = at.mailbox.mark_read(at.lead, read.document, std::vector<std::size_t>{0});
  CHECK(result.outcome == WriteOutcome::changed);
  CHECK_THAT(result.detail, Contains("while we marked"));
}

}  // namespace inbox_poller::mailbox_mark_test
