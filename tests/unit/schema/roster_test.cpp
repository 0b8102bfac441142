#include "schema/roster.hpp"

#include "schema/ids.hpp"

#include "tests/support/catch.hpp"

namespace inbox_poller::roster_test {

using namespace inbox_poller::schema;

namespace {

const std::string roster_file = R"({
  "name": "house",
  "description": "builds a house",
  "createdAt": 1770504247092,
  "leadAgentId": "team-lead@house",
  "leadSessionId": "8e5d46a9-201d-42ce-97b8-a5864cf2f527",
  "leadProcess": {"pid": 1, "procStart": 123456789012345678901234567890},
  "members": [
    {
      "agentId": "team-lead@house",
      "name": "team-lead",
      "agentType": "team-lead",
      "joinedAt": 1770504247092,
      "tmuxPaneId": "leader",
      "subscriptions": []
    },
    {
      "agentId": "mason@house",
      "name": "mason",
      "agentType": "general-purpose",
      "model": "sonnet",
      "prompt": "lay bricks",
      "color": "blue",
      "planModeRequired": true,
      "joinedAt": 1770504250000,
      "tmuxPaneId": "%7",
      "cwd": "/house",
      "subscriptions": [],
      "backendType": "tmux",
      "isActive": false,
      "mode": "acceptEdits",
      "worktreePath": "/w",
      "sessionId": "s",
      "x-foreign": [1, 2]
    }
  ]
})";

}  // namespace

TEST_CASE("every field of a roster is read") {
  const auto roster = decode_roster(roster_file);
  REQUIRE(roster.ok());
  CHECK(roster->name == "house");
  CHECK(roster->description == "builds a house");
  CHECK(roster->lead_agent_id == "team-lead@house");
  CHECK(roster->lead_session_id == "8e5d46a9-201d-42ce-97b8-a5864cf2f527");
  REQUIRE(roster->members.size() == 2);
  const Member* mason = roster->find("mason");
  REQUIRE(mason != nullptr);
  CHECK(mason->agent_id == "mason@house");
  CHECK(mason->agent_type == "general-purpose");
  CHECK(mason->model == "sonnet");
  CHECK(mason->prompt == "lay bricks");
  CHECK(mason->color == "blue");
  CHECK(mason->joined_at_ms == 1770504250000);
  CHECK(mason->tmux_pane_id == "%7");
  CHECK(mason->cwd == "/house");
  CHECK(mason->backend_type == "tmux");
  CHECK_FALSE(mason->is_active);
  CHECK(mason->mode == "acceptEdits");
  CHECK(mason->worktree_path == "/w");
  CHECK(mason->session_id == "s");
}

TEST_CASE("missing fields are empty, and a member without isActive is active") {
  const auto roster = decode_roster(R"({"members":[{"name":"a","color":null}]})");
  REQUIRE(roster.ok());
  REQUIRE(roster->find("a") != nullptr);
  CHECK(roster->find("a")->is_active);
  CHECK(roster->find("a")->backend_type.empty());
  CHECK(decode_roster("{}")->members.empty());
}

TEST_CASE("the lead's name comes from leadAgentId, and is team-lead when that is no name") {
  const auto lead_of = [](const std::string& id) {
    return decode_roster("{\"leadAgentId\":\"" + id + "\"}")->lead_name();
  };
  CHECK(lead_of("boss@house") == "boss");
  CHECK(lead_of("boss") == "boss");
  CHECK(lead_of("../x@house") == "team-lead");
  CHECK(lead_of("") == "team-lead");
  CHECK(decode_roster("{}")->lead_name() == "team-lead");
}

TEST_CASE("the process that leads the team is read as it is written") {
  const auto lead_process = decode_roster(roster_file)->lead_process;
  REQUIRE(lead_process);
  CHECK(lead_process->pid == 1);
  CHECK(lead_process->started == "123456789012345678901234567890");
  CHECK(lead_process->claimed_at_ms == 0);
  const auto by_text = decode_roster(
      R"({"leadProcess":{"pid":4711,"pidSpace":"host","claimedAt":1763650000000,"procStart":"Thu \"Nov\" 20"}})");
  REQUIRE(by_text->lead_process);
  CHECK(by_text->lead_process->pid == 4711);
  CHECK(by_text->lead_process->started == "Thu \"Nov\" 20");
  CHECK(by_text->lead_process->claimed_at_ms == 1763650000000);
  CHECK(decode_roster(R"({"leadProcess":{"pid":5}})")->lead_process->started.empty());
}

TEST_CASE("a lead process of another shape is none, and the roster is read all the same") {
  for (const char* shape : {"null", "7", "[]", "{}", R"({"pid":"7"})", R"({"pid":0})", R"({"pid":-1})",
                            R"({"pid":7,"procStart":[]})", R"({"pid":7,"claimedAt":"now"})"}) {
    CAPTURE(shape);
    const auto roster = decode_roster(R"({"leadProcess":)" + std::string(shape) + R"(,"members":[{"name":"a"}]})");
    REQUIRE(roster.ok());
    CHECK_FALSE(roster->lead_process);
    CHECK(roster->find("a") != nullptr);
  }
}

