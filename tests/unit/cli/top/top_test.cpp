// The console without its terminal: lists whose selection follows its row, what each key does, and what none does.
#include "poller/cli/top/top.hpp"

#include <algorithm>
#include <boost/json.hpp>

#include "poller/cli/cells.hpp"
#include "tests/support/catch.hpp"

namespace inbox_poller::top_test {

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

json::object open_request(const std::string& id, long long asked_ms, const std::string& command = "make",
                          const char* kind = "permission") {
  return {{"team", "demo"},  {"kind", kind},     {"request_id", id}, {"member", "ada"}, {"subject", "Bash: " + command},
          {"tool", "Bash"},  {"asked_ms", asked_ms}, {"message_key", "key-" + id},   {"answers", "count"},
          {"body", json::serialize(json::object{{"command", command}})}};
}

/// What a page gets of this answer of the daemon.
void give(cli::Top& top, cli::TopPage page, const json::object& answer) {
  top.got(page, {operations::decode<operations::Pending>(answer), operations::decode<operations::Status>(answer),
                 operations::decode<operations::History>(answer), operations::decode<operations::Decisions>(answer)});
}

/// A console and its person.
struct Seat {
  Top top;
  cli::ScreenSize size{24, 80};
  long long now = 100'000;

  explicit Seat(bool confirm = true) : top({"carol", confirm}) {}

