// How the table of a record is made out of what Boost.Describe knows of it. Included where tables are made, and nowhere
// else: it is slow to compile.
#pragma once

#include <array>
#include <boost/describe/members.hpp>
#include <boost/mp11/list.hpp>
#include <string>
#include <type_traits>

#include "schema/operations/shape.hpp"

namespace inbox_poller::operations {

namespace describe = boost::describe;

template <class T>
constexpr bool is_list = false;
template <class T>
constexpr bool is_list<std::vector<T>> = true;
template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;

// Any other type is none of a field: schema/operations/record.hpp lists them.
template <class T>
inline constexpr Kind plain = std::enable_if_t<!std::is_same_v<T, T>, Kind>();
template <>
inline constexpr Kind plain<std::string> = Kind::string;
template <>
inline constexpr Kind plain<Text> = Kind::text;
template <>
inline constexpr Kind plain<Verbatim> = Kind::verbatim;
template <>
inline constexpr Kind plain<bool> = Kind::flag;
template <>
inline constexpr Kind plain<long long> = Kind::number;
template <>
inline constexpr Kind plain<boost::json::object> = Kind::object;
template <>
inline constexpr Kind plain<boost::json::array> = Kind::array;
template <>
inline constexpr Kind plain<boost::json::value> = Kind::value;

template <class T>
struct ListOf;

template <class T>
constexpr Type type_of() {
  if constexpr (is_list<T>) {
    using One = typename T::value_type;
    static_assert(!std::is_same_v<One, bool>, "a list of flags has no addresses");
    return {.kind = Kind::list,
            .element = &ListOf<One>::type,
            .size = [](const void* list) { return static_cast<const T*>(list)->size(); },
            .at = [](void* list, std::size_t index) -> void* { return &(*static_cast<T*>(list))[index]; },
            .add = [](void* list) -> void* { return &static_cast<T*>(list)->emplace_back(); }};
  } else if constexpr (requires { T::words; }) {
    return {.kind = Kind::text, .words = T::words};
  } else if constexpr (describe::has_describe_members<T>::value) {
    return {.kind = Kind::record, .record = &shape_of<T>};
  } else {
    return {.kind = plain<T>};
  }
}

template <class T>
struct ListOf {
  static constexpr Type type = type_of<T>();
};

template <class Record, class Described>
constexpr Field field_of() {
  using T = std::decay_t<decltype(std::declval<Record&>().*Described::pointer)>;
  if constexpr (is_optional<T>) {
    return {Described::name, type_of<typename T::value_type>(), true,
            [](void* record) -> void* {
              auto& field = static_cast<Record*>(record)->*Described::pointer;
              return field ? &*field : nullptr;
            },
            [](void* record) -> void* { return &(static_cast<Record*>(record)->*Described::pointer).emplace(); }};
  } else {
    constexpr auto find = [](void* record) -> void* { return &(static_cast<Record*>(record)->*Described::pointer); };
    return {Described::name, type_of<T>(), false, find, find};
  }
}

template <class Record, class... Described>
consteval auto fields_of(boost::mp11::mp_list<Described...>) {
  return std::array<Field, sizeof...(Described)>{field_of<Record, Described>()...};
}

template <class Record>
const Shape& table(std::string_view name) {
  using Members = describe::describe_members<Record, describe::mod_public | describe::mod_inherited>;
  static constexpr auto fields = fields_of<Record>(boost::mp11::mp_rename<Members, boost::mp11::mp_list>());
  static const Shape shape{name, fields};
  return shape;
}

}  // namespace inbox_poller::operations
