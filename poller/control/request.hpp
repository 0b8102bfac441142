// Builds refusals for the control socket, and limits the rows that a request may get.
#pragma once

#include <algorithm>
#include <boost/json/object.hpp>
#include <string>

#include "schema/error.hpp"
#include "schema/operations/shape.hpp"

namespace inbox_poller::poller {

inline boost::json::object refuse(std::string code, std::string message) {
  return {{"ok", false}, {"code", std::move(code)}, {"message", std::move(message)}};
}
inline boost::json::object refuse(const Error& error) { return refuse(error.code, error.message); }

using operations::done;

/// Number of requested rows of a list, from 1 to 10,000.
template <class Request>
int limit_of(const Request& request) {
  return static_cast<int>(std::clamp<long long>(request.limit, 1, 10'000));
}

}  // namespace inbox_poller::poller
