#include "schema/json_edit.hpp"

#include <algorithm>

namespace inbox_poller::schema::json_edit {

namespace {

/// The style of the surrounding lines. Without a newline, everything goes on one line.
struct Style {
  std::string newline, base, unit;
};

/// Converts `text`, which is indented by two spaces a level, to the style.
std::string in_style(std::string_view text, const Style& style) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] != '\n') {
      result += text[i++];
      continue;
    }
    const std::size_t end = std::min(text.find_first_not_of(' ', i + 1), text.size());
    result += style.newline.empty() ? " " : style.newline + style.base;
    for (std::size_t level = 0; !style.newline.empty() && level < (end - i - 1) / 2; ++level) result += style.unit;
    i = end;
  }
  return result;
}

Error at_line(std::string_view text, std::size_t offset, const std::string& what) {
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n');
  return Error{"settings.syntax", "line " + std::to_string(line) + ": " + what};
}

/// Returns true if white space follows the bracket, as in containers that with_part() adds.
bool is_added(std::string_view text, const Container& container) {
  return white.find(text[container.begin + 1]) != std::string_view::npos;
}

std::string indentation_at(std::string_view text, std::size_t offset) {
  const std::size_t line = text.rfind('\n', offset);
  const std::size_t begin = line == std::string_view::npos ? 0 : line + 1;
  const std::size_t end = std::min(text.find_first_not_of(" \t", begin), offset);
  return std::string(text.substr(begin, end - begin));
}

/// Returns the file's indentation of one level.
std::string unit_of(std::string_view text, const Container& root) {
  if (root.parts.empty() || indentation_at(text, root.parts[0].begin).empty()) return "  ";
  return indentation_at(text, root.parts[0].begin);
}

}  // namespace

std::string in_brackets(char open, const std::string& content, char close) {
  return open + in_style("\n" + content, {"\n", "  ", "  "}) + "\n" + close;
}

std::string member(std::string_view key, const std::string& value) { return quote(key) + ": " + value; }

Result<Container> object_at(std::string_view text, Span span) {
  const ObjectScan scan = scan_members(span.of(text));
  if (scan.problem) return at_line(text, span.begin + scan.problem->offset, scan.problem->what);
  const auto moved = [&](std::size_t begin, std::size_t end) { return Span{span.begin + begin, span.begin + end}; };
  Container object;
  object.begin = text.find('{', span.begin);
  for (const MemberSpan& one : scan.members) {
    object.parts.push_back(moved(one.key.begin, one.value.end));
    object.keys.push_back(moved(one.key.begin, one.key.end));
    object.values.push_back(moved(one.value.begin, one.value.end));
  }
  return object;
}

Result<Container> array_at(std::string_view text, Span span) {
  const ArrayScan scan = scan_array(span.of(text));
  if (scan.problem) return at_line(text, span.begin + scan.problem->offset, scan.problem->what);
  Container array;
  array.begin = span.begin;
  for (const Span& one : scan.elements) array.parts.push_back({span.begin + one.begin, span.begin + one.end});
  array.values = array.parts;
  return array;
}

std::optional<std::size_t> place_of(std::string_view text, const Container& object, std::string_view key) {
  for (std::size_t i = object.keys.size(); i-- > 0;)
    if (decode_string(object.keys[i].of(text)) == key) return i;
  return std::nullopt;
}

Result<Container> root_of(std::string_view text) {
  const std::size_t begin = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  return object_at(text, {begin, text.size()});
}

std::string with_part(std::string_view text, const Container& root, const Container& container,
                      const std::string& part) {
  const bool is_empty = container.parts.empty();
  const std::size_t at = is_empty ? container.begin + 1 : container.parts.back().end;
  const std::size_t line = text.find('\n');
  Style style{line != std::string_view::npos && line > 0 && text[line - 1] == '\r' ? "\r\n" : "\n", "",
              unit_of(text, root)};
  std::string before;
  if (is_empty) {
    if (line == std::string_view::npos && !root.parts.empty()) style.newline.clear();
    style.base = indentation_at(text, container.begin);
  } else {
    const std::size_t begin = container.parts.back().begin;
    const std::string_view space = text.substr(0, begin).substr(text.find_last_not_of(white, begin - 1) + 1);
    if (space.find('\n') == std::string_view::npos) style.newline.clear();
    style.base = indentation_at(text, begin);
    before = "," + (style.newline.empty() ? std::string(space) : style.newline + style.base);
  }
  return std::string(text.substr(0, at)) + before + in_style(part, style) + std::string(text.substr(at));
}

std::optional<std::string> without(std::string_view text, Path path) {
  while (path.back().container.parts.size() == 1 && is_added(text, path.back().container)) {
    path.pop_back();
    if (path.empty()) return std::nullopt;
  }
  const auto& [container, place] = path.back();
  const auto& parts = container.parts;
  Span gone = parts[place];
  if (place > 0)
    gone.begin = parts[place - 1].end;
  else if (parts.size() > 1)
    gone.end = parts[1].begin;
  return std::string(text.substr(0, gone.begin)) + std::string(text.substr(gone.end));
}

std::string without_white_space(std::string_view json) {
  std::string result;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (!in_string && white.find(c) != std::string_view::npos) continue;
    result += c;
    if (c == '"') in_string = !in_string;
    if (c == '\\' && i + 1 < json.size()) result += json[++i];
  }
  return result;
}

}  // namespace inbox_poller::schema::json_edit
