#include "schema/teammate_message.hpp"

#include <algorithm>
#include <array>

#include "schema/utf8.hpp"

namespace inbox_poller::schema {

namespace {

constexpr std::size_t max_attribute = 200;  // characters

constexpr std::array<std::string_view, 8> colors = {"blue",   "green", "yellow", "purple",
                                                    "orange", "pink",  "cyan",   "red"};

/// Tags that mean something to a lead session: our own block, and what its harness wraps around notes, commands and
/// turns. A '-' stands for any hyphen, a '_' or a space.
constexpr std::array<std::string_view, 20> tags = {
    "teammate-message",
    "system-reminder",
    "channel",
    "task-notification",
    "system",
    "command-name",
    "command-message",
    "command-args",
    "command-contents",
    "local-command-stdout",
    "local-command-stderr",
    "local-command-caveat",
    "bash-input",
    "bash-stdout",
    "bash-stderr",
    "user-prompt-submit-hook",
    "human",
    "assistant",
    "function-calls",
    "function-results",
};

constexpr std::array<std::string_view, 4> turn_markers = {"human", "assistant", "system", "user"};

/// What our own lines about a text begin with.
constexpr std::array<std::string_view, 2> labels = {"[may-be-a-repeat", "[cut"};

struct Range {
  char32_t first;
  char32_t last;
};

template <std::size_t size>
bool is_in(const std::array<Range, size>& ranges, char32_t c) {
  return std::any_of(ranges.begin(), ranges.end(), [c](const Range& r) { return c >= r.first && c <= r.last; });
}

bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7F && c <= 0x9F); }

/// Shows nothing by itself, but is a part of how emoji and several scripts are spelled: joiners, variation selectors,
/// fillers.
bool is_joiner(char32_t c) {
  static constexpr std::array<Range, 10> joiners{{{0x34F, 0x34F},
                                                  {0x115F, 0x1160},
                                                  {0x17B4, 0x17B5},
                                                  {0x180B, 0x180D},
                                                  {0x180F, 0x180F},
                                                  {0x200C, 0x200D},
                                                  {0x3164, 0x3164},
                                                  {0xFE00, 0xFE0F},
                                                  {0xFFA0, 0xFFA0},
                                                  {0xE0100, 0xE01EF}}};
  return is_in(joiners, c);
}

/// Shows nothing, or turns the direction of what follows; also the tag characters that can hide a text inside another.
bool is_invisible(char32_t c) {
  static constexpr std::array<Range, 12> invisible{{{0xAD, 0xAD},
                                                    {0x61C, 0x61C},
                                                    {0x180E, 0x180E},
                                                    {0x200B, 0x200B},
                                                    {0x200E, 0x200F},
                                                    {0x202A, 0x202E},
                                                    {0x2060, 0x206F},
                                                    {0xFEFF, 0xFEFF},
                                                    {0xFFF0, 0xFFFB},
                                                    {0x1D173, 0x1D17A},
                                                    {0xE0000, 0xE00FF},
                                                    {0xE01F0, 0xE0FFF}}};
  return is_in(invisible, c);
}

/// White space of any kind, and what looks like it; not a newline.
bool is_blank(char32_t c) {
  static constexpr std::array<Range, 8> blank{{{'\t', '\t'},
                                               {' ', ' '},
                                               {0xA0, 0xA0},
                                               {0x1680, 0x1680},
                                               {0x2000, 0x200A},
                                               {0x202F, 0x202F},
                                               {0x205F, 0x205F},
                                               {0x3000, 0x3000}}};
  return is_in(blank, c) || c == 0x2800;
}

bool is_hyphen(char32_t c) {
  return c == '-' || c == '_' || (c >= 0x2010 && c <= 0x2015) || c == 0x2212 || c == 0xFE63 || c == 0xFF0D;
}

bool is_gap(char32_t c) { return is_hyphen(c) || is_blank(c); }

bool is_colon(char32_t c) {
  return c == ':' || c == 0xFF1A || c == 0xFE55 || c == 0xFE13 || c == 0xA789 || c == 0x2236;
}

bool is_line_separator(char32_t c) { return c == 0x2028 || c == 0x2029; }

