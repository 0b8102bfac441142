// Windows of a large inbox, with small files and smaller windows: whatever their size, the entries are those of one
// scan of the whole; and what happens to the file between two windows ends the reading.
#include <random>

#include "poller/mailbox/arrays/inbox_reading.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/mailbox_setting.hpp"
#include "tests/unit/poller/run_awaitable.hpp"

namespace inbox_poller::mailbox_windows_test {

using namespace inbox_poller::poller;
using test::entry;
using test::inbox_of;
using test::run_awaitable;

namespace {

struct WindowSetting : test::MailboxSetting {
  PrefixCache known;

  ReadResult read_in(std::size_t window) {
    const Result<Directory> opened = files.open_dir(absolute, folder().string());
    REQUIRE(opened.ok());
    const std::string file = "team-lead.json";
    Snapshot snapshot;
    return read_behind({files, clock, *opened, file, {"team", lead}, limits.inbox_file.count}, known, snapshot, window);
  }
};

/// Everything a reader could get from the entries of a reading, window by window.
std::vector<std::string> told(WindowSetting& at, ReadResult& reading) {
  std::vector<std::string> out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < reading.windows.size(); ++i) {
    REQUIRE(show_window(at.files, reading, i));
    REQUIRE(reading.windows[i].first == next);
    for (; next < reading.windows[i].last; ++next) {
      const auto& one = reading.document.entries()[next];
      out.push_back(one.key.value + " " + std::to_string(one.bytes.begin) + " " +
                    std::to_string(static_cast<int>(one.read)) + " " + std::to_string(one.read_value.begin) + " " +
                    std::string(reading.document.entry_bytes(one)));
    }
  }
  REQUIRE(next == reading.document.entries().size());
  return out;
}

std::string random_document(std::mt19937& random) {
  const auto pick = [&](std::initializer_list<const char*> from) {
    return std::string(*(from.begin() + static_cast<std::ptrdiff_t>(random() % from.size())));
  };
  const std::string gap = pick({"", "\n", "\r\n  ", " \t "});
  std::string out = pick({"", "\xEF\xBB\xBF", "\n", " "}) + "[";
  const auto count = random() % 12;
  for (std::size_t i = 0; i < count; ++i) {
    out += (i > 0 ? "," : "") + gap;
    switch (random() % 8) {
      case 0: out += pick({"null", "true", "12345", "-0.5e10", "[]", "{}", "\"a \\\" string\"", "1"}); break;
      case 1: out += std::string(random() % 40, '[') + "\"x\""; break;
      default:
        out += entry(pick({"a", "b", "\\\"]},{", "\xC3\xA9\xC3\xA9", "long long long long long long long text"}),
                     pick({"false", "true", "", "null"}));
    }
    if (out.ends_with("\"x\"")) {  // close what was opened
      const std::size_t open = out.size() - 3 - (out.find_last_not_of('[', out.size() - 4) + 1);
      out += std::string(open, ']');
    }
    out += gap;
  }
  return out + pick({"]", "]", "]", "]\n", "] x", "", ",]"});
}

}  // namespace

TEST_CASE("windows of every size tell what one scan of the whole tells") {
  WindowSetting at;
  std::mt19937 random(20260207);
  for (int round = 0; round < 60; ++round) {
    const std::string bytes = random_document(random);
    at.put(bytes);
    ReadResult whole = at.read();
    const std::vector<std::string> expected = told(at, whole);
    for (std::size_t window = 1; window <= 64; ++window) {
      CAPTURE(bytes, window);
      ReadResult reading = at.read_in(window);
      REQUIRE(reading.outcome == whole.outcome);
      REQUIRE(reading.detail == whole.detail);
      REQUIRE(told(at, reading) == expected);
    }
  }
}

TEST_CASE("a window holds little more than its size, or one entry") {
  WindowSetting at;
  std::vector<std::string> entries;
  for (int i = 0; i < 50; ++i) entries.push_back(entry("message " + std::to_string(i)));
  entries.insert(entries.begin() + 20, entry(std::string(5000, 'x')));
  at.put(inbox_of(entries));
  ReadResult reading = at.read_in(1000);
  REQUIRE(reading.windows.size() > 3);
  std::size_t larger = 0;
  for (std::size_t i = 0; i < reading.windows.size(); ++i) {
    REQUIRE(show_window(at.files, reading, i));
    if (reading.document.bytes().size() > 1000) ++larger;
    CHECK(reading.document.bytes().size() < 2 * 5200);
  }
  CHECK(larger == 1);
}

