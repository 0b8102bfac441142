#include "handlers/compaction.hpp"

#include <algorithm>

#include "tests/support/catch.hpp"

namespace inbox_poller::compaction_test {

using namespace inbox_poller::handlers;

namespace {

constexpr EpochMs now_ms = 100'000'000;
constexpr EpochMs old_ms = now_ms - 7'200'000;  // two hours

struct Inbox {
  std::vector<schema::MessageKey> keys;
  std::vector<InboxItem> items;

  explicit Inbox(std::size_t entries) {
    keys.reserve(1000);
    for (std::size_t i = 0; i < entries; ++i) add("text " + std::to_string(i));
  }
  InboxItem& add(const std::string& text, std::size_t occurrence = 0) {
    keys.push_back(schema::make_message_key({"t", "team-lead"}, "w1", "2026-02-07T15:20:46.348Z", text, occurrence));
    items.push_back({&keys.back(), 100, true, ArchivedEntry{old_ms, true, false}});
    return items.back();
  }
  [[nodiscard]] std::vector<std::size_t> leaving(const config::CompactionSettings& settings = {}) const {
    return entries_to_compact(settings, items, items.size() * 100, now_ms);
  }
};

std::vector<std::size_t> first(std::size_t count, std::vector<std::size_t> without = {}) {
  std::vector<std::size_t> indexes;
  for (std::size_t i = 0; i < count; ++i)
    if (std::find(without.begin(), without.end(), i) == without.end()) indexes.push_back(i);
  return indexes;
}

}  // namespace

TEST_CASE("what is read and old leaves the inbox, but for the newest ten") {
  CHECK(Inbox(40).leaving() == first(30));
  CHECK(Inbox(10).leaving().empty());
}

TEST_CASE("nothing leaves that is unread, that the ledger does not have, or that owes something") {
  Inbox inbox(60);
  inbox.items[0].is_read = false;
  inbox.items[1].archived.reset();
  inbox.items[2].archived->owes = true;
  inbox.items[3].archived->has_timestamp = false;
  CHECK(inbox.leaving() == first(50, {0, 1, 2, 3}));
}

TEST_CASE("age is counted from when we received it, to the millisecond") {
  Inbox inbox(60);
  config::CompactionSettings settings;
  settings.after = std::chrono::hours(2);
  inbox.items[5].archived->received_ms = old_ms + 1;
  inbox.items[6].archived->received_ms = now_ms + 1'000'000;  // before the clock was put back
  CHECK(inbox.leaving(settings) == first(50, {5, 6}));
}

TEST_CASE("equals leave together or not at all") {
  Inbox inbox(60);
  inbox.add("text 3", 1).is_read = false;
  CHECK(inbox.leaving() == first(50, {3}));
  inbox.items.back().is_read = true;  // one of the newest ten now
  CHECK(inbox.leaving() == first(51, {3}));
  for (int i = 0; i < 20; ++i) inbox.add("later " + std::to_string(i));
  CHECK(inbox.leaving() == first(71));
}

TEST_CASE("the file is not rewritten for a few entries: five hundred, or half of its bytes") {
  Inbox inbox(700);
  for (std::size_t i = 0; i < 200; ++i) inbox.items[i].is_read = false;
  const auto leaving = [&](std::uint64_t file) { return entries_to_compact({}, inbox.items, file, now_ms).size(); };
  CHECK(leaving(98'001) == 490);
  CHECK(leaving(98'002) == 0);
  inbox = Inbox(900);
  for (std::size_t i = 0; i < 390; ++i) inbox.items[i].is_read = false;
  CHECK(leaving(10'000'000) == 500);
  inbox.items[390].is_read = false;
  CHECK(leaving(10'000'000) == 0);
}

TEST_CASE("a look is worth it above so many read entries, or above a size, and only when that is wanted") {
  config::CompactionSettings settings;
  CHECK_FALSE(is_compaction_due(settings, 1000, 1'000'000));
  CHECK(is_compaction_due(settings, 1001, 0));
  CHECK(is_compaction_due(settings, 11, 1'000'001));
  CHECK_FALSE(is_compaction_due(settings, 10, 1'000'001));
  settings.enabled = false;
  CHECK_FALSE(is_compaction_due(settings, 100'000, 100'000'000));
}

}  // namespace inbox_poller::compaction_test
