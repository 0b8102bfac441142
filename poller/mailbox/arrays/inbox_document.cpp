#include "poller/mailbox/arrays/inbox_document.hpp"

#include <unordered_map>

#include "schema/decimal.hpp"

namespace inbox_poller::poller {

namespace {

constexpr std::string_view white_space = " \t\r\n";
constexpr std::size_t sector = 512;  // bytes that a disk writes atomically

bool is_all_blank(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return text.find_first_not_of(white_space) == std::string_view::npos;
}

/// Appends the token without white space between its parts, so that a peer's re-indenting does not change it.
void append_compact(std::string& out, std::string_view token) {
  bool in_string = false;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const char c = token[i];
    if (!in_string && white_space.find(c) != std::string_view::npos) continue;
    out += c;
    if (in_string && c == '\\') {
      out += token[++i];
    } else if (c == '"') {
      in_string = !in_string;
    }
  }
}

/// Returns the content that stays the same when we, or a peer, mark the entry read.
std::string without_read_flag(std::string_view bytes, const std::vector<schema::MemberSpan>& members) {
  std::string result;
  for (const schema::MemberSpan& member : members) {
    if (schema::decode_string(member.key.of(bytes)) == "read") continue;
    append_compact(result, member.key.of(bytes));
    result += ':';
    append_compact(result, member.value.of(bytes));
    result += ',';
  }
  return result;
}

/// Returns a number in one format for all writers; empty for a token that is not a number. Two messages that differ
/// only in a numeric timestamp are different.
std::string number_in(std::string_view token) {
  const auto number = schema::read_decimal(std::string(token));
  return number ? std::to_string(*number) : std::string();
}

/// Reads flag and key of one entry; number() sets the occurrence later. `at` is the entry's offset in the file.
InboxEntry read_entry(std::string_view bytes, std::size_t at, const schema::KeyScope& scope) {
  InboxEntry entry;
  entry.bytes = {at, at + bytes.size()};
  const auto members = schema::scan_object(bytes);
  if (!members) {
    std::string compact;
    append_compact(compact, bytes);
    entry.key = schema::make_bad_entry_key(scope, compact, 0);
    return entry;
  }
  if (const auto flag = find_member(bytes, *members, "read")) {
    entry.read_value.begin = at + static_cast<std::size_t>(flag->data() - bytes.data());
    entry.read_value.end = entry.read_value.begin + flag->size();
    entry.read = *flag == "false" ? ReadFlag::unread : *flag == "true" ? ReadFlag::read : ReadFlag::other;
    entry.in_place = entry.read == ReadFlag::read && bytes[entry.read_value.end - at] == ' ';  // "}" at the latest
  }
  std::string rooms[3];
  const auto from = schema::decode_string(find_member(bytes, *members, "from").value_or(""), rooms[0]);
  const auto body = schema::decode_string(find_member(bytes, *members, "text").value_or(""), rooms[1]);
  const std::string_view stamp = find_member(bytes, *members, "timestamp").value_or("null");
  auto timestamp = schema::decode_string(stamp, rooms[2]);
  if (!timestamp) timestamp = rooms[2] = number_in(stamp);
  entry.key = from && body ? schema::make_message_key(scope, *from, *timestamp, *body, 0)
                           : schema::make_bad_entry_key(scope, without_read_flag(bytes, *members), 0);
  return entry;
}

/// Returns for every entry whether it is among the indexes; ignores indexes out of range.
std::vector<bool> chosen(std::span<const std::size_t> indexes, std::size_t entries) {
  std::vector<bool> result(entries);
  for (const std::size_t index : indexes)
    if (index < entries) result[index] = true;
  return result;
}

/// White space and separators of an object: after '{', between members, between key and value, before '}'.
struct ObjectStyle {
  std::string open, between, colon, close;
};

/// Returns the style of an object with at least one member.
ObjectStyle style_of(std::string_view object, const std::vector<schema::MemberSpan>& members) {
  const auto gap = [&](std::size_t begin, std::size_t end) { return std::string(object.substr(begin, end - begin)); };
  const schema::MemberSpan& first = members.front();
  ObjectStyle style;
  style.open = gap(1, first.key.begin);
  style.between = members.size() > 1 ? gap(first.value.end, members[1].key.begin) : "," + style.open;
  style.colon = gap(first.key.end, first.value.begin);
  style.close = gap(members.back().value.end, object.size() - 1);
  return style;
}

/// Returns the style of a neighboring entry. Empty if it has none, or one with over 256 bytes, which no client writes.
std::optional<ObjectStyle> style_worth_imitating(std::string_view object) {
  const auto members = schema::scan_object(object);
  if (!members || members->empty()) return std::nullopt;
  ObjectStyle style = style_of(object, *members);
  const auto& [open, between, colon, close] = style;
  if (open.size() + between.size() + colon.size() + close.size() > 256) return std::nullopt;
  return style;
}

std::string restyled(std::string_view object, const ObjectStyle& style) {
  const auto members = schema::scan_object(object);
  if (!members || members->empty()) return std::string(object);
  std::string result = "{";
  for (const schema::MemberSpan& member : *members) {
    result += result.size() == 1 ? style.open : style.between;
    result.append(member.key.of(object)).append(style.colon).append(member.value.of(object));
  }
  return result += style.close + "}";
}

}  // namespace