TEST_CASE("windows begin behind the known head, and equals are numbered over all of them") {
  WindowSetting at;
  at.put(inbox_of({entry("a", "true"), entry("b", "true")}));
  ReadResult first = at.read_in(1 << 20);
  Head head;
  at.known.add(head, first.document, first.document.entries());
  at.put(inbox_of({entry("a", "true"), entry("b", "true"), entry("a"), entry("c"), entry("a"), entry("b")}));
  ReadResult reading = at.read_in(150);
  CHECK(reading.skipped == 2);
  REQUIRE(reading.windows.size() > 1);
  ReadResult whole = at.read();
  std::vector<std::string> expected = told(at, whole);
  expected.erase(expected.begin(), expected.begin() + 2);
  CHECK(told(at, reading) == expected);
}

TEST_CASE("a file that changed after the scan ends the reading at the next window") {
  WindowSetting at;
  std::vector<std::string> entries(20, entry("a message"));
  at.put(inbox_of(entries));
  ReadResult reading = at.read_in(500);
  REQUIRE(reading.windows.size() > 3);
  SECTION("in place") {
    const std::string bytes = at.bytes();
    at.put(std::string(bytes.size(), ' '));
    CHECK_FALSE(show_window(at.files, reading, 1));
    at.put(bytes.substr(0, 600));
    CHECK_FALSE(show_window(at.files, reading, 1));
  }
  SECTION("by another file in its place, which this reading does not see") {
    std::filesystem::remove(at.inbox());
    at.put("[]");
    CHECK(show_window(at.files, reading, 1));
  }
  SECTION("a read that fails") {
    at.files.set({test::Call::read_at});
    CHECK_FALSE(show_window(at.files, reading, 1));
  }
}

TEST_CASE("a file that moves between two pieces of the scan gives nothing, or what it is then") {
  WindowSetting at;
  at.put(inbox_of(std::vector<std::string>(20, entry("a message"))));
  const std::string bytes = at.bytes();
  const std::string later =
      GENERATE_COPY(std::string(), bytes.substr(0, 700), bytes + " ", inbox_of({entry("another")}));
  for (int nth = 1; nth < 8; ++nth) {
    at.put(bytes);
    int reads = 0;
    at.files.before(test::Call::read_at, [&](const std::string&) {
      if (++reads == nth) at.put(later);
    });
    ReadResult reading = at.read_in(500);
    at.files.before(test::Call::read_at, [](const std::string&) {});
    CAPTURE(nth, later);
    if (reading.windows.size() > 1) {  // scanned to its end before it changed: what is shown is of that version
      CHECK(reading.outcome == ReadOutcome::document);
      const std::size_t last = reading.windows.size() - 1;
      if (show_window(at.files, reading, last))
        CHECK(reading.document.bytes() == reading.windows[last].bytes.of(bytes));
    } else if (reading.outcome == ReadOutcome::document || reading.outcome == ReadOutcome::torn) {
      CHECK(reading.document.bytes() == later);
    }
  }
}

TEST_CASE("how a flag is spelt is known of every window, whichever is at hand") {
  WindowSetting at;
  at.put(inbox_of({entry("a", "true "), entry("b", "true"), entry("c", "true "), entry("d", "false")}));
  at.ack();
  ReadResult reading = at.read_in(8);
  REQUIRE(reading.windows.size() > 1);
  std::vector<bool> in_place;
  for (const auto& one : reading.document.entries()) in_place.push_back(one.in_place);
  CHECK(in_place == std::vector<bool>{true, false, true, false});
}

TEST_CASE("a look at an inbox of several windows ends with all of it marked, and replaces the file once at most") {
  WindowSetting at;
  std::vector<std::string> entries;
  const std::size_t size = window_size / 512;  // some flags lie across a sector's end, in every window
  for (std::size_t i = 0; i < 1200; ++i) entries.push_back(entry(std::to_string(i) + std::string(size, 'x')));
  at.put(inbox_of(entries));
  std::size_t consumed = 0;
  int replaced = 0;
  at.files.before(test::Call::exchange_at, [&](const std::string&) { ++replaced; });
  for (bool more = true; more;) {
    const Batch batch = test::run_awaitable(at.port.receive(at.lead, Access::exclusive, 500));
    REQUIRE(batch.state == BoxState::open);
    more = batch.more;
    CHECK(replaced == 0);
    std::vector<Ack> disposals(batch.taken.size(), Ack::ack);
    consumed += test::run_awaitable(at.port.ack(at.lead, std::move(disposals))).consumed;
  }
  CHECK(consumed == entries.size());
  CHECK(replaced == 1);
  CHECK(at.bytes().find("\"read\": false") == std::string::npos);
}

