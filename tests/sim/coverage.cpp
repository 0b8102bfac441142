#include "tests/sim/coverage.hpp"

#include <boost/json.hpp>
#include <sstream>

#include "handlers/gate.hpp"
#include "handlers/request_state.hpp"
#include "handlers/shutdown.hpp"
#include "tests/sim/members.hpp"

namespace inbox_poller::sim {
namespace json = boost::json;
namespace {

constexpr const char* forced_reads_nothing = "a worker that is ended by force does not read its request any more";
constexpr const char* all_ends = "a pane closes when it is told to, and nothing survives KILL";
constexpr const char* is_tried_again = "the removal of traces is tried until it works";
constexpr const char* in_order = "the hooks of a turn come in their order";
constexpr const char* no_prompts = "no client of this world asks its person for something";
constexpr const char* no_word_of_end = "rare: the machine of the worker must be away for the whole timeout";
constexpr const char* late_refusal = "rare: a worker must refuse later than the timeout";
constexpr const char* ends_while_gone = "rare: a turn must end while its lead counts as gone";
constexpr const char* opens_first = "`lead run` reports first that the stream opens";
constexpr const char* pushed_first = "a batch is pushed before the stream works, and moves the state";
constexpr const char* no_reports = "no lead reports its state by name in this world";
constexpr const char* no_sessions = "no files of sessions in this world";

std::string why_no_shutdown(handlers::ShutdownState state, handlers::ShutdownEvent event) {
  using E = handlers::ShutdownEvent;
  using S = handlers::ShutdownState;
  if (state == S::forced && event == E::worker_approves) return forced_reads_nothing;
  if (state == S::timed_out && event == E::worker_rejects) return late_refusal;
  if (event != E::time_passes) return {};
  if (state == S::approved || state == S::forced) return no_word_of_end;
  if (state == S::pane_gone) return is_tried_again;
  return state == S::process_gone ? all_ends : "";
}

std::string why_no_lead(handlers::LeadState state, handlers::LeadEvent event) {
  const std::string name(to_string(event));
  if (name.starts_with("stream_") && name != "stream_opens" && name != "stream_closes" && state == handlers::LeadState::offline)
    return opens_first;
  if (name == "stream_works") return pushed_first;
  if (name == "prompt_waits") return no_prompts;
  if (name == "turn_continues") return in_order;
  if (name.starts_with("reports_")) return no_reports;
  if (name == "turn_stops" && state == handlers::LeadState::offline) return ends_while_gone;
  return name == "session_works" || name == "session_rests" ? no_sessions : "";
}

template <class Enum, class Visit>
void each(Visit visit) {
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<Enum>>([&](auto one) { visit(one.value); });
}

}  // namespace

Coverage::Coverage() {
  using namespace handlers;
  // What a request's event was is known from who decided.
  for (const char* row : {"received->pending", "received->approved by rule", "received->denied by rule",
                          "pending->approved by rule", "pending->approved by person", "pending->denied by person",
                          "pending->expired", "pending->withdrawn", "pending->answered_elsewhere"})
    rows_[std::string("request ") + row];
  rows_["request pending->denied by rule"].why_not = "no rule that denies is added in this world";
  each<ShutdownState>([&](ShutdownState state) {
    each<ShutdownEvent>([&](ShutdownEvent event) {
      const auto next = transition(state, event);
      if (!next) return;
      auto& row = rows_["shutdown " + std::string(to_string(state)) + "->" + std::string(to_string(*next))];
      row.why_not = why_no_shutdown(state, event);
    });
  });
  each<LeadState>([&](LeadState state) {
    each<LeadEvent>([&](LeadEvent event) {
      const auto now = next(state, event);
      if (now == state) return;
      rows_["gate " + std::string(to_string(state)) + " " + std::string(to_string(event))].why_not = why_no_lead(state, event);
    });
  });
  for (const char* row : {"queued->offered", "offered->delivered", "offered->queued"})
    rows_[std::string("lease of chat ") + row];
  rows_["lease of chat queued->expired"].why_not = "delivery.expire_after is not set in this world";
  for (const char* row : {"granted", "given up", "seen elsewhere"}) rows_[std::string("lease of a team ") + row];
  rows_["lease of a team renewed"].why_not = "a renewal leaves no line in the log; every history of `hosts` has many";
}

void Coverage::visit(const std::string& row, long long count) {
  if (const auto found = rows_.find(row); found != rows_.end()) found->second.visits += count;
}

std::map<std::string, long long> Coverage::visits() const {
  std::map<std::string, long long> visited;
  for (const auto& [name, row] : rows_)
    if (row.visits > 0) visited[name] = row.visits;
  return visited;
}

void Coverage::read(const std::string& log) {
  std::istringstream lines(log);
  std::string node;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("--- ")) node = line.substr(4, line.find(' ', 4) - 4);  // the log of the next machine
    boost::system::error_code bad;
    const auto value = json::parse(line, bad);
    if (bad || !value.is_object()) continue;
    const auto& one = value.as_object();
    const auto event = text_of(one, "event");
    const auto move = text_of(one, "old") + "->" + text_of(one, "new");
    if (event == "request.pending" || event == "request.decided") {
      const auto state = text_of(one, "new");
      const bool decides = state == "approved" || state == "denied";
      visit("request " + move + (!decides ? "" : text_of(one, "by") == "mona" ? " by person" : " by rule"));
    }
    if (event == "shutdown.state") visit("shutdown " + move);
    if (event == "lead.state") visit("gate " + text_of(one, "old") + " " + text_of(one, "by"));
    if (event == "cluster.leader") {
      const auto reason = text_of(one, "reason");
      const bool given_up = !text_of(one, "old").empty();
      const bool is_own = text_of(one, "new") == node;
      if (given_up || reason.starts_with("epoch"))
        visit(std::string("lease of a team ") + (given_up ? "given up" : is_own ? "granted" : "seen elsewhere"));
    }
    if (event == "delivery.offered") visit("lease of chat queued->offered");
    if (event == "delivery.delivered") visit("lease of chat offered->delivered");
    if (event == "delivery.requeued") visit("lease of chat offered->queued");
  }
}

std::string Coverage::report() const {
  std::string all;
  for (const auto& [name, row] : rows_)
    all += name + ": " + std::to_string(row.visits) + (row.why_not.empty() ? "" : " (" + row.why_not + ")") + "\n";
  return all;
}

}  // namespace inbox_poller::sim
