#include "schema/operations/shape.hpp"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <limits>

#include "schema/json_scan.hpp"

namespace inbox_poller::operations {

namespace json = boost::json;

namespace {

template <class Plain>
Plain& as(const void* field) {
  return *static_cast<Plain*>(const_cast<void*>(field));
}

json::value value_of(const Type& type, void* field) {
  switch (type.kind) {
    case Kind::string: return json::value(as<std::string>(field));
    case Kind::text: return json::value(schema::make_parsable(as<Text>(field).bytes));
    case Kind::verbatim: return json::value(as<Text>(field).bytes);
    case Kind::flag: return json::value(as<bool>(field));
    case Kind::number: return json::value(as<long long>(field));
    case Kind::object: return as<json::object>(field);
    case Kind::array: return as<json::array>(field);
    case Kind::value: return as<json::value>(field);
    case Kind::record: return encode(type.record(), field);
    case Kind::list: break;
  }
  json::array list;
  const std::size_t size = type.size(field);
  list.reserve(size);
  for (std::size_t i = 0; i < size; ++i) list.push_back(value_of(*type.element, type.at(field, i)));
  return list;
}

bool fits(Kind kind, const json::value& value) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<long long>::max());
  switch (kind) {
    case Kind::string:
    case Kind::text:
    case Kind::verbatim: return value.is_string();
    case Kind::flag: return value.is_bool();
    case Kind::number: return value.is_int64() || (value.is_uint64() && value.get_uint64() <= most);
    case Kind::object:
    case Kind::record: return value.is_object();
    case Kind::array:
    case Kind::list: return value.is_array();
    case Kind::value: break;
  }
  return true;
}

/// `value` fits.
void read(const Type& type, const json::value& value, void* field) {
  switch (type.kind) {
    case Kind::string: as<std::string>(field) = value.get_string(); return;
    case Kind::text:
    case Kind::verbatim: as<Text>(field).bytes = value.get_string(); return;
    case Kind::flag: as<bool>(field) = value.get_bool(); return;
    case Kind::number: as<long long>(field) = value.to_number<long long>(); return;
    case Kind::object: as<json::object>(field) = value.get_object(); return;
    case Kind::array: as<json::array>(field) = value.get_array(); return;
    case Kind::value: as<json::value>(field) = value; return;
    case Kind::record: decode(type.record(), value.get_object(), field); return;
    case Kind::list: break;
  }
  for (const json::value& one : value.get_array()) {
    const bool is_good = fits(type.element->kind, one);
    // What is asked for is not made less: in its place stands a name that means nothing.
    const bool is_asked = type.element->kind == Kind::string || !type.element->words.empty();
    if (!is_good && !is_asked) continue;
    void* const place = type.add(field);
    if (is_good) read(*type.element, one, place);
  }
}

}  // namespace

json::object encode(const Shape& shape, const void* record) {
  json::object object;
  object.reserve(shape.fields.size());
  for (const Field& field : shape.fields)
    if (void* const value = field.find(const_cast<void*>(record))) object.emplace(field.name, value_of(field.type, value));
  return object;
}

void decode(const Shape& shape, const json::object& object, void* record) {
  for (const Field& field : shape.fields)
    if (const json::value* value = object.if_contains(field.name); value != nullptr && fits(field.type.kind, *value))
      read(field.type, *value, field.make(record));
}

}  // namespace inbox_poller::operations
