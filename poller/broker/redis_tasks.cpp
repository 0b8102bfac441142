#include "poller/broker/redis_tasks.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cstdio>
#include <tuple>

#include "poller/broker/redis_scripts.hpp"
#include "schema/ids.hpp"

namespace inbox_poller::poller {

namespace json = boost::json;
using schema::Envelope;
using std::chrono::milliseconds;

namespace {

constexpr int most_rounds = 8;  // attempts to change a task that others change meanwhile
constexpr std::size_t digits_before = 21;  // length of 20 digits and '-' at the start of a name
constexpr int tasks_a_page = 100;
constexpr std::string_view late_result_prefix = "late-";
constexpr std::array places{std::pair("open", TaskPlace::open), std::pair("claimed", TaskPlace::claimed),
                            std::pair("done", TaskPlace::done), std::pair("dead", TaskPlace::dead)};

const char* name_of(TaskPlace place) {
  for (const auto& [name, one] : places)
    if (one == place) return name;
  return "open";
}

TaskPlace place_named(const std::string& name) {
  for (const auto& [known, place] : places)
    if (name == known) return place;
  return TaskPlace::open;
}

const char* set_of(TaskPlace place) {
  switch (place) {
    case TaskPlace::claimed: return "leases";
    case TaskPlace::done: return "done";
    case TaskPlace::dead: return "dead";
    case TaskPlace::open:
    case TaskPlace::given_back: break;
  }
  return "tasks";
}

/// Key of a task. Ids come from other programs, so they may have any bytes and any length.
std::string key_of(const std::string& id) { return id.size() <= 200 ? id : "sha256:" + schema::content_hash(id); }

/// Key of a late result, by content, so that copying it twice adds it once.
std::string late_key(std::string_view bytes) { return std::string(late_result_prefix) + schema::content_hash(bytes); }

std::string sorting_name(long long ns, const std::string& key) {
  std::array<char, 24> digits;
  std::snprintf(digits.data(), digits.size(), "%020lld", std::max(ns, 0LL));
  return digits.data() + ("-" + key);
}

long long ns_of(const RedisReply& time) {
  return time.at(0).as_number() * 1'000'000'000 + time.at(1).as_number() * 1000;
}

std::string number_text(double number) {
  std::array<char, 40> text;
  std::snprintf(text.data(), text.size(), "%.17g", number);
  return text.data();
}

/// Score of an open task; the lowest score, thus the highest priority, is claimed first.
std::string open_score(const Envelope& task) { return number_text(-task.number("priority").value_or(0)); }

Error not_ours(const std::string& name) {
  return {"redis.fault", "the Redis key " + name + " does not hold a task: another program writes there"};
}

}  // namespace

std::vector<std::string> RedisTasks::keys_of(const std::string& id) const {
  return {keys_.task(key_of(id)), keys_.of("tasks"), keys_.of("leases"), keys_.of("done"), keys_.of("dead")};
}

Result<long long> RedisTasks::now_ns() const {
  TRY(const auto time, redis_.call(RedisCommand{"TIME"}));
  return ns_of(time);
}

Result<bool> RedisTasks::put(const TaskFile& file) {
  const std::string id = schema::identity_of(file.task);
  const bool late = file.task.text("status") == "late";
  const std::string bytes = file.task.encode();
  const std::string key = late ? late_key(bytes) : key_of(id);
  TRY(require_size_of(bytes));
  const TaskPlace place = file.place == TaskPlace::given_back ? TaskPlace::claimed : file.place;
  const auto seconds = [&](const char* field) { return std::clamp(file.task.number(field).value_or(0), 0.0, 9e9); };
  std::string score = open_score(file.task);
  if (place != TaskPlace::open)
    score = number_text(seconds(place == TaskPlace::claimed ? "lease_expires_at"
                                : place == TaskPlace::done  ? "completed_at"
                                                            : "dead_at") *
                        1000);
  const std::string name = sorting_name(order_of(file), key);
  auto keys = keys_of(id);
  keys[0] = keys_.task(key);
  TRY(const auto put, redis_.call(scripts::put_task(), keys,
                               {name, bytes, file.task.text("type"), name_of(place), score, file.holder}));
  return put.as_number() == 1;
}

Result<Envelope> RedisTasks::post(const std::string& actor, const std::string& type, const json::value& payload,
                                  std::optional<double> priority) {
  TRY(const auto now, now_ns());
  const std::string id = fresh_id();
  Envelope task = open_task(actor, type, payload, priority, id, schema::seconds_token(now));
  TRY(this->put({TaskPlace::open, {}, {}, task}));
  return task;
}

Result<RedisTasks::Changed> RedisTasks::change(const Found& was, const Envelope& task, const Change& how,
                                               std::string* counter) {
  const std::string bytes = task.encode();
  TRY(require_size_of(bytes));
  auto keys = keys_of({});
  keys[0] = keys_.task(was.file.name.substr(digits_before));
  TRY(const auto reply, redis_.call(scripts::change_task(), keys,
                                 {was.version, name_of(how.place), bytes, how.holder, std::to_string(how.lease.count()),
                                  open_score(task), how.why, fresh_id()}));
  if (counter != nullptr) *counter = std::to_string(reply.at(1).as_number());
  const long long what = reply.at(0).as_number();
  return what == 1 ? Changed::yes : what == 0 ? Changed::no : Changed::not_over;
}

Result<std::optional<Envelope>> RedisTasks::claim(const std::string& actor, const std::optional<std::string>& type,
                                                  milliseconds lease) {
  for (int round = 0; round < most_rounds * 8; ++round) {
    TRY(const auto next, redis_.call(scripts::next_task(), {keys_.of("tasks")},
                                  {type ? "1" : "0", type.value_or(""), prefix()}));
    if (next.is_nothing()) return std::optional<Envelope>();
    Found found{{TaskPlace::open, {}, next.at(0).text, {}}, next.at(2).text, ns_of(next.at(3)), {}};
    auto task = Envelope::decode(next.at(1).text);
    if (!task || found.file.name.size() <= digits_before) return not_ours(found.file.name);
    const long long lease_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(lease).count();
    write_claim(*task, actor, schema::seconds_token(found.now_ns), schema::seconds_token(found.now_ns + lease_ns));
    std::string counter;
    TRY(const auto changed, change(found, *task, {TaskPlace::claimed, actor, lease, "claim"}, &counter));
    if (changed != Changed::yes) continue;  // another actor claimed it first
    claims_[schema::identity_of(*task)] = counter;
    return std::optional(*std::move(task));
  }
  return Error{"redis.down", "others take every task before we do; nothing was claimed, ask again"};
}

// --- operations of a holder

Result<std::optional<RedisTasks::Found>> RedisTasks::get(const std::string& id) const {
  TRY(const auto reply, redis_.call(scripts::get_task(), {keys_.task(key_of(id))}, {}));
  if (reply.is_nothing()) return std::optional<Found>();
  Found found{{place_named(reply.at(4).text), {}, reply.at(0).text, {}}, reply.at(2).text, ns_of(reply.at(3)),
              reply.at(6).text};
  auto task = Envelope::decode(reply.at(1).text);
  if (!task || found.file.name.size() <= digits_before) return not_ours(keys_.task(key_of(id)));
  if (found.file.place == TaskPlace::claimed) found.file.holder = reply.at(5).text;
  found.file.task = *std::move(task);
  return std::optional(std::move(found));
}

Result<std::optional<RedisTasks::Found>> RedisTasks::held(const std::string& actor, const std::string& id) const {
  auto found = get(id);
  if (!found || !*found) return found;
  const auto claim = claims_.find(id);
  const bool ours = (*found)->file.place == TaskPlace::claimed && (*found)->file.holder == actor &&
                    (claim == claims_.end() || claim->second == (*found)->counter);
  return ours ? std::move(found) : Result<std::optional<Found>>(std::nullopt);
}

Error RedisTasks::not_held(const std::string& actor, const std::string& id) const {
  TRY(const auto found, get(id));
  return found ? not_held_by(actor, id, found->file) : no_task(id, place_ + "/tasks");
}

Result<Envelope> RedisTasks::heartbeat(const std::string& actor, const std::string& id, milliseconds lease) {
  for (int round = 0; round < most_rounds; ++round) {
    TRY(const auto mine, held(actor, id));
    if (!mine) break;
    Envelope task = mine->file.task;
    const long long lease_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(lease).count();
    task.set_raw("lease_expires_at", schema::seconds_token(mine->now_ns + lease_ns));
    TRY(const auto changed, change(*mine, task, {TaskPlace::claimed, actor, lease, {}}));
    if (changed == Changed::yes) return task;
  }
  return not_held(actor, id);
}

Result<Envelope> RedisTasks::complete(const std::string& actor, const std::string& id, const json::value& result) {
  for (int round = 0; round < most_rounds; ++round) {
    TRY(const auto mine, held(actor, id));
    if (!mine) break;
    Envelope task = mine->file.task;
    write_result(task, result, schema::seconds_token(mine->now_ns));
    TRY(const auto changed, change(*mine, task, {TaskPlace::done, actor, {}, {}}));
    if (changed != Changed::yes) continue;
    claims_.erase(id);
    return task;
  }
  TRY(const auto known, get(id));
  if (!known) return no_task(id, place_ + "/tasks");
  return keep_late(actor, id, result);
}

/// Keeps the result of a holder that lost the task. The error names the place of the result and the current holder.
Error RedisTasks::keep_late(const std::string& actor, const std::string& id, const json::value& result) {
  Error error = not_held(actor, id);
  claims_.erase(id);
  const auto found = get(id);
  const auto now = now_ns();
  const Envelope letter = late_result(found && *found ? (*found)->file.task : Envelope().set("id", id), actor, result,
                                      error.message, schema::seconds_token(now ? *now : 0));
  const TaskFile kept_as{TaskPlace::dead, {}, {}, letter};
  if (const auto kept = put(kept_as); !kept)
    return {kept.error().code, error.message + "; the result could NOT be kept: " + kept.error().message};
  error.message += "; the result is kept in " + place_ + "/tasks/dead/" +
                   std::string(late_result_prefix) + sorting_name(order_of(kept_as), late_key(letter.encode()));
  return error;
}

Result<Envelope> RedisTasks::abandon(const std::string& actor, const std::string& id, const std::string& reason) {
  for (int round = 0; round < most_rounds; ++round) {
    TRY(const auto mine, held(actor, id));
    if (!mine) break;
    Envelope task = mine->file.task;
    write_abandoned(task, actor, reason, settings_.max_attempts, schema::seconds_token(mine->now_ns));
    TRY(const auto changed, change(*mine, task, {place_named(task.text("status")), {}, {}, {}}));
    if (changed != Changed::yes) continue;
    claims_.erase(id);
    return task;
  }
  return not_held(actor, id);
}

// --- maintenance

Result<RedisReply> RedisTasks::page(TaskPlace place, const std::string& from_score, const char* which, int but) const {
  return redis_.call(scripts::list_tasks(), {keys_.of(set_of(place))},
                     {prefix(), from_score, which, std::to_string(but), std::to_string(tasks_a_page)});
}

Result<std::vector<TaskFile>> RedisTasks::done_since(long long since_ms) const {
  std::vector<TaskFile> found;
  for (int but = 0;; but += tasks_a_page) {
    TRY(const auto some, page(TaskPlace::done, std::to_string(since_ms), "", but));
    for (const RedisReply& one : some.parts)
      if (auto task = Envelope::decode(one.at(1).text)) found.push_back({TaskPlace::done, {}, one.at(0).text, *std::move(task)});
    if (some.parts.size() < static_cast<std::size_t>(tasks_a_page)) return found;
  }
}

Result<TaskSweep> RedisTasks::sweep() {
  TaskSweep swept;
  for (int round = 0; round < most_rounds; ++round) {
    TRY(const auto over, page(TaskPlace::claimed, "-inf", "over", 0));
    for (const RedisReply& one : over.parts) {
      const Found found{{TaskPlace::claimed, one.at(2).text, one.at(0).text, {}}, one.at(3).text, ns_of(one.at(4)), {}};
      auto task = Envelope::decode(one.at(1).text);
      if (!task || found.file.name.size() <= digits_before) {
        swept.troubles.push_back(not_ours(found.file.name));
        continue;
      }
      write_swept(*task, found.file.holder, settings_.max_attempts, schema::seconds_token(found.now_ns));
      const TaskPlace place = place_named(task->text("status"));
      TRY(const auto changed, change(found, *task, {place, {}, {}, "over"}));
      if (changed == Changed::yes) swept.gone.push_back({place, {}, found.file.name, *std::move(task)});
    }
    if (over.parts.size() < static_cast<std::size_t>(tasks_a_page)) break;
  }
  return swept;
}

Result<std::vector<TaskFile>> RedisTasks::all() const {
  std::vector<TaskFile> tasks;
  for (const auto& [name, place] : places) {
    const std::size_t before = tasks.size();
    for (int from = 0;; from += tasks_a_page) {
      TRY(const auto some, page(place, "-inf", "", from));
      for (const RedisReply& one : some.parts) {
        auto task = Envelope::decode(one.at(1).text);
        const bool late = task && task->text("status") == "late";
        const std::string file = (place != TaskPlace::dead ? "" : late ? "late-" : "dead-") + one.at(0).text;
        if (task) tasks.push_back({place, place == TaskPlace::claimed ? one.at(2).text : "", file, *std::move(task)});
      }
      if (some.parts.size() < static_cast<std::size_t>(tasks_a_page)) break;
    }
    std::sort(tasks.begin() + static_cast<std::ptrdiff_t>(before), tasks.end(), [](const TaskFile& a, const TaskFile& b) {
      return std::tie(a.holder, a.name) < std::tie(b.holder, b.name);
    });
  }
  return tasks;
}

Result<std::string> RedisTasks::whole_id(const std::string& beginning, const std::string&) const {
  if (beginning.empty()) return Error{"mailbox.usage", "which task? Name its id, or how that begins"};
  TRY(const auto there, get(beginning));
  if (there && there->file.task.text("status") != "late") return beginning;
  TRY(const auto tasks, all());
  return whole_id_among(tasks, beginning, place_ + "/tasks");
}

Result<Envelope> RedisTasks::requeue(const std::string& id) {
  TRY(const auto found, get(id));
  if (!found) return no_task(id, place_ + "/tasks");
  TRY(require_dead(found->file, id));
  TRY(const auto now, now_ns());
  Envelope task = found->file.task;
  write_requeued(task, schema::seconds_token(now));
  TRY(const auto changed, change(*found, task, {TaskPlace::open, {}, {}, {}}));
  if (changed != Changed::yes) return Error{"task.not_dead", "task " + id + " was changed at this moment; look again"};
  return task;
}

Result<TaskCounts> RedisTasks::counts() const {
  TaskCounts counts;
  for (const auto& [place, to] : {std::pair(TaskPlace::open, &counts.open), std::pair(TaskPlace::claimed, &counts.claimed),
                                  std::pair(TaskPlace::done, &counts.done), std::pair(TaskPlace::dead, &counts.dead)}) {
    TRY(const auto count, redis_.call(RedisCommand{"ZCARD", keys_.of(set_of(place))}));
    *to = static_cast<std::size_t>(std::max(count.as_number(), 0LL));
  }
  return counts;
}

Result<std::vector<std::string>> RedisTasks::held_by(const std::string& actor) const {
  TRY(const auto names, redis_.call(scripts::tasks_of(), {keys_.of("leases")}, {prefix(), actor}));
  std::vector<std::string> ids;
  for (const RedisReply& one : names.parts)
    if (one.text.size() > digits_before && ids.size() < most_listed) ids.push_back(one.text.substr(digits_before));
  return ids;
}

}  // namespace inbox_poller::poller
