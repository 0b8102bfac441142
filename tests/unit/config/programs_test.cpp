// What the arguments of programs do: the table itself, the calls that it must leave alone, and those that it must
// catch.
#include "config/programs.hpp"

#include <set>
#include <sstream>

#include "config/handed_commands.hpp"
#include "config/presets.hpp"
#include "config/protected_paths.hpp"
#include "config/scripts.hpp"
#include "rule_table.hpp"
#include "schema/json_scan.hpp"
#include "tests/support/catch.hpp"

namespace inbox_poller::config::programs_test {
namespace {

struct Line {
  int number = 0;
  std::string mark;  // "ask", "deny" or nothing
  std::string command;
};

struct Listing {
  PermissionRules rules;
  std::vector<Line> lines;
};

/// Rules ("+", "?", "-"), then commands, as the file's own head says.
Listing read_listing(const std::string& name) {
  std::ifstream file(rules_test::fixture(name));
  if (!file) throw std::runtime_error("no fixture " + name);
  Listing listing;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line.starts_with("##")) continue;
    if (line.front() == '+' || line.front() == '?' || line.front() == '-') {
      rules_test::read_rules(line, listing.rules, parse_permission_rule);
      continue;
    }
    Line found{number, "", line};
    for (const std::string mark : {"ask", "deny"}) {
      if (line.starts_with(mark + " ")) found = {number, mark, line.substr(mark.size() + 1)};
    }
    found.command = rules_test::unescaped(found.command);
    listing.lines.push_back(found);
  }
  return listing;
}

Verdict judge(const Listing& listing, const std::string& command) {
  return judge_tool(listing.rules, "Bash", "{\"command\":" + schema::quote(command) + "}", {"/work/app", "/home/ann"},
                    Action::ask);
}

TEST_CASE("what workers ordinarily run is allowed without a question, but for what reads what it may not") {
  const Listing listing = read_listing("benign_commands.txt");
  CHECK(listing.lines.size() >= 300);
  std::size_t asked = 0;
  for (const Line& line : listing.lines) {
    const Verdict verdict = judge(listing, line.command);
    INFO("line " << line.number << ": " << line.command << "\n  " << verdict.rule << ": " << verdict.reason);
    CHECK(to_string(verdict.action) == (line.mark.empty() ? "allow" : line.mark));
    asked += verdict.action == Action::allow ? 0 : 1;
  }
  CHECK(asked <= 4);  // 33ee59a asked 14 of them
}

TEST_CASE("forty everyday commands are asked about under each preset as their table says") {
  const auto rows = rules_test::read_table("everyday_commands.txt", 3);
  CHECK(rows.size() == 40);
  for (const std::string preset : {"read-only", "working"}) {
    Listing listing;
    for (const std::string_view rule : preset_rules(preset)) listing.rules.allow.push_back(*parse_permission_rule(rule));
    REQUIRE_FALSE(listing.rules.allow.empty());
    std::size_t asked = 0;
    for (const rules_test::Row& row : rows) {
      const Verdict verdict = judge(listing, row.columns[2]);
      INFO(preset << ", line " << row.line << ": " << row.text << "\n  " << verdict.rule << ": " << verdict.reason);
      CHECK(to_string(verdict.action) == row.columns[preset == "read-only" ? 0 : 1]);
      asked += verdict.action == Action::ask ? 1 : 0;
    }
    CHECK(asked == (preset == "read-only" ? 30U : 5U));  // 1dc4bd8, under the same rules: see docs/adr/0051
  }
}

TEST_CASE("no rule's star covers what an argument reads against a rule, runs or overwrites") {
  const Listing listing = read_listing("risky_commands.txt");
  CHECK(listing.lines.size() >= 1000);
  for (const Line& line : listing.lines) {
    const Verdict verdict = judge(listing, line.command);
    INFO("line " << line.number << ": " << line.command << "\n  " << verdict.rule << ": " << verdict.reason);
    CHECK(verdict.action != Action::allow);
    if (line.mark == "deny") CHECK(verdict.action == Action::deny);
  }
}

TEST_CASE("the rule that allows all commands allows none that removes everything, or may be a forbidden one") {
  PermissionRules rules;
  rules_test::read_rules("+Bash & -Bash(git push *) & -Read(./.env)", rules, parse_permission_rule);
  const auto action = [&](const char* command) {
    return judge_tool(rules, "Bash", "{\"command\":" + schema::quote(command) + "}", {"/work/app", "/home/ann"}, Action::ask).action;
  };
  for (const char* command : {"find / -delete", "find ~ -delete", "find . .. -delete", "find /home/a* -delete", "rm -rf ../a*",
                              "rm -rf ../../wor*", "rm -rf /home/*n", "xargs -a list git", "xargs -d x git < list", "xargs -a list cat"}) {
    INFO(command);
    CHECK(action(command) == Action::ask);
  }
  CHECK(action("cat <>.env") == Action::deny);
  for (const char* command : {"find . -name x -delete", "find build -name x -delete", "rm -rf build/a*", "rm -rf ../other*", "find . -name x"}) {
    INFO(command);
    CHECK(action(command) == Action::allow);
  }
}

