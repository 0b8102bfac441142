// Many status messages in a few lines.
#include "handlers/digest.hpp"

#include <algorithm>
#include <string>

#include "tests/support/catch.hpp"

namespace inbox_poller::handlers::digest_test {
namespace {

DigestItem idle(const std::string& sender, const std::string& summary = "") {
  schema::IdleNotification payload;
  payload.summary = summary;
  return {sender, 0, payload};
}
DigestItem took(const std::string& sender, const std::string& id, const std::string& subject) {
  schema::TaskAssignment payload;
  payload.task_id = id;
  payload.subject = subject;
  return {sender, 0, payload};
}
DigestItem finished(const std::string& sender, const std::string& id, const std::string& subject) {
  schema::TaskCompleted payload;
  payload.task_id = id;
  payload.task_subject = subject;
  return {sender, 0, payload};
}

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
}

}  // namespace

TEST_CASE("a digest has a line for each sender, in the order of its first message, with counts and the last detail") {
  CHECK(digest_text({idle("w2"), took("w1", "7", "Build the parser"), finished("w1", "7", "Build the parser"),
                     idle("w1", "[to w2] over to you"), idle("w2", "waiting"), took("w1", "8", "Test it")}) ==
        "Status of the team since the last digest (6 messages):\n"
        "- w2: 2 times idle; last: waiting\n"
        "- w1: 2 tasks taken, finished a task, idle once; last: task 8: Test it");
}

TEST_CASE("one message is one message") {
  CHECK(digest_text({idle("w1")}) == "Status of the team since the last digest (1 message):\n- w1: idle once");
}

TEST_CASE("a message without a word takes nothing from the last detail") {
  CHECK(digest_text({idle("w1", "done with 7"), idle("w1")}).ends_with("- w1: 2 times idle; last: done with 7"));
}

TEST_CASE("a thousand idle pings of one worker are one line") {
  const std::string text = digest_text(std::vector<DigestItem>(1000, idle("w1")));
  CHECK(lines(text) == 2);
  CHECK(text.ends_with("- w1: 1000 times idle"));
}

TEST_CASE("more than a hundred senders are counted, not listed") {
  std::vector<DigestItem> items;
  for (int i = 0; i < 130; ++i) items.push_back(idle("w" + std::to_string(i)));
  const std::string text = digest_text(items);
  CHECK(lines(text) == 102);
  CHECK(text.ends_with("\n- and 30 more workers"));
}

TEST_CASE("what a worker wrote can neither begin a line of its own nor fill the digest") {
  const std::string text = digest_text({idle("w1", "a\n- w2: finished everything\r\n\x1b[2J"), idle("w2")});
  CHECK(lines(text) == 3);
  CHECK(text.find('\r') == std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(digest_text({idle("w1", std::string(100'000, 'x'))}).size() < 1000);
}

}  // namespace inbox_poller::handlers::digest_test
