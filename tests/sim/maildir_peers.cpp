#include "tests/sim/maildir_peers.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>

#include "tests/sim/world.hpp"

namespace inbox_poller::sim {
namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr double lease_s = 8;

std::string hex(Dice& dice) {
  char id[40];
  std::snprintf(id, sizeof id, "%016llx%016llx", static_cast<unsigned long long>(dice.below(~0ULL)),
                static_cast<unsigned long long>(dice.below(~0ULL)));
  return id;
}

std::string uuid(Dice& dice) {
  auto id = hex(dice);
  for (const auto at : {20U, 16U, 12U, 8U}) id.insert(at, "-");
  return id;
}

double seconds_now() { return static_cast<double>(system_ns() / 1000) / 1e6; }

std::string seconds_text() {
  char text[32];
  std::snprintf(text, sizeof text, "%.6f", seconds_now());
  return text;
}

std::string file_name(const std::string& id) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%020lld-", static_cast<long long>(system_ns()));
  return digits + id + ".json";
}

bool is_letter(const std::string& name) { return name.ends_with(".json") && !name.starts_with('.'); }

/// One object, keys in their order, times as Python writes them.
std::string dump(const json::object& members, const std::string& ts) {
  std::map<std::string, std::string> sorted{{"ts", ts}};
  for (const auto& [name, value] : members) sorted[std::string(name)] = json::serialize(value);
  std::string out = "{";
  for (const auto& [name, value] : sorted) out += (out.size() > 1 ? ",\n  \"" : "\n  \"") + name + "\": " + value;
  return out + "\n}";
}

std::optional<json::object> object_of(const std::optional<std::string>& bytes) {
  boost::system::error_code bad;
  auto value = json::parse(bytes.value_or(""), bad);
  return bad || !value.is_object() ? std::nullopt : std::optional(std::move(value.as_object()));
}

}  // namespace

void Actor::after(Span delay, std::function<void()> step) {
  machine_.after(delay, [this, life = life_, step = std::move(step)] {
    if (life == life_) step();
  });
}

void Actor::lose_power() {
  ++life_;
  is_busy_ = false;
  task_.clear();
}

bool Actor::dies() {
  if (!machine_.is_troubled() || !machine_.dice().one_in(machine_.peer_dies_one_in())) return false;
  machine_.trace(name_ + " dies");
  lose_power();
  return true;
}

void Actor::start() {
  machine_.after(machine_.dice().between(milliseconds(100), seconds(2)), [this] { speak(); });
  machine_.after(machine_.dice().between(milliseconds(100), seconds(1)), [this] { read(); });
  machine_.after(machine_.dice().between(milliseconds(100), seconds(3)), [this] { work(); });
}

// --- letters ---

void Actor::put(const std::string& path, const std::string& bytes, std::function<void()> done) {
  const std::string tmp = files_.folder() + "/tmp/." + hex(machine_.dice()) + ".tmp";
  machine_.disk().write(tmp, bytes);
  after(std::chrono::microseconds(machine_.dice().below(400)), [=, this] {
    if (dies()) return;
    machine_.disk().sync_file(tmp);
    machine_.disk().rename(tmp, path);
    done();
  });
}

/// The letter stands there whole.
void Actor::written(Machine& machine, const std::string& bytes) {
  auto& chat = machine.oracle().chat[told_of_letter(bytes)];
  chat.owed = chat.written = true;
  if (chat.number == 0) machine.oracle().written(told_of_letter(bytes));
}

void Actor::send(const std::string& bytes, const std::string& id) {
  auto& chat = machine_.oracle().chat[told_of_letter(bytes)];
  chat.from = name_;
  chat.machine = machine_.name();
  if (manner_ == Manner::copies) return copy(files_.inbox("lead") + "/msg_" + uuid(machine_.dice()) + ".json", bytes);
  put(files_.inbox("lead") + "/" + file_name(id), bytes, [this, bytes] {
    machine_.trace(name_ + " wrote " + told_of_letter(bytes).substr(0, 60));
    written(machine_, bytes);
  });
}

