#include "poller/mailbox/envelopes.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <charconv>
#include <cstdio>
#include <random>
#include <set>

#include "handlers/task_lease.hpp"
#include "schema/ids.hpp"
#include "schema/nearest.hpp"

namespace inbox_poller::poller {

namespace json = boost::json;
using schema::Envelope;

namespace {

constexpr std::size_t most_named = 100;

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most_named); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > most_named ? text + ", …" : text;
}

std::string by(const std::string& name) { return name.empty() ? std::string() : ", by " + name; }

/// Removes the holder's fields and sets status "open", or "dead" with the reason after `max_attempts` attempts.
void requeue(Envelope& task, const std::string& reason, unsigned max_attempts, const std::string& now) {
  const bool counted = task.raw("counted_at") == task.raw("claimed_at") && !task.raw("claimed_at").empty();
  const long long attempts = handlers::attempts_so_far(task.number("attempts"), counted);
  for (const char* field : {"owner", "claimed_at", "counted_at", "lease_expires_at"}) task.drop(field);
  task.set("attempts", attempts).set("status", "open");
  if (attempts < static_cast<long long>(max_attempts)) return;
  task.set("status", "dead").set_raw("dead_at", now);
  task.set("dead_reason", "handed out " + std::to_string(attempts) + " times and not done; at last " + reason);
}

}  // namespace

Status require_size_of(std::string_view bytes) {
  if (bytes.size() <= most_envelope_bytes) return Done{};
  return Error{"payload.too_large", "that makes " + std::to_string(bytes.size()) + " bytes, at most " +
                                        std::to_string(most_envelope_bytes) +
                                        " can be written; put it into a file and send its path"};
}

std::string fresh_id() {
  static thread_local std::random_device source;
  std::string text;
  for (int i = 0; i < 4; ++i) {
    std::array<char, 9> part;
    std::snprintf(part.data(), part.size(), "%08x", static_cast<unsigned>(source()));
    text += part.data();
  }
  return text;
}

// --- mail

bool is_actor_name(std::string_view name) { return schema::is_valid_name(name) && name != "tmp" && name != "tasks"; }

Status require_actor_name(std::string_view name) {
  if (is_actor_name(name)) return Done{};
  return Error{"name.invalid", "\"" + std::string(name) +
                                   "\" cannot be an actor's name: use A-Z a-z 0-9 _ -, at most 64 characters, but not \"tmp\" or "
                                   "\"tasks\", which are folders of the queue"};
}

Envelope message_of(const std::string& actor, const MessageDraft& draft, const std::string& id,
                    const std::string& now) {
  Envelope message;
  message.set("id", id).set("from", actor).set("to", draft.to).set("type", draft.type);
  message.set("payload", draft.payload).set_raw("ts", now);
  if (!draft.in_reply_to.empty()) message.set("in_reply_to", draft.in_reply_to);
  return message;
}

Status require_type(const MessageDraft& draft) {
  if (!draft.type.empty()) return Done{};
  return Error{"payload.invalid", "a message needs a type, such as \"handoff\""};
}

Status require_known(const std::string& to, const std::vector<std::string>& known) {
  if (known.empty() || std::find(known.begin(), known.end(), to) != known.end()) return Done{};
  return Error{"actor.unknown", "\"" + to + "\" is not among the known actors" + schema::did_you_mean(to, known) +
                                    "; --known-actors names: " + listed(known)};
}

std::string new_mailbox_note(const std::string& to, const std::string& sender, const std::vector<std::string>& actors) {
  std::vector<std::string> others = actors;
  std::erase_if(others, [&](const std::string& name) { return name == to || name == sender; });
  return "\"" + to + "\" had no mailbox yet: it was made, and the message waits in it" + schema::did_you_mean(to, others) +
         (others.empty() ? "; no other actor exists yet" : "; other actors: " + listed(others));
}

// --- tasks

Envelope open_task(const std::string& actor, const std::string& type, const json::value& payload,
                   std::optional<double> priority, const std::string& id, const std::string& now) {
  Envelope task;
  task.set("id", id).set("from", actor).set("type", type).set("payload", payload).set("status", "open");
  task.set_raw("ts", now);
  if (priority) task.set("priority", *priority);
  return task;
}

void write_claim(Envelope& task, const std::string& actor, const std::string& now, std::string until) {
  task.set("status", "claimed").set("owner", actor).set_raw("claimed_at", now).set_raw("counted_at", now);
  task.set_raw("lease_expires_at", std::move(until));
  task.set("attempts", handlers::attempts_so_far(task.number("attempts"), false));
}

void write_result(Envelope& task, const json::value& result, const std::string& now) {
  task.set("status", "done").set("result", result).set_raw("completed_at", now);
}

void write_abandoned(Envelope& task, const std::string& actor, const std::string& reason, unsigned max_attempts,
                     const std::string& now) {
  task.set("abandoned_by", actor).set("abandoned_reason", reason).set_raw("abandoned_at", now);
  requeue(task, "abandoned by " + actor + ": " + reason, max_attempts, now);
}

