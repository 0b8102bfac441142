// Appending and finding again: whole or not at all, once, and never over what we could not read.
#include "tests/support/catch.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/mailbox_setting.hpp"
#include "tests/unit/poller/run_awaitable.hpp"
#include "tests/unit/poller/team/team_world.hpp"

namespace inbox_poller::mailbox_append_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

TEST_CASE("an entry is appended at the end - the other bytes and the mode stay") {
  MailboxSetting at;
  const std::string first = entry("one", "false").insert(1, "\n    \"unknown\": 1e400,");
  at.put(inbox_of({first}));
  REQUIRE(::chmod(at.inbox().c_str(), 0644) == 0);
  CHECK(at.append(entry("two")).outcome == WriteOutcome::done);
  CHECK(at.bytes() == inbox_of({first, entry("two")}));
  CHECK(at.real.stat_at(absolute, at.inbox().string())->mode == 0644);
  CHECK(at.litter().empty());
}

TEST_CASE("a missing inbox, and a missing folder for it, are created - a missing team is not") {
  MailboxSetting at;
  SECTION("inbox") {}
  SECTION("folder") { fs::remove(at.folder()); }
  SECTION("team") {
    fs::remove_all(at.team());
    CHECK(at.append(entry("one")).outcome == WriteOutcome::missing);
    CHECK_FALSE(fs::exists(at.team()));
    return;
  }
  CHECK(at.append(entry("one")).outcome == WriteOutcome::done);
  CHECK(at.bytes() == inbox_of({entry("one")}));
  CHECK((at.real.stat_at(absolute, at.inbox().string())->mode & 077U) == 0);
}

TEST_CASE("the same entry is appended once, whatever became of its flag") {
  MailboxSetting at;
  at.put(inbox_of({entry("one")}));
  REQUIRE(at.append(entry("two")).outcome == WriteOutcome::done);
  CHECK(at.append(entry("two")).outcome == WriteOutcome::already_there);
  REQUIRE(at.mark({1}).outcome == WriteOutcome::done);
  CHECK(at.append(entry("two")).outcome == WriteOutcome::already_there);
  CHECK(at.read().document.entries().size() == 2);
}

TEST_CASE("under the lock there is no parsing and no syncing: the new bytes are on the disk before, the folder after") {
  MailboxSetting at;
  at.put(inbox_of({entry("one")}));
  at.ack();
  std::string story;
  for (const auto& [call, word] : std::vector<std::pair<Call, std::string>>{{Call::create_exclusive, "create"},
                                                                            {Call::write_at, "write"},
                                                                            {Call::sync, "sync"},
                                                                            {Call::mkdir_at, "lock"},
                                                                            {Call::read_at, "read"},
                                                                            {Call::exchange_at, "exchange"},
                                                                            {Call::rmdir_at, "unlock"},
                                                                            {Call::sync_dir, "sync-folder"}}) {
    at.files.before(call, [&story, word = word](const std::string&) { story += word + " "; });
  }
  REQUIRE(at.append(entry("two")).outcome == WriteOutcome::done);
  CHECK(story == "read create write sync lock exchange unlock sync-folder ");
}

TEST_CASE("a peer that writes between our reading and the lock loses nothing") {
  MailboxSetting at;
  at.put(inbox_of({entry("one")}));
  int races = 0;
  const int wins = GENERATE(1, 2, 3);
  const bool in_place = GENERATE(true, false);
  // Where files cannot be exchanged nothing shows afterwards what was replaced.
  if (GENERATE(false, true)) at.files.set({Call::exchange_at, 1, EINVAL, true});
  at.files.before(Call::mkdir_at, [&](const std::string&) {
    if (++races > wins) return;
    const std::string bytes = inbox_of(std::vector<std::string>(static_cast<std::size_t>(races), entry("peer")));
    in_place ? at.put(bytes) : replace(at.inbox(), bytes);
  });
  const WriteResult result = at.append(entry("two"));
  CHECK(result.outcome == WriteOutcome::done);
  std::vector<std::string> expected(static_cast<std::size_t>(wins), entry("peer"));
  expected.push_back(entry("two"));
  CHECK(at.bytes() == inbox_of(expected));
  CHECK(at.litter().empty());
}

