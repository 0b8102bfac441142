// The arguments of one command, read word by word with the row of its program: which are options, values and operands
// (arguments.cpp), and what they come to (argument_settle.cpp).
#pragma once

#include <algorithm>
#include <cstddef>
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
    for (std::size_t i = core + 1; i < part.words.size(); ++i) words_.push_back(&part.words[i]);
  }

  void add_input(const std::vector<ShellWord>& words);
  void run();
  /// What the command would do with words that come from somewhere else: behind its own, or in place of some of them.
  void expect_unseen(bool replaces);
  /// What a grant makes of a redirection is decided elsewhere; this is for restrictions, which know the folder.
  void add_redirections();
  void read_anything(const ShellWord& word) { add_any(word, word.value); }

  [[nodiscard]] std::size_t subcommand() const { return subcommand_; }

 private:
  // --- options and operands ---

  void read_word(const ShellWord& word);
  [[nodiscard]] const ProgramOption* find(std::string_view name) const;
  /// The option that a long name means: itself, or, as many programs take the beginning of a name for the whole, the
  /// most surprising one that begins so.
  [[nodiscard]] const ProgramOption* find_long(std::string_view name) const;
  bool one_dash() const;
  void long_option(const ShellWord& word);
  void unlisted_value(const ShellWord& word, std::string_view value);
  /// `-la`, `-ofile`, `-k2`: letters up to the first one that takes a value. Where long names have one dash, those
  /// first.
  void short_options(const ShellWord& word, std::string_view letters, std::size_t from);
  /// The value stands in the next word or words.
  void take_value(const ProgramOption& option, const ShellWord& word);
  /// One option with its value, which stands in `holder`.
  void use(const ProgramOption& option, const ShellWord& word, const ShellWord& holder, std::string_view value);
  ArgumentRole operand_role(std::size_t index) const;
  void operand(const ShellWord& word);
  static bool plain_value(std::string_view assignment);
  /// `of=file`, `SHELL=sh`.
  void assignment(const ProgramOption& option, const ShellWord& word, std::string_view value);
  void start_subcommand(const ShellWord& word, ArgumentRole role);
  void start_program(const ShellWord& word);
  [[nodiscard]] bool perhaps_value() const { return at_ > 0 && odd_ == at_; }
  /// `tar xzf a.tar`: the letters take their values in order.
  void short_options_in_order(const ShellWord& word);
  /// All words from `from` on may be a command with its arguments.
  void hand_on(std::size_t from) { handed_from_ = std::min(handed_from_, from); }
  /// So may this one by itself.
  void hand_on(const ShellWord& word, std::string_view value);

  // --- what it comes to ---

  void settle();
  void settle_operand(const ShellWord& word, ArgumentRole role);
  /// Where `cd` goes without a folder, or with more than one.
  void go_somewhere();
  bool is_tar() const { return name_ == "tar" || name_ == "bsdtar" || name_ == "gtar"; }

  [[nodiscard]] bool is_git(std::string_view subcommand) const;
  /// A pattern that reaches hidden files.
  void use_filter(const ProgramOption& option, std::string_view value);
  bool has_dest() const;
  /// Where things are copied to: the place itself, or a folder that they go into. The text of a link is read from
  /// there.
  void settle_dest(const ShellWord& word, bool has_sources);
  /// `sed -i`: covered by an Edit rule only where that covers each of the files.
  void settle_in_place();
  /// A repository that is copied without a name for its folder.
  void settle_clone();
  /// Searching without a path searches the folder.
  void settle_default();
  void settle_tar();
  /// A long option that one of these names begins with; few letters are enough for tar.
  [[nodiscard]] bool has_mode(std::initializer_list<std::string_view> modes) const;
  /// A folder whose hidden files would be written over: a copy of all that is in another one goes there.
  void settle_spread();
  [[nodiscard]] bool is_roof(const ShellWord& word, std::string_view value) const;
  /// Programs that write files which only their input names, or read names from there.
  void settle_unnamed();
  /// Files whose names nobody sees are written below a folder: the one that an option names, or `folder`.
  void spill(std::string_view folder);
  void check_script(const ShellWord& word, std::string_view script);
  /// Only the option's name needs to stand in the rule, where the text spells it as such.
  void surprise_option(const ProgramOption& option, const ShellWord& word, std::string_view why);
  const ShellPart& part_;
  const Program* outer_ = nullptr;  // whose options count as well
  std::vector<const ShellWord*> words_;
  std::vector<const ShellWord*> operands_;
  std::size_t at_ = 0;
  std::size_t subcommand_ = 0;
  std::string modes_;  // letters of short options
  std::string into_;   // the folder of `cp -t`
  const ShellWord* into_word_ = nullptr;
  std::size_t odd_ = 0;                               // the word behind an option that is not listed: perhaps its value
  bool odd_last_ = false;                             // the last operand is such a word
  std::size_t odd_operand_ = std::string_view::npos;  // the first operand that is one: those behind it may be less
  bool line_length_ = false;                          // `sed -l`, whose value may be a word of its own
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
