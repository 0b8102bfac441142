#include "schema/json_scan.hpp"

#include <array>
#include <cstdio>

#include "schema/plain_run.hpp"

namespace inbox_poller::schema {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

/// Moves over one text. Every function that returns false has set problem_ and left position_ at it.
class Scanner {
 public:
  explicit Scanner(std::string_view text, std::size_t most_parts = std::numeric_limits<std::size_t>::max())
      : text_(text), most_parts_(most_parts) {}

  [[nodiscard]] std::size_t position() const { return position_; }
  [[nodiscard]] bool at_end() const { return position_ == text_.size(); }
  [[nodiscard]] std::optional<ScanProblem> problem() const { return problem_; }

  void skip_bom() {
    if (text_.substr(position_).starts_with("\xEF\xBB\xBF")) position_ += 3;
  }

  void skip_space() {
    while (!at_end() && is_space(text_[position_])) ++position_;
  }

  bool take(char c) {
    if (at_end() || text_[position_] != c) return false;
    ++position_;
    return true;
  }

  bool fail(std::string_view expected) {
    problem_ = ScanProblem{position_, "expected " + std::string(expected) + ", found " + what_is_here()};
    return false;
  }

  /// Reads the array or object that the whole text is; appends its complete parts.
  bool container(char open, std::vector<MemberSpan>& parts) {
    if (at_end() || text_[position_] != open) {
      return fail(open == '[' ? "'[' at the beginning of an array" : "'{' at the beginning of an object");
    }
    return value(parts);
  }

  /// Reads the text after an element of an array that began before the text.
  bool rest_of_array(std::vector<MemberSpan>& parts) {
    open_.push_back(']');
    return behind_value(parts) || (!problem_ && value(parts));
  }

