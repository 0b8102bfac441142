// The known head of an inbox: what has the same bytes is not shown again, and whatever else happens to the file, a
// reading tells the same as one of the whole file. And windows: any size of them tells the same.

#include "poller/mailbox/arrays/inbox_reading.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/mailbox_setting.hpp"

namespace inbox_poller::mailbox_news_test {

using namespace inbox_poller::poller;
using test::entry;
using test::inbox_of;
using test::MailboxSetting;

namespace {

struct NewsSetting : MailboxSetting {
  ReadResult ready_boxes() { return mailbox.read_news(lead, ReadMode::unlocked); }
  /// Reads what is new, and deals with all of it; returns how many entries were shown.
  std::size_t take() {
    ReadResult reading = ready_boxes();
    REQUIRE(reading.outcome == ReadOutcome::document);
    for (std::size_t i = 0; i < reading.windows.size(); ++i) {
      REQUIRE(mailbox.show(reading, i));
      mailbox.remember(lead, reading, i);
    }
    return reading.document.entries().size();
  }
  /// Marks all that is unread, as the service does.
  void take_and_mark() {
    ReadResult reading = ready_boxes();
    for (std::size_t i = 0; i < reading.document.entries().size(); ++i) {
      const std::vector<std::size_t> one{i};
      REQUIRE(mailbox.mark_read(lead, reading.document, one).outcome == WriteOutcome::done);
      reading.document.set_read(i);
    }
    mailbox.remember(lead, reading, 0);
  }
  /// A reading of what is new, compared with one of everything.
  void check_news() {
    const ReadResult whole = read();
    const ReadResult news = this->ready_boxes();
    REQUIRE(news.outcome == whole.outcome);
    const auto& all = whole.document.entries();
    const auto& shown = news.document.entries();
    REQUIRE(news.skipped + shown.size() == all.size());
    for (std::size_t i = 0; i < news.skipped; ++i) CHECK(all[i].read == poller::ReadFlag::read);
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const auto& other = all[news.skipped + i];
      CHECK(shown[i].key == other.key);
      CHECK(shown[i].read == other.read);
      CHECK(shown[i].bytes == other.bytes);
      CHECK(shown[i].read_value == other.read_value);
      CHECK(news.document.entry_bytes(shown[i]) == whole.document.entry_bytes(other));
    }
  }
};

std::string read_entry(const std::string& text) { return entry(text, "true"); }

}  // namespace

TEST_CASE("entries that are read and dealt with are not shown again, whatever is written behind them") {
  NewsSetting at;
  at.put(inbox_of({read_entry("a"), read_entry("b")}));
  CHECK(at.take() == 2);
  CHECK(at.take() == 0);
  at.put(inbox_of({read_entry("a"), read_entry("b"), entry("c")}));
  const ReadResult news = at.ready_boxes();
  CHECK(news.skipped == 2);
  CHECK(news.knew == 2);
  REQUIRE(news.document.entries().size() == 1);
  CHECK(news.document.entry_bytes(news.document.entries()[0]) == entry("c"));
  at.check_news();
}

TEST_CASE("what is unread is shown again, and everything behind it") {
  NewsSetting at;
  at.put(inbox_of({read_entry("a"), entry("b"), read_entry("c")}));
  CHECK(at.take() == 3);
  CHECK(at.take() == 2);
  CHECK(at.mailbox.known(at.lead).size() == 1);
}

TEST_CASE("a file that was put in the place of another and has its bytes is known") {
  NewsSetting at;
  at.put(inbox_of({read_entry("a")}));
  at.take();
  std::filesystem::remove(at.inbox());
  at.put(inbox_of({read_entry("a"), entry("b")}));
  CHECK(at.take() == 1);
}

TEST_CASE("one other byte anywhere in the known head is noticed") {
  NewsSetting at;
  const std::string bytes = inbox_of({read_entry("a"), read_entry("b"), read_entry("c")});
  at.put(bytes);
  at.take();
  for (std::size_t i = 0; i < bytes.rfind('}') + 1; ++i) {
    std::string other = bytes;
    other[i] = static_cast<char>(other[i] ^ 1);
    at.put(other);
    const ReadResult news = at.ready_boxes();
    CAPTURE(i, other);
    CHECK(news.skipped == 0);
    CHECK(news.document.bytes() == other);
  }
  at.put(bytes);
  CHECK(at.take() == 0);
}

