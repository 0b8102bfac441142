// The verbs of the control socket (docs/reference/control.md) against a team that is really served: what they answer, what they
// change, and in which role they are refused.
#include "poller/control/verbs.hpp"

#include <chrono>

#include "tests/unit/poller/control/served_world.hpp"

namespace inbox_poller::test::verbs_test {
namespace {

using std::chrono::milliseconds;

struct Serving : Served {
  Result<ReloadReport> reloaded = ReloadReport{{"a"}, {"b"}, {"c"}, {"daemon.socket"}, {"t.toml:4: allows nothing"}};
  Verbs verbs;

  explicit Serving(const std::function<void(config::TeamConfig&)>& adapt = [](config::TeamConfig&) {})
      : Served(adapt), verbs(loop, *world.services, "/ledger", [this] { return reloaded; }) {
    REQUIRE(until([this] { return !loop.teams().empty() && team().inbox_report().state != "not polled yet"; }));
  }

  Team& team() { return *loop.teams().at("t"); }

  json::object ask(const std::string& verb, json::object fields = {}) {
    fields["verb"] = verb;
    fields["by"] = "mona";
    std::optional<json::object> answer;
    boost::asio::co_spawn(world.context, verbs.handle(std::move(fields), std::make_shared<ControlSession>()),
                          [&](std::exception_ptr, json::object value) { answer = std::move(value); });
    REQUIRE(until([&] { return answer.has_value(); }));
    return *answer;
  }
  std::string code(const std::string& verb, json::object fields = {}) {
    json::value answer = ask(verb, std::move(fields));
    if (answer.as_object().contains("answers")) answer = answer.at("answers").at(0);  // what became of the one request
    if (answer.at("ok").as_bool()) return "ok";
    CHECK_FALSE(answer.at("message").as_string().empty());
    return json::value_to<std::string>(answer.at("code"));
  }
  json::object status() { return ask("status").at("teams").at(0).as_object(); }
};

std::function<void(config::TeamConfig&)> as(config::Role role) {
  return [role](config::TeamConfig& config) { config.team.role = role; };
}

std::vector<std::string> strings(const json::value& list) { return json::value_to<std::vector<std::string>>(list); }

}  // namespace

TEST_CASE("recv leaves out the block for who says that he needs none") {
  Serving serving;
  serving.world.write_lead({World::entry("w1", "one", 1), World::entry("w1", "two", 2)});
  REQUIRE(serving.until([&] { return serving.world.ledger->deliveries().counts("t")->queued == 2; }));
  const auto with = serving.ask("recv", {{"max", 1}, {"hold", true}});
  CHECK(with.at("block").as_string().find("one") != std::string::npos);
  const auto without = serving.ask("recv", {{"max", 1}, {"hold", true}, {"block", false}});
  CHECK(without.at("messages").at(0).at("text") == "two");
  CHECK_FALSE(without.contains("block"));
}

TEST_CASE("a huge request hides no other: its text is cut, in pending and in trace") {
  Serving serving;
  const auto huge = World::request("perm-1", "make " + std::string(17'000'000, 'x'));
  serving.world.write_lead({World::entry("w1", huge, 1), World::entry("w1", World::request("perm-2", "make install"), 2)});
  REQUIRE(serving.until([&] { return serving.team().requests().open().size() == 2; }));
  const auto pending = serving.ask("pending").at("requests").as_array();
  REQUIRE(pending.size() == 2);
  CHECK(pending.at(0).at("body").as_string().starts_with("(CUT: only the first "));
  CHECK(pending.at(1).at("body").as_string().find("make install") != std::string::npos);
  CHECK(serving.code("trace", {{"id", "perm-1"}}) == "ok");
}

TEST_CASE("chat that is too much for one answer comes in several") {
  Serving serving;
  std::vector<std::string> entries;
  for (int number = 0; number < 4; ++number)
    entries.push_back(World::entry("w1", std::to_string(number) + std::string(900'000, 'x'), number + 1));
  serving.world.write_lead(entries);
  REQUIRE(serving.until([&] { return serving.world.ledger->deliveries().counts("t")->queued == 4; }));
  for (int number = 0; number < 4; ++number) {
    const auto some = serving.ask("recv", {{"max", 20}, {"hold", true}});
    REQUIRE(some.at("messages").as_array().size() == 1);
    CHECK(some.at("messages").at(0).at("text").as_string().starts_with(std::to_string(number)));
  }
}

TEST_CASE("shutdown asks one worker or all, and tells whom it could not ask and why") {
  Serving serving;
  const auto first = serving.ask("shutdown", {{"member", "w1"}, {"reason", "done"}, {"force_after_ms", 60'000}});
  REQUIRE(first.at("ok").as_bool());
  const auto& shutdown = first.at("shutdowns").at(0).as_object();
  CHECK(shutdown.at("state") == "requested");
  CHECK(shutdown.at("open") == true);
  CHECK(shutdown.at("by") == "mona");
  CHECK(shutdown.at("force_ms").as_int64() - shutdown.at("requested_ms").as_int64() == 60'000);
  CHECK_FALSE(shutdown.at("left_alone").as_string().empty());  // the roster names no pane
  CHECK(serving.code("shutdown", {{"member", "w1"}}) == "shutdown.open");
  CHECK(serving.code("shutdown", {{"member", "mallory"}}) == "member.unknown");
  CHECK(serving.code("shutdown", {{"member", "team-lead"}}) == "member.unknown");

  const auto all = serving.ask("shutdown", {{"all", true}, {"remind_after_ms", 0}});
  REQUIRE(all.at("shutdowns").as_array().size() == 1);
  CHECK(all.at("shutdowns").at(0).at("member") == "w2");
  CHECK(all.at("shutdowns").at(0).at("remind_ms") == 0);
  REQUIRE(all.at("refused").as_array().size() == 1);
  CHECK(all.at("refused").at(0).at("code") == "shutdown.open");
  CHECK(serving.status().at("shutdowns").as_array().size() == 2);
  CHECK(serving.until([&] { return serving.world.inbox("w1").size() == 1 && serving.world.inbox("w2").size() == 1; }));
}

TEST_CASE("a shutdown says whom it is about and within which times, or is refused") {
  Serving serving;
  CHECK(serving.code("shutdown") == "request.invalid");
  CHECK(serving.code("shutdown", {{"member", "w1"}, {"all", true}}) == "request.invalid");
  CHECK(serving.code("shutdown", {{"member", "w1"}, {"remind_after_ms", -1}}) == "request.invalid");
  CHECK(serving.code("shutdown", {{"member", "w1"}, {"force_after_ms", 1'000'000'000'000}}) == "request.invalid");
  CHECK(serving.ask("shutdowns").at("shutdowns").as_array().empty());
}

TEST_CASE("shutdowns are listed newest first, or found by id") {
  Serving serving;
  std::vector<std::string> ids;
  for (const char* member : {"w1", "w2"}) {
    const auto answer = serving.ask("shutdown", {{"member", member}});
    ids.push_back(json::value_to<std::string>(answer.at("shutdowns").at(0).at("request_id")));
    serving.world.clock.advance(milliseconds(10));
  }
  const auto list = serving.ask("shutdowns").at("shutdowns").as_array();
  REQUIRE(list.size() == 2);
  CHECK(list[0].at("request_id").as_string() == ids[1]);
  CHECK(serving.ask("shutdowns", {{"limit", 1}}).at("shutdowns").as_array().size() == 1);
  CHECK(serving.ask("shutdowns", {{"id", ids[0]}}).at("shutdowns").at(0).at("member") == "w1");
  CHECK(serving.code("shutdowns", {{"id", "shutdown-1@w9"}}) == "request.unknown");
  CHECK(serving.code("shutdowns", {{"team", "other"}}) == "team.unknown");
}

TEST_CASE("a mode goes to one worker or all, and what was not taken over is in the status") {
  Serving serving([](config::TeamConfig& config) { config.modes.apply_timeout = milliseconds(50); });
  CHECK(serving.code("mode", {{"member", "w1"}, {"mode", "delegate"}}) == "request.invalid");
  CHECK(serving.code("mode", {{"mode", "plan"}}) == "request.invalid");
  CHECK(serving.code("mode", {{"member", "w1"}, {"mode", "bypassPermissions"}}) == "mode.above_ceiling");
  const auto answer = serving.ask("mode", {{"all", true}, {"mode", "plan"}});
  REQUIRE(answer.at("sent").as_array().size() == 2);
  CHECK((answer.at("sent").at(1) == json::object{{"member", "w2"}, {"mode", "plan"}}));
  CHECK(serving.until([&] { return serving.world.inbox("w2").size() == 1; }));
  CHECK(serving.status().at("not_applied").as_array().empty());
  serving.world.clock.advance(milliseconds(60));
  REQUIRE(serving.until([&] { return serving.status().at("not_applied").as_array().size() == 2; }));
  CHECK(serving.status().at("not_applied").at(0).at("mode") == "plan");
}

TEST_CASE("an allowed rule is in force, listed with who was told, and can be taken back") {
  Serving serving;
  const auto allowed = serving.ask("allow", {{"rule", "Edit"}, {"directory", "/repo"}});
  REQUIRE(allowed.at("ok").as_bool());
  CHECK(allowed.at("rule") == "Edit(//repo/**)");
  CHECK(allowed.at("is_new") == true);
  CHECK(strings(allowed.at("told")) == std::vector<std::string>{"w1", "w2"});
  CHECK(serving.ask("allow", {{"rule", "Edit(//repo/**)"}}).at("is_new") == false);
  CHECK(serving.code("allow", {{"rule", "Edit("}}) == "rule.syntax");

  const auto rules = serving.ask("rules");
  REQUIRE(rules.at("session").as_array().size() == 1);
  CHECK(rules.at("session").at(0).at("by") == "mona");
  CHECK(rules.at("session").at(0).at("kind") == "team");
  CHECK(strings(rules.at("session").at(0).at("told")) == std::vector<std::string>{"w1", "w2"});
  CHECK((rules.at("configured").at(0) ==
         json::object{{"kind", "permission"}, {"action", "allow"}, {"rule", "Bash(git status)"}}));

  const auto revoked = serving.ask("revoke", {{"rule", "Edit(//repo/**)"}});
  CHECK(strings(revoked.at("keepers")) == std::vector<std::string>{"w1", "w2"});
  CHECK(serving.ask("rules").at("session").as_array().empty());
  CHECK(serving.code("revoke", {{"rule", "Edit(//repo/**)"}}) == "rule.unknown");
  CHECK(serving.code("revoke", {{"rule", "Bash(git status)"}}) == "rule.unknown");  // the file's, not the session's
}

TEST_CASE("beside another lead nobody is ordered anything, but a rule decides here") {
  Serving serving(as(config::Role::interceptor));
  CHECK(serving.code("shutdown", {{"member", "w1"}}) == "role.not_leader");
  CHECK(serving.code("mode", {{"member", "w1"}, {"mode", "plan"}}) == "role.not_leader");
  const auto allowed = serving.ask("allow", {{"rule", "Bash(make)"}});
  REQUIRE(allowed.at("ok").as_bool());
  CHECK(allowed.at("told").as_array().empty());
  CHECK(allowed.at("role") == "interceptor");
  CHECK(serving.team().context().view().rules.allow.size() == 2);
  CHECK(serving.world.inbox("w1").empty());
  CHECK(serving.code("revoke", {{"rule", "Bash(make)"}}) == "ok");
  CHECK(serving.status().at("role") == "interceptor");
  CHECK(serving.status().at("seen").at("consumed") == 0);
}

TEST_CASE("an observer refuses everything that would write to the team") {
  Serving serving(as(config::Role::observer));
  serving.world.write_lead({World::entry("w1", World::request("perm-1", "make"))});
  REQUIRE(serving.until([&] { return !serving.team().requests().open().empty(); }));
  const std::pair<const char*, json::object> verbs[] = {{"shutdown", {{"member", "w1"}}},
                                                        {"mode", {{"member", "w1"}, {"mode", "plan"}}},
                                                        {"allow", {{"rule", "Bash(make)"}}},
                                                        {"send", {{"member", "w1"}, {"text", "x"}}},
                                                        {"broadcast", {{"text", "x"}}},
                                                        {"approve", {{"ids", json::array{"perm-1"}}}},
                                                        {"deny", {{"ids", json::array{"perm-1"}}, {"reason", "x"}}}};
  for (const auto& [verb, fields] : verbs) {
    INFO(verb);
    CHECK(serving.code(verb, fields) == "role.not_leader");
  }
  const auto shown = serving.ask("pending").at("requests").at(0);
  CHECK(shown.at("answers") == "not_leader");  // `pending` prints no `approve` that cannot work
  CHECK(json::value_to<std::string>(shown.at("answers_reason")).starts_with("here the role is observer; change team.role"));
  CHECK(*serving.world.ledger->outbox().owed("t") == 0);
}

TEST_CASE("a leader that stopped says why in the status and in what it refuses, until it resumes") {
  Serving serving;
  const auto read = [](std::string entry) { return entry.replace(entry.rfind("false"), 5, "true"); };
  std::vector<std::string> entries;
  for (int second = 1; second <= 3; ++second) {  // nobody writes messages that are read already
    entries.push_back(read(World::entry("w1", "hello", second)));
    serving.world.write_lead(entries);
    serving.until([&, polls = 0]() mutable { return ++polls > 20; });
  }
  REQUIRE(serving.until([&] { return serving.status().at("role") == "paused"; }));
  const auto reason = json::value_to<std::string>(serving.status().at("role_reason"));
  CHECK_FALSE(reason.empty());
  const auto refused = serving.ask("mode", {{"all", true}, {"mode", "plan"}});
  CHECK(refused.at("code") == "role.not_leader");
  CHECK(json::value_to<std::string>(refused.at("message")).find(reason) != std::string::npos);
  CHECK(serving.code("allow", {{"rule", "Bash(make)"}}) == "role.not_leader");
  CHECK(serving.ask("resume").at("role") == "leader");
  CHECK(serving.code("allow", {{"rule", "Bash(make)"}}) == "ok");
}

TEST_CASE("the status tells of each worker what it is doing, in which mode, and since when it is silent") {
  Serving serving;
  serving.world.write_lead(
      {World::entry("w1", World::request("perm-1", "make"), 1), World::entry("w2", "working on it", 2)});
  REQUIRE(serving.until([&] { return !serving.team().requests().open().empty(); }));
  const auto doing = [&](std::size_t index) {
    return json::value_to<std::string>(serving.status().at("members").at(index).at("doing"));
  };
  CHECK(doing(0) == "waiting");
  CHECK(doing(1) == "busy");
  CHECK(Serving().status().at("members").at(0).at("doing") == "busy");  // never heard, and nobody listened before
  serving.world.clock.advance(serving.world.config.team.unresponsive_after + milliseconds(1));
  CHECK(doing(1) == "unresponsive");
  spill(serving.world.scratch.path("teams/t/config.json"),
        R"({"name":"t","leadAgentId":"team-lead@t","leadSessionId":"s","members":[
            {"agentId":"team-lead@t","name":"team-lead"},{"agentId":"w2@t","name":"w2","mode":"plan"}]})");
  REQUIRE(serving.until([&] { return serving.status().at("members").at(0).at("present") == false; }));
  CHECK(serving.status().at("members").at(0).at("doing") == "gone");
  CHECK(serving.status().at("members").at(1).at("mode") == "plan");
}

TEST_CASE("a request is answered by the beginning of its id as long as one open request has it") {
  Serving serving;
  std::vector<std::string> box;
  for (int i = 0; i < 7; ++i)
    box.push_back(World::entry("w1", World::request("perm-" + std::to_string(i), "make"), i + 1));
  serving.world.write_lead(box);
  REQUIRE(serving.until([&] { return serving.team().requests().open().size() == 7; }));
  const auto approve = [&](const std::string& id, const std::string& team = "") {
    return serving.ask("approve", {{"ids", json::array{id}}, {"team", team}});
  };
  const auto uncertain = approve("perm");
  CHECK(uncertain.at("code") == "request.ambiguous");
  const auto text = json::value_to<std::string>(uncertain.at("message"));
  CHECK(std::ranges::count(text, '\n') == 6);
  CHECK(text.ends_with("\n  and 2 more; `inbox-poller pending --list` shows the open ones"));
  serving.world.clock.advance(milliseconds(1000));
  for (int i = 1; i < 7; ++i) CHECK(approve("perm-" + std::to_string(i)).at("ok") == true);
  CHECK(approve("perm").at("answers").at(0).at("request_id") == "perm-0");
  CHECK(approve("p").at("message").as_string().find("at least 4 characters") != std::string::npos);
  CHECK(approve("perm-0", "fire").at("message") == "team \"fire\" is not served; `inbox-poller status` names those that are");
}

TEST_CASE("reload tells what changed, or hands on every complaint") {
  Serving serving;
  const auto answer = serving.ask("reload");
  CHECK(strings(answer.at("added")) == std::vector<std::string>{"a"});
  CHECK(strings(answer.at("removed")) == std::vector<std::string>{"b"});
  CHECK(strings(answer.at("changed")) == std::vector<std::string>{"c"});
  CHECK(strings(answer.at("restart")) == std::vector<std::string>{"daemon.socket"});
  CHECK(strings(answer.at("warnings")) == std::vector<std::string>{"t.toml:4: allows nothing"});
  serving.reloaded = Error{"config.refused", "t.toml:3:1: unknown key"};
  CHECK(serving.ask("reload").at("message") == "t.toml:3:1: unknown key");
}

TEST_CASE("a team that is let go is no longer known, also to a receiver that waits") {
  Serving serving;
  std::optional<json::object> received;
  boost::asio::co_spawn(
      serving.world.context,
      serving.verbs.handle({{"verb", "recv"}, {"wait_ms", 60'000}}, std::make_shared<ControlSession>()),
      [&](std::exception_ptr, json::object value) { received = std::move(value); });
  serving.until([polls = 0]() mutable { return ++polls > 10; });
  CHECK_FALSE(received.has_value());
  serving.loop.reload({});
  REQUIRE(serving.until([&] { return received.has_value(); }));
  CHECK(received->at("code") == "team.unknown");
  CHECK(serving.code("lead", {{"team", "t"}}) == "team.unknown");
  CHECK(serving.ask("status").at("teams").as_array().empty());
}

TEST_CASE("what was lent to a receiver that went away before it was told is queued as if it had not been offered") {
  Serving serving;
  const auto session = std::make_shared<ControlSession>();
  std::optional<json::object> received;
  boost::asio::co_spawn(serving.world.context, serving.verbs.handle({{"verb", "recv"}, {"wait_ms", 60'000}}, session),
                        [&](std::exception_ptr, json::object value) { received = std::move(value); });
  serving.until([polls = 0]() mutable { return ++polls > 3; });
  serving.world.write_lead({World::entry("w1", "hello")});
  const auto count = [&] { return *serving.world.ledger->deliveries().counts("t"); };
  // One step at a time: the next one would tell the receiver.
  REQUIRE(holds_after([&] { return count().offered == 1; },
                      [&] { serving.world.context.run_one_for(milliseconds(10)); }));  // clock: until it is checked again
  REQUIRE_FALSE(received.has_value());
  session->closed = true;
  REQUIRE(serving.until([&] { return received.has_value(); }));
  CHECK(received->at("code") == "control.closed");
  CHECK(count().queued == 1);
  const auto again = serving.team().delivery().offer(World::by_hand());
  REQUIRE(again->size() == 1);
  CHECK(again->front().attempts == 1);
}

TEST_CASE("a trace gathers a shutdown with what was sent for it, and an order by the key of its message") {
  Serving serving;
  const auto begun = serving.ask("shutdown", {{"member", "w1"}});
  const auto id = json::value_to<std::string>(begun.at("shutdowns").at(0).at("request_id"));
  REQUIRE(serving.until([&] { return serving.world.inbox("w1").size() == 1; }));
  const auto shutdown = serving.ask("trace", {{"id", id}});
  REQUIRE(shutdown.at("shutdowns").as_array().size() == 1);
  CHECK(shutdown.at("shutdowns").at(0).at("effects").at(0).at("inbox") == "w1");
  CHECK_FALSE(shutdown.at("history").as_array().empty());

  REQUIRE(serving.ask("mode", {{"member", "w2"}, {"mode", "plan"}}).at("ok").as_bool());
  const auto key = serving.team().orders().rows().at(0).key.value;
  const auto order = serving.ask("trace", {{"id", key.substr(0, 12)}});
  REQUIRE(order.at("effects").as_array().size() == 1);
  CHECK(order.at("effects").at(0).at("order").at("subject") == "plan");
  CHECK(order.at("effects").at(0).at("order").at("state") == "sent");
  CHECK(serving.code("trace", {{"id", "nothing"}}) == "request.unknown");
}

TEST_CASE("a trace of WORKER/ID has the request of that worker only") {
  Serving serving;
  serving.world.write_lead({World::entry("w1", World::request("perm-1", "make install", "w1")),
                            World::entry("w2", World::request("perm-1", "make install", "w2"))});
  REQUIRE(serving.until([&] { return serving.team().requests().open().size() == 2; }));
  CHECK(serving.ask("trace", {{"id", "perm-1"}}).at("requests").as_array().size() == 2);
  const auto one = serving.ask("trace", {{"id", "w2/perm-1"}});
  REQUIRE(one.at("requests").as_array().size() == 1);
  CHECK(one.at("requests").at(0).at("member") == "w2");
  CHECK(serving.code("trace", {{"id", "w3/perm-1"}}) == "request.unknown");
}

TEST_CASE("a trace of chat tells its whole life, though the history holds no line of it") {
  Serving serving;
  serving.world.write_lead({World::entry("w1", "hello")});
  REQUIRE(serving.until([&] { return serving.world.all_read(); }));
  auto& delivery = serving.team().delivery();
  const auto leased = *delivery.offer(World::by_hand());
  REQUIRE(leased.size() == 1);
  REQUIRE(delivery.acknowledge({leased[0].key.value}));
  CHECK(serving.world.ledger->history().of_message(leased[0].key)->empty());
  const auto trace = serving.ask("trace", {{"id", leased[0].key.value.substr(0, 12)}});
  std::vector<std::string> events;
  for (const auto& line : trace.at("history").as_array())
    events.push_back(json::value_to<std::string>(line.at("event")));
  CHECK(events == std::vector<std::string>{"message.accepted", "delivery.offered", "delivery.delivered"});
}

TEST_CASE("the history has what was received, cut unless it is wanted whole, and by key") {
  Serving serving;
  const std::string text = "first\n" + std::string(1000, 'x') + "\xe2\x80\xae";
  serving.world.write_lead({World::entry("w1", text, 1), World::entry("w2", "second", 2)});
  REQUIRE(serving.until([&] { return serving.world.all_read(); }));
  const auto all = serving.ask("history").at("messages").as_array();
  REQUIRE(all.size() == 2);
  CHECK(all[0].at("sender") == "w1");
  CHECK(all[0].at("text").as_string().size() == 400);
  CHECK(all[0].at("is_cut").as_bool());
  CHECK_FALSE(all[0].as_object().contains("entry"));
  CHECK(all[1].at("text") == "second");
  CHECK_FALSE(all[1].at("is_cut").as_bool());
  CHECK(serving.ask("history", {{"sender", "w2"}}).at("messages").as_array().size() == 1);
  CHECK(serving.ask("history", {{"limit", 1}}).at("messages").at(0).at("text") == "second");
  CHECK(serving.ask("history", {{"full", true}}).at("messages").at(0).at("text") == json::value(text));
  const auto key = json::value_to<std::string>(all[0].at("message_key"));
  const auto one = serving.ask("history", {{"key", key.substr(0, 12)}}).at("messages").as_array();
  REQUIRE(one.size() == 1);
  CHECK(one[0].at("text") == json::value(text));
  CHECK(serving.ask("history", {{"key", key}, {"team", "other"}}).at("code") == "team.unknown");
}

TEST_CASE("a list of a team that nobody serves is refused, and not empty") {
  Serving serving;
  for (const char* verb : {"pending", "quarantine", "history", "decisions"}) {
    INFO(verb);
    CHECK(serving.code(verb, {{"team", "nope"}}) == "team.unknown");
    CHECK(serving.code(verb, {{"team", "t"}}) == "ok");
    CHECK(serving.code(verb) == "ok");
  }
  CHECK(serving.ask("pending", {{"team", "nope"}}).at("message") == "team \"nope\" is not served; served are: t");
}

TEST_CASE("an unknown verb is told from a team that is not there") {
  Serving serving;
  CHECK(serving.code("dance") == "verb.unknown");
  CHECK(serving.code("mode", {{"team", "other"}}) == "team.unknown");
}

}  // namespace inbox_poller::test::verbs_test
