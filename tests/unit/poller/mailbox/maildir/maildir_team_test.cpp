// A folder that agents share as a team: who is in it, what a letter says, what becomes of what we write and of what
// cannot be read.
#include "poller/mailbox/letter.hpp"
#include "poller/mailbox/maildir/maildir_task_events.hpp"
#include "poller/mailbox/maildir/maildir_mailbox.hpp"
#include "schema/codec.hpp"
#include "schema/json_scan.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/faulty_filesystem.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/poller/run_awaitable.hpp"

namespace inbox_poller::maildir_team_test {

using poller::Ack;
using poller::ReadStatus;
using poller::WriteStatus;
using poller::Access;

namespace {

struct SharedFolder {
  test::ScratchDir scratch;
  poller::PosixFileSystem real;
  test::FaultyFileSystem files{real};
  test::ManualClock clock;
  std::vector<std::string> members;
  boost::asio::thread_pool* pool = nullptr;
  std::unique_ptr<poller::MaildirMailbox> mailbox;

  SharedFolder() {
    std::filesystem::create_directories(scratch.path("root"));
    reopen();
  }
  void reopen() {
    mailbox = std::make_unique<poller::MaildirMailbox>(
        files, clock, poller::MaildirSettings{scratch.path("root").string(), "team", "boss", members, true, 3, pool});
  }
  void put(const std::string& below, const std::string& bytes) {
    const auto path = scratch.path("root/" + below);
    std::filesystem::create_directories(path.parent_path());
    test::spill(path, bytes);
  }
  poller::Batch take(const std::string& box = "boss", Access reader = Access::exclusive) {
    clock.advance(std::chrono::seconds(1));
    return test::run_awaitable(mailbox->receive(box, reader, 100));
  }
  /// What the lead is shown; all of it is consumed.
  std::vector<std::string> texts() {
    const auto batch = take();
    std::vector<std::string> found;
    for (const auto& one : batch.taken) {
      const auto decoded = mailbox->decode(one.bytes);
      found.push_back(decoded ? decoded->message.text : "?");
    }
    static_cast<void>(
        test::run_awaitable(mailbox->ack("boss", std::vector<Ack>(batch.taken.size(), Ack::ack))));
    return found;
  }
  [[nodiscard]] std::vector<std::string> names(const std::string& below) const {
    std::vector<std::string> found;
    if (!std::filesystem::is_directory(scratch.path("root/" + below))) return found;
    for (const auto& one : std::filesystem::directory_iterator(scratch.path("root/" + below)))
      found.push_back(one.path().filename().string());
    std::sort(found.begin(), found.end());
    return found;
  }
  /// Of whoever is in the team, those who are not served with an exclamation mark.
  std::string people() {
    const auto roster = mailbox->roster();
    std::string all;
    for (const auto& member : roster->members) all += member.name + " ";
    for (const auto& member : roster->unreachable) all += "!" + member.name + " ";
    return all;
  }
};

std::string said_by(const std::string& json) {
  const auto message = poller::message_of(*schema::Envelope::decode(json), "boss");
  return message ? message->text : message.error().code;
}

schema::Message ours(const std::string& text) { return {"boss", text, "", "2026-02-07T15:20:10.000Z", "", "x"}; }
schema::MessageKey key_of(const schema::Message& one) {
  return schema::make_message_key({"team", "ada"}, one.from, one.timestamp, one.text, 0);
}

}  // namespace

TEST_CASE("Where no more files can be opened, what is held is settled first and the rest follows") {
  SharedFolder shared;
  for (int i = 0; i < 5; ++i)
    shared.put("boss/new/" + std::to_string(i) + ".json",
               R"({"id":")" + std::to_string(i) + R"(","from":"ada","type":"message","payload":"x"})");
  static_cast<void>(shared.mailbox->roster());  // reads them once
  shared.files.set({test::Call::open_read, 3, EMFILE, true});
  const auto first = shared.take();
  CHECK(first.taken.size() == 2);
  CHECK(first.more);
  shared.files.heal();
  static_cast<void>(test::run_awaitable(
      shared.mailbox->ack("boss", std::vector<Ack>(first.taken.size(), Ack::ack))));
  CHECK(shared.texts().size() == 3);
  CHECK(shared.names("boss/new").empty());
}

namespace {

std::string numbered(int n, const std::string& says = "x") {
  const std::string digits = std::to_string(1000 + n);
  return R"({"id":")" + digits + R"(","from":"ada","ts":)" + digits + R"(,"type":"message","payload":")" + says + digits + "\"}";
}

/// Many letters, taken in pieces and moved by another thread.
struct ManyLetters : SharedFolder {
  boost::asio::thread_pool thread{1};
  std::vector<std::string> found;  // what was shown, in its order
  std::size_t consumed = 0;
  bool had_fault = false;

