// An ask as the JSON object of docs/control.md: for the control socket, and for the program that tells a person.
#pragma once

#include <boost/json/object.hpp>
#include <string_view>
#include <vector>

#include "handlers/handler.hpp"

namespace inbox_poller::poller {

/// Bytes that came from agents are made valid text here.
boost::json::object request_view(std::string_view team, const handlers::Ask&);
/// Of an open ask also where it would run, and what the rules say of each part.
boost::json::object open_view(std::string_view team, const handlers::Ask&, std::string_view folder,
                              const std::vector<config::PartVerdict>& parts);

}  // namespace inbox_poller::poller
