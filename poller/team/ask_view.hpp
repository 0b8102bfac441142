// An ask as the record that is told of it: over the control socket, and to the program that tells a person.
#pragma once

#include <string_view>
#include <vector>

#include "handlers/handler.hpp"
#include "schema/operations/ask.hpp"

namespace inbox_poller::poller {

operations::Ask ask_view(std::string_view team, const handlers::Ask&);
/// Of an open ask also where it would run, and what the rules say of each part.
operations::OpenAsk open_view(std::string_view team, const handlers::Ask&, std::string_view folder,
                              const std::vector<config::PartVerdict>& parts);

}  // namespace inbox_poller::poller
