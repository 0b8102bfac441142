// Our lines in workers' inboxes: written while nobody reads, proven read or written again.
#include <fcntl.h>
#include <unistd.h>

#include "poller/mailbox/jsonl/line_post.hpp"
#include "poller/mailbox/jsonl/proof.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/poller/every_fault.hpp"

namespace inbox_poller::jsonl_post_test {

using poller::ReadStatus;
using poller::Proof;
using poller::WriteStatus;
using What = poller::FileEvent::What;

namespace {

struct PostSetting {
  test::ScratchDir scratch;
  poller::PosixFileSystem real;
  test::FaultyFileSystem files{real};
  test::ManualClock clock;
  poller::Contention contention;
  std::unique_ptr<poller::LinePost> lines = make();
  const std::string name = "bob.jsonl";

  std::unique_ptr<poller::LinePost> make() {
    return std::make_unique<poller::LinePost>(files, clock, poller::make_file_watch(), contention);
  }
  [[nodiscard]] std::filesystem::path file() const { return scratch.path(name); }
  [[nodiscard]] poller::Directory folder() { return *real.open_dir(poller::absolute, scratch.path().string()); }
  [[nodiscard]] std::string bytes() const { return test::slurp(file()); }
  static schema::MessageKey key(const std::string& line) { return {line + "-key"}; }
  static std::optional<schema::MessageKey> key_of(std::string_view line) { return key(std::string(line)); }
  poller::WriteReceipt post(const std::string& line) {
    poller::LinePost::Line one{key(line), line + "\n"};
    lines->post(folder(), name, std::span(&one, 1));
    return one.result;
  }
  ReadStatus read_status(const std::string& line) {
    clock.advance(std::chrono::seconds(1));
    lines->look(folder(), [](const std::string&, std::string_view one) { return key_of(one); });
    return lines->read_status(name, key(line));
  }
  /// As a worker does it, in two halves.
  std::string reads() const { return test::slurp(file()); }
  void empties() const { ::close(::open(file().c_str(), O_WRONLY | O_TRUNC)); }
  void other_writes(const std::string& line) const {
    const int fd = ::open(file().c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    REQUIRE(::write(fd, line.data(), line.size()) == static_cast<::ssize_t>(line.size()));
    ::close(fd);
  }
};

}  // namespace

TEST_CASE("what was done with the file tells what became of a line") {
  const auto proof = [](std::vector<What> events, bool as_long) { return poller::proof_of(events, as_long); };
  CHECK(proof({}, true) == Proof::waiting);
  CHECK(proof({What::read}, true) == Proof::read);
  CHECK(proof({What::read, What::changed, What::changed, What::gone}, false) == Proof::read);
  CHECK(proof({What::changed}, false) == Proof::destroyed);
  CHECK(proof({What::changed}, true) == Proof::waiting);
  CHECK(proof({What::changed, What::read}, false) == Proof::destroyed);
  CHECK(proof({What::changed, What::read}, true) == Proof::doubtful);
  CHECK(proof({What::changed, What::changed}, true) == Proof::doubtful);
  CHECK(proof({What::changed, What::read, What::changed}, false) == Proof::doubtful);
  CHECK(proof({What::gone}, false) == Proof::destroyed);
  CHECK(proof({What::changed, What::gone}, false) == Proof::doubtful);
  CHECK(proof({What::missed, What::read}, true) == Proof::doubtful);
}

TEST_CASE("a line waits until its owner has read it, whether or not the file is emptied yet") {
  PostSetting at;
  CHECK(at.post("one").put == WriteStatus::done);
  CHECK(at.read_status("one") == ReadStatus::waiting);
  CHECK(at.reads() == "one\n");
  CHECK(at.read_status("one") == ReadStatus::consumed);
}

TEST_CASE("a line that was written between the reading and the emptying is lost, and can be written again") {
  PostSetting at;
  at.other_writes("theirs\n");
  at.reads();
  CHECK(at.post("one").put == WriteStatus::done);
  at.empties();
  CHECK(at.read_status("one") == ReadStatus::lost);
  CHECK(at.post("one").put == WriteStatus::done);
  CHECK(at.bytes() == "one\n");
  at.reads();
  at.empties();
  CHECK(at.read_status("one") == ReadStatus::consumed);
}

TEST_CASE("lines of others behind ours, and readers after them, leave no doubt while ours stands there") {
  PostSetting at;
  at.post("one");
  at.other_writes("theirs\n");
  CHECK(at.read_status("one") == ReadStatus::waiting);
  at.other_writes("theirs\n");
  at.other_writes("theirs\n");
  CHECK(at.read_status("one") == ReadStatus::waiting);
  at.other_writes("theirs\n");
  at.reads();
  CHECK(at.read_status("one") == ReadStatus::consumed);
}

TEST_CASE("what cannot be told counts as lost") {
  PostSetting at;
  at.other_writes("theirs\n");
  at.post("one");
  at.empties();
  at.other_writes("a line that is long enough\n");
  at.reads();
  CHECK(at.read_status("one") == ReadStatus::lost);
  at.post("two");
  std::filesystem::remove(at.file());
  CHECK(at.read_status("two") == ReadStatus::lost);
}

TEST_CASE("our own looks are no proof, and each line has its own fate") {
  PostSetting at;
  at.post("one");
  at.post("two");
  CHECK(at.read_status("one") == ReadStatus::waiting);
  at.reads();
  at.post("three");
  CHECK(at.read_status("one") == ReadStatus::consumed);
  CHECK(at.read_status("two") == ReadStatus::consumed);
  CHECK(at.read_status("three") == ReadStatus::waiting);
}

TEST_CASE("a file that somebody has open is busy, and nothing is written") {
  PostSetting at;
  at.other_writes("theirs\n");
  const int reader = ::open(at.file().c_str(), O_RDONLY);
  const auto held = at.post("one");
  CHECK(held.put == WriteStatus::busy);
  CHECK_FALSE(held.detail.empty());
  CHECK(at.bytes() == "theirs\n");
  ::close(reader);
  CHECK(at.post("one").put == WriteStatus::done);
}

TEST_CASE("the same line twice is there once, and a torn line of a dead writer stays apart") {
  PostSetting at;
  at.other_writes("{\"torn");
  CHECK(at.post("one").put == WriteStatus::done);
  CHECK(at.post("one").put == WriteStatus::unchanged);
  at.lines = at.make();
  CHECK(at.post("one").put == WriteStatus::unchanged);
  CHECK(at.bytes() == "{\"torn\none\n");
}

TEST_CASE("what a power cut left of a line of ours becomes that line, what it left of another's stays apart, and zeroes go") {
  const auto behind = [](const std::string& left) {
    PostSetting at;
    at.other_writes("theirs\n" + left);
    CHECK(at.post("one").put == WriteStatus::done);
    CHECK(at.read_status("one") == ReadStatus::waiting);
    return at.bytes();
  };
  const std::string zeroes(4, '\0');
  CHECK(behind("on") == "theirs\none\n");
  CHECK(behind("on" + zeroes) == "theirs\none\n");
  CHECK(behind(zeroes + zeroes) == "theirs\none\n");
  CHECK(behind("tw" + zeroes) == "theirs\ntw\none\n");
  test::with_every_fault([&](const test::Fault& fault) {
    PostSetting at;
    at.other_writes("theirs\non" + zeroes);
    at.files.set(fault);
    static_cast<void>(at.post("one"));
    const bool fired = at.files.fired();
    at.files.heal();
    CHECK(at.bytes().starts_with("theirs\non"));
    static_cast<void>(at.post("one"));
    // Without a lease nothing can be touched but what is behind the end.
    const bool behind_it = fault.call == test::Call::set_lease && at.bytes() == "theirs\non" + zeroes + "\none\n";
    CHECK((behind_it || at.bytes() == "theirs\none\n"));
    return fired;
  });
}

TEST_CASE("a line of an earlier process is found again; one that is gone is lost once and then believed to be read") {
  PostSetting at;
  at.post("one");
  at.post("two");
  at.lines = at.make();
  at.lines->track(at.name, at.key("one"));
  CHECK(at.read_status("one") == ReadStatus::waiting);
  at.reads();
  CHECK(at.read_status("one") == ReadStatus::consumed);
  at.empties();
  at.lines = at.make();
  at.lines->track(at.name, at.key("two"));
  CHECK(at.read_status("two") == ReadStatus::lost);
  at.lines->untrack(at.name, at.key("two"));
  CHECK(at.post("two").put == WriteStatus::done);
  CHECK(at.read_status("two") == ReadStatus::waiting);
}

TEST_CASE("where there are no leases a line is there once as well, and the next process finds it and sees it go") {
  PostSetting at;
  at.files.set({test::Call::set_lease, 1, ENOLCK, true});
  at.other_writes("{\"torn");
  CHECK(at.post("one").put == WriteStatus::done);
  CHECK(at.post("one").put == WriteStatus::unchanged);  // its record in the ledger failed
  at.lines = at.make();
  CHECK(at.post("one").put == WriteStatus::unchanged);
  at.other_writes("half of what another wri");
  CHECK(at.post("one").put == WriteStatus::unchanged);
  CHECK(at.bytes() == "{\"torn\none\nhalf of what another wri");

  at.lines = at.make();
  at.lines->track(at.name, at.key("one"));
  CHECK(at.read_status("one") == ReadStatus::waiting);
  at.reads();
  at.empties();
  CHECK(at.read_status("one") == ReadStatus::lost);
  at.lines->untrack(at.name, at.key("one"));
  CHECK(at.post("one").put == WriteStatus::done);
  at.empties();
  CHECK(at.read_status("one") == ReadStatus::consumed);
}

TEST_CASE("what is taken back says nothing, and the lines around it stay") {
  PostSetting at;
  const std::string stop =
      R"({"type": "shutdown_request", "from": "lead", "content": "x", "timestamp": 1.0, "request_id": "1a2b3c4d"})";
  at.other_writes("before\n");
  at.post(stop);
  at.other_writes("behind\n");
  const std::vector keys{at.key(stop)};
  CHECK(at.lines->recall(at.folder(), at.name, keys, at.key_of).put == WriteStatus::done);
  const std::string bytes = at.bytes();
  CHECK(bytes.starts_with("before\n{\"type\": \"message\", \"from\": \"lead\", \"content\": \"\", \"timestamp\": 1.0}   "));
  CHECK(bytes.ends_with("\nbehind\n"));
  CHECK(bytes.size() == stop.size() + std::string("before\n\nbehind\n").size());
  CHECK(at.lines->recall(at.folder(), "nobody.jsonl", keys, at.key_of).put == WriteStatus::gone);
}

TEST_CASE("whatever call fails, half a line is never left, and the line is there once when it is done") {
  const unsigned met = test::with_every_fault([](const test::Fault& fault) {
    PostSetting at;
    at.other_writes("theirs\n");
    at.files.set(fault);
    const auto first = at.post("one");
    const bool fired = at.files.fired();
    at.files.heal();
    if (fault.call != test::Call::truncate) CHECK((at.bytes() == "theirs\n" || at.bytes() == "theirs\none\n"));
    const auto second = at.post("one");
    CHECK((second.put == WriteStatus::done || second.put == WriteStatus::unchanged));
    CHECK(at.bytes() == "theirs\none\n");
    if (fired && first.put == WriteStatus::done) CHECK(at.lines->follows(at.name));
    return fired;
  });
  CHECK(met > 10);
}

}  // namespace inbox_poller::jsonl_post_test
