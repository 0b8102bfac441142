#include "handlers/permission.hpp"

#include "handlers/outgoing.hpp"
#include "tests/unit/handlers/team.hpp"

namespace inbox_poller::handlers::permission_test {

using namespace testing;

namespace {

const std::string ls = R"({"command":"ls -l","description":"List files"})";

Team with_rules(std::vector<config::PermissionRule> allow, std::vector<config::PermissionRule> deny = {}) {
  Team team;
  team.config.permissions.rules.allow = std::move(allow);
  team.config.permissions.rules.deny = std::move(deny);
  return team;
}

}  // namespace

TEST_CASE("a rule that allows answers at once, with the input as it was asked and no updates") {
  const auto asked = expect<Asked>(receive(with_rules({rule("Bash(ls:*)")}), "w1", permission_request("Bash", ls)));
  CHECK(asked.request.state == RequestState::approved);
  CHECK(asked.request.decided_by == "rule");
  CHECK(asked.request.rule == "Bash(ls:*)");
  CHECK(asked.request.decided_ms == noon);
  CHECK(asked.request.message.value == "0123456789abcdef0123456789abcdef");
  CHECK(only_text(asked.posts) ==
        R"({"type":"permission_response","request_id":"perm-1-aaaaaaa","subtype":"success",)"
        R"("response":{"updated_input":{"command":"ls -l","description":"List files"},"permission_updates":[]}})");
}

TEST_CASE("the reply's message is the whole of what is written, byte for byte") {
  const auto asked =
      expect<Asked>(receive(with_rules({rule("Bash(ls:*)")}), "w1", permission_request("Bash", R"({"command":"ls"})")));
  const auto written = asked.posts;
  REQUIRE(written.size() == 1);
  CHECK(written[0].inbox == "w1");
  const auto msg_id = written[0].message.id;
  CHECK(msg_id.size() == 36);
  CHECK(written[0].message ==
        schema::Message{"team-lead",
                        R"({"type":"permission_response","request_id":"perm-1-aaaaaaa","subtype":"success",)"
                        R"("response":{"updated_input":{"command":"ls"},"permission_updates":[]}})",
                        "", "2026-09-21T14:13:20.000Z", "", msg_id});
  CHECK(written[0].key == schema::make_message_key({"falcon", "w1"}, "team-lead", "2026-09-21T14:13:20.000Z",
                                                   only_text(asked.posts), 0));
}

TEST_CASE(
    "the same decision gives the same bytes - another moment gives others, another request or team another message "
    "id") {
  const Team team = with_rules({rule("Bash(ls:*)")});
  const auto reply = [&](const Team& in, const std::string& id, EpochMs now) {
    return expect<Asked>(receive(in, "w1", permission_request("Bash", ls, id), {}, now)).posts[0].message;
  };
  const auto msg_id = [&](const Team& in, const std::string& id) {
    return reply(in, id, noon).id;
  };
  CHECK(reply(team, "perm-1", noon) == reply(team, "perm-1", noon));
  CHECK(reply(team, "perm-1", noon) != reply(team, "perm-1", noon + 1));
  CHECK(msg_id(team, "perm-1") != msg_id(team, "perm-2"));
  Team other = team;
  other.name = "eagle";
  CHECK(msg_id(team, "perm-1") != msg_id(other, "perm-1"));
}

TEST_CASE("numbers, escapes and spacing of the input come back as they were written") {
  const std::string odd = R"({ "n": 123456789012345678901234567890, "e":1e400,"s":"\ud83d \u00e9 ä" })";
  const auto asked =
      expect<Asked>(receive(with_rules({rule("mcp__db__query")}), "w1", permission_request("mcp__db__query", odd)));
  CAPTURE(asked.request.reason);
  CHECK(asked.request.state == RequestState::approved);
  CHECK(only_text(asked.posts).find("\"updated_input\":" + odd + ",") != std::string::npos);
}

TEST_CASE("a rule that denies answers at once, and names itself") {
  const Team team = with_rules({rule("Bash")}, {rule("Bash(rm:*)")});
  const auto asked = expect<Asked>(receive(team, "w1", permission_request("Bash", R"({"command":"rm -rf /"})")));
  CHECK(asked.request.state == RequestState::denied);
  CHECK(asked.request.decided_by == "rule");
  CHECK(asked.request.reason == "Denied: a deny rule covers this call (rule Bash(rm:*))");
  CHECK(only_text(asked.posts) == R"({"type":"permission_response","request_id":"perm-1-aaaaaaa","subtype":"error",)"
                                    R"("error":"Denied: a deny rule covers this call (rule Bash(rm:*)))"
                                    "\"}");
}

TEST_CASE("a request of any length gives a short reason") {
  Team team;
  team.config.permissions.default_action = config::Action::deny;
  const std::string input = R"({"command":"ls )" + std::string(1000, 'x') + R"("})";
  CHECK(expect<Asked>(receive(team, "w1", permission_request("Bash", input))).request.reason.size() < 400);
}

