// A JSONL team's mailbox: its generations, roster, tasks and records of requests.
#include "poller/mailbox/jsonl/jsonl_mailbox.hpp"

#include <fstream>

#include "poller/mailbox/jsonl/team_texts.hpp"
#include "schema/codec.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/faulty_filesystem.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/poller/run_awaitable.hpp"

namespace inbox_poller::jsonl_mailbox_test {

using poller::Ack;
using poller::ReadStatus;
using poller::JsonlGeneration;
using poller::WriteStatus;
using poller::Access;

namespace {

struct JsonlSetting {
  test::ScratchDir scratch;
  poller::PosixFileSystem real;
  test::FaultyFileSystem files{real};
  test::ManualClock clock;
  std::string folder = ".team";
  std::vector<std::string> members;
  std::unique_ptr<poller::JsonlMailbox> mailbox;

  explicit JsonlSetting(const std::string& inboxes = ".team/inbox", std::vector<std::string> named = {})
      : folder(inboxes.substr(0, inboxes.find('/'))), members(std::move(named)) {
    std::filesystem::create_directories(scratch.path(inboxes));
    std::filesystem::create_directories(scratch.path(".tasks"));
    if (members.empty()) put("config.json", roster("working"));
    reopen();
  }
  static std::string roster(const std::string& status) {
    return R"({"team_name": "default", "members": [{"name": "bob", "role": "coder", "status": ")" + status + R"("}]})";
  }
  void reopen() {
    mailbox = std::make_unique<poller::JsonlMailbox>(
        files, clock,
        poller::JsonlSettings{scratch.path(folder).string(), "", "team", "lead", members,
                              scratch.path("state/jsonl/team.json").string(), 1 << 20});
  }
  void put(const std::string& name, const std::string& bytes) const { test::spill(scratch.path(folder + "/" + name), bytes); }
  [[nodiscard]] std::string get(const std::string& name) const { return test::slurp(scratch.path(folder + "/" + name)); }
  std::vector<std::string> look(const std::string& box = "lead", Access reader = Access::exclusive) {
    auto batch = test::run_awaitable(mailbox->receive(box, reader, 100));
    std::vector<std::string> texts;
    for (const auto& one : batch.taken) texts.push_back(mailbox->decode(one.bytes)->message.text);
    static_cast<void>(test::run_awaitable(mailbox->ack(box, std::vector(batch.taken.size(), Ack::ack))));
    return texts;
  }
  static schema::Message message(const std::string& text) { return {"lead", text, "", "2026-02-07T15:20:46.348Z", "", "an-id"}; }
  static schema::MessageKey key(const std::string& text) {
    return schema::make_message_key({"team", "bob"}, "lead", message("").timestamp, text, 0);
  }
  std::map<std::string, bool> ready_boxes() {
    clock.advance(std::chrono::milliseconds(500));
    std::map<std::string, bool> found;
    const auto all = mailbox->ready_boxes();
    REQUIRE(all.ok());
    for (const auto& one : *all) found[one.box] = one.changed;
    return found;
  }
};

}  // namespace

TEST_CASE("the generation of a JSONL team is told anew at each look") {
  JsonlSetting at;
  at.ready_boxes();
  CHECK(at.mailbox->generation() == JsonlGeneration::g1);
  std::filesystem::create_directory(at.scratch.path(".team/requests"));
  at.ready_boxes();
  CHECK(at.mailbox->generation() == JsonlGeneration::g2);
  JsonlSetting newer(".mailboxes", {"bob"});
  newer.ready_boxes();
  CHECK(newer.mailbox->generation() == JsonlGeneration::g3);
  test::spill(newer.scratch.path(".tasks/task_1a2b3c4d.json"), "{}");
  newer.ready_boxes();
  CHECK(newer.mailbox->generation() == JsonlGeneration::g4);
  CHECK_FALSE(newer.mailbox->roster()->own_lead_only.empty());
  CHECK(newer.mailbox->location("bob") == newer.scratch.path(".mailboxes/bob.jsonl").string());
}

TEST_CASE("news are of boxes with names that can be served, and change when lines come") {
  JsonlSetting at;
  CHECK(at.ready_boxes().empty());
  at.put("inbox/lead.jsonl", R"({"type": "message", "from": "bob", "content": "hi", "timestamp": 1.5})" "\n");
  at.put("inbox/not a name.jsonl", "");
  at.put("inbox/bob.json", "");
  CHECK(at.ready_boxes() == std::map<std::string, bool>{{"lead", true}});
  CHECK(at.look() == std::vector<std::string>{"hi"});
  CHECK(at.ready_boxes()["lead"]);  // it is to be emptied
  CHECK(at.look().empty());
  CHECK_FALSE(at.ready_boxes()["lead"]);
  CHECK(at.get("inbox/lead.jsonl").empty());
}

TEST_CASE("who is in a JSONL team: the lead is called lead, and a name that cannot be a file's is told") {
  JsonlSetting at;
  at.put("config.json", R"({"team_name":"default","members":[{"name":"bob","role":"coder","status":"idle"},
    {"name":"foo bar","status":"working"},{"name":"lead","status":"working"},{"role":"x"},{"name":"../../evil"}]})");
  const auto roster = at.mailbox->roster();
  REQUIRE(roster.ok());
  CHECK(roster->lead_name() == "lead");
  REQUIRE(roster->find("bob") != nullptr);
  CHECK(roster->find("bob")->status == "idle");
  CHECK(roster->find("bob")->agent_type == "coder");
  CHECK(roster->unreachable.size() == 2);
  CHECK(roster->members.size() == 2);
}

