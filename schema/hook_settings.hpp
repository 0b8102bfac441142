// Our hooks in the lead client's settings file, put in and taken out by changing only their own bytes. Source:
// integrations.md C1 (client 2.1.240). Ours are the handlers whose command is our program, by its name, with "hook" as
// its first argument. Invariant: what with_hooks() adds, without_hooks() removes to the last byte.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/error.hpp"

namespace inbox_poller::schema {

/// The file's name holds "inbox-poller"; packagers put things around it.
bool is_our_program(std::string_view path);

struct HookProgram {
  std::string path;                  // absolute; is_our_program(), or its hooks would never be found again
  std::vector<std::string> options;  // for each call, such as --team demo
};

/// A settings file with nothing but our hooks.
std::string hook_settings(const HookProgram&);

/// The settings with our hooks as they are now; older ones of ours are replaced. Nothing changes when they are there
/// already. Error "settings.syntax" with the line.
Result<std::string> with_hooks(std::string_view settings, const HookProgram&);

/// The settings without our hooks; none when nothing else was ever in the file.
Result<std::optional<std::string>> without_hooks(std::string_view settings);

}  // namespace inbox_poller::schema
