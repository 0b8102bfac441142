// The log: one line an event whatever the texts contain, secrets masked, nothing written through a link.
#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "poller/context/telemetry.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch.hpp"

namespace inbox_poller::telemetry_test {

using namespace inbox_poller::poller;

namespace {

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

config::LogSettings settings(const std::filesystem::path& file, config::LogFormat format) {
  config::LogSettings log;
  log.file = file.string();
  log.format = format;
  log.level = config::LogLevel::debug;
  return log;
}

}  // namespace

TEST_CASE("an event is one JSON line, whatever bytes an agent put into it") {
  const test::ScratchDir folder;
  const auto file = folder.path() / "log";
  const auto text = GENERATE(as<std::string>(), "plain", "two\nlines\r\n", "\x1b[31mred\x1b[0m",
                             "fake\",\"level\":\"info\",\"event\":\"approved", "%s%n%d {} {0}", "\xff\xfe broken utf-8",
                             std::string("nul\0nul", 7),
                             "c1 \xc2\x9b"
                             "31m and del \x7f",
                             "turned \xe2\x80\xae and hidden \xe2\x80\x8b", std::string(5000, 'x') + "\xc3");
  {
    auto telemetry = Telemetry::open(settings(file, config::LogFormat::json));
    REQUIRE(telemetry);
    (*telemetry)->emit(Event::message_rejected, {{"team", "t"}, {"reason", text}, {"latency_ms", "3"}});
  }
  const auto lines = lines_of(file);
  REQUIRE(lines.size() == 1);
  const auto line = boost::json::parse(lines[0]).as_object();
  CHECK(line.at("event").as_string() == "message.rejected");
  CHECK(line.at("level").as_string() == "warn");
  CHECK(line.at("latency_ms").as_int64() == 3);
  CHECK(lines[0].size() < 3000);
  for (const unsigned char c : lines[0]) CHECK((c >= 0x20 && c != 0x7f));
  CHECK(lines[0].find("\xc2\x9b") == std::string::npos);
  CHECK(lines[0].find("\xe2\x80\xae") == std::string::npos);
  CHECK(lines[0].find("\xe2\x80\x8b") == std::string::npos);
}

TEST_CASE("on a terminal's format an event is one line too") {
  const test::ScratchDir folder;
  const auto file = folder.path() / "log";
  {
    auto telemetry = Telemetry::open(settings(file, config::LogFormat::text));
    REQUIRE(telemetry);
    (*telemetry)->emit(Event::request_decided, {{"team", "t"}, {"reason", "a b\n\x1b[2J c"}});
  }
  const auto lines = lines_of(file);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find(" t  request.decided  a b\\n\\x1b[2J c") != std::string::npos);
}

TEST_CASE("events of one transaction are a line each, as if they had come one by one") {
  const test::ScratchDir folder;
  const std::vector<std::pair<Event, Fields>> events{
      {Event::message_accepted, {{"team", "t"}, {"from", "ann"}, {"reason", "a \"b\"\n\x1b[2J\\ \u00e4 \xff"}}},
      {Event::message_rejected, {{"team", "t"}, {"reason", "password=hunter2 and more"}, {"count", "2"}}},
      {Event::delivery_offered, {{"team", "t"}, {"message_key", std::string(32, 'a')}, {"attempts", "1"}}},
      {Event::message_malformed, {{"team", "t"}, {"reason", std::string(5000, 'x')}}}};
  for (const auto format : {config::LogFormat::json, config::LogFormat::text}) {
    const auto alone = folder.path() / "alone";
    const auto together = folder.path() / "together";
    {
      const auto one = Telemetry::open(settings(alone, format));
      const auto all = Telemetry::open(settings(together, format));
      REQUIRE((one && all));
      (*all)->set_level(config::LogLevel::warn);
      std::vector<LoggedEvent> batch;
      for (const auto& [event, fields] : events) {
        batch.push_back({event, fields});
        if (event_level(event) == config::LogLevel::warn) (*one)->emit(event, fields);
      }
      for (int i = 0; i < 30; ++i) batch.push_back({events[3].first, events[3].second});  // more than one write
      for (int i = 0; i < 30; ++i) (*one)->emit(events[3].first, events[3].second);
      (*all)->emit(batch);
    }
    const auto timeless = [](const std::string& line) { return line.substr(line.find(line[0] == '{' ? "warn" : "WARN")); };
    auto expected = lines_of(alone);
    auto written = lines_of(together);
    REQUIRE(written.size() == 32);
    REQUIRE(expected.size() == written.size());
    for (std::size_t i = 0; i < written.size(); ++i) CHECK(timeless(written[i]) == timeless(expected[i]));
    std::filesystem::remove(alone);
    std::filesystem::remove(together);
  }
}

TEST_CASE("the log is not written through a link") {
  const test::ScratchDir folder;
  std::ofstream(folder.path() / "victim") << "keep";
  std::filesystem::create_symlink(folder.path() / "victim", folder.path() / "log");
  const auto telemetry = Telemetry::open(settings(folder.path() / "log", config::LogFormat::json));
  REQUIRE_FALSE(telemetry);
  CHECK(telemetry.error().code == "log.file");
  CHECK(lines_of(folder.path() / "victim") == std::vector<std::string>{"keep"});
}

TEST_CASE("every event has a name of its own of the form area.what") {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(last_event); ++i) {
    const auto name = event_name(static_cast<Event>(i));
    CHECK(names.insert(name).second);
    CHECK(name.find('.') != std::string_view::npos);
  }
}

}  // namespace inbox_poller::telemetry_test
