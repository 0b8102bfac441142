// Texts in the cells of a terminal, and tables that fit it.
#include "poller/cli/cells.hpp"

#include <algorithm>

#include "tests/support/catch.hpp"

namespace inbox_poller::cells_test {

using namespace inbox_poller::poller::cli;

namespace {

std::vector<std::string> lines_of(const std::string& text) { return wrapped(text, 1000, ""); }

int widest(const std::string& text) {
  int most = 0;
  for (const auto& line : lines_of(text)) most = std::max(most, cells(line));
  return most;
}

std::string without(std::string text, std::string_view part) {
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part)) text.erase(at, part.size());
  return text;
}

/// Letters and digits only: what was there has to be there still.
std::string words_of(const std::string& text) {
  std::string kept;
  std::copy_if(text.begin(), text.end(), std::back_inserter(kept), [](unsigned char c) { return std::isalnum(c) != 0; });
  std::sort(kept.begin(), kept.end());
  return kept;
}

}  // namespace

TEST_CASE("letters take one cell, what may be wide takes two, a color takes none") {
  CHECK(cells("") == 0);
  CHECK(cells("abc") == 3);
  CHECK(cells("Zoë “quoted” … –") == 16);
  CHECK(cells("→ ≤ ⇒ ▲") == 8);  // the last is a picture to some
  CHECK(cells("日本") == 4);
  CHECK(cells("😀") == 2);
  CHECK(cells("\x1b[1;33mloud\x1b[0m") == 4);
  CHECK(cells("\xff") >= 1);
  CHECK(fitting("日本", 3) == "日");
  CHECK(fitting_end("ab日本", 4) == "日本");
}

TEST_CASE("a text is taken apart at blanks, and a word that is too long anywhere") {
  using Lines = std::vector<std::string>;
  CHECK(by_words("one two three", 7) == Lines{"one two", "three"});
  CHECK(by_words("onetwothree", 4) == Lines{"onet", "woth", "ree"});
  CHECK(by_words("one two", 3) == Lines{"one", "two"});
  CHECK(by_words("  one  two three", 11, 5) == Lines{"  one  two", "     three"});
  CHECK(by_words("  -a  one two", 9, 6) == Lines{"  -a  one", "    two"});  // at most half of the line is a margin
  CHECK(by_words("日本", 1) == Lines{"日", "本"});  // nothing fits, and it ends all the same
  CHECK(wrapped("abc\n\nd", 2, ":") == Lines{"ab", ":c", "", "d"});
  CHECK(wrapped("abc", 1, "    : ").size() == 3);
  CHECK(wrapped("one two three", 9, ": ") == Lines{"one two ", ": three"});
  CHECK(wrapped("  `a-long-word`", 8, ":") == Lines{"  `a-lon", ":g-word`"});
}

TEST_CASE("a table is as wide as its cells where nobody says how wide it may be") {
  CHECK(table({{"NAME", "STATE"}, {"Zoë", "idle"}, {"bartholomew"}}, "  ") ==
        "  NAME         STATE\n  Zoë          idle\n  bartholomew\n");
  CHECK(table({{"a", std::string(500, 'x')}}, "").size() == 504);
  CHECK(table({}, "", 80).empty());
}

TEST_CASE("a table that fits is the same on a terminal") {
  const std::vector<Row> rows{{"NAME", "STATE", ""}, {"ann", "idle", "x"}, {"bob", "", ""}};
  CHECK(table(rows, "  ", 80) == table(rows, "  "));
}

TEST_CASE("a table on a terminal is never wider, in cells, and nothing of it is left out") {
  const std::vector<Row> rows{{"ACTION", "KIND", "RULE", "FROM", "TOLD"},
                              {"allow", "permission", "Bash(npm run test:integration -- --filter 'the long one' *)",
                               "mona 3m ago", "nobody because of Bash(npm publish *), which shares calls with it"},
                              {"deny", "permission", "Edit(//home/ann/a/folder/with/a/long/name/日本語日本語日本語/**)",
                               "/home/ann/.config/inbox-poller/teams.d/demo.toml", ""}};
  for (const int columns : {40, 80, 81, 100, 200, 400}) {
    INFO(columns);
    const std::string shown = table(rows, "  ", columns);
    CHECK(widest(shown) <= std::max(columns, 2 + 5 * 8 + 4 * 2));
    CHECK(words_of(shown) == words_of(table(rows, "  ")));
    for (const auto& line : lines_of(shown)) CHECK(line.starts_with("  "));
  }
}

