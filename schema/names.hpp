// The names of an enum's values, readable in both directions. The names are the identifiers of BOOST_DEFINE_ENUM_CLASS
// or BOOST_DESCRIBE_ENUM. An enum with other names lists them in a function next to it, in the order of its values:
//   consteval auto words_of(Rung) { return std::to_array<std::string_view>({"stdin", "hook"}); }
// Invariant: the values count from 0 without a gap. The names appear on the wire, in the ledger and in the log, so a
// test lists them all (tests/unit/poller/enum_names_test.cpp).
#pragma once

#include <array>
#include <boost/describe/enum.hpp>
#include <boost/describe/enumerators.hpp>
#include <cstddef>
#include <optional>
#include <string_view>

namespace inbox_poller::schema {

namespace names_detail {

template <template <class...> class List, class... Each>
consteval auto identifiers(List<Each...>) {
  std::size_t next = 0;
  if (!(... && (static_cast<std::size_t>(Each::value) == next++))) throw "the values do not count from 0 without a gap";
  return std::array{std::string_view(Each::name)...};
}

template <class Enum>
consteval auto make() {
  if constexpr (requires { words_of(Enum{}); }) {
    return words_of(Enum{});
  } else {
    return identifiers(boost::describe::describe_enumerators<Enum>{});
  }
}

template <class Enum, std::size_t Count>
consteval auto values() {
  std::array<Enum, Count> all{};
  for (std::size_t i = 0; i < Count; ++i) all[i] = static_cast<Enum>(i);
  return all;
}

}  // namespace names_detail

/// The names, by value.
template <class Enum>
inline constexpr auto names = names_detail::make<Enum>();

template <class Enum>
inline constexpr auto values = names_detail::values<Enum, names<Enum>.size()>();

/// Returns the name of a value; empty if the value is unknown.
template <class Enum>
constexpr std::string_view name_of(Enum value) {
  const auto at = static_cast<std::size_t>(value);
  return at < names<Enum>.size() ? names<Enum>[at] : std::string_view();
}

/// Returns the value of a name; nothing if the name is unknown.
template <class Enum>
constexpr std::optional<Enum> parse(std::string_view name) {
  for (const Enum value : values<Enum>)
    if (name_of(value) == name) return value;
  return std::nullopt;
}

}  // namespace inbox_poller::schema
