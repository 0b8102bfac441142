// An ask as a person reads it before answering.
#pragma once

#include <boost/json/object.hpp>
#include <string>

namespace inbox_poller::poller::cli {

/// "permission perm-17".
std::string ask_name(const boost::json::object& ask);
/// What makes it this ask and no other.
std::string ask_identity(const boost::json::object& ask);
/// What is asked: the team and everything that is approved by approving it, as lines.
std::string ask_content(const boost::json::object& ask);
/// What stands behind its name: the team, everything that is approved by approving it, as lines, and when it was asked.
/// The asker's own words are marked as such and stand behind a margin.
std::string ask_text(const boost::json::object& ask, const std::string& when);
/// The open asks that a command's new rules have answered, a line each; empty when there are none.
std::string answered_by_rules(const boost::json::object& answer);
/// False when its asker would refuse an answer from here, as the daemon says.
bool can_be_answered(const boost::json::object& ask);

}  // namespace inbox_poller::poller::cli