TEST_CASE("removals, insertions and other orders in the known head are noticed") {
  NewsSetting at;
  const std::vector<std::string> entries{read_entry("a"), read_entry("b"), read_entry("c")};
  const auto changed =
      GENERATE_COPY(std::vector<std::string>{entries[0], entries[1]}, std::vector<std::string>{entries[1], entries[2]},
                    std::vector<std::string>{entries[0], entries[2]}, std::vector<std::string>{},
                    std::vector<std::string>{entry("new"), entries[0], entries[1], entries[2]},
                    std::vector<std::string>{entries[0], entries[2], entries[1]},
                    std::vector<std::string>{entries[0], entry("b"), entries[2]},
                    std::vector<std::string>{entries[0], entries[0], entries[1], entries[2]});
  at.put(inbox_of(entries));
  at.take();
  at.put(inbox_of(changed));
  at.check_news();
  const ReadResult news = at.ready_boxes();
  CHECK(news.skipped == 0);
  for (const auto& shown : news.document.entries()) {
    const bool is_old =
        news.document.entry_bytes(shown).find("new") == std::string_view::npos && schema::occurrence_of(shown.key) == 0;
    CHECK(shown.known == is_old);
  }
}

TEST_CASE("marks of ours are known at once, and stay so when a client spells them in its own way") {
  NewsSetting at;
  at.put(inbox_of({read_entry("a"), entry("b"), entry("c")}));
  at.take_and_mark();
  CHECK(at.ready_boxes().document.entries().empty());
  CHECK(at.mailbox.known(at.lead).size() == 3);
  SECTION("a client that parses and writes anew") {
    at.put(inbox_of({read_entry("a"), read_entry("b"), read_entry("c"), entry("d")}));
    const ReadResult news = at.ready_boxes();
    CHECK(news.skipped == 1);
    CHECK(news.knew == 3);
    REQUIRE(news.document.entries().size() == 3);
    CHECK(news.document.entries()[1].known);
    CHECK_FALSE(news.document.entries()[2].known);
    at.check_news();
    at.take_and_mark();
    CHECK(at.ready_boxes().skipped == 4);
  }
  SECTION("a client that leaves bytes alone") {
    std::string bytes = at.bytes();
    bytes.insert(bytes.rfind('}') + 1, ",\n  " + entry("d"));
    at.put(bytes);
    CHECK(at.ready_boxes().skipped == 3);
    at.check_news();
  }
}

TEST_CASE("equals are numbered over the known head and what follows it") {
  NewsSetting at;
  at.put(inbox_of({read_entry("a"), read_entry("b"), read_entry("a"), entry("c")}));
  at.take();
  at.put(inbox_of({read_entry("a"), read_entry("b"), read_entry("a"), entry("c"), entry("a"), entry("b"), entry("a")}));
  const ReadResult news = at.ready_boxes();
  REQUIRE(news.skipped == 3);
  std::vector<std::size_t> occurrences;
  for (const auto& shown : news.document.entries()) occurrences.push_back(schema::occurrence_of(shown.key));
  CHECK(occurrences == std::vector<std::size_t>{0, 2, 1, 3});
  at.check_news();
}

TEST_CASE("numbers of equals are right when only a part of the known head was recognized") {
  NewsSetting at;
  at.put(inbox_of({read_entry("a"), entry("a"), entry("b")}));
  at.take_and_mark();
  REQUIRE(at.mailbox.known(at.lead).size() == 3);
  at.put(inbox_of({read_entry("a"), read_entry("a"), read_entry("b"), entry("a")}));
  CHECK(at.ready_boxes().skipped == 1);
  at.check_news();
}

TEST_CASE("forgotten is forgotten, and another inbox is another matter") {
  NewsSetting at;
  at.put(inbox_of({read_entry("a")}));
  at.take();
  test::spill(at.folder() / "other.json", at.bytes());
  CHECK(at.mailbox.read_news("other", ReadMode::unlocked).skipped == 0);
  at.mailbox.forget(at.lead);
  CHECK(at.take() == 1);
}

