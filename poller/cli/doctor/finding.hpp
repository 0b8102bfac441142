// A finding of `doctor`: its severity, a sentence, a place, and the command that fixes it.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "schema/names.hpp"

namespace inbox_poller::poller::cli {

enum class Severity {
  ok,
  note,     // worth knowing; no action needed
  warning,  // something may wait or be lost
  error,    // does not work as it is
};
BOOST_DESCRIBE_ENUM(Severity, ok, note, warning, error)
inline std::string_view to_string(Severity severity) { return schema::name_of(severity); }

struct Finding {
  Severity severity = Severity::note;
  std::string check;  // stable, for programs, such as "lock.abandoned"
  std::string what;   // a sentence
  std::string where;  // a path, or file:line
  std::string mend;   // a command, or a line to write; empty when no action is needed
};
using Findings = std::vector<Finding>;
inline void add(Findings& to, Findings more) { std::move(more.begin(), more.end(), std::back_inserter(to)); }

/// The findings about one place: the installation or a team.
struct Section {
  std::string title;
  std::string team;  // empty: the installation
  Findings findings;
};

}  // namespace inbox_poller::poller::cli
