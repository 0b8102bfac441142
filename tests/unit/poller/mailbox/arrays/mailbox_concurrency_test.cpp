// Peers that keep the protocol write while we mark and append: nothing is lost, nothing is torn, nothing appears twice.
#include <map>
#include <random>
#include <thread>

#include "poller/mailbox/arrays/array_entry.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/mailbox_setting.hpp"

namespace inbox_poller::mailbox_concurrency_test {

using namespace inbox_poller::poller;
using namespace inbox_poller::test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

constexpr int peers = 4;
constexpr int messages_each = 60;
constexpr int our_messages = 60;

/// A client: takes the lock with retries, reads, adds its entry, writes, releases. Even ones rewrite in place (2.1.50),
/// odd ones replace by rename (2.1.329). Returns how many it could write.
int run_peer(const MailboxSetting& at, int number) {
  std::minstd_rand random(static_cast<unsigned>(number) + 1);
  int written = 0;
  for (int i = 0; i < messages_each; ++i) {
    while (::mkdir(at.lock().c_str(), 0777) != 0)
      std::this_thread::sleep_for(std::chrono::microseconds(100 + random() % 400));  // clock: the pace of a peer
    const std::string now = slurp(at.inbox());
    const std::string one = entry("peer " + std::to_string(number) + " message " + std::to_string(i));
    const auto document = poller::InboxDocument::scan(now, {"team", at.lead});
    if (!document.problem()) {
      const std::string next = document.with_appended(one);
      if (number % 2 == 0) {
        spill(at.inbox(), next);
      } else {
        const fs::path temporary = at.folder() / ("team-lead.json.tmp.peer" + std::to_string(number));
        spill(temporary, next);
        fs::rename(temporary, at.inbox());
      }
      ++written;
    }
    ::rmdir(at.lock().c_str());
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 1500));  // clock: the pace of a peer
  }
  return written;
}

}  // namespace

TEST_CASE(
    "peers append under honest locks while we mark and append: every entry is there once, every mark of ours holds") {
  MailboxSetting at;
  at.put("[]");
  SystemClock clock;
  ArrayInboxes mailbox(at.real, clock, at.team().string(), "team", at.limits.inbox_file.count);

  std::vector<int> written(peers);
  std::vector<std::thread> threads;
  for (int number = 0; number < peers; ++number) {
    threads.emplace_back([&, number] { written[static_cast<std::size_t>(number)] = run_peer(at, number); });
  }
  int ours = 0;
  std::size_t marked = 0;
  for (int round = 0; round < 20'000 && ours < our_messages; ++round) {
    AppendReceipt receipt;
    const WriteOutcome appended = mailbox.append(at.lead, entry("ours " + std::to_string(ours)), receipt).outcome;
    if (appended == WriteOutcome::done || appended == WriteOutcome::already_there) ++ours;
    const ReadResult read = mailbox.read(at.lead, ReadMode::unlocked);
    if (read.outcome == ReadOutcome::document) {
      std::vector<std::size_t> all(read.document.entries().size());
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
      marked += mailbox.mark_read(at.lead, read.document, all).marked;
    }
    std::this_thread::sleep_for(200us);  // clock: the pace of our side; the rounds are counted
  }
  for (std::thread& thread : threads) thread.join();

  for (const int count : written) CHECK(count == messages_each);
  CHECK(ours == our_messages);
  const ReadResult last = mailbox.read(at.lead, ReadMode::unlocked);
  REQUIRE(last.outcome == ReadOutcome::document);
  std::map<std::string, int> seen;
  std::size_t read_flags = 0;
  for (const poller::InboxEntry& found : last.document.entries()) {
    const auto envelope = poller::decode_entry(last.document.entry_bytes(found));
    REQUIRE(envelope.ok());
    ++seen[envelope->text];
    if (found.read == poller::ReadFlag::read) ++read_flags;
  }
  CHECK(seen.size() == static_cast<std::size_t>(peers * messages_each + our_messages));
  for (const auto& [text, count] : seen) {
    CAPTURE(text);
    CHECK(count == 1);
  }
  CHECK(marked == read_flags);
  CHECK(marked > 0);
  CHECK(at.litter().empty());
}

}  // namespace inbox_poller::mailbox_concurrency_test
