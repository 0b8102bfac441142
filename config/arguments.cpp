#include "config/arguments.hpp"

#include <algorithm>
#include <cctype>

#include "config/argument_reader.hpp"
#include "config/command_words.hpp"
#include "config/handed_commands.hpp"
#include "config/text.hpp"
#include "schema/fold.hpp"

namespace inbox_poller::config {
namespace {

constexpr std::size_t most_spelled = 256;  // words of braces in one command; limits the work on a hostile line

}  // namespace

void ArgumentReader::add_input(const std::vector<ShellWord>& words) {
  for (const ShellWord& word : words) words_.push_back(&word);
}

void ArgumentReader::add_words(const ShellWord& word) {
  std::vector<std::string> made;
  const bool is_plain = word.text == word.value && spelled_.size() < most_spelled;
  if (!word.braces || (is_plain && expand(word.value, made) && made.size() == 1)) return words_.push_back(&word);
  if (!is_plain || made.empty()) {
    surprise(word, "of which the shell makes words that cannot be seen");
    return words_.push_back(&word);
  }
  for (std::string& one : made) {
    words_.push_back(&spelled_.emplace_back(word));
    spelled_.back().value = std::move(one);
    spelled_.back().braces = false;
  }
}

bool ArgumentReader::may_become_option(const ShellWord& word) {
  const std::string_view value = word.value;
  if (!word.expands) return false;
  if (value.find_first_not_of("*?") == std::string_view::npos) return true;
  if (!word.splits) return false;
  if (value.starts_with('-')) return value.find_first_of("*?[") < std::min(value.find('='), value.size());
  return std::string_view("?[{").find(value.front()) != std::string_view::npos;
}

void ArgumentReader::run() {
  const std::string_view first = words_.empty() ? std::string_view() : std::string_view(words_.front()->value);
  if (program_ == nullptr && !takes_plain_arguments(name_, first)) hand_on(0);
  for (at_ = 0; at_ < words_.size(); ++at_) read_word(*words_[at_]);
  settle();
  std::vector<ShellWord> handed;
  for (std::size_t i = handed_from_; i < words_.size(); ++i) handed.push_back(*words_[i]);
  if (!handed.empty()) out_.handed.push_back(std::move(handed));
}

void ArgumentReader::hand_on(const ShellWord& word, std::string_view value) {
  out_.handed.push_back({word});
  out_.handed.back().front().value = value;
}

void ArgumentReader::expect_unseen(bool replaces) {
  if (handed_from_ < words_.size()) out_.handed.back().push_back({"", "*", true});
  if (program_ == nullptr) return unseen(ArgumentRole::any);
  const std::size_t from = replaces ? 0 : operands_.size();
  for (std::size_t index = from; index <= operands_.size() + program_->operands.size(); ++index) {
    const ArgumentRole role = operand_role(index);
    unseen(role == ArgumentRole::program || role == ArgumentRole::sub || role == ArgumentRole::verb ? ArgumentRole::any
                                                                                                    : role);
    if (role == ArgumentRole::output) surprise(part_.words.front(), "a writer of files that cannot be seen");
  }
  if (in_place_ || writes_) unseen(ArgumentRole::write);
  if (!program_->risky && (outer_ == nullptr || !outer_->risky)) return;
  const auto xargs = std::ranges::find(part_.words, "xargs", &ShellWord::value);
  if (xargs != part_.words.end()) surprise(*xargs, "which hands on options that cannot be seen");
}

void ArgumentReader::add_redirections() {
  for (const Redirection& redirection : part_.redirections) {
    const ShellWord nameless;
    add_path(nameless, redirection.target, redirection.writes ? ArgumentRole::write : ArgumentRole::read);
  }
}

namespace {

/// Returns true for a file's address that is not written as its path: `file:///%2eenv`, `{file}:///x`.
bool hides_file(std::string_view value) {
  const std::string folded = schema::fold_case(value);
  const std::size_t file = folded.find("file:");
  if (file != std::string::npos && folded.find_first_of("%?#{[\\", file) != std::string::npos) return true;
  const std::string_view scheme = std::string_view(folded).substr(0, folded.find(":/"));
  return scheme.size() < folded.size() && scheme.find_first_of("{[") != std::string_view::npos &&
         scheme.find_first_of(" \"'/") == std::string_view::npos;
}

/// Returns true for a glob of source files: `*.ts`.
bool names_sources(std::string_view glob) {
  constexpr std::string_view kinds =
      " c cc cpp cs css go h hpp html java js jsx kt md php py rb rs scss swift ts tsx vue ";
  return glob.starts_with("*.") && glob.find_first_not_of("abcdefghijklmnopqrstuvwxyz", 2) == std::string_view::npos &&
         kinds.find(std::string(" ").append(glob.substr(2)).append(" ")) != std::string_view::npos;
}

}  // namespace

void ArgumentReader::read_word(const ShellWord& word) {
  const std::string_view value = word.value;
  if (resting_) hand_on(at_);
  if (resting_) return add_any(word, value);
  if (shell_fills_anything(value) && program_ != nullptr && program_->name != "echo" && program_->name != "printf")
    surprise(word, "which stands for what the line did before");
  if (name_ == "curl" && hides_file(value)) out_.unseen_reads = true;
  if (ended_) return operand(word);
  const std::string_view sub = subcommand_ > 0 ? std::string_view(part_.words[subcommand_].value) : "";
  if (value == "--" && name_ == "cargo" && sub != "run" && sub != "r") return;  // options of a test are known as well
  if (value == "--") {
    ended_ = true;
    return;
  }
  const bool is_risky = (program_ != nullptr && program_->risky) || (outer_ != nullptr && outer_->risky);
  if (is_risky && may_become_option(word)) surprise(word, "which may become an option");
  if (value.starts_with("--")) return long_option(word);
  if (value.starts_with('-') && value.size() > 1) return short_options(word, value.substr(1), 1);
  if (name_ == "cargo" && value.starts_with('+') && value.find('/') != std::string_view::npos)
    surprise(word, "which is a folder with programs to run");
  if (value.starts_with('+') && find("+") != nullptr) return surprise(word, "which runs something at the start");
  operand(word);
}

const ProgramOption* ArgumentReader::find(std::string_view name) const {
  if (name.starts_with("-test.") && one_dash()) return find("-" + std::string(name.substr(6)));
  for (const Program* program : {program_, outer_}) {
    if (program == nullptr) continue;
    for (const ProgramOption& option : program->options)
      if (option.name == name) return &option;
  }
  return nullptr;
}

const ProgramOption* ArgumentReader::find_long(std::string_view name) const {
  if (const ProgramOption* exact = find(name)) return exact;
  if (one_dash()) return find(name.substr(1));
  const ProgramOption* best = nullptr;
  for (const Program* program : {program_, outer_}) {
    if (program == nullptr || program->whole || name.size() < 3) continue;
    for (const ProgramOption& option : program->options) {
      if (!option.name.starts_with(name) || !option.name.starts_with("--")) continue;
      if (best == nullptr || option.runs || option.role == ArgumentRole::output || option.in_place) best = &option;
    }
  }
  return best;
}

bool ArgumentReader::one_dash() const {
  return (program_ != nullptr && program_->long_dash) || (outer_ != nullptr && outer_->long_dash);
}

void ArgumentReader::long_option(const ShellWord& word) {
  const std::string_view value = word.value;
  const std::size_t equals = std::min(value.find('='), value.size());
  const std::string_view name = value.substr(0, equals);
  const ProgramOption* option = find_long(name);
  if (name_ == "curl" && name.starts_with("--expand-")) surprise(word, "which fills in what cannot be seen");
  if (option == nullptr) {
    if (equals == value.size()) odd_ = at_ + 1;
    if (equals < value.size()) unlisted_value(word, value.substr(equals + 1));
    return;
  }
  if (equals < value.size()) return use(*option, word, word, value.substr(equals + 1));
  take_value(*option, word);
}

void ArgumentReader::unlisted_value(const ShellWord& word, std::string_view value) {
  if (operand_role(operands_.size()) == ArgumentRole::code && foreign_code(value))
    surprise(word, "which brings code from elsewhere");
  add_any(word, value);
}

void ArgumentReader::short_options(const ShellWord& word, std::string_view letters, std::size_t from) {
  const std::string_view value = word.value;
  const std::size_t equals = std::min(value.find('='), value.size());
  if (from == 1 && is_npm_ && letters.size() > 1) {
    if (const ProgramOption* option = find_long("-" + std::string(value.substr(0, equals))))
      return equals < value.size() ? use(*option, word, word, value.substr(equals + 1)) : take_value(*option, word);
  }
  if (from == 1) {
    const ProgramOption* whole = find(value.substr(0, equals));
    if (whole != nullptr && value.substr(0, equals).size() > 2) {
      if (equals < value.size()) return use(*whole, word, word, value.substr(equals + 1));
      return take_value(*whole, word);
    }
    if (one_dash() && value.size() > 2) {
      const ProgramOption* letter = find(value.substr(0, 2));  // a joined option: `sqlite3 -Ax`
      if (letter != nullptr && letter->runs && !letter->outside) return use(*letter, word, word, value.substr(2));
      if (equals < value.size()) return unlisted_value(word, value.substr(equals + 1));
      odd_ = at_ + 1;
      return;
    }
  }
  if (program_ == nullptr) return add_any(word, value);
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const char name[] = {'-', letters[i], i + 1 < letters.size() ? letters[i + 1] : '\0'};
    const ProgramOption* option = find({name, 3});  // some options have names of two letters: `zip -rlf log`
    modes_ += letters[i];
    if (option != nullptr)
      modes_ += letters[++i];
    else
      option = find({name, 2});
    if (option == nullptr && i + 1 == letters.size()) {
      odd_ = at_ + 1;
      line_length_ = line_length_ || letters[i] == 'l';
    }
    if (option == nullptr && i == 0 && value.find_first_of("/.:") != std::string_view::npos) add_any(word, value);
    if (option == nullptr) continue;
    const std::string_view glued = letters.substr(i + 1);
    if (option->in_place) return use(*option, word, word, "");
    if (option->words == 0 && option->role != ArgumentRole::program) {
      use(*option, word, word, "");
    } else if (!glued.empty()) {
      return use(*option, word, word, glued.starts_with('=') ? glued.substr(1) : glued);
    } else {
      // Some programs read letters differently, so a plain text here may be an operand, and counts as one.
      const bool text = option->role == ArgumentRole::text && !option->first && option->words == 1 &&
                        option->name != "-m" && !(is_tar() && option->name == "-f");
      if (i > 0 && text) odd_ = at_ + 1;
      return i > 0 && text ? use(*option, word, word, "") : take_value(*option, word);
    }
  }
}

