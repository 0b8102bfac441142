// The table of commands, and what is said of a word that is none of them.
#include <set>

#include "tests/support/catch.hpp"
#include "tests/unit/cli/cli_fixture.hpp"

namespace inbox_poller::command_table_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::poller::testing;

namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("every command stands once in the table, with one line, and its help has examples") {
  const TempDir dir;
  std::set<std::string> names;
  for (const cli::Command& command : cli::commands()) {
    CAPTURE(command.name);
    CHECK(names.insert(std::string(command.name)).second);
    CHECK_FALSE(command.summary.empty());
    CHECK(command.summary.size() <= 78);
    CHECK(command.summary.find('\n') == std::string_view::npos);
    std::vector<std::string> words;
    std::stringstream all{std::string(command.name)};
    for (std::string word; all >> word;) words.push_back(word);
    words.emplace_back("--help");
    const Outcome help = run_cli(dir, words);
    CHECK(help.code == 0);
    CHECK(has(help.out, "inbox-poller " + std::string(command.name)));
  }
  const Outcome help = run_cli(dir, {"--help"});
  for (const std::string& name : names)
    if (name.find(' ') == std::string::npos) CHECK(has(help.out, "\n  " + name));
  for (const char* group : {"Answer requests", "Look", "Act on the team", "Deliver to the lead", "Set up"})
    CHECK(has(help.out, std::string("\n") + group + ":\n"));
}

TEST_CASE("a mistyped command is a wrong command line, and the nearest name is said") {
  const TempDir dir;
  const auto told = [&](const std::vector<std::string>& words, int code) {
    const Outcome outcome = run_cli(dir, words);
    CHECK(outcome.code == code);
    CHECK(outcome.out.empty());
    return outcome.err;
  };
  CHECK(has(told({"statsu"}, 2), "unknown command \"statsu\"; did you mean \"status\"?"));
  CHECK(has(told({"--team", "demo", "aprove", "perm-1"}, 2), "did you mean \"approve\"?"));
  CHECK(has(told({"pend", "--watch"}, 2), "did you mean \"pending\"?"));
  CHECK(has(told({"inbox", "lst"}, 2), "unknown command \"inbox lst\"; did you mean \"inbox list\"?"));
  const std::string unknown = told({"frobnicate\x1b[2J"}, 2);
  CHECK(has(unknown, "unknown command"));
  CHECK_FALSE(has(unknown, "did you mean"));
  CHECK_FALSE(has(unknown, "\x1b"));
  CHECK_FALSE(has(told({"lead", "busy", "extra"}, 2), "unknown command"));  // what it takes is no command
  CHECK(has(told({"inbox"}, 2), "inbox: missing command"));
  CHECK(has(told({"--team", "demo"}, 2), "missing command"));
  CHECK(has(told({"hook", "instal"}, 1), "did you mean \"hook install\"?"));  // 2 would stop its client
  CHECK(has(told({"status", "--wach"}, 2), "unknown option --wach; did you mean \"--watch\"?"));
  CHECK(has(told({"status", "--wach"}, 2), "inbox-poller status --help"));
  CHECK(has(told({"--jsn", "status"}, 2), "did you mean \"--json\"?"));  // what every command takes
  CHECK(has(told({"run", "extra"}, 2), "unexpected word \"extra\""));
  CHECK(has(told({"hook", "install", "--ja\x1b[2J"}, 1), "`inbox-poller hook install --help`"));
}

TEST_CASE("a program that asks for JSON gets a wrong command line told in JSON") {
  const TempDir dir;
  for (const auto& words : {std::vector<std::string>{"deny", "perm-1", "--json"},
                            {"lead", "sleeping", "--json"},
                            {"--json", "statsu"},
                            {"recv", "--format", "xx", "--json"},
                            {"decisions", "--since", "yesterday", "--json"},
                            {"broadcast", "--json"}}) {
    CAPTURE(words.front());
    const Outcome outcome = run_cli(dir, words);
    CHECK(outcome.code == 2);
    CHECK(outcome.err.empty());
    const auto said = boost::json::parse(outcome.out).as_object();
    CHECK(said.at("ok").as_bool() == false);
    CHECK(said.at("code").as_string() == "command.usage");
    CHECK_FALSE(said.at("message").as_string().starts_with("inbox-poller: "));
  }
  CHECK(has(run_cli(dir, {"send", "w1", "--", "--json", "--more"}).err, "inbox-poller: "));  // a word of the message
}

TEST_CASE("an option that does not exist leaves with the one code of a wrong command line, whatever the command") {
  const TempDir dir;
  for (const cli::Command& command : cli::commands()) {
    CAPTURE(command.name);
    std::vector<std::string> words;
    std::stringstream all{std::string(command.name)};
    for (std::string word; all >> word;) words.push_back(word);
    const bool is_hook = words.front() == "hook";  // 2 would stop its client
    words.insert(words.end(), "--no-such-option");
    const Outcome outcome = run_cli(dir, words);
    CHECK(outcome.code == (is_hook ? 1 : 2));
    CHECK(outcome.out.empty());
    CHECK(has(outcome.err, "inbox-poller: "));
    CHECK(has(outcome.err, "\nRun `inbox-poller "));
  }
}

}  // namespace inbox_poller::command_table_test
