#include "poller/mailbox/arrays/array_entry.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "schema/field_reader.hpp"

namespace inbox_poller::poller {

namespace {

using Spans = std::vector<schema::MemberSpan>;

Result<Spans> members_of(std::string_view entry) {
  auto members = schema::scan_object(entry);
  if (members) return *std::move(members);
  const std::size_t begin = entry.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || entry[begin] == '{')
    return Error{"entry.syntax", members.error().message + " of the entry"};
  return Error{"entry.not_object", schema::unexpected("an object with 'from' and 'text'", entry.substr(begin))};
}

Result<schema::Message> decode(std::string_view entry, const Spans& members, std::string* ignored = nullptr) {
  schema::FieldReader fields(entry, members);
  schema::Message message;
  message.from = fields.required_string("from");
  message.text = fields.required_string("text");
  message.timestamp = fields.string("timestamp");
  message.summary = fields.string("summary");
  message.color = fields.string("color");
  message.id = fields.string("msg_id");
  static_cast<void>(fields.string("type"));
  const auto read = fields.token("read");
  if (read && schema::kind_of(*read) != schema::JsonKind::boolean) fields.ignore("read", "true or false", *read);
  if (fields.problem()) return Error{"entry.field", *fields.problem()};
  if (ignored != nullptr) *ignored = fields.ignored();
  return message;
}

/// True if the entry has content that the decoded message lacks: an unknown member, a member twice, or replaced
/// characters. `read` and the members that encode_entry() always writes do not count.
bool says_more(std::string_view entry, const Spans& members, const schema::Message& message) {
  constexpr std::string_view type = "\"type\"", version = "\"msgV\"";
  constexpr std::array<std::string_view, 9> usual = {"\"from\"", "\"text\"", "\"summary\"", "\"timestamp\"", "\"color\"",
                                                     "\"msg_id\"", "\"read\"", type, version};
  std::array<bool, usual.size()> met{};
  for (const auto& member : members) {
    const auto name = std::find(usual.begin(), usual.end(), member.key.of(entry));  // a name in escapes is unusual
    if (name == usual.end() || std::exchange(met[static_cast<std::size_t>(name - usual.begin())], true)) return true;
    const auto value = member.value.of(entry);
    if ((*name == type && value != "\"message\"") || (*name == version && value != "1")) return true;
  }
  const auto was_replaced = [](const std::string& text) { return text.find("\xEF\xBF\xBD") != std::string::npos; };
  return was_replaced(message.from) || was_replaced(message.text) || was_replaced(message.summary) ||
         was_replaced(message.timestamp);
}

}  // namespace

Result<schema::Message> decode_entry(std::string_view entry) {
  TRY(const auto members, members_of(entry));
  return decode(entry, members);
}

Result<Decoded> decode_whole_entry(std::string_view entry) {
  TRY(const auto members, members_of(entry));
  std::string ignored;
  TRY(auto message, decode(entry, members, &ignored));
  const bool says_all = ignored.empty() && !says_more(entry, members, message);
  return Decoded{std::move(message), says_all, std::move(ignored)};
}

std::string encode_entry(const schema::Message& message) {
  std::string entry = "{";
  const auto member = [&](std::string_view name, std::string_view token) {
    entry.append(entry == "{" ? "\n    \"" : ",\n    \"").append(name).append("\": ").append(token);
  };
  member("from", schema::quote(message.from));
  member("text", schema::quote(message.text));
  if (!message.summary.empty()) member("summary", schema::quote(message.summary));
  member("timestamp", schema::quote(message.timestamp));
  if (!message.color.empty()) member("color", schema::quote(message.color));
  member("msgV", "1");
  member("msg_id", schema::quote(message.id));
  member("type", "\"message\"");
  member("read", "false");
  return entry += "\n  }";
}

}  // namespace inbox_poller::poller
