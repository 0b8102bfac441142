#include "poller/mailbox/letter.hpp"

#include <boost/json.hpp>
#include <optional>
#include <string_view>

#include "poller/mailbox/float_seconds.hpp"
#include "schema/codec.hpp"
#include "schema/field_reader.hpp"

namespace inbox_poller::poller {

using schema::Envelope;

namespace {

constexpr std::string_view plain_type = "message";

/// Returns the content of an ASCII string without escapes, as most payloads are: its bytes, equal for every parser.
std::optional<std::string_view> plain_string(std::string_view token) {
  if (token.size() < 2 || token.front() != '"' || token.back() != '"') return std::nullopt;
  const std::string_view said = token.substr(1, token.size() - 2);
  unsigned char odd = 0;  // no early exit and no branch: many bytes at once
  for (const char c : said)
    odd |= static_cast<unsigned char>(static_cast<unsigned char>(c < ' ') | static_cast<unsigned char>(c > '~') |
                                      static_cast<unsigned char>(c == '"') | static_cast<unsigned char>(c == '\\'));
  return odd == 0 ? std::optional(said) : std::nullopt;
}

std::string payload_text(const Envelope& letter) {
  if (const auto plain = plain_string(letter.raw("payload"))) return std::string(*plain);
  if (letter.raw("payload").empty()) return {};
  const auto value = schema::parse_value(letter.raw("payload"));
  if (!value) return std::string(letter.raw("payload"));
  return value->is_string() ? std::string(value->get_string()) : boost::json::serialize(*value);
}

}  // namespace

Result<schema::Message> message_of(const Envelope& letter, std::string_view lead) {
  schema::Message message;
  message.from = letter.text("from");
  if (message.from.empty()) return Error{"letter.field", "from: expected a name, found nothing"};
  message.id = letter.text("id");
  if (!letter.raw("ts").empty()) message.timestamp = timestamp_of_seconds(letter.raw("ts"));
  std::string about;
  const auto add = [&](std::string what) { about += (about.empty() ? "" : ", ") + what; };
  if (const std::string type = letter.text("type"); !type.empty() && type != plain_type) add(type);
  if (const std::string other = letter.text("in_reply_to"); !other.empty()) add("in reply to " + other);
  if (const std::string to = letter.text("to"); !to.empty() && to != lead) add("addressed to " + to);
  if (!about.empty() && !message.id.empty()) add("id " + message.id);
  message.text = (about.empty() ? about : about + ": ") + payload_text(letter);
  const bool is_chat = std::holds_alternative<schema::PlainText>(schema::decode_payload(message.text));
  if (!is_chat) message.text.insert(0, std::string(plain_type) + ": ");
  return message;
}

Result<Envelope> letter_of(const schema::Message& message, std::string_view to, std::string_view id) {
  const auto payload = schema::decode_payload(message.text);
  const bool is_said =
      std::holds_alternative<schema::PlainText>(payload) || std::holds_alternative<schema::UnknownPayload>(payload);
  if (!is_said)
    return Error{"letter.not_carried", "letters carry no " + std::string(schema::type_name(payload)) +
                                           ": orders and requests do not exist there"};
  Envelope letter;
  letter.set("id", id).set("from", message.from).set("to", to).set("type", plain_type);
  letter.set("payload", message.text).set_raw("ts", seconds_of_timestamp(message.timestamp));
  return letter;
}

schema::Message own_message_of(const Envelope& letter) {
  schema::Message message;
  message.from = letter.text("from");
  message.text = letter.text("payload");
  message.timestamp = timestamp_of_seconds(letter.raw("ts"));
  return message;
}

Result<Decoded> decode_letter(std::string_view bytes, std::string_view lead) {
  TRY(const auto letter, Envelope::decode(bytes));
  TRY(auto message, message_of(letter, lead));
  std::string ignored;
  for (const char* field : {"id", "to", "type", "in_reply_to"})
    if (const auto token = letter.raw(field); !token.empty() && token != "null" && token.front() != '"')
      ignored += (ignored.empty() ? "" : "; ") + std::string(field) + ": " + schema::unexpected("a string", token);
  const bool says_all = ignored.empty() && letter.text("payload") == message.text && !message.id.empty() &&
                        letter.has_only({"id", "from", "to", "type", "payload", "ts"});
  return Decoded{std::move(message), says_all, std::move(ignored)};
}

schema::MessageKey key_of_letter(const schema::KeyScope& scope, const Envelope& letter, const std::string& id,
                                 std::string_view lead) {
  const std::string from = letter.text("from");
  if (from == lead) {
    const schema::Message ours = own_message_of(letter);
    schema::MessageKey key = schema::make_message_key(scope, ours.from, ours.timestamp, ours.text, 0);
    if (key.value == id) return key;
  }
  // The same id with another payload is another message.
  std::string says(letter.raw("payload"));
  if (!plain_string(says))  // such a string has only one encoding
    if (const auto payload = schema::parse_value(says)) says = schema::pretty_ascii(*payload);
  return schema::make_message_key(scope, from, id, letter.text("type") + '\n' + says, 0);
}

}  // namespace inbox_poller::poller
