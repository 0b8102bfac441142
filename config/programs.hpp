// What the arguments of programs do: which options run something, write or read a file, which arguments are paths. One
// table, in programs_table.cpp, which is the documentation as well (docs/reference/programs.md holds the same rows; a
// test compares). Programs that are not listed may read any argument that could be a path.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inbox_poller::config {

/// A row as it is written and shown. The words of `operands` and the marks of `options` are explained in
/// docs/reference/programs.md.
struct ProgramRow {
  std::string_view names;  // "cat tac", or "git log,show" for subcommands
  std::string_view operands;
  std::string_view options;
};

std::span<const ProgramRow> program_rows();

/// What an argument is to its program.
enum class ArgumentRole {
  text,     // no path
  any,      // may be a path: read, perhaps written
  read,     // a path that is read
  tree,     // read with everything below it
  carry,    // read, moved or linked as a whole: what is in it goes along
  move,     // carried, and gone afterwards
  write,    // a path that is written, which is what the program is for
  remove,   // written, with everything below it
  output,   // a path that is written, which nobody expects of the program
  dest,     // where carried things go: a file or a folder
  pack,     // moved, to a name with another ending
  stem,     // what the names of written files begin with
  enter,    // a folder to work in
  script,   // a program for sed, awk, jq or sqlite3
  sub,      // a subcommand with options of its own
  verb,     // a subcommand that takes the program's options as well
  set,      // a setting that decides what is run
  program,  // the name of a program, whose arguments follow
  code,     // perhaps a path, and what is there is run
  rest      // what the program is for: it, and all behind it, is run
};

struct ProgramOption {
  std::string name;  // "--output", "-o"; "of=" for an operand that begins so; a bare word for a first operand
  ArgumentRole role = ArgumentRole::text;  // of the value
  unsigned char words = 0;                 // words that it takes; of two the second has the role
  bool glued = false;                      // the value stands in the same word, or there is none
  bool runs = false;                       // is run, or decides what is
  bool tail = false;                       // `runs` the words behind it
  bool outside = false;                    // `runs` only where its value leaves the working folder
  bool first = false;                      // stands for the first operand (a pattern, a script)
  bool in_place = false;                   // the operands are written; nobody expects that
  bool writes = false;                     // the operands are written; that is what it is for
  bool recurses = false;                   // the operands are read with everything below
  bool hidden = false;                     // as is what is hidden
  bool filter = false;                     // its value says which files
  bool names = false;                      // its value names a file with names of what is read
  bool behind_colon = false;               // only what stands behind a colon is its value
};

struct Program {
  std::string_view name;               // the first one of its row
  std::vector<ArgumentRole> operands;  // the last one repeats
  std::vector<ProgramOption> options;
  bool risky = false;      // has an option that runs or writes
  bool long_dash = false;  // long options have one dash: find, go
  bool whole = false;      // long options are never abbreviated
  bool local = false;      // runs what it finds in the folder that it works in
};

/// Null where it is not listed. `subcommand` may be empty.
const Program* find_program(std::string_view name, std::string_view subcommand = {});

}  // namespace inbox_poller::config
