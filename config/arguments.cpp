#include "config/arguments.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "config/argument_paths.hpp"
#include "config/scripts.hpp"
#include "config/text.hpp"
#include "schema/fold.hpp"

namespace inbox_poller::config {
namespace {

/// Reads the arguments of one command.
class Reader : public ArgumentPaths {
 public:
  Reader(const ShellPart& part, std::size_t core, Folders& folders, const RuleContext& context, Arguments& out)
      : ArgumentPaths(base_name(part.words[core].value), folders, context, out), part_(part) {
    for (std::size_t i = core + 1; i < part.words.size(); ++i) words_.push_back(&part.words[i]);
  }

  void add_input(const std::vector<ShellWord>& words) {
    for (const ShellWord& word : words) words_.push_back(&word);
  }

  void run() {
    for (at_ = 0; at_ < words_.size(); ++at_) read_word(*words_[at_]);
    settle();
  }

  /// What the command would do with words that come from somewhere else.
  void expect_unseen() {
    if (program_ == nullptr) return unseen(ArgumentRole::any);
    for (std::size_t index = operands_.size(); index <= operands_.size() + program_->operands.size(); ++index) {
      const ArgumentRole role = operand_role(index);
      unseen(role == ArgumentRole::program || role == ArgumentRole::sub || role == ArgumentRole::verb
                 ? ArgumentRole::any
                 : role);
    }
    if (in_place_ || writes_) unseen(ArgumentRole::write);
    if (!program_->risky && (outer_ == nullptr || !outer_->risky)) return;
    const auto xargs = std::ranges::find(part_.words, "xargs", &ShellWord::value);
    if (xargs != part_.words.end()) surprise(*xargs, "which hands on options that cannot be seen");
  }

  /// What a grant makes of a redirection is decided elsewhere; this is for restrictions, which know the folder.
  void add_redirections() {
    for (const Redirection& redirection : part_.redirections) {
      const ShellWord nameless;
      add_path(nameless, redirection.target, redirection.writes ? ArgumentRole::write : ArgumentRole::read);
    }
  }

  void read_anything(const ShellWord& word) { add_any(word, word.value); }

  [[nodiscard]] std::size_t subcommand() const { return subcommand_; }

 private:
  // --- options and operands ---

  void read_word(const ShellWord& word) {
    const std::string_view value = word.value;
    if (resting_) return add_any(word, value);
    if (shell_fills_anything(value) && program_ != nullptr && program_->name != "echo" && program_->name != "printf")
      surprise(word, "which stands for what the line did before");
    if (ended_) return operand(word);
    if (value == "--") {
      ended_ = true;
      return;
    }
    if (program_ != nullptr && program_->risky && word.expands &&
        value.find_first_not_of("*?") == std::string_view::npos)
      surprise(word, "which may become an option");
    if (value.starts_with("--")) return long_option(word);
    if (value.starts_with('-') && value.size() > 1) return short_options(word, value.substr(1), 1);
    if (value.starts_with('+') && find("+") != nullptr) return surprise(word, "which runs something at the start");
    operand(word);
  }

  [[nodiscard]] const ProgramOption* find(std::string_view name) const {
    for (const Program* program : {program_, outer_}) {
      if (program == nullptr) continue;
      for (const ProgramOption& option : program->options) {
        if (option.name == name) return &option;
      }
    }
    return nullptr;
  }

