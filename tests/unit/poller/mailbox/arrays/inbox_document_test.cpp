#include "poller/mailbox/arrays/inbox_document.hpp"

#include <boost/json.hpp>
#include <set>

#include "poller/mailbox/arrays/array_entry.hpp"
#include "tests/support/catch.hpp"

namespace inbox_poller::inbox_document_test {

using namespace inbox_poller::schema;
using namespace inbox_poller::poller;

namespace {

const KeyScope scope{"team", "team-lead"};

InboxDocument scan(std::string bytes) { return InboxDocument::scan(std::move(bytes), scope); }

std::string edited(std::string bytes, const InPlaceEdit& edit) {
  REQUIRE(bytes.compare(edit.offset, edit.before.size(), edit.before) == 0);
  return bytes.replace(edit.flag, read_in_place.size(), read_in_place);
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
  return text;
}

std::string marked(const std::string& bytes, std::vector<std::size_t> indexes) {
  return scan(bytes).with_marked_read(indexes, bytes);
}
std::string removed(const std::string& bytes, std::vector<std::size_t> indexes) {
  return scan(bytes).with_removed(indexes);
}

const std::string reply = encode_entry({"team-lead", "hi", "", "t", "", "id"});

const std::string two_entries = R"([
  {
    "from": "worker-1",
    "text": "é 1",
    "timestamp": "2026-02-07T15:20:46.348Z",
    "read": false
  },
  {
    "from": "worker-2",
    "text": "2",
    "timestamp": "2026-02-07T15:20:47.000Z",
    "x-unknown": 123456789012345678901234567890,
    "read": true
  }
])";

}  // namespace

TEST_CASE("a scan finds every entry, its read flag and where the flag's value lies") {
  const InboxDocument document = scan(R"([{"read":false},{"read":true},{"a":1},{"read":"no"},{"read":null},null,7])");
  CHECK_FALSE(document.problem());
  REQUIRE(document.entries().size() == 7);
  const std::vector<ReadFlag> flags = {ReadFlag::unread,  ReadFlag::read,   ReadFlag::absent, ReadFlag::other,
                                       ReadFlag::other, ReadFlag::absent, ReadFlag::absent};
  for (std::size_t i = 0; i < flags.size(); ++i) CHECK(document.entries()[i].read == flags[i]);
  CHECK(document.entries()[0].read_value.of(document.bytes()) == "false");
  CHECK(document.entries()[3].read_value.of(document.bytes()) == "\"no\"");
  CHECK(document.entry_bytes(document.entries()[5]) == "null");
}

TEST_CASE("what is behind a problem is not seen, what is before it is") {
  const InboxDocument document = scan(R"([{"from":"a","text":"x"}, {"from":"b","te)");
  REQUIRE(document.problem());
  CHECK(document.entries().size() == 1);
}

TEST_CASE("a file of white space has no entries and no problem - an object instead of an array has a problem") {
  for (const char* text : {"", " \r\n", "\xEF\xBB\xBF"}) {
    CHECK_FALSE(scan(text).problem());
    CHECK(scan(text).entries().empty());
  }
  CHECK(scan("{}").problem());
  CHECK(scan(std::string("[]\0\0", 4)).problem());
}

TEST_CASE("a key survives everything a peer does to the file without changing the message") {
  const InboxDocument before = scan(two_entries);
  const auto same_keys = [&](const std::string& bytes) {
    const InboxDocument after = scan(bytes);
    REQUIRE(after.entries().size() == 2);
    CHECK(after.entries()[0].key == before.entries()[0].key);
    CHECK(after.entries()[1].key == before.entries()[1].key);
  };
  same_keys(replaced(two_entries, "é", "\\u00e9"));
  same_keys(replaced(two_entries, "\"text\"", "\"\\u0074ext\""));
  same_keys(replaced(replaced(two_entries, "\n", ""), "  ", ""));
  same_keys(replaced(two_entries, "\n", "\r\n"));
  same_keys("\xEF\xBB\xBF" + two_entries + "\n");
  same_keys(replaced(two_entries, "\"read\": false", "\"read\": true"));
  same_keys(replaced(two_entries, "\"from\"", "\"color\": \"red\",\n    \"from\""));
  same_keys(replaced(two_entries, "{\n    \"from\"", "{\"text\": \"an earlier duplicate\", \"from\""));
}

