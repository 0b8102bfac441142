// The console without its terminal: lists whose selection follows its row, what each key does, and what none does.
#include "poller/cli/top/top.hpp"

#include <boost/json.hpp>

#include "poller/cli/cells.hpp"
#include "tests/support/catch.hpp"

using namespace inbox_poller;
using namespace inbox_poller::poller;
using cli::ListView;
using cli::Pager;
using cli::Top;
using cli::TopKey;
using cli::TopPage;
namespace json = boost::json;
using Kind = TopKey::Kind;

namespace {

bool shows(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::vector<cli::ListRow> rows(std::initializer_list<const char*> names) {
  std::vector<cli::ListRow> list;
  for (const char* name : names) list.push_back({name, cli::folded(name), {}});
  return list;
}

std::string names(const std::vector<const cli::ListRow*>& list) {
  std::string text;
  for (const auto* row : list) text += (text.empty() ? "" : " ") + row->id;
  return text;
}

json::object open_ask(const std::string& id, long long asked_ms, const std::string& command = "make",
                      const char* kind = "permission") {
  return {{"team", "demo"},  {"kind", kind},     {"request_id", id}, {"asker", "ada"}, {"subject", "Bash: " + command},
          {"tool", "Bash"},  {"asked_ms", asked_ms}, {"message_key", "key-" + id},   {"answers", "count"},
          {"body", json::serialize(json::object{{"command", command}})}};
}

/// A console and its person.
struct Seat {
  Top top;
  cli::ScreenSize size{24, 80};
  long long now = 100'000;

  explicit Seat(bool confirm = true) : top({"carol", confirm}) {}

  void list(std::vector<json::object> asks) {
    json::array all;
    for (auto& one : asks) all.emplace_back(std::move(one));
    top.got(TopPage::asks, json::object{{"asks", std::move(all)}});
  }
  std::string screen() {
    std::string text;
    const auto lines = top.frame(size, now);
    CHECK(lines.size() <= static_cast<std::size_t>(size.rows));
    for (const auto& line : lines) {
      CHECK(cli::cells(line.text) <= size.columns);
      text += line.text + '\n';
    }
    return text;
  }
  /// A key, and what is drawn then.
  std::string press(Kind kind, const std::string& text = "") {
    top.press({kind, text}, now);
    return screen();
  }
  /// Keys of somebody who reads for a second before each.
  std::string type(std::string_view keys) {
    std::string shown = screen();
    for (const char key : keys) {
      now += 1000;
      shown = press(Kind::text, std::string(1, key));
    }
    return shown;
  }
  std::string hurry(std::string_view keys) {
    std::string shown;
    for (const char key : keys) shown = press(Kind::text, std::string(1, key));
    return shown;
  }
  std::vector<Top::Request> requests() {
    std::vector<Top::Request> list;
    while (auto one = top.take_request()) list.push_back(std::move(*one));
    return list;
  }
};

std::string many(int count) {
  std::string text;
  for (int i = 1; i <= count; ++i) text += "step " + std::to_string(i) + '\n';
  return text + "the end";
}

}  // namespace

TEST_CASE("a selection follows its row and stays on its line while rows come and go above it") {
  ListView view;
  view.set(rows({"a", "b", "c", "d", "e", "f"}));
  view.move(3);
  CHECK(names(view.draw(3, 0)) == "b c d");
  view.set(rows({"x", "y", "a", "b", "c", "d", "e", "f"}));
  CHECK(view.selected()->id == "d");
  CHECK(names(view.draw(3, 0)) == "b c d");
  view.set(rows({"d", "e", "f"}));
  CHECK(view.selected()->id == "d");
  CHECK(names(view.draw(3, 0)) == "d e f");
  view.set(rows({"e", "f"}));  // the row has gone: what stands in its place
  CHECK(view.selected()->id == "e");
  view.set(rows({"z", "e", "f"}), true);
  CHECK(view.selected()->id == "z");  // the newest, where the first row is for what is new
  view.move(1);
  view.set(rows({"y", "z", "e", "f"}), true);
  CHECK(view.selected()->id == "e");
  view.set({});
  CHECK(view.selected() == nullptr);
  CHECK(view.draw(3, 0).empty());
  view.move(5);
  view.set(rows({"a"}));
  CHECK(view.selected()->id == "a");
}

TEST_CASE("a filter keeps the selection where it fits, and marks live as long as their rows") {
  ListView view;
  view.set(rows({"make all", "ls", "MAKE check", "rm"}));
  view.to_last();
  view.move(-1);
  view.filter("Make");
  CHECK(names(view.draw(9, 0)) == "make all MAKE check");
  CHECK(view.selected()->id == "MAKE check");
  view.toggle_mark();
  view.filter("rm");
  CHECK(names(view.marked()) == "MAKE check");
  view.set(rows({"ls", "rm"}));
  CHECK(view.marked().empty());
  view.filter("nothing");
  CHECK(view.selected() == nullptr);
  CHECK(view.total() == 2);
}

TEST_CASE("a row counts once it was selected and drawn for 400 ms, and anew when another came in its place") {
  ListView view;
  view.set(rows({"a", "b"}));
  CHECK_FALSE(view.is_armed(9999));  // never drawn
  view.draw(5, 1000);
  CHECK_FALSE(view.is_armed(1399));
  CHECK(view.is_armed(1400));
  view.draw(5, 5000);
  CHECK(view.is_armed(5000));  // still the same row
  view.move(1);
  CHECK_FALSE(view.is_armed(9000));  // selected, and not drawn yet
  view.draw(5, 9000);
  CHECK_FALSE(view.is_armed(9399));
  view.set(rows({"a", "c"}));
  view.draw(5, 10'000);
  CHECK_FALSE(view.is_armed(10'399));
  view.hidden();
  CHECK_FALSE(view.is_armed(99'999));
}

TEST_CASE("a text is seen whole when each of its lines was drawn, one after the other, at this width") {
  Pager pager(many(30));
  CHECK_FALSE(pager.whole());
  pager.draw(80, 10, 0);
  pager.to_end();
  pager.draw(80, 10, 0);
  CHECK_FALSE(pager.whole());  // the middle was skipped
  for (int i = 0; i < 9; ++i) {
    pager.scroll(i == 0 ? -100 : 9);
    pager.draw(80, 10, 0);
  }
  CHECK(pager.whole());
  pager.draw(20, 10, 0);
  CHECK_FALSE(pager.whole());  // other lines
}

TEST_CASE("an approval asks back with all of what would run, and says yes only to that") {
  Seat seat;
  seat.list({open_ask("perm-1", 1, "make deploy"), open_ask("perm-2", 2, "ls")});
  CHECK(shows(seat.type("ja"), "approve permission perm-2?"));
  CHECK(shows(seat.screen(), "| ls"));
  CHECK(seat.requests().empty());
  CHECK(shows(seat.type("n"), "nothing was done"));
  CHECK(seat.requests().empty());
  seat.type("ay");
  const auto sent = seat.requests();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].verb == "approve");
  CHECK(sent[0].fields == json::object{{"by", "carol"}, {"team", "demo"}, {"kind", "permission"}, {"message_key", "key-perm-2"}, {"id", "perm-2"}});
  seat.top.answered(sent[0], json::object{{"state", "approved"}, {"subject", "Bash: ls"}, {"asker", "ada"}});
  CHECK(shows(seat.screen(), "approved: Bash: ls of ada"));
}

TEST_CASE("keys that came too soon answer nothing: to a row, to a question, to a row that moved in") {
  Seat seat;
  seat.list({open_ask("perm-1", 1)});
  seat.screen();
  CHECK(shows(seat.hurry("a"), "too soon"));
  seat.type("a");
  CHECK(shows(seat.hurry("y"), "too soon"));
  CHECK(seat.requests().empty());
  seat.type("n");
  seat.list({open_ask("perm-0", 1, "dd if=/dev/zero")});  // in its place
  CHECK(shows(seat.hurry("a"), "too soon"));
  seat.type("a");
  seat.list({open_ask("perm-0", 1, "another command")});  // the same id, something else
  CHECK(shows(seat.screen(), "nothing was done"));
  seat.type("y");
  CHECK(seat.requests().empty());
  CHECK(shows(seat.press(Kind::paste, "ayayay"), "pasted text is not taken for keys"));
}

TEST_CASE("what was not shown to its end is not approved, but may be denied") {
  Seat seat;
  seat.list({open_ask("perm-1", 1, many(60))});
  CHECK(shows(seat.type("ay"), "not all of it was shown"));
  CHECK(seat.requests().empty());
  CHECK(shows(seat.type("     "), "| the end"));
  seat.type("y");
  CHECK(seat.requests().size() == 1);
  seat.type("dy");
  const auto denied = seat.requests();
  REQUIRE(denied.size() == 1);
  CHECK(denied[0].verb == "deny");
}

TEST_CASE("without asking back only what is whole on the screen is approved at once") {
  Seat seat(false);
  seat.list({open_ask("perm-1", 1), open_ask("perm-2", 2, many(60))});
  CHECK(shows(seat.type("a"), "approve permission perm-1?"));  // a list does not show all of it
  seat.type("n");
  seat.now += 1000;
  seat.press(Kind::enter);
  CHECK(shows(seat.hurry("a"), "too soon"));
  seat.type("a");
  CHECK(seat.requests().size() == 1);
  seat.type("j");
  seat.press(Kind::enter);
  seat.type("a");
  CHECK(seat.requests().empty());
  CHECK(shows(seat.screen(), "approve permission perm-2?"));
}

TEST_CASE("several are marked, shown one below the other, and answered in one go") {
  Seat seat;
  seat.list({open_ask("perm-1", 1, "make one"), open_ask("perm-2", 2, "make two"), open_ask("perm-3", 3, "rm x")});
  const auto shown = seat.type("  a");
  CHECK(shows(shown, "approve these 2 asks?"));
  CHECK(shows(shown, "| make one"));
  CHECK(shows(shown, "| make two"));
  CHECK_FALSE(shows(shown, "| rm x"));
  seat.type("y");
  const auto sent = seat.requests();
  REQUIRE(sent.size() == 2);
  CHECK(sent[1].fields.at("id") == "perm-2");
  for (const auto& one : sent) seat.top.answered(one, json::object{{"state", "approved"}, {"subject", "s"}, {"asker", "ada"}});
  CHECK(shows(seat.screen(), "2 answered"));
  CHECK(shows(seat.type("g  A"), "A is for one ask"));
}

TEST_CASE("a reason is typed, shown and sent; always shows its rule first") {
  Seat seat;
  seat.list({open_ask("perm-1", 1), open_ask("plan-1", 2, "x", "plan")});
  seat.type("Dno, q and y are letters");
  CHECK(shows(seat.screen(), "q and y are letters_"));
  seat.press(Kind::enter);
  CHECK(shows(seat.screen(), "the reason: no, q and y are letters"));
  seat.type("y");
  auto sent = seat.requests();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].fields.at("reason") == "no, q and y are letters");

  seat.type("A");
  sent = seat.requests();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].verb == "which");
  seat.top.answered(sent[0], json::object{{"rule", "Bash(make)"}, {"asks", json::array{open_ask("perm-1", 1), open_ask("perm-9", 9)}}});
  const auto question = seat.screen();
  CHECK(shows(question, "from now on in this session: Bash(make), which covers 2 open asks"));
  seat.type("y");
  sent = seat.requests();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].fields.at("always") == true);
  CHECK(shows(seat.type("jA"), "this is no permission"));
  CHECK(seat.requests().empty());
}

