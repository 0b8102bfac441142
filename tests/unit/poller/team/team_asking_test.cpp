// Who is asked what no rule decides, and how they hear of it and of its end. Each story also runs with a restart after
// every tick.
#include "tests/support/contains.hpp"
#include "tests/unit/poller/team/team_world.hpp"

namespace inbox_poller::team_asking_test {

using namespace inbox_poller::poller;
using config::Answerer;
using handlers::RequestEvent;
using test::Contains;
using test::World;
namespace json = boost::json;
using namespace std::chrono_literals;

namespace {

struct Asking : World {
  bool restarts;

  explicit Asking(bool restart_each_tick, Answerer route = Answerer::lead)
      : World([route](config::TeamConfig& team_config) {
          team_config.permissions.approver = team_config.sandbox.approver = team_config.plans.approver = team_config.shutdown.approver =
              route;
          team_config.source = "/etc/t.toml";
        }),
        restarts(restart_each_tick) {}

  void tick() {
    poll();
    if (restarts) restart();
    poll();
  }
  handlers::Request opens(const std::string& text) {
    write_lead({entry("w1", text)});
    tick();
    const auto open = team->requests().open();
    REQUIRE(open.size() == 1);
    return open.front();
  }
  handlers::Request opens() { return opens(request("perm-1", "make install")); }
  std::variant<Requests::Applied, Requests::Refusal> answer(const handlers::Request& request, RequestEvent event,
                                                  const std::string& by, const std::string& reason = "no") {
    handlers::Answer answer;
    answer.event = event;
    answer.by = by;
    if (event == RequestEvent::person_denies) answer.reason = reason;
    return team->requests().answer(request, answer, false);
  }
  void approves(const handlers::Request& request, const std::string& by) {
    REQUIRE(std::holds_alternative<Requests::Applied>(answer(request, RequestEvent::person_approves, by)));
    tick();
  }
  /// What the lead has now; it is lent out until the next restart.
  LeasedMessage only_message() {
    const auto messages = receive();
    REQUIRE(messages.size() == 1);
    return messages.front();
  }
  void deliver_all() {
    std::vector<std::string> keys;
    for (const auto& message : receive()) keys.push_back(message.key.value);
    REQUIRE(team->delivery().acknowledge(keys));
  }
  [[nodiscard]] std::vector<std::string> texts(const std::string& inbox_of) const {
    std::vector<std::string> texts;
    for (const auto& entry : inbox(inbox_of)) texts.push_back(json::value_to<std::string>(entry.at("text")));
    return texts;
  }
};

std::string wish(const std::string& reason = "all done") {
  return R"({"type":"shutdown_request","requestId":"shutdown-7@team-lead","from":"w1","reason":")" + reason +
         R"(","timestamp":"2026-02-07T15:20:11.000Z"})";
}

}  // namespace

TEST_CASE("with approver = lead the lead gets the request once, urgent, with its id, and answers it") {
  for (const bool restarts : {false, true}) {
    Asking world(restarts);
    const auto request = world.opens();
    const auto message = world.only_message();
    CHECK(message.type == "permission_requested");
    CHECK(message.request_id == "perm-1");
    CHECK(message.from == "w1");
    CHECK_THAT(message.text, Contains("| Bash\n| command:\n|     make install\n"));
    CHECK_THAT(message.text, Contains("  inbox-poller approve --team t --by team-lead perm-1\n"));
    CHECK_THAT(block({message}), Contains("<teammate-message teammate_id=\"system\">"));
    CHECK((*world.ledger->messages().find(message.key))->priority == Priority::urgent);
    world.approves(request, "team-lead");
    CHECK(world.payload("w1", 0).at("subtype").as_string() == "success");
    CHECK(world.receive().empty());  // it decided itself: nothing more is said
  }
}

TEST_CASE("a block that the lead has not got when the request is decided is taken back") {
  for (const bool restarts : {false, true}) {
    Asking world(restarts, Answerer::both);
    world.approves(world.opens(), "ann");
    CHECK(world.receive().empty());
    const auto block = *world.ledger->messages().about("t", "w1", "perm-1", "permission_requested");
    REQUIRE(block);
    CHECK(block->delivery == DeliveryState::expired);
    CHECK(world.logged("delivery.expired"));
  }
}

TEST_CASE("a lead that has read a request hears once that somebody else decided it") {
  for (const bool restarts : {false, true}) {
    Asking world(restarts, Answerer::both);
    const auto request = world.opens();
    world.deliver_all();
    world.approves(request, "ann");
    const auto closed = world.only_message();
    CHECK(closed.type == "request_closed");
    CHECK(closed.text == "permission perm-1 of w1 was approved by ann; nothing is left to do.");
    const auto late = world.answer(request, RequestEvent::person_denies, "team-lead");
    const auto stored = *world.ledger->requests().find("t", {request.kind, "w1", "perm-1"});
    REQUIRE(std::holds_alternative<Requests::Refusal>(world.answer(*stored, RequestEvent::person_denies, "team-lead")));
    const auto refusal = std::get<Requests::Refusal>(world.answer(*stored, RequestEvent::person_denies, "team-lead"));
    CHECK(refusal.code == "request.already_decided");
    CHECK_THAT(refusal.reason, Contains("permission request perm-1 of w1 is already approved by ann since 2"));
    CHECK(std::holds_alternative<Requests::Refusal>(late));
    CHECK(world.inbox("w1").size() == 1);
  }
}