TEST_CASE("a file whose name looks like an option is written only by a rule that names it") {
  PermissionRules rules;
  rules_test::read_rules("+Edit(/**)", rules, parse_permission_rule);
  const auto action = [&](const std::string& path) {
    return judge_tool(rules, "Write", R"({"content":"x","file_path":)" + schema::quote(path) + "}", {"/work/app", "/home/ann"}, Action::ask).action;
  };
  CHECK(action("/work/app/a") == Action::allow);
  CHECK(action("/work/app/--output=Makefile") == Action::ask);
  CHECK(action("/work/app/-x/a") == Action::allow);
  rules_test::read_rules("+Edit(/--output=Makefile)", rules, parse_permission_rule);
  CHECK(action("/work/app/--output=Makefile") == Action::allow);
}

TEST_CASE("where the worker's folder or the home is not known, a restriction meets every path that could be in it") {
  PermissionRules rules;
  rules_test::read_rules("+Bash & -Read(./.env) & -Read(~/.ssh/**) & -Edit(/src/**)", rules, parse_permission_rule);
  const auto action = [&](const char* command) {
    return judge_tool(rules, "Bash", "{\"command\":" + schema::quote(command) + "}", {"", ""}, Action::ask).action;
  };
  for (const char* command : {"cat .env", "cat ./.env", "cat /work/app/.env", "cat ~/.ssh/id_rsa",
                              "cat /home/ann/.ssh/id_rsa", "cp x src/y", "cat src/../.env", "cp x /work/app/src/y"}) {
    INFO(command);
    CHECK(action(command) == Action::deny);
  }
  for (const char* command : {"cat a.txt", "cat ~/notes", "cp src/y x", "ls", "git status"}) {
    INFO(command);
    CHECK(action(command) == Action::allow);
  }
  PermissionRules edits;
  rules_test::read_rules("+Bash(sort *) & +Edit(//**)", edits, parse_permission_rule);
  CHECK(judge_tool(edits, "Bash", R"({"command":"sort -o /tmp/x y"})", {"", ""}, Action::ask).action == Action::allow);
  CHECK(judge_tool(edits, "Bash", R"({"command":"sort -o x y"})", {"", ""}, Action::ask).action == Action::ask);
}

TEST_CASE("docs/reference/programs.md shows the table of programs as it is") {
  std::ifstream file(std::filesystem::path(INBOX_POLLER_SOURCE) / "docs/reference/programs.md");
  std::stringstream text;
  text << file.rdbuf();
  std::string table = "| Programs | Operands | Options |\n|---|---|---|\n";
  for (const ProgramRow& row : program_rows()) {
    const std::string options(row.options);
    table += "| `" + std::string(row.names) + "` | " + std::string(row.operands) + " |" +
             (options.empty() ? "" : " `" + options + "` ") + "|\n";
  }
  INFO("the table should be:\n" << table);
  CHECK(text.str().find(table) != std::string::npos);
}

TEST_CASE("docs/reference/rules.md shows what is protected and what takes plain arguments as it is") {
  std::ifstream file(std::filesystem::path(INBOX_POLLER_SOURCE) / "docs/reference/rules.md");
  std::stringstream text;
  text << file.rdbuf();
  std::string places = "| Where | Names |\n|---|---|\n";
  for (const ProtectedRow& row : protected_rows())
    places += "| " + std::string(row.where) + " | `" + std::string(row.names) + "` |\n";
  INFO("the table should be:\n" << places);
  CHECK(text.str().find(places) != std::string::npos);
  const auto listed = [](const std::vector<std::string_view>& words) {
    std::string all;
    for (const std::string_view word : words) all += (all.empty() ? "`" : ", `") + std::string(word) + "`";
    return all;
  };
  std::string flat = text.str();  // the lists are broken over lines
  for (std::size_t at = 0; (at = flat.find("\n  ", at)) != std::string::npos;) flat.replace(at, 3, " ");
  CHECK(flat.find(listed(programs_with_plain_arguments())) != std::string::npos);
  CHECK(flat.find(listed(options_with_plain_text())) != std::string::npos);
}

TEST_CASE("every row of the table is found by each of its names, and every name stands once") {
  std::set<std::string> seen;
  for (const ProgramRow& row : program_rows()) {
    INFO(row.names);
    CHECK_FALSE(row.operands.empty());
    const std::string names(row.names);
    const std::size_t blank = names.find(' ');
    if (names.find(',') != std::string::npos) {
      std::stringstream subcommands(names.substr(blank + 1));
      for (std::string sub; std::getline(subcommands, sub, ',');) {
        CHECK(seen.insert(names.substr(0, blank) + " " + sub).second);
        CHECK(find_program(names.substr(0, blank), sub) != nullptr);
      }
    } else if (blank != std::string::npos && find_program(names.substr(0, blank), names.substr(blank + 1)) != nullptr) {
      CHECK(seen.insert(names).second);
    } else {
      std::stringstream programs(names);
      for (std::string name; programs >> name;) {
        CHECK(seen.insert(name).second);
        CHECK(find_program(name) != nullptr);
      }
    }
  }
  CHECK(seen.size() >= 200);
  CHECK(find_program("no-such-program") == nullptr);
  CHECK(find_program("git", "no-such-subcommand") == nullptr);
}

