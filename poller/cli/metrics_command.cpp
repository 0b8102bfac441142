// `metrics`: the answer to `status` as OpenMetrics text that parsers of the older text format also accept.
// Labels are teams, states, roles, kinds, outcomes and the makers of decisions; never a worker, an id or a path.
// Teams after the first 200 share one label.
#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "poller/cli/command.hpp"
#include "poller/cli/nodes_text.hpp"
#include "poller/cli/metrics.hpp"
#include "poller/cli/status_text.hpp"
#include "schema/json_scan.hpp"
#include "schema/operations/printed.hpp"

namespace inbox_poller::poller::cli {

namespace json = boost::json;

namespace {

constexpr std::size_t most_teams = 200;
constexpr std::chrono::milliseconds scrape_patience{5000};
constexpr const char* worker_states[] = {"idle", "busy", "waiting", "failed", "unresponsive"};
constexpr const char* lead_states[] = {"idle", "busy", "offline"};
constexpr const char* roles[] = {"leader", "interceptor", "observer", "paused", "standby", "follower"};

struct Family {
  const char* name;  // without the prefix
  const char* help;
  const char* type = "gauge";
};

constexpr Family families[] = {
    {"build_info", "The daemon's version; always 1"},
    {"start_time_seconds", "When the daemon was started, since the Unix epoch"},
    {"teams", "Teams that are served"},
    {"requests_open", "Requests that wait for an answer"},
    {"requests_oldest_age_seconds", "How long the oldest open request has waited; 0 when none is open"},
    {"chat_queued", "Messages that wait for the lead"},
    {"chat_oldest_age_seconds", "How long the oldest of them has waited; 0 when none waits"},
    {"chat_offered", "Messages handed out and not acknowledged"},
    {"chat_given_up", "Messages given up that the ledger still keeps"},
    {"workers", "Workers by what they do"},
    {"lead_state", "1 for the lead's state, 0 for the others"},
    {"role", "1 for our role in the team, 0 for the others"},
    {"method_available", "1 when there is a way to the lead, 0 when there is none"},
    {"replies_owed", "Answers and orders still to be written"},
    {"rejected", "Entries rejected or malformed that the ledger still keeps"},
    {"ledger_fault", "1 when the last commit failed: nothing is accepted then"},
    {"inbox_readable", "1 when the lead's inbox could be read at the last poll, or is not there yet"},
    {"roster_readable", "1 when the roster could be read at the last poll"},
    {"shutdowns_open", "Workers that were asked to end and have not"},
    {"lock_held_p99_seconds", "How long inbox locks were held by us, at 99 %"},
    {"orphaned_inboxes", "Inboxes that belong to no member"},
    {"unreachable_members", "Members that cannot be answered"},
    {"poll_age_seconds", "How long ago the last poll began"},
    {"polls_late_total", "Polls since the start that began more than four intervals after the one before", "counter"},
    {"cluster_led", "1 when a node leads a team on several nodes, as this one knows"},
    {"cluster_degraded_seconds", "How long the Redis between nodes has been in trouble; 0 when it is not"},
    {"cluster_round_trip_seconds",
     "To the Redis between nodes and back, the median of the last five beats; 0 before the first"},
    {"cluster_mail_waiting", "Letters for other nodes that their ledgers do not have yet"},
    {"cluster_mail_oldest_age_seconds", "How long the oldest of them has waited; 0 when none waits"},
    {"cluster_silent_seconds", "How long ago the node was heard that has been silent for longest"},
    {"decisions_total", "Requests that were decided since the start, by outcome and by whom", "counter"},
    {"request_wait_seconds", "How long requests waited for who decided them", "histogram"},
    {"accept_seconds", "From the beginning of a look that found something to its commit", "histogram"}};

std::string number_text(double value) {
  std::array<char, 40> number{};
  std::snprintf(number.data(), number.size(), "%.15g", value);
  return number.data();
}

/// Sorts the buckets of a histogram by bound; all other samples by label.
std::vector<std::pair<std::string, double>> in_order(const std::map<std::string, double>& samples) {
  std::vector<std::pair<std::string, double>> list(samples.begin(), samples.end());
  const auto place = [](const std::string& labels) {
    const std::size_t at = labels.rfind(",le=\"");
    if (at == std::string::npos) return std::pair(labels, 0.0);
    return std::pair(labels.substr(0, at), std::strtod(labels.c_str() + at + 5, nullptr));
  };
  std::ranges::stable_sort(list, {}, [&](const auto& one) { return place(one.first); });
  return list;
}

/// Samples by family and labels. Samples with the same labels are combined: sum, maximum or minimum.
class Samples {
 public:
  enum class Same { sum, most, least };
  void put(const std::string& family, const std::string& labels, double value, Same same = Same::sum) {
    const auto [at, is_new] = samples_[family].emplace(labels, value);
    if (is_new) return;
    at->second = same == Same::sum    ? at->second + value
                 : same == Same::most ? std::max(at->second, value)
                                      : std::min(at->second, value);
  }
  [[nodiscard]] std::string text() const {
    std::string out;
    for (const Family& family : families) {
      const std::string name = std::string("inbox_poller_") + family.name;
      out += "# HELP " + name + ' ' + family.help + "\n# TYPE " + name + ' ' + family.type + '\n';
      const bool is_spread = std::string_view(family.type) == "histogram";
      for (const char* part : is_spread ? std::vector{"_bucket", "_sum", "_count"} : std::vector{""}) {
        const auto found = samples_.find(family.name + std::string(part));
        if (found == samples_.end()) continue;
        for (const auto& [labels, value] : in_order(found->second))
          out += name + part + (labels.empty() ? "" : '{' + labels + '}') + ' ' + number_text(value) + '\n';
      }
    }
    return out + "# EOF\n";
  }