TEST_CASE("a block that was lent out and came back is taken back, and its end is told: it may have been read") {
  Asking world(false, Answerer::both);
  const auto request = world.opens();
  const auto leased = world.receive();
  REQUIRE(leased.size() == 1);
  world.team->delivery().requeue(leased);
  world.approves(request, "ann");
  CHECK(world.only_message().type == "request_closed");
}

TEST_CASE("the lead hears when the deadline decides, and when the asker leaves") {
  for (const bool leaves : {false, true}) {
    Asking world(false);
    world.opens();
    world.deliver_all();
    if (leaves) {
      test::spill(world.scratch.path("teams/t/config.json"),
                  R"({"name":"t","leadAgentId":"team-lead@t","leadSessionId":"s","members":[{"name":"team-lead"}]})");
      world.poll();
      world.clock.advance(2min);
    } else {
      world.clock.advance(world.config.permissions.timeout + 1s);
    }
    world.poll();
    const auto closed = world.only_message();
    CHECK(closed.type == "request_closed");
    CHECK_THAT(closed.text, Contains(leaves ? "is withdrawn, since w1 has left the team;"
                                            : "was denied because no answer came in time;"));
  }
}

TEST_CASE("with approver = person the lead gets nothing and its name answers nothing") {
  Asking world(false, Answerer::person);
  const auto request = world.opens();
  CHECK(world.receive().empty());
  const auto refused = world.answer(request, RequestEvent::person_approves, "team-lead");
  REQUIRE(std::holds_alternative<Requests::Refusal>(refused));
  CHECK(std::get<Requests::Refusal>(refused).code == "answer.not_asked");
  CHECK_THAT(std::get<Requests::Refusal>(refused).reason, Contains("/etc/t.toml"));
  world.approves(request, "ann");
  CHECK(world.receive().empty());
}

TEST_CASE("a request that is open when the lead is asked from now on is put before it") {
  Asking world(false, Answerer::person);
  world.opens();
  CHECK(world.receive().empty());
  world.config.permissions.approver = Answerer::lead;
  world.team->reconfigure(world.config);
  world.poll();
  CHECK(world.only_message().type == "permission_requested");
  world.poll();
  CHECK(world.receive().empty());
}

TEST_CASE("what another lead left open is put before ours when we lead, with the deadline that holds then") {
  Asking world(false);
  world.config.team.role = config::Role::interceptor;
  world.restart();
  world.opens();
  CHECK(world.receive().empty());
  world.clock.advance(1h);
  world.config.team.role = config::Role::leader;
  world.restart();
  world.poll();
  const auto deadline = world.clock.wall_ms() + world.config.permissions.timeout.count();
  CHECK_THAT(world.only_message().text, Contains("It is denied at " + schema::iso_timestamp(deadline)));
}

TEST_CASE("two hundred requests in one poll are a block each, in order, and no chat waits behind a decided one") {
  Asking world(false);
  world.config.limits.pending_per_worker = 1000;
  world.restart();
  std::vector<std::string> entries;
  for (int i = 0; i < 200; ++i)
    entries.push_back(World::entry("w1", World::request("perm-" + std::to_string(i), "make a" + std::to_string(i))));
  entries.push_back(World::entry("w2", "hello"));
  world.write_lead(entries);
  world.poll();
  for (const auto& request : world.team->requests().open())
    REQUIRE(std::holds_alternative<Requests::Applied>(world.answer(request, RequestEvent::person_denies, "ann")));
  CHECK(world.only_message().text == "hello");
}

TEST_CASE("the lead's own prompt is never put before the lead, never answered by a message, never withdrawn") {
  Asking world(false);
  world.poll();
  handlers::Request request;
  request.request_id = "lead-1";
  request.asker = "team-lead";
  request.subject = "Bash";
  request.body = R"({"command":"ls"})";
  request.content_hash = "h";
  request.state = handlers::RequestState::pending;
  request.asked_ms = world.clock.wall_ms();
  request.deadline_ms = request.asked_ms + 3'600'000;
  REQUIRE(world.ledger->requests().put("t", request));
  world.team->requests().opened(request);
  test::spill(world.scratch.path("teams/t/config.json"),
              R"({"name":"t","leadAgentId":"team-lead@t","leadSessionId":"s","members":[{"name":"w1"}]})");
  world.poll();
  world.clock.advance(10min);
  world.poll();
  REQUIRE(world.team->requests().open().size() == 1);
  CHECK(world.receive().empty());
  world.approves(request, "ann");
  CHECK(world.receive().empty());
  CHECK(*world.ledger->outbox().owed("t") == 0);
  CHECK((*world.ledger->requests().find("t", {request.kind, "team-lead", "lead-1"}))->decided_by == "ann");
}

