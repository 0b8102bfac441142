#include "poller/mailbox/maildir/task_files.hpp"

#include <cerrno>

#include "handlers/task_lease.hpp"

namespace inbox_poller::poller {

using schema::Envelope;

namespace {

constexpr std::string_view begun_prefix = ".sweep.";  // and HOLDER.NAME: no actor has a dot in its name

}  // namespace

std::string task_folder(TaskPlace place) {
  switch (place) {
    case TaskPlace::open: return "tasks/open";
    case TaskPlace::claimed: return "tasks/claimed";
    case TaskPlace::done: return "tasks/done";
    case TaskPlace::dead: return "tasks/dead";
    case TaskPlace::given_back: break;
  }
  return "tmp";
}

std::string claimed_folder(const std::string& actor) { return "tasks/claimed/" + actor; }

std::string begun_name(const std::string& holder, const std::string& name) {
  return std::string(begun_prefix) + holder + '.' + name;
}

std::pair<std::string, std::string> parts_of_begun(std::string_view name) {
  if (!name.starts_with(begun_prefix) || !name.ends_with(".json")) return {};
  name.remove_prefix(begun_prefix.size());
  const std::size_t dot = name.find('.');
  const std::string holder(name.substr(0, dot));
  if (dot == std::string_view::npos || !MaildirRoot::is_actor(holder) || dot + 1 == name.size()) return {};
  return {holder, std::string(name.substr(dot + 1))};
}

std::string original_name(const std::string& name) {
  std::string original = parts_of_begun(name).second;
  return original.empty() ? name : original;
}

Result<Directory> locked_tasks(const MaildirRoot& root) {
  Result<Directory> tasks = root.folder("tasks");
  if (!tasks) return tasks;
  if (Status locked = root.files().lock(tasks->fd, tasks->path); !locked.ok()) return locked.error();
  return tasks;
}

void give_back(Envelope& task, const std::string& reason, unsigned max_attempts, const std::string& now) {
  const bool counted = task.raw("counted_at") == task.raw("claimed_at") && !task.raw("claimed_at").empty();
  const long long attempts = handlers::attempts_so_far(task.number("attempts"), counted);
  for (const char* field : {"owner", "claimed_at", "counted_at", "lease_expires_at"}) task.drop(field);
  task.set("attempts", attempts).set("status", "open");
  if (attempts < static_cast<long long>(max_attempts)) return;
  task.set("status", "dead").set_raw("dead_at", now);
  task.set("dead_reason", "handed out " + std::to_string(attempts) + " times and not done; at last " + reason);
}

std::string by(const std::string& name) { return name.empty() ? std::string() : ", by " + name; }

}  // namespace inbox_poller::poller
