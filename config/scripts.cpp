#include "config/scripts.hpp"

#include <algorithm>
#include <cctype>

namespace inbox_poller::config {
namespace {

using Why = std::optional<std::string>;

bool ends_a_word(char c) { return c == ' ' || c == '\t' || c == '\n' || c == ';'; }

/// A reader of a sed script, command by command.
class Sed {
 public:
  explicit Sed(std::string_view text) : text_(text) {}

  Why run() {
    while (pos_ < text_.size()) {
      skip([](char c) { return ends_a_word(c) || c == '}' || c == '{'; });
      if (pos_ >= text_.size()) break;
      if (!address()) return "which cannot be read with certainty";
      if (const Why why = command()) return why;
    }
    return std::nullopt;
  }

 private:
  template <class Check>
  void skip(Check check) {
    while (pos_ < text_.size() && check(text_[pos_])) ++pos_;
  }

  /// Moves past the delimiter `end`; false if the script ends first. A delimiter in brackets also ends the text,
  /// because sed programs differ. The shorter reading leaves characters that are not flags.
  bool past(char end) {
    for (; pos_ < text_.size(); ++pos_) {
      if (text_[pos_] == end) return ++pos_, true;
      if (text_[pos_] == '\\') ++pos_;
    }
    return false;
  }

  /// Moves past a regular expression; also false if the delimiter is in its brackets, because either reading may be the
  /// one that runs.
  bool past_expression(char end) {
    const std::size_t begin = pos_;
    if (!past(end)) return false;
    bool inside = false;
    for (std::size_t at = begin; at + 1 < pos_; ++at) {
      const char c = text_[at];
      if (c == '\\') {
        ++at;
      } else if (inside && c == '[' && std::string_view(":.=").find(text_[at + 1]) != std::string_view::npos) {
        const char close[] = {text_[at + 1], ']'};
        at = text_.find({close, 2}, at + 2);
        if (at >= pos_) return false;
        ++at;
      } else if (!inside && c == '[') {
        inside = true;
        if (text_[at + 1] == '^') ++at;
        if (text_[at + 1] == ']') ++at;
      } else if (c == ']') {
        inside = false;
      }
    }
    return !inside;
  }

  bool address() {
    for (int part = 0; part < 2; ++part) {
      skip([](char c) { return c == ' ' || c == '\t'; });
      if (pos_ >= text_.size()) return true;
      const char c = text_[pos_];
      if (c == '/' || c == '\\') {
        pos_ += c == '/' ? 1 : 2;
        if (pos_ > text_.size() || !past_expression(text_[pos_ - 1])) return false;
        skip([](char flag) { return flag == 'I' || flag == 'M'; });
      } else {
        skip([](char n) {
          return std::isdigit(static_cast<unsigned char>(n)) != 0 || n == '$' || n == '~' || n == '+';
        });
      }
      skip([](char b) { return b == ' ' || b == '\t'; });
      if (pos_ < text_.size() && text_[pos_] == ',') {
        ++pos_;
      } else {
        break;
      }
    }
    skip([](char c) { return c == '!' || c == ' ' || c == '\t'; });
    return true;
  }

  Why command() {
    if (pos_ >= text_.size()) return std::nullopt;
    const char c = text_[pos_++];
    switch (c) {
      case 's': return substitute();
      case 'y': return substitution_texts(false) ? std::nullopt : Why("which cannot be read with certainty");
      case 'e': return "which runs commands";
      case 'w':
      case 'W': return write_target();
      case 'r':
      case 'R': return "which reads another file";
      case 'a':
      case 'i':
      case 'c': return text_lines();
      case 'b':
      case 't':
      case 'T':
      case ':':
        skip([](char n) { return n == ' ' || n == '\t'; });
        skip([](char n) { return !ends_a_word(n) && n != '}'; });
        return std::nullopt;
      case '#': skip([](char n) { return n != '\n'; }); return std::nullopt;
      case '{':
      case '}': return std::nullopt;
      default:
        if (std::string_view("dDgGhHnNpPxzFl=qQ").find(c) == std::string_view::npos)
          return "which cannot be read with certainty";
        skip([](char n) { return std::isdigit(static_cast<unsigned char>(n)) != 0 || n == ' '; });
        return std::nullopt;
    }
  }

