// Which rows of the decision tables the histories visited, by the daemon's own log. A row here moves a state; a row that
// moves nothing leaves no line in the log, and is the subject of the unit tests of the tables.
#pragma once

#include <map>
#include <string>

namespace inbox_poller::sim {

class Coverage {
 public:
  Coverage();
  /// Counts the moves that a log has, one JSON object a line.
  void read(const std::string& log);
  void visit(const std::string& row, long long count = 1);
  /// The rows that were visited.
  [[nodiscard]] std::map<std::string, long long> visits() const;
  /// One line for each row: table, row, how often, and for a row that this world cannot reach, why not.
  [[nodiscard]] std::string report() const;

 private:
  struct Row {
    std::string why_not;  // empty: the world can reach it
    long long visits = 0;
  };
  std::map<std::string, Row> rows_;
};

}  // namespace inbox_poller::sim