  /// The option that a long name means: itself, or, as many programs take the beginning of a name for the whole, the
  /// most surprising one that begins so.
  [[nodiscard]] const ProgramOption* find_long(std::string_view name) const {
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

  bool one_dash() const {
    return (program_ != nullptr && program_->long_dash) || (outer_ != nullptr && outer_->long_dash);
  }

  void long_option(const ShellWord& word) {
    const std::string_view value = word.value;
    const std::size_t equals = std::min(value.find('='), value.size());
    const std::string_view name = value.substr(0, equals);
    const ProgramOption* option = find_long(name);
    if (option == nullptr) {
      if (equals < value.size()) add_any(word, value.substr(equals + 1));
      return;
    }
    if (equals < value.size()) return use(*option, word, word, value.substr(equals + 1));
    take_value(*option, word);
  }

  /// `-la`, `-ofile`, `-k2`: letters up to the first one that takes a value. Where long names have one dash, those
  /// first.
  void short_options(const ShellWord& word, std::string_view letters, std::size_t from) {
    const std::string_view value = word.value;
    const std::size_t equals = std::min(value.find('='), value.size());
    if (from == 1) {
      const ProgramOption* whole = find(value.substr(0, equals));
      if (whole != nullptr && value.substr(0, equals).size() > 2) {
        if (equals < value.size()) return use(*whole, word, word, value.substr(equals + 1));
        return take_value(*whole, word);
      }
      if (one_dash() && value.size() > 2) {
        if (equals < value.size()) add_any(word, value.substr(equals + 1));
        return;
      }
    }
    if (program_ == nullptr) return add_any(word, value);
    for (std::size_t i = 0; i < letters.size(); ++i) {
      const char name[] = {'-', letters[i]};
      const ProgramOption* option = find({name, 2});
      modes_ += letters[i];
      if (option == nullptr) continue;
      const std::string_view glued = letters.substr(i + 1);
      if (option->in_place) return use(*option, word, word, "");
      if (option->words == 0 && option->role != ArgumentRole::program) {
        use(*option, word, word, "");
      } else if (!glued.empty()) {
        return use(*option, word, word, glued.starts_with('=') ? glued.substr(1) : glued);
      } else {
        // Not every program reads letters as we do: here a plain text may as well be an operand, and counts as one.
        const bool text =
            option->role == ArgumentRole::text && !option->first && option->words == 1 && option->name != "-m";
        return i > 0 && text ? use(*option, word, word, "") : take_value(*option, word);
      }
    }
  }

  /// The value stands in the next word or words.
  void take_value(const ProgramOption& option, const ShellWord& word) {
    if (option.role == ArgumentRole::program && at_ + 1 < words_.size()) return start_program(*words_[++at_]);
    if (option.words == 0 || option.glued || at_ + 1 >= words_.size()) return use(option, word, word, "");
    if (option.words == 2) ++at_;
    if (at_ + 1 < words_.size()) ++at_;
    use(option, word, *words_[at_], words_[at_]->value);
    if (words_[at_]->expands && option.role != ArgumentRole::script)
      operand(*words_[at_]);  // a glob may be more than the value
  }

  /// One option with its value, which stands in `holder`.
  void use(const ProgramOption& option, const ShellWord& word, const ShellWord& holder, std::string_view value) {
    first_given_ = first_given_ || option.first;
    recurses_ =
        recurses_ || (option.recurses && (value.empty() || option.words == 0 || value.find("recurse") != value.npos));
    hidden_ = hidden_ || option.hidden;
    writes_ = writes_ || option.writes;
    if (option.in_place) in_place_ = &word;
    if (option.filter && !value.empty())
      out_.filters.emplace_back(value.find_first_of("{[$") == std::string_view::npos ? schema::fold_case(value) : "*");
    if (option.runs && (!option.outside || leaves(value)))
      surprise_option(option, word, "which runs something, or decides what is run");
    if (value.find("%output{") != std::string_view::npos) surprise(word, "which writes a file");
    if (option.words == 0) return;
    if (is_tar() && (option.name == "-f" || option.name == "--file")) {
      archive_ = &holder, archive_value_ = value;
      return;
    }
    if (is_tar() && option.name == (option.name.size() == 2 ? "-C" : "--directory"))
      add_path(holder, value, ArgumentRole::tree);
    if (option.role == ArgumentRole::write && (option.name == "-t" || option.name == "--target-directory"))
      into_ = value;
    if (option.role == ArgumentRole::enter && name_ == "git" && !own_folder(value))
      surprise_option(option, word, "which works in another folder");
    if (option.role == ArgumentRole::output && !harmless_target(value)) {
      surprise_option(option, word, "which writes a file");
      if (&holder == &word || !holder.expands) out_.surprises.back().writes = written_path(value);
    }
    if (option.role == ArgumentRole::script)
      check_script(holder);
    else if (option.role == ArgumentRole::any)
      add_any(holder, value);
    else
      add_path(holder, value, option.role);
  }

  ArgumentRole operand_role(std::size_t index) const {
    if (program_ == nullptr || program_->operands.empty()) return ArgumentRole::any;
    const auto& roles = program_->operands;
    if (first_given_ && (roles.front() == ArgumentRole::text || roles.front() == ArgumentRole::script) &&
        roles.size() > 1)
      ++index;
    return roles[std::min(index, roles.size() - 1)];
  }

  void operand(const ShellWord& word) {
    if (program_ == nullptr) return add_any(word, word.value);
    for (const ProgramOption& option : program_->options) {
      if (option.name.ends_with('=') && word.value.starts_with(option.name))
        return assignment(option, word, std::string_view(word.value).substr(option.name.size()));
    }
    if (operands_.empty() && !word.value.starts_with('-')) {
      const ProgramOption* named = find(word.value);
      if (named != nullptr && named->runs) surprise(word, "which runs something, or decides what is run");
      if (is_tar() && !old_style_ && subcommand_ == 0 && archive_ == nullptr && modes_.empty()) {
        old_style_ = true;
        return short_options_in_order(word);
      }
    }
    const std::size_t index = operands_.size();
    const ArgumentRole role = operand_role(index);
    if (index == 0 && (role == ArgumentRole::sub || role == ArgumentRole::verb)) return start_subcommand(word, role);
    if (index == 0 && role == ArgumentRole::program) return start_program(word);
    if (role == ArgumentRole::rest) {
      resting_ = true;
      return add_any(word, word.value);
    }
    if (name_ == "git" && word.value.find("::") != std::string::npos && word.value.find("::") == word.value.find(':'))
      surprise(word, "which runs a helper to reach a repository");
    if ((name_ == "make" || name_ == "gmake") && word.value.find('=') != std::string::npos && !plain_value(word.value))
      surprise(word, "which may decide what is run");
    operands_.push_back(&word);
  }

  static bool plain_value(std::string_view assignment) {
    return std::ranges::all_of(assignment, [](unsigned char c) {
      return std::isalnum(c) != 0 || std::string_view("_.,+:@%=-").find(static_cast<char>(c)) != std::string_view::npos;
    });
  }

  /// `of=file`, `SHELL=sh`.
  void assignment(const ProgramOption& option, const ShellWord& word, std::string_view value) {
    if (option.runs &&
        (option.name == "SHELL=" || option.name.find("FLAGS") != std::string::npos || !plain_value(value)))
      return surprise(word, "which decides what is run");
    if (option.runs) return;
    use(option, word, word, value);
  }

  void start_subcommand(const ShellWord& word, ArgumentRole role) {
    const auto found = std::ranges::find_if(part_.words, [&](const ShellWord& w) { return &w == &word; });
    subcommand_ = static_cast<std::size_t>(found - part_.words.begin());
    static const Program anything{{}, {ArgumentRole::any}, {}, false, false};
    const Program* sub = find_program(name_, word.value);
    if (role == ArgumentRole::verb) outer_ = program_;
    const bool takes_rest = program_->operands.back() == ArgumentRole::rest;
    program_ = sub != nullptr ? sub : &anything;
    resting_ = sub == nullptr && takes_rest && role == ArgumentRole::sub;
    if (sub != nullptr && sub->options.size() == 1 && sub->options.front().name.empty())
      surprise(word, "which runs something, or decides what is run");
  }

  void start_program(const ShellWord& word) {
    name_ = base_name(word.value);
    if (name_.find('@') != std::string_view::npos && !name_.starts_with('@')) name_ = name_.substr(0, name_.find('@'));
    program_ = find_program(name_);
    outer_ = nullptr;
    operands_.clear();
  }

  /// `tar xzf a.tar`: the letters take their values in order.
  void short_options_in_order(const ShellWord& word) {
    for (const char letter : word.value) {
      const char name[] = {'-', letter};
      modes_ += letter;
      if (const ProgramOption* option = find({name, 2})) take_value(*option, word);
    }
  }

  // --- what it comes to ---

  void settle() {
    if (is_tar()) return settle_tar();
    if (operands_.empty() && (name_ == "cd" || name_ == "popd")) go_somewhere();
    for (std::size_t index = 0; index < operands_.size(); ++index) {
      const ShellWord& word = *operands_[index];
      if (has_dest() && into_.empty() && index + 1 == operands_.size()) {
        settle_dest(word, index > 0);
        if (index > 0) continue;
      }
      settle_operand(word, has_dest() ? program_->operands.front() : operand_role(index));
      const bool may_be_two = word.expands && !has_dest() && operand_role(index + 1) != operand_role(index);
      if (may_be_two) settle_operand(word, operand_role(index + 1));  // `uniq *`
    }
    settle_in_place();
    settle_default();
    if (name_ == "patch" || (name_ == "unzip" && modes_.find_first_of("ltZpv") == std::string::npos)) spill(".");
  }

  void settle_operand(const ShellWord& word, ArgumentRole role) {
    if (role == ArgumentRole::script) {
      if (!first_given_) check_script(word);
      if (name_ == "yq") add_any(word, word.value);  // some take a file's name here
      return;
    }
    if (recurses_ && (role == ArgumentRole::read || role == ArgumentRole::carry)) role = ArgumentRole::tree;
    if (role == ArgumentRole::output && !harmless_target(word.value)) {
      surprise(word, "which writes a file");
      out_.surprises.back().writes = written_path(word.value);
    }
    if (role == ArgumentRole::set) return surprise(word, "which is a setting that decides what is run");
    if (role == ArgumentRole::any)
      add_any(word, word.value);
    else
      add_path(word, word.value, role);
    if (role == ArgumentRole::any && recurses_) add_path(word, word.value, ArgumentRole::tree);
    if (name_ == "ln" && operands_.size() == 1) add_path(word, std::string(base_name(word.value)), ArgumentRole::write);
    if (!into_.empty()) add_path(word, into_ + "/" + std::string(base_name(word.value)), ArgumentRole::dest);
    if (in_place_ != nullptr || writes_)
      add_path(word, word.value, recurses_ ? ArgumentRole::remove : ArgumentRole::write);
  }

  /// `cd` alone goes home, `popd` to where nobody sees.
  void go_somewhere() {
    if (name_ == "popd" || context_.home.empty())
      folders_.lost = true;
    else
      folders_.known.push_back(context_.home);
  }

  bool is_tar() const { return name_ == "tar" || name_ == "bsdtar" || name_ == "gtar"; }

  bool has_dest() const {
    return program_ != nullptr && !program_->operands.empty() && program_->operands.back() == ArgumentRole::dest;
  }

  /// Where things are copied to: the place itself, or a folder that they go into. The text of a link is read from
  /// there.
  void settle_dest(const ShellWord& word, bool has_sources) {
    add_path(word, word.value, ArgumentRole::dest);
    if (!has_sources) return;
    for (const ShellWord* source : operands_) {
      if (source == &word) break;
      std::string_view from = source->value;
      while (from.size() > 1 && from.ends_with('/')) from.remove_suffix(1);
      add_path(word, word.value + "/" + std::string(base_name(from)), ArgumentRole::dest);
      if (name_ != "ln" || from.starts_with('/')) continue;
      const std::size_t slash = word.value.rfind('/');
      add_path(*source, word.value + "/" + std::string(from), ArgumentRole::carry);
      if (slash != std::string::npos)
        add_path(*source, word.value.substr(0, slash + 1) + std::string(from), ArgumentRole::carry);
    }
  }

  /// `sed -i`: covered by an Edit rule only where that covers each of the files.
  void settle_in_place() {
    if (in_place_ == nullptr) return;
    std::size_t files = 0;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (operand_role(i) == ArgumentRole::script && !first_given_) continue;
      ++files;
      surprise(*in_place_, "which changes its files in place");
      out_.surprises.back().writes = written_path(operands_[i]->value);
    }
    if (files == 0) surprise(*in_place_, "which changes its files in place");
  }