TEST_CASE("a default that denies answers with a text too") {
  Team team;
  team.config.permissions.default_action = config::Action::deny;
  const auto asked = expect<Asked>(receive(team, "w1", permission_request("Bash", ls)));
  CHECK(asked.request.state == RequestState::denied);
  CHECK(asked.request.rule.empty());
  CHECK(only_text(asked.posts).find(R"("error":"Denied: no allow rule covers)") != std::string::npos);
}

TEST_CASE("what no rule decides waits for a person, with a deadline and without a word to the worker") {
  Team team;
  team.config.permissions.timeout = std::chrono::minutes(10);
  const auto asked = expect<Asked>(receive(team, "w1", permission_request("Bash", ls)));
  CHECK(asked.request.state == RequestState::pending);
  CHECK(asked.request.asked_ms == noon);
  CHECK(asked.request.deadline_ms == noon + 600'000);
  CHECK(asked.request.decided_ms == 0);
  CHECK(asked.request.decided_by.empty());
  CHECK(asked.posts.empty());
}

TEST_CASE("what an approver is shown is what would run - the worker's claims are kept apart") {
  const Request request = pending(Team(), permission_request("Bash", R"({"command":"rm -rf /"})"));
  CHECK(request.subject == "Bash");
  CHECK(request.body == R"({"command":"rm -rf /"})");
  CHECK(request.description == "List files");
  CHECK(request.suggestions.find("userSettings") != std::string::npos);
}

TEST_CASE("a question to the user is never answered by a rule or a default that allows") {
  const std::string question = permission_request("AskUserQuestion", R"({"questions":[{"question":"Which?"}]})");
  CHECK(expect<Asked>(receive(with_rules({rule("AskUserQuestion")}), "w1", question)).request.state ==
        RequestState::pending);
  Team team;
  team.config.permissions.default_action = config::Action::allow;
  CHECK(expect<Asked>(receive(team, "w1", question)).request.state == RequestState::pending);
}

TEST_CASE("a worker with too many open requests is denied at once, but only where a person would be needed") {
  Team team = with_rules({rule("Read")});
  team.config.limits.pending_per_worker = 3;
  RequestView known;
  known.pending_of_asker = 2;
  CHECK(expect<Asked>(receive(team, "w1", permission_request("Bash", ls), known)).request.state ==
        RequestState::pending);
  known.pending_of_asker = 3;
  const auto denied = expect<Asked>(receive(team, "w1", permission_request("Bash", ls), known));
  CHECK(denied.request.state == RequestState::denied);
  CHECK(denied.request.decided_by == "limit");
  CHECK(denied.request.rule == "limits.pending_per_worker");
  CHECK(
      only_text(denied.posts) ==
      R"({"type":"permission_response","request_id":"perm-1-aaaaaaa","subtype":"error","error":"Denied because 3 of your )"
      R"(requests already wait for an answer. Wait for those before you ask for more."})");
  const auto allowed =
      expect<Asked>(receive(team, "w1", permission_request("Read", R"({"file_path":"/repo/a"})"), known));
  CHECK(allowed.request.state == RequestState::approved);
}

TEST_CASE("relative rules start from the asker's own working directory, as the roster gives it") {
  Team team = with_rules({rule("Edit(src/**)")});
  team.roster.members[2].cwd = "/elsewhere";
  const std::string edit = R"({"file_path":"/repo/src/a.cpp"})";
  CHECK(expect<Asked>(receive(team, "w1", permission_request("Edit", edit))).request.state == RequestState::approved);
  CHECK(expect<Asked>(receive(team, "w2", permission_request("Edit", edit, "perm-2", "w2"))).request.state ==
        RequestState::pending);
}

TEST_CASE("the camelCase variant of the request is answered in snake_case") {
  const auto asked = expect<Asked>(receive(
      with_rules({rule("Write")}), "w1",
      R"({"type":"permission_request","requestId":"perm-456","from":"w1","toolName":"Write","input":{"file_path":"/repo/a"}})"));
  CHECK(only_text(asked.posts) == R"({"type":"permission_response","request_id":"perm-456","subtype":"success",)"
                                    R"("response":{"updated_input":{"file_path":"/repo/a"},"permission_updates":[]}})");
}

TEST_CASE("a digest tells where one part ends and the next begins") {
  CHECK(digest_of({"ab", "c"}) == digest_of({"ab", "c"}));
  CHECK(digest_of({"ab", "c"}) != digest_of({"a", "bc"}));
  CHECK(digest_of({"ab", "c"}) != digest_of({"abc"}));
  CHECK(digest_of({"a1:b"}) != digest_of({"a", "b"}));
  CHECK(digest_of({"a:b"}) != digest_of({"a", "b"}));
  CHECK(digest_of({"", "a"}) != digest_of({"a", ""}));
}