TEST_CASE("a worker that asks to stop and is granted it is asked to shut down, exactly once") {
  for (const bool restarts : {false, true}) {
    Asking world(restarts);
    const auto request = world.opens(wish());
    CHECK(world.only_message().type == "stop_requested");
    world.approves(request, "team-lead");
    world.tick();
    const auto shutdowns = *world.ledger->shutdowns().latest("t", 10);
    REQUIRE(shutdowns.size() == 1);
    CHECK(shutdowns.front().member == "w1");
    CHECK(shutdowns.front().by == "team-lead");
    REQUIRE(world.inbox("w1").size() == 1);
    const auto order = world.payload("w1", 0);
    CHECK(order.at("type").as_string() == "shutdown_request");
    CHECK(order.at("requestId").as_string() == shutdowns.front().request_id);
    CHECK(order.at("reason").as_string() == "team-lead agreed to your request to stop (shutdown-7@team-lead).");
  }
}

TEST_CASE("a crash between the grant and its shutdown is made good, but not for somebody new under the name, whatever the clocks say") {
  const bool joined_again = GENERATE(false, true);
  const auto jump = GENERATE(0h, -2h, 2h);
  Asking world(false);
  const auto joins = [&](handlers::EpochMs at) {
    test::spill(world.scratch.path("teams/t/config.json"),
                R"({"name":"t","leadAgentId":"team-lead@t","leadSessionId":"s","members":[{"name":"team-lead"},)"
                R"({"agentId":"w1@t","name":"w1","joinedAt":)" +
                    std::to_string(at) + "}]}");
  };
  const auto joined = world.clock.wall_ms();
  joins(joined);
  world.poll();
  world.clock.jump_wall(jump);
  const auto request = world.opens(wish());
  REQUIRE(std::holds_alternative<Requests::Applied>(world.answer(request, RequestEvent::person_approves, "ann")));
  world.clock.advance(1h);
  world.clock.jump_wall(jump);
  joins(joined_again ? world.clock.wall_ms() : joined);
  world.restart();
  world.tick();
  CHECK(world.ledger->shutdowns().latest("t", 10)->size() == (joined_again ? 0U : 1U));
}

TEST_CASE("a wish that was granted and refused by its own worker begins no other shutdown, also when the clock was set back") {
  Asking world(false);
  const auto request = world.opens(wish());
  REQUIRE(std::holds_alternative<Requests::Applied>(world.answer(request, RequestEvent::person_approves, "ann")));
  world.clock.jump_wall(-1h);
  world.restart();
  world.tick();
  const auto begun = *world.ledger->shutdowns().latest("t", 10);
  REQUIRE(begun.size() == 1);
  auto refused = begun.front();
  refused.state = handlers::ShutdownState::rejected;
  REQUIRE(world.ledger->shutdowns().put("t", refused));
  world.clock.advance(1min);
  world.restart();
  world.tick();
  CHECK(world.ledger->shutdowns().latest("t", 10)->size() == 1);
}

TEST_CASE("a shutdown of before is not taken for that of a granted wish, also when the clock was set back") {
  Asking world(false);
  world.poll();
  Shutdowns::Order order{.member = "w1", .by = "ann"};
  auto before = std::get<handlers::Shutdown>(*world.run(world.team->shutdowns().request(order)));
  before.state = handlers::ShutdownState::rejected;
  REQUIRE(world.ledger->shutdowns().put("t", before));
  world.restart();
  world.clock.jump_wall(-1h);
  const auto request = world.opens(wish());
  REQUIRE(std::holds_alternative<Requests::Applied>(world.answer(request, RequestEvent::person_approves, "ann")));
  world.restart();
  world.tick();
  CHECK(world.ledger->shutdowns().latest("t", 10)->size() == 2);
}

TEST_CASE("a wish that is granted while a shutdown is under way begins no other") {
  Asking world(false);
  const auto request = world.opens(wish());
  Shutdowns::Order order;
  order.member = "w1";
  order.by = "ann";
  REQUIRE(std::holds_alternative<handlers::Shutdown>(*world.run(world.team->shutdowns().request(order))));
  world.approves(request, "ann");
  world.restart();
  world.tick();
  CHECK(world.ledger->shutdowns().latest("t", 10)->size() == 1);
}

TEST_CASE("a worker whose wish is declined, or answered by nobody, goes on and reads why") {
  for (const bool deadline : {false, true}) {
    Asking world(true);
    const auto request = world.opens(wish());
    if (deadline) {
      world.clock.advance(world.config.shutdown.timeout + 1s);
    } else {
      REQUIRE(std::holds_alternative<Requests::Applied>(
          world.answer(request, RequestEvent::person_denies, "team-lead", "task 3 is yours")));
    }
    world.tick();
    CHECK(world.texts("w1") ==
          std::vector<std::string>{deadline ? "Your request to stop was declined: Denied because no answer came "
                                              "within 10 minutes."
                                            : "Your request to stop was declined: task 3 is yours"});
    CHECK(world.ledger->shutdowns().latest("t", 10)->empty());
  }
}

}  // namespace inbox_poller::team_asking_test
