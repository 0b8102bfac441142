#include "tests/sim/maildir_files.hpp"

#include <boost/json.hpp>

#include "tests/sim/peers.hpp"
#include "tests/sim/world.hpp"

namespace inbox_poller::sim {
namespace json = boost::json;

namespace {

std::optional<json::object> object_of(const std::string& bytes) {
  boost::system::error_code bad;
  auto value = json::parse(bytes, bad);
  return bad || !value.is_object() ? std::nullopt : std::optional(std::move(value.as_object()));
}

}  // namespace

std::string told_of_letter(const std::string& bytes) {
  const auto letter = object_of(bytes);
  if (!letter) return {};
  const auto type = text_of(*letter, "type");
  const auto& payload = letter->at("payload");
  const std::string text = payload.is_string() ? std::string(payload.as_string()) : json::serialize(payload);
  return type == "message" ? text : type + ", id " + text_of(*letter, "id") + ": " + text;
}

void MaildirFiles::make() {
  auto& disk = machine_.disk();
  disk.make_folders(folder() + "/tmp");
  for (const auto& name : boxes()) {
    disk.make_folders(inbox(name));
    disk.make_folders(taken(name));
    if (name != lead()) disk.make_folders(tasks("claimed/" + name));
  }
  disk.make_folders(tasks("open"));
  disk.make_folders(tasks("done"));
}

void MaildirFiles::configure(config::TeamConfig& config) const {
  config.team.backend = config::Backend::maildir;
  config.team.folder = folder();
  config.team.lead = lead();
}

std::map<std::string, std::string> MaildirFiles::tasks_there() const {
  std::map<std::string, std::string> found;
  const auto add = [&](const std::string& below) {
    for (const auto& name : machine_.disk().list(folder() + below))
      if (const auto task = object_of(machine_.disk().read(folder() + below + "/" + name).value_or("")))
        found[text_of(*task, "id")] += below + " ";
  };
  for (const char* below : {"/tmp", "/tasks/open", "/tasks/done", "/tasks/dead"}) add(below);
  for (const auto& holder : machine_.disk().list(tasks("claimed"))) add("/tasks/claimed/" + holder);
  return found;
}

std::map<std::string, std::string> MaildirFiles::letters_there() const {
  std::map<std::string, std::string> found;
  for (const auto& below : {inbox(lead()), taken(lead())})
    for (const auto& name : machine_.disk().list(below)) {
      const auto bytes = machine_.disk().read(below + "/" + name).value_or("");
      if (const auto letter = object_of(bytes)) found[text_of(*letter, "id") + bytes] = told_of_letter(bytes);
    }
  return found;
}

void MaildirFiles::check() {
  const auto there = tasks_there();
  for (const auto& id : posted_)
    if (!there.contains(id)) machine_.oracle().violated("a task is lost: " + id);
}

std::string MaildirFiles::unread() const {
  for (const auto& box : boxes())
    for (const auto& name : machine_.disk().list(inbox(box)))
      // A power failure may have brought back a file whose bytes nobody had synced: it stays, unreadable.
      if (const auto bytes = machine_.disk().read(inbox(box) + "/" + name).value_or(""); object_of(bytes))
        return "unread for " + box + ": " + bytes;
  for (const auto& [id, places] : tasks_there())
    if (places.find("/open") != std::string::npos) return "nobody has taken the task " + id;
  return {};
}

void MaildirFiles::repair() {
  for (const auto& [path, torn] : std::exchange(torn_, {})) {
    if (!machine_.disk().exists(path)) continue;
    machine_.trace("a person completes " + path.substr(path.rfind('/') + 1));
    machine_.disk().write(path, torn.whole);
    torn.done();
  }
}

void MaildirFiles::lose_power() {
  const auto letters = letters_there();
  const auto tasks = tasks_there();
  TeamFiles::lose_power();
  const auto after = letters_there();
  for (const auto& [id, text] : letters)
    if (!after.contains(id)) machine_.oracle().lost_with_power(text, {});
  const auto left = tasks_there();
  for (const auto& [id, place] : tasks)
    if (!left.contains(id)) posted_.erase(id);
  std::erase_if(torn_, [this](const auto& one) { return !machine_.disk().exists(one.first); });
}

}  // namespace inbox_poller::sim