void ArgumentReader::take_value(const ProgramOption& option, const ShellWord& word) {
  if (option.role == ArgumentRole::program && at_ + 1 < words_.size()) return start_program(*words_[++at_]);
  if (option.words == 0 || option.glued || at_ + 1 >= words_.size()) return use(option, word, word, "");
  if (option.words == 2) ++at_;
  if (at_ + 1 < words_.size()) ++at_;
  use(option, word, *words_[at_], words_[at_]->value);
  if (words_[at_]->splits && option.role != ArgumentRole::script) {  // a glob may be more than the value
    odd_operand_ = std::min(odd_operand_, operands_.size());
    operand(*words_[at_]);
  }
}

void ArgumentReader::use_filter(const ProgramOption& option, std::string_view value) {
  const bool glob = name_ == "rg" && (option.name == "-g" || option.name == "--glob" || option.name == "--iglob");
  if (glob ? value.starts_with('!') : !option.filter) return;
  const bool shows = std::ranges::find(part_.words, "--files", &ShellWord::value) != part_.words.end();
  std::vector<std::string> names{std::string(value)};
  if (glob && !expand(value, names)) names = {"*"};
  for (std::string& name : names) {
    if (glob && name.rfind('/') != std::string::npos) name.erase(0, name.rfind('/') + 1);
    const bool plain = !name.empty() && name.find_first_of("{[$\\/") == std::string::npos;
    out_.filters.emplace_back(plain ? schema::fold_case(name) : "*");
    // A matching glob overrides the exclusion of hidden files; source files are not hidden.
    hidden_ = hidden_ || (glob && !shows && !names_sources(name));
  }
}

