// What `doctor` says about one thing: how bad, what, where, and the command that mends it.
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
  note,     // worth knowing; nothing to do
  warning,  // somebody may wait, or lose something
  error,    // does not work as it is
};
BOOST_DESCRIBE_ENUM(Severity, ok, note, warning, error)
inline std::string_view to_string(Severity severity) { return schema::name_of(severity); }

struct Finding {
  Severity severity = Severity::note;
  std::string check;  // stable, for programs: "lock.abandoned"
  std::string what;   // a sentence
  std::string where;  // the path, or file:line
  std::string mend;   // a command, or what to write where; empty when there is nothing to do
};
using Findings = std::vector<Finding>;
inline void add(Findings& to, Findings more) { std::move(more.begin(), more.end(), std::back_inserter(to)); }

/// What was found in one place: the installation itself, or one team.
struct Section {
  std::string title;
  std::string team;  // empty: the installation
  Findings findings;
};

}  // namespace inbox_poller::poller::cli
