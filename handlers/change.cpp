#include "handlers/change.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

#include "schema/json_scan.hpp"
#include "schema/printable.hpp"

namespace inbox_poller::handlers {

namespace {

constexpr std::size_t most_compared = 1'000'000;  // pairs of lines

using RosterStore = std::vector<schema::MemberSpan>;

/// Returns the text of the member of this name; empty if the name occurs twice.
std::optional<std::string> text_of(std::string_view object, const RosterStore& members, std::string_view name) {
  const auto is_named = [&](const schema::MemberSpan& member) {
    return schema::decode_string(member.key.of(object)) == name;
  };
  if (std::count_if(members.begin(), members.end(), is_named) != 1) return std::nullopt;
  return schema::decode_string(std::find_if(members.begin(), members.end(), is_named)->value.of(object));
}

std::optional<Replacement> replacement_in(std::string_view object) {
  const auto members = schema::scan_object(object);
  if (!members) return std::nullopt;
  auto before = text_of(object, *members, "old_string");
  auto after = text_of(object, *members, "new_string");
  if (!before || !after) return std::nullopt;
  return Replacement{*std::move(before), *std::move(after)};
}

using Lines = std::vector<std::string_view>;

Lines split(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

/// Returns the length of the longest common subsequence for each pair of ends, row by row. The table has one row and
/// one column more than there are lines.
std::vector<std::uint32_t> common_ends(std::span<const std::string_view> before,
                                       std::span<const std::string_view> after) {
  const auto width = after.size() + 1;
  std::vector<std::uint32_t> table((before.size() + 1) * width);
  for (auto i = before.size(); i-- > 0;)
    for (auto j = after.size(); j-- > 0;)
      table[i * width + j] = before[i] == after[j] ? table[(i + 1) * width + j + 1] + 1
                                                   : std::max(table[(i + 1) * width + j], table[i * width + j + 1]);
  return table;
}

void add_difference(std::span<const std::string_view> before, std::span<const std::string_view> after,
                    std::vector<ChangedLine>& out) {
  std::size_t i = 0, j = 0;
  if (!before.empty() && before.size() * after.size() <= most_compared) {
    const auto table = common_ends(before, after);
    const auto width = after.size() + 1;
    while (i < before.size() && j < after.size()) {
      if (before[i] == after[j]) {
        out.push_back({' ', before[i++]});
        ++j;
      } else if (table[(i + 1) * width + j] >= table[i * width + j + 1]) {
        out.push_back({'-', before[i++]});
      } else {
        out.push_back({'+', after[j++]});
      }
    }
  }
  while (i < before.size()) out.push_back({'-', before[i++]});
  while (j < after.size()) out.push_back({'+', after[j++]});
}

}  // namespace

std::optional<std::vector<Replacement>> changes_of(std::string_view tool, std::string_view input) {
  const auto members = schema::scan_object(input);
  if (!members) return std::nullopt;
  if (tool == "Write") {
    auto content = text_of(input, *members, "content");
    if (!content) return std::nullopt;
    return std::vector{Replacement{{}, *std::move(content)}};
  }
  std::vector<Replacement> changes;
  if (tool == "Edit") {
    auto one = replacement_in(input);
    if (!one) return std::nullopt;
    changes.push_back(*std::move(one));
    return changes;
  }
  const auto edits = tool == "MultiEdit" ? schema::find_member(input, *members, "edits") : std::nullopt;
  if (!edits) return std::nullopt;
  const auto scan = schema::scan_array(*edits);
  if (scan.problem) return std::nullopt;
  for (const auto& element : scan.elements) {
    auto one = replacement_in(element.of(*edits));
    if (!one) return std::nullopt;
    changes.push_back(*std::move(one));
  }
  return changes;
}

std::vector<ChangedLine> lines_of(const Replacement& change) {
  auto before = split(change.before), after = split(change.after);
  const std::size_t most = std::min(before.size(), after.size());
  std::size_t head = 0, tail = 0;
  while (head < most && before[head] == after[head]) ++head;
  while (tail < most - head && before[before.size() - 1 - tail] == after[after.size() - 1 - tail]) ++tail;
  std::vector<ChangedLine> out;
  for (std::size_t i = 0; i < head; ++i) out.push_back({' ', before[i]});
  const auto between = [&](const Lines& lines) { return std::span(lines).subspan(head, lines.size() - head - tail); };
  add_difference(between(before), between(after), out);
  for (std::size_t i = before.size() - tail; i < before.size(); ++i) out.push_back({' ', before[i]});
  return out;
}

std::string change_text(const Replacement& change, std::string_view margin) {
  std::string text;
  for (const auto& [sign, line] : lines_of(change))
    text += std::string(margin) + sign + schema::printable(line) + '\n';
  const bool before = change.before.ends_with('\n'), after = change.after.ends_with('\n');
  if (before != after && !change.before.empty() && !change.after.empty())
    text += std::string(margin) + "\\ the newline at its end " + (before ? "goes" : "comes") + '\n';
  return text;
}

std::string count_of(const std::vector<Replacement>& changes) {
  std::size_t come = 0, go = 0;
  for (const auto& change : changes)
    for (const auto& line : lines_of(change)) {
      come += line.sign == '+';
      go += line.sign == '-';
    }
  return "+" + std::to_string(come) + " -" + std::to_string(go);
}

}  // namespace inbox_poller::handlers
