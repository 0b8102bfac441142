// Reading a request's fields, and answering it. A field of another kind than expected counts as absent.
#pragma once

#include <algorithm>
#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "schema/error.hpp"
#include "schema/operations/shape.hpp"

namespace inbox_poller::poller {

inline boost::json::object refuse(std::string code, std::string message) {
  return {{"ok", false}, {"code", std::move(code)}, {"message", std::move(message)}};
}
inline boost::json::object refuse(const Error& error) { return refuse(error.code, error.message); }

using operations::done;

inline std::string text(const boost::json::object& request, std::string_view name) {
  const auto* value = request.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : std::string();
}

inline bool flag(const boost::json::object& request, std::string_view name) {
  const auto* value = request.if_contains(name);
  return value != nullptr && value->is_bool() && value->as_bool();
}

inline std::optional<long long> number(const boost::json::object& request, std::string_view name) {
  const auto* value = request.if_contains(name);
  if (value == nullptr || !value->is_int64()) return std::nullopt;
  return value->as_int64();
}

/// How many are wanted of a list: `limit`, else as many as usual; at least one.
inline int limit_of(const boost::json::object& request, int usual = 50) {
  return static_cast<int>(std::clamp<long long>(number(request, "limit").value_or(usual), 1, 10'000));
}

}  // namespace inbox_poller::poller
