#include "tests/sim/oracle.hpp"

namespace inbox_poller::sim {

void Oracle::violated(const std::string& what) {
  trace_("VIOLATION " + what);
  violations_.push_back(what);
}

void Oracle::written(const std::string& text) {
  if (const auto found = chat.find(text); found != chat.end()) found->second.number = ++written_[found->second.from];
}

void Oracle::lead_sees(const std::string& text, long long attempts) {
  const auto found = chat.find(text);
  if (found == chat.end()) return violated("the lead got a text that no worker sent: " + text);
  auto& one = found->second;
  if (++one.seen == 1) {
    auto& last = last_seen_[one.from];
    if (one.number < last) violated("order: the lead got " + text + " after a later one of its sender");
    last = one.number;
  } else if (attempts <= 1) {
    violated("a repeat without a label: " + text);
  }
}

void Oracle::person_answered(const std::string& id, bool approves) {
  auto& request = requests[id];
  request.answers.insert(approves);
  if (request.answers.size() > 1) violated("two answers were accepted for " + id);
}

void Oracle::worker_sees(const std::string& worker, const std::string& id, const std::string& text, bool success) {
  const auto found = requests.find(id);
  if (found == requests.end()) {
    if (success) violated("a forged ask was allowed: " + id);
    return;
  }
  auto& request = found->second;
  if (request.worker != worker) violated("the reply to " + id + " went to " + worker);
  if (++request.replies > 1 && text != request.reply)
    violated("a second decision for " + id + ": " + text + " after " + request.reply);
  request.reply = text;
  const bool by_rule = success ? request.rule == Request::Rule::allows : request.rule == Request::Rule::denies;
  const bool by_person = request.answers.contains(success) || request.unknown_answers[success ? 1 : 0] > 0;
  if (!by_rule && !by_person) violated(std::string(success ? "allowed" : "denied") + " by nobody: " + id);
  if (request.answers.contains(!success)) violated("the reply to " + id + " is not the answer that was accepted");
}

void Oracle::marked(const std::string& text, const std::string& id) {
  if (const auto found = chat.find(text); found != chat.end()) found->second.owed = true;
  if (const auto found = requests.find(id); found != requests.end()) found->second.owed = true;
}

std::vector<std::string> Oracle::missing() const {
  std::vector<std::string> all;
  for (const auto& [text, one] : chat)
    if (one.owed && one.seen == 0) all.push_back("lost: no lead saw " + text);
  for (const auto& [id, request] : requests)
    if (request.owed && request.replies == 0) all.push_back("no reply to " + id);
  return all;
}

}  // namespace inbox_poller::sim
