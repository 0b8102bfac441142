#include "schema/inbox_document.hpp"

#include <unordered_map>

namespace inbox_poller::schema {

namespace {

constexpr std::string_view white_space = " \t\r\n";

bool is_blank(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return text.find_first_not_of(white_space) == std::string_view::npos;
}

/// Appends the token without the white space between its parts, so that a peer's re-indenting does not change it.
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

/// Reads what one entry is known by. One object for all entries of a file, so that its memory is used again.
class EntryReader {
 public:
  explicit EntryReader(const KeyScope& scope) : scope_(scope) {}

  InboxEntry read(std::string_view text, Span span) {
    InboxEntry entry;
    entry.bytes = span;
    const std::string_view bytes = span.of(text);
    const bool is_object = !scan_object(bytes, members_);
    const MemberSpan* from = nullptr;
    const MemberSpan* body = nullptr;
    const MemberSpan* timestamp = nullptr;
    const MemberSpan* read = nullptr;
    for (const MemberSpan& member : members_) {  // of duplicates the last one stays
      const auto name = decode_string(member.key.of(bytes), scratch_);
      if (name == "from") from = &member;
      if (name == "text") body = &member;
      if (name == "timestamp") timestamp = &member;
      if (name == "read") read = &member;
    }
    if (read != nullptr) {
      entry.read_value = {span.begin + read->value.begin, span.begin + read->value.end};
      const std::string_view flag = read->value.of(bytes);
      entry.read = flag == "false" ? ReadFlag::unread : flag == "true" ? ReadFlag::read : ReadFlag::invalid;
    }

    const auto string_of = [&](const MemberSpan* member, std::string& scratch) -> std::optional<std::string_view> {
      return member == nullptr ? std::nullopt : decode_string(member->value.of(bytes), scratch);
    };
    const auto from_value = string_of(from, from_);
    const auto body_value = string_of(body, body_);
    const bool no_timestamp = timestamp == nullptr || timestamp->value.of(bytes) == "null";
    const auto timestamp_value = no_timestamp ? std::string_view() : string_of(timestamp, timestamp_);
    if (from_value && body_value && timestamp_value) {
      entry.key = make_message_key(scope_, *from_value, *timestamp_value, *body_value, 0);
    } else {
      entry.key = make_bad_entry_key(scope_, without_read_flag(bytes, is_object), 0);
    }
    if (const std::size_t before = seen_[entry.key.value]++; before > 0) entry.key = with_occurrence(entry.key, before);
    return entry;
  }

 private:
  /// What stays the same when we, or a peer, mark the entry read.
  std::string_view without_read_flag(std::string_view bytes, bool is_object) {
    scratch_.clear();
    if (!is_object) {
      append_compact(scratch_, bytes);
      return scratch_;
    }
    for (const MemberSpan& member : members_) {
      if (decode_string(member.key.of(bytes), from_) == "read") continue;
      append_compact(scratch_, member.key.of(bytes));
      scratch_ += ':';
      append_compact(scratch_, member.value.of(bytes));
      scratch_ += ',';
    }
    return scratch_;
  }

