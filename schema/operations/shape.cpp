#include "schema/operations/shape.hpp"

#include <boost/json/array.hpp>
#include <boost/json/monotonic_resource.hpp>
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

json::value value_of(const Type& type, void* field, const json::storage_ptr& memory) {
  switch (type.kind) {
    case Kind::string: return json::value(as<std::string>(field), memory);
    case Kind::text: return json::value(schema::make_parsable(as<Text>(field).bytes), memory);
    case Kind::verbatim: return json::value(as<Text>(field).bytes, memory);
    case Kind::flag: return json::value(as<bool>(field), memory);
    case Kind::number: return json::value(as<long long>(field), memory);
    case Kind::object: return json::value(as<json::object>(field), memory);
    case Kind::array: return json::value(as<json::array>(field), memory);
    case Kind::value: return json::value(as<json::value>(field), memory);
    case Kind::record: return encode(type.record(), field, memory);
    case Kind::list: break;
  }
  json::array list(memory);
  const std::size_t size = type.size(field);
  list.reserve(size);
  for (std::size_t i = 0; i < size; ++i) list.push_back(value_of(*type.element, type.at(field, i), memory));
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

json::object encode(const Shape& shape, const void* record, const json::storage_ptr& memory) {
  json::object object(memory);
  object.reserve(shape.fields.size());
  for (const Field& field : shape.fields)
    if (void* const value = field.find(const_cast<void*>(record))) object.emplace(field.name, value_of(field.type, value, memory));
  return object;
}

json::object done(const Shape& shape, const void* record) {
  // All values of an answer are freed together, so they share pieces of memory.
  const auto memory = json::make_shared_resource<json::monotonic_resource>();
  json::object answer({{"ok", true}}, memory);
  answer.reserve(shape.fields.size() + 1);
  for (auto& [name, value] : encode(shape, record, memory)) answer.insert_or_assign(name, std::move(value));
  return answer;
}

void decode(const Shape& shape, const json::object& object, void* record) {
  for (const Field& field : shape.fields)
    if (const json::value* value = object.if_contains(field.name); value != nullptr && fits(field.type.kind, *value))
      read(field.type, *value, field.make(record));
}

}  // namespace inbox_poller::operations
