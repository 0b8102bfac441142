// The paths in one command's arguments, collected word by word: the shell's result for each word, and the paths that
// the result may be. Not for options, which config/arguments.cpp reads.
#pragma once

#include "config/arguments.hpp"

namespace inbox_poller::config {

/// Stands for the worker's directory, or the home, if it is unknown.
inline constexpr std::string_view unknown_folder = "/\x01";

class ArgumentPaths {
 protected:
  ArgumentPaths(std::string_view name, Folders& folders, const RuleContext& context, Arguments& out)
      : name_(name), folders_(folders), context_(context), out_(out), program_(find_program(name)) {}

  static bool shell_fills_anything(std::string_view value);
  /// Returns true if the path leaves the worker's directory, inside which everything is run or read anyway.
  /// `from_here`: the command is known to work elsewhere, so only a path that leads away from there counts.
  bool leaves(std::string_view value, bool from_here = false) const;
  /// Returns true for code from outside of the worker's directory, including a package from an address.
  bool foreign_code(std::string_view value) const;
  /// Returns true for `owner/repository` and `name@owner/repository`, which package managers of node fetch from GitHub.
  static bool names_repository(std::string_view value);
  static bool harmless_target(std::string_view value);
  /// Returns the path of a word; empty if it is not certain.
  std::optional<std::string> written_path(std::string_view value) const;
  void unseen(ArgumentRole role);
  static PathUse use_of(ArgumentRole role);
  /// Adds a word, or a piece of it, that is a path of this kind.
  void add_path(const ShellWord& word, std::string_view value, ArgumentRole role);
  void add_spelling(const ShellWord& word, std::string_view path, ArgumentRole role);
  /// Returns true if `..` leaves a folder that may be a link from elsewhere: `/dev/fd/../cwd`.
  [[nodiscard]] bool climbs_from_afar(std::string_view path, const std::string& folder) const;
  void add_use(const ShellWord& word, std::string_view path, PathUse use);
  void add_plain(std::string_view path, ArgumentRole role);
  /// Adds a surprise if a path that decides what runs later is written, so that a rule must name it. A name that looks
  /// like an option counts too, because a later `*` passes it as one.
  void check_protected(const ShellWord& word, const PathUse& use);
  void enter(const ShellWord& word, const std::vector<std::string>& spellings);
  /// Appends the word's spellings, with comma braces, $HOME and $PWD expanded; false if the shell could make more of
  /// it.
  bool expand(std::string_view value, std::vector<std::string>& out) const;
  /// Adds an argument of unknown meaning: the whole, and each part after a sign that may begin a path.
  void add_any(const ShellWord& word, std::string_view value);
  void add_token(const ShellWord& word, std::string_view path, bool sure);
  void surprise(const ShellWord& word, std::string_view why);

  std::string_view name_;
  Folders& folders_;
  const RuleContext& context_;
  Arguments& out_;
  const Program* program_;
  bool resting_ = false;  // the next words are run by the program and are not its own arguments
  bool hidden_ = false;   // an option makes a search include hidden files
};

}  // namespace inbox_poller::config