  /// Searching without a path searches the folder.
  void settle_default() {
    const bool searches =
        program_ != nullptr && program_->operands.size() == 2 && program_->operands.front() == ArgumentRole::text;
    if (!searches || (!recurses_ && (program_->operands.back() != ArgumentRole::tree || part_.piped))) return;
    if (operands_.size() + (first_given_ ? 1 : 0) < 2) add_plain(".", ArgumentRole::tree);
  }

  void settle_tar() {
    const bool creates =
        modes_.find_first_of("cru") != std::string::npos || has_word("--create", "--append", "--update");
    const bool extracts = modes_.find('x') != std::string::npos || has_word("--extract", "--get", "--extract");
    if (archive_ != nullptr) add_path(*archive_, archive_value_, creates ? ArgumentRole::dest : ArgumentRole::read);
    for (const ShellWord* word : operands_) {
      if (creates) add_path(*word, word->value, ArgumentRole::tree);
    }
    if (!extracts) return;
    spill(".");
  }

  bool has_word(std::string_view a, std::string_view b, std::string_view c) const {
    return std::ranges::any_of(part_.words,
                               [&](const ShellWord& w) { return w.value == a || w.value == b || w.value == c; });
  }

  /// Files whose names nobody sees are written below a folder: the one that an option names, or `folder`.
  void spill(std::string_view folder) {
    bool elsewhere = false;
    for (PathUse& use : out_.paths) {
      if (use.writes) use.below = Below::named, elsewhere = true;
    }
    if (elsewhere) return;
    add_plain(folder, ArgumentRole::remove);
    for (PathUse& use : out_.paths) use.sure = use.sure && !use.writes;
  }

