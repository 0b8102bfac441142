// The files of a team with JSON lines: `inbox/NAME.jsonl`, and a roster that its program keeps in memory and writes over.
#pragma once

#include <map>
#include <string>

#include "tests/sim/team_files.hpp"

namespace inbox_poller::sim {

class JsonlFiles final : public TeamFiles {
 public:
  JsonlFiles(Machine& machine, std::string folder);
  [[nodiscard]] std::string lead() const override { return "lead"; }
  [[nodiscard]] std::string inbox(const std::string& name) const override {
    return folder() + "/inbox/" + name + ".jsonl";
  }
  void make() override;
  void configure(config::TeamConfig& config) const override;
  void check() override;
  [[nodiscard]] std::string unread() const override;
  void lose_power() override;

  /// Changes what the program knows of a worker: `working`, `idle` or `shutdown`.
  void set_status(const std::string& name, const std::string& status) { statuses_[name] = status; }
  [[nodiscard]] const std::string& status(const std::string& name) const { return statuses_.at(name); }
  /// The roster as the program writes it.
  [[nodiscard]] std::string roster_text() const;
  /// The bytes of the lead's lines, also of those in a file that the daemon has put aside.
  [[nodiscard]] std::string lines_of_lead() const;

 private:
  std::map<std::string, std::string> statuses_;
};

/// Calls `visit` with each line, without its end. A last line without an end counts.
template <class Visit>
void each_line(const std::string& bytes, Visit visit) {
  for (std::size_t at = 0; at < bytes.size();) {
    const auto end = std::min(bytes.find('\n', at), bytes.size());
    visit(bytes.substr(at, end - at));
    at = end + 1;
  }
}

}  // namespace inbox_poller::sim
