#include "config/shell_split.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "config/quoted_document.hpp"
#include "config/text.hpp"

namespace inbox_poller::config {
namespace {

constexpr int deepest_substitution = 8;

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_char(char c) { return is_name_start(c) || is_digit(c); }
bool ends_word(char c) { return is_blank(c) || std::string_view("\n;&|<>()").find(c) != std::string_view::npos; }
bool is_descriptor(std::string_view text) { return !text.empty() && std::ranges::all_of(text, is_digit); }

/// Matches NAME=value or NAME+=value, with nothing quoted up to the `=`.
bool is_assignment(std::string_view text) {
  if (text.empty() || !is_name_start(text.front())) return false;
  const auto end = static_cast<std::size_t>(std::ranges::find_if_not(text, is_name_char) - text.begin());
  return text.substr(end, 1) == "=" || text.substr(end, 2) == "+=";
}

class Splitter {
 public:
  Splitter(std::string_view text, int depth) : text_(text), depth_(depth) {}

  ShellLine run() {
    while (pos_ < text_.size()) {
      const char c = text_[pos_];
      if (is_blank(c) || starts_with("\\\n")) {
        pos_ += is_blank(c) ? 1 : 2;
      } else if (c == '#') {
        skip_comment();
      } else if (c == '(' || c == ')') {
        c == '(' ? open_group() : close_group();
      } else if (c == '<' || c == '>' || starts_with("&>")) {
        read_redirection();
      } else if (ends_word(c)) {
        read_operator();
      } else {
        read_argument();
      }
    }
    end_part();
    if (open_groups_ > 0) doubt("has a parenthesis that is not closed");
    return std::move(line_);
  }

 private:
  void doubt(std::string_view why) {
    if (line_.doubt.empty()) line_.doubt = why;
  }

