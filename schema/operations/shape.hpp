// The shape of a record as a table: its fields with their names and types, out of what Boost.Describe knows. The encoder,
// the decoder and the JSON Schema are three readers of it.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <span>
#include <string_view>

#include "schema/operations/record.hpp"

namespace inbox_poller::operations {

enum class Kind { string, text, verbatim, flag, number, object, array, value, record, list };

struct Shape;

/// The type of a field, or of what a list consists of. The functions take the address of such a value.
struct Type {
  Kind kind;
  std::span<const std::string_view> words = {};  // of a text that is one of few
  const Shape& (*record)() = nullptr;
  const Type* element = nullptr;  // of a list
  std::size_t (*size)(const void* list) = nullptr;
  void* (*at)(void* list, std::size_t index) = nullptr;
  void* (*add)(void* list) = nullptr;
};

struct Field {
  std::string_view name;
  Type type;
  bool is_optional;
  void* (*find)(void* record);  // null: it is left out
  void* (*make)(void* record);  // likewise, and there it is afterwards
};

struct Shape {
  std::string_view name;
  std::span<const Field> fields;
};

/// The table of a record (schema/operations/shapes.cpp).
template <class Record>
const Shape& shape_of();

boost::json::object encode(const Shape&, const void* record, const boost::json::storage_ptr& memory = {});
boost::json::object done(const Shape&, const void* record);
void decode(const Shape&, const boost::json::object&, void* record);

/// The record's fields, in the order of their declaration. Texts become valid UTF-8.
template <class Record>
boost::json::object encode(const Record& record) {
  return encode(shape_of<Record>(), &record);
}

/// That it was done, and what there is to tell.
template <class Record>
boost::json::object done(const Record& record) {
  return done(shape_of<Record>(), &record);
}

/// The fields that the object has. One that is missing, or of another kind, keeps its default; in a list it is left out,
/// or, where it is a std::string or one of few words, empty.
/// What is no field of the record is passed over.
template <class Record>
Record decode(const boost::json::object& object) {
  Record record;
  decode(shape_of<Record>(), object, &record);
  return record;
}

}  // namespace inbox_poller::operations