TEST_CASE("a daemon that does not answer takes no answers, and one that refuses is quoted") {
  Seat seat;
  seat.list({open_ask("perm-1", 1)});
  seat.screen();
  seat.top.got(TopPage::asks, Error{"control.no_daemon", "no daemon answers"});
  CHECK(shows(seat.type("a"), "nothing was done"));
  CHECK(shows(seat.screen(), "no daemon answers"));
  seat.list({open_ask("perm-1", 1)});
  seat.type("ay");
  seat.top.answered(seat.requests().at(0), Error{"request.already_decided", "is already denied by bob"});
  CHECK(shows(seat.screen(), "not answered: is already denied by bob"));
}

TEST_CASE("every page fits screens of any size, with wide and hostile text, and small ones say so") {
  Seat seat;
  std::vector<json::object> asks;
  for (int i = 0; i < 10'000; ++i)
    asks.push_back(open_ask("perm-" + std::to_string(i), i, "echo 漢字漢字漢字 😀 → \x1b[2J\xE2\x80\xAE" + std::string(static_cast<std::size_t>(i % 90), 'x')));
  seat.list(std::move(asks));
  const json::object team{{"team", "demo"}, {"lead", json::object{{"state", "idle"}}}, {"members", json::array{json::object{{"name", "星\x1b[2J"}, {"present", true}, {"doing", "busy"}}}}};
  for (const auto page : {TopPage::teams, TopPage::workers}) seat.top.got(page, json::object{{"teams", json::array{team}}});
  seat.top.got(TopPage::chat, json::object{{"messages", json::array{json::object{{"team", "demo"}, {"sender", "ada"}, {"text", "hi \x1b]0;x\x07\nthere"}}}}});
  seat.top.got(TopPage::log, json::object{{"decisions", json::array{open_ask("perm-1", 1)}}});
  for (const auto size : {cli::ScreenSize{8, 60}, cli::ScreenSize{24, 80}, cli::ScreenSize{50, 200}, cli::ScreenSize{6, 30}}) {
    seat.size = size;
    for (const char page : {'1', '2', '3', '4', '5'}) {
      for (const auto& shown : {seat.type(std::string(1, page)), seat.press(Kind::enter), seat.type("?")}) {
        CHECK_FALSE(shows(shown, "\x1b"));
        CHECK_FALSE(shows(shown, "\xE2\x80\xAE"));
      }
      seat.press(Kind::escape);
      seat.press(Kind::escape);
    }
    seat.type("1aG");
    seat.press(Kind::escape);
  }
  seat.size = {5, 80};
  CHECK(shows(seat.screen(), "too small"));
  seat.type("a");
  CHECK(seat.requests().empty());
  seat.type("q");
  CHECK(seat.top.over());
}
