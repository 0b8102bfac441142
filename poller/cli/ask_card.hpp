// An ask as a person reads it before answering.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>
#include <vector>

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
/// What `approve` and `deny` are asked to answer exactly these asks as they were shown: as many in one request as it may
/// hold. `words`: what is said with each answer.
std::vector<boost::json::object> answers_to(const std::vector<const boost::json::object*>& asks,
                                            const boost::json::object& words);
/// The open asks that a command's new rules have answered, a line each; empty when there are none.
std::string answered_by_rules(const boost::json::object& answer);
/// False when its asker would refuse an answer from here, as the daemon says.
bool can_be_answered(const boost::json::object& ask);

/// An answer as --json prints it: in this list of asks each call has the values of its texts, `input` of `body` and
/// `suggested` of `suggestions`.
boost::json::object with_values(boost::json::object answer, std::string_view list);

}  // namespace inbox_poller::poller::cli