  bool substitution_texts(bool expression) {
    if (pos_ >= text_.size()) return false;
    const char end = text_[pos_++];
    return end != '\\' && end != '\n' && (expression ? past_expression(end) : past(end)) && past(end);
  }

  Why substitute() {
    if (!substitution_texts(true)) return "which cannot be read with certainty";
    for (; pos_ < text_.size() && !ends_a_word(text_[pos_]) && text_[pos_] != '}' && text_[pos_] != '#'; ++pos_) {
      if (text_[pos_] == 'e') return "which runs commands";
      if (text_[pos_] == 'w') return ++pos_, write_target();
      if (std::string_view("gpiImM0123456789").find(text_[pos_]) == std::string_view::npos)
        return "which cannot be read with certainty";
    }
    return std::nullopt;
  }

  Why write_target() {
    const std::string_view name = text_.substr(pos_, text_.find('\n', pos_) - pos_);
    const std::size_t begin = std::min(name.find_first_not_of(" \t"), name.size());
    pos_ = std::min(text_.find('\n', pos_), text_.size());
    if (name.substr(begin) == "/dev/stdout" || name.substr(begin) == "/dev/stderr") return std::nullopt;
    return "which writes a file";
  }

  /// Reads `a\` and its lines, as long as each ends in a backslash; or `a text`.
  Why text_lines() {
    while (pos_ < text_.size()) {
      if (text_[pos_] == '\\') {
        ++pos_;
      } else if (text_[pos_] == '\n') {
        break;
      }
      ++pos_;
    }
    return std::nullopt;
  }

  std::string_view text_;
  std::size_t pos_ = 0;
};

/// A reader of an awk script. It finds signs that run or write outside of strings and regular expressions, and
/// suspicious words anywhere. A script is not understood if a `/` may be a division or a regular expression and a quote
/// depends on it.
class Awk {
 public:
  explicit Awk(std::string_view text) : text_(text) {}

  Why run() {
    for (const std::string_view word : {"system", "getline", "ARGV", "ARGC", "PROCINFO", "SYMTAB", "FUNCTAB", "@"}) {
      if (text_.find(word) != std::string_view::npos && (word.size() > 1 || names_behind_at()))
        return "which runs or reads what it computes";
    }
    for (; pos_ < text_.size(); ++pos_) {
      if (const Why why = step(text_[pos_])) return why;
    }
    return std::nullopt;
  }

 private:
  static bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

  bool names_behind_at() const {
    for (std::size_t sign = text_.find('@'); sign != std::string_view::npos; sign = text_.find('@', sign + 1)) {
      const std::size_t at = text_.find_first_not_of(" \t\\\r\n", sign + 1);
      if (at != std::string_view::npos && in_word(text_[at])) return true;
    }
    return false;
  }

  Why step(char c) {
    if (c == '"') return before_ = 'x', skip_to('"', false) ? std::nullopt : unclear();
    if (c == '/') return slash();
    if (in_word(c)) return word();
    if (c == '#') return pos_ = std::min(text_.find('\n', pos_), text_.size()), std::nullopt;
    if (c == '|' && text_.substr(pos_, 2) != "||") return "which runs commands";
    if (c == '>' && printing_) {
      const std::size_t target = std::min(text_.find_first_not_of("> \t", pos_), text_.size());
      const std::string_view name = text_.substr(target, 13);
      const std::size_t next = text_.find_first_not_of(" \t", std::min(target + name.size(), text_.size()));
      const bool is_all =
          next == std::string_view::npos || std::string_view(";}\n#").find(text_[next]) != std::string_view::npos;
      if ((name != "\"/dev/stderr\"" && name != "\"/dev/stdout\"") || !is_all) return "which writes a file";
    }
    const bool goes_on = c == '\n' && std::string_view(",\\&|?:").find(before_) != std::string_view::npos;
    if (std::string_view("{};\n").find(c) != std::string_view::npos && !goes_on) printing_ = false;
    if (c == '|') ++pos_;
    if (c != ' ' && c != '\t') before_ = c;
    return std::nullopt;
  }