TEST_CASE("a file is replaced for its flags only while it is what was read, and is known whole from then on") {
  WindowSetting at;
  const std::string one = entry("one", "");  // without a flag there is nothing to mark in place
  at.put(inbox_of({one, entry("two", "true")}));
  auto batch = run_awaitable(at.port.receive(at.lead, Access::exclusive, 10));
  REQUIRE(batch.taken.size() == 2);
  const std::string rewritten = inbox_of({one, entry("2nd", "true")});  // every place is as it was
  at.put(rewritten);
  auto settled = run_awaitable(at.port.ack(at.lead, {Ack::ack, Ack::ack}));
  CHECK((settled.put == WriteStatus::busy && settled.consumed == 0));
  CHECK(at.bytes() == rewritten);

  at.clock.advance(std::chrono::seconds(1));
  batch = run_awaitable(at.port.receive(at.lead, Access::exclusive, 10));
  REQUIRE(batch.taken.size() == 1);
  CHECK(batch.taken[0].bytes.find("2nd") != std::string_view::npos);
  settled = run_awaitable(at.port.ack(at.lead, {Ack::ack}));
  CHECK((settled.put == WriteStatus::done && settled.consumed == 1));
  CHECK(at.bytes() == inbox_of({entry("one", "true"), entry("2nd", "true")}));
}

TEST_CASE("what was marked by replacing the file is not scanned again") {
  WindowSetting at;
  std::vector<std::string> entries;
  for (int i = 0; i < 200; ++i) entries.push_back(entry("message " + std::to_string(i)));
  at.put(inbox_of(entries));
  const auto batch = run_awaitable(at.port.receive(at.lead, Access::exclusive, 1000));
  REQUIRE(batch.taken.size() == 200);
  const auto settled = run_awaitable(at.port.ack(at.lead, std::vector<Ack>(200, Ack::ack)));
  CHECK((settled.put == WriteStatus::done && settled.consumed == 200));
  CHECK(at.bytes().find("false") == std::string::npos);
  CHECK(at.mailbox.known(at.lead).size() == 200);
  CHECK(run_awaitable(at.port.receive(at.lead, Access::exclusive, 1000)).taken.empty());
  CHECK(at.mailbox.read_news(at.lead, ReadMode::unlocked).skipped == 200);
}

TEST_CASE("many flags are set by replacing the file once, and in place again when something was in its way") {
  WindowSetting at;
  std::vector<std::string> entries;
  for (int i = 0; i < 600; ++i) entries.push_back(entry("message " + std::to_string(i)));
  const auto take_all = [&] { return run_awaitable(at.port.receive(at.lead, Access::exclusive, 1000)).taken.size(); };
  const auto ack = [&](std::size_t count) {
    const auto before = at.mailbox.contention().acquired;
    const auto settled = run_awaitable(at.port.ack(at.lead, std::vector<Ack>(count, Ack::ack)));
    return std::pair(settled, at.mailbox.contention().acquired - before);
  };
  at.put(inbox_of(entries));
  REQUIRE(take_all() == 600);
  SECTION("nothing is in its way") {
    const auto [settled, locks] = ack(600);
    CHECK((settled.put == WriteStatus::done && settled.consumed == 600));
    CHECK(locks == 1);
  }
  SECTION("a peer has written") {
    entries.back() = entry("MESSAGE 599");  // every place is as it was
    at.put(inbox_of(entries));
    CHECK(ack(600).first.put == WriteStatus::busy);
    CHECK(at.bytes() == inbox_of(entries));
    at.clock.advance(std::chrono::seconds(1));
    REQUIRE(take_all() == 1);
    const auto [settled, locks] = ack(1);
    CHECK((settled.put == WriteStatus::done && settled.consumed == 600));
    CHECK(locks == 6);  // for five times 128 at most, and for those across a sector's end
  }
  CHECK(at.bytes().find("\"read\": false") == std::string::npos);
}

}  // namespace inbox_poller::mailbox_windows_test
