#include "config/rule_overlap.hpp"

#include <random>
#include <set>

#include "tests/support/catch.hpp"
#include "tests/support/portion.hpp"
#include "tests/support/told_rules.hpp"

namespace inbox_poller::rule_overlap_test {

using namespace inbox_poller::config;

namespace {

PermissionRule rule(std::string_view text) {
  auto parsed = parse_permission_rule(text);
  if (!parsed) throw std::runtime_error(parsed.error().message);
  return *parsed;
}

bool overlap(std::string_view told, std::string_view restriction, std::string_view home = "/home/ann") {
  return may_overlap(rule(told), rule(restriction), home);
}

}  // namespace

TEST_CASE("a rule that shares calls with a restriction is known by its words") {
  const std::pair<const char*, const char*> pairs[] = {
      {"Bash(git:*)", "Bash(git push:*)"},
      {"Bash(git *)", "Bash(git push)"},
      {"Bash(git push:*)", "Bash(git push:*)"},
      {"Bash(git push origin main)", "Bash(git push:*)"},
      {"Bash(git push)", "Bash(git push origin:*)"},  // xargs appends
      {"Bash(git * main)", "Bash(git push *)"},
      {"Bash(git log:*)", "Bash(git:*)"},
      {"Bash(git log:*)", "Bash(*push*)"},
      {"Bash(git log *)", "Bash(git l*)"},
      {"Bash(gi*)", "Bash(git push:*)"},
      {"Bash(l*)", "Bash(rm:*)"},  // l/../rm
      {"Bash(./bin/*)", "Bash(rm:*)"},
      {"Bash(/bin/rm:*)", "Bash(rm:*)"},
      {"Bash(rm:*)", "Bash(/bin/rm -rf:*)"},
      {"Bash(sudo:*)", "Bash(rm:*)"},
      {"Bash(find:*)", "Bash(rm:*)"},
      {"Bash(python3:*)", "Bash(rm:*)"},
      {"Bash(timeout 5 npm:*)", "Bash(npm publish:*)"},
      {"Bash(npm test)", "Bash(timeout:*)"},
      {"Bash(npm test:*)", "Bash(CI=1 *)"},
      {"Bash(DEBUG=1 npm *)", "Bash(npm publish:*)"},
      {"Bash(echo \"git push\" *)", "Bash(echo git:*)"},
      {"Bash(\"git\" *)", "Bash(git push:*)"},
      {"Bash", "Bash(rm:*)"},
      {"Bash(npm test)", "Bash"},
      {"Bash(npm test:*)", "Bash(run_in_background:true)"},
      {"Bash(npm test:*)", "Bash(timeout:*)"},
      {"Bash", "Read(.env)"},
      {"Bash(cat:*)", "Read(.env)"},
      {"Bash(npm test:*)", "Edit(//etc/**)"},
      {"Bash(cat .env)", "Read(.env)"},
      {"Bash(cat)", "Read(.env)"},  // xargs cat
      {"Bash(npm test ./x)", "Read(.env)"},
      {"Bash(npm --prefix x)", "Read(x/**)"},
      {"Bash(git diff)", "Read(.env)"},
      {"Read(//repo/**)", "Read(.env)"},
      {"Read(//repo/**)", "Read(//repo/secret/*)"},
      {"Read(//REPO/**)", "Read(//repo/secret/*)"},
      {"Read(//repo)", "Read(//repo/.env)"},
      {"Read(/src/**)", "Read(./src/a.c)"},
      {"Read(src/**)", "Read(**/key)"},
      {"Read(*.md)", "Read(docs/**)"},
      {"Read(~/notes/**)", "Read(//home/ann/**)"},
      {"Read(~/notes/**)", "Read(./notes/x)"},
      {"Edit(//repo/**)", "Read(//repo/.env)"},  // who may edit may read
      {"Write", "Edit(//etc/**)"},
      {"Edit(//etc/hosts)", "Write"},
      {"Grep", "Read(.env)"},
      {"Read(//repo/**)", "Grep"},
      {"Read(//repo/**)", "Read"},
      {"Read(//repo/**)", "Read(limit:5)"},
      {"mcp__db__*", "mcp__db__drop"},
      {"mcp__db", "mcp__db__drop"},
      {"mcp__db__drop", "mcp__db"},
      {"mcp__db__get_*", "mcp__*__get_all"},
      {"mcp__db__query", "mcp__db__query(sql:*drop*)"},
      {"WebFetch", "WebFetch(domain:evil.com)"},
      {"WebFetch(domain:*.a.com)", "WebFetch(domain:x.a.com:80)"},
      {"WebFetch(domain:*.b.a.com)", "WebFetch(domain:*.a.com)"},
      {"WebFetch(domain:a.com)", "WebFetch(domain:*)"},
      {"WebFetch(domain:a.com)", "WebFetch(prompt:*)"},
      {"Agent(Explore)", "Task(Ex*)"},
      {"Agent(Explore)", "Agent(model:opus)"},
      {"PowerShell", "Bash(rm:*)"},
      {"NewTool", "Read(.env)"},
  };
  for (const auto& [told, restriction] : pairs) {
    INFO(told << " beside " << restriction);
    CHECK(overlap(told, restriction));
  }
}

TEST_CASE("a folder that a rule names stands for what is below it") {
  CHECK(overlap("Read(/src)", "Read(/src/secret/**)"));
  CHECK(overlap("Read(/src/secret/k)", "Read(/src)"));
  CHECK(overlap("Edit(//work/app)", "Edit(//work/app/src/?.c)"));
  CHECK_FALSE(overlap("Read(/src)", "Read(/srcs/**)"));
}

TEST_CASE("a rule that can be shown to share nothing may be told") {
  const std::pair<const char*, const char*> pairs[] = {
      {"Bash(npm test:*)", "Bash(git push:*)"},
      {"Bash(npm test:*)", "Bash(rm:*)"},
      {"Bash(npm test:*)", "Bash(npm publish:*)"},
      {"Bash(npm test:*)", "Bash(sudo:*)"},
      {"Bash(git log:*)", "Bash(git push:*)"},
      {"Bash(git log:*)", "Bash(git logs:*)"},
      {"Bash(git status)", "Bash(git push)"},
      {"Bash(cargo build:*)", "Bash(cargo pub*)"},
      {"Bash(ls:*)", "Bash(lsof:*)"},
      {"Bash(npm test)", "Read(.env)"},
      {"Bash(npm run build)", "Edit(//etc/**)"},
      {"Bash(git status)", "Read(//home/ann/.ssh/**)"},
      {"Bash(make)", "Edit(./src/secrets/**)"},
      {"Bash(npm test:*)", "WebFetch"},
      {"Bash(npm test:*)", "mcp__db__drop"},
      {"Read(//repo/**)", "Read(//etc/**)"},
      {"Read(//repo/**)", "Edit(//repo/**)"},
      {"Read(/src/**)", "Read(./docs/**)"},
      {"Edit(//repo/src/*.c)", "Edit(//repo/src/*.h)"},
      {"Read(~/notes/**)", "Read(~/.ssh/**)"},
      {"Read(//repo/**)", "Bash(cat:*)"},
      {"mcp__db__get", "mcp__web__*"},
      {"mcp__db__get_*", "mcp__db__set_*"},
      {"WebFetch(domain:a.com)", "WebFetch(domain:b.com)"},
      {"WebFetch(domain:a.com)", "WebFetch(domain:*.a.com)"},
      {"Agent(Explore)", "Agent(Plan)"},
      {"WebSearch", "WebFetch(domain:evil.com)"},
      {"PowerShell", "mcp__db__drop"},
  };
  for (const auto& [told, restriction] : pairs) {
    INFO(told << " beside " << restriction);
    CHECK_FALSE(overlap(told, restriction));
  }
  CHECK(overlap("Read(~/notes/**)", "Read(//etc/**)", ""));  // nobody knows where the home is
}

TEST_CASE("the restriction that is met is named, deny before ask") {
  PermissionRules rules;
  rules.ask = {rule("Bash(git push:*)")};
  CHECK(restriction_of(rule("Bash(git:*)"), rules, "") == "the ask rule Bash(git push:*)");
  rules.deny = {rule("Read(.env)"), rule("Bash(git *)")};
  CHECK(restriction_of(rule("Bash(git:*)"), rules, "") == "the deny rule Read(.env)");
  CHECK(restriction_of(rule("WebSearch"), rules, "") == std::nullopt);
}

TEST_CASE("no call is covered by a rule that may be told and met by a restriction") {
  const std::vector<std::string> bash = {"git",
                                         "git *",
                                         "git:*",
                                         "git status",
                                         "git push",
                                         "git push:*",
                                         "git push origin *",
                                         "git * main",
                                         "git log *",
                                         "git st*",
                                         "g*",
                                         "*",
                                         "* push",
                                         "npm test",
                                         "npm test:*",
                                         "npm run *",
                                         "npm publish:*",
                                         "rm",
                                         "rm:*",
                                         "rm -rf *",
                                         "/bin/rm *",
                                         "./x/*",
                                         "./run.sh *",
                                         "sudo:*",
                                         "sudo rm *",
                                         "timeout *",
                                         "timeout 5 npm *",
                                         "CI=1 npm *",
                                         "env *",
                                         "xargs *",
                                         "find . *",
                                         "find *",
                                         "sh -c *",
                                         "bash x.sh",
                                         "echo 'git push'",
                                         "echo \"a b\" *",
                                         "\"git\" push",
                                         "gi\\t push",
                                         "cat *",
                                         "cat .env",
                                         "make",
                                         "make *",
                                         "ls*",
                                         "ls *",
                                         "time *",
                                         "nohup npm *",
                                         "printf *",
                                         "test *",
                                         "command git *"};
  const std::vector<std::string> paths = {"//work/app/**",
                                          "//work/**",
                                          "//etc/**",
                                          "//etc/hosts",
                                          "/src/**",
                                          "./src/*.c",
                                          "src/**",
                                          "*.c",
                                          ".env",
                                          "./.env",
                                          "**/key",
                                          "~/**",
                                          "~/.ssh/**",
                                          "//home/ann/x",
                                          "/src/secret/**",
                                          "SRC/**",
                                          "//work/app/src/?.c",
                                          "/src"};
  const std::vector<std::string> words = {
      "git",       "push",     "status", "log",     "main",    "origin",       "npm",      "test", "run",
      "publish",   "rm",       "-rf",    "-exec",   "-c",      "'git push x'", "\"rm x\"", "x",    "/bin/rm",
      "sudo",      "timeout",  "5",      "env",     "xargs",   "find",         ".",        "sh",   "-la",
      "CI=1",      "A=b",      "p\\ush", "'push'",  "\"rm\"",  "cat",          ".env",     "make", "ls",
      ";",         "&&",       "|",      "$x",      "*",       "{a,b}",        "nohup",    "time", "./x/rm",
      "./x/../rm", "git push", "{}",     "+",       "--",      "> /etc/hosts", "< .env",   "2>&1", "printf",
      "-v",        "a[0]",     "eval",   "command", "./run.sh"};
  const std::vector<std::string> files = {
      "/work/app/src/a.c", "src/a.c",     "src/secret/k",      ".env", "a/.env", "/etc/hosts",       "/etc",
      "~/.ssh/id",         "/home/ann/x", "/work/app/SRC/b.C", "key",  "src",    "/work/other/.env", "~/x"};
  const std::vector<std::string> tools = {"Bash",      "Read",     "Edit", "Write",         "Grep",
                                          "LS",        "WebFetch", "Task", "mcp__db__drop", "mcp__db__get_all",
                                          "PowerShell"};
  const std::vector<std::string> others = {"Bash",
                                           "Read",
                                           "Edit",
                                           "Write",
                                           "Grep",
                                           "mcp__db",
                                           "mcp__db__*",
                                           "mcp__db__get_*",
                                           "mcp__*__drop",
                                           "mcp__db__drop",
                                           "WebFetch",
                                           "WebFetch(domain:*.a.com)",
                                           "WebFetch(domain:a.com)",
                                           "WebFetch(domain:x.a.com:443)",
                                           "Agent(Explore)",
                                           "Agent(Ex*)",
                                           "Agent",
                                           "PowerShell",
                                           "Bash(run_in_background:true)"};
  std::vector<PermissionRule> rules;
  for (const auto& text : bash)
    if (auto parsed = parse_permission_rule("Bash(" + text + ")")) rules.push_back(*parsed);
  for (const auto& text : paths)
    for (const char* tool : {"Read", "Edit"}) rules.push_back(rule(tool + ("(" + text + ")")));
  for (const auto& text : others) rules.push_back(rule(text));

  std::mt19937 random(20'261'122);
  const auto any = [&](const auto& list) -> decltype(auto) { return list[random() % list.size()]; };
  const auto command = [&](const PermissionRule& from) {
    std::string text;
    for (const char c : from.specifier.value_or("*")) {
      if (c == '*')
        for (std::size_t i = random() % 4; i > 0; --i) text += any(words) + (random() % 5 == 0 ? "" : " ");
      else
        text += c == ':' ? ' ' : c;
    }
    if (random() % 3 == 0) text = any(words) + " " + text;
    if (random() % 3 == 0) text += " " + any(words);
    return text;
  };
  int both = 0;
  int covered = 0;
  int restricted = 0;
  std::set<std::pair<const PermissionRule*, const PermissionRule*>> disjoint;
  const int rounds = inbox_poller::test::is_long_form() ? 20'000 : 2'000;
  for (int round = 0; round < rounds; ++round) {
    const PermissionRule& told = any(rules);
    const PermissionRule& other = any(rules);
    if (why_never_allows(told)) continue;
    const std::string tool = told.tool == "Bash" ? "Bash" : any(tools);
    const std::string text = tool == "Bash" ? command(random() % 2 == 0 ? told : other)
                             : tool == "WebFetch"
                                 ? "https://" + any(std::vector<std::string>{"a.com", "x.a.com", "y.x.a.com:443"}) + "/"
                             : tool == "Task" ? "Explore"
                                              : any(files);
    const std::string input = inbox_poller::test::input_of(tool, text);
    INFO(told.text << " beside " << other.text << ": " << tool << " " << text);
    REQUIRE(inbox_poller::test::keeps_promise(told, other, tool, input));
    both += inbox_poller::test::is_covered(told, tool, input) && inbox_poller::test::is_restricted(other, tool, input);
    covered += inbox_poller::test::is_covered(told, tool, input);
    restricted += inbox_poller::test::is_restricted(other, tool, input);
    if (!may_overlap(told, other, inbox_poller::test::at_work.home)) disjoint.insert({&told, &other});
  }
  CHECK(covered > rounds / 10);  // otherwise the property would say nothing
  CHECK(restricted > rounds / 20);
  CHECK(disjoint.size() > static_cast<std::size_t>(rounds / 40));
  CHECK(both > rounds / 200);
  WARN(both << " both, " << covered << " calls covered, " << restricted << " restricted, " << disjoint.size() << " disjoint pairs");
}

}  // namespace inbox_poller::rule_overlap_test
