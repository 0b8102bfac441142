#include "tests/sim/peers.hpp"

#include <algorithm>
#include <boost/json.hpp>

#include "schema/ids.hpp"

namespace inbox_poller::sim {
namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr Span stale = seconds(10);

std::string text_of(const json::object& object, const char* name) {
  const auto* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : std::string();
}

bool is_read(const json::object& entry) {
  const auto* read = entry.if_contains("read");
  return read != nullptr && read->is_bool() && read->as_bool();
}

std::string dump(const json::array& entries) {
  std::string out = "[";
  for (const auto& entry : entries) out += (out.size() > 1 ? ",\n  " : "\n  ") + json::serialize(entry);
  return out + "\n]";
}

json::object entry(const std::string& from, const std::string& text) {
  return {{"from", from}, {"text", text}, {"timestamp", schema::iso_timestamp(system_ms())}, {"read", false}};
}

std::string permission(const std::string& id, const std::string& worker, const std::string& command) {
  return json::serialize(json::object{{"type", "permission_request"},
                                      {"request_id", id},
                                      {"agent_id", worker},
                                      {"tool_name", "Bash"},
                                      {"tool_use_id", "toolu_" + id},
                                      {"description", "d"},
                                      {"input", json::object{{"command", command}}},
                                      {"permission_suggestions", json::array()}});
}

}  // namespace

// --- boxes ---

void BoxAccess::after(Span delay, std::function<void()> step) {
  world_.after(delay, [this, life = life_, step = std::move(step)] {
    if (life == life_) step();
  });
}

std::optional<json::array> BoxAccess::look(const std::string& box) const {
  const auto bytes = world_.disk().read(world_.inbox(box));
  if (!bytes) return std::nullopt;
  boost::system::error_code bad;
  const auto value = json::parse(*bytes, bad);
  if (bad || !value.is_array()) return std::nullopt;
  return value.as_array();
}

void BoxAccess::lock(const std::string& box, int tries, std::function<void(bool)> then) {
  auto& disk = world_.disk();
  const std::string path = world_.inbox(box) + ".lock";
  if (disk.mkdir(path)) return after(milliseconds(world_.dice().below(3)), [then] { then(true); });
  const auto held = disk.find(path);
  if (held && Span(system_ns() - held->mtime_ns) > stale) {
    disk.rmdir(path);
    return after({}, [=, this] { lock(box, tries, then); });
  }
  if (client_ == Client::v2_1_50 || tries == 0) return then(false);
  after(world_.dice().between(milliseconds(5), milliseconds(100)), [=, this] { lock(box, tries - 1, then); });
}

void BoxAccess::write(const std::string& box, json::array entries, std::function<void()> then) {
  if (client_ == Client::v2_1_331) {
    world_.disk().replace(world_.inbox(box), dump(entries));
    return then();
  }
  world_.disk().write(world_.inbox(box), "");  // in place: truncated first
  after(std::chrono::microseconds(world_.dice().below(2000)), [=, this, entries = std::move(entries)] {
    world_.disk().write(world_.inbox(box), dump(entries));
    then();
  });
}

void BoxAccess::change(const std::string& box, Change change, std::function<void(bool)> done) {
  if (!world_.disk().exists(world_.inbox(box))) world_.disk().write(world_.inbox(box), "[]");
  constexpr int tries = 10;
  lock(box, tries, [=, this](bool locked) {
    if (!locked) return done(false);
    const auto unlock = [=, this](bool written) {
      world_.disk().rmdir(world_.inbox(box) + ".lock");
      done(written);
    };
    auto entries = look(box);
    if (!entries && client_ == Client::v2_1_331) return unlock(false);  // leaves alone what it cannot parse
    if (!entries) world_.oracle().cause();                              // takes it for empty
    auto all = entries.value_or(json::array());
    if (!change(all)) return unlock(false);
    write(box, std::move(all), [=, this] { after(milliseconds(world_.dice().below(2)), [unlock] { unlock(true); }); });
  });
}

// --- a worker ---

void Worker::start() {
  world_.after(world_.dice().between(milliseconds(100), seconds(2)), [this] { speak(); });
  world_.after(world_.dice().between(milliseconds(100), seconds(1)), [this] { read(); });
}

void Worker::lose_power() {
  boxes_.die();
  known_.clear();
}

void Worker::maybe_die() {
  if (!world_.is_troubled() || !world_.dice().one_in(world_.profile().peer_dies_one_in)) return;
  world_.trace(name_ + " dies");
  world_.oracle().cause();
  lose_power();
}

void Worker::send(const std::string& text, std::function<void(bool)> done) {
  boxes_.change(
      "team-lead",
      [this, text](json::array& entries) {
        entries.push_back(entry(name_, text));
        world_.oracle().written(text);
        return true;
      },
      std::move(done));
}

void Worker::send_chat() {
  const std::string text = "chat " + name_ + " " + std::to_string(++chats_);
  world_.oracle().chat[text].from = name_;
  send(text, [this, text](bool written) { world_.trace(name_ + (written ? " wrote " : " dropped ") + text); });
}

void Worker::send_request() {
  const std::string id = "perm-" + std::to_string(++requests_) + "-" + name_;
  auto& request = world_.oracle().requests[id];
  request.worker = name_;
  const char* commands[] = {"git status", "rm -rf /", "make install"};
  const auto kind = world_.dice().below(3);
  request.rule = kind == 0 ? Request::Rule::allows : kind == 1 ? Request::Rule::denies : Request::Rule::none;
  const auto text = permission(id, name_, commands[kind]);
  send(text, [this, id](bool written) { world_.trace(name_ + (written ? " asked " : " dropped ") + id); });
}