/// At most `limit` characters, each as `spell` has it: as it is, as something else, or, when that is empty, not at all.
/// Of a row of joiners no more than emoji need: a red heart on fire is heart, selector, joiner, fire.
template <class Spell>
std::string respelled(std::string_view text, std::size_t limit, Spell spell) {
  constexpr int most_joiners = 2;
  std::string result;
  int joiners = 0;
  for (std::size_t position = 0; position < text.size() && limit > 0;) {
    const CodePoint point = code_point_at(text, position);
    std::string_view shown = spell(point.value, spelling(text, position, point));
    if (!shown.empty()) joiners = is_joiner(point.value) ? joiners + 1 : 0;
    if (joiners > most_joiners) shown = "";
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

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/// Behind all code points from `position` on that are joiners, which nobody sees between them, or that `skipped` takes.
template <class Skipped>
std::size_t skip(std::string_view text, std::size_t position, Skipped skipped) {
  while (position < text.size()) {
    const CodePoint point = code_point_at(text, position);
    if (!is_joiner(point.value) && !skipped(point.value)) break;
    position += point.length;
  }
  return position;
}

bool nothing(char32_t) { return false; }
bool is_space(char32_t c) { return is_blank(c) || c == '\n'; }
/// What stands around a word that is meant to stand out, in Markdown or in quotes.
bool is_emphasis(char32_t c) {
  return is_blank(c) ||
         std::string_view("*_#-\"'`()[]").find(static_cast<char>(c < 0x80 ? c : 0)) != std::string_view::npos;
}

/// Where the word ends that begins at `position` in any case, with joiners between its letters or without; npos when
/// another.
std::size_t end_of_word(std::string_view text, std::size_t position, std::string_view word) {
  for (const char expected : word) {
    if (position >= text.size()) return std::string_view::npos;
    const CodePoint point = code_point_at(text, position);
    const char32_t c = point.value >= 'A' && point.value <= 'Z' ? point.value | 0x20U : point.value;
    const bool fits = expected == '-' ? is_gap(c) : c == static_cast<unsigned char>(expected);
    if (!fits) return std::string_view::npos;
    position = skip(text, position + point.length, expected == '-' ? is_gap : nothing);
  }
  return position;
}

/// True when one of the tags opens or closes here, however it is spaced. "<teammate_messages>" is another tag.
bool is_tag_at(std::string_view text, std::size_t position) {
  position = skip(text, position + 1, [](char32_t c) { return is_space(c) || c == '/'; });
  return std::any_of(tags.begin(), tags.end(), [&](std::string_view tag) {
    const std::size_t end = end_of_word(text, position, tag);
    return end != std::string_view::npos && (end == text.size() || !is_name_character(text[end]));
  });
}

/// True when the line that begins here reads like the beginning of somebody's turn.
bool is_turn_marker_at(std::string_view text, std::size_t position) {
  position = skip(text, position, is_emphasis);
  return std::any_of(turn_markers.begin(), turn_markers.end(), [&](std::string_view marker) {
    std::size_t end = end_of_word(text, position, marker);
    if (end == std::string_view::npos) return false;
    end = skip(text, end, is_emphasis);
    return end < text.size() && is_colon(code_point_at(text, end).value);
  });
}

/// True when the line that begins here reads like one of ours about the text.
bool is_label_at(std::string_view text, std::size_t position) {
  position = skip(text, position, is_blank);
  return std::any_of(labels.begin(), labels.end(), [&](std::string_view label) {
    return end_of_word(text, position, label) != std::string_view::npos;
  });
}

}  // namespace

std::string visible(std::string_view text) {
  const auto is_plain = [](char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\t'; };
  if (std::all_of(text.begin(), text.end(), is_plain)) return std::string(text);
  return respelled(text, text.size(), [](char32_t c, std::string_view itself) -> std::string_view {
    if (is_line_separator(c)) return "\n";
    return c == '\n' || c == '\t' || (!is_control(c) && !is_invisible(c)) ? itself : "";
  });
}

std::string neutralise(std::string_view text) {
  const std::string clean = visible(text);
  std::string result;
  result.reserve(clean.size());
  bool at_line_start = true;
  for (std::size_t i = 0; i < clean.size(); ++i) {
    if (at_line_start && (is_turn_marker_at(clean, i) || is_label_at(clean, i))) result += "> ";
    at_line_start = clean[i] == '\n';
    if (clean[i] == '<' && is_tag_at(clean, i))
      result += "&lt;";
    else
      result += clean[i];
  }
  return result;
}

std::string render(const TeammateMessage& message) {
  std::string block = "<teammate-message teammate_id=\"" + attribute(message.teammate_id) + "\"";
  if (std::find(colors.begin(), colors.end(), message.color) != colors.end()) {
    block += " color=\"" + message.color + "\"";
  }
  if (const std::string summary = attribute(message.summary); !summary.empty()) block += " summary=\"" + summary + "\"";
  block += ">\n";
  if (!message.before.empty()) block += message.before + "\n";
  block += neutralise(message.text) + "\n";
  if (!message.after.empty()) block += message.after + "\n";
  return block + "</teammate-message>";
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