TEST_CASE("sender, time, text, team and inbox each make another key") {
  std::set<std::string> keys;
  for (const char* entry :
       {R"([{"from":"a","timestamp":"t","text":"x"}])", R"([{"from":"b","timestamp":"t","text":"x"}])",
        R"([{"from":"a","timestamp":"u","text":"x"}])", R"([{"from":"a","timestamp":"t","text":"y"}])",
        R"([{"from":"a","text":"x"}])"}) {
    keys.insert(scan(entry).entries()[0].key.value);
    keys.insert(InboxDocument::scan(entry, {"other", "team-lead"}).entries()[0].key.value);
    keys.insert(InboxDocument::scan(entry, {"team", "other"}).entries()[0].key.value);
  }
  CHECK(keys.size() == 15);
}

TEST_CASE("equal messages are told apart by how many came before them") {
  const InboxDocument document =
      scan(R"([{"from":"a","text":"x"},{"from":"b","text":"x"},{"text":"x","from":"a"},{"from":"a","text":"\u0078"}])");
  const auto& entries = document.entries();
  CHECK(occurrence_of(entries[0].key) == 0);
  CHECK(occurrence_of(entries[1].key) == 0);
  CHECK(entries[2].key.value == entries[0].key.value + "-1");
  CHECK(entries[3].key.value == entries[0].key.value + "-2");
}

TEST_CASE("a bad entry has a key that neither marking nor re-indenting changes, so that it is set aside only once") {
  for (const char* bad :
       {R"({"from":5,"text":"a  \" b","read":false})", R"({"from":"w","text":{"a":[1,2]},"read":false})",
        R"({"from":"w","text":"x","timestamp":5,"read":false})", R"({})", R"({"read":false})"}) {
    CAPTURE(bad);
    const std::string bytes = std::string("[") + bad + "]";
    const InboxDocument document = scan(bytes);
    const MessageKey key = document.entries()[0].key;
    CHECK(scan(marked(bytes, {0})).entries()[0].key == key);
    if (const auto edit = document.mark_read_edit(0)) CHECK(scan(edited(bytes, *edit)).entries()[0].key == key);
    CHECK(scan(replaced(replaced(bytes, ",", " ,\n    "), ":", ": ")).entries()[0].key == key);
  }
  const InboxDocument document = scan(R"([null, 5, {"from":5,"text":"a  b"}, {"from":5,"text":"a b"}, null])");
  std::set<std::string> keys;
  for (const InboxEntry& entry : document.entries()) keys.insert(entry.key.value);
  CHECK(keys.size() == 5);
  CHECK(document.entries()[4].key.value == document.entries()[0].key.value + "-1");
}

TEST_CASE("a number as the timestamp tells two messages apart, however it is spelled") {
  const InboxDocument document = scan(
      R"([{"from":"a","text":"x","timestamp":1.5},{"from":"a","text":"x","timestamp":2},{"from":"a","text":"x","timestamp":15e-1}])");
  const auto& entries = document.entries();
  CHECK(entries[1].key.value.substr(0, 32) != entries[0].key.value);
  CHECK(entries[2].key.value == entries[0].key.value + "-1");
}

TEST_CASE("a read flag of another type becomes true, and every other byte stays") {
  for (const char* flag : {"null", "0", "\"no\"", "{}"}) {
    const std::string before = std::string(R"([{"from":"a", "timestamp":1, "read" : )") + flag + R"(,"text":"x","color":5}])";
    CHECK(marked(before, {0}) == R"([{"from":"a", "timestamp":1, "read" : true,"text":"x","color":5}])");
  }
}