TEST_CASE("a member without a name is left out, the others stay") {
  const auto roster = decode_roster(R"({"members":[{"agentId":"b@t"},{"name":""},{"name":"ok"}]})");
  REQUIRE(roster);
  CHECK(roster->members.size() == 1);
  CHECK(roster->find("ok") != nullptr);
  CHECK(roster->unreachable.empty());
}

TEST_CASE("a name that clients do not take as it is has the inbox that they make of it") {
  const std::pair<std::string, std::string> names[] = {
      {"worker-1", "worker-1"}, {"foo.bar", "foo-bar"},
      {"Zo\u00EB", "Zo-"},      {"Zoe\u0308", "Zoe-"},
      {"a b", "a-b"},           {"../../x", "------x"},
      {"\U0001F600", "--"},     {std::string(66, 'x'), std::string(66, 'x')},
      {"-rf", "-rf"},           {"x@y", "x-y"},
      {"\xFFz", "-z"},          {"Ann_2", "Ann_2"}};
  for (const auto& [name, inbox] : names) {
    CAPTURE(name);
    CHECK(inbox_name(name) == inbox);
    CHECK(is_inbox_name(inbox));
  }
  for (const std::string name : {"", "a.b", "a/b", "\u00EB"}) CHECK_FALSE(is_inbox_name(name));
  CHECK_FALSE(is_inbox_name(std::string(201, 'x')));

  const auto roster =
      decode_roster(R"({"members":[{"name":"foo.bar"},{"name":"Zo\u00eb"},{"name":"../../x"},{"name":"-rf"}]})");
  REQUIRE(roster);
  CHECK(roster->members.size() == 4);
  CHECK(roster->find("foo.bar") != nullptr);
  CHECK(roster->unreachable.empty());
}

TEST_CASE("whose inbox would be another's, or whose name nobody can read or write, is told with the reason") {
  const auto unreachable = [](const std::string& members) {
    const auto roster = decode_roster(R"({"leadAgentId":"boss@t","members":[)" + members + "]}");
    REQUIRE(roster);
    std::string told;
    for (const auto& [name, reason] : roster->unreachable) {
      CHECK(roster->find(name) == nullptr);
      told += name + ": " + reason + "\n";
    }
    return told;
  };
  CHECK(unreachable(R"({"name":"foo.bar"},{"name":"foo-bar"})") ==
        "foo.bar: its inbox would be foo-bar.json, as that of foo-bar\n");
  CHECK(unreachable(R"({"name":"a.b"},{"name":"a b"},{"name":"c"})") ==
        "a.b: its inbox would be a-b.json, as that of a b\na b: its inbox would be a-b.json, as that of a.b\n");
  CHECK(unreachable(R"({"name":"Foo.Bar"},{"name":"foo-bar"})") ==
        "Foo.Bar: its inbox would be Foo-Bar.json, as that of foo-bar\n");
  CHECK(unreachable(R"({"name":"b.oss"},{"name":"b\u006fss"})").empty());
  CHECK(unreachable(R"({"name":"a@b"})") == "a@b: its name holds '@', behind which clients write the team\n");
  CHECK(unreachable(R"({"name":"a\u202eb"},{"name":"a\nb"},{"name":"a\u00a0b"})").find("an invisible or invalid character") !=
        std::string::npos);
  CHECK(unreachable("{\"name\":\"" + std::string(201, 'x') + "\"}").find("too long for a file") != std::string::npos);
  CHECK(unreachable(R"({"name":"Foo"},{"name":"foo"})").empty());  // clients write two files; so do we

  auto roster = *decode_roster(R"({"members":[{"name":"the.boss"},{"name":"x"}]})");
  roster.part_inboxes({"the-boss"});
  REQUIRE(roster.unreachable.size() == 1);
  CHECK(roster.unreachable[0] == Unreachable{"the.boss", "its inbox would be the-boss.json, as that of the-boss"});
}

TEST_CASE("a joining time that cannot be true is the nearest that can") {
  const auto joined = [](const std::string& number) {
    return decode_roster(R"({"members":[{"name":"a","joinedAt":)" + number + "}]}")->members.at(0).joined_at_ms;
  };
  CHECK(joined("9223372036854775807") == 253402300799999);
  CHECK(joined("-9223372036854775808") == 0);
  CHECK(joined("1770504250000") == 1770504250000);
}

TEST_CASE("an error in a roster names the field") {
  struct Row {
    std::string bytes, message;
  };
  const std::vector<Row> rows = {
      {"", "expected '{' at the beginning of an object, found the end of the text at byte 0"},
      {"[]", "expected '{' at the beginning of an object, found '[' at byte 0"},
      {R"({"members":{}})", "members: expected an array, found an object"},
      {R"({"members":[{"name":"a","agentType":"x","agent_type":"y"}]})",
       "members[0].agentType: says something else than 'agent_type'; one of the two has to go"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.bytes);
    const auto roster = decode_roster(row.bytes);
    REQUIRE_FALSE(roster.ok());
    CHECK(roster.error().message == row.message);
  }
}

