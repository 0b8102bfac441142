// An ask as a person reads it before answering.
#pragma once

#include <boost/json/object.hpp>
#include <string>

namespace inbox_poller::poller::cli {

/// Everything that is approved by approving it, as lines. The asker's own words are marked as such and stand behind a
/// margin.
std::string ask_text(const boost::json::object& ask);
/// False when its asker would refuse an answer from here, as the daemon says.
bool can_be_answered(const boost::json::object& ask);

}  // namespace inbox_poller::poller::cli
