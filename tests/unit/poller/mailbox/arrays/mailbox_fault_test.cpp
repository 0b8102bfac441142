// Every system call fails once, and for good: reading, marking and appending stay honest whatever breaks.
// The loops go on until the fault is not met any more, so a call added later is covered without a change here.
#include "tests/support/catch.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/mailbox_setting.hpp"
#include "tests/unit/poller/every_fault.hpp"
#include "tests/unit/poller/team/team_world.hpp"

namespace inbox_poller::mailbox_fault_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::test;
namespace fs = std::filesystem;

namespace {

/// After the fault, however the call ended: no lock, and once the cause is gone no temporary file.
void check_left_behind(MailboxSetting& at, const Fault& fault) {
  at.files.heal();
  at.ack();
  const bool cannot_unlock = fault.call == Call::rmdir_at && fault.for_good;
  if (!cannot_unlock) CHECK_FALSE(fs::exists(at.lock()));
  if (cannot_unlock || fault.call == Call::unlink_at) {
    REQUIRE(at.make().inboxes().glances().ok());                                                        // a start
    CHECK(at.mailbox.read(at.lead, ReadMode::under_lock).outcome != ReadOutcome::lock_held);  // an attempt
  }
  CHECK(at.litter().empty());
}

}  // namespace

TEST_CASE("reading: a fault is never a document, and the next reading is right") {
  const std::string bytes = inbox_of({entry("one"), entry("two")});
  const unsigned met = with_every_fault([&](const Fault& fault) {
    MailboxSetting at;
    at.put(bytes);
    at.ack();
    at.files.set(fault);
    const ReadResult read = at.mailbox.read(at.lead, ReadMode::under_lock);
    const Glance glance = at.mailbox.glance(at.lead).glance;
    const bool fired = at.files.fired();
    if (read.outcome == ReadOutcome::document) CHECK(read.document.bytes() == bytes);
    if (glance == Glance::unchanged) CHECK(read.outcome == ReadOutcome::document);
    if (read.outcome == ReadOutcome::fault) CHECK_FALSE(read.detail.empty());
    check_left_behind(at, fault);
    CHECK(at.bytes() == bytes);
    CHECK(at.read().outcome == ReadOutcome::document);
    return fired;
  });
  CHECK(met > 40);
}

TEST_CASE("marking in place: each flag is set or not, and `done` means all of them") {
  const std::string before = inbox_of({entry("one"), entry("two")});
  const std::string half = inbox_of({entry("one", "true "), entry("two")});
  const std::string after = inbox_of({entry("one", "true "), entry("two", "true ")});
  const unsigned met = with_every_fault([&](const Fault& fault) {
    MailboxSetting at;
    at.put(before);
    at.ack();
    const ReadResult read = at.read();
    at.files.set(fault);
    const WriteResult result = at.mailbox.mark_read(at.lead, read.document, std::vector<std::size_t>{0, 1});
    const bool fired = at.files.fired();
    const std::string bytes = at.bytes();
    if (fault.call == Call::write_at && fault.for_good && fired) {
      // Neither the flag nor its old value can be written: the one case in which we cannot keep the file whole.
      CHECK_THAT(result.detail, Contains("may be damaged"));
      return fired;
    }
    CHECK((bytes == before || bytes == half || bytes == after));
    if (result.outcome == WriteOutcome::done) CHECK(bytes == after);
    CHECK(result.marked == (bytes == before ? 0U : bytes == half ? 1U : 2U));
    if (result.outcome != WriteOutcome::done) CHECK_FALSE(result.detail.empty());
    check_left_behind(at, fault);
    CHECK(at.mark({0, 1}).outcome == WriteOutcome::done);
    CHECK(at.bytes() == after);
    return fired;
  });
  CHECK(met > 40);
}

TEST_CASE("marking by replacement: the file is the old or the new one, and `done` means the new one") {
  const std::string before = inbox_of({entry("one", ""), entry("two")});
  const std::string after = inbox_of({entry("one", "true"), entry("two")});
  const unsigned met = with_every_fault([&](const Fault& fault) {
    MailboxSetting at;
    at.put(before);
    at.ack();
    const ReadResult read = at.read();
    at.files.set(fault);
    const WriteResult result = at.mailbox.mark_read(at.lead, read.document, std::vector<std::size_t>{0});
    const bool fired = at.files.fired();
    const std::string bytes = at.bytes();
    CHECK((bytes == before || bytes == after));
    if (result.outcome == WriteOutcome::done) CHECK(bytes == after);
    check_left_behind(at, fault);
    CHECK(at.mark({0}).outcome == WriteOutcome::done);
    CHECK(at.bytes() == after);
    return fired;
  });
  CHECK(met > 40);
}

