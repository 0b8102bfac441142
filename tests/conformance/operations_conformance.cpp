// What an actor does with mail and tasks is the same wherever they are kept (poller/mailbox/actor_mail.hpp): each case runs
// over a folder and over a Redis.
#include <functional>
#include <memory>

#include "tests/unit/poller/broker/redis_setting.hpp"

namespace inbox_poller::operations_conformance {

using namespace inbox_poller::poller;
using namespace inbox_poller::test;
namespace json = boost::json;
using std::chrono::seconds;

namespace {

/// Where some actors share mail and tasks.
class Place {
 public:
  virtual ~Place() = default;
  virtual std::unique_ptr<SharedBox> actor(const std::string& name) = 0;
  /// So long that all leases are over.
  virtual void leases_end() = 0;
  /// All that is to be given back is.
  virtual std::vector<json::object> sweep(SharedBox&) = 0;
  /// The process of this actor is killed; so long after that its offers are over.
  virtual void kill(std::unique_ptr<SharedBox>&) = 0;

  virtual Result<std::optional<HandOut>> recv(SharedBox& actor, Filter filter = {}) = 0;
};

class Folder final : public Place {
 public:
  std::unique_ptr<SharedBox> actor(const std::string& name) override { return setting_.actor(name); }
  void leases_end() override { setting_.clock.advance(seconds(130)); }
  std::vector<json::object> sweep(SharedBox& actor) override { return sweep_through(setting_, actor); }
  void kill(std::unique_ptr<SharedBox>& actor) override { actor.reset(); }  // the kernel lets go of its files
  Result<std::optional<HandOut>> recv(SharedBox& actor, Filter filter) override { return setting_.recv(actor, std::move(filter)); }

 private:
  MaildirSetting setting_;
};

class Engine final : public Place {
 public:
  std::unique_ptr<SharedBox> actor(const std::string& name) override { return setting_.actor(name); }
  void leases_end() override { setting_.age_claims(); }
  std::vector<json::object> sweep(SharedBox& actor) override {
    const auto swept = actor.tasks().sweep();
    REQUIRE(swept.ok());
    std::vector<json::object> objects;
    for (const TaskFile& one : swept->gone) objects.push_back(one.task.object());
    return objects;
  }
  void kill(std::unique_ptr<SharedBox>& actor) override {
    const std::string name = actor->actor();
    killed_.push_back(std::move(actor));  // it says nothing any more
    setting_.age_offers(name);
  }
  Result<std::optional<HandOut>> recv(SharedBox& actor, Filter filter) override {
    return setting_.folder.recv(actor, std::move(filter));
  }

