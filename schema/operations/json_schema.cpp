#include "schema/operations/json_schema.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <map>

#include "schema/operations/printed.hpp"

namespace inbox_poller::operations {

namespace json = boost::json;

namespace {

constexpr std::size_t width = 125;  // columns

using Parts = std::map<std::string, ShapeOf, std::less<>>;

bool is_time(std::string_view name) { return name == "ms" || name.ends_with("_ms"); }

json::object schema_of(std::string_view name, const Type& type, Parts& parts) {
  switch (type.kind) {
    case Kind::text:
      if (!type.words.empty()) return {{"enum", json::array(type.words.begin(), type.words.end())}};
      return {{"type", "string"}};
    case Kind::verbatim: return {{"type", "string"}};
    case Kind::flag: return {{"type", "boolean"}};
    case Kind::number:
      if (is_time(name))
        return {{"description", "milliseconds, since the Unix epoch where it is a moment; 0: none"}, {"type", "integer"}};
      return {{"type", "integer"}, {"minimum", 0}};
    case Kind::object: return {{"type", "object"}};
    case Kind::array: return {{"type", "array"}};
    case Kind::value: return {};
    case Kind::record: break;
    case Kind::list: return {{"type", "array"}, {"items", schema_of(name, *type.element, parts)}};
  }
  parts.emplace(type.record().name, type.record);
  return {{"$ref", "#/$defs/" + std::string(type.record().name)}};
}

/// `ok`: what it always is, in a document.
json::object closed(const Shape& shape, std::optional<bool> ok, Parts& parts) {
  json::object properties;
  json::array required;
  if (ok) {
    properties = {{"ok", {{"const", *ok}}}, {"version", {{"type", "string"}}}};
    required = {"ok", "version"};
  }
  for (const Field& field : shape.fields) {
    if (!field.is_optional && !(ok && properties.contains(field.name))) required.emplace_back(field.name);
    if (!ok || field.name != "version") properties[field.name] = schema_of(field.name, field.type, parts);
  }
  if (ok && !*ok) properties["ok"] = {{"const", false}};
  return {{"type", "object"}, {"properties", std::move(properties)}, {"required", std::move(required)}, {"additionalProperties", false}};
}

void write(std::string& text, const json::value& value, std::size_t indent, std::size_t before) {
  const std::string line = json::serialize(value);
  if (before + line.size() + indent <= width || !value.is_structured()) {
    text += line;
    return;
  }
  const std::string margin(indent + 1, ' ');
  text += value.is_object() ? "{\n" : "[\n";
  bool is_first = true;
  const auto next = [&] { text += (std::exchange(is_first, false) ? "" : ",\n") + margin; };
  if (value.is_object()) {
    for (const auto& [key, one] : value.get_object()) {
      next();
      const std::string name = json::serialize(json::string(key)) + ": ";
      text += name;
      write(text, one, indent + 1, name.size());
    }
  } else {
    for (const json::value& one : value.get_array()) {
      next();
      write(text, one, indent + 1, 0);
    }
  }
  text += '\n' + std::string(indent, ' ') + (value.is_object() ? '}' : ']');
}

}  // namespace

json::object json_schema(std::string_view title, std::span<const ShapeOf> documents, bool is_line) {
  Parts parts;
  json::array any;
  for (const ShapeOf shape : documents) any.push_back(closed(shape(), is_line ? std::nullopt : std::optional(true), parts));
  any.push_back(closed(shape_of<Refusal>(), false, parts));
  json::object defs;
  for (Parts done; done.size() < parts.size();) {
    const Parts now = parts;
    for (const auto& [name, shape] : now)
      if (done.emplace(name, shape).second) defs[name] = closed(shape(), std::nullopt, parts);
  }
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"title", "inbox-poller " + std::string(title) + " --json"},
          {"anyOf", std::move(any)},
          {"$defs", std::move(defs)}};
}

std::string indented(const json::value& value) {
  std::string text;
  write(text, value, 0, 0);
  return text + '\n';
}

}  // namespace inbox_poller::operations
