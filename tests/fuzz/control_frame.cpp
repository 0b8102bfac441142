// Any bytes on the control socket, in pieces of any size: the requests are the lines, whatever the pieces were; nothing
// over the limit is kept; and reading a request's fields is total.
#include "poller/control/frame.hpp"

#include <algorithm>
#include <boost/json/serialize.hpp>

#include "poller/control/request.hpp"
#include "schema/json_scan.hpp"
#include "schema/operations/verb_arguments.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace inbox_poller::fuzz::of_control_frame {

using namespace inbox_poller::poller;

namespace {

constexpr std::size_t most = 96;  // small, so that inputs of a usual size pass it

struct Heard {
  std::vector<std::string> lines;
  bool too_long = false;
};

/// By definition: the lines up to the first that is too long.
Heard expected(std::string_view bytes) {
  Heard heard;
  for (std::size_t begin = 0; begin < bytes.size();) {
    const std::size_t end = bytes.find('\n', begin);
    if (std::min(end, bytes.size()) - begin > most) {
      heard.too_long = true;
      break;
    }
    if (end == std::string_view::npos) break;
    heard.lines.emplace_back(bytes.substr(begin, end - begin));
    begin = end + 1;
  }
  return heard;
}

/// As the connection does it: read what there is room for, take one line, and so on.
Heard heard_in_pieces(std::string_view bytes, std::size_t piece) {
  Heard heard;
  FrameCutter cutter(most);
  while (!heard.too_long) {
    const std::size_t count = std::min({piece, cutter.room(), bytes.size()});
    cutter.add(bytes.substr(0, count));
    bytes.remove_prefix(count);
    EXPECT(cutter.room() <= most + 1);
    if (!cutter.ready()) {
      if (bytes.empty()) break;
      continue;
    }
    EXPECT(!cutter.empty());
    if (auto line = cutter.take())
      heard.lines.push_back(*std::move(line));
    else
      heard.too_long = true;
  }
  return heard;
}

void check_request(std::string_view line) {
  const auto request = parse_request(line);
  if (!request) return;
  EXPECT(inbox_poller::schema::scan_object(line).ok());  // our two readers of JSON agree
  const auto raw = [&](std::string_view name) { return inbox_poller::schema::find_member(line, name); };  // the last of equal names
  const auto envelope = inbox_poller::operations::decode<inbox_poller::arguments::Envelope>(*request);
  EXPECT(envelope.verb.empty() || (raw("verb") && inbox_poller::schema::decode_string(*raw("verb")) == envelope.verb));
  EXPECT(inbox_poller::operations::decode<inbox_poller::arguments::Shutdown>(*request).all == (raw("all") == "true"));
  const long long limit = inbox_poller::operations::decode<inbox_poller::arguments::Quarantine>(*request).limit;
  if (limit != inbox_poller::arguments::Quarantine().limit)
    EXPECT(raw("limit") && std::strtoll(std::string(*raw("limit")).c_str(), nullptr, 10) == limit);
  for (const auto& row : inbox_poller::arguments::rows())
    if (row.verb == envelope.verb) EXPECT(!row.about.empty());
  const std::string answer = boost::json::serialize(refuse("request.invalid", envelope.verb));
  EXPECT(answer.find('\n') == std::string::npos && parse_request(answer).has_value());
}

}  // namespace

int try_one(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes = as_text(data + 1, size - 1);
  const Heard wanted = expected(bytes);
  const Heard heard = heard_in_pieces(bytes, 1U + data[0]);
  EXPECT(heard.lines == wanted.lines && heard.too_long == wanted.too_long);
  for (const std::string& line : heard.lines) check_request(line);
  check_request(bytes);
  return 0;
}

const Target registered("control_frame", try_one);

}  // namespace inbox_poller::fuzz::of_control_frame
