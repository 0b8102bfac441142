#include "schema/teammate_message.hpp"

#include <algorithm>
#include <array>

#include "schema/utf8.hpp"

namespace inbox_poller::schema {

namespace {

constexpr std::size_t max_summary = 200;  // characters

constexpr std::array<std::string_view, 8> colors = {"blue", "green", "yellow", "purple", "orange", "pink", "cyan", "red"};

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

void append_point(std::string& out, std::string_view text, std::size_t position, const CodePoint& point) {
  out += point.valid ? text.substr(position, point.length) : replacement_character;
}

/// One line, safe between double quotes: markup escaped, control and invisible characters gone, at most max_summary characters.
std::string attribute(std::string_view value) {
  std::string result;
  std::size_t characters = 0;
  for (std::size_t position = 0; position < value.size() && characters < max_summary;) {
    const CodePoint point = code_point_at(value, position);
    const char32_t c = point.value;
    if (c == '\n' || c == '\r' || c == '\t' || is_line_separator(c)) {
      result += ' ';
    } else if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else if (c == '"') {
      result += "&quot;";
    } else if (!is_control(c) && !is_invisible(c)) {
      append_point(result, value, position, point);
    } else {
      --characters;  // does not count; wraps to "none" only together with the increment below
    }
    ++characters;
    position += point.length;
  }
  return result;
}

/// The text without what nobody can see. Joiners stay: emoji and several scripts are spelled with them.
std::string visible(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t position = 0; position < text.size();) {
    const CodePoint point = code_point_at(text, position);
    const char32_t c = point.value;
    if (is_line_separator(c)) {
      result += '\n';
    } else if (c == '\n' || c == '\t' || is_joiner(c) || (!is_control(c) && !is_invisible(c))) {
      append_point(result, text, position, point);
    }
    position += point.length;
  }
  return result;
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n'; }

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

std::size_t skip_joiners(std::string_view text, std::size_t position) {
  while (position < text.size() && is_joiner(code_point_at(text, position).value)) position += 3;
  return position;
}

std::size_t skip_spaces(std::string_view text, std::size_t position) {
  for (position = skip_joiners(text, position); position < text.size() && is_space(text[position]);) {
    position = skip_joiners(text, position + 1);
  }
  return position;
}

/// Where the word ends that begins at `position` in any case, with joiners between its letters or without; npos when another.
std::size_t end_of_word(std::string_view text, std::size_t position, std::string_view word) {
  for (const char expected : word) {
    if (position >= text.size()) return std::string_view::npos;
    const char c = text[position];
    if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c) != expected) return std::string_view::npos;
    position = skip_joiners(text, position + 1);
  }
  return position;
}

/// True when one of the tags opens or closes here, however it is spaced. "<teammate_messages>" is another tag.
bool is_tag_at(std::string_view text, std::size_t position) {
  position = skip_spaces(text, position + 1);
  if (position < text.size() && text[position] == '/') position = skip_spaces(text, position + 1);
  return std::any_of(tags.begin(), tags.end(), [&](std::string_view tag) {
    const std::size_t end = end_of_word(text, position, tag);
    return end != std::string_view::npos && (end == text.size() || !is_name_character(text[end]));
  });
}

/// True when the line that begins here reads like the beginning of somebody's turn.
bool is_turn_marker_at(std::string_view text, std::size_t position) {
  while (position < text.size() && (text[position] == ' ' || text[position] == '\t')) ++position;
  position = skip_joiners(text, position);
  return std::any_of(turn_markers.begin(), turn_markers.end(), [&](std::string_view marker) {
    std::size_t end = end_of_word(text, position, marker);
    if (end == std::string_view::npos) return false;
    while (end < text.size() && (text[end] == ' ' || text[end] == '\t')) ++end;
    return end < text.size() && text[end] == ':';
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
    if (clean[i] == '<' && is_tag_at(clean, i)) {
      result += "&lt;";
    } else {
      result += clean[i];
    }
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
