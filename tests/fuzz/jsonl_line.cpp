// Any bytes as a line of a JSONL inbox: no message of it is taken for another system's control message, and what we
// would write of it is one line of ASCII that says the same.
#include "poller/mailbox/jsonl/line.hpp"

#include "schema/codec.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace inbox_poller::fuzz::of_jsonl_line {

using namespace inbox_poller::poller;
using namespace inbox_poller::schema;

int try_one(const std::uint8_t* data, std::size_t size) {
  const auto entry = decode_jsonl(as_text(data, size));
  if (!entry) {
    EXPECT(entry.error().code.starts_with("line.") && !entry.error().message.empty());
    return 0;
  }
  const Message& message = entry->message;
  EXPECT(!message.from.empty());
  const Payload said = decode_payload(message.text);
  EXPECT(!std::holds_alternative<PermissionRequest>(said) && !std::holds_alternative<SandboxPermissionRequest>(said) &&
         !std::holds_alternative<ShutdownRequest>(said) && !std::holds_alternative<ModeSetRequest>(said));
  for (const auto generation : {JsonlGeneration::g1, JsonlGeneration::g3}) {
    const auto line = encode_jsonl(message, "worker", generation);
    EXPECT(line.ok());
    EXPECT(line->find('\n') == line->size() - 1);
    for (const char c : *line) EXPECT(c == '\n' || (c >= 0x20 && c < 0x7F));
    const auto again = decode_jsonl(*line);
    EXPECT(again.ok() && again->message.from == message.from);
    if (std::holds_alternative<PlainText>(said)) EXPECT(again->message.text == message.text);
    if (entry->says_all) EXPECT(again->message.timestamp == message.timestamp);
  }
  return 0;
}

const Target registered("jsonl_line", try_one);

}  // namespace inbox_poller::fuzz::of_jsonl_line
