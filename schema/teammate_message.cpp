#include "schema/teammate_message.hpp"

#include <algorithm>
#include <array>

#include "schema/fold.hpp"
#include "schema/odd_characters.hpp"
#include "schema/plain_run.hpp"
#include "schema/utf8.hpp"

namespace inbox_poller::schema {

namespace {

constexpr std::size_t max_attribute = 200;  // characters

constexpr std::array<std::string_view, 8> colors = {"blue",   "green", "yellow", "purple",
                                                    "orange", "pink",  "cyan",   "red"};

/// Tags with a meaning for a lead session: InboxPoller's block, and the tags of harnesses for notes, commands, tool
/// calls, thoughts, settings and turns. A '-' stands for any hyphen, a '_' or a space.
constexpr std::string_view tags[] = {
    // notes and records
    "teammate-message", "system-reminder", "channel", "channel-message", "cross-session-message", "task-notification",
    "task-id", "task-status", "task-result", "agent-message", "agent-notification", "command-name", "command-message",
    "command-args", "command-contents", "local-command-stdout", "local-command-stderr", "local-command-caveat",
    "local-command-output", "bash-input", "bash-stdout", "bash-stderr", "user-prompt-submit-hook", "session-start-hook",
    "hook-output", "hook-additional-context", "user-memory-input", "user-memory", "persisted-output", "new-diagnostics",
    "ide-diagnostics", "ide-selection", "ide-opened-file", "mcp-resource", "available-skills",
    "available-deferred-tools", "environment-context", "git-status", "claude-md", "session-context",
    // calls and results
    "function-call", "function-calls", "function-result", "function-results", "tool-call", "tool-calls", "tool-use",
    "tool-use-error", "tool-use-id", "tool-input", "tool-output", "tool-name", "tool-code", "tool-result",
    "tool-results", "tool-response", "server-tool-use",
    // thoughts and settings; everything in the name space "antml"
    "thinking", "scratchpad", "redacted-thinking", "thinking-mode", "max-thinking-length", "interleaved-thinking",
    "reasoning-effort", "token-budget", "total-tokens", "antml",
    // turns
    "system", "system-prompt", "developer", "human", "user-message", "assistant", "assistant-message"};

/// Tags that are also words in code, as in "i < result"; these only right after the bracket or a slash.
constexpr std::string_view words[] = {"error",     "function", "functions", "invoke",     "parameter",
                                      "reasoning", "result",   "settings",  "think",      "tool",
                                      "tools",     "user",     "budget",    "permissions"};

constexpr std::array<std::string_view, 4> turn_markers = {"human", "assistant", "system", "user"};

/// The beginnings of InboxPoller's own lines about a text.
constexpr std::array<std::string_view, 3> labels = {"[may-be-a-repeat", "[not-sent", "[cut"};

bool is_control(char32_t c) { return oddity_of(c) == Oddity::control; }
bool is_joiner(char32_t c) { return oddity_of(c) == Oddity::joiner; }
bool is_invisible(char32_t c) { return oddity_of(c) == Oddity::invisible; }
bool is_line_separator(char32_t c) { return oddity_of(c) == Oddity::line_separator; }
/// Returns true for white space of any kind and its lookalikes; not for a newline.
bool is_blank(char32_t c) { return c == ' ' || c == '\t' || oddity_of(c) == Oddity::blank; }

bool is_gap(char32_t c) { return is_blank(c) || look(c) == '-' || look(c) == '_'; }

/// Returns at most `limit` characters, each as `spell` returns it: unchanged, replaced, or, if empty, removed. Keeps no
/// more joiners in a row than emoji need: a red heart on fire is heart, selector, joiner, fire.
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

/// Returns text for double quotes on one line: no markup, no control character, no invisible character.
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

/// Returns the position after all code points that are joiners, invisible between them, or that `skipped` accepts.
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
/// Returns true for characters that emphasize a word in Markdown or quote it.
bool is_emphasis(char32_t c) {
  return is_blank(c) ||
         std::string_view("*_#-\"'`()[]").find(static_cast<char>(c < 0x80 ? c : 0)) != std::string_view::npos;
}

/// Returns the end of the word that begins at `position` in any case, with or without joiners between its letters; npos
/// if another word is there.
std::size_t end_of_word(std::string_view text, std::size_t position, std::string_view word) {
  for (const char expected : word) {
    if (position >= text.size()) return std::string_view::npos;
    const CodePoint point = code_point_at(text, position);
    const bool fits = expected == '-' ? is_gap(point.value) : look(point.value) == static_cast<unsigned char>(expected);
    if (!fits) return std::string_view::npos;
    position = skip(text, position + point.length, expected == '-' ? is_gap : nothing);
  }
  return position;
}

/// Returns the position after a name space before a tag ("ns:"), or `position`.
std::size_t skip_name_space(std::string_view text, std::size_t position) {
  constexpr int longest = 32;
  std::size_t end = position;
  for (int i = 0; i < longest && end < text.size(); ++i) {
    const CodePoint point = code_point_at(text, end);
    end += point.length;
    if (look(point.value) == ':') return skip(text, end, is_space);
    if (point.value >= 0x80 ? !is_joiner(point.value) && look(point.value) >= 0x80
                            : !is_name_character(static_cast<char>(point.value)))
      break;
  }
  return position;
}

template <std::size_t size>
bool is_one_of(const std::string_view (&names)[size], std::string_view text, std::size_t position) {
  return std::any_of(std::begin(names), std::end(names), [&](std::string_view name) {
    const std::size_t end = end_of_word(text, position, name);
    return end != std::string_view::npos && (end == text.size() || !is_name_character(text[end]));
  });
}

/// Returns true if one of the tags opens or closes after a bracket that ends here, in any spacing.
/// "<teammate_messages>" is another tag.
bool is_tag_at(std::string_view text, std::size_t bracket_end) {
  const auto is_slash = [](char32_t c) { return look(c) == '/'; };
  const std::size_t tight = skip(text, bracket_end, is_slash);
  const std::size_t name = skip(text, tight, [&](char32_t c) { return is_space(c) || is_slash(c); });
  if (is_one_of(words, text, tight) || is_one_of(tags, text, name)) return true;
  const std::size_t behind = skip_name_space(text, name);
  return behind != name && (is_one_of(tags, text, behind) || is_one_of(words, text, behind));
}

/// Returns true if the line that begins here looks like the beginning of a turn.
bool is_turn_marker_at(std::string_view text, std::size_t position) {
  position = skip(text, position, is_emphasis);
  return std::any_of(turn_markers.begin(), turn_markers.end(), [&](std::string_view marker) {
    std::size_t end = end_of_word(text, position, marker);
    if (end == std::string_view::npos) return false;
    end = skip(text, end, is_emphasis);
    return end < text.size() && look(code_point_at(text, end).value) == ':';
  });
}

/// Returns true if the line that begins here looks like one of InboxPoller's own.
bool is_label_at(std::string_view text, std::size_t position) {
  position = skip(text, position, is_blank);
  return std::any_of(labels.begin(), labels.end(), [&](std::string_view label) {
    return end_of_word(text, position, label) != std::string_view::npos;
  });
}

}  // namespace

std::string visible(std::string_view text) {
  std::size_t plain = end_of_printable(text, 0);
  while (plain < text.size() && (text[plain] == '\n' || text[plain] == '\t')) plain = end_of_printable(text, plain + 1);
  if (plain == text.size()) return std::string(text);
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
  std::size_t printable_end = 0;  // as far as known
  for (std::size_t i = 0; i < clean.size();) {
    if (at_line_start && (is_turn_marker_at(clean, i) || is_label_at(clean, i))) result += "> ";
    at_line_start = clean[i] == '\n';
    // In printable ASCII, only the bracket itself looks like one.
    if (i >= printable_end) printable_end = end_of_printable(clean, i);
    const std::string_view printable = std::string_view(clean).substr(i, printable_end - i);
    if (const std::string_view plain = printable.substr(0, printable.find('<')); !plain.empty()) {
      result += plain;
      i += plain.size();
      continue;
    }
    const CodePoint point = code_point_at(clean, i);
    const std::size_t next = i + point.length;
    if (look(point.value) == '<' && is_tag_at(clean, next))
      result += "&lt;";
    else
      result.append(clean, i, point.length);
    i = next;
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
