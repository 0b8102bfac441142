// JSON Schemas (2020-12) of what a command prints with --json, out of the tables of its records.
#pragma once

#include <boost/json/object.hpp>
#include <span>
#include <string>
#include <string_view>

#include "schema/operations/shape.hpp"

namespace inbox_poller::operations {

using ShapeOf = const Shape& (*)();

/// The tables of these records.
template <class... Records>
inline constexpr std::array<ShapeOf, sizeof...(Records)> shapes{&shape_of<Records>...};

/// One of these documents with `ok` true and the program's `version`, or the refusal. Closed: a field that is not
/// described is an error. `is_line`: the record alone, as `recv` prints one a line.
boost::json::object json_schema(std::string_view title, std::span<const ShapeOf> documents, bool is_line = false);

/// Each verb of the control socket: `request`, `answer` where it was not refused, and the `$defs` of both.
boost::json::object control_schema();

/// For people: what fits into a line stands in one.
std::string indented(const boost::json::value& value);

}  // namespace inbox_poller::operations
