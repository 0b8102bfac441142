// Taking entries out of an inbox whose head is known: what is known afterwards, and what every fault leaves.
#include "tests/support/catch.hpp"
#include "tests/support/mailbox_setting.hpp"
#include "tests/unit/poller/every_fault.hpp"

namespace inbox_poller::mailbox_compact_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::test;

namespace {

std::string read_entry(const std::string& text) { return entry(text, "true"); }

struct KnownSetting : MailboxSetting {
  ReadResult ready_boxes() { return mailbox.read_news(lead, ReadMode::unlocked); }
  void take() {
    ReadResult reading = ready_boxes();
    REQUIRE(reading.outcome == ReadOutcome::document);
    mailbox.remember(lead, reading, 0);
  }
  WriteResult remove(const std::vector<std::size_t>& indexes) {
    const ReadResult all = read();
    return mailbox.remove(lead, all.document, indexes);
  }
};

const std::vector<std::string> all = {read_entry("a"), read_entry("b"), read_entry("c"), entry("d"), read_entry("e")};

}  // namespace

TEST_CASE("what is left of a known head stays known, and nothing else becomes known") {
  KnownSetting at;
  at.put(inbox_of(all));
  at.take();
  REQUIRE(at.remove({0, 2, 4}).outcome == WriteOutcome::done);
  CHECK(at.bytes() == inbox_of({all[1], all[3]}));
  const ReadResult news = at.ready_boxes();
  CHECK(news.skipped == 1);
  CHECK(news.knew == 1);
  REQUIRE(news.document.entries().size() == 1);
  CHECK(news.document.entry_bytes(news.document.entries()[0]) == entry("d"));
  CHECK_FALSE(news.document.entries()[0].known);
}

TEST_CASE("a head that was removed as a whole leaves nothing known") {
  KnownSetting at;
  at.put(inbox_of(all));
  at.take();
  REQUIRE(at.remove({0, 1, 2}).outcome == WriteOutcome::done);
  const ReadResult news = at.ready_boxes();
  CHECK(news.skipped == 0);
  CHECK(news.knew == 0);
  CHECK(news.document.entries().size() == 2);
}

TEST_CASE("an entry that comes back after it was removed is not known by an equal that has gone") {
  KnownSetting at;
  at.put(inbox_of(all));
  at.take();
  REQUIRE(at.remove({0, 1}).outcome == WriteOutcome::done);
  at.put(inbox_of({all[2], all[3], all[4], entry("a")}));
  const ReadResult news = at.ready_boxes();
  REQUIRE(news.skipped == 1);
  CHECK_FALSE(news.document.entries()[2].known);
}

TEST_CASE("a peer's entry between the reading and the removal stops it, and so does a held lock") {
  KnownSetting at;
  at.put(inbox_of(all));
  at.take();
  const ReadResult before = at.read();
  REQUIRE(at.append(entry("new")).outcome == WriteOutcome::done);
  const std::string bytes = at.bytes();
  const std::vector<std::size_t> first{0};
  CHECK(at.mailbox.remove(at.lead, before.document, first).outcome == WriteOutcome::changed);
  CHECK(at.bytes() == bytes);
  std::filesystem::create_directory(at.lock());
  CHECK(at.remove({0}).outcome == WriteOutcome::lock_held);
  CHECK(at.bytes() == bytes);
  std::filesystem::remove(at.lock());
  // At the last moment, under the lock that it does not respect.
  at.ack();
  const std::string rewritten = inbox_of({entry("x"), all[0], all[1]});
  at.files.once_before(Call::stat_at, "team-lead.json.lock", [&] { at.put(rewritten); });
  const WriteResult result = at.remove({0});
  CHECK((result.outcome == WriteOutcome::changed || result.outcome == WriteOutcome::done));
  if (result.outcome == WriteOutcome::changed) CHECK(at.bytes() == rewritten);
  CHECK(at.litter().empty());
}

TEST_CASE("removing under every fault: the old file or the new one, and the next reading is right") {
  const std::string before = inbox_of(all);
  const std::string after = inbox_of({all[1], all[3]});
  const unsigned met = with_every_fault([&](const Fault& fault) {
    KnownSetting at;
    at.put(before);
    at.take();
    at.ack();
    const ReadResult reading = at.read();
    at.files.set(fault);
    const std::vector<std::size_t> leaving{0, 2, 4};
    const WriteResult result = at.mailbox.remove(at.lead, reading.document, leaving);
    const bool fired = at.files.fired();
    at.files.heal();
    const std::string bytes = at.bytes();
    CHECK((bytes == before || bytes == after));
    if (result.outcome == WriteOutcome::done) CHECK(bytes == after);
    if (result.outcome != WriteOutcome::done && result.outcome != WriteOutcome::fault) CHECK(bytes == before);
    if (result.outcome != WriteOutcome::done) CHECK_FALSE(result.detail.empty());
    const ReadResult news = at.ready_boxes();
    REQUIRE(news.outcome == ReadOutcome::document);
    CHECK(news.skipped + news.document.entries().size() == (bytes == after ? 2U : 5U));
    CHECK(news.document.entries().back().known == false);
    return fired;
  });
  CHECK(met > 30);
}

}  // namespace inbox_poller::mailbox_compact_test
