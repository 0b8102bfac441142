// `pending --watch` without a terminal: which keys decide what, and which do nothing.
#include "poller/cli/watch.hpp"

#include <boost/json.hpp>

#include "tests/support/catch.hpp"

using namespace inbox_poller;
using namespace inbox_poller::poller;
using cli::Key;
using cli::Watch;
namespace json = boost::json;

namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

json::object ask(const std::string& id, long long asked_ms, const std::string& command = "make",
                 const char* kind = "permission") {
  return {
      {"team", "demo"},       {"kind", kind},           {"request_id", id},
      {"asker", "alice"},     {"subject", "Bash"},      {"body", json::serialize(json::object{{"command", command}})},
      {"asked_ms", asked_ms}, {"deadline_ms", 700'000}, {"message_key", "key-" + id}};
}

std::string many_lines(int count) {
  std::string text;
  for (int i = 1; i <= count; ++i) text += "step " + std::to_string(i) + '\n';
  return text + "the end";
}

/// A watch and what its person sees.
struct Desk {
  Watch watch{"carol"};
  cli::ScreenSize size{24, 80};
  long long now = 100'000;

  void list(std::vector<json::object> asks) {
    json::array all;
    for (auto& one : asks) all.emplace_back(std::move(one));
    watch.listed(json::object{{"asks", std::move(all)}}, now);
  }
  std::string screen() {
    std::string text;
    const auto frame = watch.frame(size, now);
    CHECK(frame.lines.size() <= static_cast<std::size_t>(size.rows));
    for (const auto& line : frame.lines) {
      CHECK(line.text.size() <= static_cast<std::size_t>(size.columns));
      text += line.text + '\n';
    }
    return text;
  }
  /// Keys of somebody who looks after each of them.
  void type(std::string_view keys) {
    for (const char key : keys) {
      watch.press({Key::Kind::text, std::string(1, key)}, now);
      screen();
    }
  }
  void press(Key::Kind kind, const std::string& text = "") {
    watch.press({kind, text}, now);
    screen();
  }
  std::optional<json::object> request() {
    auto one = watch.take_request();
    if (!one) return std::nullopt;
    one->fields["verb"] = one->verb;
    return one->fields;
  }
};

}  // namespace

TEST_CASE("the oldest ask is on the screen with the whole input, its place in the row and the keys") {
  Desk desk;
  desk.list({ask("p2", 2000), ask("p1", 1000, "rm -rf /\x1b[2J")});
  const std::string shown = desk.screen();
  CHECK(has(shown, "2 open, this is 1\n"));
  CHECK(has(shown, "permission p1  team demo\n"));
  CHECK(has(shown, "    command:\n    | rm -rf /\\x1b[2J\n"));
  CHECK(has(shown, "denied in 10m unless answered\n"));
  CHECK(has(shown, "a approve"));
}

TEST_CASE("a and A approve the ask that was drawn, named by its message") {
  Desk desk;
  desk.list({ask("p1", 1000)});
  desk.screen();
  desk.type("a");
  CHECK(desk.request() ==
        json::object{{"verb", "approve"}, {"id", "p1"}, {"team", "demo"}, {"by", "carol"}, {"message_key", "key-p1"}});
  desk.type("A");
  CHECK(desk.request().value().at("always") == true);
  CHECK_FALSE(desk.request());
}

TEST_CASE("A is for permissions only") {
  Desk desk;
  desk.list({ask("h1", 1000, "x", "sandbox")});
  desk.screen();
  desk.type("A");
  CHECK_FALSE(desk.request());
  CHECK(has(desk.screen(), "this is no permission"));
}

TEST_CASE("d asks for a reason in one line - Escape cancels, an empty one is not sent") {
  Desk desk;
  desk.list({ask("p1", 1000)});
  desk.screen();
  desk.type("dno");
  desk.press(Key::Kind::escape);
  CHECK_FALSE(desk.request());
  CHECK(has(desk.screen(), "nothing was sent"));
  desk.type("d ");
  desk.press(Key::Kind::enter);
  CHECK_FALSE(desk.request());
  desk.press(Key::Kind::erase_line);
  desk.type("not ax");
  desk.press(Key::Kind::backspace);
  desk.press(Key::Kind::paste, "\xc3\xa9\nq");
  desk.press(Key::Kind::text, "\xc3\xa9");
  desk.press(Key::Kind::backspace);
  CHECK(has(desk.screen(), "not a\xc3\xa9 q_\n"));
  desk.press(Key::Kind::enter);
  const auto request = desk.request().value();
  CHECK(request.at("verb") == "deny");
  CHECK(request.at("reason") == "not a\xc3\xa9 q");
  CHECK_FALSE(desk.watch.over());
}

TEST_CASE("a long ask can only be approved after all of it was on the screen, but denied at any time") {
  Desk desk;
  desk.list({ask("p1", 1000, many_lines(60))});
  CHECK_FALSE(has(desk.screen(), "the end"));
  desk.type("a");
  CHECK_FALSE(desk.request());
  CHECK(has(desk.screen(), "not all of it was shown: s\n"));
  std::string seen = desk.screen();
  for (int i = 0; i < 2; ++i) {
    desk.type("sa");
    CHECK_FALSE(desk.request());
    seen += desk.screen();
  }
  for (int i = 0; i < 10 && !has(seen, "the end"); ++i) {
    desk.type("s");
    seen += desk.screen();
  }
  for (int i = 1; i <= 60; ++i) CHECK(has(seen, "| step " + std::to_string(i) + "\n"));
  desk.type("a");
  CHECK(desk.request());
  desk.type("s");  // from the beginning again
  CHECK(has(desk.screen(), "| step 1\n"));

  Desk other;
  other.list({ask("p1", 1000, many_lines(60))});
  other.screen();
  other.type("dno");
  other.press(Key::Kind::enter);
  CHECK(other.request());
}

TEST_CASE("a line wider than the screen goes on behind a mark that no line of a card has, wide characters included") {
  Desk desk;
  desk.size = {24, 40};
  std::string wide;
  for (int i = 0; i < 60; ++i) wide += "\xe6\xbc\xa2";  // two columns each
  desk.list({ask("p1", 1000, "echo " + std::string(50, 'x') + " permission p2 approved " + wide)});
  for (const auto& line : desk.watch.frame(desk.size, desk.now).lines) {
    std::size_t columns = 0;
    for (const char c : line.text) {
      const auto byte = static_cast<unsigned char>(c);
      columns += byte < 0x80 ? 1 : byte >= 0xC0 ? 2 : 0;
    }
    CHECK(columns <= 40);
    if (has(line.text, "xxx") && !has(line.text, "echo")) CHECK(has(line.text, "    : "));
  }
}

TEST_CASE("at any size every line of the card comes to the screen, and nothing is drawn on one that is too small") {
  for (int rows = 10; rows < 40; rows += 3) {
    for (int columns = 30; columns < 120; columns += 11) {
      Desk desk;
      desk.size = {rows, columns};
      desk.list({ask("p1", 1000, many_lines(30) + " " + std::string(300, 'y'))});
      std::string seen;
      for (int i = 0; i < 80 && !desk.watch.waits(); ++i) {
        for (const auto& line : desk.watch.frame(desk.size, desk.now).lines) seen += line.text + '\n';
        desk.type("as");
      }
      INFO(rows << "x" << columns);
      REQUIRE(desk.request());
      for (int i = 1; i <= 30; ++i) CHECK(has(seen, "| step " + std::to_string(i)));
      CHECK(std::count(seen.begin(), seen.end(), 'y') >= 300);
    }
  }
  Desk desk;
  desk.size = {5, 60};
  desk.list({ask("p1", 1000)});
  CHECK(has(desk.watch.frame(desk.size, 0).lines.at(0).text, "too small"));
  desk.watch.press({Key::Kind::text, "a"}, 0);
  CHECK_FALSE(desk.request());
}

TEST_CASE("n and p go round by age, and each new ask has to be drawn before a key counts") {
  Desk desk;
  desk.list({ask("p1", 1000), ask("p2", 2000), ask("p3", 3000)});
  desk.screen();
  for (const char* id : {"p2", "p3", "p1"}) {
    desk.type("n");
    CHECK(has(desk.screen(), "permission " + std::string(id) + " "));
  }
  desk.type("p");
  CHECK(has(desk.screen(), "permission p3 "));
  desk.watch.press({Key::Kind::text, "p"}, desk.now);
  desk.watch.press({Key::Kind::text, "a"}, desk.now);  // typed ahead: p2 was not drawn
  CHECK_FALSE(desk.request());
  CHECK(has(desk.screen(), "nothing was done"));
}

TEST_CASE(
    "what the screen shows is named anew for each ask and each page, so that what was typed before can be dropped") {
  Desk desk;
  desk.list({ask("p1", 1000, many_lines(60)), ask("p2", 2000)});
  const auto shows = [&] { return desk.watch.frame(desk.size, desk.now).shows; };
  const std::string first = shows();
  CHECK(shows() == first);
  desk.type("s");
  const std::string second = shows();
  CHECK(second != first);
  desk.type("n");
  CHECK(shows() != second);
  CHECK(shows() != first);
}

TEST_CASE("when somebody else was faster the card stays, tells who, and takes no answer") {
  Desk desk;
  desk.list({ask("p1", 1000), ask("p2", 2000)});
  desk.screen();
  desk.list({ask("p2", 2000)});
  const auto question = desk.watch.take_request();
  REQUIRE(question);
  CHECK(question->verb == "trace");
  CHECK(question->fields.at("id") == "p1");
  json::object request = ask("p1", 1000);
  request["state"] = "denied";
  request["decided_by"] = "bob\x1b[2J";
  request["reason"] = "no pushes";
  desk.watch.answered(*question, json::object{{"requests", json::array{request}}}, desk.now);
  CHECK(has(desk.screen(), "permission p1 is denied by bob\\x1b[2J: no pushes\n"));
  CHECK(has(desk.screen(), "1 open\n"));
  desk.type("aAd");
  CHECK_FALSE(desk.request());
  CHECK(has(desk.screen(), "it is not open any more"));
  desk.type("n");
  CHECK(has(desk.screen(), "permission p2 "));
}

TEST_CASE("a decided card gives way by itself after a while without a key") {
  Desk desk;
  desk.list({ask("p1", 1000), ask("p2", 2000)});
  desk.screen();
  desk.type("a");
  const auto request = desk.watch.take_request().value();
  desk.watch.answered(request, json::object{{"state", "approved"}, {"rule_added", "Bash(make)"}}, desk.now);
  desk.list({ask("p2", 2000)});
  CHECK(has(desk.screen(), "permission p1 is approved by you; from now on in this session: Bash(make)\n"));
  desk.type("a");  // held down
  CHECK_FALSE(desk.request());
  desk.now += 6000;
  desk.list({ask("p2", 2000)});
  CHECK(has(desk.screen(), "permission p2 "));
}

TEST_CASE("a reason that is being typed when the ask is decided elsewhere does not become keys") {
  Desk desk;
  desk.list({ask("p1", 1000), ask("p2", 2000)});
  desk.screen();
  desk.type("dplease");
  desk.list({ask("p2", 2000)});
  CHECK(desk.request().value().at("verb") == "trace");
  desk.type(" ask bob, naq");
  desk.now += 60'000;
  desk.list({ask("p2", 2000)});
  CHECK(has(desk.screen(), "permission p1 "));
  desk.press(Key::Kind::enter);
  CHECK_FALSE(desk.request());
  CHECK_FALSE(desk.watch.over());
  CHECK(has(desk.screen(), "it is not open any more"));
}

TEST_CASE("another ask under the same id is told and never answered by a key meant for the first") {
  Desk desk;
  desk.list({ask("p1", 1000, "ls")});
  desk.screen();
  desk.list({ask("p1", 1000, "rm -rf /")});
  desk.type("a");
  CHECK_FALSE(desk.request());
  CHECK(has(desk.screen(), "another ask has its id: nothing was done"));
}

TEST_CASE("a refusal by the daemon is shown and the ask stays open") {
  Desk desk;
  desk.list({ask("p1", 1000)});
  desk.screen();
  desk.type("A");
  const auto request = desk.watch.take_request().value();
  desk.watch.answered(request, Error{"rule.none_safe", "no rule covers exactly this call"}, desk.now);
  desk.list({ask("p1", 1000)});
  CHECK(has(desk.screen(), "no rule covers exactly this call\n"));
  desk.type("a");
  CHECK(desk.request());
}

TEST_CASE("without an answer of the daemon that is said, and nothing can be decided") {
  Desk desk;
  desk.list({});
  CHECK(has(desk.screen(), "nothing is waiting for an answer"));
  desk.type("aAdnps");
  CHECK_FALSE(desk.request());
  desk.list({ask("p1", 1000)});
  desk.screen();
  desk.watch.listed(Error{"control.no_daemon", "no daemon answers on /s"}, desk.now);
  CHECK(has(desk.screen(), "no daemon answers on /s\n"));
  desk.type("a");
  CHECK_FALSE(desk.request());
  desk.list({ask("p1", 1000)});
  desk.type("a");
  CHECK(desk.request());
}

TEST_CASE("pasted text is no keys, and q ends it") {
  Desk desk;
  desk.list({ask("p1", 1000)});
  desk.screen();
  desk.press(Key::Kind::paste, "aq");
  CHECK_FALSE(desk.request());
  CHECK(has(desk.screen(), "pasted text is not taken for keys"));
  desk.type("q");
  CHECK(desk.watch.over());
}

TEST_CASE("bytes of a terminal become keys") {
  cli::KeyReader reader;
  const auto kinds = [](const std::vector<Key>& keys) {
    std::string text;
    for (const Key& key : keys) {
      switch (key.kind) {
        case Key::Kind::text: text += key.text; break;
        case Key::Kind::enter: text += "<enter>"; break;
        case Key::Kind::escape: text += "<escape>"; break;
        case Key::Kind::backspace: text += "<backspace>"; break;
        case Key::Kind::erase_line: text += "<erase>"; break;
        case Key::Kind::paste: text += "<paste " + key.text + ">"; break;
      }
    }
    return text;
  };
  CHECK(kinds(reader.feed("aA\r\n\x7f\x08\x15\x01")) == "aA<enter><enter><backspace><backspace><erase>");
  CHECK(kinds(reader.feed("\x1b[A\x1b[1;5Cx\x1bOPy")) == "xy");  // cursor keys, F1
  CHECK(kinds(reader.feed("\xc3")) == "");
  CHECK(kinds(reader.feed("\xa9\xffz")) == "\xc3\xa9z");
  CHECK(kinds(reader.feed("\x1b")) == "");
  CHECK(reader.undecided());
  CHECK(kinds(reader.settle()) == "<escape>");
  CHECK_FALSE(reader.undecided());
  CHECK(kinds(reader.feed("\x1bq\x1b\x7fx")) == "x");  // with Alt: neither Escape nor that key
  CHECK(kinds(reader.feed("\x1b\x1b")) == "<escape>");
  CHECK(kinds(reader.settle()) == "<escape>");
  CHECK(kinds(reader.feed("\x1b[200~aq\x1b[")) == "");
  CHECK(kinds(reader.feed("2~\n\x1b[201~n")) == "<paste aq\x1b[2~\n>n");
  CHECK(kinds(reader.feed("\x1b[200~" + std::string(100'000, 'a') + "\x1b[201~b")).size() < 5000);
  CHECK(kinds(reader.feed("\x1b[" + std::string(100'000, '1') + "aq")).size() < 100'010);
}
