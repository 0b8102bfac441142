// Changes to a JSON text by its bytes: an added part copies the style around it, a removed part leaves nothing, and
// every other byte stays. For settings files of other programs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/error.hpp"
#include "schema/json_scan.hpp"

namespace inbox_poller::schema::json_edit {

inline constexpr std::string_view white = " \t\r\n";

// --- reading; errors are "settings.syntax" with the line

struct Container {
  std::size_t begin = 0;    // of its opening bracket
  std::vector<Span> parts;  // members with their keys, or elements
  std::vector<Span> keys;   // of an object
  std::vector<Span> values;
};
Result<Container> object_at(std::string_view text, Span span);
Result<Container> array_at(std::string_view text, Span span);
/// Returns the text's object, without a leading BOM.
Result<Container> root_of(std::string_view text);
/// Returns the index of the member of this name; the last duplicate counts.
std::optional<std::size_t> place_of(std::string_view text, const Container& object, std::string_view key);

/// The position of a value: its indexes in the nested containers, from the text's object down.
struct Level {
  Container container;
  std::size_t place = 0;
};
using Path = std::vector<Level>;

// --- writing, indented by two spaces a level

std::string in_brackets(char open, const std::string& content, char close);
std::string member(std::string_view key, const std::string& value);

// --- changes

/// Returns the text with `part` as the container's last part.
std::string with_part(std::string_view text, const Container& root, const Container& container,
                      const std::string& part);
/// Returns the text without the value at the path's end and without what with_part() added around it. Nothing if that
/// is everything.
std::optional<std::string> without(std::string_view text, Path path);

std::string without_white_space(std::string_view json);

}  // namespace inbox_poller::schema::json_edit
