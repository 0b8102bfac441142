#include "schema/teammate_message.hpp"

#include <algorithm>
#include <array>

#include "schema/utf8.hpp"

namespace inbox_poller::schema {

namespace {

constexpr std::size_t max_attribute = 200;  // characters

constexpr std::array<std::string_view, 8> colors = {"blue",   "green", "yellow", "purple",
                                                    "orange", "pink",  "cyan",   "red"};

/// Tags that mean something to a lead session: our own block, and what its harness wraps around notes and commands.
constexpr std::array<std::string_view, 9> tags = {
    "teammate-message", "system-reminder", "channel",      "task-notification",    "system",
    "command-name",     "command-message", "command-args", "local-command-stdout",
};

constexpr std::array<std::string_view, 3> turn_markers = {"human", "assistant", "system"};

bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7F && c <= 0x9F); }

bool is_joiner(char32_t c) { return c == 0x200C || c == 0x200D; }

/// Shows nothing, or turns the direction of what follows; also the tag characters that can hide a text inside another.
bool is_invisible(char32_t c) {
  return c == 0xAD || c == 0x61C || c == 0x180E || (c >= 0x200B && c <= 0x200F) || (c >= 0x202A && c <= 0x202E) ||
         (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF || (c >= 0xFFF9 && c <= 0xFFFB) || (c >= 0xE0000 && c <= 0xE007F);
}

bool is_line_separator(char32_t c) { return c == 0x2028 || c == 0x2029; }

/// At most `limit` characters, each as `spell` has it: as it is, as something else, or, when that is empty, not at all.
template <class Spell>
std::string respelled(std::string_view text, std::size_t limit, Spell spell) {
  std::string result;
  for (std::size_t position = 0; position < text.size() && limit > 0;) {
    const CodePoint point = code_point_at(text, position);
    const std::string_view shown = spell(point.value, spelling(text, position, point));
    result += shown;
    if (!shown.empty()) --limit;
    position += point.length;
  }
  return result;
}

/// Between double quotes on one line: no markup, no control character, nothing invisible.
std::string attribute(std::string_view value) {
  return respelled(value, max_attribute, [](char32_t c, std::string_view itself) -> std::string_view {
    switch (c) {
      case '\n':
      case '\r':
      case '\t': return " ";
      case '&': return "&amp;";
      case '<': return "&lt;";
      case '>': return "&gt;";
      case '"': return "&quot;";
      default: return is_line_separator(c) ? " " : is_control(c) || is_invisible(c) ? "" : itself;
    }
  });
}

/// The text without what nobody can see. Joiners stay: emoji and several scripts are spelled with them.
std::string visible(std::string_view text) {
  return respelled(text, text.size(), [](char32_t c, std::string_view itself) -> std::string_view {
    if (is_line_separator(c)) return "\n";
    const bool kept = c == '\n' || c == '\t' || is_joiner(c) || (!is_control(c) && !is_invisible(c));
    return kept ? itself : "";
  });
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/// Behind any of these characters and of the joiners, which nobody sees between them.
std::size_t skip(std::string_view text, std::size_t position, std::string_view skipped) {
  while (position < text.size()) {
    if (skipped.find(text[position]) != std::string_view::npos) {
      ++position;
    } else if (const CodePoint point = code_point_at(text, position); is_joiner(point.value)) {
      position += point.length;
    } else {
      break;
    }
  }
  return position;
}

/// Where the word ends that begins at `position` in any case, with joiners between its letters or without; npos when
/// another.
std::size_t end_of_word(std::string_view text, std::size_t position, std::string_view word) {
  for (const char expected : word) {
    if (position >= text.size()) return std::string_view::npos;
    const char c = text[position];
    if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c) != expected) return std::string_view::npos;
    position = skip(text, position + 1, "");
  }
  return position;
}

/// True when one of the tags opens or closes here, however it is spaced. "<teammate_messages>" is another tag.
bool is_tag_at(std::string_view text, std::size_t position) {
  position = skip(text, position + 1, " \t\n");
  if (position < text.size() && text[position] == '/') position = skip(text, position + 1, " \t\n");
  return std::any_of(tags.begin(), tags.end(), [&](std::string_view tag) {
    const std::size_t end = end_of_word(text, position, tag);
    return end != std::string_view::npos && (end == text.size() || !is_name_character(text[end]));
  });
}

/// True when the line that begins here reads like the beginning of somebody's turn.
bool is_turn_marker_at(std::string_view text, std::size_t position) {
  position = skip(text, position, " \t");
  return std::any_of(turn_markers.begin(), turn_markers.end(), [&](std::string_view marker) {
    const std::size_t end = end_of_word(text, position, marker);
    return end != std::string_view::npos && text.substr(skip(text, end, " \t")).starts_with(':');
  });
}

}  // namespace

std::string neutralise(std::string_view text) {
  const std::string clean = visible(text);
  std::string result;
  result.reserve(clean.size());
  bool at_line_start = true;
  for (std::size_t i = 0; i < clean.size(); ++i) {
    if (at_line_start && is_turn_marker_at(clean, i)) result += "> ";
    at_line_start = clean[i] == '\n';
    result += clean[i] == '<' && is_tag_at(clean, i) ? "&lt;" : std::string_view(clean).substr(i, 1);
  }
  return result;
}

std::string render(const TeammateMessage& message) {
  std::string block = "<teammate-message teammate_id=\"" + attribute(message.teammate_id) + "\"";
  if (std::find(colors.begin(), colors.end(), message.color) != colors.end()) {
    block += " color=\"" + message.color + "\"";
  }
  if (const std::string summary = attribute(message.summary); !summary.empty()) block += " summary=\"" + summary + "\"";
  return block + ">\n" + neutralise(message.text) + "\n</teammate-message>";
}

std::string render(std::span<const TeammateMessage> messages) {
  std::string blocks;
  for (const TeammateMessage& message : messages) {
    if (!blocks.empty()) blocks += "\n\n";
    blocks += render(message);
  }
  return blocks;
}

}  // namespace inbox_poller::schema