void Worker::speak() {
  if (!world_.is_troubled()) return;
  maybe_die();
  world_.dice().one_in(3) ? send_request() : send_chat();
  const auto mean = world_.profile().chat_every;
  world_.after(world_.dice().between(mean / 10, mean * 2), [this] { speak(); });
}

void Worker::take(const json::object& entry) {
  const auto text = text_of(entry, "text");
  boost::system::error_code bad;
  const auto value = json::parse(text, bad);
  if (bad || !value.is_object()) return;
  const auto& payload = value.as_object();
  if (text_of(payload, "type") != "permission_response") return;
  const auto id = text_of(payload, "request_id");
  const bool success = text_of(payload, "subtype") == "success";
  const auto same = json::serialize(entry.at("timestamp")) + text;
  if (const auto gone = deleted_.find(same); gone != deleted_.end() && !world_.oracle().had_cause_since(gone->second))
    world_.oracle().violated("the reply to " + id + " came again after it was taken, without a cause");
  deleted_.erase(same);
  if (!known_.insert(same).second) return;  // the same entry, or one that clients take for the same
  world_.trace(name_ + " takes the reply to " + id + (success ? ": yes" : ": no"));
  world_.oracle().worker_sees(name_, id, text, success);
}

void Worker::read() {
  world_.after(milliseconds(1000), [this] { read(); });
  const auto entries = boxes_.look(name_);
  if (!entries) return;
  maybe_die();
  std::set<std::string> taken;
  for (const auto& one : *entries) {
    if (!one.is_object() || is_read(one.as_object())) continue;
    take(one.as_object());
    if (!taken.insert(json::serialize(one)).second)
      world_.oracle().violated("two equal entries in the box of " + name_ + ": " + json::serialize(one));
  }
  if (taken.empty()) return;
  const auto change = [this, taken](json::array& now) {
    if (client_ == Client::v2_1_50) {
      for (auto& one : now) one.as_object()["read"] = true;  // all, also what it has not seen
      return true;
    }
    const auto gone = [&](const json::value& one) { return taken.contains(json::serialize(one)); };
    now.erase(std::remove_if(now.begin(), now.end(), gone), now.end());
    return true;
  };
  boxes_.change(name_, change, [this, taken](bool written) {
    if (!written || client_ == Client::v2_1_50) return;
    for (const auto& one : taken) {
      const auto gone = json::parse(one).as_object();
      deleted_[json::serialize(gone.at("timestamp")) + text_of(gone, "text")] = now();
    }
  });
}

// --- the lead ---

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
  if (world_.is_troubled() && line_ && world_.dice().one_in(world_.profile().peer_dies_one_in)) {
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
  world_.ask(line_, request, [this, life = life_](const json::object& answer) {
    if (life != life_) return;
    if (answer.at("ok").as_bool()) return take(answer);
    world_.trace("recv: " + text_of(answer, "code"));
    after(seconds(1), [this] { receive({}); });
  });
}

void SocketLead::take(const json::object& answer) {
  const json::array messages = answer.at("messages").as_array();
  if (messages.empty()) return receive({});
  after(world_.dice().between(milliseconds(1), seconds(2)), [this, messages] {
    json::array keys;
    for (const auto& message : messages) {
      const auto& one = message.as_object();
      world_.trace("the lead sees " + text_of(one, "text"));
      world_.oracle().lead_sees(text_of(one, "text"), one.at("attempts").to_number<long long>());
      keys.push_back(one.at("message_key"));
    }
    if (world_.is_troubled() && world_.dice().one_in(world_.profile().peer_dies_one_in)) {
      world_.trace("the lead's program dies before it acknowledges");
      world_.hang_up(line_);
      line_.reset();
      return;
    }
    const std::string last(keys.back().as_string());
    if (world_.dice().one_in(2)) return after(milliseconds(1), [this, last] { receive(last); });
    after(world_.dice().between({}, milliseconds(20)), [this, keys] {
      json::object request{{"verb", "ack"}, {"team", "t"}, {"keys", keys}};
      world_.ask(line_, request, [this, life = life_](const json::object&) {
        if (life == life_) receive({});
      });
    });
  });
}

// --- a person ---

void Person::start() { look(); }

void Person::look() {
  world_.talk_after(world_.dice().between(seconds(1), seconds(15)), [this] { look(); });
  if (world_.life() == 0) return;
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

// --- a forger ---

void Forger::start() {
  world_.after(seconds(2), [this] { forge(); });
}

void Forger::forge() {
  if (!world_.is_troubled()) return;
  world_.after(world_.dice().between(seconds(2), seconds(20)), [this] { forge(); });
  const std::string id = "forged-" + std::to_string(++count_);
  json::object made;
  switch (world_.dice().below(3)) {
    case 0: made = entry("w2", permission(id, "w1", "git status")); break;
    case 1: made = entry("mallory", permission(id, "mallory", "git status")); break;
    default:
      made = entry("w1", json::serialize(json::object{
                             {"type", "permission_response"}, {"request_id", id}, {"subtype", "success"}}));
  }
  boxes_.change(
      "team-lead",
      [made](json::array& entries) {
        entries.push_back(made);
        return true;
      },
      [](bool) {});
}

}  // namespace inbox_poller::sim
