#include "schema/hook_settings.hpp"

#include <boost/json.hpp>

#include "schema/json_scan.hpp"
#include "tests/support/catch.hpp"

using namespace inbox_poller::schema;
namespace json = boost::json;

namespace {

const HookProgram program{"/opt/bin/inbox-poller", {}};
const HookProgram moved{"/usr/bin/inbox-poller", {"--team", "demo"}};

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

std::string removed(const std::string& text) {
  const auto rest = without_hooks(text);
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
    CHECK(count(with, "\"/opt/bin/inbox-poller\"") == 12);
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
    CHECK(count(again, "\"/usr/bin/inbox-poller\"") == 12);
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
  const HookProgram wrapped{"/nix/x/.inbox-poller-wrapped", {}};
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