TEST_CASE("a file that is damaged behind the known head is read as a whole, for those who salvage") {
  NewsSetting at;
  const std::string bytes = inbox_of({read_entry("a"), entry("b")});
  at.put(bytes);
  at.take();
  at.put(bytes.substr(0, bytes.size() - 10));
  const ReadResult news = at.ready_boxes();
  CHECK(news.outcome == ReadOutcome::torn);
  CHECK(news.document.bytes() == bytes.substr(0, bytes.size() - 10));
  CHECK(news.document.entries().size() == 1);
  CHECK(news.document.entries()[0].known);
}

TEST_CASE("a file that moves under a reading of what is new gives no torn entries") {
  NewsSetting at;
  const std::string bytes = inbox_of({read_entry("a"), entry("b")});
  at.put(bytes);
  at.take();
  at.clock.advance(std::chrono::seconds(10));
  const std::string later =
      GENERATE_COPY(std::string(), bytes.substr(0, 30), bytes + std::string(100, ' '), inbox_of({}));
  const int nth = GENERATE(1, 2);
  int reads = 0;
  at.files.before(test::Call::read_at, [&](const std::string&) {
    if (++reads == nth) at.put(later);
  });
  const ReadResult news = at.ready_boxes();
  at.files.before(test::Call::read_at, [](const std::string&) {});
  CHECK(news.document.bytes() == (news.outcome == ReadOutcome::missing ? "" : later));
  CHECK(news.skipped == 0);
}

TEST_CASE("appending to an inbox whose head is known looks at what is there, and keeps its style") {
  NewsSetting at;
  const std::string line_end = GENERATE("\n", "\r\n");
  std::string bytes = inbox_of({read_entry("a"), read_entry("b")});
  for (std::size_t i = bytes.find('\n'); i != std::string::npos; i = bytes.find('\n', i + 2))
    bytes.replace(i, 1, line_end);
  at.put(bytes);
  SECTION("known or not, the same file comes out") {
    REQUIRE(at.append(entry("c")).outcome == WriteOutcome::done);
    const std::string without = at.bytes();
    at.put(bytes);
    at.take();
    REQUIRE(at.append(entry("c")).outcome == WriteOutcome::done);
    CHECK(at.bytes() == without);
  }
  SECTION("what is there already is found in the known head, too") {
    at.take();
    CHECK(at.append(entry("a")).outcome == WriteOutcome::already_there);
    CHECK(at.append(entry("b")).outcome == WriteOutcome::already_there);
    CHECK(at.bytes() == bytes);
  }
  SECTION("read entries in the known head mean that the owner marks") {
    at.take();
    AppendReceipt receipt;
    REQUIRE(at.mailbox.append(at.lead, entry("c"), receipt).outcome == WriteOutcome::done);
    CHECK(receipt.keeps_read);
  }
}

TEST_CASE("what we appended and was read since is found in the known head") {
  NewsSetting at;
  at.put(inbox_of({read_entry("a")}));
  at.take();
  AppendReceipt receipt;
  REQUIRE(at.mailbox.append(at.lead, entry("mine"), receipt).outcome == WriteOutcome::done);
  const auto found = [&] {
    const ReadResult now = at.ready_boxes();
    return read_status_in(EntryIndex(now, at.mailbox.known(at.lead)), receipt);
  };
  CHECK(found() == ReadStatus::waiting);
  at.put(inbox_of({read_entry("a"), read_entry("mine")}));
  CHECK(found() == ReadStatus::consumed);
  at.take();
  CHECK(at.ready_boxes().document.entries().empty());
  CHECK(found() == ReadStatus::consumed);
  at.put(inbox_of({read_entry("a")}));
  CHECK(found() == ReadStatus::consumed);
}

TEST_CASE("an entry behind a known head that cannot be marked in place is marked by replacement") {
  NewsSetting at;
  at.put(inbox_of({read_entry("a"), entry("b", "")}));
  at.take();
  const ReadResult news = at.ready_boxes();
  REQUIRE(news.skipped == 1);
  const std::vector<std::size_t> one{0};
  CHECK(at.mailbox.mark_read(at.lead, news.document, one).marked == 1);
  CHECK(at.bytes() == inbox_of({read_entry("a"), read_entry("b")}));
  at.check_news();
}

