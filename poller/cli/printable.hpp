// Functions that make agents' texts safe for a terminal. Each text of an agent must pass through one of them.
#pragma once

#include <concepts>
#include <optional>

#include "schema/operations/record.hpp"
#include "schema/printable.hpp"

namespace inbox_poller::poller::cli {

using schema::printable;
using schema::printable_block;
using schema::printable_json;
using schema::shell_word;

/// Makes the text of a record's field printable; empty for an absent field.
template <std::derived_from<operations::Text> Field>
std::string printable(const Field& field) {
  return schema::printable(field.bytes);
}
template <std::derived_from<operations::Text> Field>
std::string printable(const std::optional<Field>& field) {
  return field ? schema::printable(field->bytes) : std::string();
}
template <std::derived_from<operations::Text> Field>
std::string printable_block(const Field& field, std::string_view margin) {
  return schema::printable_block(field.bytes, margin);
}

/// Joins printable names: "alice, bob".
inline std::string names_of(const operations::Texts& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + printable(name);
  return text;
}

}  // namespace inbox_poller::poller::cli
