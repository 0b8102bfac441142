#include "poller/context/log_text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "schema/printable.hpp"
#include "schema/secrets.hpp"

namespace inbox_poller::poller {
namespace {

using config::LogLevel;

constexpr std::size_t shown_key = 8;
constexpr std::size_t most_shown_bytes = 2000;

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string cut_to(const std::string& text, std::size_t columns) {
  std::size_t seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    if ((text[i] & 0xc0) != 0x80 && ++seen == columns) return text.substr(0, i) + "…";
  return text;
}

std::string shown_safely(std::string_view value) {
  std::string text = schema::printable(schema::mask_secrets(value.substr(0, most_shown_bytes)));
  return value.size() > most_shown_bytes ? text + "…" : text;
}

std::string clock_text(EpochMs at_ms) {
  const auto seconds = static_cast<std::time_t>(at_ms / 1000);
  std::tm local{};
  std::array<char, 16> text{};
  if (::localtime_r(&seconds, &local) == nullptr || std::strftime(text.data(), text.size(), "%H:%M:%S", &local) == 0)
    return "--:--:--";
  return text.data();
}

/// Order of cutting in a long line: explanations first, then subjects, then names and ids.
enum class Worth { explains, subject, name, id, never_cut };

struct LogPart {
  std::string before;
  std::string text;
  Worth worth = Worth::name;

  [[nodiscard]] std::size_t columns() const { return columns_of(before) + columns_of(text); }
};

const std::string* find_field(const Fields& fields, std::string_view name) {
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const auto& field) { return field.first == name; });
  return found == fields.end() || found->second.empty() ? nullptr : &found->second;
}

/// Adds the subject "demo ada: Bash: make": the team, the member and the subject.
void add_subject(std::vector<LogPart>& line, const Fields& fields) {
  const auto* const team = find_field(fields, "team");
  const auto* const sender = find_field(fields, "from");
  const auto* const from = sender != nullptr ? sender : find_field(fields, "member");
  const auto* const about = find_field(fields, "subject");
  if (team != nullptr) line.push_back({" ", shown_safely(*team)});
  if (from != nullptr) line.push_back({" ", shown_safely(*from)});
  if (about != nullptr) line.push_back({from != nullptr ? ": " : " ", shown_safely(*about), Worth::subject});
}

/// Fields whose value needs no name in the line: the event says what it is.
constexpr std::string_view outcomes[] = {"new", "state", "disposition", "action", "value", "signal", "confirmed"};

const std::string* outcome_in(const Fields& fields) {
  for (const std::string_view name : outcomes)
    if (const auto* const value = find_field(fields, name)) return value;
  return nullptr;
}

LogPart change_of(const Fields& fields) {
  const auto* const was = find_field(fields, "old");
  const auto* const is = outcome_in(fields);
  const bool is_new = was == nullptr || *was == "received";  // every state starts as "received"
  return {"  ", (is_new ? "" : shown_safely(*was) + " -> ") + (is == nullptr ? "nothing" : shown_safely(*is))};
}

/// True for a field that has its own place in the line or repeats another one.
bool is_told_apart(const Fields& fields, std::string_view name) {
  if (name == "type") return find_field(fields, "subject") != nullptr;
  if (name == "by") return find_field(fields, "rule") != nullptr && *find_field(fields, "by") == "rule";
  return name == "team" || name == "from" || name == "member" || name == "subject" || name == "old" || name == "reason" ||
         name == "request_id" || name == "task_id" || name == "message_key" ||
         std::ranges::find(outcomes, name) != std::end(outcomes);
}

LogPart part_of(std::string_view name, const std::string& value) {
  const auto number = [&] { return std::strtoll(value.c_str(), nullptr, 10); };
  if (name == "latency_ms") return {"  after ", time_text(number())};
  if (name == "deadline_ms") return {"  until ", clock_text(number())};
  if (name.ends_with("_ms")) return {"  " + std::string(name.substr(0, name.size() - 3)) + ' ', time_text(number())};
  const bool explains = name == "path" || name == "rule" || name == "source";
  return {"  " + std::string(name) + ' ', shown_safely(value), explains ? Worth::explains : Worth::name};
}

