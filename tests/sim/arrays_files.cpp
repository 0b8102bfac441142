// The files of a team with array inboxes.
#include <algorithm>
#include <boost/json.hpp>

#include "tests/sim/arrays_files.hpp"
#include "tests/sim/peers.hpp"
#include "tests/sim/world.hpp"

namespace inbox_poller::sim {
namespace json = boost::json;
using std::chrono::seconds;

namespace {

json::object member(const Machine& machine, const std::string& name) {
  json::object one{{"agentId", name + "@t"}, {"name", name}, {"joinedAt", machine.joined_ms(name)}};
  const auto pane = machine.pane_of(name);
  if (!pane.empty()) one.insert({{"tmuxPaneId", pane}, {"backendType", "tmux"}});
  return one;
}

std::string roster_of(const Machine& machine, const std::vector<std::string>& names) {
  json::array members{
      json::object{{"agentId", "team-lead@t"}, {"name", "team-lead"}, {"joinedAt", 0}, {"cwd", machine.lead_folder()}}};
  for (const auto& name : names) members.push_back(member(machine, name));
  return json::serialize(
      json::object{{"name", "t"}, {"leadAgentId", "team-lead@t"}, {"leadSessionId", "s"}, {"members", members}});
}

std::optional<json::value> parsed(const std::optional<std::string>& bytes) {
  boost::system::error_code bad;
  auto value = json::parse(bytes.value_or(""), bad);
  return bad ? std::nullopt : std::optional(std::move(value));
}

}  // namespace

void ArraysFiles::make() {
  machine_.disk().make_folders(folder() + "/inboxes");
  machine_.disk().write(roster(), roster_of(machine_, machine_.workers()));
}

bool ArraysFiles::has_member(const std::string& name) const {
  const auto value = parsed(machine_.disk().read(roster()));
  if (!value || !value->is_object()) return true;  // not known
  for (const auto& one : value->at("members").as_array())
    if (one.at("name").as_string() == name) return true;
  return false;
}

void ArraysFiles::set_member(const std::string& name, bool is_member) {
  wanted_[name] = is_member;
  auto value = parsed(machine_.disk().read(roster()));
  if (!value || !value->is_object())
    return machine_.after(seconds(1), [this, name] { set_member(name, wanted_[name]); });
  auto& members = value->at("members").as_array();
  members.erase(std::remove_if(members.begin(), members.end(),
                               [&](const json::value& one) { return one.at("name").as_string() == name; }),
                members.end());
  if (is_member) members.push_back(member(machine_, name));
  machine_.disk().replace(roster(), json::serialize(*value));
}

void ArraysFiles::note_marks() {
  const auto bytes = machine_.disk().read(inbox(lead()));
  if (!bytes || *bytes == seen_lead_box_) return;
  seen_lead_box_ = *bytes;
  const auto entries = parsed(*bytes);
  if (!entries || !entries->is_array()) return;
  for (const auto& one : entries->as_array()) {
    if (!one.is_object() || !is_read(one.as_object())) continue;
    const auto text = text_of(one.as_object(), "text");
    if (!noted_.insert(text).second) continue;
    const auto payload = text.starts_with('{') ? parsed(text) : std::nullopt;
    const auto* object = payload && payload->is_object() ? &payload->as_object() : nullptr;
    const bool is_camel = object != nullptr && object->contains("requestId");
    machine_.oracle().marked(text, object == nullptr ? "" : text_of(*object, is_camel ? "requestId" : "request_id"));
  }
}

void ArraysFiles::read_box(std::set<std::string>& texts) const {
  const auto entries = parsed(machine_.disk().read(inbox(lead())).value_or("[]"));
  if (entries && entries->is_array())
    for (const auto& one : entries->as_array()) texts.insert(text_of(one.as_object(), "text"));
}

void ArraysFiles::check() {
  for (const auto& box : boxes())
    if (machine_.made_lock(inbox(box) + ".lock") && machine_.profile().error_one_in == 0)
      machine_.oracle().violated("a lock is left at the box of " + box);
}

std::string ArraysFiles::unread() const {
  for (const auto& box : boxes()) {
    if (!has_member(box)) return box + " has not come back";
    const auto entries = parsed(machine_.disk().read(inbox(box)).value_or("[]"));
    if (!entries || !entries->is_array()) continue;
    for (const auto& one : entries->as_array())
      if (one.is_object() && !is_read(one.as_object()))
        return "unread in the box of " + box + ": " + json::serialize(one);
  }
  return {};
}

void ArraysFiles::repair() {
  auto& disk = machine_.disk();
  if (!parsed(disk.read(roster()))) {
    machine_.trace("a person restores the roster");
    disk.write(roster(), roster_of(machine_, machine_.workers()));
  }
  for (const auto& box : boxes()) {
    // After the clock was set back, no client takes the lock of a dead one for abandoned (W9).
    const auto left = disk.find(inbox(box) + ".lock");
    if (left && left->mtime_ns > system_ns() && now() - left->made_at > settled_for) disk.rmdir(inbox(box) + ".lock");
    const auto bytes = disk.read(inbox(box));
    if (!bytes || bytes->empty()) continue;
    if (const auto entries = parsed(*bytes); entries && entries->is_array()) continue;
    if (const auto lock = disk.find(inbox(box) + ".lock"); lock && now() - lock->made_at < settled_for) continue;
    machine_.trace("a person empties the torn box of " + box);
    machine_.oracle().destroyed();
    disk.write(inbox(box), "[]");
  }
}

}  // namespace inbox_poller::sim