  Why word() {
    const std::size_t begin = pos_;
    while (pos_ + 1 < text_.size() && in_word(text_[pos_ + 1])) ++pos_;
    const std::string_view found = text_.substr(begin, pos_ + 1 - begin);
    const bool keyword = found == "print" || found == "printf" || found == "return" || found == "in" ||
                         found == "case" || found == "else" || found == "do" || found == "delete" || found == "exit";
    printing_ = printing_ || found == "print" || found == "printf";
    before_ = keyword ? ';' : 'x';
    return std::nullopt;
  }

  Why slash() {
    const bool expression =
        std::string_view("(,=!~&|{};\n?:+-*%<>^").find(before_) != std::string_view::npos || before_ == '\0';
    const bool after_step = pos_ > 1 && (text_.substr(0, pos_).find("++") != std::string_view::npos ||
                                         text_.substr(0, pos_).find("--") != std::string_view::npos);
    if (expression && after_step && (before_ == '+' || before_ == '-')) return unclear();
    if (expression) return before_ = 'x', skip_to('/', true) ? std::nullopt : unclear();
    const std::string_view rest = text_.substr(pos_ + 1);
    if (rest.substr(0, rest.find_first_of("/\n")).find('"') != std::string_view::npos &&
        rest.find('/') != std::string_view::npos)
      return unclear();
    before_ = '/';
    return std::nullopt;
  }

  /// Moves to the closing sign; brackets of a regular expression may contain it.
  bool skip_to(char end, bool brackets) {
    bool inside = false;
    for (++pos_; pos_ < text_.size() && (text_[pos_] != end || inside); ++pos_) {
      const char c = text_[pos_];
      if (c == '\\') ++pos_;
      if (c == '\n') return false;
      if (!brackets || c == '\\') continue;
      // Programs differ in what ends brackets that begin with one.
      if (inside && c == '"') return false;
      if (inside && c == '[' && text_.substr(pos_ + 1, 1) == ":") {
        pos_ = text_.find(":]", pos_);
        if (pos_ == std::string_view::npos) return false;
        ++pos_;
      } else if (c == '[' || c == ']') {
        inside = c == '[';
        const std::size_t first = pos_ + (text_.substr(pos_ + 1, 1) == "^" ? 2 : 1);
        if (inside && text_.substr(std::min(first, text_.size()), 1) == "]") return false;
      }
    }
    return pos_ < text_.size();
  }

  static Why unclear() { return "which cannot be read with certainty"; }

  std::string_view text_;
  std::size_t pos_ = 0;
  bool printing_ = false;  // since the statement's `print`, so a `>` is a redirection
  char before_ = '\0';     // the last character that was no blank, which decides the meaning of a `/`
};

/// Returns true if the word is in the text outside of any other name.
bool has_word(std::string_view text, std::string_view word) {
  const auto part_of_name = [&](std::size_t at) {
    return at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_' || text[at] == '.');
  };
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    if (!(at > 0 && part_of_name(at - 1)) && !part_of_name(at + word.size())) return true;
  }
  return false;
}

}  // namespace

Why script_surprise(std::string_view program, std::string_view script) {
  if (program.ends_with("sed")) return Sed(script).run();
  if (program.ends_with("awk")) return Awk(script).run();
  if (program == "jq" || program == "yq") {
    for (const std::string_view word : {"import", "include", "load", "load_str", "strload", "load_props", "load_xml",
                                        "load_base64", "eval", "system"}) {
      if (has_word(script, word)) return "which reads other files";
    }
    return std::nullopt;
  }
  std::string folded(script);  // sqlite3
  std::ranges::transform(folded, folded.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const std::string_view harmless : {".tables", ".schema", ".headers", ".mode", ".databases", ".indexes"}) {
    if (folded.starts_with(harmless) && folded.find('\n') == std::string::npos) return std::nullopt;
  }
  for (const std::string_view word : {"load_extension", "writefile", "readfile", "edit", "attach", "vacuum",
                                      "fts3_tokenizer", "fsdir", "zipfile", "sqlar_uncompress"}) {
    if (has_word(folded, word)) return "which runs, reads or writes other files";
  }
  return folded.find('.') == 0 || folded.find("\n.") != std::string::npos ? Why("which may run or write anything")
                                                                          : std::nullopt;
}

}  // namespace inbox_poller::config
