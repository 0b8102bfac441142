// Members of JSON objects, as the models and the judge read them.
#pragma once

#include <boost/json/object.hpp>
#include <string>

namespace inbox_poller::sim {

/// The string of this name; empty if there is none.
inline std::string text_of(const boost::json::object& object, const char* name) {
  const auto* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : std::string();
}

/// The integer of this name; 0 if there is none.
inline long long number_of(const boost::json::object& object, const char* name) {
  const auto* value = object.if_contains(name);
  return value != nullptr && value->is_number() ? value->to_number<long long>() : 0;
}

}  // namespace inbox_poller::sim
