// Answers of the control socket that refuse, and how many rows a request may ask for.
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

/// How many are wanted of a list; at least one.
template <class Request>
int limit_of(const Request& request) {
  return static_cast<int>(std::clamp<long long>(request.limit, 1, 10'000));
}

}  // namespace inbox_poller::poller
