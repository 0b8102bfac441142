// What a field of a record is called, by a pointer to it.
#pragma once

#include <boost/describe/members.hpp>
#include <boost/mp11/algorithm.hpp>
#include <string_view>
#include <type_traits>

namespace inbox_poller::operations {

template <class>
struct Holder;
template <class Record, class T>
struct Holder<T Record::*> {
  using Members = boost::describe::describe_members<Record, boost::describe::mod_public>;
};

template <auto field>
consteval std::string_view name_of() {
  std::string_view name;
  boost::mp11::mp_for_each<typename Holder<decltype(field)>::Members>([&](auto one) {
    if constexpr (std::is_same_v<std::decay_t<decltype(decltype(one)::pointer)>, decltype(field)>)
      if (decltype(one)::pointer == field) name = decltype(one)::name;
  });
  return name;
}

}  // namespace inbox_poller::operations
