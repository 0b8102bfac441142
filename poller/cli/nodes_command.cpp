// The command `nodes`: a team on several machines.
#include "poller/cli/nodes_text.hpp"

#include "poller/cli/explain.hpp"
#include "poller/cli/printable.hpp"

namespace inbox_poller::poller::cli {

namespace {

/// Names the node of a stream: "@h2" belongs to node h2, "lead" to the present leader.
std::string place_of(const std::string& stream) {
  return stream.starts_with('@') ? "node " + stream.substr(1) : stream == "lead" ? "the node that leads" : "node " + stream;
}

std::string waits(const operations::NodeMail& mail) {
  std::string text = std::to_string(mail.waiting) + " waiting";
  if (const auto put = mail.put; put != 0) text += ", " + std::to_string(put) + " on the way";
  if (const auto there = mail.there; there != 0) text += ", " + std::to_string(there) + " there and not read";
  if (const auto oldest = mail.oldest_ms; oldest != 0) text += " (the oldest for " + span_text(now_ms() - oldest) + ')';
  return text;
}

ExitCode nodes(Context& context) {
  return context.show(arguments::Status(), [&](const auto& answer) {
    std::string text;
    for (const auto& team : answer.teams)
      if (team.cluster) text += (text.empty() ? "" : "\n") + nodes_text(context.console, team);
    return text.empty() ? std::string("no team here has [cluster]: each is on one node\n") : text;
  });
}

}  // namespace

bool is_led(const operations::Cluster& cluster) {
  const auto leader = cluster.leader.bytes;
  return !leader.empty() && (leader != cluster.node.bytes || cluster.leads);
}

std::string leader_text(const operations::Cluster& cluster) {
  const auto leader = printable(cluster.leader);
  if (!is_led(cluster)) return leader.empty() ? "no node leads now: requests wait" : "this node led, and does not now: requests wait";
  const auto epoch = ", epoch " + std::to_string(cluster.epoch);
  if (leader == printable(cluster.node)) return "this node, " + leader + epoch;
  return "node " + leader + epoch + (cluster.trouble.bytes.empty() ? "" : ", when Redis last answered");
}

std::string mail_text(const operations::NodeMail& mail) {
  return (mail.direction == "out" ? "for " : "from ") + place_of(printable(mail.stream)) + ": " + waits(mail);
}

std::string node_message_sentence(const operations::NodeMessage& mail) {
  const auto state = mail.state.bytes;
  const auto since = ", for " + span_text(now_ms() - mail.state_ms);
  const auto inbox = printable(mail.inbox);
  if (state == "rejected") return "was not taken: " + printable(mail.problem);
  if (mail.direction == "in") {
    const auto from = "came from " + place_of(printable(mail.node));
    if (mail.attempts != 0) return from + ", which sends it to the node that leads now";
    if (state == "waiting") return from + " and is to be put into the inbox of " + inbox + since;
    return from + (state == "there" ? " and is here, not settled yet" + since : " and was read");
  }
  const auto place = place_of(printable(mail.node));
  if (state == "waiting") return "is here, and waits to go to " + place + since;
  if (state == "put") return "is with the Redis, on its way to " + place + since;
  return state == "there" ? "is on " + place + ", for " + inbox + ", not read yet" + since : "was read on " + place;
}

std::string node_message_state(const operations::NodeMessage& mail) {
  const auto state = mail.state.bytes;
  const auto since = ' ' + span_text(now_ms() - mail.state_ms);
  const bool is_here = mail.direction == "in" || state == "waiting";
  const auto stream = printable(mail.node);
  const auto node = is_here ? "here" : stream.starts_with('@') ? stream.substr(1) : "the leader";
  if (state == "waiting") return "waits here" + since;
  if (state == "put") return "sent to " + node + since;
  if (state == "rejected") return "refused" + since;
  return (state == "there" ? is_here ? "is " : "is on " : is_here ? "read " : "read on ") + node + since;
}

std::string round_trip_text(const operations::Cluster& cluster) {
  const auto us = cluster.round_trip_us;
  if (us == 0 || !cluster.trouble.bytes.empty()) return {};  // the last one says nothing while Redis is away
  const auto ms = us < 10'000 ? std::to_string(us / 1000) + '.' + std::to_string(us / 100 % 10) : std::to_string(us / 1000);
  return ms + " ms for a round trip";
}

std::vector<Row> node_rows(const Console& console, const operations::Cluster& cluster) {
  std::vector<Row> rows{{"leader", leader_text(cluster)}};
  if (const auto trouble = printable(cluster.trouble); !trouble.empty())
    rows.push_back({"redis", console.loud(trouble) + ", for " + span_text(now_ms() - cluster.trouble_since_ms)});
  else if (cluster.round_trip_us >= slow_us)
    rows.push_back({"redis", console.loud("slow: " + round_trip_text(cluster))});
  if (const auto full = printable(cluster.full); !full.empty()) rows.push_back({"mail", console.loud(full)});
  for (const auto& worry : cluster.worries) rows.push_back({"redis", console.loud(printable(worry))});
  for (const auto& mail : cluster.mail)
    if (mail.waiting + mail.put != 0) rows.push_back({"mail", mail_text(mail)});
  return rows;
}

std::string nodes_text(const Console& console, const operations::Team& team) {
  const operations::Cluster& cluster = *team.cluster;
  std::string text = console.bold("team " + printable(team.team)) + ", on node " + printable(cluster.node) + '\n';
  const std::string trip = round_trip_text(cluster);
  std::vector<Row> rows{{"redis", printable(cluster.redis_url) + (trip.empty() ? "" : ", " + trip)}};
  for (Row& row : node_rows(console, cluster)) rows.push_back(std::move(row));
  text += console.table(rows, "  ");
  std::vector<Row> list{{"NODE", "LEADS", "HEARD", "TO BE SENT", "VERSION", "MEMBERS"}};
  for (const auto& node : cluster.nodes) {
    list.push_back({printable(node.node), printable(node.node) == printable(cluster.leader) ? "yes" : "-",
                    ago(node.heard_ms), std::to_string(node.queued), printable(node.version),
                    or_dash(names_of(node.members))});
  }
  return text + (list.size() > 1 ? "\n" + console.table(list, "  ") : "");
}

namespace {

// clang-format off
constexpr Command nodes_rows[] = {
    {.name = "nodes", .group = Group::look, .summary = "Show the nodes of a team: the leader, last contacts, waiting mail",
     .help = "The nodes of each team that has [cluster]: which one leads, when each was last heard of, who lives there,\n"
             "and where mail waits and for how long. Where one message is now: inbox-poller trace ID.",
     .examples = "inbox-poller nodes\n"
                 "inbox-poller nodes --json | jq -r '.teams[].cluster.leader'",
     .work = runs<nodes>, .prints = operations::shapes<operations::Status>},
};
// clang-format on

}  // namespace

std::span<const Command> nodes_commands() { return nodes_rows; }

}  // namespace inbox_poller::poller::cli