 private:
  RedisSetting setting_;
  std::vector<std::unique_ptr<SharedBox>> killed_;
};

json::value payload(const Result<std::optional<HandOut>>& got) {
  REQUIRE(got.ok());
  return got->has_value() ? (*got)->message.at("payload") : json::value("none");
}

void offered_to_one_in_order(Place& place) {
  auto ada = place.actor("ada"), bob = place.actor("bob");
  CHECK(payload(place.recv(*bob)) == json::value("none"));
  const auto sent = ada->send({"bob", "note", json::parse(R"({"n": [1, 2.5], "t": "\u2028"})"), {}});
  REQUIRE(sent.ok());
  REQUIRE(ada->send({"bob", "task", "second", text_in(sent->message, "id")}).ok());
  auto first = place.recv(*bob);
  REQUIRE(first->has_value());
  CHECK((*first)->message == sent->message);
  CHECK((*first)->attempts == 1);
  auto second = place.recv(*bob);
  CHECK(payload(second) == json::value("second"));
  CHECK(payload(place.recv(*bob)) == json::value("none"));
  REQUIRE(bob->acknowledge((*first)->ticket).ok());
  REQUIRE(bob->acknowledge((*first)->ticket).ok());
  bob->requeue((*second)->ticket);
  bob->requeue("unknown");
  auto again = place.recv(*bob);
  REQUIRE(again->has_value());
  CHECK((*again)->attempts == 2);
  CHECK((*again)->message.at("attempts") == json::value(2));
  REQUIRE(bob->acknowledge((*again)->ticket).ok());
  CHECK(payload(place.recv(*bob)) == json::value("none"));
  CHECK(bob->inbox()->at("unread") == json::value(0));
}

void only_what_fits(Place& place) {
  auto ada = place.actor("ada");
  for (int i = 0; i < 25; ++i) REQUIRE(ada->send({"ada", i % 2 == 0 ? "even" : "odd", i, i == 20 ? "q" : ""}).ok());
  auto odd = place.recv(*ada, {.type = "odd", .reply_to = {}});
  CHECK(payload(odd) == json::value(1));
  auto answer = place.recv(*ada, {.type = {}, .reply_to = "q"});
  CHECK(payload(answer) == json::value(20));
  CHECK(payload(place.recv(*ada, {.type = "none", .reply_to = {}})) == json::value("none"));
  const auto inbox = ada->inbox();
  CHECK(inbox->at("unread") == json::value(25));
  CHECK(inbox->at("messages").at(3).at("type") == json::value("odd"));
  REQUIRE(ada->acknowledge((*odd)->ticket).ok());
  ada->requeue((*answer)->ticket);
  for (int i = 0; i < 25; ++i) {
    if (i == 1) continue;
    const auto next = place.recv(*ada);
    CHECK(payload(next) == json::value(i));
    REQUIRE(ada->acknowledge((*next)->ticket).ok());
  }
}

void offered_by_a_killed_process(Place& place) {
  auto one = place.actor("bob"), other = place.actor("bob");
  REQUIRE(one->send({"bob", "note", "a", {}}).ok());
  REQUIRE(one->send({"bob", "note", "b", {}}).ok());
  CHECK(payload(place.recv(*one)) == json::value("a"));
  const auto second = place.recv(*other);
  CHECK(payload(second) == json::value("b"));
  CHECK(payload(place.recv(*other)) == json::value("none"));
  REQUIRE(other->acknowledge((*second)->ticket).ok());
  place.kill(one);
  const auto again = place.recv(*other);
  CHECK(payload(again) == json::value("a"));
  CHECK((*again)->attempts == 2);
  CHECK((*again)->message.at("attempts") == json::value(2));
}

void nobody_there(Place& place) {
  auto ada = place.actor("ada");
  const auto first = ada->send({"bob", "note", 1, {}});
  REQUIRE(first.ok());
  CHECK(first->new_mailbox);
  CHECK(first->note == "\"bob\" had no mailbox yet: it was made, and the message waits in it; no other actor exists yet");
  const auto second = ada->send({"bob", "note", 2, {}});
  CHECK_FALSE(second->new_mailbox);
  CHECK(second->note.empty());
  CHECK_FALSE(ada->send({"ada", "note", 3, {}})->new_mailbox);
  const auto slip = ada->send({"bbo", "note", 4, {}});
  CHECK(slip->new_mailbox);
  CHECK(slip->note.find("; did you mean \"bob\"?; other actors: bob") != std::string::npos);
  auto bob = place.actor("bob");
  CHECK_FALSE(bob->send({"ada", "note", 5, {}})->new_mailbox);  // whoever writes can be answered
  CHECK(payload(place.recv(*bob)) == json::value(1));
  auto eve = place.actor("eve");
  REQUIRE(eve->make().ok());
  REQUIRE(eve->make().ok());
  CHECK_FALSE(ada->send({"eve", "note", 6, {}})->new_mailbox);
  CHECK_FALSE(ada->send({"big", "note", json::value(std::string(5 << 20, 'x')), {}}).ok());
  CHECK(ada->send({"big", "note", 7, {}})->new_mailbox);  // what was refused made none
  ada->set_known_actors({"bob", "carl"});
  const auto refused = ada->send({"bbo", "note", 8, {}});
  CHECK(refused.error().code == "actor.unknown");
  CHECK(refused.error().message == "\"bbo\" is not among the known actors; did you mean \"bob\"?; --known-actors names: bob, carl");
  CHECK(ada->send({"carl", "note", 9, {}})->new_mailbox);
  CHECK(ada->send({"ada", "note", 10, {}}).ok());
  ada->set_known_actors({});
  CHECK(ada->send({"../x", "note", 1, {}}).error().code == "name.invalid");
  CHECK(ada->send({"bob", "", 1, {}}).error().code == "payload.invalid");
  CHECK(ada->send({"bob", "note", json::value(std::string(5 << 20, 'x')), {}}).error().code == "payload.too_large");
}

void a_tasks_life(Place& place) {
  auto ada = place.actor("ada"), bob = place.actor("bob");
  CHECK(claimed_id(*bob) == "none");
  const std::string first = id_of(ada->post("task", json::parse(R"({"branch": "x"})")));
  const std::string second = id_of(ada->post("review", 2));
  const std::string urgent = id_of(ada->post("task", 3, 5));
  const std::string idle = id_of(ada->post("task", 4, -1));
  CHECK(claimed_id(*bob, "review") == second);
  CHECK(claimed_id(*bob) == urgent);
  const auto claimed = bob->claim({}, a_lease);
  REQUIRE(claimed->has_value());
  CHECK(text_in(**claimed, "id") == first);
  CHECK(text_in(**claimed, "owner") == "bob");
  CHECK((*claimed)->at("lease_expires_at").as_double() - (*claimed)->at("claimed_at").as_double() == Approx(120));
  CHECK((*claimed)->at("attempts") == json::value(1));
  const auto beaten = bob->heartbeat(first, seconds(300));
  REQUIRE(beaten.ok());
  CHECK(beaten->at("lease_expires_at").as_double() > (*claimed)->at("lease_expires_at").as_double());
  CHECK(ada->complete(first, 1).error().code == "task.not_held");
  CHECK(bob->complete("", 1).error().code == "mailbox.usage");
  const auto done = bob->complete(first.substr(0, 12), json::parse(R"({"merged": true})"));
  REQUIRE(done.ok());
  CHECK(text_in(*done, "status") == "done");
  CHECK(done->at("result").at("merged").as_bool());
  const auto tasks = bob->inbox()->at("tasks");
  CHECK(json::serialize(tasks.at("mine")) == json::serialize(json::array{json::value(second), json::value(urgent)}));
  CHECK(tasks.at("open") == json::value(1));
  CHECK(tasks.at("done") == json::value(1));
  CHECK(claimed_id(*ada) == idle);
}

void abandoned(Place& place) {
  auto ada = place.actor("ada"), bob = place.actor("bob");
  const std::string id = id_of(ada->post("task", 1));
  CHECK(claimed_id(*ada) == id);
  const auto open = ada->abandon(id, "no compiler");
  REQUIRE(open.ok());
  CHECK(text_in(*open, "abandoned_reason") == "no compiler");
  CHECK(text_in(*open, "abandoned_by") == "ada");
  CHECK(text_in(*open, "status") == "open");
  for (const char* gone : {"owner", "claimed_at", "lease_expires_at"}) CHECK_FALSE(open->contains(gone));
  CHECK(claimed_id(*bob) == id);
  CHECK(ada->abandon(id, "x").error().code == "task.not_held");
}

void leases_and_late_results(Place& place) {
  auto ada = place.actor("ada"), bob = place.actor("bob");
  const std::string id = id_of(ada->post("task", 1));
  for (int attempt = 1; attempt <= 3; ++attempt) {
    CHECK(claimed_id(*bob) == id);
    CHECK(place.sweep(*ada).empty());
    place.leases_end();
    const auto gone = place.sweep(*ada);
    REQUIRE(gone.size() == 1);
    CHECK(text_in(gone.front(), "swept_from") == "bob");
    CHECK(text_in(gone.front(), "status") == (attempt < 3 ? "open" : "dead"));
  }
  CHECK(claimed_id(*ada) == "none");
  const auto late = bob->complete(id, "too late");
  CHECK(late.error().code == "task.not_held");
  CHECK(late.error().message.find("kept in") != std::string::npos);
  CHECK(bob->complete("unheard-of", 1).error().code == "task.unknown");
  const auto all = ada->tasks().all();
  REQUIRE(all->size() == 2);
  CHECK((*all)[1].task.text("status") == "late");
  CHECK((*all)[1].task.text("result") == "too late");
  CHECK(ada->tasks().requeue(id).ok());
  CHECK(ada->tasks().requeue(id).error().code == "task.not_dead");
  CHECK(claimed_id(*bob) == id);
}

struct Case {
  std::string name;
  void (*run)(Place&);
};
const std::vector<Case> cases{
    {"a message is offered to one, in order, and gone when it was taken", offered_to_one_in_order},
    {"only what fits is taken, and what stands before it stays in its place", only_what_fits},
    {"what a killed process was offered comes again, and says so", offered_by_a_killed_process},
    {"a message to a good name makes its mailbox and says so, unless only known actors are meant", nobody_there},
    {"a task goes from post to done, and the priorities go first", a_tasks_life},
    {"what is abandoned can be claimed again, and says why", abandoned},
    {"a lease that is over is given back, a late result is kept, three times is enough", leases_and_late_results},
};

}  // namespace

TEST_CASE("what an actor does with mail and tasks is the same in a folder and in Redis") {
  std::vector<std::pair<std::string, std::function<std::unique_ptr<Place>()>>> places{
      {"folder", [] { return std::make_unique<Folder>(); }}};
  if (shared_redis().runs())
    places.emplace_back("redis", [] { return std::make_unique<Engine>(); });
  else
    WARN("no redis-server here: the operations' suite does not run over Redis");
  for (const auto& [name, make] : places) {
    for (const Case& one : cases) {
      CAPTURE(name, one.name);
      one.run(*make());
    }
  }
}

}  // namespace inbox_poller::operations_conformance
