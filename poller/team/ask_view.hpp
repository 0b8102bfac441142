// An ask as the JSON object of docs/control.md: for the control socket, and for the program that tells a person.
#pragma once

#include <boost/json/object.hpp>
#include <string_view>

#include "handlers/handler.hpp"

namespace inbox_poller::poller {

/// Bytes that came from agents are made valid text here.
boost::json::object request_view(std::string_view team, const handlers::Ask&);

}  // namespace inbox_poller::poller