  void check_script(const ShellWord& word) {
    if (const auto why = script_surprise(name_, word.value)) surprise(word, *why);
  }

  /// Only the option's name needs to stand in the rule, where the text spells it as such.
  void surprise_option(const ProgramOption& option, const ShellWord& word, std::string_view why) {
    surprise(word, why);
    if (option.name.size() > 1 && word.text.starts_with(option.name)) out_.surprises.back().length = option.name.size();
  }

  const ShellPart& part_;
  const Program* outer_ = nullptr;  // whose options count as well
  std::vector<const ShellWord*> words_;
  std::vector<const ShellWord*> operands_;
  std::size_t at_ = 0;
  std::size_t subcommand_ = 0;
  std::string modes_;  // letters of short options
  std::string into_;   // the folder of `cp -t`
  const ShellWord* in_place_ = nullptr;
  const ShellWord* archive_ = nullptr;
  std::string archive_value_;
  bool ended_ = false;
  bool first_given_ = false;
  bool recurses_ = false;
  bool writes_ = false;
  bool old_style_ = false;
};

}  // namespace

Arguments read_arguments(const ShellPart& part, std::size_t core, const std::vector<ShellWord>* input, Folders& folders,
                         const RuleContext& context) {
  Arguments out;
  Reader reader(part, core, folders, context, out);
  const bool handed = std::any_of(part.words.begin(), part.words.begin() + static_cast<std::ptrdiff_t>(core),
                                  [](const ShellWord& word) { return word.value == "xargs"; });
  if (handed && input != nullptr) reader.add_input(*input);
  reader.add_redirections();
  reader.run();
  if (handed && input == nullptr) reader.expect_unseen();
  return out;
}

Arguments read_every_argument(const ShellPart& part, const Folders& folders, const RuleContext& context) {
  Arguments out;
  Folders unchanged = folders;
  Reader reader(part, 0, unchanged, context, out);
  reader.add_redirections();
  for (const ShellWord& word : part.words) reader.read_anything(word);
  return out;
}

std::size_t subcommand_word(const ShellPart& part, std::size_t core) {
  const Program* program = find_program(base_name(part.words[core].value));
  if (program == nullptr || program->operands.empty()) return 0;
  if (program->operands.front() != ArgumentRole::sub && program->operands.front() != ArgumentRole::verb) return 0;
  if (core + 1 >= part.words.size() || !part.words[core + 1].value.starts_with('-'))
    return 0;  // nothing stands in front
  Arguments ignored;
  Folders nowhere;
  const RuleContext none;
  Reader reader(part, core, nowhere, none, ignored);
  reader.run();
  return reader.subcommand();
}

}  // namespace inbox_poller::config
