#include "tests/sim/jsonl_files.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "tests/sim/peers.hpp"
#include "tests/sim/world.hpp"

namespace inbox_poller::sim {
namespace json = boost::json;

JsonlFiles::JsonlFiles(Machine& machine, std::string folder) : TeamFiles(machine, std::move(folder)) {
  for (const auto& name : machine.workers()) statuses_[name] = "working";
}

std::string JsonlFiles::roster_text() const {
  json::array members;
  for (const auto& [name, status] : statuses_)
    members.push_back(json::object{{"name", name}, {"role", "coder"}, {"status", status}});
  return json::serialize(json::object{{"team_name", "default"}, {"members", members}});
}

void JsonlFiles::make() {
  machine_.disk().make_folders(folder() + "/inbox");
  machine_.disk().write(roster(), roster_text());
}

void JsonlFiles::configure(config::TeamConfig& config) const {
  config.team.backend = config::Backend::jsonl;
  config.team.folder = folder();
  config.limits.inbox_file.count = 24 * 1024;  // a quarter of it is put aside where no lease is granted
}

std::string JsonlFiles::lines_of_lead() const {
  std::string all;
  for (const auto& name : machine_.disk().list(folder() + "/inbox"))
    if (name == lead() + ".jsonl" || name.starts_with("." + lead() + "."))
      all += machine_.disk().read(folder() + "/inbox/" + name).value_or("") + "\n";
  return all;
}

void JsonlFiles::check() {
  for (const auto& name : machine_.disk().list(folder() + "/inbox"))
    if (!name.starts_with('.') && !name.ends_with(".jsonl"))
      machine_.oracle().violated("the daemon left " + name + " among the inboxes");
}

std::string JsonlFiles::unread() const {
  for (const auto& box : boxes()) {
    const auto bytes = machine_.disk().read(inbox(box)).value_or("");
    if (bytes.empty() || (box == lead() && !machine_.disk().has_leases)) continue;
    return "lines are in the inbox of " + box + ": " + bytes.substr(0, 200);
  }
  return {};
}

void JsonlFiles::lose_power() {
  const auto before = lines_of_lead();
  TeamFiles::lose_power();
  std::set<std::string> after;  // half a line of a dead writer may be the beginning of another
  each_line(lines_of_lead(), [&](const std::string& line) { after.insert(line); });
  each_line(before, [&](const std::string& line) {
    if (after.contains(line)) return;
    machine_.oracle().not_set_aside(line);
    boost::system::error_code bad;
    const auto value = json::parse(line, bad);
    if (bad || !value.is_object()) return;
    machine_.oracle().lost_with_power(text_of(value.as_object(), "content"), text_of(value.as_object(), "request_id"));
  });
}

}  // namespace inbox_poller::sim
