// What hooks printed, with a clock that moves when told to and a transcript that the test writes.
#include "poller/delivery/hook_offers.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "schema/json_scan.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch.hpp"

namespace inbox_poller::hook_offers_test {

using namespace inbox_poller::poller;
using handlers::HookSign;
using handlers::OfferingHook;
using std::chrono::milliseconds;

namespace {

const std::string text =
    "Messages from your team, delivered by inbox-poller:\n<teammate-message>\none\n</teammate-message>";

struct Session {
  test::ScratchDir folder;
  test::ManualClock clock;
  PosixFileSystem files;
  HookOffers offers{files, clock};
  std::string path = folder.path("transcript.jsonl").string();

  void line(const std::string& members, const std::string& version = "2.1.330") const {
    std::ofstream(path, std::ios::app) << "{" << members << ",\"version\":\"" << version << "\"}\n";
  }
  void given() const { line("\"type\":\"user\",\"message\":{\"content\":" + schema::quote(text) + "}"); }
  void answer() const { line("\"type\":\"assistant\""); }
  HookOffer offer(OfferingHook hook) {
    HookOffer offer;
    offer.hook = hook;
    offer.session = "s";
    offer.text = text;
    offer.messages.resize(1);
    offer.messages.front().id = 7;
    offer.place = offers.place();
    offer.at = clock.steady();
    return offer;
  }
  void hand_out(OfferingHook hook) { offers.add(offer(hook)); }
};

}  // namespace

TEST_CASE("what a hook printed is proven once it stands in the transcript with an answer behind it, and not before") {
  Session session;
  session.given();  // an earlier one, with the same text
  session.answer();
  session.offers.follow("s", session.path);
  session.hand_out(OfferingHook::prompt);
  CHECK(session.offers.look(false).empty());
  session.line("\"type\":\"queue-operation\",\"content\":" + schema::quote(text));
  session.given();
  CHECK(session.offers.look(false).empty());
  session.answer();
  const auto verdicts = session.offers.look(false);
  REQUIRE(verdicts.size() == 1);
  CHECK(verdicts.front().proven);
  CHECK(verdicts.front().offer.messages.front().id == 7);
  CHECK(session.offers.look(false).empty());
}

TEST_CASE("a transcript that is looked at before the hook has said that it printed is looked at again") {
  for (const bool others : {false, true}) {
    Session session;
    session.answer();
    session.offers.follow("s", session.path);
    if (others) session.hand_out(OfferingHook::wait);
    auto offer = session.offer(OfferingHook::prompt);
    session.given();
    session.answer();
    CHECK(session.offers.look(true).size() == (others ? 1 : 0));
    if (others) session.hand_out(OfferingHook::wait);
    session.offers.add(std::move(offer));
    CHECK(session.offers.look(false).size() == 1);
  }
}

TEST_CASE("an event that is told twice is one, and a later one is another") {
  Session session;
  session.hand_out(OfferingHook::prompt);
  CHECK(session.offers.heard(HookSign::prompt, "s").empty());
  session.clock.advance(milliseconds(1500));
  const auto verdicts = session.offers.heard(HookSign::prompt, "s");
  REQUIRE(verdicts.size() == 1);
  CHECK_FALSE(verdicts.front().proven);
}

TEST_CASE("another prompt is another event, however soon it comes") {
  Session session;
  session.answer();
  session.offers.follow("s", session.path);
  session.hand_out(OfferingHook::prompt);
  session.given();
  CHECK(session.offers.heard(HookSign::prompt, "s").empty());
  const auto verdicts = session.offers.heard(HookSign::prompt, "s", "what a person typed after Escape");
  REQUIRE(verdicts.size() == 1);
  CHECK_FALSE(verdicts.front().proven);
}

TEST_CASE("a transcript that lacks it brings it back, but not before the client had the time to write") {
  Session session;
  session.answer();
  session.offers.follow("s", session.path);
  session.hand_out(OfferingHook::tool);
  CHECK(session.offers.heard(HookSign::stop, "s").empty());
  session.clock.advance(milliseconds(2000));
  CHECK(session.offers.look(false).empty());
  session.clock.advance(milliseconds(1500));
  const auto verdicts = session.offers.look(false);
  REQUIRE(verdicts.size() == 1);
  CHECK_FALSE(verdicts.front().proven);
}

TEST_CASE("what wakes a session comes after the turn that ran meanwhile, so the time to write begins with that turn's end") {
  Session session;
  session.answer();
  session.offers.follow("s", session.path);
  session.hand_out(OfferingHook::wait);
  CHECK(session.offers.heard(HookSign::prompt, "s", "what a person asked").empty());
  session.clock.advance(milliseconds(10'000));
  CHECK(session.offers.heard(HookSign::stop, "s").empty());
  session.clock.advance(milliseconds(2000));
  CHECK(session.offers.heard(HookSign::held, "s").empty());  // a Stop hook had let it go on
  session.clock.advance(milliseconds(2000));
  CHECK(session.offers.look(false).empty());
  session.clock.advance(milliseconds(1500));
  const auto verdicts = session.offers.look(false);
  REQUIRE(verdicts.size() == 1);
  CHECK_FALSE(verdicts.front().proven);
}

TEST_CASE("where an old client's transcript leaves it out, the next hook of the turn proves it") {
  Session session;
  session.line("\"type\":\"assistant\"", "2.1.50");
  session.offers.follow("s", session.path);
  session.hand_out(OfferingHook::tool);
  CHECK(session.offers.version() == "2.1.50");
  CHECK(session.offers.heard(HookSign::tool, "s").empty());
  const auto verdicts = session.offers.heard(HookSign::stop, "s");
  REQUIRE(verdicts.size() == 1);
  CHECK(verdicts.front().proven);
}

TEST_CASE("another session, and what the old one's transcript says later, prove nothing") {
  Session session;
  session.offers.follow("s", session.path);
  session.hand_out(OfferingHook::prompt);
  const auto verdicts = session.offers.heard(std::nullopt, "another");
  REQUIRE(verdicts.size() == 1);
  CHECK_FALSE(verdicts.front().proven);
}

TEST_CASE("a prompt with the text in it is where a session that was woken begins") {
  Session session;
  session.hand_out(OfferingHook::wait);
  CHECK(session.offers.heard(HookSign::prompt, "s", "<task-notification>" + text + "</task-notification>").empty());
  const auto verdicts = session.offers.heard(HookSign::tool, "s");
  REQUIRE(verdicts.size() == 1);
  CHECK(verdicts.front().proven);
}

TEST_CASE("the answer of the turn before, written late, does not prove what woke the session") {
  Session session;
  session.line("\"type\":\"user\"");
  session.offers.follow("s", session.path);
  session.hand_out(OfferingHook::wait);
  CHECK(session.offers.heard(HookSign::prompt, "s", "<task-notification>" + text + "</task-notification>").empty());
  session.answer();
  CHECK(session.offers.look(true).empty());
  session.given();
  CHECK(session.offers.look(true).empty());
  session.answer();
  const auto verdicts = session.offers.look(true);
  REQUIRE(verdicts.size() == 1);
  CHECK(verdicts.front().proven);
}

TEST_CASE("a link, a pipe and a file of nobody are no transcripts, and nothing waits for them") {
  Session session;
  session.given();
  session.answer();
  const auto link = session.folder.path("link").string();
  const auto pipe = session.folder.path("pipe").string();
  REQUIRE(::symlink(session.path.c_str(), link.c_str()) == 0);
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const auto& path :
       {link, pipe, session.folder.path().string(), std::string("relative"), std::string("/nowhere/at/all"),
        std::string("/dev/zero"), session.path + std::string(1, '\0')}) {
    INFO(path);
    session.offers.follow("s", path);
    CHECK(session.offers.version().empty());
    CHECK(session.offers.place() == 0);
  }
}

TEST_CASE("an interruption counts once, and only when it is new") {
  Session session;
  const std::string interrupted = "\"type\":\"user\",\"message\":{\"content\":\"[Request interrupted by user]\"}";
  session.line(interrupted);
  session.offers.follow("s", session.path);
  CHECK_FALSE(session.offers.take_interruption());
  session.line(interrupted);
  CHECK(session.offers.look(true).empty());
  CHECK(session.offers.take_interruption());
  CHECK_FALSE(session.offers.take_interruption());
}

}  // namespace inbox_poller::hook_offers_test
