#include "schema/array_entry.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "schema/field_reader.hpp"

namespace inbox_poller::schema {

Result<Message> decode_entry(std::string_view entry) {
  const auto members = scan_object(entry);
  if (!members) {
    const std::size_t begin = entry.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos || entry[begin] == '{') {
      return Error{"entry.syntax", members.error().message + " of the entry"};
    }
    return Error{"entry.not_object", unexpected("an object with 'from' and 'text'", entry.substr(begin))};
  }
  FieldReader fields(entry, *members);
  Message message;
  message.from = fields.required_string("from");
  message.text = fields.required_string("text");
  message.timestamp = fields.string("timestamp");
  message.summary = fields.string("summary");
  message.color = fields.string("color");
  message.id = fields.string("msg_id");
  static_cast<void>(fields.string("type"));
  const auto read = fields.token("read");
  if (read && kind_of(*read) != JsonKind::boolean) fields.fail("read", unexpected("true or false", *read));
  if (fields.problem()) return Error{"entry.field", *fields.problem()};
  return message;
}

bool says_more(std::string_view entry, const Message& message) {
  const auto members = scan_object(entry);
  if (!members) return true;
  constexpr std::array<std::string_view, 7> carried = {"from", "text", "summary", "timestamp", "color", "msg_id", "read"};
  std::set<std::string> names;
  for (const auto& member : *members) {
    const auto name = decode_string(member.key.of(entry)).value_or("");
    const auto value = member.value.of(entry);
    const bool is_usual = std::find(carried.begin(), carried.end(), name) != carried.end() ||
                          (name == "type" && value == "\"message\"") || (name == "msgV" && value == "1");
    if (!is_usual || !names.insert(name).second) return true;
  }
  const auto was_replaced = [](const std::string& text) { return text.find("\xEF\xBF\xBD") != std::string::npos; };
  return was_replaced(message.from) || was_replaced(message.text) || was_replaced(message.summary) ||
         was_replaced(message.timestamp);
}

std::string encode_entry(const Message& message) {
  std::string entry = "{";
  const auto member = [&](std::string_view name, std::string_view token) {
    entry.append(entry == "{" ? "\n    \"" : ",\n    \"").append(name).append("\": ").append(token);
  };
  member("from", quote(message.from));
  member("text", quote(message.text));
  if (!message.summary.empty()) member("summary", quote(message.summary));
  member("timestamp", quote(message.timestamp));
  if (!message.color.empty()) member("color", quote(message.color));
  member("msgV", "1");
  member("msg_id", quote(message.id));
  member("type", "\"message\"");
  member("read", "false");
  return entry += "\n  }";
}

}  // namespace inbox_poller::schema