TEST_CASE("a part of a file is not marked by replacement when what surrounds it is broken") {
  NewsSetting at;
  const std::string bytes = inbox_of({read_entry("a"), entry("b", "")});
  at.put(bytes);
  at.take();
  const ReadResult news = at.ready_boxes();
  at.put(bytes.substr(0, bytes.size() - 1) + ",");
  const std::vector<std::size_t> one{0};
  CHECK(at.mailbox.mark_read(at.lead, news.document, one).outcome == WriteOutcome::changed);
}

TEST_CASE("a glance at all inboxes tells of each what a glance at it tells") {
  NewsSetting at;
  at.put(inbox_of({entry("a")}));
  test::spill(at.folder() / "other.json", "[]");
  at.ack();
  CHECK(at.read().outcome == ReadOutcome::document);
  const auto glances = at.mailbox.glances();
  REQUIRE(glances.ok());
  REQUIRE(glances->size() == 2);
  CHECK((*glances)[0].inbox == "other");
  CHECK((*glances)[0].result.glance == Glance::changed);
  CHECK((*glances)[1].inbox == at.lead);
  CHECK((*glances)[1].result.glance == Glance::unchanged);
  CHECK((*glances)[1].result.size == at.bytes().size());
}

TEST_CASE("a folder that is at rest is not listed again") {
  NewsSetting at;
  at.put("[]");
  at.ack();
  REQUIRE(at.mailbox.glances().ok());
  int lists = 0;
  at.files.before(test::Call::list, [&](const std::string&) { ++lists; });
  CHECK(at.mailbox.glances()->size() == 1);
  CHECK(lists == 0);
  test::spill(at.folder() / "other.json", "[]");
  CHECK(at.mailbox.glances()->size() == 2);
  CHECK(lists == 1);
}

