// Records of approval requests (schema/operations/ask.hpp), for the control socket and for the program that notifies a
// person.
#pragma once

#include <string_view>
#include <vector>

#include "handlers/handler.hpp"
#include "schema/operations/ask.hpp"

namespace inbox_poller::poller {

operations::Ask ask_view(std::string_view team, const handlers::Ask&);
/// Adds the folder in which an open request would run, and the rules' verdict on each part of its command.
operations::OpenAsk open_view(std::string_view team, const handlers::Ask&, std::string_view folder,
                              const std::vector<config::PartVerdict>& parts);

}  // namespace inbox_poller::poller