  const KeyScope& scope_;
  std::vector<MemberSpan> members_;
  std::string scratch_, from_, timestamp_, body_;
  std::unordered_map<std::string, std::size_t> seen_;  // how often each identity has occurred
};

/// What stands between the parts of an object: after '{', between members, between key and value, before '}'.
struct ObjectStyle {
  std::string open, between, colon, close;
};

/// JSON.stringify(array, null, 2), for an element of the array.
ObjectStyle indented_style(const std::string& newline) {
  return {newline + "    ", "," + newline + "    ", ": ", newline + "  "};
}

/// The style of an object with at least one member.
ObjectStyle style_of(std::string_view object, const std::vector<MemberSpan>& members) {
  const auto gap = [&](std::size_t begin, std::size_t end) { return std::string(object.substr(begin, end - begin)); };
  const MemberSpan& first = members.front();
  ObjectStyle style;
  style.open = gap(1, first.key.begin);
  style.between = members.size() > 1 ? gap(first.value.end, members[1].key.begin) : "," + style.open;
  style.colon = gap(first.key.end, first.value.begin);
  style.close = gap(members.back().value.end, object.size() - 1);
  return style;
}

/// Nobody indents by more than this; a neighbour with more is not worth imitating.
bool is_reasonable(const ObjectStyle& style) {
  return style.open.size() + style.between.size() + style.colon.size() + style.close.size() <= 256;
}

std::string restyled(std::string_view object, const ObjectStyle& style) {
  std::vector<MemberSpan> members;
  if (scan_object(object, members) || members.empty()) return std::string(object);
  std::string result = "{";
  for (std::size_t i = 0; i < members.size(); ++i) {
    result += i == 0 ? style.open : style.between;
    result.append(members[i].key.of(object)).append(style.colon).append(members[i].value.of(object));
  }
  return result += style.close + "}";
}

}  // namespace

InboxDocument InboxDocument::scan(std::string bytes, const KeyScope& scope) {
  InboxDocument document;
  document.bytes_ = std::move(bytes);
  if (is_blank(document.bytes_)) {
    document.array_ = {document.bytes_.size(), document.bytes_.size()};
    return document;
  }
  ArrayScan scanned = scan_array(document.bytes_);
  document.array_ = scanned.array;
  document.problem_ = std::move(scanned.problem);
  document.entries_.reserve(scanned.elements.size());
  EntryReader reader(scope);
  for (const Span& element : scanned.elements) document.entries_.push_back(reader.read(document.bytes_, element));
  return document;
}

std::optional<InPlaceEdit> InboxDocument::mark_read_edit(std::size_t index) const {
  if (index >= entries_.size() || entries_[index].read != ReadFlag::unread) return std::nullopt;
  const InboxEntry& entry = entries_[index];
  InPlaceEdit edit{entry.bytes.begin, std::string(entry_bytes(entry)), std::string(entry_bytes(entry))};
  edit.after.replace(entry.read_value.begin - entry.bytes.begin, entry.read_value.size(), "true ");
  return edit;
}

std::string InboxDocument::with_marked_read(std::span<const std::size_t> indexes) const {
  std::vector<bool> marked(entries_.size());
  for (const std::size_t index : indexes) {
    if (index < marked.size()) marked[index] = true;
  }
  std::string result;
  std::size_t copied = 0;
  const auto replace = [&](Span span, std::string_view with) {
    result.append(bytes_, copied, span.begin - copied).append(with);
    copied = span.end;
  };
  std::vector<MemberSpan> members;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const InboxEntry& entry = entries_[i];
    if (!marked[i] || entry.read == ReadFlag::read) continue;
    if (entry.read != ReadFlag::absent) {
      replace(entry.read_value, "true");
      continue;
    }
    const std::string_view object = entry_bytes(entry);
    if (scan_object(object, members)) continue;  // not an object: there is nothing to mark
    if (members.empty()) {
      replace({entry.bytes.begin + 1, entry.bytes.begin + 1}, "\"read\":true");
    } else {
      const ObjectStyle style = style_of(object, members);
      const std::size_t end = entry.bytes.begin + members.back().value.end;
      replace({end, end}, style.between + "\"read\"" + style.colon + "true");
    }
  }
  return result.append(bytes_, copied);
}

std::string InboxDocument::with_appended(std::string_view entry) const {
  if (problem_) return bytes_;
  const std::string newline = bytes_.find("\r\n") == std::string::npos ? "\n" : "\r\n";
  const ObjectStyle indented = indented_style(newline);
  if (entries_.empty()) {
    const std::string array = "[" + newline + "  " + restyled(entry, indented) + newline + "]";
    return bytes_.substr(0, array_.begin) + array + bytes_.substr(array_.end);
  }

  const Span last = entries_.back().bytes;
  const bool single = entries_.size() == 1;
  const std::size_t gap_begin = single ? array_.begin + 1 : entries_[entries_.size() - 2].bytes.end;
  std::string separator = (single ? "," : "") + bytes_.substr(gap_begin, last.begin - gap_begin);
  ObjectStyle style = indented;
  if (separator.find('\n') == std::string::npos) style = {"", ",", ":", ""};
  if (separator.size() > 256) separator = "," + newline + "  ";

  std::vector<MemberSpan> members;
  if (const std::string_view neighbour = last.of(bytes_); !scan_object(neighbour, members) && !members.empty()) {
    if (ObjectStyle theirs = style_of(neighbour, members); is_reasonable(theirs)) style = std::move(theirs);
  }
  return bytes_.substr(0, last.end) + separator + restyled(entry, style) + bytes_.substr(last.end);
}

std::string InboxDocument::with_removed(std::span<const std::size_t> indexes) const {
  if (problem_ || entries_.empty()) return bytes_;
  std::vector<Span> elements;
  elements.reserve(entries_.size());
  for (const InboxEntry& entry : entries_) elements.push_back(entry.bytes);
  std::vector<bool> dropped(entries_.size());
  for (const std::size_t index : indexes) {
    if (index < dropped.size()) dropped[index] = true;
  }
  return without_elements(bytes_, array_, elements, dropped);
}

}  // namespace inbox_poller::schema
