// Any bytes as the file of a message or a task: what is changed is what was meant, and nothing else.
#include "schema/envelope.hpp"

#include <boost/json.hpp>

#include "tests/fuzz/fuzz.hpp"

namespace inbox_poller::fuzz::of_envelope {

using namespace inbox_poller::schema;

int try_one(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = as_text(data, size);
  (void)id_hinted_by(bytes);
  const auto envelope = Envelope::decode(bytes);
  if (!envelope) return 0;
  const std::string written = envelope->encode();
  const auto again = Envelope::decode(written);
  EXPECT(again.ok() && *again == *envelope && again->encode() == written);
  EXPECT(identity_of(*again) == identity_of(*envelope));
  (void)envelope->object();

  Envelope changed = *envelope;
  changed.set("status", "open").set("attempts", 3).drop("owner");
  const auto read = Envelope::decode(changed.encode());
  EXPECT(read.ok() && read->text("status") == "open" && read->number("attempts") == 3 && read->raw("owner").empty());
  for (const char* key : {"id", "payload", "ts", "from"}) EXPECT(read->raw(key) == envelope->raw(key));

  if (const auto value = parse_value(bytes)) {
    EXPECT(parse_value(pretty_ascii(*value)).ok());  // a number may differ in its last digit
    for (const char one : pretty_ascii(*value)) EXPECT(one == '\n' || (one >= ' ' && one < '\x7f'));
  }
  return 0;
}

const Target registered("envelope", try_one);

}  // namespace inbox_poller::fuzz::of_envelope
