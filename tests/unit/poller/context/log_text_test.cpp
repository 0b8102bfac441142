// The log as a person reads it.
#include <cstdlib>
#include <ctime>
#include <string>

#include "poller/context/log_text.hpp"
#include "tests/support/catch.hpp"

namespace inbox_poller::log_text_test {

using namespace inbox_poller::poller;

namespace {

constexpr EpochMs at = 1'795'400'393'326;  // 02:19:53 UTC and a third of a second

struct Utc {
  Utc() {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }
};

std::string line(Event event, const Fields& fields) {
  static const Utc utc;
  return log_text(event, fields, at, false);
}

std::size_t columns(const std::string& text) {
  std::size_t count = 0;
  for (const char c : text) count += (c & 0xc0) != 0x80 ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("a line begins with whom it is about, tells times as times and drops what is empty") {
  CHECK(line(Event::request_decided, {{"team", "demo"},
                                      {"from", "ada"},
                                      {"type", "permission"},
                                      {"request_id", "perm-1"},
                                      {"subject", "Bash: make"},
                                      {"old", "pending"},
                                      {"new", "approved"},
                                      {"by", "mona"},
                                      {"rule", ""},
                                      {"latency_ms", "2130"}}) ==
        "02:19:53 demo ada: Bash: make  request.decided  pending -> approved  by mona  after 2.1 s  perm-1");
  CHECK(line(Event::request_decided, {{"team", "demo"}, {"from", "ada"}, {"new", "approved"}, {"by", "rule"},
                                      {"rule", "Bash(make)"}, {"reason", "allowed by rule"}}) ==
        "02:19:53 demo ada  request.decided  approved  rule Bash(make)");
  CHECK(line(Event::request_pending, {{"team", "demo"}, {"deadline_ms", std::to_string(at + 61'000)}}) ==
        "02:19:53 demo  request.pending  until 02:20:54");
  CHECK(line(Event::message_accepted, {{"team", "demo"}, {"from", "ada"}, {"new", "queued"}, {"message_key", "9181534d01234567"}}) ==
        "02:19:53 demo ada  message.accepted  queued  9181534d");
  CHECK(line(Event::message_rejected, {{"team", "demo"}, {"reason", "nobody knows him"}}) ==
        "02:19:53 WARNING demo  message.rejected  nobody knows him");
  CHECK(line(Event::lead_state, {{"team", "demo"}, {"old", "busy"}, {"new", ""}}) ==
        "02:19:53 demo  lead.state  busy -> nothing");
}

TEST_CASE("an event is one line of at most 120 columns, and a warning still says what to do") {
  const std::string longest(3000, 'x');
  const std::string wide = [] {
    std::string text;
    for (int i = 0; i < 500; ++i) text += "\xc3\xa4";
    return text;
  }();
  for (const std::string& text : {longest, wide, std::string("two\nlines\x1b[2J\xff"), std::string("password=hunter2")}) {
    const auto told = line(Event::request_decided, {{"team", "demo"}, {"from", "ada"}, {"subject", text}, {"rule", text},
                                                    {"reason", text}, {"request_id", "perm-1"}});
    CHECK(columns(told) <= log_columns);
    CHECK(told.ends_with("perm-1"));
    CHECK(told.find('\n') == std::string::npos);
    CHECK(told.find('\x1b') == std::string::npos);
    CHECK(told.find("hunter2") == std::string::npos);
  }
  const std::string mend = std::string(150, 'y') + ": chmod go-w /x";
  CHECK(line(Event::daemon_warning, {{"path", longest}, {"reason", mend}}).ends_with(mend));
}

TEST_CASE("times as a person says them") {
  CHECK(time_text(950) == "950 ms");
  CHECK(time_text(2130) == "2.1 s");
  CHECK(time_text(65'000) == "1 min 5 s");
  CHECK(time_text(3'720'000) == "1 h 2 min");
}

TEST_CASE("the journal is told the level in front of a line") {
  CHECK(journal_prefix(config::LogLevel::error) == "<3>");
  CHECK(journal_prefix(config::LogLevel::debug) == "<7>");
}

}  // namespace inbox_poller::log_text_test