TEST_CASE("a peer's write in the same tick and of the same length is noticed by its bytes") {
  MailboxSetting at;
  at.put(inbox_of({entry("one")}));
  at.files.blur_times(1h);
  at.clock.jump_wall(-1h);  // so that an hour-long tick counts as young
  at.files.once_before(Call::mkdir_at, ".lock", [&] { at.put(inbox_of({entry("two")})); });
  CHECK(at.append(entry("mine")).outcome == WriteOutcome::done);
  CHECK(at.bytes() == inbox_of({entry("two"), entry("mine")}));
}

TEST_CASE("a file that does not parse is never written over") {
  MailboxSetting at;
  const std::string whole = inbox_of({entry("one"), entry("two")});
  const auto bytes = GENERATE_COPY(whole.substr(0, whole.size() - 7), std::string("{}"), std::string(64, '\0'));
  at.put(bytes);
  CHECK(at.append(entry("mine")).outcome == WriteOutcome::changed);  // young: a writer may be at work
  at.ack();
  const WriteResult result = at.append(entry("mine"));
  CHECK(result.outcome == WriteOutcome::refused);
  CHECK_THAT(result.detail, Contains(at.inbox().string()) && Contains("left as it is"));
  CHECK(at.bytes() == bytes);
  CHECK(at.litter().empty());
}

TEST_CASE("an empty file counts as an empty inbox only when it has been so for a while") {
  MailboxSetting at;
  at.put(GENERATE("", " \n"));
  CHECK(at.append(entry("one")).outcome == WriteOutcome::changed);
  at.ack();
  CHECK(at.append(entry("one")).outcome == WriteOutcome::done);
  CHECK(at.read().document.entries().size() == 1);
}

TEST_CASE("an empty file is appended to after a while even if the system clock was set back") {
  MailboxSetting at;
  at.put("");
  at.clock.set_system(-std::chrono::hours(1));
  CHECK(at.append(entry("one")).outcome == WriteOutcome::changed);
  at.ack();
  CHECK(at.append(entry("one")).outcome == WriteOutcome::done);
}

TEST_CASE("appending meets odd files and locks as outcomes and changes nothing") {
  MailboxSetting at;
  WriteOutcome expected = WriteOutcome::refused;
  SECTION("a FIFO") { REQUIRE(::mkfifo(at.inbox().c_str(), 0600) == 0); }
  SECTION("a folder") { fs::create_directory(at.inbox()); }
  SECTION("a link") {
    spill(at.scratch.path("target"), "[]");
    fs::create_symlink(at.scratch.path("target"), at.inbox());
  }
  SECTION("a dangling link") { fs::create_symlink(at.scratch.path("target"), at.inbox()); }
  SECTION("too large") {
    at.put("[]");
    fs::resize_file(at.inbox(), 100'000'000);
  }
  SECTION("a held lock") {
    at.put("[]");
    fs::create_directory(at.lock());
    expected = WriteOutcome::lock_held;
  }
  SECTION("a foreign lock") {
    at.put("[]");
    fs::create_symlink("x", at.lock());
    expected = WriteOutcome::lock_foreign;
  }
  const auto kind = at.real.stat_at(absolute, at.inbox().string())->kind;
  CHECK(at.append(entry("one")).outcome == expected);
  CHECK(at.real.stat_at(absolute, at.inbox().string())->kind == kind);
  if (fs::exists(at.scratch.path("target"))) CHECK(slurp(at.scratch.path("target")) == "[]");
  for (const std::string& name : at.litter()) CHECK(name == "team-lead.json.lock");
}

