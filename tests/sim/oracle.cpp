#include "tests/sim/oracle.hpp"

#include <boost/json/serialize.hpp>

#include "tests/sim/members.hpp"

namespace inbox_poller::sim {
namespace json = boost::json;
namespace {

constexpr Span soon = std::chrono::seconds(20);             // without faults all is done by then
constexpr Span requests_wait = std::chrono::seconds(40);    // less than the timeout of requests
constexpr Span holds_chat = std::chrono::seconds(25);       // less than the time for which chat waits for replies
constexpr Span destroys_before = std::chrono::seconds(30);  // what was written so long before a torn write may be gone

}  // namespace

void Oracle::violated(const std::string& what) {
  trace_("VIOLATION " + what);
  violations_.push_back(what);
}

void Oracle::written(const std::string& text) {
  const auto found = chat.find(text);
  if (found == chat.end()) return;
  found->second.number = ++written_[found->second.from];
  found->second.written_at = now();
}

void Oracle::lead_sees(const std::string& machine, const std::string& text, long long attempts) {
  const auto found = chat.find(text);
  if (found == chat.end()) return violated("the lead got a text that no worker sent: " + text);
  auto& one = found->second;
  if (one.number == 0) return violated("the lead got a text before it was written: " + text);
  if (attempts <= 1) ++one.unlabeled[machine];
  if (++one.seen == 1) {
    auto& last = last_seen_[{machine, one.from}];
    const bool is_ordered = !one.mended && !has_rival && !(orders_by_clock && clock_jumped);
    if (one.number < last && is_ordered) violated("order: the lead got " + text + " after a later one of its sender");
    if (!one.mended) last = one.number;
    if (machine == one.machine) judge_order(one, text);
    if (is_calm && now() - one.written_at > soon) violated("late: the lead got " + text + " long after it was written");
  } else if (has_nodes ? one.unlabeled[machine] > 1 : attempts <= 1) {
    violated("a repeat without a label: " + text);
  }
}

void Oracle::person_answered(const std::string& machine, const std::string& id, bool approves) {
  auto& request = requests[id];
  if (request.verifies && !request.left) violated("an answer to a worker that verifies was accepted: " + id);
  request.answers.insert(approves);
  const auto [first, is_first] = request.answered_at.emplace(machine, approves);
  if (first->second != approves || (request.answers.size() > 1 && !has_nodes))
    violated("two answers were accepted for " + id);
}

/// Replies by rules stand before chat that was written after their requests goes to the lead.
void Oracle::judge_order(const Chat& one, const std::string& text) {
  if (now() - one.written_at > holds_chat) return;
  for (const auto& [id, request] : requests) {
    const bool is_before = request.worker == one.from && request.owed && request.written_at < one.written_at;
    if (!is_before || request.rule == Request::Rule::none || request.replies > 0 || request.verifies || request.left)
      continue;
    if (!had_cause_since(request.written_at) && !stands(request.worker, id))
      violated("the lead got " + text + " before the reply to " + id + " stood in its box");
  }
}

void Oracle::worker_sees(const std::string& worker, const std::string& id, const json::object& entry, bool success) {
  const auto text = text_of(entry, "text");
  auto bytes = entry;
  bytes.erase("read");
  const auto found = requests.find(id);
  if (found == requests.end()) {
    if (success) violated("a forged ask was allowed: " + id);
    return;
  }
  auto& request = found->second;
  if (request.worker != worker) violated("the reply to " + id + " went to " + worker);
  if (request.left) return;  // the process that asked is gone, and its successor does not wait for it
  if (request.verifies) violated("a worker that verifies was answered: " + id);
  if (++request.replies > 1 && text != request.reply)
    violated("a second decision for " + id + ": " + text + " after " + request.reply);
  if (request.replies > 1 && json::serialize(bytes) != request.entry)
    violated("the reply to " + id + " came again with other bytes: " + json::serialize(bytes) + " after " + request.entry);
  request.reply = text;
  request.entry = json::serialize(bytes);
  if (text.find("setMode") != std::string::npos) violated("the reply to " + id + " has what its worker suggested: " + text);
  request.success = success;
  const bool by_rule = success ? request.rule == Request::Rule::allows || request.may_be_ruled
                               : request.rule == Request::Rule::denies;
  const bool by_person = request.answers.contains(success) || request.unknown_answers[success ? 1 : 0] > 0;
  const bool by_time = !success && request.kind != Request::Kind::plan &&
                       (clock_jumped || now() - request.written_at > requests_wait);
  if (success && request.rule == Request::Rule::denies) violated("allowed against a rule that denies: " + id);
  if (!by_rule && !by_person && !by_time) violated(std::string(success ? "allowed" : "denied") + " by nobody: " + id);
  const bool is_other = has_nodes ? !by_rule && !by_time && !request.answers.contains(success) : true;
  if (request.answers.contains(!success) && is_other) violated("the reply to " + id + " is not the answer that was accepted");
  if (is_calm && request.rule != Request::Rule::none && request.replies == 1 && now() - request.written_at > soon)
    violated("late: a rule answered " + id + " long after it was asked");
}

void Oracle::worker_reads(const std::string& worker, const std::string& text) {
  const auto found = orders.find(text);
  if (found == orders.end()) return;
  ++found->second.seen;
  if (found->second.worker != worker) violated("the message " + text + " went to " + worker);
}

void Oracle::wish_declined(const std::string& worker, const std::string& text) {
  bool is_known = false;
  for (auto& [id, wish] : wishes) {
    const bool is_named = text.find(id + " must go on") != std::string::npos;
    if (wish.worker != worker || wish.left || !(is_named || text.find("no answer came") != std::string::npos)) continue;
    is_known = wish.is_met = true;
  }
  if (!is_known && !away_.contains(worker)) trace_("declined is a wish of the worker before: " + text);
}

void Oracle::wish_granted(const std::string& worker, const std::string& reason) {
  for (auto& [id, wish] : wishes) {
    if (wish.worker != worker || wish.left) continue;
    const bool is_named = reason.find("(" + id + ")") != std::string::npos;
    if (is_named && !wish.granted) violated("a worker was asked to end by a wish that nobody granted: " + id);
    if (wish.granted) wish.is_met = true;  // by any shutdown that is under way
  }
}

void Oracle::marked(const std::string& text, const std::string& id) {
  if (const auto found = wishes.find(id); found != wishes.end()) found->second.owed = true;
  if (const auto found = chat.find(text); found != chat.end() && !found->second.by_rival) found->second.owed = true;
  if (const auto found = requests.find(id); found != requests.end()) found->second.owed = true;
}

void Oracle::lost_by_client(const std::string& text) {
  if (const auto found = orders.find(text); found != orders.end()) found->second.left = true;
  for (auto& [id, request] : requests)
    if (request.replies == 0 && text.find('"' + id + '"') != std::string::npos) request.left = true;
}

void Oracle::lost_with_power(const std::string& text, const std::string& id) {
  if (const auto found = chat.find(text); found != chat.end() && found->second.seen == 0)
    found->second.owed = found->second.written = false;
  if (const auto found = requests.find(id); found != requests.end()) found->second.owed = false;
}

void Oracle::destroyed_in_box(const std::string& lines) {
  constexpr int written_again = 1;  // without a proof
  for (auto& [text, order] : orders)
    if (lines.find('"' + text + '"') != std::string::npos && ++order.destroyed > written_again && !has_proofs)
      order.left = true;
  for (auto& [id, request] : requests)
    if (lines.find('"' + id + '"') != std::string::npos && ++request.destroyed > written_again && !has_proofs)
      request.left = request.left || request.replies == 0;
}

void Oracle::judge_quarantine(const json::array& kept) {
  std::set<std::string> texts;
  for (const auto& one : kept) texts.insert(text_of(one.as_object(), "entry"));
  for (const auto& bytes : set_aside_)
    if (!texts.contains(bytes)) violated("quarantine does not have what was no message: " + bytes);
}

void Oracle::order_written(const std::string& text, const std::string& worker, const std::string& machine) {
  auto& order = orders[text];
  order.worker = worker;
  order.machine = machine;
  order.left = away_.contains(worker);
}

void Oracle::left(const std::string& worker) {
  away_.insert(worker);
  for (auto& [id, request] : requests)
    if (request.worker == worker && request.replies == 0) request.left = true;
  for (auto& [text, order] : orders)
    if (order.worker == worker) order.left = true;
  for (auto& [id, wish] : wishes)
    if (wish.worker == worker) wish.left = true;
}

void Oracle::box_holds(const std::set<std::string>& texts) {
  for (const auto& [text, one] : chat) {
    if (!one.written || one.owed || one.by_rival || one.seen > 0 || texts.contains(text)) continue;
    if (last_destroyed_ + destroys_before < one.written_at) violated("lost from the box, unread: " + text);
  }
}

// --- what the daemon tells when all is quiet ---

void Oracle::judge_status(const json::object& team, std::size_t open, const std::string& role) {
  const auto expect = [&](const std::string& what, long long found, long long right) {
    if (found != right)
      violated("status: " + what + " is " + std::to_string(found) + " and should be " + std::to_string(right));
  };
  expect("replies_owed", number_of(team, "replies_owed"), 0);
  const auto& counts = team.at("chat").as_object();
  // A lead whose machine does not lead any more need not acknowledge.
  if (role == "leader") expect("chat.queued", number_of(counts, "queued"), 0);
  if (role == "leader") expect("chat.offered", number_of(counts, "offered"), 0);
  expect("requests.pending", number_of(team.at("requests").as_object(), "pending"),
         static_cast<long long>(open));
  if (const auto* fault = team.if_contains("ledger_fault"); fault != nullptr && !fault->is_null())
    violated("status: a ledger fault at the end: " + json::serialize(*fault));
  if (!has_rival && text_of(team, "role") != role) violated("status: the role is " + text_of(team, "role"));
  const auto state = text_of(team.at("inbox").as_object(), "state");
  // A power failure takes an inbox away that no peer has synced, and only peers make the lead's.
  const bool is_sound = state == "ok" || state == "empty" || (state == "missing" && lost_power_since(Span{}));
  if (role == "leader" && !is_sound)
    violated("status: the inbox is " + state + ": " + text_of(team.at("inbox").as_object(), "detail"));
  if (!team.at("shutdowns").as_array().empty()) violated("status: a shutdown is open at the end");
}

std::set<std::string> Oracle::open_requests() const {
  std::set<std::string> open;
  for (const auto& [id, request] : requests)
    if (request.owed && request.replies == 0 && !request.left && !request.verifies && request.answers.empty())
      open.insert(id);
  return open;
}

void Oracle::judge_pending(const json::array& open) {
  std::set<std::string> told;
  for (const auto& one : open) told.insert(text_of(one.as_object(), "request_id"));
  for (const auto& id : open_requests())
    if (!told.contains(id)) violated("pending does not show " + id);
  for (const auto& [id, wish] : wishes)
    if (told.erase(id) == 0 && wish.owed && !wish.left && !wish.granted && !wish.is_met)
      violated("pending does not show " + id);
  for (const auto& id : told)
    if (const auto found = requests.find(id); found == requests.end() || found->second.replies > 0)
      violated("pending shows " + id + ", which has its reply, or which nobody asked");
}

void Oracle::judge_decisions(const json::array& decisions) {
  if (has_nodes) return;  // a machine keeps what it decided, also if the worker had another answer before
  for (const auto& each : decisions) {
    const auto& one = each.as_object();
    const auto found = requests.find(text_of(one, "request_id"));
    if (found == requests.end() || found->second.replies == 0) continue;
    const auto state = text_of(one, "state");
    if ((state == "approved") != found->second.success)
      violated("decisions: " + found->first + " is " + state + ", and its worker was told otherwise");
    if (found->second.answers.empty() == (text_of(one, "decided_by") == "mona") &&
        found->second.unknown_answers[0] + found->second.unknown_answers[1] == 0)
      violated("decisions: " + found->first + " was decided by " + text_of(one, "decided_by"));
  }
}

void Oracle::read_history(const json::array& messages, std::vector<Recorded>& all) {
  for (const auto& one : messages) {
    const auto& row = one.as_object();
    all.push_back({text_of(row, "text"), text_of(row, "disposition"), text_of(row, "delivery")});
  }
}

void Oracle::judge_history(const std::vector<Recorded>& all) {
  std::set<std::string> recorded;
  std::map<std::string, std::set<std::string>> deliveries;  // of what was accepted, on all machines
  for (const auto& row : all) {
    recorded.insert(row.text);
    if (chat.contains(row.text) && row.disposition == "accepted") deliveries[row.text].insert(row.delivery);
  }
  for (const auto& [text, states] : deliveries) {
    const bool is_delivered = states.contains("delivered");
    if (is_delivered && chat[text].seen == 0) violated("history: delivered, but no model saw it: " + text);
    if (!is_delivered && !has_rival) violated("history: " + text + " is " + *states.begin() + " at the end");
  }
  for (const auto& [text, one] : chat)
    if (one.owed && !one.by_rival && !recorded.contains(text)) violated("history does not have " + text + ", which was marked as read");
}

void Oracle::judge_shutdowns(const json::array& shutdowns) {
  for (const auto& each : shutdowns) {
    const auto& one = each.as_object();
    const auto found = endings.find(text_of(one, "request_id"));
    if (found == endings.end()) continue;
    const auto state = text_of(one, "state");
    const auto end = process_ended.find(found->second.worker);
    // On another machine the worker may be gone when the request comes, and the next one of its name is asked.
    const auto& orders = ordered[found->second.worker];
    const auto later = orders.upper_bound(found->second.asked_at);
    const auto since = later == orders.begin() ? found->second.asked_at : *std::prev(later);
    const bool has_ended = end != process_ended.end() && end->second >= since;
    if (state == "cleaned" && !found->second.agreed && !has_ended)
      violated("shutdowns: " + found->first + " is cleaned, but its worker did not agree");
    if (state == "rejected" && !found->second.refused)
      violated("shutdowns: " + found->first + " is rejected, but its worker did not refuse");
  }
}

std::vector<std::string> Oracle::missing() const {
  std::vector<std::string> all;
  for (const auto& [text, one] : chat)
    if (one.owed && one.seen == 0 && !one.by_rival) all.push_back("lost: no lead saw " + text);
  for (const auto& [id, request] : requests)
    if (request.owed && request.replies == 0 && !request.left && !request.verifies) all.push_back("no reply to " + id);
  for (const auto& [id, wish] : wishes)
    if (wish.owed && !wish.left && !wish.is_met) all.push_back("nothing came of " + id);
  // What a machine accepted and did not send before it lost the lease waits until it leads again.
  for (const auto& [text, order] : orders)
    if (order.accepted && order.seen == 0 && !order.left && leads(order.machine)) all.push_back("no worker got " + text);
  return all;
}

}  // namespace inbox_poller::sim