TEST_CASE("marking in place changes five bytes and keeps the length") {
  const InboxDocument document = scan(two_entries);
  const auto edit = document.mark_read_edit(0);
  REQUIRE(edit);
  CHECK(edit->before == document.entry_bytes(document.entries()[0]));
  CHECK(edited(two_entries, *edit) == replaced(two_entries, "\"read\": false", "\"read\": true "));
  CHECK_FALSE(document.mark_read_edit(1));
  CHECK_FALSE(document.mark_read_edit(2));
}

TEST_CASE("a flag across the end of a sector is not written in place, for a power loss could tear it") {
  const std::string before = R"([{"from":"a","text":")";
  const std::string between = R"(","read":)";
  for (std::size_t begin = 505; begin < 515; ++begin) {
    const auto bytes = before + std::string(begin - before.size() - between.size(), 'x') + between + "false}]";
    const auto document = scan(bytes);
    REQUIRE(document.entries()[0].read_value.begin == begin);
    const bool is_torn_by_a_sector = begin < 512 && begin + 5 > 512;
    CHECK(document.mark_read_edit(0).has_value() != is_torn_by_a_sector);
  }
}

TEST_CASE("marking in place changes the duplicate that counts") {
  const std::string bytes = R"([{"read":false,"from":"a","read":false}])";
  const InboxDocument document = scan(bytes);
  CHECK(edited(bytes, document.mark_read_edit(0).value()) == R"([{"read":false,"from":"a","read":true }])");
}

TEST_CASE("nothing can be marked in place that is not an unread literal") {
  const InboxDocument document = scan(R"([{"read":true},{"a":1},{"read":"false"},{"read":null},null])");
  for (std::size_t i = 0; i < 5; ++i) CHECK_FALSE(document.mark_read_edit(i));
}

TEST_CASE("marking by rewriting sets, replaces or inserts the member, spaced like its neighbors") {
  CHECK(marked(two_entries, {0, 1}) == replaced(two_entries, "\"read\": false", "\"read\": true "));
  CHECK(marked(two_entries, {}) == two_entries);
  CHECK(marked(two_entries, {1, 99}) == two_entries);
  CHECK(marked(R"([{"a":1},{"a":1,"read":"x"},{},{ },null,{"read":null}])", {0, 1, 2, 3, 4, 5}) ==
        R"([{"a":1,"read":true},{"a":1,"read":true},{"read":true},{"read":true },null,{"read":true}])");
  CHECK(marked("[\n  {\n    \"a\": 1\n  }\n]", {0}) == "[\n  {\n    \"a\": 1,\n    \"read\": true\n  }\n]");
  CHECK(marked("[\r\n\t{\r\n\t\t\"a\" : 1,\r\n\t\t\"b\" : 2\r\n\t}\r\n]", {0}) ==
        "[\r\n\t{\r\n\t\t\"a\" : 1,\r\n\t\t\"b\" : 2,\r\n\t\t\"read\" : true\r\n\t}\r\n]");
  CHECK(marked(R"([{"a": 1, "b": 2}])", {0}) == R"([{"a": 1, "b": 2, "read": true}])");
}

TEST_CASE("an append to an empty inbox gives the file the real client would have written") {
  const std::string expected = "[\n  " + reply + "\n]";
  CHECK(scan("[]").with_appended(reply) == expected);
  CHECK(scan("").with_appended(reply) == expected);
  CHECK(scan("[ \n ]").with_appended(reply) == expected);
  CHECK(scan("[]\n").with_appended(reply) == expected + "\n");
  CHECK(scan("\xEF\xBB\xBF[]").with_appended(reply) == "\xEF\xBB\xBF" + expected);
  CHECK(scan("[]\r\n").with_appended(reply) == replaced(expected, "\n", "\r\n") + "\r\n");
}