TEST_CASE("what is taken back of an inbox is synced, also where its owner has removed it") {
  test::FileWorld world;
  test::FaultyFileSystem files(world.real);
  auto boxes = system_of(world.config).open(files, world.clock, world.pool, world.config, "t", {});
  const schema::Message order{"team-lead", "end", "", "2026-02-07T15:20:11.000Z", "", ""};
  const std::vector keys{schema::make_message_key({"t", "w1"}, order.from, order.timestamp, order.text, 0)};
  REQUIRE(boxes.mailbox->post("w1", order).put == WriteStatus::done);
  const auto box = world.inboxes() / "w1.json";
  const std::string left = GENERATE("whole", "[]", "", "half");  // half: its owner died while it wrote
  if (left != "whole") test::replace(box, left == "half" ? test::slurp(box).substr(0, 40) : left);
  for (const auto call :
       left == "whole" ? std::vector{Call::open_read, Call::read_at, Call::sync} : std::vector{Call::sync}) {
    files.set({call, 1, EIO, true});
    CHECK(boxes.mailbox->recall("w1", keys).put == WriteStatus::fault);
    files.heal();
  }
  CHECK(boxes.mailbox->recall("w1", keys).put == WriteStatus::done);
}

TEST_CASE("a full disk is told in the same words each time, so that a log has it once") {
  MailboxSetting at;
  at.put(inbox_of({entry("one", ""), entry("two")}));
  at.ack();
  const ReadResult read = at.read();
  for (const Call call : {Call::write_at, Call::exchange_at}) {
    at.files.set({call, 1, ENOSPC, true});
    const auto detail = [&] {
      const WriteResult result = at.mailbox.mark_read(at.lead, read.document, std::vector<std::size_t>{0});
      CHECK(result.outcome == WriteOutcome::fault);
      return result.detail;
    };
    const std::string first = detail();
    CHECK_THAT(first, Contains("team-lead.json"));
    CHECK(detail() == first);
  }
}

TEST_CASE("appending: the entry is there once or not at all, and `done` means there and synced") {
  const std::string before = inbox_of({entry("one")});
  const std::string after = inbox_of({entry("one"), entry("mine")});
  const bool young = GENERATE(false, true);
  const unsigned met = with_every_fault([&](const Fault& fault) {
    MailboxSetting at;
    at.put(before);
    if (!young) at.ack();
    at.files.set(fault);
    const WriteResult result = at.append(entry("mine"));
    const bool fired = at.files.fired();
    const std::string bytes = at.bytes();
    CHECK((bytes == before || bytes == after));
    const bool claimed = result.outcome == WriteOutcome::done || result.outcome == WriteOutcome::already_there;
    if (claimed) CHECK(bytes == after);
    if (fired && fault.for_good && (fault.call == Call::sync || fault.call == Call::sync_dir)) CHECK_FALSE(claimed);
    check_left_behind(at, fault);
    const WriteOutcome again = at.append(entry("mine")).outcome;
    CHECK(again == (bytes == after ? WriteOutcome::already_there : WriteOutcome::done));
    CHECK(at.bytes() == after);
    return fired;
  });
  CHECK(met > 40);
}

TEST_CASE("appending to an inbox that is not there: it appears with exactly our entry, or not at all") {
  const std::string after = inbox_of({entry("mine")});
  const bool folder_too = GENERATE(false, true);
  const unsigned met = with_every_fault([&](const Fault& fault) {
    MailboxSetting at;
    if (folder_too) fs::remove(at.folder());
    at.files.set(fault);
    const WriteResult result = at.append(entry("mine"));
    const bool fired = at.files.fired();
    if (result.outcome == WriteOutcome::done) CHECK(at.bytes() == after);
    if (fs::exists(at.inbox())) CHECK(at.bytes() == after);
    fs::create_directories(at.folder());
    check_left_behind(at, fault);
    const WriteOutcome again = at.append(entry("mine")).outcome;
    CHECK((again == WriteOutcome::done || again == WriteOutcome::already_there));
    CHECK(at.bytes() == after);
    return fired;
  });
  CHECK(met > 40);
}

}  // namespace inbox_poller::mailbox_fault_test
