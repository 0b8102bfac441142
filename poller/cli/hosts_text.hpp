// What a person is told of a team's hosts: who leads, who was heard of, where mail is.
#pragma once

#include <string>
#include <vector>

#include "poller/cli/command.hpp"
#include "schema/operations/message.hpp"
#include "schema/operations/team.hpp"

namespace inbox_poller::poller::cli {

/// "is on host h2, in w3's inbox, not read yet, for 3m"
std::string letter_sentence(const operations::Letter& letter);

/// The same for a column: "is on h2 3m".
std::string letter_state(const operations::Letter& letter);

/// Whether a host leads, as far as this one knows.
bool is_led(const operations::Hosts& hosts);

/// "host h1, epoch 3", or that none does.
std::string leader_text(const operations::Hosts& hosts);

/// "for host h2: 3 waiting (the oldest for 5m)"
std::string mail_text(const operations::HostMail& mail);

/// A round trip to the engine that takes so long is worth a word.
inline constexpr long long slow_us = 250'000;

/// "312 ms for a round trip"; empty when none was measured.
std::string round_trip_text(const operations::Hosts& hosts);

/// Lines for `status`: nothing that is as usual.
std::vector<Row> host_rows(const Console&, const operations::Hosts& hosts);

/// All of it, for `hosts`.
std::string hosts_text(const Console&, const operations::Team& team);

}  // namespace inbox_poller::poller::cli