TEST_CASE("an append is spaced like the last neighbor, and no other byte changes") {
  struct Row {
    std::string name, before, after;
  };
  const std::string compact =
      R"({"from":"team-lead","text":"hi","timestamp":"t","msgV":1,"msg_id":"id","type":"message","read":false})";
  const std::string four = replaced(replaced(reply, "\n  }", "\n    }"), "\n    \"", "\n        \"");
  const std::vector<Row> rows = {
      {"two spaces", two_entries, two_entries.substr(0, two_entries.size() - 2) + ",\n  " + reply + "\n]"},
      {"CRLF", "[\r\n  {\r\n    \"a\": 1\r\n  }\r\n]\r\n",
       "[\r\n  {\r\n    \"a\": 1\r\n  },\r\n  " + replaced(reply, "\n", "\r\n") + "\r\n]\r\n"},
      {"four spaces", "[\n    {\n        \"a\": 1\n    }\n]\n",
       "[\n    {\n        \"a\": 1\n    },\n    " + four + "\n]\n"},
      {"compact", R"([{"a":1},{"a":2}])", R"([{"a":1},{"a":2},)" + compact + "]"},
      {"compact, one entry", R"([{"a":1,"b":2}])", R"([{"a":1,"b":2},)" + compact + "]"},
      {"Python's json.dumps", R"([{"a": 1, "b": 2}, {"a": 1, "b": 2}])",
       R"([{"a": 1, "b": 2}, {"a": 1, "b": 2}, )" + replaced(replaced(compact, "\":", "\": "), ",\"", ", \"") + "]"},
      {"one entry a line", "[\n{\"a\":1},\n{\"a\":2}\n]", "[\n{\"a\":1},\n{\"a\":2},\n" + compact + "\n]"},
      {"null, compact", "[null]", "[null," + compact + "]"},
      {"null, indented", "[\n  null\n]", "[\n  null,\n  " + reply + "\n]"},
      {"empty object", "[\n  {}\n]", "[\n  {},\n  " + reply + "\n]"},
      {"absurd white space", "[\n" + std::string(5000, ' ') + "{\n" + std::string(5000, ' ') + "\"a\": 1}]",
       "[\n" + std::string(5000, ' ') + "{\n" + std::string(5000, ' ') + "\"a\": 1},\n  " + reply + "]"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const std::string after = scan(row.before).with_appended(reply);
    CHECK(after == row.after);
    const InboxDocument again = scan(after);
    CHECK_FALSE(again.problem());
    REQUIRE(again.entries().size() == scan(row.before).entries().size() + 1);
    const auto envelope = decode_entry(again.entry_bytes(again.entries().back()));
    REQUIRE(envelope.ok());
    CHECK(envelope->text == "hi");
  }
}

TEST_CASE("appending one by one gives what one JSON.stringify of all would have given") {
  std::string bytes = "[]";
  for (int i = 0; i < 3; ++i) bytes = scan(bytes).with_appended(reply);
  CHECK(bytes == "[\n  " + reply + ",\n  " + reply + ",\n  " + reply + "\n]");
}

TEST_CASE("entries are removed with their commas, from the beginning, the middle, the end, or all") {
  const std::string bytes = "[\n  {\"a\":1},\n  {\"a\":2},\n  {\"a\":3}\n]\n";
  CHECK(removed(bytes, {0}) == "[\n  {\"a\":2},\n  {\"a\":3}\n]\n");
  CHECK(removed(bytes, {1}) == "[\n  {\"a\":1},\n  {\"a\":3}\n]\n");
  CHECK(removed(bytes, {2}) == "[\n  {\"a\":1},\n  {\"a\":2}\n]\n");
  CHECK(removed(bytes, {2, 0}) == "[\n  {\"a\":2}\n]\n");
  CHECK(removed(bytes, {0, 1, 2}) == "[]\n");
  CHECK(removed(bytes, {}) == bytes);
  CHECK(removed(bytes, {7}) == bytes);
  CHECK(removed("\xEF\xBB\xBF[1]", {0}) == "\xEF\xBB\xBF[]");
  CHECK(removed("[]", {0}) == "[]");
  CHECK(removed("", {0}).empty());
}

TEST_CASE("a file with a problem is never rewritten") {
  const std::string cut = R"([{"from":"a","text":"x","read":false},{"from":"b")";
  CHECK(scan(cut).with_appended(reply) == cut);
  CHECK(removed(cut, {0}) == cut);
}

TEST_CASE("every splice of every style leaves the other entries byte for byte and the file well-formed") {
  const std::string odd =
      R"({"from":"w","text":"\ud83d","n":1e400,"big":123456789012345678901234567890,"a":1,"a":2,"d":[[{}]]})";
  const std::vector<std::string> files = {
      "[" + odd + ",null,{\"read\":false},[1,2],{\"x\":\"\xFF\"},\"s\"]",
      "\xEF\xBB\xBF[\r\n  " + odd + ",\r\n  {\r\n    \"read\" :\tfalse\r\n  },\r\n  5,{}\r\n]\r\n\r\n",
      " [ " + odd + " , {\"read\": true} , {\"read\": 0} ] ",
  };
  for (const std::string& bytes : files) {
    const InboxDocument document = scan(bytes);
    REQUIRE_FALSE(document.problem());
    const std::size_t count = document.entries().size();
    for (unsigned set = 0; set < (1u << count); ++set) {
      std::vector<std::size_t> indexes;
      for (std::size_t i = 0; i < count; ++i) {
        if ((set >> i & 1u) != 0) indexes.push_back(i);
      }
      const InboxDocument less = scan(document.with_removed(indexes));
      REQUIRE_FALSE(less.problem());
      REQUIRE(less.entries().size() == count - indexes.size());
      std::size_t kept = 0;
      const InboxDocument read = scan(document.with_marked_read(indexes, bytes));
      REQUIRE_FALSE(read.problem());
      REQUIRE(read.entries().size() == count);
      for (std::size_t i = 0; i < count; ++i) {
        const std::string_view entry = document.entry_bytes(document.entries()[i]);
        CHECK(read.entries()[i].key == document.entries()[i].key);
        if ((set >> i & 1u) != 0) {
          if (entry.front() == '{') CHECK(read.entries()[i].read == ReadFlag::read);
        } else {
          CHECK(less.entry_bytes(less.entries()[kept++]) == entry);
          CHECK(read.entry_bytes(read.entries()[i]) == entry);
        }
      }
    }
    const InboxDocument more = scan(document.with_appended(reply));
    REQUIRE_FALSE(more.problem());
    CHECK(more.entries().size() == count + 1);
    CHECK(removed(std::string(more.bytes()), {count}) == bytes);
  }
}

TEST_CASE("of more entries than any client writes the first 200,000 are read, and the file counts as damaged") {
  const auto many = [](std::size_t count) {
    std::string bytes = R"([{"from":"a","text":",]}","read":false})";
    for (std::size_t i = 1; i < count; ++i) bytes += ",0";
    return scan(bytes + "]");
  };
  CHECK_FALSE(many(200'000).problem());
  const InboxDocument document = many(200'001);
  CHECK(document.entries().size() == 200'000);
  REQUIRE(document.problem());
  CHECK(document.problem()->what == "more than 200000 entries");
  CHECK(document.bytes()[document.problem()->offset] == ',');
  CHECK(document.bytes().ends_with(",0]"));
}

TEST_CASE("ten thousand equal entries are ten thousand keys") {
  std::string bytes = "[";
  for (int i = 0; i < 10'000; ++i) bytes += std::string(i == 0 ? "" : ",") + R"({"from":"a","text":"x"})";
  const InboxDocument document = scan(bytes + "]");
  REQUIRE(document.entries().size() == 10'000);
  CHECK(occurrence_of(document.entries().back().key) == 9'999);
}

}  // namespace inbox_poller::inbox_document_test