TEST_CASE("a field or an entry of another type hides no member, and is told") {
  const auto roster = decode_roster(
      R"({"name":1,"createdAt":"x","members":[null,{"name":5},{"name":"a","isActive":"yes","color":7,"joinedAt":[]},{"name":"b"}]})");
  REQUIRE(roster.ok());
  REQUIRE(roster->members.size() == 2);
  CHECK(roster->find("a")->is_active);
  CHECK(roster->find("a")->color.empty());
  CHECK(roster->find("b") != nullptr);
  CHECK(roster->ignored ==
        "name: expected a string, found a number; createdAt: expected a number, found a string; members[0]: expected an "
        "object, found null; members[1].name: expected a string, found a number; members[2].color: expected a string, "
        "found a number; members[2].joinedAt: expected a number, found an array; members[2].isActive: expected a boolean, "
        "found a string");
  CHECK(decode_roster(roster_file)->ignored.empty());
}

TEST_CASE("a member is taken out of the file and every other byte stays") {
  const auto without = without_member(roster_file, "mason");
  REQUIRE(without.ok());
  const std::size_t comma = roster_file.find("},\n    {\n      \"agentId\": \"mason");
  CHECK(*without == roster_file.substr(0, comma + 1) + "\n  ]\n}");
  CHECK(decode_roster(*without)->find("mason") == nullptr);
  CHECK(decode_roster(*without)->find("team-lead") != nullptr);
}

TEST_CASE("taking out whom nobody knows changes nothing, taking out the last leaves an empty list") {
  CHECK(*without_member(roster_file, "nobody") == roster_file);
  CHECK(*without_member("{\"x\":1}", "a") == "{\"x\":1}");
  CHECK(*without_member("{\"members\": [ {\"name\":\"\\u0061\"} ], \"x\": 1}", "a") == "{\"members\": [], \"x\": 1}");
  CHECK_FALSE(without_member("{\"members\": [", "a").ok());
}

TEST_CASE("with_member appends the entry behind the last member and keeps every other byte") {
  const std::string entry = R"({"name":"ada", "agentId":"ada@house", "later": [1, null]})";
  const auto with = with_member(roster_file, "ada", entry);
  REQUIRE(with.ok());
  const std::size_t end = roster_file.rfind("}\n  ]") + 1;
  CHECK(with->substr(0, end) == roster_file.substr(0, end));
  CHECK(with->substr(with->size() - (roster_file.size() - end)) == roster_file.substr(end));
  const std::string added = with->substr(end, with->size() - roster_file.size());
  CHECK(added == ",\n    " + entry);
  REQUIRE(decode_roster(*with)->find("ada") != nullptr);
  CHECK(decode_roster(*with)->find("ada")->agent_id == "ada@house");
  CHECK(*with_member(*with, "ada", R"({"name":"ada"})") == *with);
  CHECK(*with_member(R"({"members":[]})", "a", R"({"name":"a"})") == R"({"members":[{"name":"a"}]})");
}

TEST_CASE("with_member refuses what is no member of this name, and a file without a list") {
  const struct {
    std::string bytes, entry, message;
  } rows[] = {
      {roster_file, "[]", "member: expected an object, found an array"},
      {roster_file, R"({"agentId":"a@t"})", "member.name: is missing"},
      {roster_file, R"({"name":"b"})", "member.name: is not \"a\""},
      {roster_file, R"({"name":"a@t"})", "member.name: "},
      {roster_file, R"({"name":5})", "member.name: is missing"},
      {R"({"name":"t"})", R"({"name":"a"})", "members: the list is missing"},
      {R"({"members":{}})", R"({"name":"a"})", "members: expected an array, found an object"},
      {R"({"members":[)", R"({"name":"a"})", "expected"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.bytes, row.entry);
    const auto with = with_member(row.bytes, "a", row.entry);
    REQUIRE_FALSE(with.ok());
    CHECK(with.error().message.find(row.message) != std::string::npos);
  }
}

TEST_CASE("member_entries gives each member's own bytes by name") {
  const auto entries = member_entries(R"({"members": [{"x":1, "name":"a"}, {"x": 2}, {"name" : "\u0062"}]})");
  REQUIRE(entries.ok());
  CHECK(*entries == std::vector<std::pair<std::string, std::string>>{{"a", R"({"x":1, "name":"a"})"},
                                                                      {"b", R"({"name" : "\u0062"})"}});
  CHECK_FALSE(member_entries("{").ok());
  CHECK_FALSE(member_entries(R"({"members": 1})").ok());
}

}  // namespace inbox_poller::roster_test