TEST_CASE("an input is handed back only if every client reads it as the object it is") {
  CHECK(is_sendable_input("{}"));
  CHECK(is_sendable_input(" {\n\"a\": [1, {\"b\": null}]} "));
  for (const char* input :
       {"", "null", "[]", "\"x\"", "{", "{}}", "{} {}", "{},\"x\":{}", "{'a':1}", "{\"a\":\"\x01\"}",
        "{\"a\":\"line\nbreak\"}", "{\"a\":1,}", "{\"a\":01}", "\xEF\xBB\xBF{}", "{\"a\":NaN}"}) {
    INFO(input);
    CHECK_FALSE(is_sendable_input(input));
  }
}

TEST_CASE("at a worker's hook a rule decides, and everything else is left open, whatever the default") {
  Team team = with_rules({rule("Bash(ls:*)"), rule("Read(./**)")}, {rule("Bash(rm:*)"), rule("Edit(./secret/**)")});
  team.config.permissions.rules.ask = {rule("Bash(ls -R:*)")};
  const auto judged = [&](const std::string& tool, const std::string& input, const std::string& cwd = "/repo",
                          bool planning = false) {
    const auto decided = judge({"toolu_1", tool, input, cwd, planning}, "hook-toolu_1", "w1", team.view(), noon);
    return decided ? std::string(to_string(decided->state)) + " " + decided->rule : "";
  };
  for (const auto action : {config::Action::deny, config::Action::ask, config::Action::allow}) {
    team.config.permissions.default_action = action;
    CHECK(judged("Bash", R"({"command":"ls -l"})") == "approved Bash(ls:*)");
    CHECK(judged("Bash", R"({"command":"rm x"})") == "denied Bash(rm:*)");
    CHECK(judged("Bash", R"({"command":"ls; rm x"})") == "denied Bash(rm:*)");
    for (const auto* open : {"ls -R", "make", "ls; make", "ls $(make)"})
      CHECK(judged("Bash", "{\"command\":\"" + std::string(open) + "\"}").empty());
    CHECK(judged("Bash", "{}").empty());
    CHECK(judged("Write", R"({"file_path":"/repo/x"})").empty());
  }
  // While it plans nothing is allowed.
  CHECK(judged("Bash", R"({"command":"ls -l"})", "/repo", true).empty());
  CHECK(judged("Bash", R"({"command":"rm x"})", "/repo", true) == "denied Bash(rm:*)");
  // Away from its folder: what either denies is denied, and a relative path allows nothing.
  CHECK(judged("Read", R"({"file_path":"a"})") == "approved Read(./**)");
  CHECK(judged("Read", R"({"file_path":"passwd"})", "/etc").empty());
  CHECK(judged("Read", R"({"file_path":"/etc/passwd"})", "/etc").empty());
  CHECK(judged("Read", R"({"file_path":"/repo/a"})", "/repo/src") == "approved Read(./**)");
  CHECK(judged("Bash", R"({"command":"ls -l"})", "/etc") == "approved Bash(ls:*)");
  CHECK(judged("Bash", R"({"command":"rm x"})", "/etc") == "denied Bash(rm:*)");
  CHECK(judged("Edit", R"({"file_path":"secret/a"})", "/tmp") == "denied Edit(./secret/**)");
  CHECK(judged("Edit", R"({"file_path":"/repo/secret/a"})", "/tmp") == "denied Edit(./secret/**)");
  CHECK(judged("Edit", R"({"file_path":"/tmp/secret/a"})", "/tmp") == "denied Edit(./secret/**)");
  // What a model writes beside a command does not say where the command reads.
  CHECK(judged("Bash", R"({"command":"ls < a"})") == "approved Bash(ls:*), Read(./**)");
  CHECK(judged("Bash", R"({"command":"ls < a"})", "/etc").empty());
  CHECK(judged("Bash", R"({"command":"ls < a","path":"/repo"})", "/etc").empty());
}

TEST_CASE("what was decided at a hook is a record like that of a request, in the worker's name") {
  const Team team = with_rules({}, {rule("Bash(rm:*)")});
  const auto decided =
      judge({"toolu_1", "Bash", R"({"command":"rm x"})", "/repo", false}, "hook-toolu_1", "w1", team.view(), noon);
  REQUIRE(decided);
  CHECK(decided->kind == RequestKind::permission);
  CHECK(decided->request_id == "hook-toolu_1");
  CHECK(decided->asker == "w1");
  CHECK(decided->subject == "Bash");
  CHECK(decided->body == R"({"command":"rm x"})");
  CHECK(decided->content_hash == digest_of({"Bash", R"({"command":"rm x"})"}));
  CHECK(decided->decided_by == "hook");
  CHECK(decided->decided_ms == noon);
  CHECK(decided->reason.find("(rule Bash(rm:*))") != std::string::npos);
  CHECK(decided->message.value.empty());
}

}  // namespace inbox_poller::handlers::permission_test
