// Checks of a team's other nodes and of Redis between them, from the daemon's status.
#include "poller/cli/command.hpp"
#include "poller/cli/doctor/judge.hpp"
#include "poller/cli/nodes_text.hpp"
#include "poller/cli/printable.hpp"

namespace inbox_poller::poller::cli {

namespace {
constexpr EpochMs silent_ms = 30'000;  // ten times the interval of their heartbeats
constexpr EpochMs mail_too_long_ms = 2 * 60'000;
}  // namespace

Findings judge_nodes(const TeamPlace& team, const operations::Status& status, EpochMs now) {
  Findings findings;
  if (const auto* one = served_in(status, team.name); one != nullptr && one->cluster) {
    const auto& cluster = *one->cluster;
    const std::string broker = printable(cluster.redis_url);
    const std::string look = "inbox-poller nodes";
    if (const std::string trouble = printable(cluster.trouble); !trouble.empty())
      findings.push_back({Severity::error, "cluster.redis_url",
                          trouble + ", for " + span_text(now - cluster.trouble_since_ms) +
                              ": mail for other nodes waits in this node's ledger",
                          broker, "see to it; docs/how-to/several-machines.md, \"If the Redis is gone\""});
    else if (cluster.round_trip_us >= slow_us)
      findings.push_back({Severity::warning, "cluster.slow",
                          round_trip_text(cluster) + ": letters and answers to other nodes wait for it", broker,
                          "look at its disk and at the way to it: `redis-cli --latency`"});
    if (const std::string full = printable(cluster.full); !full.empty())
      findings.push_back({Severity::error, "cluster.full", full, broker, look});
    for (const auto& worry : cluster.worries)
      findings.push_back({Severity::warning, "cluster.settings", printable(worry), broker, "see docs/how-to/redis.md"});
    const bool led = is_led(cluster), was_led = !cluster.leader.empty();
    findings.push_back({led ? Severity::ok : Severity::error, "cluster.leader",
                        (led ? "led by " : "") + leader_text(cluster), broker,
                        !was_led ? "start the daemon on a node that `leads` under [cluster] names" : ""});
    for (const auto& node : cluster.nodes) {
      const EpochMs heard = node.heard_ms;
      if (now - heard > silent_ms)
        findings.push_back({Severity::warning, "cluster.silent",
                            "node " + printable(node.node) + " was heard " + span_text(now - heard) + " ago", broker,
                            "look at its daemon there: inbox-poller doctor"});
      if (const std::string version = printable(node.version); !version.empty() && version != status.version.bytes)
        findings.push_back({Severity::note, "cluster.version",
                            "node " + printable(node.node) + " runs version " + version, broker,
                            "install the same there"});
    }
    for (const auto& mail : cluster.mail)
      if (const EpochMs oldest = mail.oldest_ms; oldest != 0 && now - oldest > mail_too_long_ms)
        findings.push_back({Severity::warning, "cluster.mail_waits", mail_text(mail), broker, look});
  }
  return findings;
}

}  // namespace inbox_poller::poller::cli
