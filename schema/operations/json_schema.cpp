#include "schema/operations/json_schema.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <map>

#include "schema/operations/printed.hpp"
#include "schema/operations/verb_arguments.hpp"

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
    case Kind::string:
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

/// What stands beside the fields of a record: nothing in a part, `ok` in an answer on the wire, and in what a command
/// prints `version`, too.
enum class Around { part, answer, printed, refusal };

json::object closed(const Shape& shape, Around around, Parts& parts) {
  json::object properties;
  json::array required;
  const bool ok = around != Around::part;
  if (ok) properties["ok"] = json::object{{"const", around != Around::refusal}};
  if (ok) required.emplace_back("ok");
  if (ok && around != Around::answer) {
    properties["version"] = json::object{{"type", "string"}};
    required.emplace_back("version");
  }
  for (const Field& field : shape.fields) {
    const bool is_there = properties.contains(field.name);
    if (is_there && (field.name != "ok" || around == Around::refusal)) continue;  // its own `ok` may be false
    if (!is_there && !field.is_optional) required.emplace_back(field.name);
    properties[field.name] = schema_of(field.name, field.type, parts);
  }
  return {{"type", "object"}, {"properties", std::move(properties)}, {"required", std::move(required)}, {"additionalProperties", false}};
}

/// Each part that the others refer to.
json::object definitions(Parts parts) {
  json::object defs;
  for (Parts done; done.size() < parts.size();) {
    const Parts now = parts;
    for (const auto& [name, shape] : now)
      if (done.emplace(name, shape).second) defs[name] = closed(shape(), Around::part, parts);
  }
  return defs;
}

json::object request_schema(const arguments::Row& row, Parts& parts) {
  json::object properties{{"verb", {{"const", row.verb}}}};
  json::array required{"verb"};
  for (const Field& field : row.fields->fields) {
    json::object schema = schema_of(field.name, field.type, parts);
    const json::value* const usual = row.usual.if_contains(field.name);
    const bool is_told = usual != nullptr && *usual != json::value(0) && *usual != json::value(false) && *usual != json::value("");
    if (is_told && usual->is_primitive() && !usual->is_null()) schema["default"] = *usual;
    if (field.name == row.needed) required.emplace_back(field.name);
    properties[field.name] = std::move(schema);
  }
  return {{"type", "object"}, {"properties", std::move(properties)}, {"required", std::move(required)}};
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
  for (const ShapeOf shape : documents) any.push_back(closed(shape(), is_line ? Around::part : Around::printed, parts));
  any.push_back(closed(shape_of<Refusal>(), Around::refusal, parts));
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"title", "inbox-poller " + std::string(title) + " --json"},
          {"anyOf", std::move(any)},
          {"$defs", definitions(std::move(parts))}};
}

json::object control_schema() {
  Parts parts;
  json::object verbs;
  for (const arguments::Row& row : arguments::rows()) {
    json::object answer{{"type", "object"}, {"properties", {{"ok", {{"const", true}}}}}, {"required", {"ok"}}};
    if (row.answer != nullptr) {
      answer = closed(*row.answer, Around::answer, parts);
      answer["title"] = row.answer->name;
    }
    verbs[row.verb] =
        json::object{{"description", row.about}, {"request", request_schema(row, parts)}, {"answer", std::move(answer)}};
  }
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"title", "the verbs of inbox-poller's control socket"},
          {"verbs", std::move(verbs)},
          {"$defs", definitions(std::move(parts))}};
}

std::string indented(const json::value& value) {
  std::string text;
  write(text, value, 0, 0);
  return text + '\n';
}

}  // namespace inbox_poller::operations
