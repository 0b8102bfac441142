// The effects of programs' arguments: which options run, write or read something, and which arguments are paths. The
// one table is programs_table.cpp; docs/reference/programs.md has the same rows, as a test compares. An unlisted
// program may read any argument that could be a path.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inbox_poller::config {

/// A row as written and shown. docs/reference/programs.md explains the words of `operands` and the marks of `options`.
struct ProgramRow {
  std::string_view names;  // "cat tac", or "git log,show" for subcommands
  std::string_view operands;
  std::string_view options;
};

std::span<const ProgramRow> program_rows();

/// The meaning of an argument to its program.
enum class ArgumentRole {
  text,     // no path
  any,      // may be a path: read, perhaps written
  read,     // a path that is read
  tree,     // read with everything below it
  carry,    // read, moved or linked with all its contents
  move,     // carried, then gone
  write,    // a path that is written, as the program's purpose
  remove,   // written, with everything below it
  output,   // a path that is written, against expectations
  dest,     // the target of carried paths: a file or a directory
  pack,     // moved, to a name with another ending
  stem,     // the beginning of written files' names
  enter,    // a directory to work in
  script,   // a program for sed, awk, jq or sqlite3
  sub,      // a subcommand with its own options
  verb,     // a subcommand that takes the program's options as well
  set,      // a setting that decides what is run
  program,  // the name of a program, whose arguments follow
  code,     // perhaps a path, whose contents are run
  rest      // the program's purpose: this and all later words are run
};

struct ProgramOption {
  std::string name;  // "--output", "-o"; "of=" for an operand with that beginning; a bare word for a first operand
  ArgumentRole role = ArgumentRole::text;  // of the value
  unsigned char words = 0;                 // number of value words; the second of two has the role
  bool glued = false;                      // the value is in the same word, or absent
  bool runs = false;                       // is run, or decides what is run
  bool tail = false;                       // `runs` the words after it
  bool outside = false;                    // `runs` only if its value leaves the working directory
  bool first = false;                      // takes the place of the first operand (a pattern, a script)
  bool in_place = false;                   // the operands are written, against expectations
  bool writes = false;                     // the operands are written, as its purpose
  bool recurses = false;                   // the operands are read with everything below
  bool hidden = false;                     // hidden files are read as well
  bool filter = false;                     // its value selects the files
  bool names = false;                      // its value is a file with names of files to read
  bool behind_colon = false;               // only the text after a colon is its value
};

struct Program {
  std::string_view name;               // the first one of its row
  std::vector<ArgumentRole> operands;  // the last one repeats
  std::vector<ProgramOption> options;
  bool risky = false;      // has an option that runs or writes
  bool long_dash = false;  // long options have one dash: find, go
  bool whole = false;      // long options are never abbreviated
  bool local = false;      // runs files of the directory in which it works
};

/// Returns the row; null if the program is not listed. `subcommand` may be empty.
const Program* find_program(std::string_view name, std::string_view subcommand = {});

}  // namespace inbox_poller::config