TEST_CASE("an empty or torn roster is no news, also for the next process; none at all is no team") {
  JsonlSetting at;
  REQUIRE(at.mailbox->roster().ok());
  const auto copy = at.mailbox->roster_copy();
  at.put("config.json", "");
  CHECK(at.mailbox->roster()->find("bob") != nullptr);
  CHECK(at.mailbox->roster_changed());
  at.put("config.json", R"({"team_name": "default", "mem)");
  CHECK(at.mailbox->roster()->find("bob") != nullptr);
  at.reopen();
  CHECK(at.mailbox->roster().error().code == "roster.syntax");
  at.mailbox->remember_roster(copy);
  CHECK(at.mailbox->roster()->find("bob") != nullptr);
  CHECK(at.mailbox->mend_roster({}).put == WriteStatus::gone);
  CHECK(at.mailbox->remove_member("bob").put == WriteStatus::gone);
  std::filesystem::remove(at.scratch.path(".team/config.json"));
  CHECK(at.mailbox->roster().error().code == "roster.missing");
}

TEST_CASE("a roster that stays empty or torn is told after a while, and is read again when somebody writes it") {
  JsonlSetting at;
  REQUIRE(at.mailbox->roster().ok());
  for (const auto& [bytes, code] :
       {std::pair{R"({"team_name": "default", "mem)", "roster.syntax"}, {"", "roster.empty"}}) {
    at.put("config.json", bytes);
    CHECK(at.mailbox->roster().ok());
    at.clock.advance(std::chrono::seconds(5));
    REQUIRE_FALSE(at.mailbox->roster().ok());
    CHECK(at.mailbox->roster().error().code == code);
    CHECK(at.mailbox->roster_changed());
    at.put("config.json", R"({"team_name":"default","members":[{"name":"bob","status":"idle"}]})");
    CHECK(at.mailbox->roster().ok());
  }
}

TEST_CASE("lines are written only to a worker's name, in its generation, and what cannot be said is refused in words") {
  JsonlSetting at;
  for (const std::string name : {"lead", "../../evil", "foo bar", ""}) CHECK(at.mailbox->post(name, at.message("x")).put == WriteStatus::refused);
  const auto mode = at.mailbox->post("bob", at.message(schema::encode(schema::ModeSetRequest{"plan", "lead"})));
  CHECK(mode.put == WriteStatus::refused);
  CHECK(mode.detail.find("mode_set_request") != std::string::npos);
  CHECK(at.mailbox->post("bob", at.message("hi")).put == WriteStatus::done);
  CHECK_FALSE(at.ready_boxes()["bob"]);
  CHECK(at.mailbox->read_status("bob", at.key("hi")) == ReadStatus::waiting);
  CHECK(at.get("inbox/bob.jsonl") == "{\"type\": \"message\", \"from\": \"lead\", \"content\": \"hi\", \"timestamp\": 1770477646.348}\n");
  CHECK(at.ready_boxes()["bob"]);
  CHECK(at.look("bob", Access::peek).empty());  // nobody of us reads there
  CHECK(at.mailbox->read_status("bob", at.key("hi")) == ReadStatus::consumed);
  at.mailbox->untrack("bob", at.key("hi"));
  CHECK(at.look("bob", Access::peek) == std::vector<std::string>{"hi"});
}

TEST_CASE("an inbox folder that cannot be told is a fault: nothing is written elsewhere, and no line is new again") {
  JsonlSetting at;
  const std::string line = R"({"type": "message", "from": "bob", "content": "hi", "timestamp": 1.0})" "\n";
  at.put("inbox/lead.jsonl", line);
  at.look();
  REQUIRE(at.look().empty());
  at.put("inbox/lead.jsonl", line + line);
  const auto keys = [&] {
    std::vector<schema::MessageKey> found;
    for (const auto& one : test::run_awaitable(at.mailbox->receive("lead", Access::exclusive, 100)).taken) found.push_back(one.key);
    return found;
  };
  const auto before = keys();
  unsigned met = 0;
  for (unsigned nth = 1; nth < 10; ++nth) {
    at.files.set({test::Call::stat_at, nth, EIO});
    const auto batch = test::run_awaitable(at.mailbox->receive("lead", Access::exclusive, 100));
    at.files.set({test::Call::stat_at, nth, EIO});
    const auto message = at.message("for bob");
    const auto written = at.mailbox->post("bob", std::span(&message, 1));
    if (at.files.fired()) ++met;
    at.files.heal();
    CHECK_FALSE(batch.state == poller::BoxState::missing);
    CHECK_FALSE(std::filesystem::exists(at.scratch.path(".team/bob.jsonl")));
    CHECK(keys() == before);
  }
  CHECK(met > 1);
}

TEST_CASE("while the record of generations cannot be read, no line is taken, so none comes again under another key") {
  JsonlSetting at;
  const std::string line = R"({"type": "message", "from": "bob", "content": "hi", "timestamp": 1.0})" "\n";
  const auto key = [&] { return test::run_awaitable(at.mailbox->receive("lead", Access::exclusive, 100)).taken.at(0).key; };
  at.put("inbox/lead.jsonl", line);
  at.look();
  REQUIRE(at.look().empty());  // emptied: the next generation
  at.put("inbox/lead.jsonl", line);
  const auto before = key();
  at.files.set({test::Call::open_read, 1, EIO, false});
  at.reopen();
  const auto batch = test::run_awaitable(at.mailbox->receive("lead", Access::exclusive, 100));
  REQUIRE(at.files.fired());
  CHECK(batch.state == poller::BoxState::fault);
  CHECK(batch.taken.empty());
  at.files.heal();
  CHECK(key() == before);
}

TEST_CASE("an inbox that its owner empties by taking it away is news still, while a line of ours was in it") {
  JsonlSetting at(".mailboxes", {"bob"});
  REQUIRE(at.mailbox->post("bob", at.message("hi")).put == WriteStatus::done);
  CHECK_FALSE(at.ready_boxes()["bob"]);
  static_cast<void>(at.get("bob.jsonl"));
  std::filesystem::remove(at.scratch.path(".mailboxes/bob.jsonl"));
  CHECK(at.ready_boxes()["bob"]);
  CHECK(at.mailbox->read_status("bob", at.key("hi")) == ReadStatus::consumed);
  at.mailbox->untrack("bob", at.key("hi"));
  CHECK(at.ready_boxes().empty());
}

TEST_CASE("a request to shut down that was never read is taken back, also by another process") {
  JsonlSetting at;
  const std::string stop = schema::encode(schema::ShutdownRequest{"1a2b3c4d", "lead", "done", at.message("").timestamp});
  REQUIRE(at.mailbox->post("bob", at.message(stop)).put == WriteStatus::done);
  at.reopen();
  at.mailbox->track("bob", at.key(stop));
  at.ready_boxes();
  CHECK(at.mailbox->read_status("bob", at.key(stop)) == ReadStatus::waiting);
  CHECK(at.mailbox->recall("bob", std::vector{at.key(stop)}).put == WriteStatus::done);
  CHECK(at.get("inbox/bob.jsonl").find("shutdown_request") == std::string::npos);
}

TEST_CASE("in the second generation the record of a request stands before the request, and a plan's is brought up to date") {
  JsonlSetting at;
  std::filesystem::create_directory(at.scratch.path(".team/requests"));
  const std::string stop = schema::encode(schema::ShutdownRequest{"1a2b3c4d", "lead", "done", "t"});
  REQUIRE(at.mailbox->post("bob", at.message(stop)).put == WriteStatus::done);
  const std::string record = at.get("requests/1a2b3c4d.json");
  CHECK(record.starts_with(R"({"request_id": "1a2b3c4d", "kind": "shutdown", "from": "lead", "to": "bob", "status": "pending", "created_at": )"));
  at.put("requests/00000001.json", "{\n  \"request_id\": \"00000001\",\n  \"plan\": \"p\",\n  \"created_at\": 1771234567.123456,\n  \"status\": \"pending\"\n}");
  const std::string no = schema::encode(schema::PlanApprovalResponse{"00000001", false, "too big", "t", ""});
  REQUIRE(at.mailbox->post("bob", at.message(no)).put == WriteStatus::done);
  const std::string plan = at.get("requests/00000001.json");
  CHECK(plan.find("1771234567.123456") != std::string::npos);
  CHECK(plan.find(R"("status": "rejected")") != std::string::npos);
  CHECK(plan.find(R"("feedback": "too big")") != std::string::npos);
  CHECK(plan.find(R"("reviewed_by": "lead")") != std::string::npos);
}

TEST_CASE("tasks of a worker that has gone are given back, and nobody else's") {
  JsonlSetting at;
  const auto task = [&](const std::string& file, const std::string& bytes) { test::spill(at.scratch.path(".tasks/" + file), bytes); };
  task("task_2.json", R"({"id": 2, "subject": "Print", "status": "in_progress", "owner": "bob", "blockedBy": [1], "worktree": "x"})");
  task("task_1.json", R"({"id": 1, "subject": "Parse", "status": "completed", "owner": "bob"})");
  task("task_3.json", R"({"id": 3, "subject": "Other", "status": "in_progress", "owner": "alice"})");
  task("task_4.json", R"({"id": 4, "subject": "Free", "status": "pending", "owner": null})");
  task("task_5.json", "no task");
  task("notes.json", R"({"status": "in_progress", "owner": "bob"})");
  CHECK(at.mailbox->release_tasks("bob", "bob").put == WriteStatus::busy);  // they may be in the middle of being written
  at.clock.advance(std::chrono::seconds(1));
  const auto released = at.mailbox->release_tasks("bob", "bob");
  CHECK(released.put == WriteStatus::done);
  CHECK(released.detail.find("task_5.json") != std::string::npos);
  REQUIRE(released.tasks.size() == 1);
  CHECK(released.tasks[0].id == "2");
  CHECK(test::slurp(at.scratch.path(".tasks/task_2.json")) ==
        R"({"id": 2, "subject": "Print", "status": "pending", "owner": null, "blockedBy": [1], "worktree": "x"})");
  CHECK(test::slurp(at.scratch.path(".tasks/notes.json")).find("bob") != std::string::npos);
}

TEST_CASE("members are set where they stand, or put behind the others") {
  using poller::with_members;
  CHECK(*with_members("{}", {{"a", "1"}, {"b", "2"}}) == R"({"a": 1, "b": 2})");
  CHECK(*with_members(R"({"a":0,"c":[1]})", {{"a", "1"}, {"b", "2"}}) == R"({"a":1,"c":[1], "b": 2})");
  CHECK_FALSE(with_members("[]", {}).ok());
}

TEST_CASE("of a JSONL team without a roster whoever has an inbox or writes to the lead can be a member") {
  JsonlSetting at(".mailboxes", {"nobody"});
  poller::JsonlSettings settings{at.scratch.path(".mailboxes").string(), "", "team", "lead", {},
                                 at.scratch.path("state/jsonl/team.json").string(), 1 << 20};
  settings.anybody = true;
  poller::JsonlMailbox mailbox(at.files, at.clock, settings);
  const auto people = [&] {
    std::string all;
    const auto roster = mailbox.roster();
    for (const auto& member : roster->members) all += member.name + " ";
    for (const auto& member : roster->unreachable) all += "!" + member.name + " ";
    return all;
  };
  CHECK(people().empty());
  const auto spill = [&](const std::string& name, const std::string& bytes) {
    test::spill(at.scratch.path(".mailboxes/" + name), bytes);
  };
  spill("ada.jsonl", "");
  CHECK(mailbox.roster_changed());
  CHECK(people() == "ada ");
  CHECK_FALSE(mailbox.roster_changed());
  spill("lead.jsonl", "{\"type\": \"message\", \"from\": \"bob\", \"content\": \"hi\", \"timestamp\": 1.5}\nnonsense\n"
                      "{\"type\": \"message\", \"from\": \"foo.bar\", \"content\": \"hi\", \"timestamp\": 1.5}\n");
  CHECK(mailbox.roster_changed());
  CHECK(people() == "ada bob !foo.bar ");
  spill("lead.jsonl", "");
  CHECK_FALSE(mailbox.roster_changed());
}

namespace {

/// A team whose boxes rest, looked at in turn.
struct RestingLines : JsonlSetting {
  std::vector<std::string> names{"a", "b", "bob", "c", "d", "e", "f", "g", "h", "i", "lead"};
  explicit RestingLines(const std::vector<std::string>& named = {}) : JsonlSetting(".team/inbox", named) {
    for (const auto& name : names) put("inbox/" + name + ".jsonl", line("one"));
    clock.advance(std::chrono::seconds(10));
    REQUIRE(mailbox->roster().ok());
    for (const auto& name : names) static_cast<void>(look_as_team(name));
    mailbox->use_notifications(true);
    for (int poll = 0; poll < 3; ++poll) see_to_news();
    REQUIRE(is_idle());
  }
  static std::string line(const std::string& text) {
    return R"({"type": "message", "from": "bob", "content": ")" + text + R"(", "timestamp": 1.5})" "\n";
  }
  std::vector<std::string> look_as_team(const std::string& box) {
    return look(box, box == "lead" ? Access::exclusive : Access::peek);
  }
  /// What a poll does with the news: everything that came.
  std::vector<std::string> see_to_news() {
    std::vector<std::string> texts;
    REQUIRE_FALSE(mailbox->roster_changed());
    for (const auto& [box, changed] : ready_boxes())
      if (changed)
        for (const auto& text : look_as_team(box)) texts.push_back(text);
    return texts;
  }
  bool is_idle() {
    static_cast<void>(ready_boxes());
    return mailbox->is_idle();
  }
  /// As if the last change of the folder were later than within the file system's tick.
  void stamp() const {
    std::filesystem::last_write_time(scratch.path(folder + "/inbox"),
                                     std::filesystem::file_time_type::clock::now() + std::chrono::seconds(1));
  }
  void append(const std::string& box, const std::string& bytes) const {
    std::ofstream(scratch.path(folder + "/inbox/" + box + ".jsonl"), std::ios::app | std::ios::binary) << bytes;
  }
};

}  // namespace

TEST_CASE("where hints are relied on, boxes of lines at rest are looked at in turn, all of them once in five seconds") {
  RestingLines at;
  int looks = 0, opened = 0;
  at.files.before(test::Call::stat_at, [&](const std::string& name) { looks += name.ends_with(".jsonl") ? 1 : 0; });
  at.files.before(test::Call::open_dir, [&](const std::string&) { ++opened; });
  for (int poll = 0; poll < 20; ++poll) {
    CHECK(at.see_to_news().empty());
    CHECK(at.mailbox->is_idle());
    CHECK(looks <= 2);
    looks = 0;
  }
  CHECK(opened <= 3 * 3);  // now and then step by step

  for (const auto& name : at.names) {
    CAPTURE(name);
    at.append(name, at.line("in place"));
    std::vector<std::string> found;
    for (int poll = 0; poll < 10 && found.empty(); ++poll) found = at.see_to_news();
    CHECK(found == std::vector<std::string>{"in place"});
    for (int poll = 0; poll < 4; ++poll) at.see_to_news();
    CHECK(at.mailbox->is_idle());
  }
  CHECK(at.get("inbox/lead.jsonl").empty());
}

TEST_CASE("boxes of lines rest no longer when a doubt, a new box, a line or a question comes, and nothing is lost then") {
  RestingLines at;
  bool found = true;  // at once
  SECTION("a doubt") {
    for (const auto& name : at.names) at.append(name, at.line("in place"));
    at.mailbox->use_notifications(false);
    CHECK(at.see_to_news().size() == at.names.size());
  }
  SECTION("a new one") {
    at.put("inbox/new.jsonl", at.line("here"));
    at.stamp();
    CHECK(at.see_to_news() == std::vector<std::string>{"here"});
  }
  SECTION("gone") {
    std::filesystem::remove(at.scratch.path(".team/inbox/c.jsonl"));
    at.stamp();
    CHECK_FALSE(at.ready_boxes().contains("c"));
  }
  SECTION("another folder in the place") {
    std::filesystem::rename(at.scratch.path(".team/inbox"), at.scratch.path("before"));
    std::filesystem::create_directories(at.scratch.path(".team/inbox"));
    std::filesystem::permissions(at.scratch.path(".team/inbox"), std::filesystem::perms(0700));
    for (const auto& name : at.names) at.put("inbox/" + name + ".jsonl", at.line("other"));
    CHECK(at.see_to_news().size() == at.names.size());
  }
  SECTION("others may write to it") {
    std::filesystem::permissions(at.scratch.path(".team/inbox"), std::filesystem::perms(0777));
    CHECK_FALSE(at.mailbox->ready_boxes().ok());
  }
  SECTION("asked to show again") {
    at.mailbox->rewind("lead");
    CHECK_FALSE(at.is_idle());
  }
  SECTION("a line of ours is followed") {
    for (const auto* name : {"bob", "h"}) REQUIRE(at.mailbox->post(name, at.message("ours")).put == WriteStatus::done);
    CHECK_FALSE(at.is_idle());
    for (int poll = 0; poll < 4; ++poll) at.see_to_news();
    CHECK(at.mailbox->read_status("bob", at.key("ours")) == ReadStatus::waiting);
    for (const auto* name : {"inbox/bob.jsonl", "inbox/h.jsonl"}) {
      CHECK_FALSE(at.get(name).empty());
      std::filesystem::resize_file(at.scratch.path(at.folder + "/" + name), 0);
    }
    auto told = at.ready_boxes();  // both, whosever turn it is
    CHECK(told["bob"]);
    CHECK(told["h"]);
    CHECK(at.mailbox->read_status("bob", at.key("ours")) == ReadStatus::consumed);
    at.mailbox->untrack("bob", at.key("ours"));
    at.mailbox->untrack("h", schema::make_message_key({"team", "h"}, "lead", at.message("").timestamp, "ours", 0));
    for (int poll = 0; poll < 12; ++poll) at.see_to_news();
    found = false;
    CHECK(at.mailbox->is_idle());
  }
  if (found) CHECK_FALSE(at.mailbox->is_idle());
}

TEST_CASE("where everybody who writes is a member, a new sender is one before his line is taken, also at rest") {
  JsonlSetting at(".team/inbox", {"bob"});
  at.mailbox = std::make_unique<poller::JsonlMailbox>(
      at.files, at.clock,
      poller::JsonlSettings{at.scratch.path(".team").string(), "", "team", "lead", {},
                            at.scratch.path("state/jsonl/team.json").string(), 1 << 20, true});
  at.put("inbox/lead.jsonl", RestingLines::line("one"));
  at.clock.advance(std::chrono::seconds(10));
  REQUIRE(at.mailbox->roster()->find("bob") != nullptr);
  at.mailbox->use_notifications(true);
  for (int poll = 0; poll < 5; ++poll) {
    at.ready_boxes();
    at.look();
    static_cast<void>(at.mailbox->roster());
  }
  at.ready_boxes();
  int lists = 0;
  at.files.before(test::Call::list, [&](const std::string&) { ++lists; });
  CHECK_FALSE(at.mailbox->roster_changed());
  CHECK(lists == 0);
  at.put("inbox/lead.jsonl", R"({"type": "message", "from": "eve", "content": "hi", "timestamp": 1.5})" "\n");
  CHECK(at.mailbox->roster_changed());
  CHECK(at.mailbox->roster()->find("eve") != nullptr);
}

TEST_CASE("where everybody who writes is a member, a line of somebody new waits for the next roster, and so does what follows") {
  JsonlSetting at(".team/inbox", {"bob"});
  at.mailbox = std::make_unique<poller::JsonlMailbox>(
      at.files, at.clock,
      poller::JsonlSettings{at.scratch.path(".team").string(), "", "team", "lead", {},
                            at.scratch.path("state/jsonl/team.json").string(), 1 << 20, true});
  const std::string first = RestingLines::line("one");
  const std::string stranger = R"({"type": "message", "from": "eve", "content": "two", "timestamp": 1.5})" "\n";
  at.put("inbox/lead.jsonl", first);
  REQUIRE(at.mailbox->roster().ok());
  at.put("inbox/lead.jsonl", first + stranger + RestingLines::line("three"));
  for (int look = 0; look < 3; ++look) {
    CHECK(at.look() == (look == 0 ? std::vector<std::string>{"one"} : std::vector<std::string>{}));
    at.clock.advance(std::chrono::seconds(1));
  }
  CHECK(at.get("inbox/lead.jsonl") == first + stranger + RestingLines::line("three"));
  CHECK(at.ready_boxes().at("lead"));
  CHECK(at.mailbox->roster_changed());
  REQUIRE(at.mailbox->roster()->find("eve") != nullptr);
  CHECK(at.look() == std::vector<std::string>{"two", "three"});
}

}  // namespace inbox_poller::jsonl_mailbox_test