TEST_CASE("marks of an option say what it takes and does") {
  const auto option = [](const char* program, const char* sub, const char* name) {
    for (const ProgramOption& one : find_program(program, sub)->options) {
      if (one.name == name) return one;
    }
    throw std::runtime_error(std::string("no option ") + name);
  };
  CHECK(option("sort", "", "-o").role == ArgumentRole::output);
  CHECK(option("sort", "", "--compress-program").runs);
  CHECK(option("sort", "", "--compress-program").words == 1);
  CHECK(option("sort", "", "-k").role == ArgumentRole::text);
  CHECK(option("grep", "", "-f").first);
  CHECK(option("grep", "", "-f").role == ArgumentRole::read);
  CHECK(option("grep", "", "-r").recurses);
  CHECK(option("sed", "", "-i").in_place);
  CHECK(option("sed", "", "-i").words == 0);
  CHECK(option("jq", "", "--rawfile").words == 2);
  CHECK(option("jq", "", "--rawfile").role == ArgumentRole::read);
  CHECK(option("eslint", "", "-c").outside);
  CHECK(option("rg", "", "--hidden").hidden);
  CHECK(option("dd", "", "of=").role == ArgumentRole::output);
  CHECK(option("git", "bisect", "run").runs);
  CHECK(option("python", "", "-m").role == ArgumentRole::program);
  CHECK(option("split", "", "--filter").runs);
  CHECK(find_program("split")->operands.back() == ArgumentRole::stem);
  CHECK(option("csplit", "", "-f").role == ArgumentRole::stem);
  CHECK(option("unzip", "", "-d").role == ArgumentRole::remove);
  CHECK(option("sort", "", "--files0-from").names);
  CHECK(option("pytest", "", "--cov-report").behind_colon);
  CHECK(find_program("git")->local);
  CHECK(find_program("make")->local);
  CHECK_FALSE(find_program("cmake")->long_dash);
  CHECK(find_program("podman")->name == "docker");  // its subcommands are found in the same rows
}

TEST_CASE("scripts inside arguments are read, and what is not understood counts as a surprise") {
  for (const char* script :
       {"p", "1,5p", "s/a/b/g", "s|we|re|", "/x/!d", "$!N;P;D", ":a;N;$!ba;s/\\n/ /g", "y/abc/xyz/", "a\\\ntext w",
        "/^a\\/b/,/c/{p;q}", "s/e/w/", "0~3d", "# w x", "w /dev/stdout", "s/[a-z]*/&&/2g", "", "i e id", "5q"}) {
    INFO(script);
    CHECK_FALSE(script_surprise("sed", script).has_value());
  }
  for (const char* script :
       {"e",         "w x",      "r x",       "R x",   "W x", "s/a/b/e", "s/a/b/w x", "1e",       "/x/e",
        "p;e",       "p\ne",     "{e\n}",     "s/a",   "\\",  "/x",      "k",         "s/a/b/z",  "y/a/b",
        "$!{w x\n}", "1,/x/w y", "/a/,+1w y", "F;w x", "=;e", "l 5;e",   "b a w x",   "s/a/b/;;e"}) {
    INFO(script);
    CHECK(script_surprise("sed", script).has_value());
  }
  for (const char* script : {"{print}", "$1 > 5", "/a|b/", "/[/]|x/", "{x = $1 / $2 / 3}", "NR % 2 == 0 || $1",
                             "{print \"a|b > c\"}", "{print > \"/dev/stderr\"}", "/a/ {n++} END {print n / 2}",
                             "# print | \"sh\"", "{if ($1 > 1) print}", "{print $1; if (x > y) next}", "/@/"}) {
    INFO(script);
    CHECK_FALSE(script_surprise("awk", script).has_value());
  }
  for (const char* script : {"{print > \"x\"}", "{print | \"sh\"}", "BEGIN{system(\"x\")}", "{getline}", "{print >> f}",
                             "{print 1,\n 2 > \"x\"}", "@include \"x\"", "@f()", "BEGIN{ARGV[1]=\"x\"}",
                             "{\"x\" | getline}", "{print /\"/; print > \"x\"}", "{x++ / 2; print > f}", "\"open"}) {
    INFO(script);
    CHECK(script_surprise("awk", script).has_value());
  }
  CHECK_FALSE(script_surprise("jq", ".include_me | .important").has_value());
  CHECK(script_surprise("jq", "include \"x\"; .").has_value());
  CHECK_FALSE(script_surprise("sqlite3", "select * from t where a.b = 1").has_value());
  CHECK_FALSE(script_surprise("sqlite3", ".tables").has_value());
  CHECK(script_surprise("sqlite3", ".shell x").has_value());
  CHECK(script_surprise("sqlite3", ".tables\n.shell x").has_value());
  CHECK(script_surprise("sqlite3", "select WriteFile('a','b')").has_value());
}

}  // namespace
}  // namespace inbox_poller::config::programs_test
