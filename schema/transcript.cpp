#include "schema/transcript.hpp"

#include <algorithm>

#include "schema/client_version.hpp"
#include "schema/json_scan.hpp"

namespace inbox_poller::schema {

namespace {

bool is_visible(char c) { return c > ' ' && c <= '~'; }

constexpr std::string_view interruption = "[Request interrupted by user";

/// Returns the comparable text of all strings in a line. Escapes such as `\u003c` count as their character.
std::string comparable_of_json(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    char c = json[i];
    if (c == '\\' && i + 1 < json.size()) {
      c = json[++i];
      if (c == 'u') {
        const auto code = decode_string("\"\\u" + std::string(json.substr(i + 1, 4)) + "\"").value_or("");
        i += std::min<std::size_t>(4, json.size() - i - 1);
        c = code.size() == 1 ? code[0] : '\0';
      } else if (c == 'n' || c == 't' || c == 'r' || c == 'b' || c == 'f') {
        continue;
      }
    }
    if (is_visible(c)) text += c;
  }
  return text;
}

std::string text_of(std::string_view line, const std::vector<MemberSpan>& members, std::string_view name) {
  const auto token = find_member(line, members, name);
  return token ? decode_string(*token).value_or("") : "";
}

bool is_attachment_for_model(std::string_view line, const std::vector<MemberSpan>& members) {
  const auto attachment = find_member(line, members, "attachment").value_or("");
  const auto type = find_member(attachment, "type");
  const auto name = type ? decode_string(*type).value_or("") : "";
  return name == "hook_additional_context" || name == "hook_blocking_error" || name == "queued_command";
}

template <typename Visit>
void each_line(std::string_view lines, const Visit& visit) {
  while (!lines.empty()) {
    const auto end = std::min(lines.find('\n'), lines.size());
    visit(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
}

/// Returns true for a person's Escape, which is recorded as the user's text.
bool tells_of_interruption(std::string_view line, const std::vector<MemberSpan>& members) {
  const auto message = find_member(line, members, "message").value_or("");
  const auto content = find_member(message, "content").value_or("");
  const auto text = comparable_of_json(content.substr(0, 200));
  return text.starts_with("\"" + comparable(interruption)) ||
         text.starts_with("[{\"type\":\"text\",\"text\":\"" + comparable(interruption));
}

}  // namespace

std::string comparable(std::string_view text) {
  std::string kept;
  kept.reserve(text.size());
  std::copy_if(text.begin(), text.end(), std::back_inserter(kept), is_visible);
  return kept;
}

bool gives_to_model(std::string_view line, std::string_view wanted) {
  if (wanted.empty()) return false;
  const auto scan = scan_members(line);
  if (scan.problem || find_member(line, scan.members, "isSidechain") == "true") return false;
  const auto type = text_of(line, scan.members, "type");
  const bool counts = type == "user" || type == "api-request-blob" ||
                      (type == "attachment" && is_attachment_for_model(line, scan.members));
  return counts && comparable_of_json(line).find(wanted) != std::string::npos;
}

bool is_answer(std::string_view line) {
  if (line.find("\"assistant\"") == std::string_view::npos) return false;
  const auto scan = scan_members(line);
  if (scan.problem || text_of(line, scan.members, "type") != "assistant") return false;
  if (find_member(line, scan.members, "isSidechain") == "true") return false;
  // "API Error: …" and similar: the client's own text in the model's place.
  const auto model = find_member(find_member(line, scan.members, "message").value_or(""), "model").value_or("");
  return decode_string(model).value_or("") != "<synthetic>";
}

TranscriptSigns transcript_signs(std::string_view lines) {
  TranscriptSigns signs;
  const bool may_tell = lines.find(interruption) != std::string_view::npos;
  each_line(lines, [&](std::string_view line) {
    const bool has_version = line.find("\"version\"") != std::string_view::npos;
    if (!has_version && !may_tell) return;
    const auto scan = scan_members(line);
    if (scan.problem) return;
    if (const auto version = parse_client_version(text_of(line, scan.members, "version")))
      signs.version = to_string(*version);
    const auto type = text_of(line, scan.members, "type");
    if (may_tell && (type == "user" || type == "assistant"))
      signs.interrupted = type == "user" && tells_of_interruption(line, scan.members);
  });
  if (!may_tell && lines.find("\"assistant\"") != std::string_view::npos) signs.interrupted = false;
  return signs;
}

}  // namespace inbox_poller::schema
