// A reader of one command's arguments with its program's table row. It finds options, values and operands
// (arguments.cpp) and their effects (argument_settle.cpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "config/argument_paths.hpp"
#include "config/text.hpp"

namespace inbox_poller::config {

class ArgumentReader : public ArgumentPaths {
 public:
  ArgumentReader(const ShellPart& part, std::size_t core, Folders& folders, const RuleContext& context, Arguments& out)
      : ArgumentPaths(base_name(part.words[core].value), folders, context, out), part_(part) {
    for (std::size_t i = core + 1; i < part.words.size(); ++i) add_words(part.words[i]);
  }

  void add_input(const std::vector<ShellWord>& words);
  void run();
  /// Records what the command would do with unknown words, after its own words or in place of some.
  void expect_unseen(bool replaces);
  /// Records redirections for restrictions, which know the directory. Not for grants.
  void add_redirections();
  void read_anything(const ShellWord& word) { add_any(word, word.value); }

  [[nodiscard]] std::size_t subcommand() const { return subcommand_; }

 private:
  // --- options and operands ---

  /// Adds a word, or the words that the shell makes of its braces.
  void add_words(const ShellWord& word);
  /// Returns true if the shell may make an option of a word that shows none.
  static bool may_become_option(const ShellWord& word);

  void read_word(const ShellWord& word);
  [[nodiscard]] const ProgramOption* find(std::string_view name) const;
  /// Returns the option of a long name: the exact one, or, since many programs accept an abbreviation, the most
  /// surprising one that it abbreviates.
  [[nodiscard]] const ProgramOption* find_long(std::string_view name) const;
  bool one_dash() const;
  void long_option(const ShellWord& word);
  void unlisted_value(const ShellWord& word, std::string_view value);
  /// Reads `-la`, `-ofile`, `-k2`: letters up to the first one with a value. For long names with one dash, those first.
  void short_options(const ShellWord& word, std::string_view letters, std::size_t from);
  /// Reads a value in the next word or words.
  void take_value(const ProgramOption& option, const ShellWord& word);
  /// Applies one option with its value, which is in `holder`.
  void use(const ProgramOption& option, const ShellWord& word, const ShellWord& holder, std::string_view value);
  ArgumentRole operand_role(std::size_t index) const;
  void operand(const ShellWord& word);
  static bool plain_value(std::string_view assignment);
  /// Reads `of=file`, `SHELL=sh`.
  void assignment(const ProgramOption& option, const ShellWord& word, std::string_view value);
  void start_subcommand(const ShellWord& word, ArgumentRole role);
  void start_program(const ShellWord& word);
  [[nodiscard]] bool perhaps_value() const { return at_ > 0 && odd_ == at_; }
  /// Reads `tar xzf a.tar`: the letters take their values in order.
  void short_options_in_order(const ShellWord& word);
  /// Records that all words from `from` on may be a command with its arguments.
  void hand_on(std::size_t from) { handed_from_ = std::min(handed_from_, from); }
  /// Records that this word alone may be a command.
  void hand_on(const ShellWord& word, std::string_view value);

  // --- effects ---

  void settle();
  void settle_operand(const ShellWord& word, ArgumentRole role);
  /// Records where `cd` goes without a directory, or with more than one.
  void go_somewhere();
  bool is_tar() const { return name_ == "tar" || name_ == "bsdtar" || name_ == "gtar"; }

  [[nodiscard]] bool is_git(std::string_view subcommand) const;
  /// Records a pattern that matches hidden files.
  void use_filter(const ProgramOption& option, std::string_view value);
  bool has_dest() const;
  /// Records the target of a copy: the path itself, or a directory for the copies. A link's text is read from there.
  void settle_dest(const ShellWord& word, bool has_sources);
  /// Records `sed -i`, which an Edit rule covers only if it covers each of the files.
  void settle_in_place();
  /// Records a repository that is cloned without a name for its directory.
  void settle_clone();
  /// Records a search without a path, which searches the directory.
  void settle_default();
  void settle_tar();
  /// Returns true if a long option begins with one of these names; tar accepts abbreviations.
  [[nodiscard]] bool has_mode(std::initializer_list<std::string_view> modes) const;
  /// Records a directory whose hidden files a copy of all of another directory's contents may overwrite.
  void settle_spread();
  [[nodiscard]] bool is_roof(const ShellWord& word, std::string_view value) const;
  /// Records programs that write files named only in their input, or read names from there.
  void settle_unnamed();
  /// Records files with unseen names below a directory: an option's, or `folder`.
  void spill(std::string_view folder);
  void check_script(const ShellWord& word, std::string_view script);
  /// Records an option as a surprise. Only the option's name must be in the rule, if the text spells it separately.
  void surprise_option(const ProgramOption& option, const ShellWord& word, std::string_view why);
  const ShellPart& part_;
  /// Its long options may have one dash, and `owner/repository` names a package.
  static constexpr std::string_view node_managers[] = {"npm", "npx", "pnpm", "pnpx", "yarn", "bunx"};
  const bool is_npm_ = is_one_of(node_managers, name_);
  const Program* outer_ = nullptr;  // its options count as well
  std::vector<const ShellWord*> words_;
  std::deque<ShellWord> spelled_;  // words that the shell makes of braces
  std::vector<const ShellWord*> operands_;
  std::size_t at_ = 0;
  std::size_t subcommand_ = 0;
  std::string modes_;  // letters of short options
  std::string into_;   // the directory of `cp -t`
  const ShellWord* into_word_ = nullptr;
  std::size_t odd_ = 0;                               // the word after an unlisted option: perhaps its value
  bool odd_last_ = false;                             // the last operand is such a word
  std::size_t odd_operand_ = std::string_view::npos;  // the first such operand: those after it may have a smaller index
  bool line_length_ = false;                          // `sed -l`, whose value may be a separate word
  const ShellWord* in_place_ = nullptr;
  const ShellWord* archive_ = nullptr;
  std::string archive_value_;
  std::size_t handed_from_ = std::string_view::npos;
  bool ended_ = false;
  bool first_given_ = false;
  bool recurses_ = false;
  bool writes_ = false;
  bool old_style_ = false;
};

}  // namespace inbox_poller::config