InboxDocument InboxDocument::scan(std::string bytes, const schema::KeyScope& scope, FilePart part) {
  InboxDocument document;
  document.bytes_ = std::move(bytes);
  document.part_ = part;
  if (part.from == schema::ArrayFrom::beginning && is_all_blank(document.bytes_)) {
    document.array_ = {document.bytes_.size(), document.bytes_.size()};
    return document;
  }
  schema::ArrayScan scanned = schema::scan_array(document.bytes(), part.from, most_entries);
  document.array_ = scanned.array;
  document.problem_ = std::move(scanned.problem);
  const std::size_t end = document.bytes_.size();
  if (part.goes_on && document.problem_ && document.problem_->offset == end) document.problem_.reset();
  if (part.goes_on && !scanned.elements.empty() && scanned.elements.back().end == end) scanned.elements.pop_back();
  if (document.problem_) document.problem_->offset += part.offset;
  document.entries_.reserve(scanned.elements.size());
  for (const schema::Span& element : scanned.elements)
    document.entries_.push_back(read_entry(element.of(document.bytes_), part.offset + element.begin, scope));
  document.number([](const schema::MessageKey&) { return Occurrences{}; });
  return document;
}

void InboxDocument::number(const std::function<Occurrences(const schema::MessageKey&)>& elsewhere) {
  std::unordered_map<std::string, Occurrences> met;
  met.reserve(entries_.size());
  for (InboxEntry& entry : entries_) {
    if (schema::occurrence_of(entry.key) > 0) entry.key = schema::with_occurrence(entry.key, 0);
    const auto [found, is_new] = met.try_emplace(entry.key.value);
    if (is_new) found->second = elsewhere(entry.key);
    const std::size_t before = found->second.before++;
    entry.known = before < found->second.known;
    if (before > 0) entry.key = schema::with_occurrence(entry.key, before);
  }
}

void InboxDocument::append(InboxDocument next) {
  entries_.insert(entries_.end(), std::make_move_iterator(next.entries_.begin()),
                  std::make_move_iterator(next.entries_.end()));
  problem_ = std::move(next.problem_);
  part_.goes_on = true;
}

void InboxDocument::show(std::string bytes, std::size_t offset) {
  bytes_ = std::move(bytes);
  part_.offset = offset;
}

bool InboxDocument::can_mark_in_place(std::size_t index) const {
  if (index >= entries_.size() || entries_[index].read != ReadFlag::unread) return false;
  const schema::Span& flag = entries_[index].read_value;
  return flag.begin / sector == (flag.end - 1) / sector;
}

std::optional<InPlaceEdit> InboxDocument::mark_read_edit(std::size_t index) const {
  if (!can_mark_in_place(index)) return std::nullopt;
  const InboxEntry& entry = entries_[index];
  return InPlaceEdit{entry.bytes.begin, entry_bytes(entry), entry.read_value.begin};
}