/// Writes a letter in its place, as a program does that moves it from another file system.
void Actor::copy(const std::string& path, const std::string& bytes) {
  is_busy_ = true;
  machine_.disk().write(path, "");
  const auto some = [this] { return machine_.dice().between({}, milliseconds(machine_.dice().one_in(5) ? 3000 : 5)); };
  after(some(), [=, this] {
    machine_.disk().write(path, bytes.substr(0, bytes.size() / 2));
    const auto mended = [&machine = machine_, bytes] {
      machine.oracle().chat[told_of_letter(bytes)].mended = true;
      written(machine, bytes);
    };
    if (dies()) return files_.add_torn(path, bytes, mended);
    after(some(), [=, this] {
      if (!machine_.disk().exists(path)) return;
      machine_.disk().write(path, bytes);
      is_busy_ = false;
      machine_.trace(name_ + " copied " + told_of_letter(bytes).substr(0, 60));
      written(machine_, bytes);
    });
  });
}

void Actor::say(const std::string& type, const json::value& payload, const std::string& id) {
  json::object letter{{"id", id}, {"from", name_}, {"to", "lead"}, {"type", type}, {"payload", payload}};
  if (manner_ == Manner::copies) letter["in_reply_to"] = nullptr;
  const auto bytes = dump(letter, seconds_text());
  sent_.push_back({id, bytes});
  send(bytes, id);
}

void Actor::speak() {
  const auto mean = machine_.profile().chat_every;
  machine_.after(machine_.dice().between(mean / 10, mean * 2), [this] { speak(); });
  if (!machine_.is_troubled() || is_busy_ || dies()) return;
  const auto fresh = [this] { return manner_ == Manner::copies ? uuid(machine_.dice()) : hex(machine_.dice()); };
  const auto text = [this] { return "chat " + name_ + " " + std::to_string(++chats_); };
  const auto kind = machine_.dice().below(12);
  if (kind < 2 && !sent_.empty()) {
    const auto [id, bytes] = sent_[sent_.size() - 1 - machine_.dice().below(std::min<std::size_t>(sent_.size(), 4))];
    machine_.trace(name_ + (kind == 0 ? " repeats " : " uses the id of ") + told_of_letter(bytes).substr(0, 60));
    auto& oracle = machine_.oracle();
    auto& told = oracle.chat[told_of_letter(bytes)];
    const bool may_be_lost = told.number == 0 || oracle.lost_power_since(told.written_at);
    told.mended = told.mended || (kind == 0 && may_be_lost);
    return kind == 0 ? send(bytes, id) : say("message", json::string(text()), id);
  }
  if (kind == 2) return say("handoff", json::object{{"task", text()}}, fresh());
  if (kind == 3) {
    const auto id = hex(machine_.dice());
    const json::object task{{"id", id}, {"from", name_}, {"type", "task"}, {"payload", "do it"}, {"status", "open"}};
    machine_.trace(name_ + " posts " + id);
    return put(files_.tasks("open/" + file_name(id)), dump(task, seconds_text()), [this, id] { files_.add_task(id); });
  }
  say("message", json::string(text()), fresh());
}

void Actor::read() {
  machine_.after(machine_.dice().between(milliseconds(200), milliseconds(1500)), [this] { read(); });
  auto& disk = machine_.disk();
  for (const auto& name : disk.list(files_.inbox(name_))) {
    if (!is_letter(name)) continue;
    const auto path = files_.inbox(name_) + "/" + name, there = files_.taken(name_) + "/" + name;
    if (manner_ == Manner::deletes) {
      const auto bytes = disk.read(path).value_or("");
      return after(milliseconds(machine_.dice().below(3)), [=, this] {
        if (machine_.disk().unlink(path)) take(bytes, true);
      });
    }
    if (!disk.rename(path, there)) continue;
    return after(milliseconds(machine_.dice().below(3)), [=, this] {
      const auto bytes = machine_.disk().read(there).value_or("");
      if (dies()) return machine_.oracle().lost_by_client(told_of_letter(bytes));  // taken, and read by nobody
      take(bytes, false);
    });
  }
}