  void list(std::vector<json::object> requests) {
    json::array all;
    for (auto& one : requests) all.emplace_back(std::move(one));
    give(top, TopPage::requests, json::object{{"requests", std::move(all)}});
  }
  std::string screen() {
    std::string text;
    const auto lines = top.frame(size, now);
    CHECK(lines.size() <= static_cast<std::size_t>(size.rows));
    for (const auto& line : lines) {
      CHECK(cli::cells(line.text) <= size.columns);
      text += line.text;
      if (!line.beside.empty()) {
        CHECK(cli::cells(line.text) < line.beside_at);
        CHECK(line.beside_at + cli::cells(line.beside) <= size.columns);
        text += std::string(static_cast<std::size_t>(line.beside_at - cli::cells(line.text)), ' ') + line.beside;
      }
      text += '\n';
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

json::object wire(const cli::Top::Request& request) {
  return std::visit([](const auto& asked) { return arguments::on_wire(asked); }, request.asked);
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

json::object approved(const std::string& subject) {
  return {{"ok", true}, {"state", "approved"}, {"subject", subject}, {"member", "ada"}};
}
json::object outcome(std::initializer_list<json::object> answers) {
  json::array list;
  for (const auto& one : answers) list.push_back(one);
  return {{"ok", true}, {"answers", std::move(list)}};
}

TEST_CASE("an approval asks back with all of what would run, and says yes only to that") {
  Seat seat;
  seat.list({open_request("perm-1", 1, "make deploy"), open_request("perm-2", 2, "ls")});
  CHECK(shows(seat.type("ja"), "approve permission perm-2?"));
  CHECK(shows(seat.screen(), "| ls"));
  CHECK(seat.requests().empty());
  CHECK(shows(seat.type("n"), "nothing was done"));
  CHECK(seat.requests().empty());
  seat.type("ay");
  const auto sent = seat.requests();
  REQUIRE(sent.size() == 1);
  CHECK(wire(sent[0]) ==
        json::object{{"verb", "approve"}, {"by", "carol"}, {"shown", true}, {"ids", json::array{"key-perm-2"}}});
  seat.top.answered(sent[0], outcome({approved("Bash: ls")}));
  CHECK(shows(seat.screen(), "approved: Bash: ls of ada"));
}

TEST_CASE("keys that came too soon answer nothing: to a row, to a question, to a row that moved in") {
  Seat seat;
  seat.list({open_request("perm-1", 1)});
  seat.screen();
  CHECK(shows(seat.hurry("a"), "too soon"));
  seat.type("a");
  CHECK(shows(seat.hurry("y"), "too soon"));
  CHECK(seat.requests().empty());
  seat.type("n");
  seat.list({open_request("perm-0", 1, "dd if=/dev/zero")});  // in its place
  CHECK(shows(seat.hurry("a"), "too soon"));
  seat.type("a");
  seat.list({open_request("perm-0", 1, "another command")});  // the same id, something else
  CHECK(shows(seat.screen(), "nothing was done"));
  seat.type("y");
  for (const auto& one : seat.requests()) CHECK(wire(one).at("verb") == "trace");  // what became of perm-1
  CHECK(shows(seat.press(Kind::paste, "ayayay"), "pasted text is not taken for keys"));
}

TEST_CASE("what was not shown to its end is not approved, but may be denied") {
  Seat seat;
  seat.list({open_request("perm-1", 1, many(60))});
  CHECK(shows(seat.type("ay"), "not all of it was shown"));
  CHECK(seat.requests().empty());
  CHECK(shows(seat.type("     "), "| the end"));
  seat.type("y");
  CHECK(seat.requests().size() == 1);
  seat.type("dy");
  const auto denied = seat.requests();
  REQUIRE(denied.size() == 1);
  CHECK(wire(denied[0]).at("verb") == "deny");
}

TEST_CASE("without asking back only what is whole on the screen is approved at once") {
  Seat seat(false);
  seat.list({open_request("perm-1", 1), open_request("perm-2", 2, many(60))});
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
  seat.list({open_request("perm-1", 1, "make one"), open_request("perm-2", 2, "make two"),
             open_request("perm-3", 3, "rm x")});
  const auto shown = seat.type("  a");
  CHECK(shows(shown, "approve these 2 requests?"));
  CHECK(shows(shown, "| make one"));
  CHECK(shows(shown, "| make two"));
  CHECK_FALSE(shows(shown, "| rm x"));
  seat.type("y");
  const auto sent = seat.requests();
  REQUIRE(sent.size() == 1);
  CHECK(wire(sent[0]).at("ids") == json::array{"key-perm-1", "key-perm-2"});
  seat.top.answered(sent[0], outcome({approved("s"), approved("t")}));
  CHECK(shows(seat.screen(), "2 answered"));
  seat.type("g  ay");
  const json::object refused{{"ok", false}, {"message", "is already denied by bob"}};
  seat.top.answered(seat.requests().at(0), outcome({approved("s"), refused}));
  CHECK(shows(seat.screen(), "not answered: is already denied by bob; approved: s of ada"));
  CHECK(shows(seat.type("g  A"), "A is for one request"));
}

TEST_CASE("all requests alike are marked by one key, and nothing is answered by that") {
  Seat seat;
  seat.list({open_request("perm-1", 1), open_request("perm-2", 2, "rm x"), open_request("perm-3", 3)});
  seat.type("=");
  const auto sent = seat.requests();
  REQUIRE(sent.size() == 1);
  CHECK(wire(sent[0]).at("verb") == "resolve");
  seat.top.answered(sent[0], json::object{{"rule", "Bash(make)"}, {"requests", json::array{open_request("perm-1", 1), open_request("perm-3", 3)}}});
  CHECK(shows(seat.screen(), "2 open requests here are covered by Bash(make) and marked"));
  const auto shown = seat.type("a");
  CHECK(shows(shown, "approve these 2 requests?"));
  CHECK_FALSE(shows(shown, "rm x"));
  CHECK(seat.requests().empty());
}

TEST_CASE("a reason is typed, shown and sent; always shows its rule first") {
  Seat seat;
  seat.list({open_request("perm-1", 1), open_request("plan-1", 2, "x", "plan")});
  seat.type("Dno, q and y are letters");
  CHECK(shows(seat.screen(), "q and y are letters_"));
  seat.press(Kind::enter);
  CHECK(shows(seat.screen(), "the reason: no, q and y are letters"));
  seat.type("y");
  auto sent = seat.requests();
  REQUIRE(sent.size() == 1);
  CHECK(wire(sent[0]).at("reason") == "no, q and y are letters");

  seat.type("A");
  sent = seat.requests();
  REQUIRE(sent.size() == 1);
  CHECK(wire(sent[0]).at("verb") == "resolve");
  seat.top.answered(sent[0], json::object{{"rule", "Bash(make)"}, {"requests", json::array{open_request("perm-1", 1), open_request("perm-9", 9)}}});
  const auto question = seat.screen();
  CHECK(shows(question, "from now on in this session: Bash(make), which covers 2 open requests"));
  CHECK_FALSE(shows(question, "asking which rule"));  // that is answered
  seat.type("y");
  sent = seat.requests();
  REQUIRE(sent.size() == 1);
  CHECK(wire(sent[0]).at("always") == true);
  CHECK(shows(seat.type("jA"), "this request is of another kind"));
  CHECK(seat.requests().empty());
}

TEST_CASE("a daemon that does not answer takes no answers, and one that refuses is quoted") {
  Seat seat;
  seat.list({open_request("perm-1", 1)});
  seat.screen();
  seat.top.lost({"control.no_daemon", "no daemon answers"});
  CHECK(shows(seat.type("a"), "nothing was done"));
  CHECK(shows(seat.screen(), "no daemon answers"));
  seat.list({open_request("perm-1", 1)});
  seat.type("ay");
  seat.top.answered(seat.requests().at(0), Error{"request.already_decided", "is already denied by bob"});
  CHECK(shows(seat.screen(), "not answered: is already denied by bob"));
}

TEST_CASE("every page fits screens of any size, with wide and hostile text, and small ones say so") {
  Seat seat;
  std::vector<json::object> requests;
  for (int i = 0; i < 10'000; ++i)
    requests.push_back(open_request("perm-" + std::to_string(i), i, "echo 漢字漢字漢字 😀 → \x1b[2J\xE2\x80\xAE" + std::string(static_cast<std::size_t>(i % 90), 'x')));
  seat.list(std::move(requests));
  const json::object team{{"team", "demo"}, {"lead", json::object{{"state", "idle"}}}, {"members", json::array{json::object{{"member", "星\x1b[2J"}, {"present", true}, {"doing", "busy"}}}}};
  for (const auto page : {TopPage::teams, TopPage::workers}) give(seat.top, page, json::object{{"teams", json::array{team}}});
  give(seat.top, TopPage::chat, json::object{{"messages", json::array{json::object{{"team", "demo"}, {"sender", "ada"}, {"text", "hi \x1b]0;x\x07\nthere"}}}}});
  give(seat.top, TopPage::log, json::object{{"decisions", json::array{open_request("perm-1", 1)}}});
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

TEST_CASE("all of a request is shown with its deadline, and a wide line goes on behind a mark that no line of a request has") {
  Seat seat;
  seat.now = 100'000;
  auto one = open_request("perm-1", 1000, "rm -rf /\x1b[2J " + std::string(150, 'x'));
  one["deadline_ms"] = 700'000;
  auto other = open_request("perm-2", 2000);
  other["deadline_ms"] = 0;
  seat.list({one, other});
  seat.size = {24, 60};
  const auto shown = seat.press(Kind::enter);
  CHECK(shows(shown, "permission perm-1  team demo\n"));
  CHECK(shows(shown, "    | rm -rf /\\x1b[2J \n"));
  CHECK(shows(shown, "\n    : xxx"));
  CHECK(shows(shown, "denied in 10m unless answered"));
  CHECK(shows(seat.type("n"), "waits for the lead that reads this inbox"));
  CHECK(shows(seat.type("a"), "waits for the lead that reads this inbox"));
}

TEST_CASE("at any size every line of a request comes to the screen before it can be approved, and a small one takes no key") {
  for (int rows = 8; rows < 40; rows += 5) {
    for (int columns = 30; columns < 120; columns += 17) {
      Seat seat;
      seat.size = {rows, columns};
      seat.list({open_request("perm-1", 1, many(30) + " " + std::string(300, 'y'))});
      seat.type("a");
      std::string seen;
      std::vector<Top::Request> sent;
      for (int i = 0; i < 400 && sent.empty(); ++i) {
        seen += seat.screen();
        seat.type("yj");
        sent = seat.requests();
      }
      INFO(rows << "x" << columns);
      CHECK(sent.size() == 1);
      for (int i = 1; i <= 30; ++i) CHECK(shows(seen, "| step " + std::to_string(i)));
      CHECK(std::count(seen.begin(), seen.end(), 'y') >= 300);
    }
  }
  Seat seat;
  seat.list({open_request("perm-1", 1)});
  CHECK(shows(seat.type("a"), "approve permission perm-1?"));
  seat.size = {5, 60};
  seat.type("y");
  CHECK(seat.requests().empty());
  seat.size = {24, 80};
  seat.screen();
  CHECK(shows(seat.hurry("y"), "too soon"));
}

TEST_CASE("n and p show all of the next and the one before, and each has to be in view before a key counts") {
  Seat seat(false);
  seat.list({open_request("perm-1", 1), open_request("perm-2", 2), open_request("perm-3", 3)});
  seat.screen();
  seat.press(Kind::enter);
  CHECK(shows(seat.type("n"), "permission perm-2 "));
  CHECK(shows(seat.hurry("na"), "too soon"));
  CHECK(shows(seat.screen(), "permission perm-3 "));
  CHECK(shows(seat.type("n"), "there is none behind it"));
  CHECK(shows(seat.type("pp"), "permission perm-1 "));
  CHECK(shows(seat.type("p"), "there is none before it"));
  seat.type("a");
  CHECK(wire(seat.requests().at(0)).at("ids") == json::array{"key-perm-1"});
}

TEST_CASE("from 120 columns on all of the selected row is next to the list, and a part of a long one says so") {
  Seat seat;
  seat.size = {12, 119};
  seat.list({open_request("perm-1", 1, "make one"), open_request("perm-2", 2, many(60))});
  CHECK_FALSE(shows(seat.screen(), "| make one"));
  seat.size.columns = 120;
  CHECK(shows(seat.screen(), "│     | make one"));
  CHECK(shows(seat.type("j"), "│     | step 1"));
  CHECK(shows(seat.screen(), ": Enter shows the rest"));
  CHECK(shows(seat.type("ay"), "not all of it was shown"));  // what is next to the list is no proof
  CHECK(seat.requests().empty());
  seat.list({});
  CHECK_FALSE(shows(seat.screen(), "│"));
}

TEST_CASE("the time left is in the list, and what urges or went wrong has a tint") {
  Seat seat;
  auto list = std::vector{open_request("perm-1", 1), open_request("perm-2", 2), open_request("perm-3", 3), open_request("perm-4", 4)};
  const long long left[] = {0, 600'000, 100'000, 20'000};
  for (std::size_t i = 0; i < 4; ++i) list[i]["deadline_ms"] = left[i] == 0 ? 0 : seat.now + left[i];
  seat.list(list);
  const auto shown = seat.top.frame(seat.size, seat.now);
  const std::pair<const char*, cli::Tint> wanted[] = {{"perm-1  -  ", cli::Tint::none}, {"perm-2  10m ", cli::Tint::none},
                                                      {"perm-3  100s", cli::Tint::warn}, {"perm-4  20s ", cli::Tint::bad}};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(shows(shown.at(i + 2).text, wanted[i].first));
    CHECK(shown.at(i + 2).tint == wanted[i].second);
  }
  const auto tint = [](const char* doing) {
    cli::WorkerShown worker;
    worker.member.doing = {doing};
    return cli::tint_of(worker, 0);
  };
  CHECK(tint("unresponsive") == cli::Tint::bad);
  CHECK(tint("waiting") == cli::Tint::warn);
  CHECK(tint("busy") == cli::Tint::good);
  CHECK(tint("idle") == cli::Tint::none);
}

TEST_CASE("one line sums up all teams with their trouble, where the screen has room for it") {
  Seat seat;
  seat.list({open_request("perm-1", 1)});
  CHECK_FALSE(shows(seat.screen(), "1 team"));
  const json::object idle{{"member", "ada"}, {"present", true}, {"doing", "idle"}};
  const json::object silent{{"member", "bob\x1b[2J"}, {"present", true}, {"doing", "unresponsive"}};
  const json::object team{{"team", "demo"}, {"role", "paused"}, {"members", json::array{idle, silent}}};
  seat.top.got_teams(operations::decode<operations::Status>(json::object{{"teams", json::array{team}}}));
  CHECK(shows(seat.screen(), "1 unresponsive, demo: paused; 1 team, 1 idle, 1 unresponsive"));
  CHECK(seat.top.frame(seat.size, seat.now).at(1).tint == cli::Tint::bad);
  seat.size.rows = 9;
  CHECK_FALSE(shows(seat.screen(), "1 team"));
}

TEST_CASE("a click selects, a second one shows all, and none answers") {
  Seat seat;
  const auto click = [&](int row, int column) {
    seat.now += 1000;
    seat.top.press({.kind = Kind::click, .text = {}, .row = row, .column = column}, seat.now);
    return seat.screen();
  };
  seat.list({open_request("perm-1", 1), open_request("perm-2", 2, "make two")});
  seat.screen();
  CHECK(shows(click(3, 10), "> perm-2"));
  CHECK(shows(click(20, 10), "> perm-2"));  // there is no row
  CHECK(shows(click(1, 10), "> perm-2"));   // nor on the heads
  CHECK(shows(click(3, 10), "| make two"));
  CHECK(shows(click(3, 10), "| make two"));
  seat.type("a");
  CHECK(shows(click(3, 10), "approve permission perm-2?"));
  seat.type("n");
  seat.press(Kind::escape);
  CHECK(shows(click(0, 20), "[2:teams]"));
  CHECK(shows(click(0, 1), "[1:requests 2]"));
  seat.size.columns = 140;
  CHECK(shows(click(2, 10), "> perm-1"));
  CHECK(shows(click(8, 100), "a approve  A always  d deny  D with a reason  Space more"));  // the text next to the list
  CHECK(seat.requests().empty());
}

json::object traced(const std::string& id, const std::string& by) {
  json::object one = open_request(id, 1);
  one["state"] = "denied";
  one["decided_by"] = by;
  one["reason"] = "no pushes";
  return {{"requests", json::array{one}}};
}

TEST_CASE("when somebody else was faster the request stays on the screen, tells who, and takes no answer") {
  Seat seat(false);
  seat.list({open_request("perm-1", 1), open_request("perm-2", 2)});
  seat.screen();
  seat.press(Kind::enter);
  seat.list({open_request("perm-2", 2)});
  CHECK(shows(seat.screen(), "permission perm-1 is not open any more"));
  const auto asked = seat.requests();
  REQUIRE(asked.size() == 1);
  CHECK(wire(asked[0]) == json::object{{"verb", "trace"}, {"id", "perm-1"}});
  seat.top.answered(asked[0], traced("perm-1", "bob\x1b[2J"));
  CHECK(shows(seat.screen(), "permission perm-1 is denied by bob\\x1b[2J: no pushes"));
  CHECK(shows(seat.screen(), "| make"));
  for (const char* key : {"a", "A", "d", "D"}) CHECK(shows(seat.type(key), "it is not open any more: n shows the next one"));
  CHECK(seat.requests().empty());
  CHECK(shows(seat.type("n"), "permission perm-2 "));
}

TEST_CASE("a row that was selected and is decided elsewhere is told, and what we answered ourselves is not asked for") {
  Seat seat;
  seat.list({open_request("perm-1", 1), open_request("perm-2", 2), open_request("perm-3", 3)});
  seat.screen();
  seat.list({open_request("perm-2", 2), open_request("perm-3", 3)});
  const auto asked = seat.requests();
  REQUIRE(asked.size() == 1);
  seat.top.answered(asked[0], traced("perm-1", "bob"));
  CHECK(shows(seat.screen(), "permission perm-1 is denied by bob: no pushes"));
  seat.type("ay");
  const auto sent = seat.requests();
  REQUIRE(sent.size() == 1);
  seat.top.answered(sent[0], outcome({approved("Bash: make")}));
  seat.list({open_request("perm-3", 3)});
  CHECK(seat.requests().empty());
  CHECK(shows(seat.screen(), "approved: Bash: make of ada"));
}

TEST_CASE("a reason that is being typed when the request is decided elsewhere does not become keys") {
  Seat seat;
  seat.list({open_request("perm-1", 1), open_request("perm-2", 2)});
  seat.type("Dplease");
  seat.list({open_request("perm-2", 2)});
  const auto asked = seat.requests();
  REQUIRE(asked.size() == 1);
  seat.top.answered(asked[0], traced("perm-1", "bob"));
  CHECK(shows(seat.screen(), "is denied by bob: no pushes; the reason will not be sent"));
  seat.type(" ask bob, nayq");
  CHECK(shows(seat.press(Kind::enter), "it is not open any more: nothing was done"));
  CHECK(seat.requests().empty());
  CHECK_FALSE(seat.top.over());
}

TEST_CASE("another request under the same id is told and never answered by a key meant for the first") {
  Seat seat(false);
  seat.list({open_request("perm-1", 1, "ls")});
  seat.screen();
  seat.press(Kind::enter);
  seat.list({open_request("perm-1", 1, "rm -rf /")});
  CHECK(shows(seat.screen(), "permission perm-1 is gone, and another request has its id: nothing was done"));
  seat.type("ay");
  CHECK(seat.requests().empty());
}

TEST_CASE("a reason is one line: Escape sends nothing, an empty one is not sent, and letters go one by one") {
  Seat seat;
  seat.list({open_request("perm-1", 1)});
  seat.type("Dno");
  CHECK(shows(seat.press(Kind::escape), "nothing was sent"));
  seat.type("D ");
  CHECK(shows(seat.press(Kind::enter), "say what to do instead"));
  seat.press(Kind::erase_line);
  seat.type("not ax");
  seat.press(Kind::backspace);
  seat.press(Kind::paste, "\xc3\xa9\nq");
  seat.press(Kind::text, "\xc3\xa9");
  CHECK(shows(seat.press(Kind::backspace), "not a\xc3\xa9 q_\n"));
  seat.press(Kind::enter);
  seat.type("y");
  CHECK(wire(seat.requests().at(0)).at("reason") == "not a\xc3\xa9 q");
}

TEST_CASE("only the requests that are wanted are listed and marked") {
  Top top(
      {.by = "carol", .wants = [](const operations::OpenRequest& request) { return request.request_id != "perm-2"; }});
  give(top, TopPage::requests,
       json::object{{"requests", json::array{open_request("perm-1", 1), open_request("perm-2", 2)}}});
  const auto shown = [&] {
    std::string text;
    for (const auto& line : top.frame({24, 80}, 0)) text += line.text + '\n';
    return text;
  };
  CHECK(shows(shown(), "[1:requests 1]"));
  CHECK_FALSE(shows(shown(), "perm-2"));
  top.press({Kind::text, "="}, 0);
  top.answered(top.take_request().value(), json::object{{"rule", "Bash(make)"}, {"requests", json::array{open_request("perm-1", 1), open_request("perm-2", 2)}}});
  CHECK(shows(shown(), "1 open requests here are covered by Bash(make) and marked"));
}

}  // namespace inbox_poller::top_test
