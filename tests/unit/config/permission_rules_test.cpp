#include <random>

#include "rule_table.hpp"
#include "schema/json_scan.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/portion.hpp"

namespace inbox_poller::config::permission_rules_test {
namespace {

const RuleContext at_work{"/work/app", "/home/ann"};

/// A tool's input around the text that matters; a text that is JSON already is the input itself.
std::string input_of(const std::string& tool, const std::string& text) {
  if (text.starts_with("{\"") || text == "[]" || text == "not JSON at all" || text == "nonsense") return text;
  const std::string field = tool == "Bash" ? "command" : tool == "WebFetch" ? "url" : "file_path";
  return "{\"" + field + "\":" + schema::quote(text) + "}";
}

Verdict judge_command(const PermissionRules& rules, const std::string& command, Action default_action = Action::ask) {
  return judge_tool(rules, "Bash", input_of("Bash", command), at_work, default_action);
}

PermissionRules allowing(std::initializer_list<const char*> texts) {
  PermissionRules rules;
  for (const char* text : texts) rules.allow.push_back(*parse_permission_rule(text));
  return rules;
}

TEST_CASE("every row of the conformance table is decided as it says") {
  const auto rows = rules_test::read_table("tool_rules.txt", 4);
  CHECK(rows.size() >= 500);
  for (const rules_test::Row& row : rows) {
    PermissionRules rules;
    const Action default_action = rules_test::read_rules(row.columns[1], rules, parse_permission_rule);
    const Verdict verdict =
        judge_tool(rules, row.columns[2], input_of(row.columns[2], row.columns[3]), at_work, default_action);
    INFO("line " << row.line << ": " << row.text << "\n  " << verdict.rule << ": " << verdict.reason);
    CHECK(std::string(to_string(verdict.action)) == row.columns[0]);
    CHECK_FALSE(verdict.reason.empty());
  }
}

TEST_CASE("a verdict names the rules that gave it, and says what no rule covers") {
  CHECK(judge_command(allowing({"Bash(ls *)", "Bash(pwd)", "Bash(id)"}), "ls && pwd && ls -l").rule ==
        "Bash(ls *), Bash(pwd)");
  CHECK(judge_command(allowing({"Bash(ls -l)", "Bash(ls)"}), "ls -l && ls").rule == "Bash(ls -l), Bash(ls)");
  CHECK(judge_command(allowing({"Bash(ls *)"}), "ls; curl x").reason == "no allow rule covers the command \"curl x\"");
  CHECK(judge_command(allowing({"Bash(echo *)"}), "echo $(x)").reason ==
        "the command runs another command to build this one, with $(…), so no rule may allow it");
  CHECK(judge_command(allowing({"Bash(echo *)"}), "echo x > out").reason ==
        "no Edit rule allows the redirection's file \"/work/app/out\"");
  PermissionRules denying;
  denying.deny.push_back(*parse_permission_rule("Bash(rm *)"));
  CHECK(judge_command(denying, "rm x").rule == "Bash(rm *)");
}

TEST_CASE("a command that writes a build tool's file and then runs the tool is not allowed") {
  const auto rules = allowing({"Bash(cp *)", "Bash(docker compose up)", "Read", "Edit(//work/app/**)"});
  for (const std::string file : {"docker-compose.yml", "docker-compose.yaml", "compose.yml", "Dockerfile", "dockerfile.dev"})
    CHECK(judge_command(rules, "cp x " + file + " && docker compose up").action == Action::ask);
  CHECK(judge_command(rules, "cp x notes.yml && docker compose up").action == Action::allow);
}

TEST_CASE("relative paths and rules allow nothing while the worker's folder is unknown") {
  for (const std::string cwd : {"", "relative/folder", "/work/../etc", "/work/\x1b[2J"}) {
    const RuleContext context{cwd, "/home/ann"};
    const auto action = [&](const char* rule, const char* path) {
      return judge_tool(allowing({rule}), "Edit", input_of("Edit", path), context, Action::ask).action;
    };
    CHECK(action("Edit(/src/**)", "src/a") == Action::ask);
    CHECK(action("Edit(src/**)", "/src/a") == Action::ask);
    CHECK(action("Edit(*.c)", "/a.c") == Action::ask);
    CHECK(action("Edit(//src/**)", "src/a") == Action::ask);
    CHECK(action("Edit(//src/**)", "/src/a") == Action::allow);
    CHECK(action("Edit(~/src/**)", "/home/ann/src/a") == Action::allow);
  }
  CHECK(judge_tool(allowing({"Edit(~/**)"}), "Edit", input_of("Edit", "~/x"), {"/work", ""}, Action::ask).action ==
        Action::ask);
}

TEST_CASE("the root, the home and what holds it are no folders to start relative rules from") {
  for (const std::string cwd : {"/", "//", "/.", "/home/ann", "/home/ann/", "/home"}) {
    INFO(cwd);
    const RuleContext context{cwd, "/home/ann"};
    const auto action = [&](const char* rule, const char* path) {
      return judge_tool(allowing({rule}), "Read", input_of("Read", path), context, Action::ask).action;
    };
    CHECK(action("Read(./**)", "/etc/shadow") == Action::ask);
    CHECK(action("Read(./**)", "/home/ann/.ssh/id") == Action::ask);
    CHECK(action("Read(*.pem)", "/etc/key.pem") == Action::ask);
    CHECK(action("Read(/**)", "x") == Action::ask);
    CHECK(action("Read(//etc/**)", "/etc/hosts") == Action::allow);
    CHECK(action("Read(~/**)", "/home/ann/x") == Action::allow);
    CHECK_FALSE(rule_for_call("Read", input_of("Read", "x"), context));
    // A restriction that could start anywhere is met anywhere.
    PermissionRules rules = allowing({"Read(//work/**)"});
    for (const char* deny : {"Read(./.env)", "Read(.env)", "Read(/.env)"}) {
      rules.deny = {*parse_permission_rule(deny)};
      CHECK(judge_tool(rules, "Read", input_of("Read", "/work/app/.env"), context, Action::ask).action == Action::deny);
      CHECK(judge_tool(rules, "Read", input_of("Read", "/work/app/a"), context, Action::ask).action == Action::allow);
    }
  }
}

TEST_CASE("a worker's folder with stars in its name widens no rule") {
  const RuleContext context{"/work/**", "/home/ann"};
  const auto action = [&](const char* path) {
    return judge_tool(allowing({"Edit(/src/*)"}), "Edit", input_of("Edit", path), context, Action::ask).action;
  };
  CHECK(action("/work/**/src/a") == Action::allow);
  CHECK(action("/work/other/src/a") == Action::ask);
}

TEST_CASE("a command longer than 10,000 characters is asked about, and still denied when a deny rule sees it") {
  const std::string long_list = "ls " + std::string(10'000, 'x');
  CHECK(judge_command(allowing({"Bash"}), long_list).action == Action::ask);
  CHECK(judge_command(allowing({"Bash"}), long_list.substr(0, 10'000)).action == Action::allow);
  PermissionRules rules = allowing({"Bash"});
  rules.deny.push_back(*parse_permission_rule("Bash(rm *)"));
  CHECK(judge_command(rules, long_list + "; rm x").action == Action::deny);
}

TEST_CASE("a hostile command costs bounded work") {
  std::string nested;
  for (int i = 0; i < 20'000; ++i) nested += "$(";
  std::string runners;
  for (int i = 0; i < 100'000; ++i) runners += "sudo 'a b;c' ";
  std::string stars = "Bash(";
  for (int i = 0; i < 50; ++i) stars += "a*";
  const PermissionRules rules = allowing({(stars + "b)").c_str(), "Bash(ls *)"});
  CHECK(judge_command(rules, nested).action == Action::ask);
  CHECK(judge_command(rules, runners).action == Action::ask);
  CHECK(judge_command(rules, std::string(9'000, 'a')).action == Action::ask);
}

TEST_CASE("texts that are no rules are refused with the reason and an example") {
  const std::pair<const char*, const char*> rows[] = {
      {"", "it begins without a tool's name"},
      {"(x)", "it begins without a tool's name"},
      {"Bash(", "it ends without \")\""},
      {"Bash(ls) ", "it ends without \")\""},
      {" Bash", "a tool's name holds only letters, digits, '_' and '-'"},
      {"Ba*", "only the names of MCP tools may hold a '*'"},
      {"Bash()", "nothing stands in the parentheses"},
      {"Bash(:*)", "it names no command"},
      {"Bash(**)", "it names no command"},
      {"Bash(foo:* bar)", "\":*\" may only stand at the end"},
      {"Bash(echo \\*)", "\"\\*\" for a plain star is not supported"},
      {"Bash(ls && pwd)", "it is compared with one simple command at a time"},
      {"Bash(* | sh)", "it is compared with one simple command at a time"},
      {"Bash(echo x > y)", "it is compared with one simple command at a time"},
      {"Bash(git  status)", "it is compared with one simple command at a time"},
      {"Edit(!x)", "\"!\" (except) is not supported"},
      {"Edit(a[bc])", "\"[…]\" and \"\\\" are not supported"},
      {"Edit(../x)", "\"..\" is not supported"},
      {"Edit(a/./x)", "\".\" may only stand in front"},
      {"Edit(~bob/x)", "another user's home cannot be told"},
      {"Read(path:/etc/**)",
       "Read does not have a field \"path\" that a rule can match; write \"Read(/etc/**)\" for a path below the worker's folder, "
       "\"Read(//etc/**)\" from the root on (its fields: offset, limit, pages)"},
      {"Edit(file:src/**)", "write \"Edit(src/**)\""},
      {"Write(file:/etc/passwd)", "Write does not have a field \"file\" that a rule can match; write \"Edit(/etc/passwd)\""},
      {"Write(file_path:/x)", "\"file_path\" is what the rules of this tool are about; write \"Edit(/x)\""},
      {"NotebookEdit(path:a.ipynb)", "write \"Edit(a.ipynb)\""},
      {"Grep(file:src)", "write \"Read(src)\""},
      {"Grep(patern:x)", "did you mean \"pattern\"?"},
      {"MultiEdit(edits:x)", "MultiEdit does not have a field \"edits\""},
      {"Read(C:/Users/**)", "write a path on a drive as \"//c/Users/**\""},
      {"Read(C:\\Users\\x)", "write a path on a drive as \"//c/Users/x\""},
      {"WebFetch(url:https://evil.com/*)", "\"url\" is what the rules of this tool are about; write \"WebFetch(domain:evil.com)\""},
      {"WebFetch(host:evil.com)", "WebFetch does not have a field \"host\" that a rule can match; write \"WebFetch(domain:evil.com)\""},
      {"WebSearch(domain:x.com)", "WebSearch does not have a field \"domain\" that a rule can match (its fields: query)"},
      {"TodoWrite(todos:x)", "TodoWrite does not have a field \"todos\""},
      {"Bash(command:rm *)", "\"command\" is what the rules of this tool are about; write \"Bash(rm *)\""},
      {"Agent(subagent_type:Build)", "write \"Agent(Build)\""},
      {"Skill(skill:deploy)", "write \"Skill(deploy)\""},
      {"PowerShell(ls:* x)", "\":*\" may only stand at the end"},
      {"Skill:deploy", "a tool's name holds only letters"},
      {"Bash(echo \\)", "it ends without \")\""},
      {"Write(/src/**)", "paths are judged by Edit rules only; write \"Edit(/src/**)\""},
      {"Grep(/src/**)", "paths are judged by Read rules only; write \"Read(/src/**)\""},
      {"WebFetch(example.com)", "a host is written \"WebFetch(domain:example.com)\""},
      {"WebFetch(domain:a*.com)", "a '*' may only stand alone or in front"},
      {"WebSearch(x)", "this tool knows only \"parameter:value\""},
      {"Bsah(ls)", "has a tool called \"Bsah\"; did you mean \"Bash\"?"},
      {"bash(ls)", "has a tool called \"bash\"; did you mean \"Bash\"?"},
      {"Bash(ls\xE2\x80\x8B)", "contains the invisible character U+200B"},
      {"Bash(l\ns)", "contains the invisible character U+000A"},
  };
  for (const auto& [text, reason] : rows) {
    const auto rule = parse_permission_rule(text);
    INFO(text);
    REQUIRE_FALSE(rule.ok());
    CHECK(rule.error().message.find(reason) != std::string::npos);
  }
}

TEST_CASE("rules that could never allow are known, so that an allow list may refuse them") {
  for (const char* text :
       {"mcp__*", "mcp__*__get", "mcp__a*__get", "AskUserQuestion", "ExitPlanMode", "WebSearch(query:x)"}) {
    INFO(text);
    CHECK(why_never_allows(*parse_permission_rule(text)).has_value());
  }
  CHECK(why_never_allows(*parse_permission_rule("Bsah(git:*)"))->ends_with("did you mean \"Bash\"?"));
  for (const char* text :
       {"mcp__a", "mcp__a__*", "mcp__a__b", "Bash", "Bash(ls *)", "Edit(x)", "WebFetch(domain:a.b)", "Agent(X)"}) {
    INFO(text);
    CHECK_FALSE(why_never_allows(*parse_permission_rule(text)).has_value());
  }
}

TEST_CASE("a specifier is read as clients write it, with backslashes before parentheses and backslashes") {
  const auto specifier = [](const char* text) { return parse_permission_rule(text)->specifier.value_or("none"); };
  CHECK(specifier("Read(//c/Program Files \\(x86\\)/**)") == "//c/Program Files (x86)/**");
  CHECK(specifier("Bash(python -c \"f\\(x\\)\")") == "python -c \"f(x)\"");
  CHECK(specifier("Bash(python -c \"f(x)\")") == "python -c \"f(x)\"");
  CHECK(specifier("Bash(grep 'a\\\\b' f)") == "grep 'a\\b' f");
  CHECK(specifier("Bash(find . -name \\;)") == "find . -name \\;");
  CHECK(specifier("SlashCommand:/review:*") == "/review:*");
  for (const char* text : {"grep 'a\\b' f", "echo '\\\\('", "echo 'f(x)'", "plain"})
    CHECK(parse_permission_rule(rule_text("Bash", text))->specifier == text);
}

TEST_CASE("rules that clients document or save for other tools are understood, and may be allowed") {
  for (const char* text : {"Skill(x)", "Skill(x *)", "Skill(x:*)", "Skill(plugin:x)", "SlashCommand(/x)", "SlashCommand(/x:*)",
                           "SlashCommand:/x", "PowerShell(Get-ChildItem *)", "PowerShell(ls | sort)",
                           "PowerShell(C:\\\\Dev\\\\x.ps1:*)", "Agent(plugin:reviewer)", "Bash(command:*)", "Bash(timeout:*)"}) {
    INFO(text);
    const auto rule = parse_permission_rule(text);
    REQUIRE(rule.ok());
    CHECK_FALSE(why_never_allows(*rule).has_value());
  }
  for (const char* text : {"Skill(args:x)", "Agent(model:opus)", "Bash(run_in_background:true)", "Read(limit:5)"})
    CHECK(why_never_allows(*parse_permission_rule(text)).has_value());
}

TEST_CASE("the rule for a call covers exactly this call, or there is none") {
  struct Case {
    const char* tool;
    const char* input;
    const char* rule;  // null: none
  };
  const Case cases[] = {
      {"Bash", "git push origin main", "Bash(git push origin main)"},
      {"Bash", "git commit -m \"a; b\"", "Bash(git commit -m \"a; b\")"},
      {"Bash", "CI=1 timeout 5 npm test", "Bash(CI=1 timeout 5 npm test)"},
      {"Bash", "sudo systemctl restart web", "Bash(sudo systemctl restart web)"},
      {"Bash", "ls *.c", nullptr},
      {"Bash", "ls; pwd", nullptr},
      {"Bash", "ls > out", nullptr},
      {"Bash", "ls $DIR", nullptr},
      {"Bash", "echo $(date)", nullptr},
      {"Bash", "echo 'a\nb'", nullptr},
      {"Bash", "rm -rf /", nullptr},
      {"Bash", "ls '", nullptr},
      {"Bash", "foo:*", nullptr},
      {"Bash", "echo '\\*'", nullptr},
      {"Edit", "src/./a.c", "Edit(//work/app/src/a.c)"},
      {"Write", "/etc/hosts", "Edit(//etc/hosts)"},
      {"Read", "~/x y.md", "Read(//home/ann/x y.md)"},
      {"Edit", "/a/../b", nullptr},
      {"Edit", "/a/*.c", nullptr},
      {"Edit", "/a/[id].c", nullptr},
      {"WebFetch", "https://Docs.Example.com./x", "WebFetch(domain:docs.example.com)"},
      {"WebFetch", "https://[::1]:8080/x", "WebFetch(domain:[::1]:8080)"},
      {"WebFetch", "https://a@b/", nullptr},
      {"mcp__db__query", "{\"sql\":\"x\"}", "mcp__db__query"},
      {"mcp__*__x", "{\"sql\":\"x\"}", nullptr},
      {"Grep", "{\"pattern\":\"x\"}", nullptr},
      {"NewTool", "{\"x\":1}", nullptr},
      {"AskUserQuestion", "{\"x\":1}", nullptr},
  };
  for (const Case& item : cases) {
    INFO(item.tool << " " << item.input);
    const std::string input = input_of(item.tool, item.input);
    const auto rule = rule_for_call(item.tool, input, at_work);
    CHECK(rule.value_or("none") == (item.rule == nullptr ? "none" : item.rule));
    if (rule)
      CHECK(judge_tool(allowing({rule->c_str()}), item.tool, input, at_work, Action::deny).action == Action::allow);
  }
}

// --- the property: allow implies that a second, much cruder splitter finds every part allowed
// -------------------------------

/// Splits at every unquoted operator, knows nothing else, and gives up (empty) on anything that is more than quoted
/// words.
std::vector<std::string> crude_split(const std::string& text) {
  std::vector<std::string> parts(1);
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && quote != '\'') {
      if (i + 1 < text.size() && text[i + 1] != '\n') parts.back() += text.substr(i, 2);
      ++i;
    } else if (c == quote) {
      parts.back() += c;
      quote = '\0';
    } else if (quote == '"' && text.compare(i, 13, "$(cat <<'EOF'") == 0 && text.find("\nEOF\n)", i) != std::string::npos) {
      i = text.find("\nEOF\n)", i) + 5;  // a text, as far as this reader goes
    } else if (quote != '\'' && (c == '`' || text.compare(i, 2, "$(") == 0)) {
      return {};
    } else if (quote != '\0') {
      parts.back() += c;
    } else if (c == '\'' || c == '"') {
      parts.back() += quote = c;
    } else if (const auto left = text.substr(i); (left + " ").starts_with("2>&1 ") && parts.back().ends_with(' ')) {
      i += 3;
    } else if (c == ';' || c == '|' || c == '&' || c == '\n' || c == '(' || c == ')') {
      parts.emplace_back();
    } else if (c == '#' && (parts.back().empty() || parts.back().ends_with(' '))) {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else if (c == '<' || c == '>' || c == '\r') {
      return {};
    } else {
      parts.back() += c == '\t' ? ' ' : c;
    }
  }
  return quote == '\0' ? parts : std::vector<std::string>{};
}

bool crudely_allowed(std::string part) {
  part = rules_test::trimmed(part);
  for (const std::string prefix : {"! ", "CI=1 ", "LC_ALL=C ", "timeout 5 ", "time ", "nohup ", "xargs -0 ",
                                   "xargs -n 1 ", "xargs -I{} ", "xargs "}) {
    if (part.starts_with(prefix)) return crudely_allowed(part.substr(prefix.size()));
  }
  if (part.starts_with("cd src")) return part == "cd src";
  return part.empty() || part == "ls" || part.starts_with("ls ") || part == "git status" ||
         part.starts_with("git status ") || part == "echo 'a;b'";
}

TEST_CASE("whatever is allowed, a cruder splitter finds every part of it allowed too") {
  const PermissionRules rules = allowing({"Bash(ls *)", "Bash(git status:*)", "Bash(echo 'a;b')"});
  const char* tokens[] = {
      "ls",    "git status", "echo 'a;b'", "rm x",  "sh",     " ",      " ",        " ",    ";",    "&&",    "||",
      "|",     "|&",         "&",          "\n",    "$(",     ")",      "(",        "`",    "'",    "\"",    "\\",
      "\\\n",  ">",          "<",          "<<",    "<(",     " 2>&1 ", "#",        "$x",   "${x}", "{a,b}", "*",
      "cd src", "CI=1 ", "LC_ALL=C ",  "timeout 5 ", "time ", "nohup ", "A=b ",   "\t",       "\r",   "x",    "-l",    "!",
      "\"$(cat <<'EOF'\n", "\nEOF\n)\"", "it's", "f()",  "xargs -0 ", "xargs -n 1 ", "xargs -I{} ", "{}",
      "$'",    "~",          "xargs ",     "{ ",    "sudo ",  "=",      "\xC2\xA0", "eval "};
  std::mt19937 random(inbox_poller::test::portion_seed());
  std::uniform_int_distribution<std::size_t> token(0, std::size(tokens) - 1);
  std::uniform_int_distribution<int> length(1, 9);
  int allowed = 0;
  const int rounds = inbox_poller::test::is_long_form() ? 20'000 : 600;
  for (int round = 0; round < rounds; ++round) {
    std::string command = round % 2 == 0 ? "ls " : "";
    for (int i = length(random); i > 0; --i) command += tokens[token(random)];
    if (judge_command(rules, command).action != Action::allow) continue;
    ++allowed;
    const auto parts = crude_split(command);
    INFO(command);
    REQUIRE_FALSE(parts.empty());
    for (const std::string& part : parts) REQUIRE(crudely_allowed(part));
  }
  CHECK(allowed > rounds / 40);  // otherwise the property would say nothing
}

}  // namespace

TEST_CASE("each part of a command is said, with the rule that covers it or why none does") {
  const auto rules = allowing({"Bash(git *)", "Bash(ls)"});
  const auto parts = judge_parts(rules, "Bash", input_of("Bash", "git add x && rm y; ls | wc > out"), at_work);
  std::vector<std::string> lines;
  for (const auto& part : parts) lines.push_back(part.part + "|" + part.rule + "|" + (part.missing.empty() ? "" : "missing"));
  CHECK(lines == std::vector<std::string>{"git add x|Bash(git *)|", "rm y||missing", "ls|Bash(ls)|", "wc||missing",
                                          "> /work/app/out||missing"});
  CHECK(parts[1].missing == "no allow rule covers the command \"rm y\"");
  CHECK(judge_parts(allowing({"Bash"}), "Bash", input_of("Bash", "a && b"), at_work).size() == 1);
  CHECK(judge_parts(rules, "Bash", input_of("Bash", "echo 'unfinished"), at_work).empty());
  CHECK(judge_parts(rules, "Read", input_of("Read", "/work/x"), at_work).empty());
}

}  // namespace inbox_poller::config::permission_rules_test