 private:
  std::map<std::string, std::map<std::string, double>> samples_;
};

std::string label(std::string_view name, std::string_view value) {
  std::string text = std::string(name) + "=\"";
  for (const char byte : schema::make_parsable(value)) {
    if (byte == '\\' || byte == '"') text += '\\';
    text += byte == '\n' ? std::string("\\n") : std::string(1, byte);
  }
  return text + '"';
}

double age_of(long long since_ms) {
  return since_ms == 0 ? 0 : static_cast<double>(std::max(now_ms() - since_ms, 0LL)) / 1000;
}

double count_of(long long count) { return static_cast<double>(count); }

template <std::size_t N>
void put_states(Samples& to, const char* family, const std::string& team, const char* name,
                const char* const (&states)[N], const std::string& now) {
  for (const char* state : states) to.put(family, team + ',' + label(name, state), state == now ? 1 : 0);
}

void put_spread(Samples& to, const std::string& family, const std::string& team, const operations::Spread& spread) {
  for (const auto& one : spread.up_to)
    to.put(family + "_bucket", team + ',' + label("le", number_text(count_of(one.ms) / 1000)), count_of(one.count));
  to.put(family + "_bucket", team + ',' + label("le", "+Inf"), count_of(spread.count));
  to.put(family + "_sum", team, count_of(spread.sum_ms) / 1000);
  to.put(family + "_count", team, count_of(spread.count));
}

/// Adds the counters since the daemon's start.
void add_counted(Samples& to, const std::string& team, const operations::Counted& counted) {
  for (const auto& one : counted.decisions)
    to.put("decisions_total",
           team + ',' + label("kind", one.kind.bytes) + ',' + label("outcome", one.outcome.bytes) + ',' +
               label("by", one.by.bytes),
           count_of(one.count));
  put_spread(to, "request_wait_seconds", team, counted.waits);
  put_spread(to, "accept_seconds", team, counted.accepts);
}

/// Adds the metrics of a team on several machines, as this node sees the others.
void add_nodes(Samples& to, const std::string& team, const operations::Cluster& cluster) {
  using Same = Samples::Same;
  to.put("cluster_led", team, is_led(cluster) ? 1 : 0, Same::least);
  to.put("cluster_degraded_seconds", team, age_of(cluster.trouble_since_ms), Same::most);
  to.put("cluster_round_trip_seconds", team, count_of(cluster.round_trip_us) / 1e6, Same::most);
  double waiting = 0, oldest = 0, silent = 0;
  for (const auto& one : cluster.mail) {
    if (one.direction != "out") continue;
    waiting += count_of(one.waiting) + count_of(one.put);
    oldest = std::max(oldest, age_of(one.oldest_ms));
  }
  for (const auto& one : cluster.nodes) silent = std::max(silent, age_of(one.heard_ms));
  to.put("cluster_mail_waiting", team, waiting);
  to.put("cluster_mail_oldest_age_seconds", team, oldest, Same::most);
  to.put("cluster_silent_seconds", team, silent, Same::most);
}

void add_team(Samples& to, const std::string& team, const operations::Team& view) {
  using Same = Samples::Same;
  const auto& requests = view.requests;
  const auto& chat = view.chat;
  to.put("requests_open", team, count_of(requests.pending));
  to.put("requests_oldest_age_seconds", team, age_of(requests.oldest_ms), Same::most);
  to.put("chat_queued", team, count_of(chat.queued));
  to.put("chat_oldest_age_seconds", team, age_of(chat.oldest_queued_ms), Same::most);
  to.put("chat_offered", team, count_of(chat.offered));
  to.put("chat_given_up", team, count_of(chat.expired));
  add_counted(to, team, view.counted);
  const TeamLine line = team_line(view);
  for (const char* state : worker_states)
    to.put("workers", team + ',' + label("state", state), static_cast<double>(line.doing(state)));
  put_states(to, "lead_state", team, "state", lead_states, view.lead.state.bytes);
  put_states(to, "role", team, "role", roles, view.role.bytes);
  const bool has_way = std::ranges::any_of(view.delivery.methods, &operations::DeliveryMethod::chosen);
  to.put("method_available", team, has_way ? 1 : 0, Same::least);
  to.put("poll_age_seconds", team, age_of(view.polls.last_ms), Same::most);
  to.put("polls_late_total", team, count_of(view.polls.late));
  if (view.cluster) add_nodes(to, team, *view.cluster);
  to.put("replies_owed", team, count_of(view.replies_owed));
  to.put("rejected", team, count_of(view.quarantined));
  to.put("ledger_fault", team, view.ledger_fault ? 1 : 0, Same::most);
  const std::string inbox = view.inbox.state.bytes;
  to.put("inbox_readable", team, inbox == "ok" || inbox == "missing" || inbox == "empty" ? 1 : 0, Same::least);
  to.put("roster_readable", team, view.roster.state == "ok" ? 1 : 0, Same::least);
  to.put("shutdowns_open", team, static_cast<double>(view.shutdowns.size()));
  to.put("lock_held_p99_seconds", team, count_of(view.locks.p99_us) / 1e6, Same::most);
  to.put("orphaned_inboxes", team, static_cast<double>(view.orphaned_inboxes.size()));
  to.put("unreachable_members", team, static_cast<double>(view.unreachable.size()));
}

}  // namespace

std::string metrics_text(const operations::Status& answer) {
  Samples samples;
  const auto& teams = answer.teams;
  samples.put("build_info", label("version", answer.version.bytes), 1);
  samples.put("start_time_seconds", "", count_of(answer.started_ms) / 1000);
  samples.put("teams", "", static_cast<double>(teams.size()));
  for (std::size_t i = 0; i < teams.size(); ++i)
    add_team(samples, label("team", i < most_teams ? teams[i].team.bytes : "other"), teams[i]);
  return samples.text();
}

namespace {

ExitCode metrics(Context& context) {
  Result<ControlClient> client = context.connect();
  const auto answer = client ? context.ask(*client, arguments::Status(), scrape_patience) : client.error();
  if (!answer) return context.fail(answer.error());
  const std::string text = metrics_text(*answer);
  return context.json ? context.print_record(operations::Metrics{text}) : context.print(text);
}

// clang-format off
constexpr Command metrics_rows[] = {
    {.name = "metrics", .group = Group::look, .summary = "Print what is going on as OpenMetrics text, for Prometheus",
     .help = "What `status` tells, as OpenMetrics text, for Prometheus: requests and the age of the oldest, chat, workers,\n"
             "the lead, our role, what is wrong, and since the start decisions and how long they took. No label names a\n"
             "worker or a request; from the 201st team on they are told together, as team \"other\". Nothing is printed when\n"
             "no daemon answers, so that a file written from it grows old instead of lying. Alert rules and a dashboard:\n"
             "deploy/metrics.",
     .examples = "inbox-poller metrics\n"
                 "inbox-poller metrics > x.tmp && mv x.tmp /var/lib/node_exporter/inbox-poller.prom   # from a timer",
     .work = runs<metrics>, .prints = operations::shapes<operations::Metrics>},
};
// clang-format on

}  // namespace

std::span<const Command> metrics_commands() { return metrics_rows; }

}  // namespace inbox_poller::poller::cli
