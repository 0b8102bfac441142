// A team on several nodes: requests, answers and chat over an engine that loses, repeats and forgets.
#include "handlers/lead_session.hpp"
#include "tests/unit/poller/cluster/cluster_world.hpp"

namespace inbox_poller::hosts_test {

using namespace inbox_poller::poller;
using test::ClusterWorld;
using test::NodeWorld;
using test::World;
using namespace std::chrono_literals;

namespace {

NodeMailRow letter_to_w3() {
  NodeMailRow row;
  row.team = "t";
  row.node = "@h2";
  row.inbox = "w3";
  row.key = schema::make_message_key({"t", "w3"}, "w2", "", "x", 0);
  return row;
}

std::vector<std::string> told(NodeWorld& world) {
  std::vector<std::string> texts, keys;
  for (const auto& one : world.receive_chat()) {
    texts.push_back(one.text);
    keys.push_back(one.key.value);
  }
  REQUIRE(world.team->delivery().acknowledge(keys));
  return texts;
}

/// h1 hears of the leader between, hands its chat over, and leads again when that one's lease has ended.
void h1_leads_again(ClusterWorld& world) {
  world.go_on(4);
  REQUIRE(world.h1.logged("delivery.expired"));
  world.advance(11s);
  world.go_on(4);
  REQUIRE(world.h1.team->context().membership.role == handlers::EffectiveRole::leader);
}

/// What a node with this password could write, whatever its program does.
void forge(ClusterWorld& world, const std::string& node, const Frame& frame) {
  test::MemoryBroker broker(world.broker, node);
  const auto put = test::run_awaitable(broker.put({frame}, 0));
  REQUIRE(put);
  REQUIRE(put->front().what == PutOutcome::What::appended);
}

}  // namespace

TEST_CASE("a request on a follower is judged by the leader, and its answer stands in the follower's file") {
  ClusterWorld world;
  world.h2.add("team-lead", World::entry("w3", World::request("perm-1", "git status", "w3")));
  world.go_on();
  CHECK(world.h1.team->context().membership.role == handlers::EffectiveRole::leader);
  CHECK(world.h2.team->context().membership.role == handlers::EffectiveRole::follower);
  REQUIRE(world.h2.inbox("w3").size() == 1);
  CHECK(world.h2.payload("w3", 0).at("request_id").as_string() == "perm-1");
  CHECK(world.h2.payload("w3", 0).at("subtype").as_string() == "success");
  CHECK(world.h2.all_read());
  CHECK(world.h1.inbox("w3").empty());
}

TEST_CASE(
    "a request that no rule decides waits for a person on the leader's node, with the folder of the worker's node") {
  ClusterWorld world;
  world.go_on();
  world.h2.add("team-lead", World::entry("w3", World::request("perm-1", "make install", "w3")));
  world.go_on();
  const auto open = world.h1.team->requests().open();
  REQUIRE(open.size() == 1);
  CHECK(open.front().asker == "w3");
  CHECK(world.h2.team->requests().open().empty());
  REQUIRE(world.h1.team->context().roster.find("w3") != nullptr);
  CHECK(world.h1.team->context().roster.find("w3")->cwd == "/h2/w3");
  CHECK(world.h1.team->context().roster.find("w3")->tmux_pane_id.empty());
  handlers::Answer yes;
  yes.event = handlers::RequestEvent::person_approves;
  yes.by = "ann";
  REQUIRE(std::holds_alternative<Requests::Applied>(world.h1.team->requests().answer(open.front(), yes, false)));
  world.go_on();
  REQUIRE(world.h2.inbox("w3").size() == 1);
  CHECK(world.h2.payload("w3", 0).at("subtype").as_string() == "success");
}

TEST_CASE("chat of workers goes to the lead and to workers elsewhere, in each sender's order") {
  ClusterWorld world;
  world.go_on();
  for (int i = 1; i <= 5; ++i) {
    world.h2.add("team-lead", World::entry("w3", "to the lead " + std::to_string(i), i));
    world.h2.add("w1", World::entry("w4", "to w1 " + std::to_string(i), i));
    world.h1.add("w3", World::entry("w2", "to w3 " + std::to_string(i), i));
  }
  world.go_on();
  CHECK(told(world.h1) == std::vector<std::string>{"to the lead 1", "to the lead 2", "to the lead 3", "to the lead 4",
                                                   "to the lead 5"});
  CHECK(world.h1.texts("w1") == std::vector<std::string>{"to w1 1", "to w1 2", "to w1 3", "to w1 4", "to w1 5"});
  CHECK(world.h2.texts("w3") == std::vector<std::string>{"to w3 1", "to w3 2", "to w3 3", "to w3 4", "to w3 5"});
}

TEST_CASE("each roster gets the names of the other nodes' members, and no pane of theirs") {
  ClusterWorld world;
  world.go_on(8);
  const auto names = [](const NodeWorld& one) {
    std::vector<std::string> found;
    const auto roster = test::json::parse(test::slurp(one.scratch.path("teams/t/config.json")));
    for (const auto& member : roster.at("members").as_array())
      found.push_back(test::json::value_to<std::string>(member.at("name")));
    return found;
  };
  CHECK(names(world.h1) == std::vector<std::string>{"team-lead", "w1", "w2", "w3", "w4"});
  CHECK(names(world.h2) == std::vector<std::string>{"team-lead", "w3", "w4", "w1", "w2"});
  const auto roster = test::json::parse(test::slurp(world.h1.scratch.path("teams/t/config.json")));
  CHECK(roster.at("members").as_array().at(3).at("tmuxPaneId").as_string().empty());
  CHECK(roster.at("members").as_array().at(3).at("cwd").as_string() == "/h2/w3");
}

TEST_CASE("a node that died was last heard of when its last heartbeat came, although the engine still has that one") {
  ClusterWorld world;
  const auto heard = [&] {
    for (const auto& one : world.h1.team->cluster()->told().nodes)
      if (one.node.bytes == "h2") return static_cast<long long>(one.heard_ms);
    return 0LL;
  };
  world.go_on(4);
  const auto before = heard();
  world.go_on(4);
  CHECK(heard() > before);
  world.all = {&world.h1};
  world.go_on(4);
  const auto last = heard();
  world.go_on(6);
  REQUIRE(world.broker.beats.contains("h2"));
  CHECK(heard() == last);
}

TEST_CASE("a node whose roster is too large for a heartbeat says so, and hears the others") {
  std::vector<std::string> many;
  for (int i = 1000; i < 2000; ++i) many.push_back("m" + std::to_string(i) + std::string(55, 'x'));
  ClusterWorld world;
  NodeWorld large{world.broker, "h1", many};
  world.all = {&large, &world.h2};
  world.go_on(8);
  CHECK(large.log().find("KiB in its heartbeat, and other nodes read at most 256 KiB") != std::string::npos);
  CHECK(world.broker.beats.at("h1").first.size() < longest_beat);  // from before it had read its roster
  CHECK(large.team->context().roster.find("w3")->cwd == "/h2/w3");
}

TEST_CASE("what was read elsewhere is known to whom it was sent from") {
  ClusterWorld world;
  world.go_on(2);
  REQUIRE(world.h1.team->send("w3", "please look", ""));
  world.go_on();
  REQUIRE(world.h2.texts("w3") == std::vector<std::string>{"please look"});
  CHECK_FALSE(world.h1.logged("reply.read"));
  world.h2.read_all("w3");
  world.go_on();
  CHECK(world.h1.logged("reply.read"));
}

TEST_CASE("nothing is lost or doubled whatever the engine loses, repeats, or fails at") {
  const int seed = GENERATE(1, 2, 3);
  CAPTURE(seed);
  ClusterWorld world;
  world.broker.random.seed(static_cast<unsigned>(seed));
  world.go_on(2);
  std::vector<std::string> to_lead, to_w3, to_w1;
  std::mt19937 random(static_cast<unsigned>(seed));
  const auto chance = [&](int of) { return random() % static_cast<unsigned>(of) == 0; };
  for (int round = 0; round < 25; ++round) {
    const auto number = std::to_string(round);
    to_lead.push_back("lead " + number);
    world.h2.add("team-lead", World::entry("w3", to_lead.back(), round));
    to_w1.push_back("w1 " + number);
    world.h2.add("w1", World::entry("w4", to_w1.back(), round));
    to_w3.push_back("w3 " + number);
    world.h1.add("w3", World::entry("w2", to_w3.back(), round));
    world.h2.add("team-lead", World::entry("w4", World::request("perm-" + number, "git status", "w4"), round));
    world.broker.fails_before = seed % 2 == 0 ? 0.1 : 0;
    world.broker.fails_after = seed % 3 == 0 ? 0.2 : 0;
    if (chance(4)) world.broker.lost_puts = 2;
    if (chance(4)) world.broker.given_twice = 1;
    if (chance(8)) world.broker.empty();
    if (chance(6)) world.broker.lose_tail(3);
    if (chance(6)) world.h2.again();
    if (chance(8)) world.h1.again();
    world.go_on(1);
  }
  world.broker.fails_before = world.broker.fails_after = 0;
  world.broker.lost_puts = world.broker.given_twice = 0;
  for (int i = 0; i < 40; ++i) {
    world.advance(5s);
    world.go_on(2);
  }
  CHECK(told(world.h1) == to_lead);
  CHECK(world.h1.texts("w1") == to_w1);
  CHECK(world.h2.texts("w3") == to_w3);
  std::set<std::string> answered;
  for (const auto& text : world.h2.texts("w4"))
    answered.insert(test::json::value_to<std::string>(test::json::parse(text).at("request_id")));
  CHECK(world.h2.texts("w4").size() == 25);
  CHECK(answered.size() == 25);
}

TEST_CASE("a leader that was stopped decides nothing with an old epoch") {
  ClusterWorld world;
  NodeWorld h4{world.broker, "h4", {"w9"}};
  world.go_on(2);
  const auto first = world.broker.epoch;
  REQUIRE(world.h1.team->context().membership.role == handlers::EffectiveRole::leader);
  // It took the request in, and is stopped before it answers.
  world.h2.add("team-lead", World::entry("w3", World::request("perm-1", "make install", "w3")));
  world.go_on(2);
  const auto open = world.h1.team->requests().open();
  REQUIRE(open.size() == 1);
  world.broker.advance(11s);
  h4.clock.advance(11s);
  world.all = {&h4, &world.h2};
  world.go_on();
  CHECK(h4.team->context().membership.role == handlers::EffectiveRole::leader);
  CHECK(world.broker.epoch > first);
  // Its clock stood still: it believes in its lease, and decides. The engine takes nothing of it.
  handlers::Answer no;
  no.event = handlers::RequestEvent::person_denies;
  no.by = "bob";
  REQUIRE(std::holds_alternative<Requests::Applied>(world.h1.team->requests().answer(open.front(), no, false)));
  world.h1.poll();
  world.h1.send();
  world.go_on();
  CHECK(world.h2.inbox("w3").empty());
  CHECK_FALSE(world.h1.team->cluster()->state().leading());
  // And the other one has the request, and its answer is the one.
  const auto there = h4.team->requests().open();
  REQUIRE(there.size() == 1);
  handlers::Answer yes;
  yes.event = handlers::RequestEvent::person_approves;
  yes.by = "ann";
  REQUIRE(std::holds_alternative<Requests::Applied>(h4.team->requests().answer(there.front(), yes, false)));
  world.go_on();
  REQUIRE(world.h2.inbox("w3").size() == 1);
  CHECK(world.h2.payload("w3", 0).at("subtype").as_string() == "success");
}

TEST_CASE("who begins to lead, or leads no longer, does not go on waiting for what was its to read before") {
  ClusterWorld world;
  CHECK(world.broker.woken["h1"] == 0);
  world.go_on();
  REQUIRE(world.h1.team->context().membership.role == handlers::EffectiveRole::leader);
  const auto begun = world.broker.woken["h1"];
  CHECK(begun > 0);
  world.go_on();
  CHECK(world.broker.woken["h1"] == begun);
  world.broker.down = true;
  world.go_on(20);
  REQUIRE(world.h1.team->context().membership.role == handlers::EffectiveRole::standby);
  CHECK(world.broker.woken["h1"] > begun);
}

TEST_CASE("a leader whose lease is over by its own clock commits nothing") {
  ClusterWorld world;
  world.go_on(2);
  world.h2.add("team-lead", World::entry("w3", World::request("perm-1", "make install", "w3")));
  world.go_on(2);
  const auto open = world.h1.team->requests().open();
  REQUIRE(open.size() == 1);
  world.h1.clock.advance(9s);
  handlers::Answer yes;
  yes.event = handlers::RequestEvent::person_approves;
  yes.by = "ann";
  const auto answered = world.h1.team->requests().answer(open.front(), yes, false);
  REQUIRE(std::holds_alternative<Requests::Refusal>(answered));
  CHECK(std::get<Requests::Refusal>(answered).code == "cluster.no_lease");
  CHECK(world.h1.team->requests().open().size() == 1);
  CHECK_FALSE(world.h1.logged("ledger.fault"));
}

TEST_CASE("what the lead has taken is noted also when the lease is over by then, and nothing more is offered") {
  ClusterWorld world;
  world.go_on(2);
  world.h1.add("team-lead", World::entry("w1", "one", 1));
  world.h1.poll();
  const auto offered = world.h1.receive_chat();
  REQUIRE(offered.size() == 1);
  world.h1.add("team-lead", World::entry("w1", "two", 2));
  world.h1.poll();
  world.h1.clock.advance(9s);
  REQUIRE(world.h1.team->delivery().acknowledge({offered.front().key.value}));
  CHECK(world.h1.ledger->deliveries().counts("t")->delivered == 1);
  const auto more = world.h1.team->delivery().offer(World::by_hand());
  CHECK(more.error().code == "cluster.no_lease");
}

TEST_CASE("what arrives for the lead just when the lease is over is neither refused nor lost") {
  ClusterWorld world;
  world.go_on(2);
  world.h2.add("team-lead", World::entry("w3", World::request("perm-1", "git status", "w3")));
  world.h2.step();
  bool once = false;
  world.broker.on_receive = [&] {
    if (!std::exchange(once, true)) world.h1.clock.advance(9s);
  };
  world.h1.step();
  REQUIRE(once);
  CHECK_FALSE(world.h1.logged("replication.rejected"));
  for (int i = 0; i < 6; ++i) {
    world.advance(5s);
    world.go_on(2);
  }
  CHECK(world.h2.inbox("w3").size() == 1);
}

TEST_CASE("who answered first in the broker's view has answered: its answer is passed on, and another is refused and told") {
  ClusterWorld world;
  world.go_on(2);
  const auto denial = World::entry("team-lead", R"({"type":"permission_response","request_id":"perm-1","subtype":"error","error":"no"})");
  world.broker.decisions[{"permission_response", "w3/perm-1"}] = {denial, "h4", 1};
  world.h2.add("team-lead", World::entry("w3", World::request("perm-1", "git status", "w3")));
  world.go_on();
  REQUIRE(world.h2.inbox("w3").size() == 1);
  CHECK(world.h2.texts("w3").front().find("\"error\":\"no\"") != std::string::npos);
  CHECK(world.h1.log().find("node h4 had answered before") != std::string::npos);
}

TEST_CASE("an answer of a leader that is gone arrives by the next one, once, also where it had arrived") {
  const bool arrived = GENERATE(false, true);
  ClusterWorld world;
  NodeWorld h4{world.broker, "h4", {"w9"}};
  world.go_on(2);
  world.h2.add("team-lead", World::entry("w3", World::request("perm-1", "make install", "w3")));
  world.go_on(2);
  REQUIRE(world.h1.team->requests().open().size() == 1);
  world.broker.advance(11s);
  h4.clock.advance(11s);
  world.all = {&h4, &world.h2};
  world.go_on();
  const auto open = h4.team->requests().open();
  REQUIRE(open.size() == 1);
  handlers::Answer no;
  no.event = handlers::RequestEvent::person_denies;
  no.by = "ann";
  REQUIRE(std::holds_alternative<Requests::Applied>(h4.team->requests().answer(open.front(), no, false)));
  h4.poll();
  h4.send();
  REQUIRE(world.broker.decisions.size() == 1);
  if (arrived) {
    world.h2.step();
    world.h2.read_all("w3");
  } else {
    world.broker.streams.erase({"@h2", "h4"});
  }
  // It is stopped before it can put it again, and the first one leads again.
  world.broker.advance(11s);
  world.h1.clock.advance(40s);
  world.all = {&world.h1, &world.h2};
  world.go_on();
  REQUIRE(world.h1.team->context().membership.role == handlers::EffectiveRole::leader);
  CHECK(world.h1.team->requests().open().empty());
  REQUIRE(world.h2.inbox("w3").size() == 1);
  CHECK(world.h2.payload("w3", 0).at("subtype").as_string() == "error");
  CHECK(world.h1.log().find("replication.rejected") == std::string::npos);
}

TEST_CASE("a node that speaks for others, or decides, is refused, told, and heard no further") {
  ClusterWorld world;
  world.go_on(2);
  world.h2.add("w1", World::entry("w2", "I am w2", 1));
  world.h2.add("w1", World::entry("team-lead", "I am the lead", 2));
  world.h2.add("team-lead", World::entry("w1", World::request("perm-9", "git status", "w1"), 3));
  world.h2.add("w1", World::entry("w3", "and I am w3", 4));
  world.go_on();
  CHECK(world.h1.texts("w1") == std::vector<std::string>{"and I am w3"});
  CHECK(world.h1.log().find("node.not_its_member") != std::string::npos);
  CHECK(world.h2.log().find("node h1 refused it") != std::string::npos);  // its sender is told
}

TEST_CASE("while the engine is away mail waits here, told in words, and goes in order when it is back") {
  ClusterWorld world;
  world.go_on(2);
  world.broker.down = true;
  for (int i = 1; i <= 3; ++i) world.h2.add("team-lead", World::entry("w3", "m" + std::to_string(i), i));
  world.go_on(3);
  CHECK(world.h2.team->context().membership.reason.find("it is not reached") != std::string::npos);
  CHECK(world.h2.all_read());  // ours, in the ledger
  world.advance(10s);
  world.go_on(2);
  CHECK(world.h1.team->context().membership.role == handlers::EffectiveRole::standby);
  world.broker.down = false;
  world.advance(5s);
  world.go_on(6);
  CHECK(told(world.h1) == std::vector<std::string>{"m1", "m2", "m3"});
  CHECK(world.h2.logged("cluster.recovered"));
}

TEST_CASE("what is too large to go between nodes is set aside with its bytes, and what follows it goes") {
  ClusterWorld world;
  world.go_on(2);
  const std::string large(longest_frame, 'x');
  world.h2.add("team-lead", World::entry("w3", large, 1));
  world.h2.add("team-lead", World::entry("w3", "small", 2));
  world.go_on();
  CHECK(told(world.h1) == std::vector<std::string>{"small"});
  CHECK(world.h2.log().find("larger than what goes between nodes") != std::string::npos);
  CHECK(world.h2.all_read());
  const auto kept = world.h2.ledger->node_mail().waiting("t", "lead", true, 9);
  REQUIRE(kept);
  CHECK(kept->empty());
}

TEST_CASE("at its bound mail for others stays in its inbox, and goes when there is room") {
  ClusterWorld world;
  world.h2.config.cluster.queued = 100;
  world.h2.again();
  world.go_on(2);
  world.broker.down = true;
  for (int i = 0; i < 120; ++i) world.h2.add("team-lead", World::entry("w3", "m" + std::to_string(i), i));
  world.go_on(2);
  std::size_t unread = 0;
  for (const auto& entry : world.h2.inbox("team-lead")) unread += entry.at("read").as_bool() ? 0U : 1U;
  CHECK(unread == 20);
  CHECK(world.h2.logged("inbox.full"));
  world.broker.down = false;
  world.advance(12s);
  world.go_on(8);
  CHECK(told(world.h1).size() == 100);
  CHECK(told(world.h1).size() == 20);
}

TEST_CASE("a node that fills the lead's room keeps no other node's requests waiting") {
  ClusterWorld world;
  NodeWorld h3{world.broker, "h3", {"w5"}};
  world.all = {&world.h1, &world.h2, &h3};
  world.h1.config.cluster.queued = 100;
  world.h1.config.limits.queued_chat = 120;
  world.h1.again();
  world.go_on(2);
  std::vector<std::string> flood;
  for (int i = 0; i < 300; ++i) flood.push_back(World::entry("w5", "m" + std::to_string(i), i));
  h3.write_lead(flood);
  world.go_on(4);
  REQUIRE(*world.h1.ledger->node_mail().queued("t", MailDirection::in) >= 100);
  world.h2.add("team-lead", World::entry("w3", World::request("perm-1", "git status", "w3")));
  world.go_on(4);
  CHECK(world.h2.inbox("w3").size() == 1);
  std::vector<std::string> got;
  for (int i = 0; i < 80 && got.size() < 300; ++i) {
    const auto some = told(world.h1);
    got.insert(got.end(), some.begin(), some.end());
    world.advance(10s);
    world.go_on(2);
  }
  std::vector<std::string> wanted;
  for (int i = 0; i < 300; ++i) wanted.push_back("m" + std::to_string(i));
  CHECK(got == wanted);
}

TEST_CASE("mail for a worker whose box is held keeps nobody else's waiting") {
  ClusterWorld world;
  world.go_on(2);
  world.h2.hold("w3");
  std::vector<std::string> many;
  for (int i = 0; i < 510; ++i) many.push_back(World::entry("w2", "m" + std::to_string(i), i));
  world.h1.write("w3", many);
  world.go_on(4);
  world.h1.add("w4", World::entry("w2", "for w4", 1));
  world.go_on(4);
  CHECK(world.h2.texts("w4") == std::vector<std::string>{"for w4"});
  world.h2.hold("w3", false);
  int locks = 0;
  world.h2.files.before(test::Call::mkdir_at, [&](const std::string& name) { locks += name == "w3.json.lock" ? 1 : 0; });
  world.go_on(4);
  CHECK(world.h2.texts("w3").size() == 510);
  CHECK(locks == 2);  // 500 letters, then the others: not one write for each
}

TEST_CASE("what the receiver said of a letter before the engine confirmed it is not taken back by that") {
  ClusterWorld world;
  auto& table = world.h1.ledger->node_mail();
  const auto row = letter_to_w3();
  REQUIRE(*table.add(row));
  const auto id = table.waiting("t", "@h2", false, 1)->front().id;
  REQUIRE(table.heard("t", {"@h2", false, NodeMailState::read, {}}, {row.key.value}, 5));
  REQUIRE(table.set("t", {id}, NodeMailState::put, 6));
  CHECK((*table.sent("t", "w3", row.key))->state == NodeMailState::read);
}

TEST_CASE("a letter that is put again for new data or a new leader does not wait longer for its receipt") {
  ClusterWorld world;
  auto& table = world.h1.ledger->node_mail();
  const auto row = letter_to_w3();
  REQUIRE(*table.add(row));
  const auto id = table.waiting("t", "@h2", false, 1)->front().id;
  for (int i = 0; i < 8; ++i) {
    REQUIRE(table.set("t", {id}, NodeMailState::put, 1000));
    REQUIRE(table.put_all_again("t", true, 1000));
  }
  REQUIRE(table.set("t", {id}, NodeMailState::put, 1000));
  CHECK(table.unheard("t", 1000 + 29'000)->empty());
  CHECK(table.unheard("t", 1000 + 31'000)->size() == 1);
}

TEST_CASE("a request that a node has answered while it led does not go to the next leader") {
  ClusterWorld world;
  auto& ledger = *world.h1.ledger;
  const auto state = GENERATE(handlers::RequestState::pending, handlers::RequestState::denied);
  handlers::Request request;
  request.request_id = "r-1";
  request.asker = "w1";
  request.state = state;
  REQUIRE(ledger.requests().put("t", request));
  auto row = letter_to_w3();
  row.node = std::string(lead_address);
  row.inbox = "team-lead";
  row.sender = "w1";
  row.request_id = "r-1";
  REQUIRE(*ledger.node_mail().add(row));
  const auto id = ledger.node_mail().waiting("t", std::string(lead_address), false, 1)->front().id;
  REQUIRE(ledger.node_mail().set("t", {id}, NodeMailState::put, 1000));  // to itself, and the receipt was lost
  REQUIRE(ledger.node_mail().put_all_again("t", true, 2000));
  const bool is_open = state == handlers::RequestState::pending;
  CHECK((*ledger.node_mail().sent("t", "team-lead", row.key))->state ==
        (is_open ? NodeMailState::waiting : NodeMailState::read));
}

TEST_CASE("a node that tells it refused what it was never sent is not believed, and nothing is told of it") {
  ClusterWorld world;
  world.go_on(2);
  world.broker.down = true;
  REQUIRE(world.h1.team->send("w5", "for h3 alone", ""));
  world.go_on(1);
  const auto waiting = world.h1.ledger->node_mail().waiting("t", "@h3", true, 1);
  REQUIRE(waiting->size() == 1);
  world.broker.down = false;
  world.go_on(2);
  Frame receipt;
  receipt.address = "@h1";
  receipt.type = "receipt";
  receipt.key = schema::make_message_key({"t", "@h1"}, "h2", "", "x", 0);
  receipt.entry = R"({"refused":[[")" + waiting->front().key.value + R"(","no"]]})";
  forge(world, "h2", receipt);
  world.go_on(2);
  CHECK(world.h1.log().find("node h2 refused it") == std::string::npos);
}

TEST_CASE("whoever guesses what somebody elsewhere is about to write does not use up its key") {
  ClusterWorld world;
  world.go_on(2);
  const auto honest = World::entry("w3", "done", 1);
  const auto decoded = boost::json::parse(honest).as_object();
  const std::string at(decoded.at("timestamp").as_string());
  Frame guess;
  guess.address = std::string(lead_address);
  guess.to = "team-lead";
  guess.from = "w5";
  guess.type = "plain_text";
  guess.entry = World::entry("w5", "mine", 2);
  guess.key = schema::make_message_key({"t", "team-lead"}, "w3", at, "done", 0);
  guess.number = 1;
  forge(world, "h3", guess);
  world.go_on(2);
  CHECK(told(world.h1) == std::vector<std::string>{"mine"});
  world.h2.add("team-lead", honest);
  world.go_on(3);
  CHECK(told(world.h1) == std::vector<std::string>{"done"});
  guess.attempt = 1;
  forge(world, "h3", guess);  // its own is one message still
  world.go_on(3);
  CHECK(told(world.h1).empty());
  const auto frames = world.h1.ledger->node_mail().like(guess.key.value, 10);
  REQUIRE(frames->size() == 2);
  CHECK(frames->front().unproven != frames->back().unproven);
}

TEST_CASE("that a letter is in the journal is written with what follows, and after a crash it is met again and not told twice") {
  ClusterWorld world;
  world.go_on(2);
  const auto state = [&] { return world.h1.ledger->node_mail().latest({}, 1)->front().state; };
  world.h2.add("team-lead", World::entry("w3", "one", 1));
  world.h2.step();
  world.h1.receive();
  world.h1.poll();
  world.h1.poll();
  CHECK(state() == NodeMailState::waiting);
  CHECK(told(world.h1) == std::vector<std::string>{"one"});
  world.h1.again();
  world.go_on(4);
  CHECK(told(world.h1).empty());
  CHECK(state() == NodeMailState::read);
}

TEST_CASE("of what one node sends to be refused, 16 MiB are kept whole, and of the rest the beginning") {
  ClusterWorld world;
  world.go_on(2);
  const std::string much(std::size_t{4} << 20, 'x');
  for (int n = 1; n <= 6; ++n) {
    Frame frame;
    frame.address = std::string(lead_address);
    frame.to = "team-lead";
    frame.entry = World::entry("w1", much + std::to_string(n), n);  // no member of that node
    frame.key = schema::make_message_key({"t", "team-lead"}, "w1", std::to_string(n), "x", 0);
    frame.number = n;
    frame.after = n - 1;
    forge(world, "h3", frame);
  }
  world.go_on(3);
  const auto frames = world.h1.ledger->node_mail().latest({}, 10);
  REQUIRE(frames->size() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK((*frames)[i].state == NodeMailState::rejected);
    CHECK((*frames)[i].entry.size() == (i < 4 ? World::entry("w1", much + "1", 1).size() : 1024));
  }
}

TEST_CASE("a letter comes after all that was put before it, also when some of that was under way as the rest was to be put again") {
  ClusterWorld world;
  world.go_on(2);
  auto& table = world.h2.ledger->node_mail();
  const auto write = [&](int n) {
    world.h2.add("w1", World::entry("w3", std::to_string(n), n));
    world.h2.poll();
  };
  write(1);
  world.h2.send();
  write(2);
  schema::Message third;
  third.from = "w3";
  third.text = "3";
  third.timestamp = "2026-02-07T15:20:13.000Z";
  world.broker.on_put = [&, is_first = true]() mutable {  // the engine's data were others meanwhile
    if (!std::exchange(is_first, false)) return;
    REQUIRE(table.put_all_again("t", false, 1));
    REQUIRE(world.h2.team->cluster()->mailbox().post("w1", third).put == WriteStatus::done);
  };
  world.broker.lost_puts = 1;
  world.h2.send();
  const auto& stream = world.broker.streams[{"@h1", "h2"}].entries;
  CHECK(stream.back().frame.number == 3);
  CHECK(stream.back().frame.after == 2);
  world.h1.receive();
  world.advance(20s);
  world.go_on(20);
  CHECK(world.h1.texts("w1") == std::vector<std::string>{"1", "2", "3"});
}

TEST_CASE("what the engine lost is put again soon, also when the clock was set back while no daemon ran") {
  ClusterWorld world;
  world.go_on(2);
  world.broker.lost_puts = 1;
  world.h2.add("w1", World::entry("w3", "lost", 1));
  world.h2.poll();
  world.h2.send();
  REQUIRE(world.broker.lost_puts == 0);
  world.h2.clock.advance(-1h);
  world.h2.again();
  world.go_on(8);
  CHECK(world.h1.texts("w1") == std::vector<std::string>{"lost"});
}

TEST_CASE("what is being put is not taken back any more") {
  ClusterWorld world;
  world.go_on(2);
  schema::Message message;
  message.from = "team-lead";
  message.text = "stop";
  message.timestamp = "2026-01-01T00:00:00.000Z";
  auto& mailbox = world.h1.team->cluster()->mailbox();
  auto& table = world.h1.ledger->node_mail();
  const auto post = [&] {
    REQUIRE(mailbox.post("w3", message).put == WriteStatus::done);
    return table.latest({}, 1)->front().key;
  };
  const auto state_of = [&](const schema::MessageKey& key) { return (*table.sent("t", "w3", key))->state; };
  const auto first = post();
  REQUIRE(mailbox.recall("w3", std::vector{first}).put == WriteStatus::done);
  CHECK(state_of(first) == NodeMailState::rejected);

  message.text = "stop now";
  const auto second = post();
  world.broker.on_put = [&] { REQUIRE(mailbox.recall("w3", std::vector{second}).put == WriteStatus::done); };
  world.h1.send();
  CHECK(state_of(second) == NodeMailState::put);
}

namespace {

std::string beat_with(const std::string& what, std::int64_t epoch, const std::string& state) {
  return R"({"version":"1","leads":true,"epoch":)" + std::to_string(epoch) + R"(,"members":[],")" + what +
         R"(":[{"request_id":"shutdown-1@w3","member":"w3","state":")" + state + R"(","by":"x","reason":""}]})";
}

std::optional<handlers::Shutdown> end_of(NodeWorld& world, const std::string& id) {
  return *world.ledger->shutdowns().find("t", id);
}

/// As its client does: in the roster of its own node. Without a moment it leaves.
void join(NodeWorld& world, const std::string& member, std::optional<long long> joined_ms) {
  const auto path = world.scratch.path("teams/t/config.json");
  auto roster = test::json::parse(test::slurp(path)).as_object();
  auto& members = roster.at("members").as_array();
  members.erase(std::remove_if(members.begin(), members.end(), [&](const test::json::value& one) { return one.at("name").as_string() == member; }),
                members.end());
  if (joined_ms) members.push_back({{"agentId", member + "@t"}, {"name", member}, {"joinedAt", *joined_ms}, {"cwd", "/" + member}});
  test::replace(path, test::json::serialize(roster));
}

/// The verdict about perm-1 in the worker's inbox; empty while there is none.
std::string verdict_of(NodeWorld& world, const std::string& member) {
  std::string verdict;
  for (std::size_t i = 0; i < world.inbox(member).size(); ++i)
    if (const auto said = world.payload(member, i); said.at("type").as_string() == "permission_response") verdict = said.at("subtype").as_string();
  return verdict;
}

}  // namespace

namespace {

/// w3 of h2, which joined at 9000 ms, was ended by its leader and has been away for more than a minute.
struct Ended : ClusterWorld {
  Ended() {
    join(h2, "w3", 9000);
    go_on(4);
    const auto begun = h1.run(h1.team->shutdowns().request({"w3", "ann", "done", {}, {}, false}));
    REQUIRE(begun);
    const auto id = std::get<handlers::Shutdown>(*begun).request_id;
    go_on(3);
    h2.add("team-lead", World::entry("w3", R"({"type":"shutdown_approved","requestId":")" + id + R"(","from":"w3"})", 2));
    go_on(85);
    REQUIRE(end_of(h1, id)->state == handlers::ShutdownState::cleaned);
    REQUIRE(h1.team->context().has_left("w3"));
  }
  /// w3 joins again, and asks at once.
  void comes_back(long long joined_ms) {
    join(h2, "w3", joined_ms);
    h2.add("team-lead", World::entry("w3", World::request("perm-1", "git status", "w3"), 5));
  }
};

}  // namespace

TEST_CASE("a worker elsewhere that joins again is not rejected when its request arrives before the heartbeat that tells of it") {
  Ended world;
  world.comes_back(100'000);
  world.h2.poll();
  world.h2.send();
  world.h1.receive();
  world.h1.poll();
  world.h1.poll();
  REQUIRE(world.h1.team->context().has_left("w3"));
  world.go_on(4);
  CHECK(verdict_of(world.h2, "w3") == "success");
}

TEST_CASE("a worker elsewhere that was ended and joins again is heard, also when the clock of its node was set back") {
  Ended world;
  world.comes_back(5000);
  world.go_on(12);
  CHECK(verdict_of(world.h2, "w3") == "success");
}

TEST_CASE("the request of a shutdown that is over is not filed again when a peer writes over it") {
  ClusterWorld world;
  const bool over = GENERATE(false, true);
  auto older = World::entry("team-lead", "older", 9);
  older.replace(older.rfind("false"), 5, "true");
  world.h2.write("w3", {older});
  world.go_on(4);
  const auto box = world.h2.inboxes() / "w3.json";
  const auto before = test::slurp(box);
  const auto begun = world.h1.run(world.h1.team->shutdowns().request({"w3", "ann", "done", {}, {}, false}));
  REQUIRE(begun);
  const auto id = std::get<handlers::Shutdown>(*begun).request_id;
  world.go_on(3);
  REQUIRE(world.h2.inbox("w3").size() == 2);
  using enum handlers::ShutdownState;
  auto shutdown = *end_of(world.h2, id);
  for (const auto state : {approved, process_gone, pane_gone, cleaned}) {
    shutdown.state = state;
    if (over) REQUIRE(world.h2.ledger->shutdowns().put("t", shutdown));
  }
  test::spill(box, before);
  world.go_on(3);
  CHECK(world.h2.inbox("w3").size() == (over ? 1U : 2U));
}

TEST_CASE("a request to end that comes after its shutdown is over does not reach the next worker of the name") {
  ClusterWorld world;
  world.go_on(4);
  join(world.h2, "w3", std::nullopt);
  world.broker.lost_puts = 1;
  const auto begun = world.h1.run(world.h1.team->shutdowns().request({"w3", "ann", "done", {}, {}, false}));
  REQUIRE(begun);
  const auto id = std::get<handlers::Shutdown>(*begun).request_id;
  world.go_on(4);
  REQUIRE(world.broker.lost_puts == 0);
  join(world.h2, "w3", 9000);
  world.go_on(30);
  REQUIRE(end_of(world.h1, id)->state == handlers::ShutdownState::cleaned);
  CHECK(world.h2.inbox("w3").empty());
  CHECK(world.h2.ledger->node_mail().of_request(id, 10)->front().problem == "its shutdown is over");
}

TEST_CASE("neither the request to end nor its reminder stays in the inbox for the next worker of the name") {
  ClusterWorld world;
  world.go_on(4);
  const auto begun = world.h1.run(world.h1.team->shutdowns().request({"w3", "ann", "done", config::Duration(2000), {}, false}));
  REQUIRE(begun);
  const auto id = std::get<handlers::Shutdown>(*begun).request_id;
  world.go_on(6);
  REQUIRE(world.h2.inbox("w3").size() == 2);
  REQUIRE(test::slurp(world.h2.inboxes() / "w3.json").find("Reminder: shutdown request " + id) != std::string::npos);
  world.h2.add("team-lead", World::entry("w3", R"({"type":"shutdown_approved","requestId":")" + id + R"(","from":"w3"})", 2));
  world.go_on(12);
  REQUIRE(end_of(world.h2, id)->state == handlers::ShutdownState::cleaned);
  for (const auto& entry : world.h2.inbox("w3")) CHECK(entry.at("read").as_bool());
}

/// Worker w3 is asked to end while its machine is away, and the next one of the name joins there. Returns the request's id.
std::string end_of_before(ClusterWorld& world) {
  join(world.h2, "w3", 9000);
  world.go_on(8);
  world.all = {&world.h1};
  const auto begun = world.h1.run(world.h1.team->shutdowns().request({"w3", "ann", "done", {}, {}, false}));
  REQUIRE(begun);
  world.go_on(4);
  join(world.h2, "w3", 20'000);
  return std::get<handlers::Shutdown>(*begun).request_id;
}

TEST_CASE("a request to end that comes late with its order does not reach the next worker of the name") {
  ClusterWorld world;
  const auto id = end_of_before(world);
  world.h2.turn();
  world.h2.receive();
  world.h2.poll();
  CHECK(world.h2.inbox("w3").empty());
  CHECK(end_of(world.h2, id)->state == handlers::ShutdownState::cleaned);
  world.all = {&world.h1, &world.h2};
  world.go_on(8);
  CHECK(world.h2.inbox("w3").empty());
  CHECK(end_of(world.h1, id)->state == handlers::ShutdownState::cleaned);
}

TEST_CASE("a request to end names its worker by the join time, so the next one of the name does not get it before its order comes") {
  ClusterWorld world;
  const auto id = end_of_before(world);
  world.h2.poll();  // it knows its own worker, and no order yet
  world.h2.receive();
  world.h2.poll();
  CHECK(world.h2.inbox("w3").empty());
  CHECK(end_of(world.h2, id)->state == handlers::ShutdownState::cleaned);
  CHECK(end_of(world.h2, id)->joined_ms == 9000);
}

TEST_CASE("a request to end for a worker that left meanwhile waits in no inbox for the next one") {
  ClusterWorld world;
  join(world.h2, "w3", 9000);
  world.go_on(8);
  const auto begun = world.h1.run(world.h1.team->shutdowns().request({"w3", "ann", "done", {}, {}, false}));
  REQUIRE(begun);
  world.h1.step();
  world.h2.receive();
  join(world.h2, "w3", std::nullopt);
  world.h2.poll();
  CHECK(world.h2.inbox("w3").empty());
  CHECK(end_of(world.h2, std::get<handlers::Shutdown>(*begun).request_id)->state == handlers::ShutdownState::cleaned);
}

TEST_CASE("the next worker of the name keeps what it asked before the leader heard that the one before has ended") {
  ClusterWorld world;
  join(world.h2, "w3", 9000);
  world.go_on(8);
  const auto begun = world.h1.run(world.h1.team->shutdowns().request({"w3", "ann", "done", {}, {}, false}));
  REQUIRE(begun);
  const auto id = std::get<handlers::Shutdown>(*begun).request_id;
  world.h1.add("team-lead", World::entry("w1", World::request("perm-1", "make install", "w1")));
  world.h2.add("team-lead", World::entry("w3", World::request("perm-1", "make install", "w3")));
  world.go_on(3);
  REQUIRE(world.h1.team->requests().open().size() == 2);
  world.h2.add("team-lead",
               World::entry("w3", R"({"type":"shutdown_approved","requestId":")" + id + R"(","from":"w3"})", 2));
  world.h2.step();
  world.h1.step();
  REQUIRE(end_of(world.h1, id)->state == handlers::ShutdownState::approved);
  world.all = {&world.h1};
  world.go_on(4);
  world.h2.clock.advance(4s);
  world.all = {&world.h2};
  world.go_on(8);
  world.h1.clock.advance(8s);
  REQUIRE(end_of(world.h2, id)->state == handlers::ShutdownState::cleaned);
  // Its machine's clock is not the leader's: entries have second 11 (as perm-1) to 15.
  join(world.h2, "w3", 1'770'477'613'000);
  world.h2.add("team-lead", World::entry("w3", World::request("perm-2", "make install", "w3"), 5));
  world.go_on(2);
  world.h1.turn();
  world.h1.receive();
  world.all = {&world.h1, &world.h2};
  world.go_on(20);
  REQUIRE(end_of(world.h1, id)->state == handlers::ShutdownState::cleaned);
  std::vector<std::string> left;
  for (const auto& one : world.h1.team->requests().open()) left.push_back(one.asker + " " + one.request_id);
  CHECK(left == std::vector<std::string>{"w1 perm-1", "w3 perm-2"});
}

TEST_CASE("a node that led before gives up what it ordered of others, since they tell the node that leads now") {
  ClusterWorld world;
  NodeWorld h4{world.broker, "h4", {"w9"}};
  world.all = {&world.h1, &world.h2, &h4};
  world.go_on(4);
  const auto begun = world.h1.run(world.h1.team->shutdowns().request({"w3", "ann", "done", {}, {}, false}));
  REQUIRE(begun);
  const auto id = std::get<handlers::Shutdown>(*begun).request_id;
  world.go_on(3);
  world.h2.add("team-lead", World::entry("w3", R"({"type":"shutdown_approved","requestId":")" + id + R"(","from":"w3"})", 2));
  world.h2.step();
  world.h1.step();
  REQUIRE(end_of(world.h1, id)->state == handlers::ShutdownState::approved);
  world.broker.cut_off = {"h1"};
  world.advance(11s);
  world.go_on(6);
  REQUIRE(h4.team->context().membership.role == handlers::EffectiveRole::leader);
  world.broker.cut_off.clear();
  for (auto passed = 0s; passed < 10min; passed += 5s) {
    world.advance(4s);
    world.go_on(1);
  }
  CHECK(world.h1.team->shutdowns().open().empty());
  CHECK(end_of(world.h1, id)->state == handlers::ShutdownState::timed_out);
}

TEST_CASE("a node that waits to lead keeps its chat for the node that will, after which its workers' later mail comes") {
  ClusterWorld world;
  NodeWorld h4{world.broker, "h4", {"w9"}};
  world.all = {&world.h1, &h4};
  world.go_on(3);
  world.h1.add("team-lead", World::entry("w1", "first", 1));
  world.h1.poll();
  world.broker.cut_off = {"h1", "h4"};
  world.advance(11s);
  world.go_on(2);
  world.h1.again();
  world.h1.add("team-lead", World::entry("w1", "second", 2));
  world.go_on(1);
  CHECK(world.h1.receive_chat().empty());
  world.h1.clock.advance(-1h);  // and as after a restart with a clock that was set back
  world.broker.cut_off = {};
  world.all = {&h4, &world.h1};
  world.go_on(6);
  REQUIRE(h4.team->context().membership.role == handlers::EffectiveRole::leader);
  CHECK(told(h4) == std::vector<std::string>{"first", "second"});
}

TEST_CASE("chat that was handed over and not put again yet is not overtaken by later chat of its sender") {
  ClusterWorld world;
  NodeWorld h4{world.broker, "h4", {"w9"}};
  world.all = {&world.h1, &world.h2};
  world.go_on(4);
  world.h2.add("team-lead", World::entry("w3", "first", 1));
  world.go_on(2);
  world.broker.cut_off = {"h1"};
  world.h2.add("team-lead", World::entry("w3", "second", 2));
  world.h2.poll();
  world.h2.send();
  world.broker.cut_off = {"h1", "h2"};
  world.advance(11s);
  world.all = {&h4};
  h4.poll();
  h4.turn();
  world.broker.cut_off = {"h2", "h4"};
  world.all = {&world.h1};
  h1_leads_again(world);
  auto seen = told(world.h1);
  world.broker.cut_off = {};
  world.all = {&world.h1, &world.h2};
  world.go_on(20);
  for (const auto& one : told(world.h1)) seen.push_back(one);
  CHECK(seen == std::vector<std::string>{"first", "second"});
}

TEST_CASE("chat that was handed over comes again in its order, also when the engine loses the first of it") {
  ClusterWorld world;
  NodeWorld h4{world.broker, "h4", {"w9"}};
  world.go_on(4);
  for (int i : {1, 2}) {
    world.h2.add("team-lead", World::entry("w3", std::to_string(i), i));
    world.go_on(2);
  }
  world.broker.cut_off = {"h1", "h2"};
  world.advance(11s);
  h4.poll();
  h4.turn();
  world.broker.cut_off = {"h2", "h4"};
  world.all = {&world.h1};
  h1_leads_again(world);
  world.broker.cut_off = {};
  world.broker.lost_puts = 1;
  world.all = {&world.h1, &world.h2};
  std::vector<std::string> seen;
  for (int i = 0; i < 40; ++i) {
    world.go_on(1);
    for (const auto& one : told(world.h1)) seen.push_back(one);
  }
  CHECK(world.broker.lost_puts == 0);
  CHECK(seen == std::vector<std::string>{"1", "2"});
}

TEST_CASE("chat behind a notice is not taken before older chat that was handed over, also when the engine loses that") {
  ClusterWorld world;
  NodeWorld h4{world.broker, "h4", {"w9"}};
  world.go_on(4);
  world.h2.add("team-lead", World::entry("w3", "1", 1));
  world.h2.add("team-lead", World::entry("w3", R"({"type":"idle_notification","from":"w3"})", 2));
  world.h2.add("team-lead", World::entry("w3", "2", 3));
  world.h2.poll();
  world.h2.send();
  world.broker.cut_off = {"h2"};
  world.all = {&world.h1};
  world.broker.lost_puts = 100;  // h2 does not hear that the notice is settled
  world.go_on(4);
  world.broker.cut_off = {"h1", "h2"};
  world.advance(11s);
  h4.poll();
  h4.turn();
  world.broker.cut_off = {"h2", "h4"};
  h1_leads_again(world);
  world.broker.cut_off = {};
  world.all = {&world.h2, &world.h1};
  world.broker.lost_puts = 1;
  std::vector<std::string> seen;
  for (int i = 0; i < 80; ++i) {
    world.go_on(1);
    for (const auto& one : told(world.h1)) seen.push_back(one);
  }
  CHECK(world.broker.lost_puts == 0);
  CHECK(seen == std::vector<std::string>{"1", "2"});
}

TEST_CASE("chat that another leader has settled holds no later chat back") {
  ClusterWorld world;
  NodeWorld h4{world.broker, "h4", {"w9"}};
  world.all = {&world.h1, &world.h2};
  world.go_on(4);
  world.h2.add("team-lead", World::entry("w3", "first", 1));
  world.go_on(2);
  world.broker.cut_off = {"h1"};
  world.advance(11s);
  world.all = {&h4, &world.h2};
  world.go_on(4);
  REQUIRE(told(h4) == std::vector<std::string>{"first"});
  world.go_on(4);
  world.all = {&world.h1, &world.h2};
  world.broker.cut_off = {"h4"};
  h1_leads_again(world);
  for (int i : {2, 3}) world.h2.add("team-lead", World::entry("w3", std::to_string(i), i));
  world.go_on(4);
  CHECK(told(world.h1) == std::vector<std::string>{"2", "3"});
}

TEST_CASE("a node that leads again knows what it got of itself, also when the engine loses its receipt") {
  ClusterWorld world;
  world.all = {&world.h1};
  world.go_on(3);
  world.broker.cut_off = {"h1"};
  world.advance(11s);
  world.go_on(1);
  world.h1.add("team-lead", World::entry("w1", "first", 1));
  world.go_on(1);
  REQUIRE(world.h1.team->cluster()->frames_to_lead_wait());
  world.broker.cut_off = {};
  world.broker.on_receive = [&] { world.broker.lost_puts = 100; };
  world.go_on(3);
  CHECK(told(world.h1) == std::vector<std::string>{"first"});
  CHECK_FALSE(world.h1.team->cluster()->frames_to_lead_wait());
}

TEST_CASE("a node that comes to lead with a roster that it cannot read leads once it knows its lead, and no chat is lost") {
  ClusterWorld world;
  NodeWorld h4{world.broker, "h4", {"w9"}};
  world.all = {&world.h1, &h4};
  world.go_on(3);
  world.h1.add("team-lead", World::entry("w1", "first", 1));
  world.h1.poll();
  world.broker.cut_off = {"h1"};
  world.advance(11s);
  world.go_on(3);
  REQUIRE(h4.team->context().membership.role == handlers::EffectiveRole::leader);
  const auto path = world.h1.scratch.path("teams/t/config.json");
  const auto roster = test::slurp(path);
  test::replace(path, "");
  world.h1.again();
  world.broker.cut_off = {};
  world.all = {&world.h1};
  world.advance(11s);
  world.go_on(6);
  CHECK(world.h1.team->context().membership.role != handlers::EffectiveRole::leader);
  test::replace(path, roster);
  world.go_on(30);
  CHECK(told(world.h1) == std::vector<std::string>{"first"});
}

TEST_CASE("a worker elsewhere that agreed to end is cleaned up by its own node first, then by the leader, and stays out") {
  ClusterWorld world;
  world.go_on(4);
  const auto begun = world.h1.run(world.h1.team->shutdowns().request({"w3", "ann", "done", {}, {}, false}));
  REQUIRE(begun);
  const auto id = std::get<handlers::Shutdown>(*begun).request_id;
  world.go_on(3);
  REQUIRE(world.h2.inbox("w3").size() == 1);
  REQUIRE(end_of(world.h2, id));  // before it could read it
  CHECK(end_of(world.h2, id)->by == "node h1");
  world.h2.add("team-lead", World::entry("w3", R"({"type":"shutdown_approved","requestId":")" + id + R"(","from":"w3"})", 2));
  world.h2.step();
  world.h1.step();
  CHECK(end_of(world.h1, id)->state == handlers::ShutdownState::approved);  // its own node has not told yet
  world.go_on(12);
  CHECK(end_of(world.h2, id)->state == handlers::ShutdownState::cleaned);
  CHECK(end_of(world.h1, id)->state == handlers::ShutdownState::cleaned);
  for (auto* one : world.all) CHECK(test::slurp(one->scratch.path("teams/t/config.json")).find("w3@t") == std::string::npos);
  world.h1.again();
  world.go_on(8);
  CHECK(world.h1.team->context().roster.find("w3") == nullptr);  // also although [cluster.members] has it
  CHECK(world.h2.team->context().roster.find("w3") == nullptr);
}

TEST_CASE("an order to end by force does not end the next worker of that name, which joined before its node got the order") {
  ClusterWorld world;
  join(world.h2, "w3", 9000);
  world.go_on(8);
  REQUIRE(world.h1.team->context().roster.find("w3")->joined_at_ms == 9000);
  const auto begun = world.h1.run(world.h1.team->shutdowns().request({"w3", "ann", "done", {}, {}, true}));
  REQUIRE(begun);
  const auto id = std::get<handlers::Shutdown>(*begun).request_id;
  join(world.h2, "w3", 20'000);
  world.go_on(6);
  CHECK(end_of(world.h2, id)->state == handlers::ShutdownState::cleaned);
  CHECK(world.h2.team->context().roster.find("w3") != nullptr);
  CHECK(end_of(world.h1, id)->state == handlers::ShutdownState::cleaned);
  world.h2.add("team-lead", World::entry("w3", World::request("perm-1", "git status", "w3"), 5));
  world.go_on(8);
  CHECK(verdict_of(world.h2, "w3") == "success");
}

TEST_CASE("a worker elsewhere that does not answer: its node gives up after the leader, and it can be asked again") {
  ClusterWorld world;
  world.go_on(4);
  const auto ask = [&] {
    return world.h1.run(world.h1.team->shutdowns().request({"w3", "ann", "done", {}, {}, false}));
  };
  const auto begun = ask();
  REQUIRE(begun);
  const auto id = std::get<handlers::Shutdown>(*begun).request_id;
  world.go_on(3);
  for (auto passed = 0s; passed < 10min; passed += 5s) {
    REQUIRE(end_of(world.h2, id)->state == handlers::ShutdownState::requested);
    world.advance(4s);
    world.go_on(1);
  }
  world.go_on(4);
  CHECK(end_of(world.h1, id)->state == handlers::ShutdownState::timed_out);
  CHECK(end_of(world.h2, id)->state == handlers::ShutdownState::timed_out);
  const auto again = ask();
  REQUIRE(again);
  CHECK(std::holds_alternative<handlers::Shutdown>(*again));
  world.go_on(3);
  CHECK(world.h2.team->shutdowns().open().size() == 1);
}

TEST_CASE("a node that does not lead orders nobody's end, and one tells of no other node's workers") {
  ClusterWorld world;
  world.go_on(4);
  const auto epoch = world.broker.epoch;
  const auto forged = [&](const std::string& node, const std::string& told) {
    world.broker.beats[node] = {told, world.broker.now + 15s};
  };
  forged("h3", beat_with("orders", epoch, "forced"));      // may not lead
  forged("h4", beat_with("orders", epoch + 1, "forced"));  // may, and does not
  world.go_on(6);
  CHECK(world.h2.team->shutdowns().open().empty());
  const auto begun = world.h1.run(world.h1.team->shutdowns().request({"w3", "ann", "done", {}, {}, true}));
  REQUIRE(begun);
  auto told = beat_with("ends", epoch, "cleaned");
  const auto id = std::get<handlers::Shutdown>(*begun).request_id;
  told.replace(told.find("shutdown-1@w3"), 13, id);
  forged("h3", told);
  world.all = {&world.h1};  // its own node says nothing
  world.go_on(6);
  CHECK(end_of(world.h1, id)->state == handlers::ShutdownState::forced);
}

namespace {

/// h1 led, with a request and chat that nobody had settled, and was cut off until h4 led.
struct Followed : ClusterWorld {
  NodeWorld h4{broker, "h4", {"w9"}};

  Followed() {
    all = {&h1, &h2, &h4};
    go_on(3);
    h1.add("team-lead", World::entry("w1", World::request("perm-1", "make install", "w1"), 1));
    h1.add("team-lead", World::entry("w2", "from w2", 2));
    h2.add("team-lead", World::entry("w3", "from w3", 3));
    h2.add("team-lead", World::entry("w4", World::request("perm-4", "make install", "w4"), 4));
    go_on(3);
    REQUIRE(h1.team->requests().shown().size() == 2);
    broker.cut_off = {"h1"};
    advance(11s);
    go_on(4);
    REQUIRE(h4.team->context().membership.role == handlers::EffectiveRole::leader);
    broker.cut_off.clear();
  }
  void later(int seconds) {
    for (int i = 0; i < seconds / 5; ++i) {
      advance(4s);
      go_on(1);
    }
  }
  void cut_off_h4_until_h1_leads() {
    broker.cut_off = {"h4"};
    advance(11s);
    go_on(4);
    REQUIRE(h1.team->context().membership.role == handlers::EffectiveRole::leader);
    broker.cut_off.clear();
  }
  static void say(NodeWorld& world, const std::string& id, handlers::RequestEvent event) {
    handlers::Answer answer;
    answer.event = event;
    answer.by = "ann";
    for (const auto& request : world.team->requests().open())
      if (request.request_id == id) REQUIRE(std::holds_alternative<Requests::Applied>(world.team->requests().answer(request, answer, false)));
  }
  handlers::RequestState state_of(NodeWorld& world, const std::string& id) {
    return world.ledger->requests().by_id(id)->at(0).second.state;
  }
};

}  // namespace

TEST_CASE("what a followed leader had from its own workers and from others is settled by the next one, once") {
  Followed world;
  world.later(20);
  CHECK(world.h1.team->context().membership.role == handlers::EffectiveRole::standby);
  CHECK(world.h1.team->requests().shown().empty());
  CHECK(world.h4.team->requests().shown().size() == 2);
  auto at_h4 = told(world.h4);
  std::ranges::sort(at_h4);
  CHECK(at_h4 == std::vector<std::string>{"from w2", "from w3"});
  Followed::say(world.h4, "perm-1", handlers::RequestEvent::person_approves);
  Followed::say(world.h4, "perm-4", handlers::RequestEvent::person_denies);
  world.later(20);
  REQUIRE(world.h1.inbox("w1").size() == 1);
  CHECK(world.h1.payload("w1", 0).at("subtype").as_string() == "success");
  CHECK(world.h2.inbox("w4").size() == 1);
  CHECK(world.state_of(world.h1, "perm-1") == handlers::RequestState::answered_elsewhere);
  CHECK_FALSE(world.h1.logged("answer.foreign"));
  // It leads again, and has nothing of this left.
  world.cut_off_h4_until_h1_leads();
  world.later(20);
  CHECK(world.h1.team->requests().shown().empty());
  CHECK(world.state_of(world.h1, "perm-4") == handlers::RequestState::answered_elsewhere);
  CHECK(told(world.h1) == std::vector<std::string>());
  CHECK(world.h1.inbox("w1").size() == 1);
  CHECK(world.h2.inbox("w4").size() == 1);
}

namespace {

/// h4's worker had a request answered by h1, and has taken the answer. Then h4 leads.
struct Answered : ClusterWorld {
  NodeWorld h4{broker, "h4", {"w9"}};
  std::string answer;

  Answered() {
    all = {&h1, &h2, &h4};
    go_on(3);
    h4.add("team-lead", World::entry("w9", World::request("perm-9", "git status", "w9"), 1));
    go_on(3);
    REQUIRE(h4.inbox("w9").size() == 1);
    answer = h4.texts("w9").front();
    test::replace(h4.inboxes() / "w9.json", "[]");
    go_on(3);
    broker.cut_off = {"h1"};
    advance(11s);
    go_on(4);
    REQUIRE(h4.team->context().membership.role == handlers::EffectiveRole::leader);
  }
};

}  // namespace

TEST_CASE("a request that another leader answered is not judged again when its read flag was lost") {
  Answered world;
  auto entries = world.h4.inbox("team-lead");
  REQUIRE(entries.size() == 1);
  entries.front().as_object()["read"] = false;
  test::replace(world.h4.inboxes() / "team-lead.json", test::json::serialize(entries));
  world.go_on(4);
  CHECK(world.h4.inbox("w9").empty());
  CHECK(world.h4.inbox("team-lead").front().at("read").as_bool());
}

TEST_CASE("a repeated request gets the bytes that an earlier leader answered, another one under its id does not") {
  Answered world;
  world.h4.add("team-lead", World::entry("w9", World::request("perm-9", "git status", "w9"), 5));
  world.go_on(4);
  CHECK(world.h4.texts("w9") == std::vector{world.answer});
  world.h4.add("team-lead", World::entry("w9", World::request("perm-9", "git log", "w9"), 6));
  world.go_on(4);
  REQUIRE(world.h4.inbox("w9").size() == 2);
  CHECK(world.h4.payload("w9", 1).at("subtype").as_string() == "error");
}

TEST_CASE("chat that an earlier leader may have delivered has the label of a repeat, and other chat has none") {
  Followed world;
  world.later(20);
  const auto got = world.h4.receive_chat();
  REQUIRE(got.size() == 2);
  for (const auto& one : got) CHECK((one.attempts > 1) == (one.text == "from w3"));
}

TEST_CASE("mail for the next leader does not overtake what the one before has and did not settle") {
  ClusterWorld world;
  NodeWorld h4{world.broker, "h4", {"w9"}};
  world.all = {&world.h1, &world.h2, &h4};
  world.go_on(3);
  world.h2.add("team-lead", World::entry("w3", "first", 1));
  world.go_on(3);
  world.broker.cut_off = {"h1"};
  world.advance(11s);
  world.all = {&h4};
  world.go_on(4);
  REQUIRE(h4.team->context().membership.role == handlers::EffectiveRole::leader);
  world.h2.add("team-lead", World::entry("w3", "second", 2));
  world.broker.broken_calls = 1;  // so it does not hear who leads before it puts the second one
  world.h2.step();
  h4.step();
  world.all = {&world.h2, &h4};
  world.go_on(8);
  CHECK(told(h4) == std::vector<std::string>{"first", "second"});
}

TEST_CASE("chat that a leader which was cut off may have shown is labeled as a possible repeat by the next one") {
  ClusterWorld world;
  NodeWorld h4{world.broker, "h4", {"w9"}};
  world.all = {&world.h1, &world.h2, &h4};
  world.go_on(3);
  world.h2.add("team-lead", World::entry("w3", "shown by both", 1));
  world.go_on(3);
  world.broker.cut_off = {"h1"};
  CHECK(told(world.h1) == std::vector<std::string>{"shown by both"});
  world.advance(11s);
  world.all = {&world.h2, &h4};
  world.go_on(4);
  REQUIRE(h4.team->context().membership.role == handlers::EffectiveRole::leader);
  world.h2.add("team-lead", World::entry("w3", "new", 2));
  world.go_on(4);
  const auto chat = h4.receive_chat();
  REQUIRE(chat.size() == 2);
  CHECK(chat[0].text == "shown by both");
  CHECK(chat[0].attempts == 2);
  CHECK(block({chat[0]}).find("[may be a repeat: ") != std::string::npos);
  CHECK(chat[1].text == "new");
  CHECK(chat[1].attempts == 1);
}

TEST_CASE("chat of its own worker that a followed leader offered is labeled as a possible repeat by the next one") {
  ClusterWorld world;
  NodeWorld h4{world.broker, "h4", {"w9"}};
  world.all = {&world.h1, &world.h2, &h4};
  world.go_on(3);
  world.h1.add("team-lead", World::entry("w1", "offered", 1));
  world.go_on(2);
  const auto offered = world.h1.receive_chat();  // not acknowledged
  REQUIRE(offered.size() == 1);
  world.broker.cut_off = {"h1"};
  world.advance(11s);
  world.go_on(4);
  REQUIRE(h4.team->context().membership.role == handlers::EffectiveRole::leader);
  world.broker.cut_off.clear();
  world.h1.team->delivery().requeue(offered, "its receiver is gone");
  world.h1.add("team-lead", World::entry("w1", "never offered", 2));
  for (int i = 0; i < 5; ++i) {
    world.advance(4s);
    world.go_on(1);
  }
  std::vector<std::string> got;
  for (const auto& one : h4.receive_chat()) got.push_back(one.text + " " + std::to_string(one.attempts));
  std::ranges::sort(got);
  CHECK(got == std::vector<std::string>{"never offered 1", "offered 2"});
}

TEST_CASE("what the next leader did not settle is the first one's again when it leads again") {
  Followed world;
  const bool over_a_restart = GENERATE(false, true);
  world.later(20);
  if (over_a_restart) world.h1.again();
  world.cut_off_h4_until_h1_leads();
  world.later(40);
  CHECK(world.h1.team->requests().shown().size() == 2);
  CHECK(world.h4.team->requests().shown().empty());
  auto got = told(world.h1);
  std::ranges::sort(got);
  CHECK(got == std::vector<std::string>{"from w2", "from w3"});
  CHECK(told(world.h4).empty());
  Followed::say(world.h1, "perm-1", handlers::RequestEvent::person_approves);
  Followed::say(world.h1, "perm-4", handlers::RequestEvent::person_approves);
  world.later(20);
  CHECK(world.h1.inbox("w1").size() == 1);
  CHECK(world.h2.inbox("w4").size() == 1);
}

TEST_CASE("what the next leader decided for its own worker is not open when the first one leads again") {
  const bool over_a_restart = GENERATE(false, true);
  const bool decided = GENERATE(false, true);
  CAPTURE(over_a_restart, decided);
  ClusterWorld world;
  NodeWorld h4{world.broker, "h4", {"w9"}};
  world.all = {&world.h1, &h4};
  world.go_on(3);
  h4.add("team-lead", World::entry("w9", World::request("perm-9", "npm publish", "w9"), 1));
  world.go_on(4);
  REQUIRE(world.h1.team->requests().shown().size() == 1);
  world.broker.cut_off = {"h1"};
  world.advance(11s);
  world.go_on(4);
  REQUIRE(h4.team->requests().shown().size() == 1);
  if (decided) {
    Followed::say(h4, "perm-9", handlers::RequestEvent::person_approves);
    world.go_on(4);
    REQUIRE(h4.inbox("w9").size() == 1);
  }
  const auto refusal_at_h1 = [&](const handlers::Request& request) {
    handlers::Answer no;
    no.event = handlers::RequestEvent::person_denies;
    no.by = "bob";
    const auto answered = world.h1.team->requests().answer(request, no, false);
    REQUIRE(std::holds_alternative<Requests::Refusal>(answered));
    return std::get<Requests::Refusal>(answered).code;
  };
  REQUIRE(world.h1.team->requests().open().size() == 1);
  CHECK(refusal_at_h1(world.h1.team->requests().open().front()) == "role.not_leader");
  if (over_a_restart) world.h1.again();
  world.broker.cut_off = {"h4"};  // its daemon is stopped
  world.advance(11s);
  world.go_on(4);
  REQUIRE(world.h1.team->context().membership.role == handlers::EffectiveRole::leader);
  CHECK(world.h1.team->requests().shown().empty());  // its node may have decided it
  REQUIRE(world.h1.team->requests().open().size() == 1);
  CHECK(refusal_at_h1(world.h1.team->requests().open().front()) == "request.elsewhere");
  world.broker.cut_off.clear();
  for (int i = 0; i < 15; ++i) {
    world.advance(4s);
    world.go_on(1);
  }
  CHECK(world.h1.team->requests().shown().size() == (decided ? 0U : 1U));
  if (decided) return;
  Followed::say(world.h1, "perm-9", handlers::RequestEvent::person_denies);
  world.go_on(6);
  CHECK(h4.inbox("w9").size() == 1);
}

TEST_CASE("a node that waits to lead knows the folder of its own lead, so a session begun by /clear there is that lead's") {
  Followed world;
  world.later(10);
  const auto& view = world.h1.team->context().view();
  REQUIRE(view.roster.find("team-lead") != nullptr);
  CHECK(view.roster.find("team-lead")->cwd == "/h1/lead");
  schema::HookEvent event;
  event.name = "SessionStart";
  event.source = "clear";
  event.session_id = "s2";
  event.cwd = "/h1/lead";
  CHECK(handlers::why_foreign(event, "", schema::ClientMode::interactive, {}, view).empty());
}

TEST_CASE("a leader's receipt from before another node led does not count when it leads again") {
  ClusterWorld world;
  NodeWorld h4{world.broker, "h4", {"w9"}};
  const bool told_again = GENERATE(false, true);  // or the receipt was under way
  world.all = {&world.h1, &world.h2, &h4};
  world.go_on(3);
  world.h2.add("team-lead", World::entry("w3", World::request("perm-1", "git status", "w3")));
  world.h2.step();
  world.h1.receive();
  if (!told_again) world.h1.send();
  world.h1.again();  // it has not taken the request in
  world.advance(11s);
  h4.turn();
  REQUIRE(h4.team->cluster()->state().leading());
  world.h1.turn();
  world.h1.poll();
  world.advance(11s);
  world.h1.turn();
  REQUIRE(world.h1.team->cluster()->state().leading());
  world.h1.send();
  world.h2.turn();
  world.h2.receive();
  for (int i = 0; i < 4; ++i) {
    world.go_on(1);
    world.advance(4s);
  }
  REQUIRE(world.h2.inbox("w3").size() == 1);
  CHECK(world.h2.payload("w3", 0).at("subtype").as_string() == "success");
}

TEST_CASE("a leader is followed, and its receipts count, though its epoch is lower than one before the engine was emptied") {
  ClusterWorld world;
  NodeWorld h4{world.broker, "h4", {"w9"}};
  world.all = {&world.h1, &world.h2, &h4};
  world.go_on(3);
  for (const std::set<std::string>& away : {std::set<std::string>{"h1"}, {"h1", "h4"}, {"h1"}}) {
    world.broker.cut_off = away;
    world.advance(11s);
    world.go_on(3);
  }
  world.advance(4s);  // the next heartbeat
  world.go_on(1);
  REQUIRE(h4.team->cluster()->state().leading());
  world.broker.empty();
  world.broker.cut_off = {"h4"};
  world.advance(11s);
  world.go_on(3);
  REQUIRE(world.h1.team->cluster()->state().leading());
  const auto& followed = world.h2.team->cluster()->state();
  REQUIRE(world.broker.epoch < followed.epoch);
  CHECK(followed.who_leads() != nullptr);
  world.h2.add("team-lead", World::entry("w3", "for the lead", 1));
  world.go_on(4);
  CHECK(told(world.h1) == std::vector<std::string>{"for the lead"});
  const auto counts = world.h2.ledger->node_mail().counts("t");
  for (const auto& one : *counts) CHECK(one.waiting + one.put == 0);
}

TEST_CASE("of what a followed leader had for workers elsewhere chat still goes, and an order is given up in words") {
  ClusterWorld world;
  NodeWorld h4{world.broker, "h4", {"w9"}};
  world.all = {&world.h1, &world.h2, &h4};
  world.go_on(3);
  world.broker.cut_off = {"h1"};
  auto& mailbox = world.h1.team->cluster()->mailbox();
  schema::Message message;
  message.from = "team-lead";
  message.timestamp = "2026-01-01T00:00:00.000Z";
  message.text = "look at the tests";
  REQUIRE(mailbox.post("w3", message).put == WriteStatus::done);
  message.text = R"({"type":"mode_set_request","mode":"plan","from":"team-lead"})";
  REQUIRE(mailbox.post("w3", message).put == WriteStatus::done);
  const auto order = world.h1.ledger->node_mail().latest({}, 1)->front().key;
  world.advance(11s);
  world.go_on(4);
  REQUIRE(h4.team->context().membership.role == handlers::EffectiveRole::leader);
  world.broker.cut_off.clear();
  for (int i = 0; i < 4; ++i) {
    world.advance(4s);
    world.go_on(1);
  }
  CHECK(world.h2.texts("w3") == std::vector<std::string>{"look at the tests"});
  const auto row = *world.h1.ledger->node_mail().sent("t", "w3", order);
  CHECK(row->state == NodeMailState::rejected);
  CHECK(row->problem == "node h4 leads now; if it is still wanted, order it there");
}

TEST_CASE("an answer that was under way when the first leader led again is the one that counts, for its own worker too") {
  Followed world;
  world.later(20);
  Followed::say(world.h4, "perm-1", handlers::RequestEvent::person_approves);
  world.h4.poll();
  world.h4.send();  // in the engine, and not read yet
  world.h1.broker.cut_off = {"h4"};
  world.all = {&world.h2};
  world.advance(11s);
  world.h1.clock.advance(11s);
  world.h1.turn();
  CHECK(world.h1.team->cluster()->state().leading());
  CHECK(world.state_of(world.h1, "perm-1") == handlers::RequestState::answered_elsewhere);
  world.all = {&world.h1, &world.h2};
  world.later(20);
  REQUIRE(world.h1.inbox("w1").size() == 1);
  CHECK(world.h1.payload("w1", 0).at("subtype").as_string() == "success");
}

TEST_CASE("a node that was not told that it won the lease still takes the answers of the leader before it for final") {
  Followed world;
  world.later(20);
  Followed::say(world.h4, "perm-1", handlers::RequestEvent::person_approves);
  world.h4.poll();
  world.h4.send();
  world.broker.cut_off = {"h4"};
  world.all = {&world.h2};
  world.advance(11s);
  world.h1.clock.advance(11s);
  world.broker.lost_grants = 1;
  world.h1.turn();
  REQUIRE(world.broker.holder == "h1");
  REQUIRE_FALSE(world.h1.team->cluster()->state().leading());
  world.h1.clock.advance(5s);
  world.h1.turn();
  REQUIRE(world.h1.team->cluster()->state().leading());
  CHECK(world.state_of(world.h1, "perm-1") == handlers::RequestState::answered_elsewhere);
}

TEST_CASE("what a leader had decided for its own worker is written also after another node leads, and is the only answer") {
  ClusterWorld world;
  NodeWorld h4{world.broker, "h4", {"w9"}};
  world.all = {&world.h1, &h4};
  world.go_on(3);
  world.h1.add("team-lead", World::entry("w1", World::request("perm-1", "make install", "w1"), 1));
  world.go_on(1);
  world.h1.hold("w1");  // its box is locked by a peer
  Followed::say(world.h1, "perm-1", handlers::RequestEvent::person_approves);
  world.h1.poll();
  world.broker.cut_off = {"h1"};
  world.advance(11s);
  world.go_on(4);
  REQUIRE(h4.team->context().membership.role == handlers::EffectiveRole::leader);
  world.broker.cut_off.clear();
  world.go_on(4);
  REQUIRE(world.h1.team->context().membership.role == handlers::EffectiveRole::standby);
  world.h1.hold("w1", false);
  for (int i = 0; i < 8; ++i) {
    world.advance(2s);
    world.go_on(1);
  }
  REQUIRE(world.h1.inbox("w1").size() == 1);
  CHECK(world.h1.payload("w1", 0).at("subtype").as_string() == "success");
  CHECK(h4.team->requests().open().empty());
}

TEST_CASE("a request that has its answer is not asked of the next leader, though the first one never told that it was settled") {
  ClusterWorld world;
  NodeWorld h4{world.broker, "h4", {"w9"}};
  world.all = {&world.h1, &h4};
  world.go_on(3);
  h4.add("team-lead", World::entry("w9", World::request("perm-9", "make install", "w9"), 1));
  world.go_on(2);
  Followed::say(world.h1, "perm-9", handlers::RequestEvent::person_approves);
  world.h1.poll();
  world.h1.send();
  world.broker.cut_off = {"h1"};
  world.advance(11s);
  world.go_on(6);
  REQUIRE(h4.team->context().membership.role == handlers::EffectiveRole::leader);
  CHECK(h4.team->requests().open().empty());
  REQUIRE(h4.inbox("w9").size() == 1);
  CHECK(h4.payload("w9", 0).at("subtype").as_string() == "success");
}

TEST_CASE("what a node's workers wrote before it led comes before what they write to it then") {
  ClusterWorld world;
  NodeWorld h4{world.broker, "h4", {"w9"}};
  world.all = {&world.h1, &h4};
  world.go_on(3);
  world.broker.cut_off = {"h1", "h4"};
  world.advance(11s);
  world.go_on(2);
  h4.add("team-lead", World::entry("w9", "first", 1));
  world.go_on(1);
  REQUIRE(h4.all_read());  // in its ledger, for whoever leads
  world.broker.cut_off = {"h1"};
  world.advance(5s);
  h4.turn();
  REQUIRE(h4.team->cluster()->state().leading());
  h4.add("team-lead", World::entry("w9", "second", 2));
  h4.poll();
  world.go_on(4);
  CHECK(told(h4) == std::vector<std::string>{"first", "second"});
}

TEST_CASE("chat that a followed leader has queued goes before what the same workers wrote after its lease") {
  ClusterWorld world;
  NodeWorld h4{world.broker, "h4", {"w9"}};
  world.all = {&world.h1, &h4};
  world.go_on(3);
  world.h1.add("team-lead", World::entry("w1", "first", 1));
  world.go_on(1);
  world.broker.cut_off = {"h1"};
  world.advance(11s);
  world.h1.step();
  REQUIRE_FALSE(world.h1.team->cluster()->state().leading());
  world.h1.add("team-lead", World::entry("w1", "second", 2));
  world.h1.step();
  world.go_on(4);
  world.broker.cut_off.clear();
  world.advance(6s);
  world.go_on(6);
  CHECK(told(h4) == std::vector<std::string>{"first", "second"});
}

TEST_CASE("chat that a followed leader has offered goes before what the same workers wrote after it") {
  const bool returned = GENERATE(true, false);
  ClusterWorld world;
  NodeWorld h4{world.broker, "h4", {"w9"}};
  world.all = {&world.h1, &h4};
  world.go_on(3);
  world.h1.add("team-lead", World::entry("w1", "first", 1));
  world.go_on(1);
  const auto offered = world.h1.receive_chat();  // not acknowledged
  REQUIRE(offered.size() == 1);
  world.h1.add("team-lead", World::entry("w1", "second", 2));
  world.go_on(1);
  world.broker.cut_off = {"h1"};
  world.advance(11s);
  world.h1.step();
  world.h1.add("team-lead", World::entry("w1", "third", 3));
  world.go_on(4);
  world.broker.cut_off.clear();
  world.advance(6s);
  world.go_on(6);
  REQUIRE(h4.team->context().membership.role == handlers::EffectiveRole::leader);
  CHECK(told(h4).empty());
  Delivery& delivery = world.h1.team->delivery();
  if (returned)
    delivery.requeue(offered, "its receiver is gone");
  else
    REQUIRE(delivery.acknowledge({offered[0].key.value}, Confirmation::acknowledged));
  for (int i = 0; i < 5; ++i) {
    world.advance(4s);
    world.go_on(1);
  }
  std::vector<std::string> expected{"first", "second", "third"};
  if (!returned) expected.erase(expected.begin());
  CHECK(told(h4) == expected);
}

TEST_CASE("two workers of another node use one id, and each gets its own answer") {
  ClusterWorld world;
  world.go_on(3);
  world.h2.add("team-lead", World::entry("w3", World::request("perm-1", "git status", "w3")));
  world.h2.add("team-lead", World::entry("w4", World::request("perm-1", "git status", "w4")));
  world.go_on(20);
  for (const char* worker : {"w3", "w4"}) {
    REQUIRE(world.h2.inbox(worker).size() == 1);
    CHECK(world.h2.payload(worker, 0).at("subtype").as_string() == "success");
  }
  CHECK(world.h1.ledger->requests().by_id("perm-1")->size() == 2);
}

TEST_CASE("a request whose answer did not leave the node that decided it is asked of the next leader") {
  ClusterWorld world;
  NodeWorld h4{world.broker, "h4", {"w9"}};
  world.all = {&world.h1, &world.h2, &h4};
  world.go_on(3);
  world.h2.add("team-lead", World::entry("w3", World::request("perm-1", "git status", "w3")));
  world.h2.step();
  world.h1.receive();
  world.h1.poll();
  REQUIRE((*world.h1.ledger->requests().find("t", {handlers::RequestKind::permission, "w3", "perm-1"}))->state == handlers::RequestState::approved);
  world.h1.clock.advance(9s);  // its lease is over for it, and nobody else leads yet
  world.h1.turn();
  world.h1.send();
  world.h2.receive();
  world.advance(11s);
  h4.turn();
  REQUIRE(h4.team->cluster()->state().leading());
  for (int i = 0; i < 8; ++i) {
    world.go_on(1);
    world.advance(4s);
  }
  REQUIRE(world.h2.inbox("w3").size() == 1);
  CHECK(world.h2.payload("w3", 0).at("subtype").as_string() == "success");
}

TEST_CASE("boxes on several nodes rest when those here do and nothing is heard of those elsewhere") {
  ClusterWorld world;
  world.go_on(8);
  auto& boxes = world.h1.team->cluster()->mailbox();
  const auto rests = [&] {
    REQUIRE(boxes.ready_boxes().ok());
    return boxes.is_idle();
  };
  for (int look = 0; look < 3; ++look) rests();
  CHECK(rests());
  SECTION("a message comes here") {
    world.h1.add("w1", World::entry("w2", "hello"));
    CHECK_FALSE(rests());
  }
  SECTION("one goes elsewhere") {
    REQUIRE(boxes.post("w3", {"team-lead", "hello", "", "2026-02-07T15:20:46.348Z", "", "x"}).put == WriteStatus::done);
    CHECK_FALSE(rests());
    rests();
    CHECK(rests());
    boxes.track("w3", schema::MessageKey{"k"});  // perhaps it was read already
    CHECK_FALSE(rests());
  }
}

TEST_CASE("a node that comes to lead gives up what its predecessor had ordered for its own worker") {
  Followed world;
  handlers::Shutdown asked;
  asked.request_id = "shutdown-1@w9";
  asked.member = "w9";
  asked.by = "node h1";
  asked.requested_ms = asked.changed_ms = world.h4.clock.wall_ms();
  asked.timeout_ms = asked.requested_ms + 24 * 3'600'000;
  REQUIRE(world.h4.ledger->shutdowns().put("t", asked));
  world.h4.again();
  world.later(590);
  CHECK(end_of(world.h4, asked.request_id)->state == handlers::ShutdownState::requested);
  world.later(20);
  CHECK(end_of(world.h4, asked.request_id)->state == handlers::ShutdownState::timed_out);
}

}  // namespace inbox_poller::hosts_test