TEST_CASE("an id in a table stays whole while another column can be narrower, and a cell goes on deeper") {
  const std::string id = "perm-17958150000297-x";
  const std::string shown = table({{"ID", "WHY"}, {id, "a sentence of several words that is longer"}}, "", 42);
  CHECK(lines_of(shown)[1].starts_with(id + "  a sentence of"));
  CHECK(lines_of(shown)[2].starts_with(std::string(id.size() + 2, ' ') + "  several"));
}

TEST_CASE("a list never cuts the column that is copied, and leaves out the others that do not fit") {
  const std::string id = "perm-17958150000297-x";
  const std::vector<Row> rows{{"WHEN", "TEAM", "KIND", "ID", "SUBJECT", "STATE", "RULE"},
                              {"21:43:10", "first", "permission", id, std::string(200, 'x'), "approved", "Bash(ls)"}};
  for (const int columns : {60, 80, 120}) {
    INFO(columns);
    const auto lines = lines_of(list(poller::cli::without(rows, columns, {"TEAM", "KIND"}), columns, "ID"));
    REQUIRE(lines.size() == 2);
    for (const auto& line : lines) CHECK(cells(line) <= columns);
    CHECK(lines[1].find(id) != std::string::npos);
    CHECK((lines[0].find("TEAM") != std::string::npos) == (columns == 120));
  }
  CHECK(lines_of(list({{"A", "RULE"}, {"b", std::string(90, 'r')}}, 40, "RULE"))[1].ends_with("rrr"));
}

TEST_CASE("a help is laid out for the terminal: paragraphs joined, options hanging, examples whole") {
  const std::string help = "Does this\nUsage: x\n\nOptions:\n  --by NAME   Who answers, for the record of the team\n\n"
                           "One sentence here that\ngoes on.\n\nExample:\n  inbox-poller approve perm-17 --always --team first --json\n\n"
                           "Exit codes:\n  0  done\n";
  CHECK(reflowed(help, 200) ==
        "Does this\nUsage: x\n\nOptions:\n  --by NAME   Who answers, for the record of the team\n\n"
        "One sentence here that goes on.\n\nExample:\n  inbox-poller approve perm-17 --always --team first --json\n\n"
        "Exit codes:\n  0  done\n");
  const std::string narrow = reflowed(help, 42);
  CHECK(narrow.find("  --by NAME   Who answers, for the record\n              of the team\n") != std::string::npos);
  CHECK(narrow.find("  inbox-poller approve perm-17 --always --team first --json\n") != std::string::npos);
}

TEST_CASE("a color that goes on over several lines colors nothing else") {
  const std::string shown =
      table({{"state", "\x1b[1;33mthis one is long and loud\x1b[0m, this is not"}, {"x", "y"}}, "", 24);
  CHECK(lines_of(shown).size() == 4);
  for (const auto& line : lines_of(shown)) {
    const auto begins = line.rfind("\x1b[1;33m");
    if (begins != std::string::npos) CHECK(line.find("\x1b[0m", begins) != std::string::npos);
  }
  CHECK(widest(without(without(shown, "\x1b[1;33m"), "\x1b[0m")) <= 24);
}

TEST_CASE("a list has one line a row that fits, its first column whole and something of the last") {
  const std::vector<Row> rows{{"ID", "AGE", "TEAM", "ASKER", "KIND", "SUBJECT"},
                              {"3f9a1c02", "59m 12s", "a-team-with-a-long-name", "星星星星星星星星", "permission",
                               "Bash: 目标目标 " + std::string(200, 'x')},
                              {"77b0e4d1", "1s", "b", "ada", "stop", "to stop"}};
  for (const int columns : {40, 60, 80, 200}) {
    INFO(columns);
    const auto lines = lines_of(list(rows, columns));
    REQUIRE(lines.size() == 3);
    for (const auto& line : lines) CHECK(cells(line) <= columns);
    CHECK(lines[1].starts_with("3f9a1c02  "));
    CHECK((lines[1].find("Bash: 目") != std::string::npos) == (columns >= 60));
    CHECK(lines[1].ends_with("…"));
  }
  CHECK(lines_of(list(rows))[1].ends_with("xxx"));
  CHECK(cut("目标", 3) == "目…");
  CHECK(cut("目标", 4) == "目标");
}

}  // namespace inbox_poller::cells_test