/// Minimum length of a cut part.
std::size_t floor_of(Worth worth) {
  switch (worth) {
    case Worth::explains: return 8;
    case Worth::subject: return 12;
    case Worth::name: return 16;
    default: return 32;
  }
}

LogPart* longest_of(std::vector<LogPart>& line, Worth worth) {
  LogPart* longest = nullptr;
  for (LogPart& part : line)
    if (part.worth == worth && columns_of(part.text) > floor_of(worth) &&
        (longest == nullptr || columns_of(part.text) > columns_of(longest->text)))
      longest = &part;
  return longest;
}

void shorten_line(std::vector<LogPart>& line) {
  std::size_t columns = 0;
  for (const LogPart& part : line) columns += part.columns();
  for (const Worth worth : {Worth::explains, Worth::subject, Worth::name, Worth::id})
    while (columns > log_columns) {
      LogPart* const longest = longest_of(line, worth);
      if (longest == nullptr) break;
      const std::size_t has = columns_of(longest->text);
      const std::size_t over = columns - log_columns;
      longest->text = cut_to(longest->text, has > floor_of(worth) + over ? has - over : floor_of(worth));
      columns -= has - columns_of(longest->text);
    }
}

std::string_view color_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return "\x1b[2m";
    case LogLevel::info: return "\x1b[36m";
    case LogLevel::warn: return "\x1b[33m";
    case LogLevel::error: return "\x1b[31m";
  }
  return "";
}

}  // namespace

std::string time_text(long long milliseconds) {
  constexpr long long minute = 60'000;
  std::array<char, 32> text{};
  if (milliseconds < 1000) {
    std::snprintf(text.data(), text.size(), "%lld ms", milliseconds);
  } else if (milliseconds < minute) {
    std::snprintf(text.data(), text.size(), "%.1f s", static_cast<double>(milliseconds) / 1000);
  } else if (milliseconds < 60 * minute) {
    std::snprintf(text.data(), text.size(), "%lld min %lld s", milliseconds / minute, milliseconds % minute / 1000);
  } else {
    std::snprintf(text.data(), text.size(), "%lld h %lld min", milliseconds / (60 * minute),
                  milliseconds % (60 * minute) / minute);
  }
  return text.data();
}

std::string_view journal_prefix(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return "<7>";
    case LogLevel::info: return "<6>";
    case LogLevel::warn: return "<4>";
    case LogLevel::error: return "<3>";
  }
  return "";
}

std::string log_text(Event event, const Fields& fields, EpochMs at_ms, bool color) {
  const LogLevel level = event_level(event);
  const bool is_bad = level == LogLevel::warn || level == LogLevel::error;
  std::vector<LogPart> line;
  line.push_back({"", clock_text(at_ms), Worth::never_cut});
  if (is_bad) line.push_back({" ", level == LogLevel::warn ? "WARNING" : "ERROR"});
  add_subject(line, fields);
  const std::size_t name_at = line.size();
  line.push_back({"  ", std::string(event_name(event)), Worth::never_cut});
  if (find_field(fields, "old") != nullptr || outcome_in(fields) != nullptr) line.push_back(change_of(fields));
  for (const auto& [name, value] : fields)
    if (!value.empty() && !is_told_apart(fields, name)) line.push_back(part_of(name, value));
  const bool has_rule = find_field(fields, "rule") != nullptr && !is_bad;  // the rule gives the reason
  if (const auto* const reason = find_field(fields, "reason"); reason != nullptr && !has_rule)
    line.push_back({"  ", shown_safely(*reason), is_bad ? Worth::never_cut : Worth::explains});
  if (const auto* const id = find_field(fields, "request_id"))
    line.push_back({"  ", shown_safely(*id), Worth::id});
  else if (const auto* const key = find_field(fields, "message_key"))
    line.push_back({"  ", shown_safely(std::string_view(*key).substr(0, shown_key))});
  shorten_line(line);
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool colored = color && i == name_at;
    text += line[i].before + (colored ? std::string(color_of(level)) + line[i].text + "\x1b[0m" : line[i].text);
  }
  return text;
}

}  // namespace inbox_poller::poller
