#include "handlers/outgoing.hpp"

#include "schema/json_scan.hpp"

namespace inbox_poller::handlers {

std::string digest_of(std::initializer_list<std::string_view> parts) {
  std::string framed;
  for (const std::string_view part : parts) framed.append(std::to_string(part.size())).append(":").append(part);
  return schema::content_hash(framed);
}

Post post_of(const Outgoing& letter, const TeamView& view) {
  schema::Message message;
  message.from = letter.from;
  // As a reader will decode it, because the key must be found again in the file.
  message.text = schema::decode_string(schema::quote(letter.text)).value_or(std::string(letter.text));
  message.timestamp = schema::iso_timestamp(letter.at_ms);
  message.id = schema::uuid_from(letter.origin);
  std::string inbox = schema::inbox_name(letter.to);
  schema::MessageKey key =
      schema::make_message_key({std::string(view.team), inbox}, message.from, message.timestamp, message.text, 0);
  return {std::move(inbox), std::move(key), std::move(message)};
}

Notice notice_of(std::string_view text, std::initializer_list<std::string_view> origin, const TeamView& view,
                 EpochMs now_ms, std::string_view sender) {
  const std::string about = digest_of({view.team, digest_of(origin)});
  Post post = post_of({sender, view.lead, text, about, now_ms}, view);
  return {std::move(post.key), std::move(post.message)};
}

}  // namespace inbox_poller::handlers