void write_swept(Envelope& task, const std::string& holder, unsigned max_attempts, const std::string& now) {
  const std::string owner = task.text("owner");
  task.set("swept_from", owner.empty() ? holder : owner).set_raw("swept_at", now);
  requeue(task, "the lease of " + task.text("swept_from") + " ran out", max_attempts, now);
}

void write_requeued(Envelope& task, const std::string& now) {
  for (const char* field : {"dead_reason", "dead_at", "attempts"}) task.drop(field);
  task.set("status", "open").set_raw("requeued_at", now);
}

Envelope late_result(Envelope task, const std::string& actor, const json::value& result, const std::string& why,
                     const std::string& now) {
  task.set("status", "late").set("result", result).set("completed_by", actor);
  task.set_raw("completed_at", now).set_raw("dead_at", now);
  task.set("dead_reason", "a result of " + actor + " that came too late: " + why);
  return task;
}

Error not_held_by(const std::string& actor, const std::string& id, const TaskFile& found) {
  switch (found.place) {
    case TaskPlace::done: return {"task.done", "task " + id + " is done" + by(found.task.text("owner"))};
    case TaskPlace::claimed:
      if (found.holder == actor) break;
      return {"task.not_held", "task " + id + " is held by " + found.holder + ", not by " + actor};
    case TaskPlace::dead:
      return {"task.not_held", "task " + id + " is among the dead letters: " + found.task.text("dead_reason")};
    case TaskPlace::open:
    case TaskPlace::given_back:
      return {"task.not_held", "task " + id + " is not held by " + actor + " (any more): it can be claimed again"};
  }
  return {"task.not_held", "task " + id + " changed its holder at this moment; ask again"};
}

Error no_task(const std::string& id, const std::string& place) {
  return {"task.unknown", "task " + id + " is not below " + place};
}

const TaskFile* best_of(const std::vector<TaskFile>& tasks, const std::string& id) {
  const auto weight = [](const TaskFile& one) {
    return one.task.text("status") == "late" ? 0
           : one.place == TaskPlace::done    ? 3
           : one.place == TaskPlace::claimed ? 2
                                             : 1;
  };
  const TaskFile* best = nullptr;
  for (const TaskFile& one : tasks)
    if (schema::identity_of(one.task) == id && (best == nullptr || weight(one) > weight(*best))) best = &one;
  return best;
}

Result<std::string> whole_id_among(const std::vector<TaskFile>& tasks, const std::string& beginning,
                                   const std::string& place) {
  for (const bool late : {false, true}) {
    std::set<std::string> found;
    for (const TaskFile& one : tasks)
      if (const std::string id = schema::identity_of(one.task);
          id.starts_with(beginning) && (one.task.text("status") == "late") == late)
        found.insert(id);
    if (found.contains(beginning) || found.size() == 1) return *found.begin();  // the shortest is the first
    if (found.size() > 1)
      return Error{"mailbox.usage", "several tasks begin with " + beginning + ": " + *found.begin() + ", " +
                                    *std::next(found.begin()) + "; say more of it"};
  }
  return no_task(beginning, place);
}

Status require_dead(const TaskFile& found, const std::string& id) {
  const bool late = found.task.text("status") == "late";
  if (found.place == TaskPlace::dead && !late) return Done{};
  return Error{"task.not_dead", "task " + id + " is not among the dead letters that can be claimed again" +
                                    (late ? ": that is a late result" : "")};
}

long long order_of(const TaskFile& file) {
  const std::string_view name = std::string_view(file.name).substr(file.name.starts_with("dead-") ? 5 : 0);
  long long ns = 0;
  const char* const end = name.data() + std::min(name.size(), std::size_t{20});
  const auto read = std::from_chars(name.data(), end, ns);
  if (read.ec == std::errc() && read.ptr == end && name.size() > 20 && name[20] == '-') return ns;
  return static_cast<long long>(std::clamp(file.task.number("ts").value_or(0), 0.0, 9e9) * 1e6) * 1000;
}

Error with_lease_advice(Error error) {
  if (error.code == "task.not_held" || error.code == "task.unknown")
    error.message += "; `mailbox inbox` shows what you hold; `mailbox claim` takes the next one";
  return error;
}

// --- both

json::object inbox_answer(const std::string& actor, std::size_t unread, const std::vector<ListedMessage>& listed,
                          const TaskCounts& counts, const std::vector<std::string>& mine) {
  json::array messages;
  for (const ListedMessage& one : listed) {
    if (messages.size() == most_listed) break;
    messages.push_back({{"id", one.id}, {"from", one.from}, {"type", one.type}, {"ts", one.ts}});
  }
  return {{"actor", actor},
          {"unread", unread},
          {"messages", std::move(messages)},
          {"tasks",
           {{"open", counts.open},
            {"claimed", counts.claimed},
            {"done", counts.done},
            {"dead", counts.dead},
            {"mine", json::array(mine.begin(), mine.end())}}}};
}

}  // namespace inbox_poller::poller
