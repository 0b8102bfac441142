// Records of approval requests (schema/operations/request.hpp), for the control socket and for the program that
// notifies a person.
#pragma once

#include <string_view>
#include <vector>

#include "handlers/handler.hpp"
#include "schema/operations/request.hpp"

namespace inbox_poller::poller {

operations::Request request_view(std::string_view team, const handlers::Request&);
/// Adds the folder in which an open request would run, and the rules' verdict on each part of its command.
operations::OpenRequest open_view(std::string_view team, const handlers::Request&, std::string_view folder,
                                  const std::vector<config::PartVerdict>& parts);

}  // namespace inbox_poller::poller
