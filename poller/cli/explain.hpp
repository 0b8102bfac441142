// States as sentences: where a message, an ask, an answer of ours or a shutdown is now, and what a person can do about
// it. One place for `trace`, `status`, `shutdowns` and the wait of `shutdown`.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

namespace inbox_poller::poller::cli {

/// Continues "it …".
std::string message_sentence(const boost::json::object& message);
std::string request_sentence(const boost::json::object& request);
std::string shutdown_sentence(const boost::json::object& shutdown);
/// Continues "what we wrote for NAME …".
std::string effect_sentence(const boost::json::object& effect);

/// What to do about a message of ours or others that was refused or could not be read; empty for a code that only a
/// newer daemon knows.
std::string_view advice_for(std::string_view code);

}  // namespace inbox_poller::poller::cli
