// Changing a JSON text by its own bytes: what is put in looks like what stands around it, what is taken out leaves
// nothing behind, and every other byte stays. For settings files that are somebody else's.
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

// --- what is there; errors are "settings.syntax" with the line

struct Container {
  std::size_t begin = 0;    // of its bracket
  std::vector<Span> parts;  // members with their keys, or elements
  std::vector<Span> keys;   // of an object
  std::vector<Span> values;
};
Result<Container> object_at(std::string_view text, Span span);
Result<Container> array_at(std::string_view text, Span span);
/// The text's object, without what may stand before it.
Result<Container> root_of(std::string_view text);
/// The place of the member of this name; the last one counts.
std::optional<std::size_t> place_of(std::string_view text, const Container& object, std::string_view key);

/// Where something is: the places in the nested containers, from the text's object down.
struct Level {
  Container container;
  std::size_t place = 0;
};
using Path = std::vector<Level>;

// --- what is written, indented by two spaces a level

std::string in_brackets(char open, const std::string& content, char close);
std::string member(std::string_view key, const std::string& value);

// --- changes

/// The text with `part` as the container's last.
std::string with_part(std::string_view text, const Container& root, const Container& container,
                      const std::string& part);
/// Without what is at the path's end, and without what with_part() added around it. None when that is everything.
std::optional<std::string> without(std::string_view text, Path path);

std::string without_white_space(std::string_view json);

}  // namespace inbox_poller::schema::json_edit
