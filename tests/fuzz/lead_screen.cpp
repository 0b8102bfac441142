// Any bytes as what a terminal shows: read without a fault, and never taken for an empty composer, or for one with our
// text in it, when a question stands below.
#include "schema/lead_screen.hpp"

#include <algorithm>

#include "tests/fuzz/fuzz.hpp"

namespace inbox_poller::fuzz::of_lead_screen {

using namespace inbox_poller::schema;

namespace {

bool lets_type(ScreenKind kind) { return kind == ScreenKind::empty_prompt || kind == ScreenKind::draft; }

void check_frame(const Screen& screen, const ScreenReading& reading) {
  const auto rows = screen_rows(screen.text);
  EXPECT(reading.frame + 2 < rows.size());
  std::string rule;
  for (int i = 0; i < screen.width; ++i) rule += "\u2500";
  EXPECT(rows[reading.frame] == rule);
  EXPECT(rows[reading.frame + 1].starts_with("\u276f\u00a0"));
  EXPECT(std::count(rows.begin() + static_cast<std::ptrdiff_t>(reading.frame), rows.end(), rule) == 2);
}

}  // namespace

int try_one(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  Screen screen{std::string(as_text(data + 3, size - 3)), data[0] % 100, data[1] % 100, data[2] % 60};
  const auto reading = read_screen(screen);
  EXPECT(!to_string(reading.kind).empty());
  for (const auto& row : screen_rows(screen.text)) EXPECT(row.find('\n') == std::string::npos && !row.ends_with(' '));
  if (lets_type(reading.kind)) check_frame(screen, reading);
  EXPECT(reading.kind != ScreenKind::empty_prompt || reading.typed.empty());
  const auto text = as_text(data, size);
  EXPECT(!holds_exactly(reading, text) || holds_rest_of(reading, text));
  EXPECT(!reading.typed.empty() || !holds_rest_of(reading, text));
  for (const auto* below : {"\n \u276f 1. Yes\n", "\n$ \n"}) {
    Screen requests = screen;
    requests.text += below;
    EXPECT(!lets_type(read_screen(requests).kind));
  }
  return 0;
}

const Target registered("lead_screen", try_one);

}  // namespace inbox_poller::fuzz::of_lead_screen