void ArgumentReader::use(const ProgramOption& option, const ShellWord& word, const ShellWord& holder,
                         std::string_view value) {
  if (option.behind_colon) {
    if (value.find(':') == std::string_view::npos) return;
    value.remove_prefix(value.find(':') + 1);
  }
  first_given_ = first_given_ || option.first;
  recurses_ = recurses_ || (option.recurses && (value.empty() || option.words == 0 || value.starts_with("rec")));
  hidden_ = hidden_ || option.hidden;
  writes_ = writes_ || option.writes;
  if (option.in_place) in_place_ = &word;
  if (!value.empty()) use_filter(option, value);
  const bool place = name_.starts_with("docker") || name_ == "podman";  // `-v ./src:/in/the/container`
  if (option.runs && (!option.outside || value == "-" || (place ? leaves(value) : foreign_code(value))))
    surprise_option(option, word, "which runs something, or decides what is run");
  if (option.tail) hand_on(at_ + 1);
  if (option.runs && !option.outside && option.words > 0) hand_on(holder, value);
  if (option.name == "-ldflags" &&
      (value.find("-extld") != std::string_view::npos || value.find("-linkmode") != std::string_view::npos))
    surprise(word, "which decides what links");
  out_.unseen_reads = out_.unseen_reads || option.names;
  if (value.find("%output{") != std::string_view::npos) surprise(word, "which writes a file");
  if (option.words == 0) return;
  if (is_tar() && (option.name == "-f" || option.name == "--file")) {
    archive_ = &holder, archive_value_ = value;
    return;
  }
  if (is_tar() && option.name == (option.name.size() == 2 ? "-C" : "--directory"))
    add_path(holder, value, ArgumentRole::tree);
  if (option.role == ArgumentRole::write && (option.name == "-t" || option.name == "--target-directory"))
    into_ = value, into_word_ = &holder;
  if (option.role == ArgumentRole::enter && name_ == "git" && leaves(value))
    surprise_option(option, word, "which works in another folder");
  if (option.role == ArgumentRole::output && !harmless_target(value)) {
    surprise_option(option, word, "which writes a file");
    if (&holder == &word || !holder.expands) out_.surprises.back().writes = written_path(value);
  }
  if (option.role == ArgumentRole::text && value.starts_with('@'))
    add_path(holder, value.substr(1), ArgumentRole::read);
  if (option.role == ArgumentRole::script)
    check_script(holder, value);
  else if (option.role == ArgumentRole::any)
    add_any(holder, value);
  else
    add_path(holder, value, option.role);
}

