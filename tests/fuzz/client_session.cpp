// Any bytes as what a client says of its session: a process that is one, a version that is one, and nothing else believed.
#include "schema/client_session.hpp"

#include "schema/client_version.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace inbox_poller::fuzz::of_client_session {

using namespace inbox_poller::schema;

int try_one(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = as_text(data, size);
  const long long named = pid_of_session_file(bytes);
  EXPECT(named == 0 || bytes == std::to_string(named) + ".json");
  const auto session = decode_client_session(bytes);
  if (!session) return 0;
  EXPECT(session->pid > 0);
  EXPECT(session->version.empty() || parse_client_version(session->version));
  EXPECT(bytes.find('{') != std::string_view::npos);
  EXPECT(decode_client_session(bytes) == session);
  return 0;
}

const Target registered("client_session", try_one);

}  // namespace inbox_poller::fuzz::of_client_session