  ManyLetters() {
    pool = &thread;
    reopen();
    for (int n = 0; n < 250; ++n) put("boss/new/" + std::to_string(1000 + n) + ".json", numbered(n));
  }
  /// One look; `committed` is called between the showing of a piece and its settling.
  void look(const std::function<void()>& committed = [] {}) {
    for (bool more = true; more;) {
      const auto batch = take();
      for (const auto& one : batch.taken) found.push_back(mailbox->decode(one.bytes)->message.text);
      committed();
      const auto settled =
          test::run_awaitable(mailbox->ack("boss", std::vector<Ack>(batch.taken.size(), Ack::ack)));
      consumed += settled.consumed;
      had_fault = had_fault || settled.put == WriteStatus::fault;
      more = batch.more;
    }
  }
};

}  // namespace

TEST_CASE("letters that two threads read are the same: in their order, what is no letter told, more than is kept read again") {
  ManyLetters many;
  many.mailbox = std::make_unique<poller::MaildirMailbox>(  // injected faults are counted by one thread only
      many.real, many.clock, poller::MaildirSettings{many.scratch.path("root").string(), "team", "boss", {}, true, 3, many.pool});
  const bool large = GENERATE(false, true);  // 30 MiB of them
  const std::string says(large ? 100'000 : 1, 'x');
  std::vector<std::string> all;
  for (int n = 0; n < 300; ++n) {
    all.push_back(says + std::to_string(1000 + n));
    many.put("boss/new/" + std::to_string(n % 7) + std::to_string(1000 + n) + ".json", numbered(n, says));
  }
  for (int n = 0; n < 250; ++n) std::filesystem::remove(many.scratch.path("root/boss/new/" + std::to_string(1000 + n) + ".json"));
  many.put("boss/new/0torn.json", "{");
  many.look();
  CHECK((many.found == all));  // megabytes that nobody wants to read
  CHECK(many.consumed == 300);
  CHECK(many.names("boss/new") == std::vector<std::string>{"0torn.json"});
}

TEST_CASE("many letters leave while the next ones are shown: all of them, each once, and in their order") {
  ManyLetters many;
  many.look();
  std::vector<std::string> all;
  for (int n = 0; n < 250; ++n) all.push_back("x" + std::to_string(1000 + n));
  CHECK(many.found == all);
  CHECK(many.consumed == 250);
  CHECK(many.names("boss/new").empty());
  CHECK(many.names("boss/cur").size() == 250);
}

TEST_CASE("of many letters one that was replaced before it left stays, and comes as what it says now") {
  ManyLetters many;
  many.look([&, first = true]() mutable {
    if (!std::exchange(first, false)) return;
    many.put("other", numbered(7, "new "));
    std::filesystem::rename(many.scratch.path("root/other"), many.scratch.path("root/boss/new/1007.json"));
  });
  CHECK(many.consumed == 249);
  CHECK(many.names("boss/new") == std::vector<std::string>{"1007.json"});
  many.found.clear();
  many.look();
  CHECK(many.found == std::vector<std::string>{"new 1007"});
  CHECK(many.names("boss/new").empty());
}

TEST_CASE("of many letters those that cannot leave are a fault that is told, and are shown again") {
  ManyLetters many;
  many.files.set({test::Call::move, 5, EIO, true});
  many.look();
  CHECK(many.had_fault);
  CHECK(many.consumed == 4);
  CHECK(many.names("boss/new").size() == 246);
  many.files.heal();
  many.found.clear();
  many.look();
  CHECK(many.found.size() == 246);
  CHECK(many.names("boss/cur").size() == 250);
}

TEST_CASE("what is kept of a letter from the look that met it is not what is taken when another stands there") {
  SharedFolder shared;
  shared.put("boss/new/1001.json", numbered(1));
  static_cast<void>(shared.mailbox->roster());  // reads it
  shared.put("other", numbered(1, "y"));  // as long
  std::filesystem::rename(shared.scratch.path("root/other"), shared.scratch.path("root/boss/new/1001.json"));
  CHECK(shared.texts() == std::vector<std::string>{"y1001"});
}

TEST_CASE("The row of a plain letter says all of it; of any other the bytes are kept as well") {
  SharedFolder shared;
  const auto says_all = [&](const std::string& json) { return shared.mailbox->decode(json)->says_all; };
  CHECK(says_all(R"({"id":"1","from":"ada","to":"boss","type":"message","payload":"hello","ts":1.5})"));
  CHECK_FALSE(says_all(R"({"id":"1","from":"ada","to":"boss","type":"message","payload":"hello","ts":1.5,"x":1})"));
  CHECK_FALSE(says_all(R"({"id":"1","from":"ada","to":"boss","type":"note","payload":"hello","ts":1.5})"));
  CHECK_FALSE(says_all(R"({"id":"1","from":"ada","to":"boss","type":"message","payload":{"a":1},"ts":1.5})"));
  CHECK_FALSE(says_all(R"({"from":"ada","to":"boss","type":"message","payload":"hello","ts":1.5})"));
  CHECK_FALSE(says_all(R"({"id":"1","from":"ada","to":"boss","type":"message","payload":"{\"type\":\"plan\"}"})"));
}

TEST_CASE("a letter says its type, what it answers and whom it is for, and is never anything but chat") {
  CHECK(said_by(R"({"from": "a", "type": "message", "payload": "hi"})") == "hi");
  CHECK(said_by(R"({"from": "a", "payload": {"b": [1, "é"]}})") == R"({"b":[1,"é"]})");
  CHECK(said_by(R"({"from": "a", "type": "ack", "id": "7", "in_reply_to": "6", "to": "bob", "payload": "ok"})") ==
        "ack, in reply to 6, addressed to bob, id 7: ok");
  CHECK(said_by(R"({"from": "a", "type": "message"})").empty());
  CHECK(said_by(R"({"type": "message", "payload": "hi"})") == "letter.field");
  for (const char* requests : {R"({"type": "permission_request", "request_id": "1"})", R"({"type": "shutdown_approved"})"}) {
    const std::string text = said_by(R"({"from": "a", "payload": )" + schema::quote(requests) + "}");
    CHECK(std::holds_alternative<schema::PlainText>(schema::decode_payload(text)));
    CHECK(text.ends_with(requests));
  }
}

TEST_CASE("whoever has a mailbox or writes to the lead is there, before the first letter is taken") {
  SharedFolder at;
  std::filesystem::create_directories(at.scratch.path("root/ada/new"));
  std::filesystem::create_directories(at.scratch.path("root/docs"));
  std::filesystem::create_directories(at.scratch.path("root/foo.bar/new"));
  REQUIRE(at.mailbox->ready_boxes().ok());
  CHECK(at.people() == "ada !foo.bar ");
  CHECK_FALSE(at.mailbox->roster_changed());
  at.clock.advance(std::chrono::seconds(1));
  at.put("boss/new/1.json", R"({"id": "1", "from": "script", "payload": "hi"})");
  at.put("boss/new/2.json", R"({"id": "2", "from": "Zoë", "payload": "hi"})");
  CHECK(at.mailbox->roster_changed());
  CHECK(at.people() == "ada script !Zoë !foo.bar ");
  CHECK(at.texts().size() == 2);
  CHECK_FALSE(at.mailbox->roster_changed());
  at.members = {"ada"};
  at.reopen();
  CHECK(at.people() == "ada ");
}

TEST_CASE("a letter of somebody who is not a member yet waits for the next roster, and the others' go on") {
  SharedFolder at;
  at.put("boss/new/1.json", R"({"id": "1", "from": "ada", "payload": "one"})");
  CHECK(at.people() == "ada ");
  at.clock.advance(std::chrono::seconds(1));
  at.put("boss/new/2.json", R"({"id": "2", "from": "script", "payload": "two"})");
  at.put("boss/new/3.json", R"({"id": "3", "from": "ada", "payload": "three"})");
  at.files.set({test::Call::list, 2, EIO});  // of the root and then the mailbox: the roster hears of nobody new
  CHECK(at.people() == "ada ");
  REQUIRE(at.files.fired());
  at.files.heal();
  CHECK(at.texts() == std::vector<std::string>{"one", "three"});
  REQUIRE(at.mailbox->ready_boxes().ok());
  CHECK(at.mailbox->roster_changed());
  CHECK(at.people() == "ada script ");
  CHECK(at.texts() == std::vector<std::string>{"two"});
  CHECK(at.texts().empty());
}

TEST_CASE("what cannot be read stays, is told once after some looks, and comes when it is mended") {
  SharedFolder at;
  at.put("boss/new/0.json", R"({"id": "0", "from": "ad)");
  at.put("boss/new/1.json", R"({"id": "1", "from": "ada", "payload": "behind it"})");
  CHECK(at.texts() == std::vector<std::string>{"behind it"});
  CHECK(at.texts().empty());
  CHECK(at.texts() == std::vector<std::string>{"?"});
  CHECK(at.texts().empty());
  CHECK(at.names("boss/new") == std::vector<std::string>{"0.json"});
  at.put("boss/new/0.json", R"({"id": "0", "from": "ada", "payload": "mended"})");
  CHECK(at.texts() == std::vector<std::string>{"mended"});
  CHECK(at.names("boss/cur").size() == 2);
}

TEST_CASE("a letter that its writer completes while it is told as unreadable comes once, under its own key") {
  SharedFolder at;
  const std::size_t size = GENERATE(10, 200'000);  // or more than is kept of what cannot be read
  const std::string whole = R"({"id": "0", "from": "ada", "payload": ")" + std::string(size, 'x') + R"("})";
  at.put("boss/new/0.json", whole.substr(0, whole.size() / 2));
  CHECK(at.texts().empty());
  CHECK(at.texts().empty());
  at.files.once_before(test::Call::open_read, "0.json", [&] { at.put("boss/new/0.json", whole); });
  CHECK(at.texts().empty());
  CHECK(at.texts() == std::vector<std::string>{std::string(size, 'x')});
  CHECK(at.texts().empty());
}

TEST_CASE("a letter that another process of the lead's is offered is not taken, and is later when it is given back") {
  SharedFolder at;
  at.put("boss/new/0.json", R"({"id": "0", "from": "ada", "payload": "offered"})");
  {
    const auto folder = at.real.open_dir(poller::absolute, at.scratch.path("root/boss/new").string());
    const auto file = at.real.open_read(*folder, "0.json");
    REQUIRE(at.real.lock(file->fd, file->path).ok());
    CHECK(at.texts().empty());
    CHECK(at.mailbox->ready_boxes()->front().changed);
  }
  CHECK(at.texts() == std::vector<std::string>{"offered"});
}

TEST_CASE("what is sent again is known by its key, another letter under its id is another") {
  SharedFolder at;
  at.put("boss/new/0.json", R"({"id": "0", "from": "ada", "type": "t", "payload": {"a": 1, "b": 2}})");
  at.put("boss/new/1.json", R"({"ts": 5, "payload": {"b": 2, "a": 1}, "type": "t", "from": "ada", "id": "0"})");
  at.put("boss/new/2.json", R"({"id": "0", "from": "ada", "type": "t", "payload": {"a": 1, "b": 3}})");
  at.put("boss/new/3.json", R"({"from": "ada", "type": "t", "payload": 1})");
  at.put("boss/new/4.json", R"({"from": "ada", "type": "t", "payload": 1})");
  const auto batch = at.take();
  REQUIRE(batch.taken.size() == 5);
  std::set<schema::MessageKey> keys;
  for (const auto& one : batch.taken) keys.insert(one.key);
  CHECK(keys.size() == 4);
}

TEST_CASE("what vanished without a trace is written again once; who makes it vanish twice reads so") {
  SharedFolder at;
  const auto fate_after_removal = [&](const schema::Message& one) {
    REQUIRE(at.mailbox->post("ada", one).put == WriteStatus::done);
    static_cast<void>(at.take("ada", Access::peek));
    CHECK(at.mailbox->read_status("ada", key_of(one)) == ReadStatus::waiting);
    for (const auto& name : at.names("ada/new")) std::filesystem::remove(at.scratch.path("root/ada/new/" + name));
    static_cast<void>(at.take("ada", Access::peek));
    return at.mailbox->read_status("ada", key_of(one));
  };
  CHECK(fate_after_removal(ours("one")) == ReadStatus::lost);
  CHECK(fate_after_removal(ours("one")) == ReadStatus::consumed);
  at.mailbox->untrack("ada", key_of(ours("one")));
  CHECK(fate_after_removal(ours("two")) == ReadStatus::consumed);
  for (const char* where : {"processing", "expired", "cur"}) {
    SharedFolder other;
    REQUIRE(other.mailbox->post("ada", ours("one")).put == WriteStatus::done);
    std::filesystem::create_directories(other.scratch.path("root/ada"));
    std::filesystem::rename(other.scratch.path("root/ada/new"), other.scratch.path(std::string("root/ada/") + where));
    std::filesystem::create_directories(other.scratch.path("root/ada/new"));
    static_cast<void>(other.take("ada", Access::peek));
    CHECK(other.mailbox->read_status("ada", key_of(ours("one"))) == ReadStatus::consumed);
    other.reopen();
    CHECK(other.mailbox->post("ada", ours("one")).put == WriteStatus::unchanged);
  }
}

TEST_CASE("orders, odd names and the lead's own box are refused; what is taken back is kept") {
  SharedFolder at;
  CHECK(at.mailbox->post("ada", ours(schema::encode(schema::ModeSetRequest{"plan", "boss"}))).put == WriteStatus::refused);
  for (const char* name : {"boss", "tmp", "tasks", "../x", ""}) CHECK(at.mailbox->post(name, ours("x")).put == WriteStatus::refused);
  REQUIRE(at.mailbox->post("ada", ours("x")).put == WriteStatus::done);
  const std::vector<schema::MessageKey> keys{key_of(ours("x"))};
  CHECK(at.mailbox->recall("ada", keys).put == WriteStatus::done);
  CHECK(at.names("ada/new").empty());
  CHECK(at.names("ada/dead").size() == 1);
}

TEST_CASE("what was finished is told once by its keeper, what was finished long ago not at all") {
  SharedFolder at;
  poller::SystemClock clock;
  poller::MaildirTaskEvents tasks(at.files, clock, at.scratch.path("root").string(), {});
  REQUIRE(tasks.finished(0).ok());
  at.put("tasks/done/1.json", R"({"id": "a", "status": "done", "result": 5})");
  at.put("tasks/done/2.json", R"({"id": )");
  CHECK(tasks.finished(clock.system_ns() + 1'000'000'000)->empty());
  poller::MaildirTaskEvents later(at.files, clock, at.scratch.path("root").string(), {});
  const auto found = later.finished(0);
  REQUIRE(found->size() == 1);
  CHECK(schema::identity_of(found->front().task) == "a");
  CHECK(found->front().task.object().at("result") == 5);
  at.put("tasks/done/2.json", R"({"id": "b", "status": "done"})");
  CHECK(later.finished(0)->size() == 1);
  CHECK(later.finished(0)->empty());
}

namespace {

std::string letter(const std::string& id, const std::string& from = "ada") {
  return R"({"id":")" + id + R"(","from":")" + from + R"(","ts":1.5,"type":"message","payload":")" + id + "\"}";
}

/// A folder whose boxes rest, looked at in turn.
struct RestingFolder : SharedFolder {
  std::vector<std::string> names{"a", "ada", "b", "boss", "c", "d", "e", "f", "g", "h", "i"};
  explicit RestingFolder(bool writes = true) {
    for (const auto& name : names) put(name + "/new/one.json", letter("one of " + name));
    mailbox = std::make_unique<poller::MaildirMailbox>(
        files, clock, poller::MaildirSettings{scratch.path("root").string(), "team", "boss", members, writes, 3, pool});
    REQUIRE(mailbox->roster().ok());
    for (int poll = 0; poll < 4; ++poll) see_to_news();
    mailbox->use_notifications(true);
    see_to_news();
    REQUIRE(mailbox->is_idle());
  }
  /// As somebody would later than within the file system's tick.
  void deliver(const std::string& box, const std::string& id, const std::string& from = "ada") {
    put(box + "/new/" + id + ".json", letter(id, from));
    stamp(box + "/new");
  }
  void stamp(const std::string& below) {
    std::filesystem::last_write_time(scratch.path("root/" + below), std::filesystem::file_time_type::clock::now() +
                                                                        std::chrono::seconds(++stamps));
  }
  int stamps = 0;
  /// What a poll does: everything that came.
  std::vector<std::string> see_to_news() {
    clock.advance(std::chrono::milliseconds(500));
    if (mailbox->roster_changed()) static_cast<void>(mailbox->roster());
    const auto found = mailbox->ready_boxes();
    REQUIRE(found.ok());
    const std::vector<poller::ReadyBox> boxes(found->begin(), found->end());
    std::vector<std::string> texts;
    for (const auto& [box, changed] : boxes) {
      if (!changed) continue;
      const bool is_lead = box == "boss";
      const auto batch = test::run_awaitable(mailbox->receive(box, is_lead ? Access::exclusive : Access::peek, 100));
      for (const auto& one : batch.taken) texts.push_back(mailbox->decode(one.bytes)->message.text);
      static_cast<void>(test::run_awaitable(mailbox->ack(
          box, std::vector<Ack>(batch.taken.size(), is_lead ? Ack::ack : Ack::skip))));
    }
    return texts;
  }
};

}  // namespace

TEST_CASE("Where hints are relied on, mailboxes at rest are looked at in turn, the lead's at every look") {
  RestingFolder shared;
  int looks = 0, opened = 0;
  shared.files.before(test::Call::stat_at, [&](const std::string& name) { looks += name.ends_with("/new") ? 1 : 0; });
  shared.files.before(test::Call::open_dir, [&](const std::string&) { ++opened; });
  for (int poll = 0; poll < 20; ++poll) {
    CHECK(shared.see_to_news().empty());
    CHECK(shared.mailbox->is_idle());
    CHECK(looks <= 3);
    looks = 0;
  }
  CHECK(opened == 0);

  for (const auto& name : shared.names) {
    CAPTURE(name);
    shared.deliver(name, "two");
    std::vector<std::string> found;
    int polls = 0;
    for (; polls < 10 && found.empty(); ++polls) found = shared.see_to_news();
    CHECK(found.size() == 1);
    if (name == "boss") CHECK(polls == 1);
    for (int poll = 0; poll < 6; ++poll) shared.see_to_news();
    CHECK(shared.mailbox->is_idle());
  }
}

TEST_CASE("Mailboxes rest no longer when a doubt, another box, a letter or a question comes, and nothing is lost then") {
  RestingFolder shared;
  SECTION("a doubt") {
    for (const auto& name : shared.names) shared.deliver(name, "two");
    shared.mailbox->use_notifications(false);
    CHECK(shared.see_to_news().size() == shared.names.size());
  }
  SECTION("a new one") {
    shared.deliver("new", "one");
    shared.stamp("");
    CHECK_FALSE(shared.see_to_news().empty());
    CHECK(shared.mailbox->roster()->find("new") != nullptr);
  }
  SECTION("a new sender") {
    shared.deliver("boss", "two", "eve");
    CHECK(shared.mailbox->roster_changed());
    CHECK(shared.mailbox->roster()->find("eve") != nullptr);
    CHECK(shared.see_to_news() == std::vector<std::string>{"two"});
  }
  SECTION("gone") {
    std::filesystem::remove_all(shared.scratch.path("root/c"));
    shared.stamp("");
    shared.see_to_news();
    CHECK(shared.mailbox->roster()->find("c") == nullptr);
  }
  SECTION("others may write to it") {
    std::filesystem::permissions(shared.scratch.path("root"), std::filesystem::perms(0777));
    CHECK(shared.mailbox->roster_changed());
    CHECK_FALSE(shared.mailbox->ready_boxes().ok());
  }
  SECTION("a link in the place of the root") {
    std::filesystem::rename(shared.scratch.path("root"), shared.scratch.path("moved"));
    std::filesystem::create_directory_symlink(shared.scratch.path("moved"), shared.scratch.path("root"));
    CHECK_FALSE(shared.mailbox->ready_boxes().ok());
  }
  SECTION("asked to show again") {
    shared.mailbox->rewind("boss");
    shared.see_to_news();
  }
  CHECK_FALSE(shared.mailbox->is_idle());
}

TEST_CASE("Whoever is to read a letter of ours is looked at every time, and so is everybody by an observer") {
  const bool observes = GENERATE(false, true);
  RestingFolder shared(!observes);
  for (const std::string name : {"ada", "h"}) {
    CAPTURE(name);
    if (!observes) {
      REQUIRE(shared.mailbox->post(name, ours("for " + name)).put == WriteStatus::done);
      for (int poll = 0; poll < 4; ++poll) shared.see_to_news();
    }
    shared.deliver(name, "two");
    CHECK(shared.see_to_news() == std::vector<std::string>{"two"});
    for (int poll = 0; poll < 3; ++poll) shared.see_to_news();
  }
}

}  // namespace inbox_poller::maildir_team_test