ArgumentRole ArgumentReader::operand_role(std::size_t index) const {
  if (program_ == nullptr || program_->operands.empty()) return ArgumentRole::any;
  const auto& roles = program_->operands;
  if (first_given_ && (roles.front() == ArgumentRole::text || roles.front() == ArgumentRole::script) &&
      roles.size() > 1)
    ++index;
  return roles[std::min(index, roles.size() - 1)];
}

void ArgumentReader::operand(const ShellWord& word) {
  if (program_ == nullptr) return add_any(word, word.value);
  for (const ProgramOption& option : program_->options) {
    if (option.name.ends_with('=') && word.value.starts_with(option.name))
      return assignment(option, word, std::string_view(word.value).substr(option.name.size()));
  }
  if (operands_.empty() && !word.value.starts_with('-')) {
    const ProgramOption* named = find(word.value);
    if (named != nullptr && named->runs) {
      surprise(word, "which runs something, or decides what is run");
      hand_on(at_ + 1);
    }
    if (is_tar() && !old_style_ && subcommand_ == 0 && archive_ == nullptr && modes_.empty()) {
      old_style_ = true;
      return short_options_in_order(word);
    }
  }
  const std::size_t index = operands_.size();
  const ArgumentRole role = operand_role(index);
  if (index == 0 && (role == ArgumentRole::sub || role == ArgumentRole::verb)) {
    if (perhaps_value() && name_ != "git" && find_program(program_->name, word.value) == nullptr)
      return add_any(word, word.value);
    return start_subcommand(word, role);
  }
  if (index == 0 && role == ArgumentRole::program) return start_program(word);
  if (role == ArgumentRole::rest) {
    resting_ = !perhaps_value();
    hand_on(at_);
    return add_any(word, word.value);
  }
  if (name_ == "git" && word.value.find("::") != std::string::npos && word.value.find("::") == word.value.find(':'))
    surprise(word, "which runs a helper to reach a repository");
  if ((name_ == "make" || name_ == "gmake") && word.value.find('=') != std::string::npos && !plain_value(word.value)) {
    surprise(word, "which may decide what is run");
    hand_on(word, word.value);
  }
  if (name_ == "gh" && ended_ && word.value.starts_with('-')) surprise(word, "which is handed on to git");
  odd_last_ = perhaps_value();
  if (odd_last_ || word.value == "-") odd_operand_ = std::min(odd_operand_, operands_.size());
  operands_.push_back(&word);
}