void InboxDocument::set_read(std::size_t index) {
  if (index >= entries_.size() || entries_[index].read != ReadFlag::unread) return;
  InboxEntry& entry = entries_[index];
  bytes_.replace(entry.read_value.begin - part_.offset, entry.read_value.size(), read_in_place);
  --entry.read_value.end;
  entry.read = ReadFlag::read;
  entry.in_place = true;
}

std::string InboxDocument::with_marked_read(std::span<const std::size_t> indexes, std::string_view file) const {
  const std::vector<bool> marked = chosen(indexes, entries_.size());
  std::string result;
  result.reserve(file.size() + indexes.size() * sizeof("\"read\":true"));
  std::size_t copied = 0;
  const auto replace = [&](schema::Span span, std::string_view with) {
    result.append(file.substr(copied, span.begin - copied)).append(with);
    copied = span.end;
  };
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const InboxEntry& entry = entries_[i];
    if (!marked[i] || entry.read == ReadFlag::read) continue;
    if (entry.read != ReadFlag::absent) {
      replace(entry.read_value, entry.read == ReadFlag::unread ? read_in_place : "true");  // later bytes stay in place
      continue;
    }
    const std::string_view object = entry.bytes.of(file);
    const auto members = schema::scan_object(object);
    if (!members) continue;  // not an object: it has no flag
    if (members->empty()) {
      replace({entry.bytes.begin + 1, entry.bytes.begin + 1}, "\"read\":true");
    } else {
      const ObjectStyle style = style_of(object, *members);
      const std::size_t end = entry.bytes.begin + members->back().value.end;
      replace({end, end}, style.between + "\"read\"" + style.colon + "true");
    }
  }
  return result.append(file.substr(copied));
}

std::string InboxDocument::with_appended(std::span<const std::string_view> entries) const {
  if (problem_ || entries.empty() || (is_part() && entries_.empty())) return bytes_;
  const std::string newline = bytes_.find("\r\n") == std::string::npos ? "\n" : "\r\n";
  // As JSON.stringify(…, null, 2) does for an element of an array.
  const ObjectStyle indented{newline + "    ", "," + newline + "    ", ": ", newline + "  "};
  const auto joined = [&](const std::string& separator, const ObjectStyle& style) {
    std::string all;
    for (const std::string_view entry : entries) all.append(separator).append(restyled(entry, style));
    return all;
  };
  if (entries_.empty()) {
    const std::string array = "[" + joined("," + newline + "  ", indented).substr(1) + newline + "]";
    return bytes_.substr(0, array_.begin) + array + bytes_.substr(array_.end);
  }

  const auto here = [&](std::size_t in_file) { return in_file - part_.offset; };
  const schema::Span last{here(entries_.back().bytes.begin), here(entries_.back().bytes.end)};
  // The text before the last entry is a gap with a comma, unless the entry is the first of the file.
  const bool first_of_all = entries_.size() == 1 && part_.from == schema::ArrayFrom::beginning;
  const std::size_t gap_begin = first_of_all           ? array_.begin + 1
                                : entries_.size() == 1 ? 0
                                                       : here(entries_[entries_.size() - 2].bytes.end);
  std::string separator = (first_of_all ? "," : "") + bytes_.substr(gap_begin, last.begin - gap_begin);
  const ObjectStyle usual = separator.find('\n') == std::string::npos ? ObjectStyle{"", ",", ":", ""} : indented;
  if (separator.size() > 256) separator = "," + newline + "  ";
  const ObjectStyle style = style_worth_imitating(last.of(bytes_)).value_or(usual);
  return bytes_.substr(0, last.end) + joined(separator, style) + bytes_.substr(last.end);
}

std::string InboxDocument::with_removed(std::span<const std::size_t> indexes) const {
  if (problem_ || is_part() || entries_.empty()) return bytes_;
  std::vector<schema::Span> elements;
  elements.reserve(entries_.size());
  for (const InboxEntry& entry : entries_) elements.push_back(entry.bytes);
  return without_elements(bytes_, array_, elements, chosen(indexes, entries_.size()));
}

}  // namespace inbox_poller::poller