TEST_CASE("a link that takes the inbox's place before the rename is not replaced") {
  MailboxSetting at;
  at.put("[]");
  spill(at.scratch.path("target"), "[]");
  at.files.once_before(Call::mkdir_at, ".lock", [&] {
    fs::remove(at.inbox());
    fs::create_symlink(at.scratch.path("target"), at.inbox());
  });
  CHECK(at.append(entry("one")).outcome == WriteOutcome::refused);
  CHECK(slurp(at.scratch.path("target")) == "[]");
}

TEST_CASE("a peer without a lock that writes at the very moment of the exchange loses nothing") {
  MailboxSetting at;
  at.put(inbox_of({entry("one")}));
  const bool in_place = GENERATE(true, false);
  const int wins = in_place ? 1 : GENERATE(1, 2, 3);  // at the exchange, and while what came out is put back
  int exchanges = 0;
  at.files.before(Call::exchange_at, [&](const std::string&) {
    if (++exchanges > wins) return;
    const std::string bytes = inbox_of(std::vector<std::string>(static_cast<std::size_t>(exchanges), entry("peer")));
    in_place ? at.put(bytes) : replace(at.inbox(), bytes);
  });
  CHECK(at.append(entry("two")).outcome == WriteOutcome::done);
  std::vector<std::string> expected(static_cast<std::size_t>(wins), entry("peer"));
  expected.push_back(entry("two"));
  CHECK(at.bytes() == inbox_of(expected));
  CHECK(at.litter().empty());
}

TEST_CASE("where names cannot be exchanged the file is replaced by a rename") {
  MailboxSetting at;
  at.put(inbox_of({entry("one")}));
  at.files.set({Call::exchange_at, 1, GENERATE(EINVAL, ENOSYS), true});
  CHECK(at.append(entry("two")).outcome == WriteOutcome::done);
  CHECK(at.bytes() == inbox_of({entry("one"), entry("two")}));
  CHECK(at.litter().empty());
}

TEST_CASE("what a peer had put there stays when it cannot be put back by an exchange") {
  MailboxSetting at;
  at.put(inbox_of({entry("one")}));
  at.ack();
  const ReadResult read = at.read();
  int exchanges = 0;
  at.files.before(Call::exchange_at, [&](const std::string&) {
    if (++exchanges == 1) replace(at.inbox(), inbox_of({entry("peer")}));
  });
  at.files.set({Call::exchange_at, 2, EIO, false});
  CHECK(at.mailbox.remove(at.lead, read.document, std::vector<std::size_t>{0}).outcome == WriteOutcome::changed);
  CHECK(at.bytes() == inbox_of({entry("peer")}));
  CHECK(at.litter().empty());
}

TEST_CASE("a lock that is broken before the rename stops it") {
  MailboxSetting at;
  at.put("[]");
  at.ack();
  at.files.before(Call::stat_at, [&](const std::string& name) {
    if (name.ends_with(".lock")) fs::remove(at.lock());
  });
  at.files.before(Call::exchange_at, [](const std::string&) { FAIL("exchanged without the lock"); });
  const WriteResult result = at.append(entry("one"));
  CHECK(result.outcome == WriteOutcome::changed);
  CHECK_THAT(result.detail, Contains("broken"));
  CHECK(at.bytes() == "[]");
  CHECK(at.litter().empty());
}

TEST_CASE("only one JSON value can be appended") {
  MailboxSetting at;
  at.put("[]");
  for (const std::string bad : {"", "{}, {}", "{", "]", "} ] ["}) {
    CAPTURE(bad);
    CHECK(at.append(bad).outcome == WriteOutcome::refused);
  }
  CHECK(at.bytes() == "[]");
}

