// Texts about a team's nodes: the leader, the nodes seen, and their mail.
#pragma once

#include <string>
#include <vector>

#include "poller/cli/command.hpp"
#include "schema/operations/message.hpp"
#include "schema/operations/team.hpp"

namespace inbox_poller::poller::cli {

/// Describes a message to another node: "is on node h2, in w3's inbox, not read yet, for 3m".
std::string node_message_sentence(const operations::NodeMessage& letter);

/// Describes the same for a column: "is on h2 3m".
std::string node_message_state(const operations::NodeMessage& letter);

/// True if some node leads, as far as this node knows.
bool is_led(const operations::Cluster& cluster);

/// Returns "node h1, epoch 3", or states that no node leads.
std::string leader_text(const operations::Cluster& cluster);

/// Describes the mail for a node: "for node h2: 3 waiting (the oldest for 5m)".
std::string mail_text(const operations::NodeMail& mail);

/// A round trip to Redis of this many microseconds or more is reported.
inline constexpr long long slow_us = 250'000;

/// Returns "312 ms for a round trip"; empty when none was measured.
std::string round_trip_text(const operations::Cluster& cluster);

/// Rows for `status`; only what is unusual.
std::vector<Row> node_rows(const Console&, const operations::Cluster& cluster);

/// Formats all of it, for `nodes`.
std::string nodes_text(const Console&, const operations::Team& team);

}  // namespace inbox_poller::poller::cli
