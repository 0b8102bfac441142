#include "schema/envelope.hpp"

#include "schema/field_reader.hpp"

namespace inbox_poller::schema {

Result<Envelope> decode_envelope(std::string_view entry) {
  const auto members = scan_object(entry);
  if (!members) {
    const std::size_t begin = entry.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos || entry[begin] == '{') {
      return Error{"entry.syntax", members.error().message + " of the entry"};
    }
    return Error{"entry.not_object", unexpected("an object with 'from' and 'text'", entry.substr(begin))};
  }
  FieldReader fields(entry, *members);
  Envelope envelope;
  envelope.from = fields.required_string("from");
  envelope.text = fields.required_string("text");
  envelope.timestamp = fields.string("timestamp");
  envelope.summary = fields.optional_string("summary");
  envelope.color = fields.optional_string("color");
  envelope.msg_id = fields.optional_string("msg_id");
  envelope.type = fields.optional_string("type");
  if (const auto read = fields.token("read")) {
    if (kind_of(*read) != JsonKind::boolean) fields.fail("read", unexpected("true or false", *read));
    envelope.read = *read == "true";
  }
  if (fields.problem()) return Error{"entry.field", *fields.problem()};
  return envelope;
}

std::string encode_envelope(const OutgoingEnvelope& envelope) {
  std::string entry = "{";
  const auto member = [&](std::string_view name, std::string_view token) {
    entry.append(entry == "{" ? "\n    \"" : ",\n    \"").append(name).append("\": ").append(token);
  };
  member("from", quote(envelope.from));
  member("text", quote(envelope.text));
  if (!envelope.summary.empty()) member("summary", quote(envelope.summary));
  member("timestamp", quote(envelope.timestamp));
  if (!envelope.color.empty()) member("color", quote(envelope.color));
  member("msgV", "1");
  member("msg_id", quote(envelope.msg_id));
  member("type", "\"message\"");
  member("read", "false");
  return entry += "\n  }";
}

}  // namespace inbox_poller::schema