TEST_CASE("where hints are relied on, inboxes at rest are looked at in turn, all of them once in five seconds") {
  NewsSetting at;
  const std::vector<std::string> names{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"};
  const auto file = [&](const std::string& name) { return at.folder() / (name + ".json"); };
  for (const auto& name : names) test::spill(file(name), inbox_of({entry("one")}));
  at.ack();
  for (const auto& name : names) REQUIRE(at.mailbox.read(name, ReadMode::unlocked).outcome == ReadOutcome::document);
  const auto changed = [&] {
    std::vector<std::string> found;
    const auto glances = at.mailbox.glances();
    for (const auto& glance : *glances)
      if (glance.result.glance == Glance::changed) found.push_back(glance.inbox);
    return found;
  };
  REQUIRE(changed().empty());
  at.mailbox.rotate_scans(std::chrono::milliseconds(500));
  int looks = 0;
  at.files.before(test::Call::stat_at, [&](const std::string& name) { looks += name.ends_with(".json") ? 1 : 0; });
  for (int poll = 0; poll < 10; ++poll) {
    CHECK(changed().empty());
    CHECK(looks <= 2);
    looks = 0;
  }

  // In place, and without a lock, which changes the folder.
  for (const auto& name : names) {
    CAPTURE(name);
    test::spill(file(name), inbox_of({entry("one"), entry("two")}));
    int polls = 0;
    while (changed().empty() && polls < 12) ++polls;
    CHECK(polls < 10);
    CHECK(changed() == std::vector<std::string>{name});  // until it is read
    at.ack();
    static_cast<void>(at.mailbox.read(name, ReadMode::unlocked));
  }
  test::spill(file("b"), inbox_of({}));
  test::spill(file("j"), inbox_of({}));
  test::spill(file("new"), inbox_of({}));
  CHECK(changed() == std::vector<std::string>{"b", "j", "new"});
  test::spill(file("c"), inbox_of({}));
  at.mailbox.rotate_scans({});
  CHECK(changed() == std::vector<std::string>{"b", "c", "j", "new"});
}

TEST_CASE("where inboxes have their turn, a folder at rest is not opened, and another in its place is not at rest") {
  NewsSetting at;
  test::spill(at.team() / "config.json",
              R"({"name":"team","leadAgentId":"team-lead@team","members":[{"name":"team-lead"}]})");
  at.put(inbox_of({entry("one")}));
  at.ack();
  REQUIRE(at.port.roster().ok());
  REQUIRE(at.read().outcome == ReadOutcome::document);
  REQUIRE(at.mailbox.glances().ok());
  at.mailbox.rotate_scans(std::chrono::milliseconds(500));
  int opened = 0;
  at.files.before(test::Call::open_dir, [&](const std::string&) { ++opened; });
  const auto at_rest = [&] {
    if (at.port.roster_changed()) return false;
    const auto glances = at.mailbox.glances();
    return glances && std::all_of(glances->begin(), glances->end(),
                                  [](const auto& glance) { return glance.result.glance == Glance::unchanged; });
  };
  for (int poll = 0; poll < 12; ++poll) CHECK(at_rest());
  CHECK(opened == 0);
  const auto moved = at.team().string() + "-moved";

  SECTION("others may write to it") { std::filesystem::permissions(at.folder(), std::filesystem::perms(0770)); }
  SECTION("a link lies in its place") {
    std::filesystem::rename(at.folder(), moved);
    std::filesystem::create_directory_symlink(moved, at.folder());
  }
  SECTION("a copy lies in its place") {
    std::filesystem::rename(at.folder(), moved);
    std::filesystem::copy(moved, at.folder());
    std::filesystem::permissions(at.folder(), std::filesystem::perms(0700));
  }
  SECTION("a file has come") { test::spill(at.folder() / "other.json", "[]"); }
  SECTION("a file is written in place, and has its turn") {
    at.put(inbox_of({entry("one"), entry("two")}));
    for (int poll = 0; poll < 10 && at_rest(); ++poll) {}
  }
  CHECK_FALSE(at_rest());
}

TEST_CASE("a doubt that comes between the look at the folder and the looks at the inboxes has all of them looked at") {
  NewsSetting at;
  test::spill(at.team() / "config.json",
              R"({"name":"team","leadAgentId":"team-lead@team","members":[{"name":"team-lead"}]})");
  const std::vector<std::string> names{"a", "b", "c", "d"};
  for (const auto& name : names) test::spill(at.folder() / (name + ".json"), inbox_of({entry("one")}));
  at.ack();
  REQUIRE(at.port.roster().ok());
  for (const auto& name : names) REQUIRE(at.mailbox.read(name, ReadMode::unlocked).outcome == ReadOutcome::document);
  at.mailbox.rotate_scans(std::chrono::milliseconds(500));
  for (int poll = 0; poll < 3; ++poll) {
    REQUIRE_FALSE(at.port.roster_changed());
    REQUIRE(at.mailbox.glances().ok());
  }
  for (const auto& name : names) test::spill(at.folder() / (name + ".json"), inbox_of({entry("one"), entry("two")}));
  REQUIRE_FALSE(at.port.roster_changed());
  at.mailbox.rotate_scans({});
  const auto glances = at.mailbox.glances();
  REQUIRE(glances.ok());
  for (const auto& glance : *glances) CHECK(glance.result.glance == Glance::changed);
}

TEST_CASE("the boxes rest when two looks found the same and nothing new, until somebody reads, follows or writes") {
  NewsSetting at;
  at.put(inbox_of({entry("one")}));
  test::spill(at.folder() / "other.json", inbox_of({entry("one")}));
  at.ack();
  const auto rests = [&] {
    REQUIRE(at.port.ready_boxes().ok());
    return at.port.is_idle();
  };
  CHECK_FALSE(rests());  // nobody has read them
  auto& inboxes = at.port.inboxes();
  REQUIRE(inboxes.read("other", ReadMode::unlocked).outcome == ReadOutcome::document);
  CHECK_FALSE(rests());
  REQUIRE(inboxes.read(at.lead, ReadMode::unlocked).outcome == ReadOutcome::document);
  CHECK_FALSE(rests());  // the first look that finds nothing new
  CHECK(rests());
  inboxes.rotate_scans(std::chrono::milliseconds(500));
  CHECK(rests());

  SECTION("read") { static_cast<void>(inboxes.read("other", ReadMode::unlocked)); }
  SECTION("followed") { at.port.track("nobody", schema::MessageKey{"k"}); }
  SECTION("shown again") { at.port.rewind(at.lead); }
  SECTION("written in place") {
    inboxes.rotate_scans({});
    at.put(inbox_of({entry("one"), entry("two")}));
  }
  SECTION("a new one") { test::spill(at.folder() / "third.json", "[]"); }
  SECTION("gone") { std::filesystem::remove(at.folder() / "other.json"); }
  CHECK_FALSE(rests());
}

TEST_CASE("a roster counts as changed until one that is at rest was read") {
  NewsSetting at;
  const std::string roster = R"({"name":"team","leadAgentId":"team-lead@team","members":[{"name":"team-lead"}]})";
  CHECK(at.port.roster_changed());
  test::spill(at.team() / "config.json", roster);
  REQUIRE(at.port.roster().ok());
  CHECK(at.port.roster_changed());  // too young to be told from the next version
  at.ack();
  REQUIRE(at.port.roster().ok());
  CHECK_FALSE(at.port.roster_changed());
  test::spill(at.team() / "config.json", roster + "\n");
  CHECK(at.port.roster_changed());
  std::filesystem::remove(at.team() / "config.json");
  CHECK(at.port.roster_changed());
}

TEST_CASE("the look by name of every poll takes no other folder for the one that was opened step by step") {
  NewsSetting at;
  test::spill(at.team() / "config.json",
              R"({"name":"team","leadAgentId":"team-lead@team","members":[{"name":"team-lead"}]})");
  at.put("[]");
  at.ack();
  REQUIRE(at.port.roster().ok());
  CHECK(at.read().outcome == ReadOutcome::document);
  REQUIRE(at.mailbox.glances().ok());
  int opened = 0;
  at.files.before(test::Call::open_dir, [&](const std::string&) { ++opened; });
  const auto unchanged = [&] {
    return !at.port.roster_changed() && at.mailbox.glance(at.lead).glance == Glance::unchanged;
  };
  REQUIRE(unchanged());
  CHECK(opened == 1);
  const auto moved = at.team().string() + "-moved";

  SECTION("others may write to the team's folder") {
    std::filesystem::permissions(at.team(), std::filesystem::perms(0770));
    CHECK(at.port.roster_changed());
    CHECK(at.port.roster().error().code == code::untrusted);
  }
  SECTION("others may write to the inboxes' folder") {
    std::filesystem::permissions(at.folder(), std::filesystem::perms(0770));
    CHECK_FALSE(at.port.roster_changed());
    CHECK(at.mailbox.glance(at.lead).glance == Glance::changed);
    CHECK(at.read().outcome == ReadOutcome::fault);
  }
  SECTION("a link to the team's folder lies in its place") {
    std::filesystem::rename(at.team(), moved);
    std::filesystem::create_directory_symlink(moved, at.team());
    CHECK(at.port.roster_changed());
    CHECK(at.port.roster().error().code == code::untrusted);
  }
  SECTION("a link to the inboxes' folder lies in its place") {
    std::filesystem::rename(at.folder(), moved);
    std::filesystem::create_directory_symlink(moved, at.folder());
    CHECK_FALSE(at.port.roster_changed());
    CHECK(at.mailbox.glance(at.lead).glance == Glance::changed);
    CHECK(at.read().outcome == ReadOutcome::fault);
  }
  SECTION("a copy of the inboxes' folder lies in its place") {
    std::filesystem::rename(at.folder(), moved);
    std::filesystem::copy(moved, at.folder());
    std::filesystem::permissions(at.folder(), std::filesystem::perms(0700));
    CHECK_FALSE(at.port.roster_changed());
    CHECK(at.mailbox.glance(at.lead).glance == Glance::changed);
    CHECK(at.read().outcome == ReadOutcome::document);
    CHECK(unchanged());
  }
  SECTION("an inboxes' folder without any lies in its place") {
    std::filesystem::rename(at.folder(), moved);
    std::filesystem::create_directory(at.folder());
    opened = 0;
    CHECK_FALSE(at.port.roster_changed());
    CHECK(at.mailbox.glance(at.lead).glance == Glance::missing);
    CHECK(opened == 1 + 3);
  }
}

}  // namespace inbox_poller::mailbox_news_test
