// The small decisions behind the `inbox` commands.
#include "poller/cli/inbox_entries.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/mailbox_setting.hpp"

namespace inbox_poller::inbox_entries_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::poller::cli;
using namespace inbox_poller::test;
using namespace std::chrono_literals;

namespace {

poller::InboxDocument document(const std::vector<std::string>& entries) {
  return poller::InboxDocument::scan(inbox_of(entries), {"team", "alice"});
}

}  // namespace

TEST_CASE("time stamps of JavaScript and Python are the instants they say") {
  CHECK(parse_timestamp("2026-02-07T15:20:46.348Z") == 1770477646348);
  CHECK(parse_timestamp("2026-02-07T15:20:46Z") == 1770477646000);
  CHECK(parse_timestamp("2026-02-07T15:20:46.348123+00:00") == 1770477646348);
  CHECK(parse_timestamp("2026-02-07T16:20:46+01:00") == 1770477646000);
  CHECK(parse_timestamp("2026-02-07T09:50:46-05:30") == 1770477646000);
  CHECK(parse_timestamp("2026-02-07 15:20:46") == 1770477646000);
  CHECK(parse_timestamp("1970-01-01T00:00:00.999Z") == 999);
  for (const char* odd :
       {"", "yesterday", "2026-02-07", "2026-13-07T15:20:46Z", "2026-02-30T15:20:46Z", "2026-02-07T25:20:46Z",
        "2026-02-07T15:61:46Z", "2026-02-07T15:20:nanZ", "2026-02-07T15:20:99Z", "2026-02-07T15:20:46+x"}) {
    INFO(odd);
    CHECK_FALSE(parse_timestamp(odd).has_value());
  }
}

TEST_CASE("a text is cut at a character") {
  CHECK(shortened("abc", 3) == "abc");
  CHECK(shortened("abcd", 3) == "abc…");
  CHECK(shortened("aöö", 4) == "aö…");
  CHECK(shortened("😀😀", 5) == "😀…");
  CHECK(shortened("\xff\xff\xff", 2) == "\xff\xff…");
}

TEST_CASE("a key may be cut short as long as it means one entry") {
  const auto inbox = document({entry("one"), entry("two"), entry("one")});
  const std::string one = inbox.entries()[0].key.value;  // the third has the same key and "-1"
  const std::string two = inbox.entries()[1].key.value;
  CHECK(*entries_with_keys(inbox, {two.substr(0, 10)}) == std::vector<std::size_t>{1});
  CHECK(*entries_with_keys(inbox, {one}) == std::vector<std::size_t>{0});
  CHECK(*entries_with_keys(inbox, {one + "-1", two}) == std::vector<std::size_t>{2, 1});
  CHECK(entries_with_keys(inbox, {one.substr(0, 31)}).error().code == "inbox.ambiguous_key");
  CHECK(entries_with_keys(inbox, {"zz"}).error().code == "inbox.no_such_key");
  CHECK(entries_with_keys(inbox, {""}).error().code == "inbox.no_such_key");
}

TEST_CASE("an entry without a flag, or with an odd one, is unread") {
  const auto inbox = document({entry("a", "true"), entry("b"), entry("c", ""), entry("d", "\"yes\""), "null"});
  CHECK(entries_that_are(true, inbox) == std::vector<std::size_t>{0});
  CHECK(entries_that_are(false, inbox) == std::vector<std::size_t>{1, 2, 3, 4});
}

TEST_CASE("writing is tried again while the inbox is locked or changes, for five seconds") {
  ManualClock clock;
  const SteadyTime begin = clock.steady();
  const Wait wait = [&](std::chrono::milliseconds pause) {
    CHECK(pause >= 5ms);
    CHECK(pause <= 50ms);
    clock.advance(pause);
  };
  int attempts = 0;
  const auto ends_with = [&](WriteOutcome last, int after) {
    attempts = 0;
    return patiently(clock, wait, [&]() -> WriteResult {
      if (++attempts > after) return {last, {}, 0};
      return {attempts % 2 == 0 ? WriteOutcome::changed : WriteOutcome::lock_held, {}, 0};
    });
  };
  CHECK(ends_with(WriteOutcome::done, 7).outcome == WriteOutcome::done);
  CHECK(attempts == 8);
  CHECK(ends_with(WriteOutcome::lock_foreign, 0).outcome == WriteOutcome::lock_foreign);
  CHECK(attempts == 1);
  const SteadyTime before = clock.steady();
  const WriteOutcome given_up = ends_with(WriteOutcome::done, 1'000'000).outcome;
  CHECK((given_up == WriteOutcome::lock_held || given_up == WriteOutcome::changed));
  CHECK(clock.steady() - before >= 5s);
  CHECK(clock.steady() - before < 5s + 51ms);
  CHECK(begin < before);
}

TEST_CASE("whose an inbox is goes by the roster first") {
  config::TeamConfig config;
  config.team.aliases = {"lead", "alice"};
  config.delivery.allowed_senders = {"user"};
  schema::Roster roster;
  roster.members.resize(1);
  roster.members[0].name = "alice";
  const Result<schema::Roster> readable = roster;
  const Result<schema::Roster> missing = Error{"roster.missing", ""};
  CHECK(whose_inbox("team-lead", config, "team-lead", readable) == Whose::lead);
  CHECK(whose_inbox("alice", config, "team-lead", readable) == Whose::member);
  CHECK(whose_inbox("lead", config, "team-lead", readable) == Whose::alias);
  CHECK(whose_inbox("user", config, "team-lead", readable) == Whose::sender);
  CHECK(whose_inbox("alcie", config, "team-lead", readable) == Whose::nobody);
  CHECK(whose_inbox("alcie", config, "team-lead", missing) == Whose::unknown);
  CHECK(whose_inbox("team-lead", config, "team-lead", missing) == Whose::lead);
}

}  // namespace inbox_poller::inbox_entries_test
