#include "schema/hook_settings.hpp"

#include <boost/json.hpp>

#include "schema/json_scan.hpp"
#include "tests/support/catch.hpp"

namespace inbox_poller::hook_settings_test {

using namespace inbox_poller::schema;
namespace json = boost::json;

namespace {

constexpr ClientVersion newest{2, 1, 330};
const HookProgram program{"/opt/bin/inbox-poller", {}, HookUser::lead, newest};
const HookProgram moved{"/usr/bin/inbox-poller", {"--team", "demo"}, HookUser::lead, newest};
const HookProgram old{"/opt/my tools/inbox-poller", {"--team", "it's"}, HookUser::lead, oldest_client};
const HookProgram workers{"/opt/bin/inbox-poller", {}, HookUser::worker, newest};
const HookProgram old_workers{"/opt/bin/inbox-poller", {}, HookUser::worker, oldest_client};

/// Settings that people and programs write.
const std::string settings[] = {
    "{}",
    "{}\n",
    "{\n}\n",
    " { } ",
    "\xEF\xBB\xBF{\"model\": \"opus\"}",
    "{\"model\":\"opus\"}",
    "{\"model\":\"opus\",\"hooks\":{}}",
    "{\"hooks\":{\"Stop\":[]}}",
    "{\"hooks\": { }, \"model\": \"opus\"}",
    "{\"hooks\":{\"Stop\":[ "
    "],\"PreToolUse\":[{\"matcher\":\"Bash\",\"hooks\":[{\"type\":\"command\",\"command\":\"x\"}]}]}}",
    "{\n  \"model\": \"opus\"\n}\n",
    "{\n\t\"model\": \"opus\",\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{\n\t\t\t\t\"hooks\": [\n\t\t\t\t\t{ \"type\": "
    "\"command\", "
    "\"command\": \"say \\\"]}\\\"\" }\n\t\t\t\t]\n\t\t\t}\n\t\t]\n\t}\n}",
    "{\r\n    \"hooks\": {\r\n        \"SessionEnd\": [],\r\n        \"Stop\": [\r\n            {\r\n                "
    "\"hooks\": []\r\n"
    "            }\r\n        ]\r\n    },\r\n    \"env\": {\r\n        \"A\": \"1\"\r\n    }\r\n}\r\n",
    "{\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": [{\"command\": \"/bin/inbox-poller-like\", \"args\": "
    "[\"status\"]}]}, 17, null]\n"
    "  },\n  \"numbers\": [1e400, 123456789012345678901234567890],\n  \"lone\": \"\\ud800\"\n}\n",
    "{\"hooks\": {\"Stop\": 1}, \"hooks\": {\"Stop\": []}}",
    "",
    "\n",
    "  \r\n\t",
};

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

std::string removed(const std::string& text, std::optional<HookUser> whose = std::nullopt) {
  const auto rest = without_hooks(text, whose);
  REQUIRE(rest);
  REQUIRE(*rest);
  return **rest;
}

std::string added(const std::string& text, const HookProgram& which) {
  const auto all = with_hooks(text, which);
  REQUIRE(all);
  return *all;
}

}  // namespace

TEST_CASE("what is added to a settings file is taken out again to the last byte") {
  for (const auto& text : settings) {
    INFO(text);
    const auto with = added(text, program);
    CHECK(scan_object(with.substr(with.starts_with("\xEF") ? 3 : 0)));
    CHECK(count(with, "\"/opt/bin/inbox-poller\"") == 13);
    CHECK(removed(with) == text);
  }
}

TEST_CASE("adding twice changes nothing, and another program takes the place of the old one") {
  for (const auto& text : settings) {
    INFO(text);
    const auto with = added(text, program);
    CHECK(added(with, program) == with);
    const auto again = added(with, moved);
    CHECK(count(again, "/opt/bin/inbox-poller") == 0);
    CHECK(count(again, "\"/usr/bin/inbox-poller\"") == 13);
    CHECK(removed(again) == text);
  }
}

TEST_CASE("a file that is made for the hooks goes with them") {
  const auto with = hook_settings(program);
  CHECK(scan_object(with.substr(with.starts_with("\xEF") ? 3 : 0)));
  const auto rest = without_hooks(with);
  REQUIRE(rest);
  CHECK_FALSE(*rest);
  CHECK(removed("{}\n") == "{}\n");
}

TEST_CASE("hooks that another program has formatted anew are still the same, and found") {
  const auto formatted = json::serialize(json::parse(added("{\"model\":\"opus\"}", program)));
  CHECK(added(formatted, program) == formatted);
  const auto rest = json::parse(removed(formatted)).as_object();
  CHECK(rest.at("model") == "opus");
  CHECK(count(json::serialize(rest), "inbox-poller") == 0);
}

TEST_CASE("only our handlers go, from wherever somebody has put them") {
  const std::string mine = R"({"type":"command","command":"/x/inbox-poller","args":["hook"]})";
  const std::string other = R"({"type":"command","command":"/x/other","args":["hook"]})";
  CHECK(removed(R"({"hooks":{"Stop":[{"hooks":[)" + mine + "," + other + "]}]}}") ==
        R"({"hooks":{"Stop":[{"hooks":[)" + other + "]}]}}");
  CHECK(removed(R"({"hooks":{"Foo":[{"hooks":[)" + other + ", " + mine + ", " + mine + "]}]}}") ==
        R"({"hooks":{"Foo":[{"hooks":[)" + other + "]}]}}");
}

TEST_CASE("our program is known by its name, also where packagers put something around it") {
  for (const auto* path :
       {"inbox-poller", "/usr/bin/inbox-poller", "/opt/inbox-poller-0.1.0", "/nix/x/.inbox-poller-wrapped"})
    CHECK(is_our_program(path));
  for (const auto* path : {"", "/", "/opt/inbox-poller/", "/opt/inbox-poller/other", "poller"})
    CHECK_FALSE(is_our_program(path));
  const HookProgram wrapped{"/nix/x/.inbox-poller-wrapped", {}, HookUser::lead, newest};
  CHECK(added(added("{}", wrapped), wrapped) == added("{}", wrapped));
  CHECK(removed(added("{}", wrapped)) == "{}");
}

TEST_CASE("one event's hooks that are missing are put back") {
  const auto with = added("{}", program);
  const auto at = with.find("\"PermissionRequest\"");
  std::string broken = with;
  broken.replace(at, 19, "\"PermissionReq\"");
  const auto again = added(broken, program);
  CHECK(again == with);
}

TEST_CASE("an older client gets the events that it takes, each as a shell's line, and nothing that would hold it up") {
  for (const auto& text : settings) {
    INFO(text);
    const auto with = added(text, old);
    CHECK(count(with, "StopFailure") == 0);
    CHECK(count(with, "\"asyncRewake\"") == 0);
    CHECK(count(with, R"("'/opt/my tools/inbox-poller' hook --team 'it'\\''s'")") == 10);
    CHECK(added(with, old) == with);
    CHECK(removed(with) == text);
    // What the one generation of clients got makes room for what the other one gets.
    const auto upgraded = added(with, program);
    CHECK(count(upgraded, "my tools") == 0);
    CHECK(added(upgraded, old) == with);
    CHECK(removed(upgraded) == text);
  }
}

TEST_CASE("hooks of leads and of workers stand beside each other, and go one by one or all at once") {
  for (const auto& text : settings) {
    for (const auto& [mine, theirs] :
         {std::pair(program, workers), std::pair(old, old_workers), std::pair(old, workers)}) {
      INFO(text);
      const auto both = added(added(text, mine), theirs);
      CHECK(count(both, "worker") == 2);
      CHECK(added(both, mine) == both);
      CHECK(added(both, theirs) == both);
      CHECK(removed(both) == text);
      CHECK(removed(removed(both, HookUser::lead), HookUser::worker) == text);
      CHECK(removed(removed(both, HookUser::worker), HookUser::lead) == text);
      CHECK(count(removed(both, HookUser::lead), "worker") == 2);
      const auto other_way = added(added(text, theirs), mine);
      CHECK(removed(other_way) == text);
      CHECK(removed(removed(other_way, HookUser::worker), HookUser::lead) == text);
    }
  }
}

TEST_CASE("a shell's line is ours only when it does nothing else") {
  const auto settings_with = [](const std::string& command) {
    return R"({"hooks":{"Stop":[{"hooks":[{"type":"command","command":)" + quote(command) + "}]}]}}";
  };
  for (const auto* line : {"/x/inbox-poller hook", "'/x y/inbox-poller' hook", " /x/inbox-poller  hook wait ",
                           "/x\\ y/inbox-poller hook"}) {
    INFO(line);
    CHECK(count(removed(settings_with(line)), "inbox-poller") == 0);
  }
  for (const auto* line : {"/x/inbox-poller hook || true", "/x/inbox-poller status", "cd /x && ./inbox-poller hook",
                           "/x/other hook", "echo inbox-poller hook", "$HOME/inbox-poller hook", "inbox-poller", ""}) {
    INFO(line);
    CHECK(removed(settings_with(line)) == settings_with(line));
  }
}

TEST_CASE("what a settings file has of hooks is told, ours and others'") {
  const auto text = added(
      added(R"({"hooks":{"FileChanged":[],"Stop":[{"hooks":[{"command":"x","args":["y"]}]},3]}})", workers), program);
  const auto found = hooks_in(text);
  REQUIRE(found);
  const auto how_many = [&](const auto& fits) { return std::count_if(found->begin(), found->end(), fits); };
  CHECK(how_many([](const SettingsHook& one) { return one.ours == HookUser::lead; }) == 13);
  CHECK(how_many([](const SettingsHook& one) { return one.ours == HookUser::worker; }) == 2);
  CHECK(how_many([](const SettingsHook& one) { return one.wakes; }) == 2);
  CHECK(how_many([](const SettingsHook& one) { return !one.ours && one.event == "FileChanged"; }) == 1);
  CHECK(how_many([](const SettingsHook& one) { return !one.ours && one.event == "Stop" && one.has_arguments; }) == 1);
  CHECK(hooks_in("")->empty());
  CHECK(hooks_in("{}")->empty());
  CHECK_FALSE(hooks_in("{\"hooks\":[]}"));
}

TEST_CASE("settings that are not what they should be are refused with the line") {
  const std::pair<std::string, std::string> rows[] = {
      {"{\n  // a comment\n  \"model\": \"opus\"\n}", "line 2: "},
      {"{\n  \"model\": \"opus\",\n}", "line 3: "},
      {"[]", "line 1: "},
      {"{\"hooks\":\n\n[]}", "line 3: "},
      {"{\"hooks\":{\n\"Stop\": {}}}", "line 2: "},
      {"{\"hooks\":null}", "line 1: "},
      {"{}{}", "line 1: "},
  };
  for (const auto& [text, line] : rows) {
    INFO(text);
    const auto refused = with_hooks(text, program);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == "settings.syntax");
    CHECK(refused.error().message.starts_with(line));
  }
  CHECK_FALSE(without_hooks("{\"hooks\": nonsense}"));
}

}  // namespace inbox_poller::hook_settings_test
