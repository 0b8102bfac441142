// The screens in tests/fixtures/screens are recordings of unmodified clients: `<client>-<what>.screen`, the first line
// "cursor column, row, width, height", then `capture-pane -p -e -N`.
#include "schema/lead_screen.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "tests/support/catch.hpp"

namespace inbox_poller::lead_screen_test {

using namespace inbox_poller::schema;

namespace {

const std::filesystem::path folder = std::filesystem::path(INBOX_POLLER_SOURCE) / "tests/fixtures/screens";

Screen recorded(const std::string& name) {
  std::ifstream file(folder / (name + ".screen"));
  REQUIRE(file);
  Screen screen;
  int height = 0;
  file >> screen.cursor_column >> screen.cursor_row >> screen.width >> height;
  file.ignore(1);
  screen.text = {std::istreambuf_iterator<char>(file), {}};
  return screen;
}

const std::vector<std::string> clients = {"2.1.50", "2.1.329", "2.1.330"};

constexpr const char* line =
    "3 messages of your team wait. Read them with: inbox-poller recv --even-busy --team my-long-team-name";

std::string repeated(std::string_view text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

/// A composer as the clients draw it, with these rows above, in and below it.
Screen drawn(const std::string& above, const std::string& in, const std::string& below, int cursor_row,
             int column = 2) {
  const std::string rule = repeated("\u2500", 40) + "\n";
  return {above + rule + in + rule + below, 40, column, cursor_row};
}

const std::string empty = "\u276f\u00a0\x1b[7m \x1b[0m\n";

}  // namespace

TEST_CASE("recorded screens are what they are") {
  const std::map<std::string, ScreenKind> kinds{
      {"idle", ScreenKind::empty_prompt},
      {"unfocused", ScreenKind::empty_prompt},
      {"idle-after", ScreenKind::empty_prompt},
      {"after-menus", ScreenKind::empty_prompt},
      {"help", ScreenKind::empty_prompt},
      {"draft", ScreenKind::draft},
      {"pasted", ScreenKind::draft},
      {"pasted-2-lines", ScreenKind::draft},
      {"pasted-5-lines", ScreenKind::draft},
      {"pasted-14-lines", ScreenKind::draft},
      {"pasted-1200", ScreenKind::draft},
      {"running", ScreenKind::running},
      {"running-draft", ScreenKind::running},
      {"running-queued", ScreenKind::running},
      {"transcript", ScreenKind::transcript},
      {"dialog-bash", ScreenKind::dialog},
      {"dialog-bash-pasted", ScreenKind::dialog},
      {"dialog-hostile", ScreenKind::dialog},
      {"menu-model", ScreenKind::menu},
      {"menu-config", ScreenKind::menu},
      {"rewind", ScreenKind::menu},
  };
  int seen = 0;
  for (const auto& client : clients) {
    for (const auto& [name, kind] : kinds) {
      if (!std::filesystem::exists(folder / (client + "-" + name + ".screen"))) continue;
      CAPTURE(client, name);
      CHECK(to_string(read_screen(recorded(client + "-" + name)).kind) == to_string(kind));
      ++seen;
    }
    // Neither empty nor ours.
    for (const auto* name : {"slash", "bash-mode", "hash", "at", "pasted-750"}) {
      CAPTURE(client, name);
      const auto reading = read_screen(recorded(client + "-" + name));
      CHECK(reading.kind != ScreenKind::empty_prompt);
      CHECK(reading.kind != ScreenKind::running);
      CHECK_FALSE(holds_exactly(reading, line));
    }
  }
  CHECK(seen >= 60);
}

TEST_CASE("what was pasted is recognized in the composer, as written or as the client's sign for it") {
  for (const auto& client : clients) {
    CAPTURE(client);
    const auto reads = [&](const std::string& name) { return read_screen(recorded(client + "-" + name)); };
    CHECK(reads("pasted").at_end);
    CHECK(holds_exactly(reads("pasted"), line));
    CHECK_FALSE(holds_exactly(reads("pasted"), std::string(line) + "s"));
    CHECK(holds_rest_of(reads("pasted"), std::string(line) + "s"));
    CHECK(holds_exactly(reads("pasted-2-lines"), "one\ntwo"));
    CHECK(holds_exactly(reads("pasted-5-lines"), "one\ntwo\nthree\nfour\n5"));
    CHECK_FALSE(holds_exactly(reads("pasted-5-lines"), "one\ntwo\nthree\nfour"));
    CHECK(holds_exactly(reads("pasted-14-lines"), repeated("line\n", 13) + "end"));
    CHECK(holds_exactly(reads("pasted-1200"), std::string(1200, 'x')));
    // Seven rows at most; of more the end only, under a rule that says so: nobody can know what is above.
    CHECK(holds_exactly(reads("pasted-750"), repeated("word ", 150)) == (client != "2.1.330"));
    CHECK_FALSE(holds_exactly(reads("draft"), line));
    CHECK_FALSE(holds_rest_of(reads("draft"), line));
    CHECK_FALSE(holds_rest_of(reads("idle"), line));
    CHECK(reads("idle").typed.empty());
    CHECK(reads("running-draft").typed == "typedmeanwhile");
  }
}

TEST_CASE("a composer is empty only where nothing but a suggestion stands in it") {
  const auto kind = [](const std::string& in) { return read_screen(drawn("", in, "  ? for shortcuts\n", 1)).kind; };
  CHECK(kind(empty) == ScreenKind::empty_prompt);
  CHECK(kind("\u276f\u00a0\n") == ScreenKind::empty_prompt);
  CHECK(kind("\u276f\u00a0\x1b[2mTry this\x1b[0m\n") == ScreenKind::empty_prompt);
  CHECK(kind("\u276f\u00a0\x1b[7mT\x1b[0;2mry\x1b[0m \x1b[2mthis\x1b[0m\n") == ScreenKind::empty_prompt);
  CHECK(kind("\u276f\u00a0\x1b[7mk\x1b[0m\n") == ScreenKind::draft);  // one letter, the cursor on it
  CHECK(kind("\u276f\u00a0\x1b[2mTry\x1b[0m this\n") == ScreenKind::draft);
  CHECK(kind("\u276f\u00a0x\x1b[7m \x1b[0m\n") == ScreenKind::draft);
  CHECK(kind("\u276f\u00a0 \x1b[7m \x1b[0m\n") == ScreenKind::draft);  // a blank is typed
  CHECK(kind("\u276f\u00a0\x1b[7m \x1b[0m\n  \n") == ScreenKind::draft);
  CHECK(kind("\u276f \x1b[7m \x1b[0m\n") == ScreenKind::unknown);  // what the client writes of earlier prompts
  CHECK(kind("!\u00a0\x1b[7m \x1b[0m\n") == ScreenKind::unknown);
  CHECK(kind("") == ScreenKind::unknown);
  CHECK(kind("\x1b[38;5;246m\u276f\u00a0\x1b[39;7m \x1b[0m\n") == ScreenKind::running);
  CHECK(kind("\x1b[38;2;0;0;7m\x1b[39m\u276f\u00a0\x1b[7m \x1b[0m\n") == ScreenKind::empty_prompt);
}

TEST_CASE(
    "what looks like a composer convinces nobody when it is not the last thing on the screen, whole and focused") {
  const auto rule = repeated("\u2500", 40) + "\n";
  const std::string hints = "  ? for shortcuts\n";
  CHECK(read_screen(drawn("", empty, hints, 1)).kind == ScreenKind::empty_prompt);
  CHECK(read_screen(drawn("", empty, hints, 4, 0)).kind == ScreenKind::empty_prompt);  // the cursor parked below
  SECTION("a dialog below it") {
    CHECK(read_screen(drawn("", empty, " Do you want to proceed?\n \u276f 1. Yes\n   2. No\n", 4, 1)).kind ==
          ScreenKind::dialog);
    CHECK(read_screen(drawn("", empty, "  Do you want to proceed?\n  \u276f 1. Yes\n    2. No\n", 9, 0)).kind ==
          ScreenKind::dialog);
    CHECK(read_screen(drawn("", empty, rule + " Bash command\n \u276f 1. Yes\n", 9, 0)).kind == ScreenKind::dialog);
  }
  SECTION("text at the margin below it") {
    CHECK(read_screen(drawn("", empty, "$ \n", 9, 0)).kind == ScreenKind::unknown);
  }
  SECTION("rules that are too short, or indented as everybody else's text is") {
    CHECK(read_screen({rule + empty + repeated("\u2500", 39) + "\n" + hints, 40, 2, 1}).kind == ScreenKind::unknown);
    CHECK(read_screen({"  " + repeated("\u2500", 38) + "\n" + empty + rule, 40, 2, 1}).kind == ScreenKind::unknown);
    CHECK(read_screen({rule + empty, 40, 2, 1}).kind == ScreenKind::unknown);
  }
  SECTION("the cursor elsewhere") {
    for (const auto& [row, column] : {std::pair{0, 0}, {1, 3}, {1, 0}, {2, 0}, {3, 5}})
      CHECK(read_screen(drawn("", empty, hints, row, column)).kind != ScreenKind::empty_prompt);
  }
  SECTION("the lower of two") {
    const auto above = rule + empty + rule;
    CHECK(read_screen(drawn(above, "\u276f\u00a0draft\x1b[7m \x1b[0m\n", hints, 4)).kind == ScreenKind::draft);
  }
  SECTION("a paste that goes on") {
    const std::string typed = "\u276f\u00a0one\x1b[7m \x1b[0m\n";
    CHECK(read_screen(drawn("", typed, hints, 9, 0)).kind == ScreenKind::draft);
    CHECK(read_screen(drawn("", typed, "  Pasting text\u2026\n", 9, 0)).kind == ScreenKind::unknown);
    CHECK(read_screen(drawn("", empty, "  Pasting text\u2026\n", 9, 0)).kind == ScreenKind::unknown);
    std::string downwards = "  a hint\n";
    for (const char c : std::string("Pasting text")) downwards += std::string("  ") + c + "\n";
    CHECK(read_screen(drawn("", typed, downwards, 90, 0)).kind == ScreenKind::unknown);
  }
  SECTION("a turn under way") {
    CHECK(read_screen(drawn("\x1b[31m\u273b\x1b[39m Baking\u2026 (3s)\n\n", empty, hints, 3)).kind ==
          ScreenKind::running);
    CHECK(read_screen(drawn("\x1b[31m\u273b\x1b[39m Baked for 3s\n\n", empty, hints, 3)).kind ==
          ScreenKind::empty_prompt);
    CHECK(read_screen(drawn("", empty, "  esc to interrupt\n", 1)).kind == ScreenKind::running);
  }
  SECTION("a list to choose from right above it") {
    CHECK(read_screen(drawn("  \u276f /add-dir\n    /compact\n", "\u276f\u00a0/\x1b[7m \x1b[0m\n", hints, 3, 3)).kind ==
          ScreenKind::menu);
  }
}

TEST_CASE("any bytes are some screen") {
  for (const std::string bytes :
       {"", "\n", "\x1b", "\x1b[", "\x1b[7m", "\x1b]8;;x", "\xff\n", "\x1b[38;5m\n", "\x1b[999999999999m"})
    CHECK(read_screen({bytes, 1, 0, 0}).kind == ScreenKind::unknown);
  CHECK(screen_rows("a \x1b[7mb\x1b[0m \n\n\u276f\u00a0 \n") == std::vector<std::string>{"a b", "", "\u276f\u00a0"});
}

}  // namespace inbox_poller::lead_screen_test