  [[nodiscard]] bool starts_with(std::string_view prefix) const { return text_.substr(pos_, prefix.size()) == prefix; }
  [[nodiscard]] char peek(std::size_t ahead) const { return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\0'; }

  void read_operator() {
    const bool negated = !part_.words.empty() && part_.words.front().text == "!";
    const bool chained = starts_with("&&") && !after_group_ && !negated;
    const bool pipe = text_[pos_] == '|' && peek(1) != '|';
    const bool goes_on = text_[pos_] == '\n' && part_.words.empty() && part_.piped;  // the line ended after a `|`
    end_part();
    after_group_ = false;
    pos_ += starts_with("&&") || starts_with("||") || starts_with("|&") ? 2 : 1;
    part_.chained = chained;
    part_.piped = pipe || goes_on;
  }

  /// Skips to the end of the line. Not every shell skips a comment, so it must be plain text, which is at worst
  /// arguments.
  void skip_comment() {
    const std::size_t end = std::min(text_.find('\n', pos_), text_.size());
    const std::string_view comment = text_.substr(pos_, end - pos_);
    const bool last = end == text_.size();
    if (comment.find_first_of(last ? ";&|<>()$`\\" : ";&|<>()$`\\\"'") != std::string_view::npos)
      doubt("has a comment with signs that not every shell skips");
    pos_ = end;
  }

  /// Reads a `(`, which begins a group in the place of a command. Elsewhere it is a function, an array or a pattern.
  void open_group() {
    const std::size_t next = text_.find_first_not_of(" \t\n", pos_ + 1);
    const bool begins = part_.text.empty() && part_.redirections.empty() && !after_group_;
    const bool hollow = next == std::string_view::npos || text_[next] == ')' || peek(1) == '(';
    if (!begins || hollow) doubt("defines a function, or uses parentheses for more than a group of commands");
    end_part();
    ++open_groups_;
    ++pos_;
  }

  void close_group() {
    end_part();
    if (open_groups_ == 0) doubt("closes a parenthesis that is not open");
    if (open_groups_ > 0) --open_groups_;
    after_group_ = true;
    ++pos_;
  }

  void behind_group() {
    if (after_group_) doubt("has words or redirections behind a group of commands");
  }

  void literal(ShellWord& word) { word.value += text_[pos_++]; }

  void read_argument() {
    behind_group();
    ShellWord word = read_word();
    const bool touches_redirection = peek(0) == '<' || peek(0) == '>';
    if (touches_redirection && is_descriptor(word.text)) return;  // the file descriptor of `2>…`
    if (touches_redirection && word.text.starts_with('{'))  // brackets in it are evaluated by bash: `{a[$(x)]}>f`
      doubt("keeps the number of a file in a variable, with {…}> or {…}<");
    if (!part_.text.empty()) part_.text += ' ';
    word.at = part_.text.size();
    part_.text += word.text;
    const bool assigns = part_.words.empty() && is_assignment(word.text);
    (assigns ? part_.assignments : part_.words).push_back(std::move(word));
  }

  ShellWord read_word() {
    ShellWord word;
    const std::size_t begin = pos_;
    while (pos_ < text_.size() && !ends_word(text_[pos_])) {
      switch (text_[pos_]) {
        case '\\': read_backslash(word); break;
        case '\'': read_single_quoted(word); break;
        case '"': read_double_quoted(word); break;
        case '$': read_dollar(word, false); break;
        case '`': read_backtick(word); break;
        case '*':
        case '?':
        case '[':
        case '{':
          word.expands = word.splits = true;
          word.braces = word.braces || text_[pos_] == '{';
          literal(word);
          break;
        case '=':  // at the start of a word, zsh replaces =name by a path
          word.expands = word.expands || pos_ == begin;
          literal(word);
          break;
        default: literal(word);
      }
    }
    word.text = text_.substr(begin, pos_ - begin);
    if (word.text == "[") word.expands = word.splits = false;  // a program, and no pattern
    return word;
  }

  void read_backslash(ShellWord& word) {
    if (starts_with("\\\n")) return continue_line();
    if (++pos_ == text_.size()) return doubt("ends in a backslash");
    literal(word);
  }

  /// Reads a backslash at a line's end. Inside a word, `text` would differ from what is run.
  void continue_line() {
    doubt("breaks a word over two lines");
    pos_ += 2;
  }

  void read_single_quoted(ShellWord& word) {
    const std::size_t end = std::min(text_.find('\'', pos_ + 1), text_.size());
    if (end == text_.size()) doubt("has a quote that is not closed");
    word.value += text_.substr(pos_ + 1, end - pos_ - 1);
    pos_ = std::min(end + 1, text_.size());
  }

  void read_double_quoted(ShellWord& word) {
    ++pos_;
    while (pos_ < text_.size() && text_[pos_] != '"') {
      const char c = text_[pos_];
      if (c == '$') {
        read_dollar(word, true);
      } else if (c == '`') {
        read_backtick(word);
      } else if (starts_with("\\\n")) {
        continue_line();
      } else {
        if (c == '\\' && std::string_view("$`\"\\").find(peek(1)) != std::string_view::npos) ++pos_;
        literal(word);
      }
    }
    if (pos_ == text_.size()) return doubt("has a quote that is not closed");
    ++pos_;
  }

  void read_dollar(ShellWord& word, bool quoted) {
    const char next = peek(1);
    if (quoted && next == '(' && read_document(word)) return;
    if (next == '(') {
      doubt("runs another command to build this one, with $(…)");
      return read_parentheses(word);
    }
    if (next == '[' || (!quoted && (next == '\'' || next == '"'))) {
      doubt("uses $'…', $\"…\" or $[…], which hides what the command is");
      return literal(word);
    }
    if (next == '{') {
      std::size_t end = pos_ + 2;
      while (end < text_.size() && is_name_char(text_[end])) ++end;
      if (end == pos_ + 2 || end >= text_.size() || text_[end] != '}') doubt("computes a value with ${…}");
      word.expands = true;
      word.splits = word.splits || !quoted;
      return literal(word);
    }
    if (is_name_char(next) || (next != '\0' && std::string_view("@*#?$!-").find(next) != std::string_view::npos)) {
      const auto name = text_.substr(pos_ + 1);
      const auto end = name.find_first_not_of("#_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
      if (name.substr(std::min(std::max<std::size_t>(end, 1), name.size())).starts_with('['))
        doubt("reads a part of a variable with […], which zsh evaluates");
      word.expands = true;
      word.splits = word.splits || !quoted || next == '@';
    } else if (!quoted && next != '\0' && std::string_view("=^~+:").find(next) != std::string_view::npos) {
      doubt("computes a value with an expansion of zsh");
    }
    literal(word);
    if (word.expands && pos_ < text_.size() && text_[pos_] == '#') literal(word);  // `$#` is not a comment
  }

  /// Reads `$(cat <<'EOF' …)` in double quotes as the document's text. False: another substitution.
  bool read_document(ShellWord& word) {
    const auto document = quoted_document(text_.substr(pos_));
    if (!document) return false;
    word.value += document->text;
    pos_ += document->length;
    ShellPart cat;
    cat.text = "cat";
    cat.words.push_back({"cat", "cat"});
    line_.silent.push_back(std::move(cat));
    return true;
  }

  void read_backtick(ShellWord& word) {
    doubt("runs another command to build this one, with backticks");
    nest(word, 1, std::min(text_.find('`', pos_ + 1), text_.size()));
  }

  /// Reads `$(`, `<(` or `>(` at the present place.
  void read_parentheses(ShellWord& word) {
    std::size_t end = pos_ + 2;
    for (int open = 1; end < text_.size(); ++end) {
      const char c = text_[end];
      if (c == '\\') {
        end = std::min(end + 1, text_.size() - 1);
      } else if (c == '\'' || c == '"') {
        const std::size_t close = text_.find(c, end + 1);
        if (close != std::string_view::npos) end = close;
      } else if (c == '(') {
        ++open;
      } else if (c == ')' && --open == 0) {
        break;
      }
    }
    nest(word, 2, end);
  }

  /// Splits the text between `opening` bytes and `end` as a line of its own, for deny rules only. The line is in doubt
  /// already, so a wrong end allows nothing.
  void nest(ShellWord& word, std::size_t opening, std::size_t end) {
    if (depth_ < deepest_substitution) {
      ShellLine inner = Splitter(text_.substr(pos_ + opening, end - pos_ - opening), depth_ + 1).run();
      std::ranges::move(inner.parts, std::back_inserter(line_.parts));
    }
    end = std::min(end + 1, text_.size());
    word.expands = word.splits = true;
    word.value += text_.substr(pos_, end - pos_);
    pos_ = end;
  }

  void read_redirection() {
    behind_group();
    if (starts_with("<<")) {
      doubt("has a here-document or here-string");
      while (peek(0) == '<') ++pos_;
      return;
    }
    if (starts_with("<(") || starts_with(">(")) {
      doubt("runs another command with <(…) or >(…)");
      ShellWord ignored;
      return read_parentheses(ignored);
    }
    static constexpr std::array operators = {"&>>", "&>", ">>", ">|", ">&", "<&", "<>", ">", "<"};
    const std::string_view op = *std::ranges::find_if(operators, [this](std::string_view o) { return starts_with(o); });
    pos_ += op.size();
    while (is_blank(peek(0)) || starts_with("\\\n")) pos_ += is_blank(peek(0)) ? 1 : 2;
    add_redirection(op, read_word());
  }

  void add_redirection(std::string_view op, const ShellWord& target) {
    const std::string_view name = target.value;
    if (op == ">&" || op == "<&") {
      if (name == "-" || is_descriptor(name)) return;
      if (op == "<&") return doubt("redirects from a descriptor that the shell computes");
    }
    if (name.empty()) return doubt("has a redirection without a file");
    if (name == "/dev/null" || name == "/dev/stdout" || name == "/dev/stderr") return;
    const bool network = name.starts_with("/dev/tcp/") || name.starts_with("/dev/udp/");
    if (target.expands || network || name.front() == '!') {
      doubt("redirects to or from a name that the shell computes or opens as a connection");
    }
    part_.redirections.push_back({target.value, op != "<" && op != "<&"});
    if (op == "<>") part_.redirections.push_back({target.value, false});
  }

  void end_part() {
    ShellPart part = std::exchange(part_, {});
    part.grouped = open_groups_ > 0;
    if (part.words.size() > 1 && part.words.front().text == "!" && part.assignments.empty() && !part.piped)
      drop_negation(part);
    if (part.words.empty()) {
      if (!part.assignments.empty()) doubt("sets a variable for the commands behind it");
      if (!part.redirections.empty()) doubt("has a redirection without a command");
      if (part.assignments.empty() && part.redirections.empty()) return;
    } else if (part.words.front().expands) {
      doubt("has a command name that the shell computes");
    } else if (is_shell_keyword(part.words.front().value)) {
      doubt("uses shell grammar beyond simple commands (" + part.words.front().value + ")");
    }
    line_.parts.push_back(std::move(part));
  }

  /// Removes the `!` of `! grep -q x`, which runs grep.
  static void drop_negation(ShellPart& part) {
    const std::size_t gone = part.words[1].at;
    part.words.erase(part.words.begin());
    part.text.erase(0, gone);
    for (ShellWord& word : part.words) word.at -= gone;
  }

  std::string_view text_;
  int depth_;
  std::size_t pos_ = 0;
  ShellLine line_;
  ShellPart part_;
  int open_groups_ = 0;
  bool after_group_ = false;
};

}  // namespace

bool is_shell_keyword(std::string_view word) {
  static constexpr std::string_view keywords[] = {
      "if",   "then", "elif", "else",   "fi",     "for",      "foreach", "while",  "until",    "do",
      "done", "end",  "case", "esac",   "select", "function", "coproc",  "{",      "}",        "!",
      "[[",   "]]",   "-",    "repeat", "in",     "let",      "((",      "always", "nocorrect"};
  return std::ranges::find(keywords, word) != std::end(keywords);
}

ShellLine split_shell_line(std::string_view text) {
  ShellLine line = Splitter(text, 0).run();
  if (text.size() > longest_command) line.doubt = "is longer than 10,000 characters";
  if (const auto odd = find_odd_character(text, LineBreaks::accepted)) line.doubt = "contains " + *odd;
  if (line.parts.empty() && line.doubt.empty()) line.doubt = "is empty";
  return line;
}

}  // namespace inbox_poller::config
