#include "handlers/subject.hpp"

#include <algorithm>
#include <optional>

#include "handlers/change.hpp"
#include "handlers/text.hpp"
#include "schema/json_scan.hpp"
#include "schema/secrets.hpp"

namespace inbox_poller::handlers {

namespace {

constexpr std::size_t most_read = 2000;  // bytes of a line: a secret cut here is masked, or cut below as well
constexpr std::size_t most_shown = 600;

std::string_view trimmed(std::string_view line) {
  const auto begin = line.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
}

struct FirstLine {
  std::string_view text;
  std::size_t more = 0;  // following lines that are not empty
};

/// Returns the first line with text. A line that begins with `passed` counts only if there is no other.
FirstLine first_line(std::string_view text, char passed) {
  FirstLine first, other;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto line = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty()) continue;
    if (!first.text.empty())
      ++first.more;
    else if (line.front() != passed)
      first.text = line;
    else if (other.text.empty())
      other.text = line;
    else
      ++other.more;
  }
  return first.text.empty() ? other : first;
}

std::string shortened(std::string_view text) {
  const std::string masked = schema::mask_secrets(beginning(text, most_read));
  const auto kept = beginning(masked, most_shown);
  const bool whole = kept.size() == masked.size() && text.size() <= most_read;
  return std::string(kept) + (whole ? "" : "…");
}

std::string shortened(const FirstLine& line) {
  return shortened(line.text) + (line.more == 0 ? "" : " (+" + std::to_string(line.more) + " lines)");
}

/// Returns the members that are true, because a call without them in a list might look harmless.
std::string switches_of(std::string_view input) {
  std::string names;
  const auto members = schema::scan_object(input);
  if (!members) return names;
  for (const auto& member : *members)
    if (member.value.of(input) == "true")
      names += (names.empty() ? "" : ", ") + schema::decode_string(member.key.of(input)).value_or("?");
  return names.empty() ? "" : " [" + shortened(names) + "]";
}

std::string of_call(const Request& request) {
  const std::string& input = request.body;
  const std::string tool = shortened(request.subject) + switches_of(input) + ": ";
  const auto text_at = [&](std::string_view name) -> std::optional<std::string> {
    const auto value = schema::find_member(input, name);
    return value ? schema::decode_string(*value) : std::nullopt;
  };
  if (const auto command = text_at("command")) return tool + shortened(first_line(*command, '#'));
  for (const auto* name : {"file_path", "notebook_path"})
    if (const auto file = text_at(name)) {
      const auto changes = changes_of(request.subject, input);
      return tool + shortened(*file) + (changes ? ' ' + count_of(*changes) : std::string());
    }
  for (const auto* name : {"url", "query"})
    if (const auto text = text_at(name)) return tool + shortened(*text);
  return tool + shortened(input);
}

}  // namespace

std::string subject_of(const Request& request) {
  switch (request.kind) {
    case RequestKind::permission: return of_call(request);
    case RequestKind::sandbox: return shortened(request.subject);
    case RequestKind::plan: {
      auto title = first_line(request.body, '\0');
      title.text.remove_prefix(std::min(title.text.find_first_not_of("# "), title.text.size()));
      return title.text.empty() ? shortened(request.subject) : shortened(title.text);
    }
    case RequestKind::stop:
      return request.body.empty() ? "to stop" : "to stop: " + shortened(first_line(request.body, '\0'));
  }
  return {};
}

}  // namespace inbox_poller::handlers
