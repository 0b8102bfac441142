// The paths in one command's arguments, gathered word by word: what the shell makes of a word, and which paths that
// could be. Knows nothing of options; config/arguments.cpp does.
#pragma once

#include "config/arguments.hpp"

namespace inbox_poller::config {

/// Stands for the worker's folder, or the home, where it is not known.
inline constexpr std::string_view unknown_folder = "/\x01";

class ArgumentPaths {
 protected:
  ArgumentPaths(std::string_view name, Folders& folders, const RuleContext& context, Arguments& out)
      : name_(name), folders_(folders), context_(context), out_(out), program_(find_program(name)) {}

  static bool shell_fills_anything(std::string_view value);
  /// Outside of the worker's folder; what is inside is run or read there anyway. `from_here`: that the command works
  /// elsewhere is asked about already, so that only what leads away from there counts.
  bool leaves(std::string_view value, bool from_here = false) const;
  /// The same for what may name a package, where it comes from an address as well.
  bool foreign_code(std::string_view value) const;
  static bool harmless_target(std::string_view value);
  /// Empty where it is not known for certain.
  std::optional<std::string> written_path(std::string_view value) const;
  void unseen(ArgumentRole role);
  static PathUse use_of(ArgumentRole role);
  /// A word, or its piece, that is a path of this kind.
  void add_path(const ShellWord& word, std::string_view value, ArgumentRole role);
  void add_spelling(const ShellWord& word, std::string_view path, ArgumentRole role);
  void add_use(const ShellWord& word, std::string_view path, PathUse use);
  void add_plain(std::string_view path, ArgumentRole role);
  /// What decides what runs later is named by the rule, or not written. A name like an option's is one for the next
  /// `*`.
  void check_protected(const ShellWord& word, const PathUse& use);
  void enter(const ShellWord& word, const std::vector<std::string>& spellings);
  /// Comma braces written out, $HOME and $PWD filled in; false where the shell could make more of it than we see.
  bool expand(std::string_view value, std::vector<std::string>& out) const;
  /// An argument whose meaning is not known: it, and what stands behind a sign that may begin a path.
  void add_any(const ShellWord& word, std::string_view value);
  void add_token(const ShellWord& word, std::string_view path, bool sure);
  void surprise(const ShellWord& word, std::string_view why);

  std::string_view name_;
  Folders& folders_;
  const RuleContext& context_;
  Arguments& out_;
  const Program* program_;
  bool resting_ = false;  // what comes is run by the program, and no argument of its own
  bool hidden_ = false;   // a search that leaves out what is hidden was told not to
};

}  // namespace inbox_poller::config