void Actor::take(const std::string& bytes, bool is_repeat_allowed) {
  const auto letter = object_of(bytes);
  if (!letter) return machine_.oracle().violated("a letter to " + name_ + " does not parse: " + bytes);
  const auto id = text_of(*letter, "id");
  const auto [taken, is_first] = taken_.emplace(id, now());
  if (!is_first && !is_repeat_allowed && !machine_.oracle().had_cause_since(taken->second))
    machine_.oracle().violated("a letter came again to " + name_ + " without a cause: " + bytes);
  taken->second = now();
  machine_.trace(name_ + " reads " + text_of(*letter, "payload").substr(0, 60));
  machine_.oracle().worker_reads(name_, text_of(*letter, "payload"));
}

// --- tasks ---

void Actor::work() {
  machine_.after(machine_.dice().between(milliseconds(500), seconds(3)), [this] { work(); });
  if (!task_.empty()) return;
  for (const auto& name : machine_.disk().list(files_.tasks("open")))
    if (is_letter(name) && machine_.disk().rename(files_.tasks("open/" + name), files_.tasks("claimed/" + name_ + "/" + name)))
      return claim(name);
}

void Actor::claim(const std::string& file) {
  task_ = file;
  const auto mine = files_.tasks("claimed/" + name_ + "/" + file);
  after(milliseconds(machine_.dice().below(5)), [=, this] {
    if (dies()) return;  // the claim has no lease
    auto task = object_of(machine_.disk().read(mine));
    if (!task) return task_.clear();
    (*task)["status"] = "claimed";
    (*task)["owner"] = name_;
    (*task)["claimed_at"] = seconds_now();
    (*task)["lease_expires_at"] = seconds_now() + lease_s;
    put(mine, json::serialize(*task), [this] { beat(static_cast<int>(machine_.dice().below(3))); });
  });
}

/// Works for some seconds, with a heartbeat in time or a little too late, and then hands in its result.
void Actor::beat(int beats) {
  after(machine_.dice().between(seconds(1), seconds(9)), [=, this] {
    if (dies()) return;
    if (beats == 0) return complete();
    const auto mine = files_.tasks("claimed/" + name_ + "/" + task_);
    auto task = object_of(machine_.disk().read(mine));
    if (!task) return task_.clear();
    (*task)["lease_expires_at"] = seconds_now() + lease_s;
    put(mine, json::serialize(*task), [this, beats] { beat(beats - 1); });
  });
}

void Actor::complete() {
  const auto mine = files_.tasks("claimed/" + name_ + "/" + task_);
  auto task = object_of(machine_.disk().read(mine));
  if (!task) return task_.clear();
  (*task)["status"] = "done";
  (*task)["result"] = name_;
  put(files_.tasks("done/" + task_), json::serialize(*task), [this, mine] {
    after(milliseconds(machine_.dice().below(3)), [this, mine] {
      if (dies()) return;  // it stands in both places
      machine_.disk().unlink(mine);
      task_.clear();
    });
  });
}

// --- another reader for the lead ---

void LeadsTaker::start() {
  machine_.oracle().has_rival = true;
  machine_.after(seconds(10), [this] { read(); });
}

void LeadsTaker::read() {
  machine_.after(machine_.dice().between(milliseconds(50), seconds(1)), [this] { read(); });
  if (!machine_.is_troubled() || now() % seconds(40) >= seconds(15)) return;
  auto& disk = machine_.disk();
  for (const auto& name : disk.list(files_.inbox("lead"))) {
    const auto bytes = disk.read(files_.inbox("lead") + "/" + name).value_or("");
    const auto text = told_of_letter(bytes);
    if (text.empty() || !disk.rename(files_.inbox("lead") + "/" + name, files_.taken("lead") + "/" + name)) continue;
    machine_.trace("another reader of the lead takes " + text.substr(0, 60));
    if (const auto found = machine_.oracle().chat.find(text); found != machine_.oracle().chat.end())
      found->second.by_rival = true;
    return;
  }
}

}  // namespace inbox_poller::sim
