#include "tests/sim/lead_peers.hpp"

#include <algorithm>
#include <boost/json.hpp>

#include "tests/sim/jsonl_files.hpp"

namespace inbox_poller::sim {
namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

// --- a program that takes the lead's chat ---

void lead_gets(Machine& machine, const json::array& messages, const std::string& block) {
  for (const auto& message : messages) {
    const auto& one = message.as_object();
    const bool says_so = block.find("[may be a repeat: message " + text_of(one, "message_key")) != std::string::npos;
    if (says_so != (one.at("attempts").to_number<long long>() > 1))
      machine.oracle().violated("the block's label of a repeat is wrong: " + text_of(one, "text"));
    machine.trace("the lead sees " + text_of(one, "text"));
    const bool is_notice = text_of(one, "text").starts_with("The shutdown of ");
    if (text_of(one, "type") == "chat" && !is_notice)
      machine.oracle().lead_sees(machine.name(), text_of(one, "text"), one.at("attempts").to_number<long long>());
  }
}

void SocketLead::start() { connect(); }

void SocketLead::after(Span delay, std::function<void()> step) {
  machine_.talk_after(delay, [this, life = life_, step = std::move(step)] {
    if (life == life_) step();
  });
}

bool SocketLead::dies() { return machine_.is_troubled() && machine_.dice().one_in(machine_.peer_dies_one_in()); }

void SocketLead::die(const std::string& when) {
  machine_.trace("the lead's program dies" + when);
  if (way_ == Way::stream) report("stream_closes");
  machine_.hang_up(line_);
  line_.reset();
  ++life_;
}

void SocketLead::report(const std::string& event) {
  machine_.ask(machine_.connect(), {{"verb", "lead"}, {"team", "t"}, {"event", event}, {"session", "s"}},
               [](const json::object&) {});
}

/// Looks each second whether there is a line, and makes one.
void SocketLead::connect() {
  machine_.talk_after(seconds(1), [this] { connect(); });
  if (machine_.life() == 0) return;
  if (line_ && dies()) return die("");
  if (line_ && daemon_life_ == machine_.life()) return;
  ++life_;
  line_ = machine_.connect();
  daemon_life_ = machine_.life();
  if (way_ == Way::by_hand) return receive({});
  const char* method = way_ == Way::mcp ? "mcp" : way_ == Way::stream ? "stdin" : "socket";
  machine_.ask(line_, {{"verb", "attach"}, {"team", "t"}, {"method", method}},
               [this, life = life_](const json::object& answer) {
                 if (life != life_) return;
                 if (answer.at("ok").as_bool()) {
                   if (way_ == Way::stream) report("stream_opens");
                   return receive({});
                 }
                 after(milliseconds(500), [this] {
                   machine_.hang_up(line_);
                   line_.reset();
                 });
               });
}

void SocketLead::receive(const std::string& acked) {
  json::object request{{"verb", "recv"}, {"team", "t"}, {"wait_ms", 5000}, {"max", 5}};
  if (!acked.empty()) request["acked"] = acked;
  machine_.ask(line_, request, [this, acked, life = life_](const json::object& answer) {
    if (life != life_) return;
    if (answer.at("ok").as_bool()) return take(answer);
    machine_.trace("recv: " + text_of(answer, "code"));
    after(seconds(1), [this, acked] { receive(acked); });
  });
}

void SocketLead::take(const json::object& answer) {
  const json::array messages = answer.at("messages").as_array();
  if (messages.empty()) return receive({});
  if (way_ == Way::stream) {
    report("stream_works");
    if (dies()) return die(" after it took the line up");  // `started` comes before the model is called
  }
  after(machine_.dice().between(milliseconds(1), seconds(2)), [this, messages, block = text_of(answer, "block")] {
    lead_gets(machine_, messages, block);
    json::array keys;
    for (const auto& message : messages) keys.push_back(message.at("message_key"));
    if (dies()) return die(" before it acknowledges");
    const std::string last(keys.back().as_string());
    const bool by_next = way_ == Way::mcp || (way_ == Way::socket && machine_.dice().one_in(2));
    if (by_next) return after(milliseconds(1), [this, last] { receive(last); });
    after(machine_.dice().between({}, milliseconds(20)), [this, keys] { acknowledge(keys); });
  });
}

/// Says again what could not be recorded.
void SocketLead::acknowledge(const json::array& keys) {
  json::object request{{"verb", "ack"}, {"team", "t"}, {"keys", keys}};
  machine_.ask(line_, request, [this, keys, life = life_](const json::object& answer) {
    if (life != life_) return;
    if (answer.at("ok").as_bool()) {
      if (way_ == Way::stream) report("stream_result");
      return receive({});
    }
    after(seconds(1), [this, keys] { acknowledge(keys); });
  });
}

// --- a program that reads a file ---

FileLead::FileLead(Machine& machine) : machine_(machine), path_(machine.folder() + "/teams/for-the-lead.jsonl") {
  machine.rules().configure = [path = path_, others = machine.rules().configure](config::TeamConfig& config) {
    others(config);
    config.delivery.methods = {config::DeliveryMethod::file};
    config.delivery.file = path;
  };
}

void FileLead::read() {
  machine_.after(machine_.dice().between(milliseconds(50), seconds(2)), [this] { read(); });
  const auto bytes = machine_.disk().read(path_).value_or("");
  read_ = std::min(read_, bytes.size());  // the power took the end
  const auto end = bytes.rfind('\n');
  if (end == std::string::npos || end < read_) return;
  each_line(bytes.substr(read_, end - read_), [this](const std::string& line) {
    boost::system::error_code bad;
    const auto value = json::parse(line, bad);
    if (bad || !value.is_object() || text_of(value.as_object(), "type") != "chat") return;
    const auto text = text_of(value.as_object(), "text");
    if (text.starts_with("The shutdown of ")) return;
    machine_.trace("the lead reads " + text);
    machine_.oracle().lead_sees(machine_.name(), text, value.at("attempts").to_number<long long>());
  });
  read_ = end + 1;
}

// --- a person ---

void Person::start() { look(); }

void Person::look() {
  machine_.talk_after(machine_.dice().between(seconds(1), seconds(15)), [this] { look(); });
  if (machine_.life() == 0) return;
  if (machine_.is_troubled()) order();
  line_ = machine_.connect();
  machine_.ask(line_, {{"verb", "pending"}, {"team", "t"}}, [this](const json::object& answer) {
    if (!answer.at("ok").as_bool()) return;
    for (const auto& one : answer.at("requests").as_array()) {
      const auto id = text_of(one.as_object(), "request_id");
      if (machine_.dice().one_in(3) && machine_.is_troubled()) continue;
      machine_.talk_after(machine_.dice().between({}, seconds(3)), [this, id] { answer_once(id); });
    }
    if (!answered_.empty() && machine_.dice().one_in(2)) {
      const auto id = answered_[machine_.dice().below(answered_.size())];
      machine_.talk_after({}, [this, id] { answer_once(id); });
    }
  });
}

void Person::answer_once(const std::string& id) { answer(id, machine_.dice().one_in(2)); }

void Person::answer(const std::string& id, bool approves) {
  if (machine_.life() == 0) return;
  if (machine_.oracle().wishes.contains(id)) return answer_wish(id, approves);
  auto& asked = machine_.oracle().requests[id];
  ++asked.unknown_answers[approves ? 1 : 0];
  answered_.push_back(id);
  json::object request{
      {"verb", approves ? "approve" : "deny"}, {"team", "t"}, {"by", "mona"}, {"ids", json::array{json::string(id)}}};
  machine_.ask(machine_.connect(), request, [this, id, approves](const json::object& reply) {
    const auto* answers = reply.if_contains("answers");
    const auto& outcome = answers == nullptr ? reply : answers->as_array().at(0).as_object();
    const bool accepted = answers != nullptr && outcome.at("ok").as_bool();
    const auto code = text_of(outcome, "code");
    machine_.trace("mona " + std::string(approves ? "approves " : "denies ") + id + (accepted ? "" : ": " + code));
    if (code.starts_with("ledger.")) return;  // a commit whose last sync failed may count after all
    --machine_.oracle().requests[id].unknown_answers[approves ? 1 : 0];
    if (accepted) machine_.oracle().person_answered(machine_.name(), id, approves);
  });
}

void Person::answer_wish(const std::string& id, bool approves) {
  json::object request{
      {"verb", approves ? "approve" : "deny"}, {"team", "t"}, {"by", "mona"}, {"ids", json::array{json::string(id)}}};
  auto& wish = machine_.oracle().wishes[id];
  if (approves) {
    // Also if nobody hears that it was accepted. A shutdown may be under way already.
    wish.granted = true;
    for (const auto& [other, ending] : machine_.oracle().endings)
      wish.is_met = wish.is_met || (ending.worker == wish.worker && ending.asked_at + seconds(120) > now());
    machine_.oracle().ordered[wish.worker].insert(now());
  } else {
    request["reason"] = id + " must go on";
  }
  machine_.ask(machine_.connect(), request, [this, id, approves](const json::object& reply) {
    machine_.trace("mona " + std::string(approves ? "grants " : "declines ") + id + ": " +
                   json::serialize(reply).substr(0, 90));
  });
}

/// Does something else than answering.
void Person::order() {
  const auto& team = machine_.team();
  const std::string worker = team[machine_.dice().below(team.size() - 1)];
  switch (machine_.dice().below(10)) {
    case 0:
    case 1: return write_to(worker);
    case 2: return machine_.ask(machine_.connect(), {{"verb", "mode"}, {"team", "t"}, {"by", "mona"}, {"mode", "acceptEdits"}, {"member", worker}}, [](const json::object&) {});
    case 3: return machine_.ask(machine_.connect(), {{"verb", "allow"}, {"team", "t"}, {"by", "mona"}, {"rule", "Bash(cargo test)"}}, [](const json::object&) {});
    case 4:
      if (reloads_) machine_.change_rules();
      return;
    case 5:
      if (ends_workers_) end(worker);
      return;
    default: return;
  }
}

void Person::write_to(const std::string& worker) {
  const std::string text = "order " + machine_.name() + " " + std::to_string(++orders_);
  machine_.oracle().order_written(text, worker, machine_.name());
  machine_.ask(machine_.connect(), {{"verb", "send"}, {"team", "t"}, {"member", worker}, {"text", text}},
             [this, text](const json::object& answer) {
               machine_.oracle().orders[text].accepted = answer.at("ok").as_bool();
               machine_.trace("mona writes " + text + (answer.at("ok").as_bool() ? "" : ": refused"));
             });
}

void Person::end(const std::string& worker) {
  json::object request{{"verb", "shutdown"}, {"team", "t"}, {"by", "mona"}, {"member", worker}};
  machine_.oracle().ordered[worker].insert(now());
  if (machine_.has("panes") && machine_.dice().one_in(3)) {
    machine_.trace("mona ends " + worker + " by force");
    machine_.oracle().forced[worker] = now();
    request["force_after_ms"] = 1000 * machine_.dice().below(10);
  }
  machine_.ask(machine_.connect(), request, [this, worker](const json::object& answer) {
    machine_.trace("mona ends " + worker + (answer.at("ok").as_bool() ? "" : ": " + text_of(answer, "code")));
  });
}

// --- another consumer ---

void Rival::start() {
  machine_.oracle().has_rival = true;
  machine_.after(seconds(10), [this] { read(); });
}

void Rival::read() {
  machine_.after(seconds(1), [this] { read(); });
  const bool is_there = machine_.is_troubled() && now() % seconds(40) < seconds(15);
  if (!is_there) return;
  boxes_.change(
      "team-lead",
      [this](json::array& entries) {
        bool any = false;
        for (auto& one : entries) {
          if (is_read(one.as_object())) continue;
          any = true;
          one.as_object()["read"] = true;
          machine_.rival_took(text_of(one.as_object(), "text"));
        }
        if (any && client_ == Client::v2_1_331) entries.clear();
        return any;
      },
      [](bool) {});
}

}  // namespace inbox_poller::sim