TEST_CASE("an appended entry is unread, read, gone with those before it, or overwritten while those stay") {
  MailboxSetting at;
  at.put(inbox_of({entry("one"), entry("two", "")}));
  AppendReceipt receipt;
  REQUIRE(at.mailbox.append(at.lead, entry("mine"), receipt).outcome == WriteOutcome::done);
  CHECK(receipt.unread_before.size() == 2);
  CHECK_FALSE(receipt.keeps_read);
  const auto found = [&] {
    const ReadResult now = at.read();
    return read_status_in(EntryIndex(now, PrefixCache{}), receipt);
  };
  CHECK(found() == ReadStatus::waiting);
  REQUIRE(at.mark({2}).outcome == WriteOutcome::done);
  CHECK(found() == ReadStatus::consumed);

  at.put(inbox_of({entry("one"), entry("two", "")}));
  CHECK(found() == ReadStatus::lost);
  at.put(inbox_of({entry("two", ""), entry("new")}));
  CHECK(found() == ReadStatus::lost);
  at.put(inbox_of({entry("old", "true"), entry("one", "true"), entry("new")}));
  CHECK(found() == ReadStatus::consumed);
  at.put(inbox_of({entry("new")}));
  CHECK(found() == ReadStatus::consumed);
  at.put("[]");
  CHECK(found() == ReadStatus::consumed);
}

TEST_CASE("an owner that marks and never removes cannot have consumed what is not there any more") {
  MailboxSetting at;
  at.put(inbox_of({entry("old", "true"), entry("one")}));
  AppendReceipt receipt;
  REQUIRE(at.mailbox.append(at.lead, entry("mine"), receipt).outcome == WriteOutcome::done);
  CHECK(receipt.keeps_read);
  const auto found = [&] {
    const ReadResult now = at.read();
    return read_status_in(EntryIndex(now, PrefixCache{}), receipt);
  };
  at.put(inbox_of({entry("old", "true"), entry("one", "true"), entry("mine", "true")}));
  CHECK(found() == ReadStatus::consumed);
  at.put(inbox_of({entry("old", "true"), entry("one", "true")}));
  CHECK(found() == ReadStatus::lost);
  at.put(inbox_of({entry("the only one of a writer that found the file torn")}));
  CHECK(found() == ReadStatus::lost);
  at.put("[]");  // somebody cleared it
  CHECK(found() == ReadStatus::consumed);
}

TEST_CASE("an inbox that we find empty was read, though an entry that we marked had stood in it") {
  test::FileWorld world;
  auto boxes = system_of(world.config).open(world.real, world.clock, world.pool, world.config, "t", {});
  const auto message = [](const std::string& text) {
    return schema::Message{"team-lead", text, "", "2026-02-07T15:20:11.000Z", "", ""};
  };
  const auto status = [&](const std::string& text) {
    test::run_awaitable(boxes.mailbox->receive("w1", Access::peek, 100));
    const auto key = schema::make_message_key({"t", "w1"}, "team-lead", message(text).timestamp, text, 0);
    return boxes.mailbox->read_status("w1", key);
  };
  const auto box = world.inboxes() / "w1.json";
  test::replace(box, inbox_of({entry("an order to the worker before, taken back", "true")}));
  REQUIRE(boxes.mailbox->post("w1", message("reply")).put == WriteStatus::done);
  test::replace(box, GENERATE(as<std::string>{}, "[]", inbox_of({entry("of a writer that found the file torn")})));
  const bool was_read = test::slurp(box) == "[]";
  REQUIRE(boxes.mailbox->post("w1", message("next")).put == WriteStatus::done);
  CHECK(status("reply") == (was_read ? ReadStatus::consumed : ReadStatus::lost));
  CHECK(status("next") == ReadStatus::waiting);
}

TEST_CASE("a receipt stays small however many unread entries there were") {
  MailboxSetting at;
  std::vector<std::string> entries;
  for (int i = 0; i < 1000; ++i) entries.push_back(entry(std::to_string(i)));
  at.put(inbox_of(entries));
  AppendReceipt receipt;
  REQUIRE(at.mailbox.append(at.lead, entry("mine"), receipt).outcome == WriteOutcome::done);
  CHECK(receipt.unread_before.size() == 32);
}

}  // namespace inbox_poller::mailbox_append_test
