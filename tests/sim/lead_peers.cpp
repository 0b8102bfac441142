#include "tests/sim/lead_peers.hpp"

#include <boost/json.hpp>

namespace inbox_poller::sim {
namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

// --- a program that takes the lead's chat ---

void SocketLead::start() { connect(); }

void SocketLead::after(Span delay, std::function<void()> step) {
  world_.talk_after(delay, [this, life = life_, step = std::move(step)] {
    if (life == life_) step();
  });
}

/// Looks each second whether there is a line, and makes one.
void SocketLead::connect() {
  world_.talk_after(seconds(1), [this] { connect(); });
  if (world_.life() == 0) return;
  if (world_.is_troubled() && line_ && world_.dice().one_in(world_.peer_dies_one_in())) {
    world_.trace("the lead's program dies");
    world_.hang_up(line_);
    line_.reset();
    ++life_;
    return;
  }
  if (line_ && daemon_life_ == world_.life()) return;
  ++life_;
  line_ = world_.connect();
  daemon_life_ = world_.life();
  if (by_hand_) return receive({});
  json::object request{{"verb", "attach"}, {"team", "t"}, {"method", "socket"}};
  world_.ask(line_, request, [this, life = life_](const json::object& answer) {
    if (life != life_) return;
    if (answer.at("ok").as_bool()) return receive({});
    after(milliseconds(500), [this] {
      world_.hang_up(line_);
      line_.reset();
    });
  });
}

void SocketLead::receive(const std::string& acked) {
  json::object request{{"verb", "recv"}, {"team", "t"}, {"wait_ms", 5000}, {"max", 5}};
  if (!acked.empty()) request["acked"] = acked;
  world_.ask(line_, request, [this, acked, life = life_](const json::object& answer) {
    if (life != life_) return;
    if (answer.at("ok").as_bool()) return take(answer);
    world_.trace("recv: " + text_of(answer, "code"));
    after(seconds(1), [this, acked] { receive(acked); });
  });
}

void SocketLead::take(const json::object& answer) {
  const json::array messages = answer.at("messages").as_array();
  if (messages.empty()) return receive({});
  after(world_.dice().between(milliseconds(1), seconds(2)), [this, messages, block = text_of(answer, "block")] {
    json::array keys;
    for (const auto& message : messages) {
      const auto& one = message.as_object();
      const bool says_so = block.find("[may be a repeat: message " + text_of(one, "message_key")) != std::string::npos;
      if (says_so != (one.at("attempts").to_number<long long>() > 1))
        world_.oracle().violated("the block's label of a repeat is wrong: " + text_of(one, "text"));
      world_.trace("the lead sees " + text_of(one, "text"));
      const bool is_notice = text_of(one, "text").starts_with("The shutdown of ");
      if (text_of(one, "type") == "chat" && !is_notice)
        world_.oracle().lead_sees(text_of(one, "text"), one.at("attempts").to_number<long long>());
      keys.push_back(one.at("message_key"));
    }
    if (world_.is_troubled() && world_.dice().one_in(world_.peer_dies_one_in())) {
      world_.trace("the lead's program dies before it acknowledges");
      world_.hang_up(line_);
      line_.reset();
      return;
    }
    const std::string last(keys.back().as_string());
    if (!by_hand_ && world_.dice().one_in(2)) return after(milliseconds(1), [this, last] { receive(last); });
    after(world_.dice().between({}, milliseconds(20)), [this, keys] { acknowledge(keys); });
  });
}

/// Says again what could not be recorded.
void SocketLead::acknowledge(const json::array& keys) {
  json::object request{{"verb", "ack"}, {"team", "t"}, {"keys", keys}};
  world_.ask(line_, request, [this, keys, life = life_](const json::object& answer) {
    if (life != life_) return;
    if (answer.at("ok").as_bool()) return receive({});
    after(seconds(1), [this, keys] { acknowledge(keys); });
  });
}

// --- a person ---

void Person::start() { look(); }

void Person::look() {
  world_.talk_after(world_.dice().between(seconds(1), seconds(15)), [this] { look(); });
  if (world_.life() == 0) return;
  if (world_.is_troubled()) order();
  line_ = world_.connect();
  world_.ask(line_, {{"verb", "pending"}, {"team", "t"}}, [this](const json::object& answer) {
    if (!answer.at("ok").as_bool()) return;
    for (const auto& one : answer.at("requests").as_array()) {
      const auto id = text_of(one.as_object(), "request_id");
      if (world_.dice().one_in(3) && world_.is_troubled()) continue;
      world_.talk_after(world_.dice().between({}, seconds(3)), [this, id] { answer_once(id); });
    }
    if (!answered_.empty() && world_.dice().one_in(2)) {
      const auto id = answered_[world_.dice().below(answered_.size())];
      world_.talk_after({}, [this, id] { answer_once(id); });
    }
  });
}

void Person::answer_once(const std::string& id) { answer(id, world_.dice().one_in(2)); }

void Person::answer(const std::string& id, bool approves) {
  if (world_.life() == 0) return;
  auto& asked = world_.oracle().requests[id];
  ++asked.unknown_answers[approves ? 1 : 0];
  answered_.push_back(id);
  json::object request{
      {"verb", approves ? "approve" : "deny"}, {"team", "t"}, {"by", "mona"}, {"ids", json::array{json::string(id)}}};
  world_.ask(world_.connect(), request, [this, id, approves](const json::object& reply) {
    const auto* answers = reply.if_contains("answers");
    const bool accepted = answers != nullptr && answers->as_array().at(0).at("ok").as_bool();
    world_.trace("mona " + std::string(approves ? "approves " : "denies ") + id + (accepted ? "" : ": refused"));
    --world_.oracle().requests[id].unknown_answers[approves ? 1 : 0];
    if (accepted) world_.oracle().person_answered(id, approves);
  });
}

/// Does something else than answering.
void Person::order() {
  const std::string worker = "w" + std::to_string(1 + world_.dice().below(3));
  switch (world_.dice().below(10)) {
    case 0:
    case 1: return write_to(worker);
    case 2: return world_.ask(world_.connect(), {{"verb", "mode"}, {"team", "t"}, {"by", "mona"}, {"mode", "acceptEdits"}, {"member", worker}}, [](const json::object&) {});
    case 3: return world_.ask(world_.connect(), {{"verb", "allow"}, {"team", "t"}, {"by", "mona"}, {"rule", "Bash(cargo test)"}}, [](const json::object&) {});
    case 4:
      if (reloads_) world_.change_rules();
      return;
    case 5:
      if (ends_workers_) end(worker);
      return;
    default: return;
  }
}

void Person::write_to(const std::string& worker) {
  const std::string text = "order " + std::to_string(++orders_);
  world_.oracle().orders[text].worker = worker;
  world_.ask(world_.connect(), {{"verb", "send"}, {"team", "t"}, {"member", worker}, {"text", text}},
             [this, text](const json::object& answer) {
               world_.oracle().orders[text].accepted = answer.at("ok").as_bool();
               world_.trace("mona writes " + text + (answer.at("ok").as_bool() ? "" : ": refused"));
             });
}

void Person::end(const std::string& worker) {
  world_.busy_for(seconds(45));
  world_.ask(world_.connect(), {{"verb", "shutdown"}, {"team", "t"}, {"by", "mona"}, {"member", worker}},
             [this, worker](const json::object& answer) {
               world_.trace("mona ends " + worker + (answer.at("ok").as_bool() ? "" : ": " + text_of(answer, "code")));
             });
}

// --- another consumer ---

void Rival::start() {
  world_.oracle().has_rival = true;
  world_.after(seconds(10), [this] { read(); });
}

void Rival::read() {
  world_.after(seconds(1), [this] { read(); });
  const bool is_there = world_.is_troubled() && now() % seconds(40) < seconds(15);
  if (!is_there) return;
  boxes_.change(
      "team-lead",
      [this](json::array& entries) {
        bool any = false;
        for (auto& one : entries) {
          if (is_read(one.as_object())) continue;
          any = true;
          one.as_object()["read"] = true;
          world_.rival_took(text_of(one.as_object(), "text"));
        }
        if (any && client_ == Client::v2_1_331) entries.clear();
        return any;
      },
      [](bool) {});
}

}  // namespace inbox_poller::sim