  bool end_of_text() {
    skip_space();
    return at_end() || fail("the end of the text");
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

  [[nodiscard]] std::string what_is_here() const {
    if (at_end()) return "the end of the text";
    const char c = text_[position_];
    if (c > ' ' && c < '\x7F') return std::string("'") + c + "'";
    std::array<char, 16> name;
    std::snprintf(name.data(), name.size(), "byte 0x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
    return name.data();
  }

  bool literal(std::string_view word) {
    for (const char c : word) {
      if (!take(c)) return fail("the literal " + std::string(word));
    }
    return true;
  }

  /// Reads one value with its contents. The parts of its outermost container go to `parts`.
  bool value(std::vector<MemberSpan>& parts) {
    for (;;) {
      const std::size_t depth = open_.size();
      if (depth == 1) part_.value.begin = position_;
      if (!scalar_or_open()) return false;
      if (open_.size() > depth) continue;
      if (open_.size() == 1) end_part(parts);
      if (behind_value(parts)) return true;
      if (problem_) return false;
    }
  }

  bool too_many() {
    problem_ = ScanProblem{--position_, "more than " + std::to_string(most_parts_) + " entries"};
    return false;
  }

  void end_part(std::vector<MemberSpan>& parts) {
    part_.value.end = position_;
    parts.push_back(part_);
  }

  /// Closes the containers that end after a value. Returns false without a problem if another value must follow.
  bool behind_value(std::vector<MemberSpan>& parts) {
    while (!open_.empty()) {
      skip_space();
      const bool in_object = open_.back() == '}';
      if (take(',')) {
        if (open_.size() == 1 && parts.size() == most_parts_) return too_many();
        skip_space();
        if (in_object) key();
        return false;
      }
      if (!take(open_.back())) return fail(in_object ? "',' or '}' after a member" : "',' or ']' after an element");
      open_.pop_back();
      if (open_.size() == 1) end_part(parts);
    }
    return true;
  }

  /// Reads a scalar, an empty container, or the beginning of a container up to its first value.
  bool scalar_or_open() {
    if (at_end()) return fail("a value");
    const char c = text_[position_];
    switch (c) {
      case '"': return string();
      case 't': return literal("true");
      case 'f': return literal("false");
      case 'n': return literal("null");
      case '[':
      case '{': {
        ++position_;
        skip_space();
        const char close = c == '[' ? ']' : '}';
        if (take(close)) return true;
        open_.push_back(close);
        return c == '[' || key();
      }
      default: return c == '-' || is_digit(c) ? number() : fail("a value");
    }
  }

  /// Reads a key, the ':' and the white space after it.
  bool key() {
    const std::size_t begin = position_;
    if (at_end() || text_[position_] != '"') return fail("a key in quotes");
    if (!string()) return false;
    if (open_.size() == 1) part_.key = {begin, position_};
    skip_space();
    if (!take(':')) return fail("':' after a key");
    skip_space();
    return true;
  }

  bool string() {
    const std::size_t begin = position_++;
    for (;;) {
      position_ = end_of_plain<PlainEnds{.other = '"'}>(text_, position_);
      if (at_end()) break;
      if (take('"')) return true;
      if (!escape()) return false;
    }
    problem_ = ScanProblem{position_, "the string that begins at byte " + std::to_string(begin) + " is not ended"};
    return false;
  }

  bool escape() {
    ++position_;
    if (at_end()) return true;  // string() reports the missing end
    const char c = text_[position_];
    switch (c) {
      case '"':
      case '\\':
      case '/':
      case 'b':
      case 'f':
      case 'n':
      case 'r':
      case 't': ++position_; return true;
      case 'u': ++position_; break;
      default: return fail("an escape such as \\n or \\u0041");
    }
    for (int i = 0; i < 4; ++i) {
      if (at_end()) return true;
      if (!is_hex_digit(text_[position_])) return fail("four hexadecimal digits after \\u");
      ++position_;
    }
    return true;
  }

  bool digits() {
    if (at_end() || !is_digit(text_[position_])) return fail("a digit");
    while (!at_end() && is_digit(text_[position_])) ++position_;
    return true;
  }

  bool number() {
    take('-');
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      return digits();
    }
    return true;
  }

  std::string_view text_;
  std::size_t most_parts_;  // of the outermost container
  std::size_t position_ = 0;
  std::optional<ScanProblem> problem_;
  std::vector<char> open_;  // the closing bracket of each open container
  MemberSpan part_;         // of the outermost container
};

}  // namespace

ArrayScan scan_array(std::string_view text, ArrayFrom from, std::size_t most) {
  ArrayScan result;
  Scanner scanner(text, most);
  std::vector<MemberSpan> parts;
  bool complete = false;
  if (from == ArrayFrom::element) {
    complete = scanner.rest_of_array(parts);
  } else {
    scanner.skip_bom();
    scanner.skip_space();
    result.array.begin = scanner.position();
    complete = scanner.container('[', parts);
  }
  result.array.end = scanner.position();
  if (complete) scanner.end_of_text();
  result.elements.reserve(parts.size());
  for (const MemberSpan& part : parts) result.elements.push_back(part.value);
  result.problem = scanner.problem();
  return result;
}

std::string without_elements(std::string_view text, Span array, const std::vector<Span>& elements,
                             const std::vector<bool>& dropped) {
  std::string result(text.substr(0, array.begin));
  bool kept_one = false;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (dropped[i]) continue;
    // The first kept element moves to the first place; every other one keeps the bytes between it and its predecessor.
    const std::size_t before = kept_one ? elements[i - 1].end : array.begin;
    const std::size_t before_end = kept_one ? elements[i].begin : elements[0].begin;
    result += text.substr(before, before_end - before);
    result += elements[i].of(text);
    kept_one = true;
  }
  if (!kept_one) return result.append("[]").append(text.substr(array.end));
  return result.append(text.substr(elements.back().end));
}

ObjectScan scan_members(std::string_view text) {
  ObjectScan result;
  result.members.reserve(8);  // an entry has about that many
  Scanner scanner(text);
  scanner.skip_space();
  if (scanner.container('{', result.members)) scanner.end_of_text();
  result.problem = scanner.problem();
  return result;
}

Result<std::vector<MemberSpan>> scan_object(std::string_view text) {
  ObjectScan scan = scan_members(text);
  if (!scan.problem) return std::move(scan.members);
  return Error{"json.syntax", scan.problem->what + " at byte " + std::to_string(scan.problem->offset)};
}

std::optional<std::string_view> find_member(std::string_view text, const std::vector<MemberSpan>& members,
                                            std::string_view key) {
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    const std::string_view token = member->key.of(text);
    const bool escaped = token.find('\\') != std::string_view::npos;
    if (escaped ? decode_string(token) == key : token.substr(1, token.size() - 2) == key) return member->value.of(text);
  }
  return std::nullopt;
}

std::optional<std::string_view> find_member(std::string_view text, std::string_view key) {
  const auto members = scan_object(text);
  return members ? find_member(text, *members, key) : std::nullopt;
}

}  // namespace inbox_poller::schema