bool ArgumentReader::plain_value(std::string_view assignment) {
  return std::ranges::all_of(assignment, [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("_.,+:@%=-").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

void ArgumentReader::assignment(const ProgramOption& option, const ShellWord& word, std::string_view value) {
  if (option.runs && (option.name == "SHELL=" || option.name.find("FLAGS") != std::string::npos || !plain_value(value)))
    return hand_on(word, value), surprise(word, "which decides what is run");
  if (option.runs) return;
  use(option, word, word, value);
}

void ArgumentReader::start_subcommand(const ShellWord& word, ArgumentRole role) {
  const auto found = std::ranges::find(part_.words, word.at, &ShellWord::at);  // not of xargs' input
  if (subcommand_ == 0 && found != part_.words.end())
    subcommand_ = static_cast<std::size_t>(found - part_.words.begin());
  static const Program anything{{}, {ArgumentRole::any}, {}};
  static const Program any_code{{}, {ArgumentRole::code}, {}};
  const Program* sub = find_program(program_->name, word.value);
  if (role == ArgumentRole::verb) outer_ = program_;
  const ArgumentRole last = program_->operands.back();
  const bool takes_rest = last == ArgumentRole::rest;
  program_ = sub != nullptr ? sub : last == ArgumentRole::code ? &any_code : &anything;
  resting_ = sub == nullptr && takes_rest && role == ArgumentRole::sub;
  if (sub == nullptr) settle_operand(word, program_->operands.front());
  // The arguments of an unknown subcommand have an unknown meaning; some programs run a subcommand that they lack.
  if (sub == nullptr && last != ArgumentRole::text) hand_on(last == ArgumentRole::code || takes_rest ? at_ : at_ + 1);
  if (sub == nullptr && name_ == "git") surprise(word, "which is not among the subcommands that are known to be harmless");
  if (sub != nullptr && sub->options.size() == 1 && sub->options.front().name.empty())
    surprise(word, "which runs something, or decides what is run"), hand_on(at_ + 1);
}

void ArgumentReader::start_program(const ShellWord& word) {
  if (foreign_code(word.value) || (is_npm_ && names_repository(word.value)))
    surprise(word, "which brings code from elsewhere");
  if (subcommand_ > 0) surprise(part_.words[subcommand_], "which runs another program");
  if (perhaps_value() && find_program(base_name(word.value)) == nullptr) return add_any(word, word.value);
  ended_ = false;
  name_ = base_name(word.value);
  if (name_.find('@') != std::string_view::npos && !name_.starts_with('@')) name_ = name_.substr(0, name_.find('@'));
  program_ = find_program(name_);
  if (program_ == nullptr) hand_on(at_);
  outer_ = nullptr;
  operands_.clear();
}

void ArgumentReader::short_options_in_order(const ShellWord& word) {
  for (const char letter : word.value) {
    const char name[] = {'-', letter};
    modes_ += letter;
    if (const ProgramOption* option = find({name, 2})) take_value(*option, word);
  }
}

Arguments read_arguments(const ShellPart& part, std::size_t core, const std::vector<ShellWord>* input, Folders& folders,
                         const RuleContext& context) {
  Arguments out;
  ArgumentReader reader(part, core, folders, context, out);
  const bool handed = std::any_of(part.words.begin(), part.words.begin() + static_cast<std::ptrdiff_t>(core),
                                  [](const ShellWord& word) { return word.value == "xargs"; });
  if (handed && input != nullptr) reader.add_input(*input);
  reader.add_redirections();
  reader.run();
  if (handed && input == nullptr) reader.expect_unseen(xargs_replaces(part, core));
  return out;
}

Arguments read_every_argument(const ShellPart& part, const Folders& folders, const RuleContext& context) {
  Arguments out;
  Folders unchanged = folders;
  ArgumentReader reader(part, 0, unchanged, context, out);
  reader.add_redirections();
  for (const ShellWord& word : part.words) reader.read_anything(word);
  if (base_name(part.words.front().value) == "xargs") out.unseen_reads = out.unseen_writes = true;
  out.handed.push_back(part.words);
  return out;
}

bool Folders::stray(const std::string& own) const {
  return lost || std::ranges::any_of(working(), [&](const std::string& folder) {
           return folder != own && !folder.starts_with(own + "/");
         });
}

std::size_t subcommand_word(const ShellPart& part, std::size_t core) {
  const Program* program = find_program(base_name(part.words[core].value));
  if (program == nullptr || program->operands.empty()) return 0;
  if (program->operands.front() != ArgumentRole::sub && program->operands.front() != ArgumentRole::verb) return 0;
  if (core + 1 >= part.words.size() || !part.words[core + 1].value.starts_with('-'))
    return 0;  // no options precede the subcommand
  Arguments ignored;
  Folders nowhere;
  const RuleContext none;
  ArgumentReader reader(part, core, nowhere, none, ignored);
  reader.run();
  return reader.subcommand();
}

}  // namespace inbox_poller::config
